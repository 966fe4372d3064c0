package action

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/reporter/github"
)

// maxShown bounds a file of the change that is read to find a line in it, in bytes.
const maxShown = 16 << 20

// files are the change's files, for the places of annotations. They are the judged
// side's: nothing outside of the workspace is opened, nothing that is no regular
// file, and nothing waits.
func (j *judging) files(r *run) github.Workspace {
	top := j.Env("GITHUB_WORKSPACE")
	w := github.Workspace{Prefix: j.in.prefix, Root: top}
	if r.sealed != nil {
		w.Blob = r.sealed.Blob
	}
	if top == "" || j.in.dir == "" { // the second stage has no workspace of the change
		return w
	}
	open := func(path string) (*os.File, error) {
		local, ok := clean(path)
		if !ok {
			return nil, os.ErrNotExist
		}
		root, err := os.OpenRoot(top)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		f, err := root.OpenFile(local, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() {
			f.Close()
			return nil, os.ErrNotExist
		}
		return f, nil
	}
	w.Exists = func(path string) bool {
		f, err := open(path)
		if err != nil {
			return false
		}
		f.Close()
		return true
	}
	w.Open = func(path string) ([]byte, error) {
		f, err := open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxShown+1))
		if err == nil && len(data) > maxShown {
			err = fmt.Errorf("%s has more than %d bytes", filepath.Base(path), maxShown)
		}
		return data, err
	}
	return w
}
