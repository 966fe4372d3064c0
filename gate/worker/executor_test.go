package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// script puts an executable file somewhere.
func script(t testing.TB, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	own(t, path)
	return path
}

func in(dir string, s step) step {
	s.Params.(map[string]any)["dir"] = dir
	return s
}

func TestHowACommandEnds(t *testing.T) {
	ws := workspace(t)
	for _, c := range []struct {
		argv   []string
		status record.Status
		want   seen
	}{
		{[]string{"true"}, record.Pass, seen{}},
		{[]string{"sh", "-c", "exit 42"}, record.Fail, seen{Code: 42}},
		{[]string{"sh", "-c", "kill -KILL $$"}, record.Fail, seen{Signal: "SIGKILL"}},
		{[]string{"sh", "-c", "kill -SEGV $$"}, record.Fail, seen{Signal: "SIGSEGV"}},
		{[]string{"sh", "-c", "kill -XFSZ $$"}, record.Fail, seen{Signal: "SIGXFSZ"}},
		{[]string{"sh", "-c", "kill -XCPU $$"}, record.Fail, seen{Signal: "SIGXCPU"}},
		{[]string{"sh", "-c", "kill -35 $$"}, record.Fail, seen{Signal: "SIGRTMIN+1"}},
		{[]string{"sh", "-c", "ulimit -f 1; head -c 100000 /dev/zero > big"}, record.Fail, seen{Code: 153}},
		{[]string{"sh", "-c", "exit 137"}, record.Fail, seen{Code: 137}},
		{[]string{"sh", "-c", "exit 152"}, record.Fail, seen{Code: 152}},
		{[]string{"sh", "-c", "cat; pwd; echo err >&2; tty"}, record.Fail, seen{Code: 1, Stdout: ws + "\nnot a tty\n", Stderr: "err\n"}},
		{[]string{"printf", "%s|", "a b", "$HOME", "*", ""}, record.Pass, seen{Stdout: "a b|$HOME|*||"}},
	} {
		a := mustRun(t, jobOf(t, ws, cmd("c", c.argv...))).Answers[0]
		got := observed(t, a)
		if a.Result.Status != c.status || got.Code != c.want.Code || got.Signal != c.want.Signal || (c.want.Stderr != "" && got.Stderr != c.want.Stderr) ||
			(c.want.Stdout != "" && got.Stdout != c.want.Stdout) || (c.want.Limit == "") != (got.Limit == "") || !strings.Contains(got.Limit, c.want.Limit) {
			t.Errorf("%q: %s %+v, want %s %+v", c.argv, a.Result.Status, got, c.status, c.want)
		}
	}
}

func TestWantOfMemoryIsALimit(t *testing.T) {
	killed := syscall.WaitStatus(syscall.SIGKILL)
	for _, c := range []struct {
		status  syscall.WaitStatus
		starved bool
		limit   bool
	}{{killed, true, true}, {killed, false, false}, {137 << 8, true, true}, {137 << 8, false, false}, {1 << 8, true, false}, {0, true, false}} {
		var e check.Exit
		describeEnd(&e, c.status, c.starved)
		if (e.LimitHit != "") != c.limit {
			t.Errorf("status %#x, starved %t: limit %q", c.status, c.starved, e.LimitHit)
		}
	}
	if n := counter("oom_kill_x 3\noom_kill 12\n", "oom_kill"); n != 12 {
		t.Errorf("the counter reads %d", n)
	}
	if n := (&starvation{}).count(); n < 0 {
		t.Errorf("the kernel's counters read %d", n)
	}
}

