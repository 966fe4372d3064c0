//go:build unix

package bundle

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the lock of a folder, or fails at once when somebody has it. It
// ends with the process, however that ends, and it moves along when the folder
// is renamed.
func lock(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.ENOLCK) { // a network file system without its lock service
		err = errors.ErrUnsupported
	}
	if err == nil {
		// Between the opening and the lock the folder may have been swept.
		held, e1 := f.Stat()
		named, e2 := os.Lstat(dir)
		if err = errors.Join(e1, e2); err == nil && !os.SameFile(held, named) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil
}

// openFlags open a file that may turn out to be anything: no link is followed,
// and a FIFO without a writer does not block.
const openFlags = os.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
