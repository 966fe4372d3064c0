package gate

import (
	"os"
	"path/filepath"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// resolveFolder gives the absolute path of a folder, links resolved.
func resolveFolder(flag, dir string) (string, error) {
	if dir == "" {
		return "", fault.New(fault.WorkspaceUnresolved, "", "no %s was given: there is nothing to judge", flag)
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
		return "", fault.New(fault.WorkspaceUnresolved, "", "%s %s cannot be resolved: %v", flag, dir, err).With("path", dir).Because(err)
	}
	if !info.IsDir() {
		return "", fault.New(fault.WorkspaceUnresolved, "", "%s %s is no folder", flag, dir).With("path", dir)
	}
	return abs, nil
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
