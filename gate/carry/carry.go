// Package carry lets a lean program carry a full one.
//
// Importing a library can cost more than a whole run: the JSON Schema library
// compiles its metaschemas when a process starts, whether a contract has a
// schema or not, and the gate starts twice for a run, as itself and as its
// worker. So `make build` makes two programs. The lean one links everything
// that starts fast; the full one, which links the rest as well, lies inside it
// as data. When a contract needs a check type that is not linked in, the lean
// program replaces itself by the full one, with the same arguments: one file
// to install, one process, one verifier.
//
// A plain `go build` makes the full program alone, which carries nothing and
// works the same, a few milliseconds slower.
package carry

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// name is argv[0] of a full program that was started by a lean one. Its
// arguments are the number of the lean program's open file, and then those of
// the lean program.
const name = "gate-full"

// Exec replaces this process by the carried program. It returns only when that
// failed.
func Exec(program []byte, args []string) error {
	if len(program) == 0 {
		return errors.New("this program carries no other")
	}
	front, err := unix.Open("/proc/self/exe", unix.O_RDONLY, 0) // inherited on purpose
	if err != nil {
		return fmt.Errorf("the running program cannot be opened: %w", err)
	}
	fd, err := memory(program)
	if err != nil {
		return err
	}
	argv := append([]string{name, strconv.Itoa(front)}, args...)
	return fmt.Errorf("the carried program cannot be started: %w", unix.Exec(fmt.Sprintf("/proc/self/fd/%d", fd), argv, os.Environ()))
}

// memory puts a program into a file that only this process has, and that
// nobody can change.
func memory(program []byte) (int, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("gate", flags|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3, where every such file can be executed
		fd, err = unix.MemfdCreate("gate", flags)
	}
	if err != nil {
		return -1, fmt.Errorf("no file in memory for the carried program: %w", err)
	}
	f := os.NewFile(uintptr(fd), "gate")
	if _, err := f.Write(program); err != nil {
		return -1, fmt.Errorf("the carried program cannot be unpacked: %w", err)
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return -1, fmt.Errorf("the carried program cannot be sealed: %w", err)
	}
	return int(f.Fd()), nil
}

// Arrive tells a program what it runs as: its arguments without what a lean
// program put before them, and that program's file, which is what a user
// installed and what the verifier is known by. The file is nil when no lean
// program started this one.
func Arrive(argv []string) (args []string, front *os.File) {
	if len(argv) < 2 || argv[0] != name {
		return argv, nil
	}
	fd, err := strconv.Atoi(argv[1])
	if err != nil || fd < 3 {
		return argv, nil
	}
	unix.CloseOnExec(fd) // what this program starts has no use for it
	return append([]string{argv[0]}, argv[2:]...), os.NewFile(uintptr(fd), "gate")
}
