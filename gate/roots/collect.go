package roots

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// collection is one content digest being made: a walk that finds the entries
// and workers that read them.
type collection struct {
	ctx    context.Context
	files  *Files
	again  bool // there was a content digest before this one
	seen   *snapshot
	bytes  atomic.Int64
	sorted bool // so far, what was found came in order

	jobs    chan []job
	batch   []job
	folders int // in batch
	workers sync.WaitGroup

	mu      sync.Mutex
	trouble []string // "path: why", in no order
}

// job is an entry whose bytes are wanted. It holds its folder open.
type job struct {
	folder *folder
	kind   byte
	to     *entry
}

func newCollection(ctx context.Context, f *Files) *collection {
	n := min(runtime.GOMAXPROCS(0), maxWorkers)
	c := &collection{ctx: ctx, files: f, again: f.last != nil, seen: &snapshot{}, sorted: true, jobs: make(chan []job, n)}
	for range n {
		c.workers.Go(func() {
			for batch := range c.jobs {
				for _, j := range batch {
					c.examine(j)
					j.folder.release()
				}
			}
		})
	}
	return c
}

// wait ends the workers, then puts the entries in order if they are not.
func (c *collection) wait() {
	c.flush()
	close(c.jobs)
	c.workers.Wait()
	if c.sorted {
		return
	}
	var left, right []byte
	order := func(a, b entry) int {
		left, right = a.appendPath(left[:0]), b.appendPath(right[:0])
		return bytes.Compare(left, right)
	}
	all := slices.Concat(c.seen.blocks...)
	slices.SortStableFunc(all, order)
	c.seen = &snapshot{}
	for i := range all {
		if i == 0 || order(all[i], all[i-1]) != 0 { // a path that git names, in a folder that it names too
			c.seen.add(all[i])
		}
	}
}

func (c *collection) flush() {
	if len(c.batch) > 0 {
		c.jobs <- c.batch
		c.batch, c.folders = nil, 0
	}
}

// everything walks the whole workspace.
func (c *collection) everything() error {
	fd, err := openat(c.files.roots[0].fd, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return c.unreadable("", err)
	}
	return c.walk(fd, "")
}

func (c *collection) walk(fd int, path string) error {
	return walkTree(c.ctx, fd, path, func(name []byte) bool { return string(name) == gitName }, c)
}

// gitName is never entered: it is the history, not the work.
const gitName = ".git"

func (c *collection) entry(d *folder, e dirent) error {
	return c.take(d, entry{folder: d.path, name: e.name}, e.kind)
}

// take adds an entry that is there. Regular files and links are read by the
// workers; so is what did not tell its type, and is unreadable unless it is a file.
func (c *collection) take(d *folder, e entry, kind byte) error {
	if c.seen.count >= maxEntries {
		return errTooMany
	}
	to := c.seen.add(e)
	switch kind {
	case unix.DT_FIFO:
		to.kind = kindFIFO
	case unix.DT_SOCK:
		to.kind = kindSocket
	case unix.DT_CHR, unix.DT_BLK:
		to.kind = kindDevice
	default:
		c.hand(job{d, kind, to})
	}
	return c.ctx.Err()
}

// hand gives a job to the workers.
func (c *collection) hand(j job) {
	j.folder.hold()
	if n := len(c.batch); n == 0 || c.batch[n-1].folder != j.folder {
		c.folders++
	}
	if c.batch == nil {
		c.batch = make([]job, 0, batchFiles)
	}
	c.batch = append(c.batch, j)
	if len(c.batch) == batchFiles || c.folders == batchFolders {
		c.flush()
	}
}

func (c *collection) unreadable(where string, err error) error {
	if where == "" {
		where = "."
	}
	c.seen.add(entry{name: where})
	// A folder's own entry comes after or between those in it.
	c.sorted = false
	c.note(where, err)
	return c.ctx.Err()
}

func (c *collection) note(where string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble = append(c.trouble, check.Show(where)+": "+strings.TrimPrefix(reason(err), "cannot be read: "))
}

// notes are the troubles, sorted and bounded.
func (c *collection) notes() []string {
	slices.Sort(c.trouble)
	if more := len(c.trouble) - maxUnreadable; more > 0 {
		return append(c.trouble[:maxUnreadable:maxUnreadable], fmt.Sprintf("… and %d more", more))
	}
	return c.trouble
}

