package roots

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// world is a workspace, a further root and a folder outside both, all in one
// folder without links in its path.
type world struct {
	top, ws, more, out string
}

func newWorld(t *testing.T) world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := world{top: top, ws: top + "/ws", more: top + "/more", out: top + "/out"}
	for _, dir := range []string{w.ws, w.more, w.out} {
		must(t, os.Mkdir(dir, 0o755))
	}
	return w
}

// lay makes files from lines: "path = content", "path -> link text", "path/"
// for a folder, "path |" for a FIFO. {ws}, {more}, {out} stand for the folders.
func (w world) lay(t *testing.T, lines string) {
	t.Helper()
	for line := range strings.SplitSeq(w.expand(lines), "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		path, rest, _ := strings.Cut(line, " ")
		path = filepath.Join(w.top, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case rest == "":
			must(t, os.MkdirAll(path, 0o755))
		case rest == "|":
			must(t, unix.Mkfifo(path, 0o644))
		case strings.HasPrefix(rest, "-> "):
			must(t, os.Symlink(rest[3:], path))
		case strings.HasPrefix(rest, "="):
			must(t, os.WriteFile(path, []byte(strings.TrimPrefix(rest[1:], " ")), 0o644))
		default:
			t.Fatalf("no such line: %q", line)
		}
	}
}

func (w world) expand(s string) string {
	return strings.NewReplacer("{ws}", w.ws, "{more}", w.more, "{out}", w.out, "{top}", w.top).Replace(s)
}

// open opens the workspace and the further root, with or without openat2.
func (w world) open(t *testing.T, kernel bool) *Files {
	t.Helper()
	f, err := Open(w.ws, []string{w.more})
	must(t, err)
	t.Cleanup(func() { f.Close() })
	if kernel && !f.openat2 {
		t.Log("this kernel has no openat2: the walk is tested twice")
	}
	f.openat2 = f.openat2 && kernel
	return f
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bothWays runs a test with the kernel resolving and with the walk alone.
func bothWays(t *testing.T, test func(t *testing.T, kernel bool)) {
	t.Helper()
	t.Run("openat2", func(t *testing.T) { test(t, true) })
	t.Run("walk", func(t *testing.T) { test(t, false) })
}

const unprivilegedVariable = "ROOTS_TEST_UNPRIVILEGED"

// unprivileged says whether permissions bind this process. If not, it runs the
// calling test in this binary again as a user without rights.
func unprivileged(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	if os.Getenv(unprivilegedVariable) != "" {
		t.Fatal("still root after giving up root")
	}
	scratch, err := os.MkdirTemp("/tmp", "roots-test-")
	must(t, err)
	t.Cleanup(func() {
		exec.Command("chmod", "-R", "u+rwx", scratch).Run()
		os.RemoveAll(scratch)
	})
	must(t, os.Chmod(scratch, 0o777))
	// By way of /proc: the folder of a test binary is its owner's alone.
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.count=1")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), unprivilegedVariable+"=1", "TMPDIR="+scratch, "HOME="+scratch)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as a user without rights: %v\n%s", err, out)
	}
	return false
}

// said is an answer in one line: the kind and what it is, or the error's code
// and reason.
func said(i check.Info, err error) string {
	var pe *check.PathError
	switch {
	case err == nil && i.What != "":
		return string(i.Kind) + ": " + i.What
	case err == nil:
		return string(i.Kind)
	case !errors.As(err, &pe):
		return fmt.Sprintf("%T: %v", err, err)
	case pe.Code == "":
		return "examined: " + pe.Reason
	}
	return string(pe.Code) + ": " + pe.Reason
}

// refusal is how every answer about the outside is said.
var refusal = string(fault.CheckRefused) + ": leaves the allowed roots"

func stat(f *Files, path string) string {
	return said(f.Stat(context.Background(), path))
}

// descriptors counts the open ones of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(names)
}

// settle waits until a file's stamp is old enough to be trusted.
func settle(t *testing.T, f *Files, path string) {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	for stampOf(&st).racy(now()) {
	}
	f.memo.mu.Lock()
	defer f.memo.mu.Unlock()
	if f.memo.local == nil {
		f.memo.local = map[uint64]bool{}
	}
	f.memo.local[uint64(st.Dev)] = true // whatever the tests' temporary folder lies on
}
