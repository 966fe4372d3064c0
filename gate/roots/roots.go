package roots

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// Files reads inside a workspace and further roots. It implements
// [check.Files]; its methods may be called from several goroutines.
type Files struct {
	roots []root // the workspace first
	// openat2 says that the kernel resolves beneath a descriptor. Where it is
	// missing (old kernels, old seccomp profiles) every path is walked.
	openat2 bool
	memo    memo
	hashed  atomic.Int64

	content sync.Mutex // one content digest at a time
	last    *snapshot  // what the content digest before saw
}

var _ check.Files = (*Files)(nil)

// root is a folder that may be read.
type root struct {
	path string // absolute, without links: what text is compared with
	fd   int    // what everything is opened from
	id   inode
}

// inode is the identity of a file while it exists.
type inode struct{ dev, ino uint64 }

func inodeOf(st *unix.Stat_t) inode { return inode{uint64(st.Dev), st.Ino} }

// Open opens a workspace and further roots. Their links are resolved once,
// here; whoever names a root is trusted to mean what it says.
func Open(workspace string, extra []string) (*Files, error) {
	f := &Files{}
	for i, path := range append([]string{workspace}, extra...) {
		r, err := openRoot(path)
		if err != nil {
			f.Close()
			if i == 0 {
				return nil, fault.New(fault.WorkspaceUnresolved, "", "the workspace %s %s", check.Quote(path), reason(err)).Because(err)
			}
			return nil, fault.New(fault.Usage, "Name a folder that is there, or leave the root out.", "the root %s %s", check.Quote(path), reason(err)).Because(err)
		}
		f.roots = append(f.roots, r)
	}
	fd, err := openat2(f.roots[0].fd, ".", unix.O_PATH)
	if f.openat2 = err == nil; f.openat2 {
		unix.Close(fd)
	}
	return f, nil
}

func openRoot(path string) (root, error) {
	if path == "" {
		return root{}, unix.ENOENT
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return root{}, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return root{}, err
	}
	fd, err := openat(unix.AT_FDCWD, abs, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return root{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return root{}, err
	}
	return root{path: abs, fd: fd, id: inodeOf(&st)}, nil
}

// Close lets go of the roots.
func (f *Files) Close() error {
	for _, r := range f.roots {
		unix.Close(r.fd)
	}
	f.roots = nil
	return nil
}

// Workspace is the absolute path of the workspace, without links.
func (f *Files) Workspace() string { return f.roots[0].path }

// Roots are the absolute paths of all roots, without links, the workspace first.
func (f *Files) Roots() []string {
	var out []string
	for _, r := range f.roots {
		out = append(out, r.path)
	}
	return out
}

// Hashed is how many bytes were read to be digested so far.
func (f *Files) Hashed() int64 { return f.hashed.Load() }

// Stat says what is at a path.
func (f *Files) Stat(ctx context.Context, path string) (check.Info, error) {
	if err := stopped(ctx, path); err != nil {
		return check.Info{}, err
	}
	n, err := f.resolve(path)
	if err != nil {
		return check.Info{}, err
	}
	defer n.close()
	return n.info(), nil
}

// Open opens a regular file.
func (f *Files) Open(ctx context.Context, path string) (io.ReadCloser, check.Info, error) {
	if err := stopped(ctx, path); err != nil {
		return nil, check.Info{}, err
	}
	fd, st, err := f.openFile(path)
	if err != nil {
		return nil, check.Info{}, err
	}
	info := check.Info{Kind: check.Regular, Size: st.Size}
	return &reader{ctx: ctx, path: path, file: os.NewFile(uintptr(fd), path)}, info, nil
}

// reader is an open file that stops with its context.
type reader struct {
	ctx  context.Context
	path string
	file *os.File
}

func (r *reader) Read(p []byte) (int, error) {
	if err := stopped(r.ctx, r.path); err != nil {
		return 0, err
	}
	n, err := r.file.Read(p)
	if err != nil && err != io.EOF {
		err = unreadable(r.path, err)
	}
	return n, err
}

func (r *reader) Close() error { return r.file.Close() }

// File is the open file itself, for a reader that lets the kernel copy it.
func (r *reader) File() *os.File { return r.file }

// Read reads a regular file of at most limit bytes, whole and unchanged.
func (f *Files) Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	if err := stopped(ctx, path); err != nil {
		return nil, err
	}
	fd, before, err := f.openFile(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readAll(ctx, path, fd, before, limit)
}

// readAll reads an open file to its end and makes sure that it stayed the same.
func readAll(ctx context.Context, path string, fd int, before *unix.Stat_t, limit int64) ([]byte, error) {
	tooLarge := &check.PathError{Path: path, Code: fault.LimitExceeded, Reason: fmt.Sprintf("is larger than the %d bytes that are read", limit)}
	if before.Size > limit {
		return nil, tooLarge
	}
	// One byte more than is expected, so that the end is seen without a
	// further call, and a file that grew is seen too.
	data := make([]byte, 0, before.Size+1)
	for {
		if err := stopped(ctx, path); err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := read(fd, data[len(data):min(cap(data), len(data)+bufferBytes)])
		if err != nil {
			return nil, unreadable(path, err)
		}
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return nil, tooLarge
		}
		if n == 0 {
			break
		}
	}
	var after unix.Stat_t
	if err := unix.Fstat(fd, &after); err != nil {
		return nil, unreadable(path, err)
	}
	if stampOf(&after) != stampOf(before) {
		return nil, changed(path)
	}
	return data, nil
}

// openFile opens a regular file to be read.
func (f *Files) openFile(path string) (int, *unix.Stat_t, error) {
	for range maxAttempts {
		n, err := f.resolve(path)
		if err != nil {
			return -1, nil, err
		}
		fd, st, err := f.openNode(path, &n)
		n.close()
		if err != errMoved {
			return fd, st, err
		}
	}
	return -1, nil, moved(path)
}

// openNode opens what a path was resolved to, if it is a regular file and is
// still the same. A FIFO put in its place between the two is opened without
// waiting, seen, and let go.
func (f *Files) openNode(path string, n *node) (int, *unix.Stat_t, error) {
	if i := n.info(); i.Kind != check.Regular {
		return -1, nil, notA(path, "file", i)
	}
	fd, err := n.reopen(unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV, unix.EAGAIN, unix.ENXIO:
		return -1, nil, errMoved
	default:
		return -1, nil, unreadable(path, err)
	}
	st := new(unix.Stat_t)
	if err := unix.Fstat(fd, st); err != nil {
		unix.Close(fd)
		return -1, nil, unreadable(path, err)
	}
	if inodeOf(st) != inodeOf(&n.st) || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return -1, nil, errMoved
	}
	return fd, st, nil
}

// within says whether a clean absolute path without links lies inside a folder.
func within(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder) && path[len(folder)] == '/'
}
