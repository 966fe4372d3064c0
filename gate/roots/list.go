package roots

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// List gives everything below a folder, sorted by the bytes of the paths.
// Links are resolved to say what they are; none is walked. A folder or a link
// that cannot be examined is an entry that says so.
func (f *Files) List(ctx context.Context, path string) ([]check.Entry, error) {
	if err := stopped(ctx, path); err != nil {
		return nil, err
	}
	fd, err := f.openFolder(path)
	if err != nil {
		return nil, err
	}
	l := &listing{ctx: ctx, files: f, base: path}
	switch err := walkTree(ctx, fd, "", nil, l); {
	case err == nil:
		return slices.Concat(append(l.full, l.out)...), nil
	case err == errTooMany:
		return nil, &check.PathError{Path: path, Code: fault.LimitExceeded, Reason: fmt.Sprintf("holds more than the %d entries that are examined", maxEntries)}
	case ctx.Err() != nil:
		return nil, stopped(ctx, path)
	default:
		return nil, unreadable(path, err)
	}
}

// openFolder opens a folder to be listed.
func (f *Files) openFolder(path string) (int, error) {
	for range maxAttempts {
		n, err := f.resolve(path)
		if err != nil {
			return -1, err
		}
		if i := n.info(); i.Kind != check.Directory {
			n.close()
			return -1, notA(path, "directory", i)
		}
		var st unix.Stat_t
		fd, err := n.reopen(unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NONBLOCK)
		if err == nil {
			err = unix.Fstat(fd, &st)
		}
		want := inodeOf(&n.st)
		n.close()
		switch {
		case err == nil && inodeOf(&st) == want:
			return fd, nil
		case err == nil:
			unix.Close(fd)
		case err == unix.EACCES || err == unix.EMFILE || err == unix.ENFILE || err == unix.EIO:
			return -1, unreadable(path, err)
		}
	}
	return -1, moved(path)
}

// listing collects the entries of one List.
type listing struct {
	ctx   context.Context
	files *Files
	base  string
	full  [][]check.Entry // filled before out, which is never grown: half the memory of append's doubling
	out   []check.Entry
}

func (l *listing) add(e check.Entry) {
	if len(l.out) == cap(l.out) {
		l.full = append(l.full, l.out)
		l.out = make([]check.Entry, 0, blockEntries)
	}
	l.out = append(l.out, e)
}

func (l *listing) entry(d *folder, e dirent) error {
	out := check.Entry{Path: join(d.path, e.name)}
	switch e.kind {
	case unix.DT_REG:
		out.Kind = check.Regular
	case unix.DT_LNK:
		l.link(&out)
	default:
		out.Kind, out.What = check.Other, whatIs(uint32(e.kind)<<12)
	}
	l.add(out)
	return l.ctx.Err()
}

func (l *listing) unreadable(path string, err error) error {
	if path == "" { // the folder itself: there is nothing else to tell
		return err
	}
	l.add(check.Entry{Path: path, Kind: check.Other, What: "a folder that could not be read", Unread: reason(err)})
	return nil
}

// link says what a link leads to.
func (l *listing) link(out *check.Entry) {
	n, err := l.files.resolve(l.base + "/" + out.Path)
	if err != nil {
		pe := err.(*check.PathError)
		out.Kind, out.What, out.Unread = check.Other, "a link that could not be followed", pe.Reason
		if pe.Code == fault.CheckRefused {
			out.What, out.Leaves = "a link that leaves the allowed roots", true
		}
		return
	}
	defer n.close()
	i := n.info()
	out.Kind = i.Kind
	switch i.Kind {
	case check.Regular:
	case check.Directory:
		out.What = "a link to a folder"
	case check.Missing:
		out.What = i.What
		if out.What == "" {
			out.What = "a dangling link"
		}
	default:
		out.What = "a link to " + i.What
	}
}
