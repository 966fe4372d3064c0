package gate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// A contract that was read elsewhere is judged by from memory, and no file of
// its name is looked at: there could be another one.
func TestRunTakesTheContractItself(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "a"})
	text, err := os.ReadFile(b.freeze(`"checks":[{"id":"a","type":"file_exists","params":{"path":"a.txt"}}]`))
	b.must(err)
	b.must(os.WriteFile(filepath.Join(b.ws, "contract.json"), []byte("another"), 0o644))
	r := b.request(filepath.Join(b.ws, "contract.json"))
	r.Document = text
	s, err := theGate.Run(t.Context(), r)
	b.must(err)
	if s.Judgement.Verdict != verdict.Verified || s.Evidence.ContractID != "c" {
		t.Errorf("%s by %s", s.Judgement.Verdict, s.Evidence.ContractID)
	}
	for _, l := range s.Evidence.Limitations {
		if strings.Contains(l, "inside the workspace") {
			t.Errorf("a text in memory is said to lie somewhere: %s", l)
		}
	}
	r.Document = []byte("{")
	if _, err := theGate.Run(t.Context(), r); fault.As(err).Code != fault.ContractUnreadable {
		t.Errorf("a broken text: %v", err)
	}
}

func TestTheChangeStandsInTheEvidence(t *testing.T) {
	change := bundle.Change{Event: "pull_request", Repository: "acme/shop", Number: 7, Head: strings.Repeat("a", 40), Fork: true,
		BaseRef: "main", Base: strings.Repeat("b", 40), ContractPath: ".gate/contracts/c.json", ContractCommit: strings.Repeat("b", 40), RunID: "1", RunAttempt: "2", Job: "gate"}
	members := `"checks":[{"id":"a","type":"file_exists","params":{"path":"a.txt"}}]`
	b := newBench(t, map[string]string{"a.txt": "a"})
	s := b.run(members, func(r *gate.Request) { r.Change = &change }) // which reads it back
	if got := s.Evidence.PolicySnapshot.Change; got == nil || *got != change {
		t.Errorf("the evidence says %+v", got)
	}
	if got := b.run(members).Evidence.PolicySnapshot.Change; got != nil {
		t.Errorf("without a change the evidence says %+v", got)
	}
}

// Where nothing of the judged side may be started, what starts something is not
// examined. That is no answer, and the rest is judged all the same.
func TestReadingAloneStartsNothing(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "a", "n": "1"})
	s := b.run(`"schema_version":2,"checks":[
		{"id":"before","type":"file_exists","params":{"path":"a.txt"}},
		{"id":"make","type":"command_exit","params":{"command":["sh","-c","echo made > made.txt"]}},
		{"id":"number","type":"numeric_invariant","params":{"value":{"from":{"command":["sh","-c","echo 1 | tee number.txt"],"pattern":"([0-9]+)"}},"equals":1}},
		{"id":"depends","type":"file_exists","depends_on":["make"],"params":{"path":"a.txt"}},
		{"id":"after","type":"file_exists","params":{"path":"a.txt"}}]`, func(r *gate.Request) { r.Reading = true })
	want := map[string]record.Status{"before": record.Pass, "make": record.Inconclusive, "number": record.Inconclusive, "depends": record.Inconclusive, "after": record.Pass}
	for _, r := range s.Evidence.CheckResults {
		if r.Status != want[r.CheckID] {
			t.Errorf("%s is %s: %s", r.CheckID, r.Status, r.Summary)
		}
		if (r.CheckID == "make" || r.CheckID == "number") && r.Error.Code != string(fault.CheckRefused) {
			t.Errorf("%s: %+v", r.CheckID, r.Error)
		}
		delete(want, r.CheckID)
	}
	if len(want) > 0 || s.Judgement.Verdict != verdict.Undecided {
		t.Errorf("%s, without %v", s.Judgement.Verdict, want)
	}
	for _, name := range []string{"made.txt", "number.txt"} {
		if _, err := os.Stat(filepath.Join(b.ws, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	for _, p := range s.Evidence.Isolation.Profiles {
		if p.Profile == "command" {
			t.Error("a worker for commands was started")
		}
	}
}
