package gate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/worker"
)

const talking = `"checks":[{"id":"a","type":"file_exists","params":{"path":"a"}},
	{"id":"b","type":"file_exists","required":false,"params":{"path":"none"}}]`

// unwritten runs a request that must leave no bundle.
func (b *bench) unwritten(r gate.Request) *bundle.Unwritten {
	b.t.Helper()
	s, err := theGate.Run(b.t.Context(), r)
	var u *bundle.Unwritten
	if !errors.As(err, &u) || s != nil {
		b.t.Fatalf("a bundle was written: %t, and the error is %v", s != nil, err)
	}
	e, j := u.Evidence, u.Judgement
	if e.Verdict != "INCONCLUSIVE" || e.Outcome != "error" || e.Assurance != "visual_advisory" || j.Outcome != "error" || len(j.Passed) > 0 || len(j.Required) != 1 || e.RunID == "" {
		b.t.Errorf("%s %s %s %+v", e.Verdict, e.Outcome, e.Assurance, j)
	}
	if fault.As(err).Code != fault.BackendFailed {
		b.t.Errorf("%v", err)
	}
	return u
}

// Evidence that cannot be kept is the verifier's failure, with what was found.
func TestABundleThatCannotBeWritten(t *testing.T) {
	b := newBench(t, map[string]string{"a": "x"})
	r := b.request(b.freeze(talking))
	r.Progress = func(e worker.Event) {
		if e.Answer != nil && e.Answered == e.Total {
			b.must(os.RemoveAll(filepath.Join(b.data, "verifications")))
		}
	}
	u := b.unwritten(r)
	if got := u.Evidence.CheckResults; len(got) != 2 || got[0].Status != "pass" || got[1].Status != "fail" || len(u.Judgement.Attempted) != 2 {
		t.Errorf("%+v", got)
	}
	if why := u.Evidence.Limitations[0]; !strings.Contains(why, "could not be written") || !strings.Contains(why, b.data) {
		t.Errorf("%q", why)
	}
}

// Nothing is run when it is clear from the start.
func TestADataFolderThatCannotBeWritten(t *testing.T) {
	b := newBench(t, nil)
	r := b.request(b.freeze(`"checks":[{"id":"c","type":"command_exit","params":{"command":["touch","ran"]}}]`))
	r.DataDir = "/proc/no-such-folder"
	u := b.unwritten(r)
	if _, err := os.Stat(filepath.Join(b.ws, "ran")); err == nil || len(u.Evidence.CheckResults)+len(u.Judgement.Attempted) > 0 {
		t.Errorf("something was run: %+v", u.Evidence.CheckResults)
	}
	if told := strings.Join(u.Evidence.Limitations, "\n"); !strings.Contains(told, "nothing was run") || !strings.Contains(told, "/proc/no-such-folder") {
		t.Error(told)
	}
}

// A place for the worker's scratch folder is as needful as one for the evidence.
func TestNoPlaceForScratch(t *testing.T) {
	b := newBench(t, map[string]string{"a": "x"})
	r := b.request(b.freeze(talking))
	r.Roots = []string{"/"} // no folder lies outside of it
	b.unwritten(r)
	if left, err := os.ReadDir(filepath.Join(b.data, "verifications")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// What is changed between writing and reading back is not what was judged.
func TestABundleThatDoesNotReadBack(t *testing.T) {
	b := newBench(t, map[string]string{"a": "x"})
	r := b.request(b.freeze(`"checks":[{"id":"a","type":"command_exit","params":{"command":["seq","1","20000"]}}]`))
	r.Progress = func(e worker.Event) {
		if e.Answer == nil {
			return
		}
		blobs, err := filepath.Glob(filepath.Join(b.data, "verifications", ".partial-*", "blobs", "sha256", "*"))
		b.must(err)
		if len(blobs) == 0 {
			t.Error("the command's output is no blob")
		}
		for _, f := range blobs {
			b.must(os.WriteFile(f, []byte("changed"), 0o644))
		}
	}
	if u := b.unwritten(r); !strings.Contains(u.Evidence.Limitations[0], "does not read back") {
		t.Error(u.Evidence.Limitations)
	}
}

func TestAContractInsideTheWorkspaceIsALimitation(t *testing.T) {
	const want = "the contract lies inside the workspace"
	b := newBench(t, map[string]string{"a": "x"})
	text, err := os.ReadFile(b.freeze(talking))
	b.must(err)
	outside, inward, outward, link := filepath.Join(b.top, "c.json"), filepath.Join(b.ws, "c.json"), filepath.Join(b.top, "l.json"), filepath.Join(b.ws, "l.json")
	b.must(os.WriteFile(outside, text, 0o644))
	b.must(os.WriteFile(inward, text, 0o644))
	b.must(os.Symlink(outside, link))
	b.must(os.Symlink(inward, outward))
	for name, inside := range map[string]bool{outside: false, inward: true, link: true, outward: true, filepath.Join(b.ws, "..", "c.json"): false} {
		s, err := theGate.Run(t.Context(), b.request(name))
		b.must(err)
		if told := strings.Contains(strings.Join(s.Evidence.Limitations, "\n"), want); told != inside {
			t.Errorf("%s: told %t", name, told)
		}
	}
}
