package roots

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// errMoved says that something was moved between two looks at it.
var errMoved = errors.New("moved meanwhile")

// refused is the one answer for everything outside the roots, whether it is
// there or not.
func refused(path string) error {
	return &check.PathError{Path: path, Code: fault.CheckRefused, Reason: "leaves the allowed roots"}
}

func unreadable(path string, err error) error {
	return &check.PathError{Path: path, Code: fault.TargetUnreadable, Reason: reason(err)}
}

func changed(path string) error {
	return &check.PathError{Path: path, Code: fault.TargetUnreadable, Reason: "changed while it was read"}
}

func moved(path string) error {
	return &check.PathError{Path: path, Code: fault.TargetUnreadable, Reason: "was moved again and again while it was resolved"}
}

// stopped is the error of a context that ended.
func stopped(ctx context.Context, path string) error {
	if ctx.Err() == nil {
		return nil
	}
	return &check.PathError{Path: path, Code: fault.Timeout, Reason: "was not read to its end: the check was stopped"}
}

// notA is the answer for a target that was examined and is something else
// than wanted.
func notA(path, wanted string, i check.Info) error {
	e := &check.PathError{Path: path}
	switch {
	case i.Kind == check.Missing && i.What == "":
		e.Reason = "is missing"
	case i.Kind == check.Missing:
		e.Reason = "is missing: it is " + i.What
	case i.Kind == check.Regular:
		e.Reason = "is a file, not a " + wanted
	case i.Kind == check.Directory:
		e.Reason = "is a directory, not a " + wanted
	default:
		e.Reason = "is " + i.What + ", not a " + wanted
	}
	return e
}

// reason completes "<path> …" for an error of the system. Whoever has to mend
// a permission must know for whom.
func reason(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	var pe *check.PathError
	switch {
	case errors.As(err, &pe):
		return pe.Reason
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Sprintf("cannot be read by user id %d: permission denied", os.Geteuid())
	case errors.Is(err, unix.ENOENT):
		return "is missing"
	case errors.Is(err, unix.ENOTDIR):
		return "is no folder"
	}
	return "cannot be read: " + err.Error()
}

// whatIs names the kind of a file that is neither regular nor a folder.
func whatIs(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "a device"
	case unix.S_IFLNK:
		return "a link"
	}
	return "something that is no file"
}
