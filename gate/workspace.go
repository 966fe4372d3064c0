package gate

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// resolveFolder gives the absolute path of a folder, links resolved.
func resolveFolder(flag, dir string) (string, error) {
	mend := "" // that of the code, which speaks of --dir
	if flag != "--dir" {
		mend = fmt.Sprintf("Pass %s with a folder that is there.", flag)
	}
	if dir == "" {
		return "", fault.New(fault.WorkspaceUnresolved, mend, "%s names no folder, and none is guessed", flag)
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(abs)
	}
	if err != nil {
		return "", fault.New(fault.WorkspaceUnresolved, mend, "%s %s cannot be resolved: %v", flag, dir, err).With("path", dir).Because(err)
	}
	if !info.IsDir() {
		return "", fault.New(fault.WorkspaceUnresolved, mend, "%s %s is no folder", flag, dir).With("path", dir)
	}
	return abs, nil
}

// resolved gives folders without links, those that are there. Whoever names what is
// protected may name more than there is.
func resolved(folders []string) []string {
	var out []string
	for _, f := range folders {
		if f, err := filepath.EvalSymlinks(f); err == nil && filepath.IsAbs(f) {
			out = append(out, f)
		}
	}
	return out
}

// resolveRoots gives the workspace and the further roots, the workspace first.
func resolveRoots(dir string, extra []string) ([]string, error) {
	workspace, err := resolveFolder("--dir", dir)
	if err != nil {
		return nil, err
	}
	roots := []string{workspace}
	for _, r := range extra {
		root, err := resolveFolder("--root", r)
		if err != nil {
			return nil, err
		}
		roots = append(roots, root)
	}
	return roots, nil
}
