package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

func TestAnswersComeInTheOrderOfTheContract(t *testing.T) {
	ws := workspace(t)
	var steps []step
	for i := range 300 {
		s := does(fmt.Sprint("r", i), "ok")
		if i%7 == 3 {
			s.Params = map[string]any{"what": "fail"}
		}
		if i%97 == 50 {
			s = cmd(s.ID, "/bin/true")
		}
		steps = append(steps, s)
	}
	job := jobOf(t, ws, steps...)
	var seen []string
	ordered := 0
	job.Progress = func(e Event) {
		if e.Total != len(steps) {
			t.Errorf("progress speaks of %d steps", e.Total)
		}
		if e.Answer == nil {
			ordered++
			return
		}
		seen = append(seen, e.Step.ID)
		if e.Answered != len(seen) {
			t.Errorf("progress counts %d answers, %d were told", e.Answered, len(seen))
		}
	}
	r := mustRun(t, job)
	for i, a := range r.Answers {
		if a.Index != i || a.Result.CheckID != steps[i].ID {
			t.Fatalf("answer %d is that of step %d, %s", i, a.Index, a.Result.CheckID)
		}
	}
	if len(seen) != len(steps) || ordered != len(steps) {
		t.Errorf("progress told of %d orders and %d answers to %d steps", ordered, len(seen), len(steps))
	}
	if r.CPU <= 0 || r.PeakBytes <= 0 {
		t.Errorf("the run cost %v s and %d bytes", r.CPU, r.PeakBytes)
	}
}

func TestACommandIsABarrier(t *testing.T) {
	ws := workspace(t)
	var steps []step
	for i := range 20 {
		file := fmt.Sprint("file", i)
		steps = append(steps, does("before-"+file, "exists "+file), cmd("make-"+file, "touch", file), does("after-"+file, "exists "+file))
	}
	for i, a := range mustRun(t, jobOf(t, ws, steps...)).Answers {
		if got, want := a.Result.Status, []record.Status{record.Fail, record.Pass, record.Pass}[i%3]; got != want {
			t.Errorf("%s: %s, want %s", a.Result.CheckID, got, want)
		}
	}
}

func TestDependencies(t *testing.T) {
	ws := workspace(t)
	on := func(s step, ids ...string) step { s.Depends = ids; return s }
	r := mustRun(t, jobOf(t, ws, does("good", "ok"), does("bad", "fail"), on(cmd("run", "touch", "made"), "good"), on(cmd("skip", "touch", "unmade"), "good", "bad"),
		on(does("last", "ok"), "skip"), on(does("then", "exists made"), "run")))
	want(t, r.Answers[2], record.Pass, "")
	want(t, r.Answers[3], record.Inconclusive, string(fault.DependencyUnmet))
	want(t, r.Answers[3], record.Inconclusive, `"bad" (fail)`)
	want(t, r.Answers[4], record.Inconclusive, `"skip" (inconclusive)`)
	want(t, r.Answers[5], record.Pass, "")
	if _, err := os.Stat(filepath.Join(ws, "unmade")); err == nil {
		t.Error("a step was run whose dependency did not pass")
	}
}

// A check that minds nothing is stopped with its worker; the others go on.
func TestHangingCheckIsReplaced(t *testing.T) {
	ws := workspace(t)
	hang, wait := does("hang", "hang"), does("wait", "wait")
	hang.Timeout, wait.Timeout = 0.2, 0.2
	steps := []step{does("first", "ok"), hang, wait}
	for i := range 100 {
		steps = append(steps, does(fmt.Sprint("after", i), "ok"))
	}
	for _, inProcess := range []bool{false, true} {
		job := jobOf(t, ws, append(steps, cmd("command", "/bin/true"))...)
		job.InProcess, job.Content = inProcess, true
		r := mustRun(t, job)
		want(t, r.Answers[1], record.Inconclusive, "stopped with its worker")
		want(t, r.Answers[2], record.Inconclusive, string(fault.Timeout))
		for _, a := range slices.Delete(r.Answers, 1, 3) {
			want(t, a, record.Pass, "")
		}
		if !slices.ContainsFunc(r.Limitations, func(s string) bool { return strings.Contains(s, `timeout of check "hang"`) }) {
			t.Errorf("no limitation names the replacement: %q", r.Limitations)
		}
	}
}

func TestAWorkerThatEndsIsAFailure(t *testing.T) {
	ws := workspace(t)
	r, err := Run(context.Background(), jobOf(t, ws, does("first", "ok"), does("dies", "die"), cmd("never", "touch", "made")))
	if err != nil {
		t.Fatal(err)
	}
	if r.Complete || !strings.Contains(r.Failure, "reading worker ended early") || !strings.Contains(r.Failure, "exit status 3") {
		t.Errorf("complete %t, failure %q", r.Complete, r.Failure)
	}
	for _, a := range r.Answers {
		if a.Result.CheckID != "first" {
			t.Errorf("an answer was invented for %s", a.Result.CheckID)
		}
	}
	if _, err := os.Stat(filepath.Join(ws, "made")); err == nil {
		t.Error("the run went on after its worker had ended")
	}
}

