package source

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/verdictgate/verdictgate/gate/check"
)

// repository is a .git folder, read through descriptors that cannot leave it.
type repository struct {
	top    string   // the work tree's folder
	dir    *os.Root // what belongs to this work tree: HEAD, index
	common *os.Root // what its work trees share: refs, config; often the same
}

func (r *repository) close() {
	r.dir.Close()
	if r.common != r.dir {
		r.common.Close()
	}
}

// discover finds the repository whose work tree holds the workspace; nil when
// there is none.
func discover(workspace string) (*repository, error) {
	var here syscall.Stat_t
	if err := syscall.Stat(workspace, &here); err != nil {
		return nil, err
	}
	for top := workspace; ; top = filepath.Dir(top) {
		var st syscall.Stat_t
		if err := syscall.Stat(top, &st); err != nil || st.Dev != here.Dev {
			return nil, nil
		}
		name := filepath.Join(top, ".git")
		if err := syscall.Lstat(name, &st); err == nil {
			if top != workspace && !trusted(st.Uid, here.Uid) {
				return nil, nil
			}
			return open(top, name, st.Mode&syscall.S_IFMT)
		}
		if top == "/" {
			return nil, nil
		}
	}
}

// trusted says whether a repository above the workspace may decide about it.
func trusted(owner, workspaceOwner uint32) bool {
	return owner == workspaceOwner || owner == 0 || int(owner) == os.Geteuid()
}

func open(top, name string, kind uint32) (*repository, error) {
	switch kind {
	case syscall.S_IFDIR:
		dir, err := os.OpenRoot(name)
		if err != nil {
			return nil, errors.New(quoteError(err))
		}
		r := &repository{top: top, dir: dir, common: dir}
		if _, err := dir.Lstat("HEAD"); err != nil {
			r.close()
			return nil, errors.New("its .git folder is no repository: it has no HEAD")
		}
		return r, nil
	case syscall.S_IFREG:
		return openPointer(top)
	}
	return nil, errors.New(".git is neither a folder nor a file")
}

// openPointer follows a .git file: "gitdir: <folder>". A folder outside the
// work tree must be that of a linked work tree and name this one in return;
// else a change could have any repository of the machine looked into.
func openPointer(top string) (*repository, error) {
	work, err := os.OpenRoot(top)
	if err != nil {
		return nil, errors.New(quoteError(err))
	}
	defer work.Close()
	data, err := readSmall(work, ".git")
	if err != nil {
		return nil, errors.New(quoteError(err))
	}
	target, ok := strings.CutPrefix(string(data), "gitdir: ")
	if !ok {
		return nil, errors.New(`its .git file does not begin with "gitdir: "`)
	}
	target = strings.TrimRight(target, "\r\n")
	if !filepath.IsAbs(target) {
		target = filepath.Join(top, target)
	}
	outside := fmt.Errorf("its .git file leads to %s, outside the work tree, and that folder does not name the work tree in return", check.Quote(target))
	if target, err = filepath.EvalSymlinks(target); err != nil {
		return nil, outside
	}
	dir, err := os.OpenRoot(target)
	if err != nil {
		return nil, outside
	}
	r := &repository{top: top, dir: dir, common: dir}
	if inside(target, top) {
		if _, err := dir.Lstat("HEAD"); err != nil {
			r.close()
			return nil, errors.New("its .git file leads to a folder that is no repository: it has no HEAD")
		}
		return r, nil
	}
	// git makes a linked work tree's folder as <repository>/worktrees/<name>.
	shared := filepath.Dir(filepath.Dir(target))
	if filepath.Base(filepath.Dir(target)) != "worktrees" || !namesInReturn(dir, filepath.Join(top, ".git")) {
		r.close()
		return nil, outside
	}
	if r.common, err = os.OpenRoot(shared); err != nil {
		r.common = dir
		r.close()
		return nil, outside
	}
	return r, nil
}

// namesInReturn says whether a linked work tree's folder names the .git file
// that led to it.
func namesInReturn(dir *os.Root, pointer string) bool {
	back, err := readSmall(dir, "gitdir")
	if err != nil {
		return false
	}
	name := strings.TrimRight(string(back), "\r\n")
	if !filepath.IsAbs(name) { // git 2.48 writes it relative when asked to
		name = filepath.Join(dir.Name(), name)
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(name))
	return err == nil && filepath.Join(parent, filepath.Base(name)) == pointer
}

// inside says whether a resolved path lies in a resolved folder.
func inside(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}

// errNoCommit says that nothing was committed yet on the current branch.
var errNoCommit = errors.New("nothing was committed yet")

// head is the commit that HEAD names, in hex.
func (r *repository) head() (string, error) {
	name, from := "HEAD", r.dir
	for range maxSymrefs {
		data, err := readSmall(from, name)
		if errors.Is(err, fs.ErrNotExist) && name != "HEAD" {
			return r.packed(name)
		}
		if err != nil {
			return "", errors.New(quoteError(err))
		}
		text := strings.TrimRight(string(data), " \t\r\n")
		target, symbolic := strings.CutPrefix(text, "ref:")
		if !symbolic {
			return commit(text)
		}
		if name = strings.TrimSpace(target); !validRef(name) {
			return "", fmt.Errorf("HEAD leads to %s, which is no ref that is read here", check.Quote(name))
		}
		from = r.common
		if strings.HasPrefix(name, "refs/worktree/") || strings.HasPrefix(name, "refs/bisect/") {
			from = r.dir
		}
	}
	return "", errors.New("HEAD leads through too many refs")
}

// packed finds a ref in the file of all refs: lines of "<hex> <ref>".
func (r *repository) packed(ref string) (string, error) {
	data, err := readFile(r.common, "packed-refs", maxPackedRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoCommit
	}
	if err != nil {
		return "", errors.New(quoteError(err))
	}
	for line := range bytes.Lines(data) {
		if id, name, ok := strings.Cut(strings.TrimRight(string(line), "\r\n"), " "); ok && name == ref {
			return commit(id)
		}
	}
	return "", errNoCommit
}

// commit checks that a text is the id of a commit: SHA-1 or SHA-256.
func commit(text string) (string, error) {
	if _, err := hex.DecodeString(text); err != nil || len(text) != 40 && len(text) != 64 {
		return "", fmt.Errorf("HEAD leads to %s, which is no commit id", check.Quote(text[:min(len(text), 80)]))
	}
	return strings.ToLower(text), nil
}

// validRef says whether a name is that of a ref, and safe as a path.
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f || strings.ContainsRune(`\ ~^:?*[`, c) }) && !strings.Contains(name, "..")
}

func readSmall(dir *os.Root, name string) ([]byte, error) { return readFile(dir, name, maxSmall) }

// readFile reads a regular file of a repository, of at most limit bytes.
func readFile(dir *os.Root, name string, limit int64) ([]byte, error) {
	f, err := openRegular(dir, name, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// openRegular opens a regular file of a repository; a FIFO in its place does
// not hold anybody up.
func openRegular(dir *os.Root, name string, limit int64) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("is no regular file")}
	case info.Size() > limit:
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("is larger than %d bytes", limit)}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