func TestWhereProgramsAreFound(t *testing.T) {
	ws, tools := workspace(t), workspace(t)
	script(t, filepath.Join(ws, "tool"), "#!/bin/sh\necho planted", 0o755)
	script(t, filepath.Join(ws, "sub/local"), "#!/bin/sh\necho local", 0o755)
	script(t, filepath.Join(ws, "plain"), "#!/bin/sh\necho plain", 0o644)
	script(t, filepath.Join(ws, "garbage"), "\x00\x01\x02", 0o755)
	script(t, filepath.Join(ws, "orphan"), "#!/no/such/interpreter\n", 0o755)
	if err := os.Mkdir(filepath.Join(ws, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(ws, "tool"), filepath.Join(tools, "linked")); err != nil {
		t.Fatal(err)
	}
	real := script(t, filepath.Join(tools, "real"), "#!/bin/sh\necho real", 0o755)
	if err := os.Symlink("real", filepath.Join(tools, "alias")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", strings.Join([]string{ws, ".", "", tools, "/usr/bin", "/bin"}, ":"))
	for _, c := range []struct {
		step   step
		status record.Status
		text   string
	}{
		{cmd("c", "tool"), record.Inconclusive, tools},
		{cmd("c", "linked"), record.Inconclusive, "link to where the judged change may write"},
		{cmd("c", "real"), record.Pass, ""},
		{cmd("c", "alias"), record.Pass, ""},
		{cmd("c", "./tool"), record.Pass, ""},
		{cmd("c", "no-such-program"), record.Inconclusive, `"no-such-program" in ` + tools},
		{cmd("c", "./nothing"), record.Inconclusive, "is not there"},
		{cmd("c", "./plain"), record.Inconclusive, "not executable"},
		{cmd("c", "./folder"), record.Inconclusive, "directory"},
		{cmd("c", "./garbage"), record.Inconclusive, "format"},
		{cmd("c", "./orphan"), record.Inconclusive, "interpreter"},
		{cmd("c", "/dev/null"), record.Inconclusive, "not a regular file"},
		{in("sub", cmd("c", "./local")), record.Pass, ""},
		{in("sub", cmd("c", "../tool")), record.Pass, ""},
		{cmd("c", "./local"), record.Inconclusive, "is not there"},
		{cmd("c", ""), record.Inconclusive, "names no program"},
		{cmd("c"), record.Inconclusive, "empty"},
	} {
		a := mustRun(t, jobOf(t, ws, c.step)).Answers[0]
		t.Logf("%v: %s %s", c.step.Params, a.Result.Status, a.Result.Summary)
		want(t, a, c.status, c.text)
		if c.status == record.Inconclusive && a.Result.Error.Code != string(fault.ToolMissing) && a.Result.Error.Code != string(fault.CheckMalformed) {
			t.Errorf("%v: code %s", c.step.Params, a.Result.Error.Code)
		}
	}
	a := mustRun(t, jobOf(t, ws, cmd("c", "alias"))).Answers[0]
	text, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	if got := observed(t, a); got.Tool != real || got.ToolSum != strictjson.Sum(text).String() {
		t.Errorf("the tool is %s with %s", got.Tool, got.ToolSum)
	}
}

func TestWhereCommandsRun(t *testing.T) {
	ws, outside, extra := workspace(t), workspace(t), workspace(t)
	if err := os.Mkdir(filepath.Join(ws, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"out": outside, "in": filepath.Join(ws, "d"), "nowhere": "gone"} {
		if err := os.Symlink(to, filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	script(t, filepath.Join(ws, "file"), "", 0o644)
	for _, c := range []struct {
		dir    string
		status record.Status
		text   string
		pwd    string
	}{
		{"", record.Pass, "", ws}, {"d", record.Pass, "", ws + "/d"}, {"d/..", record.Pass, "", ws}, {"in", record.Pass, "", ws + "/d"}, {extra, record.Pass, "", extra},
		{"..", record.Inconclusive, string(fault.CheckRefused), ""}, {"out", record.Inconclusive, string(fault.CheckRefused), ""}, {outside, record.Inconclusive, string(fault.CheckRefused), ""},
		{"missing", record.Inconclusive, string(fault.TargetUnreadable), ""}, {"nowhere", record.Inconclusive, string(fault.TargetUnreadable), ""}, {"file", record.Inconclusive, string(fault.TargetUnreadable), ""},
	} {
		job := jobOf(t, ws, in(c.dir, cmd("c", "/bin/pwd")))
		job.Start.Roots = []string{ws, extra}
		a := mustRun(t, job).Answers[0]
		want(t, a, c.status, c.text)
		if c.pwd != "" && strings.TrimSpace(observed(t, a).Stdout) != c.pwd {
			t.Errorf("%q runs in %q", c.dir, observed(t, a).Stdout)
		}
	}
	// A further root is there to be read.
	job := jobOf(t, ws, cmd("c", "touch", filepath.Join(extra, "new")))
	job.Start.Roots = []string{ws, extra}
	want(t, mustRun(t, job).Answers[0], record.Fail, "exit 1")
}

func TestOnlyACheckMayWriteItsCaches(t *testing.T) {
	ws, caches := workspace(t), workspace(t)
	one, two := filepath.Join(caches, "one/deep"), filepath.Join(caches, "two")
	with := func(id, path string, caches ...string) step {
		return step{ID: id, Type: "command", Params: map[string]any{"command": []string{"touch", path}, "caches": append([]string{}, caches...)}}
	}
	r := mustRun(t, jobOf(t, ws, with("one", one+"/a", one), with("both", two+"/a", one, two), with("other", two+"/b", one), with("none", one+"/b"), with("again", one+"/c", one),
		with("root", "/x", "/"), with("relative", "x", "cache")))
	for i, status := range []record.Status{record.Pass, record.Pass, record.Fail, record.Fail, record.Pass, record.Inconclusive, record.Inconclusive} {
		want(t, r.Answers[i], status, "")
	}
	// What commands may write is no place to find programs in.
	script(t, filepath.Join(two, "planted"), "#!/bin/sh\n", 0o755)
	t.Setenv("PATH", two+":/usr/bin:/bin")
	r = mustRun(t, jobOf(t, ws, cmd("free", "planted"), step{ID: "cached", Type: "command", Params: map[string]any{"command": []string{"planted"}, "caches": []string{two}}}))
	want(t, r.Answers[0], record.Pass, "")
	want(t, r.Answers[1], record.Inconclusive, string(fault.ToolMissing))
}

func TestNoCacheReachesWhatIsProtected(t *testing.T) {
	ws, kept := workspace(t), workspace(t)
	evidence, beside := filepath.Join(kept, "evidence"), filepath.Join(kept, "beside")
	if err := os.Mkdir(evidence, 0o777); err != nil {
		t.Fatal(err)
	}
	with := func(id, cache string) step {
		return step{ID: id, Type: "command", Params: map[string]any{"command": []string{"true"}, "caches": []string{cache}}}
	}
	job := jobOf(t, ws, with("equal", evidence), with("covers", kept), with("inside", filepath.Join(evidence, "deep/cache")), with("beside", beside), with("named", evidence+"-too"))
	job.Start.Protected = []string{evidence}
	r := mustRun(t, job)
	for i, status := range []record.Status{record.Inconclusive, record.Inconclusive, record.Inconclusive, record.Pass, record.Pass} {
		saying := ""
		if status == record.Inconclusive {
			saying = string(fault.CheckRefused)
		}
		want(t, r.Answers[i], status, saying)
	}
	if _, err := os.Stat(filepath.Join(evidence, "deep")); err == nil {
		t.Error("a cache that is refused is made all the same")
	}
}

func TestAProgramIsDigestedOnceUntilItChanges(t *testing.T) {
	path := script(t, filepath.Join(t.TempDir(), "tool"), "one", 0o755)
	digests := toolDigests{}
	digest := func() string {
		t.Helper()
		at, err := inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := digests.record(context.Background(), "tool", at)
		if err != nil {
			t.Fatal(err)
		}
		return r.Digest
	}
	first := digest()
	for id := range digests {
		digests[id] = "remembered"
	}
	if got := digest(); got != "remembered" {
		t.Errorf("the program was read again: %s", got)
	}
	script(t, path, "two!", 0o755)
	if got := digest(); got == first || got == "remembered" {
		t.Errorf("the program changed and its digest did not: %s", got)
	}
}

// seam is what joining head and tail may cost or add.
const seam = 8 << 10

// A gibibyte of output is counted and digested, and memory does not grow with it.
func TestOutputFlood(t *testing.T) {
	const size = 1 << 30
	ws := workspace(t)
	s := cmd("flood", "sh", "-c", fmt.Sprintf("head -c %d /dev/zero | tr '\\0' a; echo end >&2", size))
	s.Timeout = 300
	r := mustRun(t, jobOf(t, ws, s))
	got := observed(t, r.Answers[0])
	want(t, r.Answers[0], record.Pass, "")
	sum := sha256.New()
	if _, err := io.CopyN(sum, endless('a'), size); err != nil {
		t.Fatal(err)
	}
	if got.Total != size || !got.Truncated || got.Kept > streamHead+streamTail+seam || got.Kept < streamHead+streamTail-seam || got.Digest != digestOf(sum).String() || got.Stderr != "end\n" {
		t.Errorf("%d bytes, %d kept, truncated %t, %s", got.Total, got.Kept, got.Truncated, got.Digest)
	}
	t.Logf("the largest process had %d MiB", r.PeakBytes>>20)
	if limit := int64(256 << 20); r.PeakBytes > limit {
		t.Errorf("a process of the run grew to %d MiB", r.PeakBytes>>20)
	}
}

func TestEndlessOutputStopsAtTheTimeout(t *testing.T) {
	s := cmd("endless", "yes")
	s.Timeout = 1
	r := mustRun(t, jobOf(t, workspace(t), s))
	want(t, r.Answers[0], record.Inconclusive, string(fault.Timeout))
	if got := observed(t, r.Answers[0]); got.Total == 0 || got.Kept == 0 || !strings.HasPrefix(got.Stdout, "y\ny\n") {
		t.Errorf("what it wrote before is lost: %d bytes, %q", got.Total, got.Stdout[:min(10, len(got.Stdout))])
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestCollector(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, streamHead - 1, streamHead, streamHead + 1, streamHead + streamTail, streamHead + streamTail + 1, 3*streamTail + streamHead + 12345} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		c := newCollector()
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(100_000))
			if _, err := c.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		out := c.output()
		kept := bytes.Equal(out.Data, data)
		if size > streamHead+streamTail {
			kept = bytes.HasPrefix(out.Data, data[:streamHead-seam]) && bytes.HasSuffix(out.Data, data[size-streamTail+seam:]) && len(out.Data) <= streamHead+streamTail+seam
		}
		if !kept || out.Total != int64(size) || out.Truncated != (size > streamHead+streamTail) || out.Digest != strictjson.Sum(data) {
			t.Errorf("%d bytes: %d kept, total %d, truncated %t", size, len(out.Data), out.Total, out.Truncated)
		}
	}
	// One write larger than everything that is kept.
	c := newCollector()
	if _, err := c.Write(bytes.Repeat([]byte("ab"), streamHead+streamTail)); err != nil {
		t.Fatal(err)
	}
	if out := c.output(); len(out.Data) > streamHead+streamTail+seam || out.Data[len(out.Data)-1] != 'b' {
		t.Errorf("%d bytes kept", len(out.Data))
	}
}

func TestBoundedDiagnostics(t *testing.T) {
	b := new(bounded)
	for range 1000 {
		fmt.Fprintf(b, "%s\n", strings.Repeat("x", 100))
	}
	fmt.Fprint(b, "the end")
	if s := b.String(); len(s) != maxDiagnostics || !strings.HasSuffix(s, "the end") {
		t.Errorf("%d bytes kept", len(s))
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path string
		want bool
	}{{"/a", true}, {"/a/b", true}, {"/ab", false}, {"/", false}, {"/c/d/e", true}, {"/c", false}} {
		if got := within([]string{"/a", "/c/d/"}, c.path); got != c.want {
			t.Errorf("%s: %t", c.path, got)
		}
	}
	if !within([]string{"/"}, "/anything") {
		t.Error("everything lies in /")
	}
}
