package roots

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
)

// node is what a path was resolved to: a descriptor that cannot read, or
// nothing. It also knows how to be opened again, to be read.
type node struct {
	fd   int // O_PATH; -1 when missing
	what string
	st   unix.Stat_t

	at       int    // the folder that rel is opened from
	rel      string // a path beneath at, or a single name in it
	owned    bool   // at is closed with the node
	openat2d bool   // rel is a path that the kernel resolved beneath at
}

func (n *node) close() {
	if n.fd >= 0 {
		unix.Close(n.fd)
	}
	if n.owned {
		unix.Close(n.at)
	}
}

// reopen opens what the node was made from a second time, with other flags.
// The caller must compare the two: something else may stand there by now.
func (n *node) reopen(flags int) (int, error) {
	if n.openat2d {
		return openat2(n.at, n.rel, uint64(flags))
	}
	return openat(n.at, n.rel, flags|unix.O_NOFOLLOW)
}

func (n *node) info() check.Info {
	if n.fd < 0 {
		return check.Info{Kind: check.Missing, What: n.what}
	}
	switch n.st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return check.Info{Kind: check.Regular, Size: n.st.Size}
	case unix.S_IFDIR:
		return check.Info{Kind: check.Directory}
	}
	return check.Info{Kind: check.Other, What: whatIs(n.st.Mode)}
}

// resolve finds what a path leads to, inside the roots. The caller closes the
// node. Its errors are *check.PathError.
func (f *Files) resolve(path string) (node, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return node{fd: -1, what: "a path that cannot be"}, nil
	}
	if n, ok := f.direct(path); ok {
		return n, nil
	}
	for range maxAttempts {
		w := walk{files: f, path: path, root: -1}
		n, err := w.run()
		w.leave()
		if err != errMoved {
			return n, err
		}
	}
	return node{}, moved(path)
}

// direct lets the kernel resolve a path beneath one root in one call: the case
// of almost every path. Where that fails, for whatever reason, [walk] finds
// out why.
func (f *Files) direct(path string) (node, bool) {
	if !f.openat2 {
		return node{}, false
	}
	at, rel := f.roots[0].fd, path
	if path[0] == '/' {
		at = -1
		for _, r := range f.roots {
			if within(path, r.path) {
				at, rel = r.fd, strings.TrimLeft(path[len(r.path):], "/")
				break
			}
		}
		if at < 0 {
			return node{}, false
		}
		if rel == "" {
			rel = "."
		}
	}
	fd, err := openat2(at, rel, unix.O_PATH)
	if err != nil {
		return node{}, false
	}
	n := node{fd: fd, at: at, rel: rel, openat2d: true}
	if unix.Fstat(fd, &n.st) != nil {
		unix.Close(fd)
		return node{}, false
	}
	return n, true
}

// walk resolves a path component by component.
//
// It stands either inside a root, with the descriptor of a folder that was
// reached from the root's descriptor through folders alone, or outside, where
// it is nothing but the text of a place. From outside it comes in only by
// taking up a root's descriptor; so whatever is done to the tree meanwhile,
// what it opens lies beneath a root.
type walk struct {
	files *Files
	path  string   // as it was given, for messages
	rest  []string // components still to come, the next one last

	links    int  // followed so far
	linkRest int  // how much of the path came after the last link in it; 0: the link is its end
	strayed  bool // the text outside the roots had to be looked at

	root   int     // index of the root that it is in; -1: outside
	levels []level // the folders below that root
	text   string  // outside: the place, absolute and without links
}

// level is a folder on the way down. Only the last one is open.
type level struct {
	name string
	fd   int
	id   inode
}

func (w *walk) run() (node, error) {
	start := w.files.roots[0].path
	if w.path[0] == '/' {
		start = "/"
	}
	w.push(w.path)
	w.jump(start)
	for len(w.rest) > 0 {
		name := w.rest[len(w.rest)-1]
		w.rest = w.rest[:len(w.rest)-1]
		var (
			n    node
			done bool
			err  error
		)
		switch {
		case name == "..":
			err = w.up()
		case w.root < 0:
			n, done, err = w.outside(name)
		default:
			n, done, err = w.inside(name)
		}
		if err != nil || done {
			return n, err
		}
	}
	if w.root < 0 {
		return node{}, refused(w.path)
	}
	return w.here()
}

// push puts the components of a path before what is still to come.
func (w *walk) push(path string) {
	parts := strings.Split(path, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i] != "" && parts[i] != "." {
			w.rest = append(w.rest, parts[i])
		}
	}
}

// jump goes to a place given as text that holds no link and no "..": into a
// root if it lies in one.
func (w *walk) jump(place string) {
	w.leave()
	w.root, w.text = -1, place
	for i, r := range w.files.roots {
		if within(place, r.path) {
			w.root = i
			w.push(place[len(r.path):])
			return
		}
	}
}

// leave closes the folder that the walk stands in.
func (w *walk) leave() {
	if n := len(w.levels); n > 0 {
		unix.Close(w.levels[n-1].fd)
	}
	w.levels = nil
}

// dir is the folder that the walk stands in.
func (w *walk) dir() (int, inode) {
	if n := len(w.levels); n > 0 {
		return w.levels[n-1].fd, w.levels[n-1].id
	}
	r := w.files.roots[w.root]
	return r.fd, r.id
}

