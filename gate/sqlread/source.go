package sqlread

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
)

// The files of a database: itself, and beside it the log of transactions that
// are not merged yet and the journal that undoes one that was interrupted. The
// -shm file is only an index of the log, and is made anew.
var suffixes = [...]string{"", "-wal", "-journal"}

// source is a database opened inside the roots, with its sidecars.
type source struct {
	name  string
	files [len(suffixes)]part
}

// part is one file of a database; open is nil when it is not there.
type part struct {
	open  io.ReadCloser
	size  int64
	stamp stamp
	known bool // whether stamp says anything
}

// stamp identifies a file and its content by what the file system keeps.
type stamp struct {
	device, inode    uint64
	size             int64
	written, changed time.Time
}

// settled says that a change after the moment now would show in the stamp.
func (s stamp) settled(now time.Time) bool {
	last := s.written
	if s.changed.After(last) {
		last = s.changed
	}
	window := fineWindow
	if last.Nanosecond() == 0 {
		window = coarseWindow
	}
	return now.Sub(last) > window
}

// openSource opens a database and what lies beside it.
func openSource(ctx context.Context, files check.Files, name string) (*source, error) {
	s := &source{name: name}
	beside, total := name, int64(0)
	for i, suffix := range suffixes {
		p, err := openPart(ctx, files, beside+suffix, i > 0)
		var pe *check.PathError
		if errors.As(err, &pe) {
			// The name that the contract used says more than the resolved one,
			// and is the same on every machine.
			err = &check.PathError{Path: name + suffix, Code: pe.Code, Reason: pe.Reason}
		}
		if err == nil && i == 0 {
			beside, err = resolved(p, name)
		}
		s.files[i] = p
		if err != nil {
			s.close()
			return nil, err
		}
		total += p.size
	}
	if total > maxDatabase {
		s.close()
		return nil, &check.PathError{Path: name, Code: fault.LimitExceeded, Reason: fmt.Sprintf("has %d bytes with its log; at most %d are examined", total, int64(maxDatabase))}
	}
	return s, nil
}

func openPart(ctx context.Context, files check.Files, path string, optional bool) (part, error) {
	if optional {
		info, err := files.Stat(ctx, path)
		if err != nil || info.Kind == check.Missing {
			return part{}, err
		}
	}
	open, info, err := files.Open(ctx, path)
	if err != nil {
		if optional {
			// A log or journal that a writer removed between the two looks.
			if now, e := files.Stat(ctx, path); e == nil && now.Kind == check.Missing {
				return part{}, nil
			}
		}
		return part{}, err
	}
	p := part{open: open, size: info.Size}
	if f := fileOf(open); f != nil {
		info, err := f.Stat()
		if err != nil {
			open.Close()
			return part{}, &check.PathError{Path: path, Code: fault.TargetUnreadable, Reason: "cannot be examined: " + plain(err)}
		}
		p.size = info.Size()
		p.stamp, p.known = stampOf(info)
	}
	return p, nil
}

// fileOf gives the file behind a reader, if there is one that says so.
func fileOf(r io.Reader) *os.File {
	switch r := r.(type) {
	case *os.File:
		return r
	case interface{ File() *os.File }:
		return r.File()
	}
	return nil
}

// resolved gives the path beside which SQLite keeps the sidecars: where the
// database really lies, not where a link to it does. The path is only used to
// ask for further files, which are resolved and checked like every path.
func resolved(p part, name string) (string, error) {
	f := fileOf(p.open)
	if f == nil {
		return name, nil
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return "", &check.PathError{Path: name, Code: fault.TargetUnreadable, Reason: "cannot be examined, for /proc does not tell where it lies: " + plain(err)}
	}
	return path, nil
}

func (s *source) close() {
	for _, p := range s.files {
		if p.open != nil {
			p.open.Close() // it was only read
		}
	}
}

// key is the identity of all files of a database.
type key [len(suffixes)]stamp

// key gives the identity; ok is false when the stamps cannot vouch for the
// content.
func (s *source) key(now time.Time) (k key, ok bool) {
	for i, p := range s.files {
		if p.open == nil {
			continue
		}
		if !p.known || !p.stamp.settled(now) {
			return k, false
		}
		k[i] = p.stamp
	}
	return k, true
}

// differs names the file of the database that is not what it was.
func (s *source) differs(later *source) string {
	for i, p := range s.files {
		q := later.files[i]
		if p.size != q.size || p.stamp != q.stamp {
			return s.name + suffixes[i]
		}
	}
	return ""
}

// plain is the reason of a system error without the path, which would differ
// from run to run.
func plain(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err.Error()
	}
	return err.Error()
}

func unreadable(fix, format string, args ...any) error {
	return &check.QueryError{Status: record.Inconclusive, Code: fault.TargetUnreadable, Reason: fmt.Sprintf(format, args...), Fix: fix}
}
