package bundle

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// verificationsName is the folder of the bundles in a data folder.
const verificationsName = "verifications"

// maxLinks is how many links a path may lead through, as the kernel counts.
const maxLinks = 40

// ResolveDataDir gives the data folder as an absolute path without links:
// the flag, else GATE_DATA_DIR, else "gate" in the XDG data folder. The folder
// need not exist. One inside the workspace is refused: what is judged must not
// be able to write the evidence about itself, and evidence must not change
// what is judged. A workspace of "" is not looked at; reading needs none.
func ResolveDataDir(flag string, env func(string) string, workspace string) (string, error) {
	dir, from := flag, "--data-dir"
	if dir == "" {
		dir, from = env("GATE_DATA_DIR"), "GATE_DATA_DIR"
	}
	if dir == "" {
		dir, from = env("XDG_DATA_HOME"), "XDG_DATA_HOME"
		if !filepath.IsAbs(dir) { // the XDG specification has relative ones ignored
			home := env("HOME")
			if !filepath.IsAbs(home) {
				return "", fault.New(fault.Usage, "Pass --data-dir, or set GATE_DATA_DIR.", "there is no data folder: neither GATE_DATA_DIR, XDG_DATA_HOME nor HOME names an absolute one")
			}
			dir, from = filepath.Join(home, ".local", "share"), "HOME"
		}
		dir = filepath.Join(dir, "gate")
	}
	if strings.IndexByte(dir, 0) >= 0 {
		return "", fault.New(fault.Usage, "", "the data folder of %s holds a NUL character", from)
	}
	resolved, err := resolve(dir)
	if err != nil {
		return "", fault.New(fault.Usage, "Pass another --data-dir.", "the data folder %q (from %s) cannot be resolved: %v", dir, from, err).Because(err)
	}
	if workspace == "" {
		return resolved, nil
	}
	// The folder of the bundles may be a link of its own.
	bundles, err := resolve(filepath.Join(resolved, verificationsName))
	if err != nil {
		return "", fault.New(fault.Usage, "Pass another --data-dir.", "the data folder %q (from %s) cannot be used: %v", dir, from, err).Because(err)
	}
	if workspace, err = resolve(workspace); err != nil {
		return "", fault.New(fault.WorkspaceUnresolved, "", "the workspace cannot be resolved: %v", err).Because(err)
	}
	for _, path := range []string{resolved, bundles} {
		if inside(path, workspace) {
			return "", fault.New(fault.Usage, "Pass a --data-dir outside the workspace.", "the data folder %q (from %s) lies inside the workspace %q", path, from, workspace).
				With("data_dir", path).With("workspace", workspace)
		}
	}
	return resolved, nil
}

// resolve makes a path absolute and replaces its links, also those that lead to
// nothing yet; what does not exist is taken as it is written.
func resolve(path string) (string, error) {
	// Not filepath.Abs, which takes "link/.." away before the link is followed.
	abs := path
	if !filepath.IsAbs(abs) {
		wd, err := os.Getwd()
		if err != nil {
			return "", err
		}
		abs = wd + string(filepath.Separator) + path
	}
	root := filepath.VolumeName(abs) + string(filepath.Separator)
	done, ahead := root, strings.TrimPrefix(abs, root)
	for links := 0; ahead != ""; {
		name, rest, _ := strings.Cut(ahead, string(filepath.Separator))
		ahead = rest
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			done = next
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", errors.New("it leads through too many links")
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			if filepath.IsAbs(target) {
				done = root
				target = strings.TrimPrefix(target, root)
			}
			ahead = target + string(filepath.Separator) + ahead
		default:
			done = next
		}
	}
	return done, nil
}

// inside says whether a resolved path is a folder or lies below it: by name,
// and by identity, which also sees through bind mounts and file systems that
// ignore case.
func inside(path, folder string) bool {
	want, err := os.Stat(folder)
	for {
		if path == folder {
			return true
		}
		if info, e := os.Stat(path); err == nil && e == nil && os.SameFile(info, want) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}
