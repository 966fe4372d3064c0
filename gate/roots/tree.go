package roots

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// folder is an open folder of a tree. It stays open while the walk or a worker
// still needs it.
type folder struct {
	fd   int
	path string // relative to where the walk began; "" there
	id   inode
	refs atomic.Int32
}

func (d *folder) hold() { d.refs.Add(1) }

func (d *folder) release() {
	if d.refs.Add(-1) == 0 {
		unix.Close(d.fd)
	}
}

// join is the path of a name in a folder of that path.
func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// dirent is one name in a folder and the type of what it names (unix.DT_*).
type dirent struct {
	name string
	kind byte
}

// compareDirents orders the names of a folder so that a walk, entering each
// folder as it comes, meets all paths of the tree in the order of their bytes:
// "a-b" stands before what is in the folder "a", for '-' is less than '/'.
func compareDirents(a, b dirent) int {
	n := min(len(a.name), len(b.name))
	if c := strings.Compare(a.name[:n], b.name[:n]); c != 0 {
		return c
	}
	next := func(d dirent) int {
		switch {
		case len(d.name) > n:
			return int(d.name[n])
		case d.kind == unix.DT_DIR:
			return '/'
		}
		return -1
	}
	return next(a) - next(b)
}

// visitor sees what a tree holds, in the order of the bytes of the paths.
type visitor interface {
	// entry is called for everything that is no folder.
	entry(d *folder, e dirent) error
	// unreadable is called for what could not be looked into, with its path.
	unreadable(path string, err error) error
}

// tree walks a folder and everything below it, through descriptors: each
// folder is opened from the one that it was found in, and no link is followed.
type tree struct {
	skip    func(name []byte) bool // names that are passed over with all below them
	visit   visitor
	entries int
	buf     []byte
	levels  []*stage
}

// stage is a folder on the way down with what is still to be visited in it.
type stage struct {
	*folder
	open bool // false: let go, to be opened again on the way back
	name string
	rest []dirent
}

// errTooMany says that a tree holds more than maxEntries.
var errTooMany = errors.New("holds more entries than are examined")

// walkTree takes over fd, an open folder.
func walkTree(ctx context.Context, fd int, path string, skip func([]byte) bool, visit visitor) error {
	t := &tree{skip: skip, visit: visit, buf: make([]byte, direntBytes)}
	defer func() {
		for len(t.levels) > 0 {
			t.pop()
		}
	}()
	if err := t.push(fd, path, ""); err != nil {
		return err
	}
	for len(t.levels) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.step(); err != nil {
			return err
		}
	}
	return nil
}

// step visits the deepest folder up to its next folder, which it enters.
func (t *tree) step() error {
	s := t.levels[len(t.levels)-1]
	for i, e := range s.rest {
		if e.kind != unix.DT_DIR {
			if err := t.visit.entry(s.folder, e); err != nil {
				return err
			}
			continue
		}
		s.rest = s.rest[i+1:]
		path := join(s.path, e.name)
		fd, err := openat(s.fd, e.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
		if err != nil {
			return t.visit.unreadable(path, err)
		}
		return t.push(fd, path, e.name)
	}
	return t.climb()
}

// push enters an open folder and reads its names.
func (t *tree) push(fd int, path, name string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return t.visit.unreadable(path, err)
	}
	d := &folder{fd: fd, path: path, id: inodeOf(&st)}
	d.hold()
	t.levels = append(t.levels, &stage{folder: d, open: true, name: name})
	if i := len(t.levels) - heldFolders; i > 0 {
		t.shut(t.levels[i])
	}
	rest, err := t.names(fd)
	if err != nil {
		return t.visit.unreadable(path, err)
	}
	if t.entries += len(rest); t.entries > maxEntries {
		return errTooMany
	}
	t.levels[len(t.levels)-1].rest = rest
	return nil
}

// climb goes back to the parent, which may have been let go.
func (t *tree) climb() error {
	n := len(t.levels)
	if n < 2 || t.levels[n-2].open {
		t.pop()
		return nil
	}
	parent := t.levels[n-2]
	fd, err := t.reopen(n - 2)
	t.pop()
	if err != nil {
		// What was not visited yet in the parent cannot be reached any more.
		parent.rest = nil
		return t.visit.unreadable(parent.path, err)
	}
	d := &folder{fd: fd, path: parent.path, id: parent.id}
	d.hold()
	parent.folder, parent.open = d, true
	return nil
}

// reopen opens a folder that was let go: as the parent of the one below it,
// or where that is not allowed, by the names from the top. It must be the
// same folder as before.
func (t *tree) reopen(i int) (int, error) {
	fd, err := openat(t.levels[i+1].fd, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK)
	if err == nil && t.same(fd, i) {
		return fd, nil
	}
	if err == nil {
		unix.Close(fd)
	}
	if fd, err = dup(t.levels[0].fd); err != nil {
		return -1, err
	}
	for _, s := range t.levels[1 : i+1] {
		next, err := openat(fd, s.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	if !t.same(fd, i) {
		unix.Close(fd)
		return -1, errMoved
	}
	return fd, nil
}

func (t *tree) same(fd, i int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && inodeOf(&st) == t.levels[i].id
}

func (t *tree) shut(s *stage) {
	if s.open {
		s.open = false
		s.folder.release()
	}
}

func (t *tree) pop() {
	n := len(t.levels) - 1
	t.shut(t.levels[n])
	t.levels = t.levels[:n]
}

// names reads a folder, sorted for the walk. All names share one string, so a
// large folder is not a large number of allocations.
func (t *tree) names(fd int) ([]dirent, error) {
	type span struct {
		at, size int32
		kind     byte
	}
	var (
		spans []span
		text  []byte
	)
	for {
		n, err := unix.Getdents(fd, t.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			break
		}
		for rec := t.buf[:n]; len(rec) > direntHeader; {
			size := int(binary.NativeEndian.Uint16(rec[16:]))
			name := rec[direntHeader:size]
			name = name[:bytes.IndexByte(name, 0)]
			kind := rec[direntHeader-1]
			rec = rec[size:]
			if string(name) == "." || string(name) == ".." || t.skip != nil && t.skip(name) {
				continue
			}
			if kind == unix.DT_UNKNOWN { // a file system that does not tell
				kind = kindOf(fd, string(name))
			}
			if len(spans) >= maxEntries {
				return nil, errTooMany
			}
			spans = append(spans, span{int32(len(text)), int32(len(name)), kind})
			text = append(text, name...)
		}
	}
	all := string(text)
	out := make([]dirent, len(spans))
	for i, s := range spans {
		out[i] = dirent{all[s.at : s.at+s.size], s.kind}
	}
	slices.SortFunc(out, compareDirents)
	return out, nil
}

// direntHeader is the size of struct linux_dirent64 before its name: inode
// and offset of 8 bytes, the record's size of 2, the type of 1.
const direntHeader = 19

// kindOf asks for the type of a name in a folder. A name that is gone by now
// is given as unknown, and will be found missing by whoever opens it.
func kindOf(dir int, name string) byte {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return unix.DT_UNKNOWN
	}
	return byte(st.Mode & unix.S_IFMT >> 12) // the two numberings are one
}
