package roots

import "golang.org/x/sys/unix"

// beneath is how the kernel is asked to resolve: never above the descriptor,
// and never through a link of /proc, which is no text but a door.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS

// The calls below are the system's, less interruptions by signals: Go's
// scheduler sends them all the time.

func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func openat2(dir int, name string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: beneath}
	for {
		fd, err := unix.Openat2(dir, name, &how)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func dup(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) }

func read(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Read(fd, p)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// readlink reads the text of the link name in a folder; with name "" that of
// the link that dir itself is (opened with O_PATH|O_NOFOLLOW).
func readlink(dir int, name string) (string, error) {
	// A link's text is shorter than PATH_MAX on every file system of Linux.
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(dir, name, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}
