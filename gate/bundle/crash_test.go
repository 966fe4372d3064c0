package bundle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// The variables that turn this test binary into a writer that dies, or waits.
const (
	crashData  = "GATE_TEST_CRASH_DATA"
	crashStep  = "GATE_TEST_CRASH_STEP"  // the number of the step to die before
	crashPause = "GATE_TEST_CRASH_PAUSE" // "1": say so and wait there instead
)

// TestWriterProcess is the other process of the tests below. Run by itself it
// does nothing.
func TestWriterProcess(t *testing.T) {
	data := os.Getenv(crashData)
	if data == "" {
		return
	}
	dieAtStep(t)
	s, err := Write(data, content(t))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("wrote " + s.Dir)
}

// dieAtStep makes the process die, or wait, before the step that its
// environment names.
func dieAtStep(t *testing.T) {
	last, err := strconv.Atoi(os.Getenv(crashStep))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	step = func(name string) {
		n++
		if n != last {
			return
		}
		if os.Getenv(crashPause) == "1" {
			fmt.Println("paused before " + name)
			_, err := io.Copy(io.Discard, os.Stdin) // until the parent is done, or killed
			if err != nil {
				t.Error(err)
			}
			return
		}
		// The end that no handler and no deferred call sees.
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		select {}
	}
}

func writer(t *testing.T, data string, n int, extra ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestWriterProcess$", "-test.v")
	cmd.Env = append(os.Environ(), append(extra, crashData+"="+data, crashStep+"="+strconv.Itoa(n))...)
	return cmd
}

// visible gives the names of the finished and of the unfinished bundles.
func visible(t *testing.T, data string) (whole, partial []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(data, verificationsName))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := cutPartial(e.Name()); ok {
			partial = append(partial, e.Name())
		} else {
			whole = append(whole, e.Name())
		}
	}
	return whole, partial
}

// TestKilledAtEveryStep kills a writer before each of its steps and wants that
// what can be seen is whole, and that the next run works and cleans up.
func TestKilledAtEveryStep(t *testing.T) {
	steps := 0
	counting := step
	step = func(string) { steps++ }
	write(t, t.TempDir(), content(t))
	step = counting
	if steps < 12 {
		t.Fatalf("a write has only %d steps", steps)
	}
	for n := 1; n <= steps; n++ {
		data := t.TempDir()
		out, err := writer(t, data, n).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("step %d: the writer was not killed: %v\n%s", n, err, out)
		}
		whole, partial := visible(t, data)
		for _, name := range whole {
			if _, err := Read(filepath.Join(data, verificationsName, name)); err != nil {
				t.Errorf("killed before step %d: %v", n, err)
			}
		}
		if len(whole) > 0 != (n == steps) || len(whole)+len(partial) > 1 {
			t.Errorf("killed before step %d of %d: whole %v, partial %v", n, steps, whole, partial)
		}
		list, err := List(data)
		if err != nil || len(list) != len(whole) {
			t.Errorf("killed before step %d: list %v %v", n, list, err)
		}
		again := write(t, data, content(t))
		if _, err := Read(again); err != nil {
			t.Errorf("after a kill before step %d: %v", n, err)
		}
		if _, left := visible(t, data); len(left) > 0 {
			t.Errorf("after a kill before step %d: %v was not swept", n, left)
		}
	}
}

// TestLivingWriterIsNotSwept stops a writer in the middle, writes beside it, and
// lets it finish.
func TestLivingWriterIsNotSwept(t *testing.T) {
	data := t.TempDir()
	cmd := writer(t, data, 6, crashPause+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	await := func(prefix string) string {
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				return rest
			}
		}
		t.Fatalf("the writer never said %q", prefix)
		return ""
	}
	await("paused before ")
	write(t, data, content(t))
	if _, partial := visible(t, data); len(partial) != 1 {
		t.Errorf("the folder of a living writer was swept")
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(await("wrote ")); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestManyWritersAtOnce lets writers and sweepers meet.
func TestManyWritersAtOnce(t *testing.T) {
	data := t.TempDir()
	c := content(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 4 {
				s, err := Write(data, c)
				if err == nil {
					_, err = Read(s.Dir)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if whole, partial := visible(t, data); len(whole) != 64 || len(partial) > 0 {
		t.Errorf("%d bundles, partial %v", len(whole), partial)
	}
}

// TestSweepTouchesNothingElse puts beside the bundles what only looks like one
// that was never finished.
func TestSweepTouchesNothingElse(t *testing.T) {
	data := t.TempDir()
	parent := filepath.Join(data, verificationsName)
	outside := t.TempDir()
	if err := os.MkdirAll(filepath.Join(parent, partialName+"mine", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "keep"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(parent, partialName+"vr_20261130T214301_0123456789ab")); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(parent, partialName+"vr_20261130T214301_00000000000f")
	if err := os.Mkdir(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(stale, "link")); err != nil {
		t.Fatal(err)
	}
	write(t, data, content(t))
	if _, err := os.Stat(filepath.Join(outside, "keep")); err != nil {
		t.Error(err)
	}
	if _, partial := visible(t, data); len(partial) != 2 {
		t.Errorf("partial: %v", partial)
	}
}

func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache", "x.json")
	for _, data := range []string{"one", "two"} {
		Keep(path, []byte(data))
		if got, err := os.ReadFile(path); err != nil || string(got) != data {
			t.Errorf("%q %v", got, err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}
