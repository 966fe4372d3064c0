package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// readPipe reads a pipe to its end, at most so many bytes and no longer than
// wait. It is opened without blocking and polled: a plain open of a FIFO waits
// for a writer that may never come.
func readPipe(name string, most int64, wait time.Duration) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil, errors.Join(errors.New("it is no pipe any more"), err)
	}
	var data []byte
	chunk := make([]byte, 64<<10)
	for deadline := time.Now().Add(wait); ; {
		left := time.Until(deadline)
		if left <= 0 && len(data) == 0 {
			return nil, fmt.Errorf("nobody wrote to it within %s", wait)
		} else if left <= 0 {
			return nil, fmt.Errorf("its end did not come within %s", wait)
		}
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if errors.Is(err, unix.EINTR) || err == nil && ready == 0 {
			continue
		}
		n := 0
		if err == nil {
			n, err = unix.Read(fd, chunk)
		}
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return data, keepPiped(name, data)
		}
		if data = append(data, chunk[:n]...); int64(len(data)) > most {
			return nil, fmt.Errorf("more than %d bytes came; at most %d are read", most, most)
		}
	}
}

// keepPiped puts what came through a pipe in the place of its open end. A pipe
// gives its content once, and the contract may be read again under the same
// name: by the program that a lean one carries (see package carry), which
// inherits its open files. A FIFO that has a name of its own stays as it is.
func keepPiped(name string, data []byte) error {
	fd, ok := descriptorOf(name)
	if !ok {
		return nil
	}
	kept, err := unix.MemfdCreate("contract", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return fmt.Errorf("no file in memory for it: %w", err)
	}
	defer unix.Close(kept)
	for rest := data; err == nil && len(rest) > 0; {
		var n int
		n, err = unix.Write(kept, rest)
		rest = rest[max(n, 0):]
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(kept), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err == nil {
		err = unix.Dup3(kept, fd, 0)
	}
	return err
}

// descriptorOf gives the descriptor that a name stands for, if it is such a name.
func descriptorOf(name string) (fd int, ok bool) {
	if name == "/dev/stdin" {
		return 0, true
	}
	number, found := strings.CutPrefix(name, "/dev/fd/")
	if !found {
		number, found = strings.CutPrefix(name, "/proc/self/fd/")
	}
	fd, err := strconv.Atoi(number)
	return fd, found && err == nil && fd >= 0
}
