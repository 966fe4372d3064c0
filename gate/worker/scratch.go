package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// scratch is the folder of one run: what workers may write beside the
// workspace. Each profile has its own, so that no command can touch what a
// reading check copied.
type scratch struct {
	base    string
	reading string
	command string
	wall    string // a file of the worker's own user, which only the sandbox keeps it from writing
	held    *os.File
}

// scratchPrefix begins the names of scratch folders.
const scratchPrefix = "gate-"

// staleAfter is how old a scratch folder must be to be taken for one that a
// killed gate left: far more than it takes to lock a new one.
const staleAfter = time.Hour

// newScratch makes the folders, for the worker's user, outside the roots.
func newScratch(roots []string, owner *syscall.Credential) (*scratch, error) {
	base, err := scratchBase(roots, owner)
	if err != nil {
		return nil, err
	}
	s := &scratch{base: base, reading: filepath.Join(base, "reading"), command: filepath.Join(base, "command"), wall: filepath.Join(base, "wall")}
	if err := s.fill(owner); err != nil {
		return nil, errors.Join(fmt.Errorf("the scratch folder cannot be made: %w", err), s.remove())
	}
	return s, nil
}

func (s *scratch) fill(owner *syscall.Credential) error {
	made := []string{s.wall}
	for _, dir := range []string{s.reading, s.command} {
		for _, d := range []string{dir, filepath.Join(dir, scratchHome), filepath.Join(dir, scratchTmp)} {
			if err := os.Mkdir(d, 0o700); err != nil {
				return err
			}
			made = append(made, d)
		}
	}
	var err error
	if s.held, err = os.OpenFile(s.wall, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	if err := syscall.Flock(int(s.held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	if owner == nil {
		return nil
	}
	for _, path := range made {
		if err := os.Lchown(path, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	// The worker walks through, and sees only its own.
	return os.Chmod(s.base, 0o711)
}

// scratchBase makes a folder in the first temporary folder that will do. It
// must not lie in the roots: nothing is ever written there.
func scratchBase(roots []string, owner *syscall.Credential) (string, error) {
	var reasons []error
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		resolved, err := filepath.EvalSymlinks(dir)
		if err == nil {
			resolved, err = filepath.Abs(resolved)
		}
		switch {
		case err != nil:
		case within([]string{sharedMemory}, resolved):
			err = fmt.Errorf("commands may write in %s", sharedMemory)
		case within(roots, resolved):
			err = fmt.Errorf("%s lies in the judged folders", dir)
		case !walkable(resolved, owner):
			err = fmt.Errorf("%s is out of reach for uid %d", dir, owner.Uid)
		default:
			var base string
			if base, err = os.MkdirTemp(resolved, scratchPrefix); err == nil {
				return base, nil
			}
		}
		reasons = append(reasons, err)
	}
	return "", fmt.Errorf("there is no temporary folder that will do: %w", errors.Join(reasons...))
}

// walkable says whether a user who is neither root nor in any group may walk
// down to a folder.
func walkable(dir string, owner *syscall.Credential) bool {
	for owner != nil && dir != "/" {
		var st syscall.Stat_t
		if err := syscall.Stat(dir, &st); err != nil {
			return false
		}
		need := uint32(0o001)
		switch {
		case st.Uid == owner.Uid:
			need = 0o100
		case st.Gid == owner.Gid:
			need = 0o010
		}
		if uint32(st.Mode)&need == 0 {
			return false
		}
		dir = filepath.Dir(dir)
	}
	return true
}

// remove removes the folder, and those that killed gates left beside it. No
// process that could interfere is left by then.
func (s *scratch) remove() error {
	err := removeAll(s.base)
	if s.held != nil {
		_ = s.held.Close() // it was never written
	}
	removeStale(filepath.Dir(s.base))
	return err
}

// removeAll removes also what a command made unremovable by taking its own
// rights away.
func removeAll(base string) error {
	if os.RemoveAll(base) == nil {
		return nil
	}
	_ = filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			// Before it is listed: WalkDir comes here first, and a second time
			// with the error if it then cannot read it.
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(base)
}

// removeStale removes scratch folders that nobody holds any more. A gate holds
// a lock in its own, which the kernel lets go with the process. What cannot be
// removed is the next one's to try.
func removeStale(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		var st syscall.Stat_t
		if !strings.HasPrefix(e.Name(), scratchPrefix) || syscall.Lstat(path, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFDIR ||
			int(st.Uid) != os.Geteuid() || time.Since(time.Unix(st.Mtim.Unix())) < staleAfter {
			continue
		}
		held, err := os.OpenFile(filepath.Join(path, "wall"), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = removeAll(path)
		}
		_ = held.Close()
	}
}
