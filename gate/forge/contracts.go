package forge

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-github/v62/github"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/source"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Document is a file of a commit.
type Document struct {
	Path  string // relative to the repository, '/'-separated
	Bytes []byte
	ID    string // of the object in git, which the bytes digest to
}

// Contracts gives the files of a commit that patterns match, in the order of
// their paths. A pattern is a path, or a glob whose last segment alone has
// wildcards. What does not exist is left out, so no document means that there is none;
// what exists and is no file, or stands behind a symbolic link, is refused.
//
// The API is asked, and git when it gives no usable answer.
func (c *Client) Contracts(ctx context.Context, commit string, patterns []string) ([]Document, error) {
	parsed, err := parsePatterns(patterns)
	if err != nil {
		return nil, err
	}
	if err := commitIDs(commit); err != nil {
		return nil, err
	}
	docs, err := documents(ctx, &objects{client: c, commit: commit}, commit, parsed)
	if !isUnreachable(err) || ctx.Err() != nil {
		return docs, err
	}
	c.config.Warn(err.Error() + "; trying with git")
	fetched, gitErr := c.fetch(ctx, commit)
	if gitErr != nil {
		return nil, unavailable("the files of %s can be read neither through the API nor with git: %v; %v", commit, fault.As(err).Message, gitErr).Because(err)
	}
	defer fetched.Close()
	return documents(ctx, gitObjects{fetched}, commit, parsed)
}

func unavailable(format string, args ...any) *fault.Error {
	return fault.New(fault.ActionContractUnavailable, "", format, args...)
}

func isUnreachable(err error) bool {
	return err != nil && fault.As(err).Code == fault.ActionForgeUnreachable
}

// pattern is where files are looked for.
type pattern struct {
	text   string
	folder string // "" for the repository's own
	last   string // a name, or a glob of names
	glob   bool
}

