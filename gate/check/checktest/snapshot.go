package checktest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// snapshot describes everything below the workspace: what each name is, its
// permissions, its last change, and the digest of a file's bytes or a link's
// target. The time of a folder's last change shows a file that came and went.
func (w *world) snapshot() (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(w.ws, func(path string, d fs.DirEntry, err error) error {
		if err != nil && !os.IsPermission(err) {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%s, changed %s", info.Mode(), info.ModTime())
		switch {
		case info.Mode().IsRegular():
			digest, err := digestFile(path)
			if err != nil && !os.IsPermission(err) {
				return err
			}
			text += fmt.Sprintf(", %d bytes, %s", info.Size(), digest)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += ", to " + target
		}
		out[path] = text
		return nil
	})
	return out, err
}

func digestFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// differences says what two snapshots disagree about.
func differences(before, after map[string]string) []string {
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != after[name] {
			out = append(out, fmt.Sprintf("the workspace changed at %q: it is %q, and was %q", name, after[name], before[name]))
		}
	}
	return out
}

// release makes every folder of the case writable again, so that the temporary
// folder can be removed. WalkDir shows a folder before it reads it.
func (w *world) release() error {
	return filepath.WalkDir(filepath.Dir(w.ws), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}