func TestAPanicIsTheChecksOwn(t *testing.T) {
	r := mustRun(t, jobOf(t, workspace(t), does("panics", "panic"), does("next", "ok")))
	want(t, r.Answers[0], record.Broken, "as told")
	want(t, r.Answers[1], record.Pass, "")
}

func TestTypesThatDifferAreAFailure(t *testing.T) {
	job := jobOf(t, workspace(t), does("a", "ok"))
	other := jobOf(t, workspace(t), does("b", "ok"))
	job.Plan = other.Plan
	r, err := Run(context.Background(), job)
	if err != nil || r.Complete || !strings.Contains(r.Failure, "another plan") {
		t.Errorf("%v, complete %t, failure %q", err, r.Complete, r.Failure)
	}
}

func TestContentBeforeAndAfter(t *testing.T) {
	ws := workspace(t)
	for _, inProcess := range []bool{false, true} {
		job := jobOf(t, ws, cmd("write", "sh", "-c", "date +%N > new"))
		job.Content, job.InProcess = true, inProcess
		r := mustRun(t, job)
		if r.Before == nil || r.After == nil || r.Before.Digest == r.After.Digest || r.After.Changes != 1 {
			t.Errorf("before %+v, after %+v", r.Before, r.After)
		}
	}
}

func TestReceiveTakesBlobsAndCanRefuse(t *testing.T) {
	job := jobOf(t, workspace(t), does("a", "ok"), does("b", "ok"))
	var got []string
	job.Receive = func(a *record.Answer) error {
		got = append(got, a.Result.CheckID)
		a.Result.Summary = "kept"
		return nil
	}
	if r := mustRun(t, job); len(got) != 2 || r.Answers[0].Result.Summary != "kept" {
		t.Errorf("received %q, kept %q", got, r.Answers[0].Result.Summary)
	}
	job.Receive = func(*record.Answer) error { return errors.New("the disk is full") }
	r, err := Run(context.Background(), job)
	if err != nil || r.Complete || !strings.Contains(r.Failure, "the disk is full") {
		t.Errorf("%v, complete %t, failure %q", err, r.Complete, r.Failure)
	}
}

func TestEnvironmentIsAnAllowlist(t *testing.T) {
	for _, name := range []string{"GITHUB_TOKEN", "OPENAI_API_KEY", "ACTIONS_RUNTIME_TOKEN", "INPUT_TOKEN", "HTTPS_PROXY", "LD_PRELOAD_X", "GODEBUG"} {
		t.Setenv(name, "hunter2=1")
	}
	t.Setenv("TZ", "Europe/Berlin")
	ws := workspace(t)
	t.Setenv("PATH", strings.Join([]string{"", ".", "bin", filepath.Join(ws, "bin"), "/usr/bin", "/bin"}, ":"))
	r := mustRun(t, jobOf(t, ws, does("reading", "env"), cmd("command", "env")))
	var reading []string
	if err := json.Unmarshal(strictjson.Canonical(&r.Answers[0].Result.Observed), &reading); err != nil {
		t.Fatal(err)
	}
	command := strings.Fields(observed(t, r.Answers[1]).Stdout)
	allowed := []string{"GATE_VERIFIER", "HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ"}
	for _, env := range [][]string{reading, command} {
		for _, e := range env {
			if name, _, _ := strings.Cut(e, "="); !slices.Contains(allowed, name) {
				t.Errorf("%q reaches a worker", e)
			}
		}
		for _, e := range []string{"GATE_VERIFIER=1", "TZ=Europe/Berlin", "PATH=/usr/bin:/bin"} {
			if !slices.Contains(env, e) {
				t.Errorf("%q is not in %q", e, env)
			}
		}
	}
	if slices.Equal(reading, command) {
		t.Error("both profiles have the same scratch folder")
	}
	for _, i := range r.Isolation {
		for _, name := range i.Env {
			if !slices.Contains(allowed, name) {
				t.Errorf("the isolation of %s names %s", i.Profile, name)
			}
		}
	}
}

func TestScratchIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", workspace(t))
	ws := workspace(t)
	// Also what a command made unremovable by taking its own rights away.
	r := mustRun(t, jobOf(t, ws, cmd("a", "sh", "-c", `mkdir -p "$TMPDIR/a/b" && echo x > "$TMPDIR/a/b/c" && chmod 0 "$TMPDIR/a/b" "$TMPDIR/a" && ln -s / "$HOME/root"`)))
	want(t, r.Answers[0], record.Pass, "")
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if len(r.Limitations) > 3 {
		t.Errorf("limitations: %q", r.Limitations)
	}
}