// examine reads what an entry is made of. It runs in the workers.
func (c *collection) examine(j job) {
	if c.ctx.Err() != nil {
		return
	}
	var err error
	if j.kind == unix.DT_LNK {
		err = c.readLink(j)
	} else {
		err = c.readFile(j)
	}
	if err != nil && c.ctx.Err() == nil {
		c.note(j.to.path(), err)
	}
}

func (c *collection) readLink(j job) error {
	text, err := readlink(j.folder.fd, j.to.name)
	if err != nil {
		return err
	}
	j.to.kind, j.to.digest = kindLink, strictjson.Sum([]byte(text))
	return nil
}

func (c *collection) readFile(j job) error {
	var st unix.Stat_t
	// From the second look on most files are known, and need not be opened.
	if c.again && unix.Fstatat(j.folder.fd, j.to.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		if d, ok := c.files.memo.get(&st); ok {
			c.found(j, &st, d)
			return nil
		}
	}
	fd, err := openat(j.folder.fd, j.to.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return errMoved
	}
	d, _, err := c.files.digest(c.ctx, "", fd, &st)
	if err != nil {
		return err
	}
	c.found(j, &st, d)
	return nil
}

// found keeps the digest of a regular file.
func (c *collection) found(j job, st *unix.Stat_t, d strictjson.Digest) {
	c.bytes.Add(st.Size)
	j.to.kind, j.to.digest = kindFile, d
	if st.Mode&unix.S_IXUSR != 0 {
		j.to.kind = kindExec
	}
}

// tracked takes the paths that git names. Consecutive paths in one folder
// share its descriptor.
func (c *collection) tracked(paths []string) error {
	if !slices.IsSorted(paths) {
		paths = slices.Sorted(slices.Values(paths))
	}
	var at *folder
	defer func() {
		if at != nil {
			at.release()
		}
	}()
	for i, p := range paths {
		if i > 0 && p == paths[i-1] {
			continue
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if c.seen.count >= maxEntries {
			return errTooMany
		}
		p = strings.TrimSuffix(p, "/") // how git names a repository inside the repository
		if slices.Contains(strings.Split(p, "/"), gitName) {
			continue
		}
		to := entry{name: p}
		if i := strings.LastIndexByte(p, '/'); i >= 0 {
			to.folder, to.name = p[:i], p[i+1:]
		}
		if at == nil || at.path != to.folder {
			if at != nil {
				at.release()
			}
			var err error
			if at, err = c.open(to.folder); err != nil {
				c.lost(to, err)
				continue
			}
		}
		if err := c.trackedOne(at, to); err != nil {
			return err
		}
	}
	return nil
}

// open opens a folder of the workspace by the names that lead to it; a link
// among them is no folder.
func (c *collection) open(path string) (*folder, error) {
	fd, err := dup(c.files.roots[0].fd)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(path, "/") {
		if path == "" {
			break
		}
		next := -1
		if err = impossible(name); err == nil {
			next, err = openat(fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		}
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
		fd = next
	}
	d := &folder{fd: fd, path: path}
	d.hold()
	return d, nil
}

// impossible refuses the names that no file has. They can only come from an
// index that was made by hand, and would lead elsewhere.
func impossible(name string) error {
	if name == "" || name == "." || name == ".." || strings.IndexByte(name, 0) >= 0 {
		return unix.ENOENT
	}
	return nil
}

// trackedOne takes one path that git names: a file, or a folder that is taken whole.
func (c *collection) trackedOne(at *folder, to entry) error {
	var st unix.Stat_t
	err := impossible(to.name)
	if err == nil {
		err = unix.Fstatat(at.fd, to.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		c.lost(to, err)
		return nil
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return c.take(at, to, byte(st.Mode&unix.S_IFMT>>12))
	}
	// What is in it may belong before what comes next: "sub-x" < "sub/a".
	c.sorted = false
	fd, err := openat(at.fd, to.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return c.unreadable(to.path(), err)
	}
	return c.walk(fd, to.path())
}

// lost adds a path that git names and that could not be opened.
func (c *collection) lost(to entry, err error) {
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENAMETOOLONG:
		to.kind = kindAbsent
	default:
		c.note(to.path(), err)
	}
	c.seen.add(to)
}