const wildcards = `*?[]{}\`

func parsePatterns(texts []string) ([]pattern, error) {
	var out []pattern
	for _, text := range texts {
		p := pattern{text: text}
		clean := strings.TrimPrefix(text, "./")
		p.folder, p.last = path.Split(clean)
		p.folder = strings.TrimSuffix(p.folder, "/")
		p.glob = strings.ContainsAny(p.last, wildcards)
		var wrong string
		switch {
		case clean == "" || !utf8.ValidString(clean) || strings.ContainsRune(clean, 0):
			wrong = "it is no path"
		case path.IsAbs(clean) || path.Clean(clean) != clean || clean == "." || clean == ".." || strings.HasPrefix(clean, "../"):
			wrong = "it must be relative to the repository, without . or .. in it"
		case strings.ContainsAny(p.folder, wildcards):
			wrong = "only its last segment may have wildcards"
		case !doublestar.ValidatePattern(p.last):
			wrong = "it is malformed"
		}
		if wrong != "" {
			return nil, fault.New(fault.ActionInputInvalid, "", "%q names no files: %s", text, wrong)
		}
		out = append(out, p)
	}
	return out, nil
}

func (p pattern) matches(name string) bool {
	if !p.glob {
		return name == p.last
	}
	ok, err := doublestar.Match(p.last, name)
	return ok && err == nil // the pattern was validated
}

// reader reads the objects of one commit.
type reader interface {
	Root(ctx context.Context) (string, error)
	Tree(ctx context.Context, id string) ([]source.Entry, error)
	Blob(ctx context.Context, id string, max int64) ([]byte, error)
}

// gitObjects reads from a commit that git fetched.
type gitObjects struct{ *source.Commit }

// objects reads through the API, each object once.
type objects struct {
	client *Client
	commit string
}

// Root implements reader. That the commit can be read is what makes a name that
// is not in it an absent one.
func (o *objects) Root(ctx context.Context) (string, error) {
	got, err := o.client.commit(ctx, o.commit)
	if status(err) == 404 {
		return "", unavailable("the commit %s cannot be read: GitHub answered 404, as it does for what is not there and for what a token without `contents: read` may not see", o.commit).Because(err)
	}
	if err != nil {
		return "", err
	}
	return got.GetTree().GetSHA(), nil
}

// Tree implements reader.
func (o *objects) Tree(ctx context.Context, id string) ([]source.Entry, error) {
	if known, ok := recall[[]source.Entry](&o.client.known, "tree "+id); ok {
		return known, nil
	}
	r := request{path: "git/trees/" + id, what: "read a folder of the commit " + o.commit, permission: "contents: read"}
	got, err := read[github.Tree](ctx, o.client, r)
	if err != nil {
		return nil, lost(err, r)
	}
	if got.GetSHA() != id || got.Entries == nil || got.GetTruncated() {
		return nil, misunderstood(r, errors.New("it is about another folder, or is not whole"))
	}
	entries := []source.Entry{}
	names := map[string]bool{}
	for _, e := range got.Entries {
		entry := source.Entry{Path: e.GetPath(), Kind: source.KindOf(e.GetMode()), Executable: e.GetMode() == "100755", ID: e.GetSHA(), Size: int64(e.GetSize())}
		if entry.Path == "" || strings.Contains(entry.Path, "/") || names[entry.Path] || !bundle.IsRevision(entry.ID) {
			return nil, misunderstood(r, fmt.Errorf("the entry %q has no name of its own, or no id", entry.Path))
		}
		names[entry.Path] = true
		entries = append(entries, entry)
	}
	o.client.known.keep("tree "+id, entries, int64(len(entries))*entryBytes)
	return entries, nil
}

// Blob implements reader.
func (o *objects) Blob(ctx context.Context, id string, max int64) ([]byte, error) {
	if known, ok := recall[[]byte](&o.client.known, "blob "+id); ok && int64(len(known)) <= max {
		return bytes.Clone(known), nil
	}
	r := request{path: "git/blobs/" + id, accept: "application/vnd.github.raw+json", what: "read a file of the commit " + o.commit, permission: "contents: read"}
	data, _, err := o.client.do(ctx, r)
	if err != nil {
		return nil, lost(err, r)
	}
	if int64(len(data)) > max {
		return nil, unavailable("a file of the commit %s has more than %d bytes", o.commit, max)
	}
	if blobID(id, data) == id { // what is something else, the caller refuses
		o.client.known.keep("blob "+id, bytes.Clone(data), int64(len(data)))
	}
	return data, nil
}

// lost is the error of an object that must be there, since the commit was read.
func lost(err error, r request) error {
	if status(err) == 404 {
		return unavailable("the gate could not %s, although it could read the commit: GitHub answered 404", r.what).Because(err)
	}
	return err
}

// found is an entry that a pattern is about.
type found struct {
	path string
	source.Entry
}

// lookup gives the entries that patterns are about, by path. In strict mode what
// is no file is refused; else it is given, and what cannot be reached is left out.
func lookup(ctx context.Context, from reader, patterns []pattern, strict bool) (map[string]found, error) {
	root, err := from.Root(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]found{}
	for _, p := range patterns {
		entries, err := folder(ctx, from, root, p, strict)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !p.matches(e.Path) || p.glob && e.Kind == source.Folder {
				continue
			}
			f := found{path.Join(p.folder, e.Path), e}
			if strict && e.Kind != source.File {
				return nil, unavailable("%q, where a contract is looked for, is a %s, and no file", f.path, e.Kind).With("path", f.path)
			}
			out[f.path] = f
		}
	}
	if len(out) > maxContracts {
		return nil, unavailable("the patterns match %d files, more than %d", len(out), maxContracts)
	}
	return out, nil
}

// folder gives the entries of the folder of a pattern; none when it is not there.
func folder(ctx context.Context, from reader, root string, p pattern, strict bool) ([]source.Entry, error) {
	entries, err := from.Tree(ctx, root)
	if err != nil || p.folder == "" {
		return entries, readable(err)
	}
	walked := ""
	for segment := range strings.SplitSeq(p.folder, "/") {
		walked = path.Join(walked, segment)
		i := slices.IndexFunc(entries, func(e source.Entry) bool { return e.Path == segment })
		if i < 0 || entries[i].Kind == source.File {
			return nil, nil
		}
		if entries[i].Kind != source.Folder {
			if !strict {
				return nil, nil
			}
			return nil, unavailable("%q, on the way to where contracts are looked for, is a %s, and no folder", walked, entries[i].Kind).With("path", walked)
		}
		if entries, err = from.Tree(ctx, entries[i].ID); err != nil {
			return nil, readable(err)
		}
	}
	return entries, nil
}

// readable makes a fault of an error of git's.
func readable(err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	return unavailable("what was fetched cannot be read: %v", err).Because(err)
}

// documents reads what patterns match.
func documents(ctx context.Context, from reader, commit string, patterns []pattern) ([]Document, error) {
	entries, err := lookup(ctx, from, patterns, true)
	if err != nil {
		return nil, readable(err)
	}
	docs := []Document{}
	var total int64
	most := int64(strictjson.ContractLimits.Bytes)
	for _, f := range entries {
		if total += f.Size; f.Size > most || total > maxContractBytes {
			return nil, unavailable("%q has %d bytes: a contract has at most %d, and all together %d", f.path, f.Size, most, int64(maxContractBytes)).With("path", f.path)
		}
		data, err := from.Blob(ctx, f.ID, most)
		if err != nil {
			return nil, readable(err)
		}
		if id := blobID(f.ID, data); id != f.ID {
			return nil, unavailable("what was read as %q of %s is not that file: its object is %s, and the bytes are those of %s", f.path, commit, f.ID, id).With("path", f.path)
		}
		docs = append(docs, Document{Path: f.path, Bytes: data, ID: f.ID})
	}
	slices.SortFunc(docs, func(a, b Document) int { return strings.Compare(a.Path, b.Path) })
	return docs, nil
}

// blobID is the id that git gives to content, of the kind of another id.
func blobID(like string, data []byte) string {
	var h hash.Hash = sha1.New() //nolint:gosec // git's own
	if len(like) == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}