func TestScratchOfAKilledGateIsRemovedLater(t *testing.T) {
	tmp, ws := workspace(t), workspace(t)
	if os.Geteuid() == 0 {
		if err := os.Chown(tmp, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", tmp)
	made := map[string]*scratch{}
	for _, name := range []string{"stale", "young", "held"} {
		s, err := newScratch([]string{ws}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if made[name] = s; name != "held" {
			s.held.Close() // as the kernel does
		}
		if name != "young" {
			if err := os.Chtimes(s.base, longAgo, longAgo); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustRun(t, jobOf(t, ws, does("a", "ok")))
	for name, s := range made {
		if _, err := os.Stat(s.base); (err != nil) != (name == "stale") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := made["held"].remove(); err != nil {
		t.Error(err)
	}
}

func TestACommandCannotTakeTheNextOnesFolders(t *testing.T) {
	r := mustRun(t, jobOf(t, workspace(t), cmd("takes", "sh", "-c", "rm -r $HOME $TMPDIR"), cmd("next", "sh", "-c", "touch $HOME/a $TMPDIR/b")))
	want(t, r.Answers[0], record.Pass, "")
	want(t, r.Answers[1], record.Pass, "")
}

func TestScratchIsNeverInTheRoots(t *testing.T) {
	ws := workspace(t)
	t.Setenv("TMPDIR", ws)
	r := mustRun(t, jobOf(t, ws, cmd("a", "sh", "-c", "ls; echo $TMPDIR")))
	if out := observed(t, r.Answers[0]).Stdout; strings.Contains(out, ws) || strings.Count(out, "\n") != 1 {
		t.Errorf("the scratch folder lies in the workspace: %q", out)
	}
}

func TestIsolationOfBothProfilesIsRecorded(t *testing.T) {
	r := mustRun(t, jobOf(t, workspace(t), cmd("b", "true"), does("a", "ok")))
	if len(r.Isolation) != 2 || r.Isolation[0].Profile != string(check.Reading) || r.Isolation[1].Profile != string(check.Process) {
		t.Fatalf("%+v", r.Isolation)
	}
	for _, i := range r.Isolation {
		var names []string
		for _, l := range i.Layers {
			names = append(names, l.Name)
			if l.Detail == "" {
				t.Errorf("%s: the layer %s says nothing", i.Profile, l.Name)
			}
		}
		for _, n := range []string{layerProcess, layerNoNewPrivs, layerCapabilities, layerUser, layerGroups, layerLandlock, layerSeccomp, layerLimits, layerParent} {
			if !slices.Contains(names, n) {
				t.Errorf("%s: nothing is said of %s", i.Profile, n)
			}
		}
		if os.Geteuid() == 0 && (i.UID != overflowID || i.GID != overflowID) {
			t.Errorf("%s: uid %d, gid %d", i.Profile, i.UID, i.GID)
		}
	}
	if text := strings.Join(r.Limitations, "\n"); !strings.Contains(text, layerNetwork) {
		t.Errorf("no limitation says that commands may reach the network: %s", text)
	}
}

func TestInProcessSaysSo(t *testing.T) {
	job := jobOf(t, workspace(t), does("a", "ok"), cmd("b", "true"))
	job.InProcess = true
	r := mustRun(t, job)
	if l := r.Isolation[0].Layers[0]; l.Name != layerProcess || l.On || r.Isolation[0].UID != os.Getuid() {
		t.Errorf("%+v", r.Isolation[0])
	}
	if l := r.Isolation[1].Layers[0]; l.Name != layerProcess || !l.On {
		t.Errorf("%+v", r.Isolation[1])
	}
}

func TestTwoRunsAtOnce(t *testing.T) {
	ws := workspace(t)
	done := make(chan Report)
	for range 4 {
		go func() {
			r, err := Run(context.Background(), jobOf(t, ws, does("a", "ok"), cmd("b", "sh", "-c", "sleep 100 & true"), does("c", "ok")))
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
	}
	for range 4 {
		r := <-done
		if !r.Complete {
			t.Fatal(r.Failure)
		}
		for _, a := range r.Answers {
			want(t, a, record.Pass, "")
		}
	}
}

func TestProbe(t *testing.T) {
	got, err := Probe(context.Background(), "")
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for _, i := range got {
		if len(i.Layers) < 9 {
			t.Errorf("%+v", i)
		}
	}
}

func TestMainIsNoWorkerByAnyOtherName(t *testing.T) {
	for _, args := range [][]string{nil, {"gate"}, {"gate", "gate-worker"}, {"./gate-worker", "keeper"}, {"gate-worker"}} {
		if _, is := Main(context.Background(), nil, args); is {
			t.Errorf("%q is taken for a worker", args)
		}
	}
}

func TestCombine(t *testing.T) {
	on, off := func(n string) record.Layer { return standing(n, "on") }, func(n string) record.Layer { return missing(n, "off") }
	got := combine([]record.Layer{on("a"), on("b"), off("c")}, []record.Layer{on("a"), off("b"), on("c"), on("d")})
	if want := []record.Layer{on("a"), off("b"), off("c"), on("d")}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
