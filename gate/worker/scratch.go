package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// scratch is the folder of one run: what workers may write beside the
// workspace. Each profile has its own, so that no command can touch what a
// reading check copied.
type scratch struct {
	base    string
	reading string
	command string
	wall    string // a file of the worker's own user, which only the sandbox keeps it from writing
}

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
	if err := os.WriteFile(s.wall, nil, 0o600); err != nil {
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
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		resolved, err := filepath.EvalSymlinks(dir)
		if err == nil {
			resolved, err = filepath.Abs(resolved)
		}
		switch {
		case err != nil:
		case within(roots, resolved):
			err = fmt.Errorf("%s lies in the judged folders", dir)
		case !walkable(resolved, owner):
			err = fmt.Errorf("%s is out of reach for uid %d", dir, owner.Uid)
		default:
			var base string
			if base, err = os.MkdirTemp(resolved, "gate-"); err == nil {
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

// remove removes the folder, also what a command made unremovable by taking
// its own rights away. No process that could interfere is left by then.
func (s *scratch) remove() error {
	if os.RemoveAll(s.base) == nil {
		return nil
	}
	_ = filepath.WalkDir(s.base, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			// Before it is listed: WalkDir comes here first, and a second time
			// with the error if it then cannot read it.
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(s.base)
}
