package roots

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// kind is the first word of an entry of the content manifest.
type kind uint8

const (
	kindUnread kind = iota // the zero value: what was not examined is unreadable
	kindFile
	kindExec
	kindLink
	kindFIFO
	kindSocket
	kindDevice
	kindAbsent
)

var kindNames = [...]string{"unreadable", "file", "exec", "link", "fifo", "socket", "device", "absent"}

// hasDigest says that an entry of the kind has bytes that are digested.
func (k kind) hasDigest() bool { return k == kindFile || k == kindExec || k == kindLink }

// entry is one line of the manifest. The folder's path is shared by all that
// lies in it.
type entry struct {
	folder string
	name   string
	kind   kind
	digest strictjson.Digest
}

func (e *entry) path() string { return join(e.folder, e.name) }

// appendPath is path without an allocation.
func (e *entry) appendPath(to []byte) []byte {
	if e.folder != "" {
		to = append(append(to, e.folder...), '/')
	}
	return append(to, e.name...)
}

func (e *entry) same(o *entry) bool { return e.kind == o.kind && e.digest == o.digest }

// snapshot is what one content digest saw, sorted by path. Its entries stay
// where they are while it grows, because workers write into them.
type snapshot struct {
	blocks [][]entry
	count  int
}

const blockEntries = 1024

func (s *snapshot) add(e entry) *entry {
	if s.count%blockEntries == 0 {
		s.blocks = append(s.blocks, make([]entry, 0, blockEntries))
	}
	b := &s.blocks[len(s.blocks)-1]
	*b = append(*b, e)
	s.count++
	return &(*b)[len(*b)-1]
}

func (s *snapshot) at(i int) *entry { return &s.blocks[i/blockEntries][i%blockEntries] }

// Content digests the files of the workspace; the package comment says how.
// With useGit these are the tracked paths, relative to the workspace, else
// everything. What cannot be read is part of the digest as such. From the
// second time on it also says what changed since the last time.
func (f *Files) Content(ctx context.Context, tracked []string, useGit bool) (record.Content, error) {
	f.content.Lock()
	defer f.content.Unlock()
	c := newCollection(ctx, f)
	var err error
	if useGit {
		err = c.tracked(tracked)
	} else {
		err = c.everything()
	}
	c.wait()
	switch {
	case ctx.Err() != nil:
		return record.Content{}, stopped(ctx, ".")
	case err == errTooMany:
		return record.Content{}, &check.PathError{Path: ".", Code: fault.LimitExceeded, Reason: fmt.Sprintf("holds more than the %d entries that are digested", maxEntries)}
	case err != nil:
		return record.Content{}, unreadable(".", err)
	}
	out := record.Content{Digest: c.seen.digest().String(), Bytes: c.bytes.Load(), Unreadable: c.notes()}
	for i := range c.seen.count {
		if c.seen.at(i).kind != kindAbsent {
			out.Files++
		}
	}
	if f.last != nil {
		out.Changed, out.Changes = compare(f.last, c.seen)
	}
	f.last = c.seen
	return out, nil
}

// digest is the SHA-256 of the manifest.
func (s *snapshot) digest() strictjson.Digest {
	var (
		d    strictjson.Digest
		line []byte
		h    = sha256.New()
	)
	for i := range s.count {
		e := s.at(i)
		line = append(append(line[:0], kindNames[e.kind]...), ' ')
		if e.kind.hasDigest() {
			line = hex.AppendEncode(line, e.digest[:])
		} else {
			line = append(line, '-')
		}
		line = append(e.appendPath(append(line, ' ')), 0)
		h.Write(line)
	}
	h.Sum(d[:0])
	return d
}

// compare says how two snapshots differ.
func compare(old, now *snapshot) (changes []string, count int) {
	var (
		i, j        int
		left, right []byte
	)
	note := func(verb string, e *entry) {
		if count++; count <= maxChanged {
			changes = append(changes, verb+" "+check.Show(e.path()))
		}
	}
	for i < old.count || j < now.count {
		order := 0
		switch {
		case i == old.count:
			order = 1
		case j == now.count:
			order = -1
		default:
			left, right = old.at(i).appendPath(left[:0]), now.at(j).appendPath(right[:0])
			order = bytes.Compare(left, right)
		}
		switch {
		case order < 0:
			if e := old.at(i); e.kind != kindAbsent {
				note("removed", e)
			}
			i++
		case order > 0:
			if e := now.at(j); e.kind != kindAbsent {
				note("added", e)
			}
			j++
		default:
			switch a, b := old.at(i), now.at(j); {
			case a.same(b):
			case a.kind == kindAbsent:
				note("added", b)
			case b.kind == kindAbsent:
				note("removed", b)
			default:
				note("changed", b)
			}
			i++
			j++
		}
	}
	return changes, count
}
