package worker

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
)

// tool is a program that a command starts.
type tool struct {
	path     string // what is executed: as it was found, links not followed
	resolved string
	info     fs.FileInfo
}

// lookup finds the program that argv[0] names. A name is searched for in PATH
// alone, never in the current folder, and never where commands may write; a
// path is taken relative to the command's folder.
func (x *executor) lookup(name, dir string, caches []string) (tool, error) {
	if name == "" {
		return tool{}, &check.ExecError{Code: fault.CheckMalformed, Reason: "the command names no program"}
	}
	if strings.ContainsRune(name, '/') {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		t, err := inspect(path)
		if err != nil {
			return tool{}, toolMissing("the program %s %v", check.Quote(path), err)
		}
		return t, nil
	}
	var reasons []string
	writable := append([]string{x.scratch}, caches...)
	for _, folder := range filepath.SplitList(x.path) {
		t, err := inspect(filepath.Join(folder, name))
		switch {
		case err == nil && (within(x.roots, t.resolved) || within(writable, t.resolved)):
			reasons = append(reasons, fmt.Sprintf("%s is a link to where the judged change may write", check.Quote(t.path)))
		case err == nil:
			return t, nil
		case !isMissing(err):
			reasons = append(reasons, fmt.Sprintf("%s %v", check.Quote(filepath.Join(folder, name)), err))
		}
	}
	where := strings.Join(filepath.SplitList(x.path), ", ")
	if where == "" {
		where = "an empty PATH"
	}
	if len(reasons) > 0 {
		where += "; " + strings.Join(reasons, "; ")
	}
	return tool{}, toolMissing("there is no program %s in %s", check.Quote(name), where)
}

func toolMissing(format string, args ...any) error {
	return &check.ExecError{Code: fault.ToolMissing, Reason: fmt.Sprintf(format, args...)}
}

// unfit is why a file is no program; it completes "the program <path> …".
type unfit string

func (u unfit) Error() string { return string(u) }

const notThere unfit = "is not there"

func isMissing(err error) bool { return err == notThere }

// inspect says whether a path is a program that this user may execute.
func inspect(path string) (tool, error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err) || isNotDir(err):
		return tool{}, notThere
	case err != nil:
		return tool{}, unfit(fmt.Sprintf("cannot be reached: %v", cause(err)))
	case info.IsDir():
		return tool{}, unfit("is a directory")
	case !info.Mode().IsRegular():
		return tool{}, unfit("is not a regular file")
	case unix.Access(path, unix.X_OK) != nil:
		return tool{}, unfit("is not executable for the user of the check")
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return tool{}, unfit(fmt.Sprintf("cannot be resolved: %v", cause(err)))
	}
	return tool{path: path, resolved: resolved, info: info}, nil
}

func isNotDir(err error) bool { return cause(err) == syscall.ENOTDIR }

// cause is the error inside a path error: the path is named already.
func cause(err error) error {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Err
	}
	return err
}

// fileIdentity changes whenever a file's bytes may have.
type fileIdentity struct {
	dev, ino, size, mtime, ctime int64
}

// toolDigests remembers the digests of programs: a thousand commands of one
// program read it once.
type toolDigests map[fileIdentity]string

// record describes the program for the evidence. A program that may be
// executed but not read has no digest.
func (d toolDigests) record(ctx context.Context, name string, t tool) (record.Tool, error) {
	out := record.Tool{Name: name, Path: t.resolved}
	id, known := identify(t.info)
	if known {
		if digest, ok := d[id]; ok {
			out.Digest = digest
			return out, nil
		}
	}
	f, err := os.Open(t.resolved)
	if err != nil {
		return out, nil
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, contextReader{ctx, f}); err != nil {
		return out, ctx.Err()
	}
	out.Digest = digestOf(sum).String()
	if known {
		d[id] = out.Digest
	}
	return out, nil
}

// contextReader stops reading when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
