package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// asNobody runs f as a user who may read nothing of others: file permissions are
// asked of a thread's own file system user.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f() // already one
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	for _, id := range []int{nobody, 0} {
		if err := errors.Join(unix.Setfsgid(id), unix.Setfsuid(id)); err != nil {
			t.Fatal(err)
		}
		if id == nobody {
			f()
		}
	}
}

// TestUnreadIsNotTampered: what nobody could look at was not changed, as far as
// anybody knows.
func TestUnreadIsNotTampered(t *testing.T) {
	top := t.TempDir()
	original := write(t, t.TempDir(), content(t))
	sign(t, original)
	for _, dir := range []string{filepath.Dir(top), top} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	blobs, err := os.ReadDir(filepath.Join(original, blobsName, algorithmName))
	if err != nil || len(blobs) == 0 {
		t.Fatal(err)
	}
	for _, name := range []string{evidenceName, contractName, attestationName, sigstoreName, filepath.Join(blobsName, algorithmName, blobs[0].Name()), "."} {
		dir := filepath.Join(top, "copy-"+strings.ReplaceAll(name, "/", "-"))
		if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
			t.Fatal(err)
		}
		part := filepath.Join(dir, name)
		if err := os.Chmod(part, 0); err != nil {
			t.Fatal(err)
		}
		asNobody(t, func() { _, err = Read(dir) })
		if f := fault.As(err); err == nil || f.Code != fault.AttestationInvalid || !strings.Contains(f.Message, "permission denied") || !strings.Contains(f.Fix, "nothing was said") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Chmod(part, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err != nil {
			t.Errorf("%s, readable again: %v", name, err)
		}
	}
}