// up goes to the parent. Below a root it must be the very folder that the walk
// came through: one that was moved elsewhere has another parent now.
func (w *walk) up() error {
	if w.root < 0 {
		w.jump(filepath.Dir(w.text))
		return nil
	}
	if len(w.levels) == 0 {
		w.jump(filepath.Dir(w.files.roots[w.root].path))
		return nil
	}
	last := w.levels[len(w.levels)-1]
	parent, err := openat(last.fd, "..", unix.O_PATH|unix.O_DIRECTORY)
	switch err {
	case nil:
	case unix.ENOENT: // the folder was removed
		return errMoved
	default:
		return w.unable(err, "..")
	}
	var st unix.Stat_t
	err = unix.Fstat(parent, &st)
	unix.Close(last.fd)
	w.levels = w.levels[:len(w.levels)-1]
	if n := len(w.levels); n > 0 {
		w.levels[n-1].fd = parent
	} else {
		unix.Close(parent)
	}
	if _, want := w.dir(); err != nil || inodeOf(&st) != want {
		return errMoved
	}
	return nil
}

// outside steps to a name outside the roots. On the way to a root nothing
// needs to be looked at: its path is known to hold no link. Elsewhere only
// links matter, for they may lead back. Whether anything else is there makes
// no difference, so the answer cannot tell.
func (w *walk) outside(name string) (node, bool, error) {
	place := filepath.Join(w.text, name)
	for _, r := range w.files.roots {
		if within(r.path, place) {
			w.jump(place)
			return node{}, false, nil
		}
	}
	w.strayed = true
	if target, err := readlink(unix.AT_FDCWD, place); err == nil {
		return w.follow(name, target)
	}
	w.text = place
	return node{}, false, nil
}

// inside steps to a name in the folder that the walk stands in.
func (w *walk) inside(name string) (node, bool, error) {
	dir, _ := w.dir()
	fd, err := openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW)
	switch err {
	case nil:
	case unix.ENOENT:
		return w.missing(name, "")
	case unix.ENAMETOOLONG:
		return w.missing(name, "a name that is too long to be")
	default:
		return node{}, false, w.unable(err, name)
	}
	n := node{fd: fd}
	if err := unix.Fstat(fd, &n.st); err != nil {
		unix.Close(fd)
		return node{}, false, w.unable(err, name)
	}
	switch n.st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		target, err := readlink(fd, "")
		unix.Close(fd)
		if err != nil {
			return node{}, false, w.unable(err, name)
		}
		return w.follow(name, target)
	case unix.S_IFDIR:
		if k := len(w.levels); k > 0 {
			unix.Close(w.levels[k-1].fd)
		}
		w.levels = append(w.levels, level{name: name, fd: fd, id: inodeOf(&n.st)})
		return node{}, false, nil
	}
	if len(w.rest) > 0 { // a path through something that is no folder
		unix.Close(fd)
		return w.missing(name, "")
	}
	if n.at, err = dup(dir); err != nil {
		unix.Close(fd)
		return node{}, false, w.unable(err, name)
	}
	n.rel, n.owned = name, true
	return n, true, nil
}

// follow goes on with the text of a link.
func (w *walk) follow(name, target string) (node, bool, error) {
	if w.links++; w.links > maxLinks {
		if w.strayed {
			return node{}, false, refused(w.path)
		}
		return w.missing(name, "a link loop")
	}
	if w.links == 1 || len(w.rest) < w.linkRest { // else it is met in another link's text
		w.linkRest = len(w.rest)
	}
	w.push(target)
	if strings.HasPrefix(target, "/") {
		w.jump("/")
	}
	return node{}, false, nil
}

// missing answers that nothing is at the path. It is only said of a path that
// would also end inside the roots if everything on it were there.
func (w *walk) missing(name, what string) (node, bool, error) {
	if !w.literallyInside(name) {
		return node{}, false, refused(w.path)
	}
	if what == "" && w.links > 0 && w.linkRest == 0 {
		what = "a dangling link"
	}
	return node{fd: -1, what: what}, true, nil
}

// unable answers that the next step could not be examined.
func (w *walk) unable(err error, name ...string) error {
	if !w.literallyInside(name...) {
		return refused(w.path)
	}
	return unreadable(w.path, err)
}

// literallyInside reads the rest of the path as text.
func (w *walk) literallyInside(name ...string) bool {
	parts := []string{w.files.roots[w.root].path}
	for _, l := range w.levels {
		parts = append(parts, l.name)
	}
	parts = append(parts, name...)
	for i := len(w.rest) - 1; i >= 0; i-- {
		parts = append(parts, w.rest[i])
	}
	place := filepath.Join(parts...)
	for _, r := range w.files.roots {
		if within(place, r.path) {
			return true
		}
	}
	return false
}

// here is the node of the folder that the walk ended in. It is its own place
// to be opened from.
func (w *walk) here() (node, error) {
	dir, _ := w.dir()
	n := node{rel: ".", owned: true}
	var err error
	if n.fd, err = dup(dir); err != nil {
		return node{}, w.unable(err)
	}
	if n.at, err = dup(dir); err != nil {
		unix.Close(n.fd)
		return node{}, w.unable(err)
	}
	if err := unix.Fstat(n.fd, &n.st); err != nil {
		n.close()
		return node{}, w.unable(err)
	}
	return n, nil
}
