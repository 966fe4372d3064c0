package verdict

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
)

const missing record.Status = "" // no result at all

func result(id string, s record.Status) record.Result {
	return record.Result{CheckID: id, Status: s, Passed: s.Passed()}
}

// everyStatus holds what a worker sends, nothing, and what none would.
var everyStatus = []record.Status{missing, record.Pass, record.Fail, record.Inconclusive, record.Broken, "PASS", "verified"}

// TestEveryCombination goes through all answers to three checks, each required
// or not, and compares with the order of decision written down a second time.
func TestEveryCombination(t *testing.T) {
	ids := []string{"a", "b", "c"}
	n := 0
	for mask := range 8 {
		for _, sa := range everyStatus {
			for _, sb := range everyStatus {
				for _, sc := range everyStatus {
					for flags := range 4 {
						in := Input{Complete: flags&1 != 0, InProcess: flags&2 != 0}
						count := map[record.Status]int{}
						for i, s := range []record.Status{sa, sb, sc} {
							if s != missing {
								in.Results = append(in.Results, result(ids[i], s))
							}
							if mask&(1<<i) != 0 {
								in.Required = append(in.Required, ids[i])
								count[s]++
							}
						}
						check(t, in, count)
						n++
					}
				}
			}
		}
	}
	if n != 8*7*7*7*4 {
		t.Errorf("%d combinations", n)
	}
}

func check(t *testing.T, in Input, count map[record.Status]int) {
	t.Helper()
	j := Judge(in)
	var (
		outcome   Outcome
		verdict   Verdict
		assurance = contract.VisualAdvisory
	)
	switch required := len(in.Required); {
	case !in.Complete:
		outcome, verdict = Error, Undecided
	case count[record.Fail] > 0:
		outcome, verdict = Fail, Failed
	case count[record.Pass] < required:
		outcome, verdict = Inconclusive, Undecided
	case required == 0:
		outcome, verdict = Inconclusive, Unverified
	default:
		outcome, verdict = Pass, Verified
	}
	if in.Complete && count[record.Pass]+count[record.Fail] > 0 {
		assurance = contract.IsolatedLocal
		if in.InProcess {
			assurance = contract.DeterministicLocal
		}
	}
	if j.Outcome != outcome || j.Verdict != verdict || j.Assurance != assurance {
		t.Fatalf("%+v: got %s %s %s, want %s %s %s", in, j.Outcome, j.Verdict, j.Assurance, outcome, verdict, assurance)
	}
	if (j.Verdict == Verified) != (len(j.Required) > 0 && slices.Equal(j.Required, j.Passed)) {
		t.Fatalf("%+v: %s with required %v, passed %v", in, j.Verdict, j.Required, j.Passed)
	}
	parts := slices.Concat(j.Passed, j.Failed, j.Unresolved)
	slices.Sort(parts)
	want := slices.Clone(in.Required)
	if slices.Sort(want); !slices.Equal(parts, want) {
		t.Fatalf("%+v: passed %v, failed %v, unresolved %v are not the required ones", in, j.Passed, j.Failed, j.Unresolved)
	}
	for _, list := range [][]string{j.Required, j.Passed, j.Failed, j.Unresolved, j.Attempted} {
		if list == nil {
			t.Fatalf("%+v: a list is nil", in)
		}
	}
}

// TestNothingAddedHelps adds to every input one result more, of any kind, and
// wants that it never makes a pass of what was none, unless it is the one
// answer that was missing.
func TestNothingAddedHelps(t *testing.T) {
	for _, sa := range everyStatus {
		for _, sb := range everyStatus {
			base := Input{Complete: true, Required: []string{"a", "b"}}
			for i, s := range []record.Status{sa, sb} {
				if s != missing {
					base.Results = append(base.Results, result(base.Required[i], s))
				}
			}
			before := Judge(base)
			for _, id := range []string{"a", "b", "unknown", "A", ""} {
				for _, s := range everyStatus[1:] {
					for _, proposed := range []bool{false, true} {
						extra := result(id, s)
						extra.Proposed, extra.Required = proposed, true
						answers := slices.ContainsFunc(base.Results, func(r record.Result) bool { return r.CheckID == id })
						for _, results := range [][]record.Result{append(slices.Clone(base.Results), extra), append([]record.Result{extra}, base.Results...)} {
							after := Judge(Input{Complete: true, Required: base.Required, Results: results})
							wasTheMissing := !answers && !proposed && slices.Contains(base.Required, id)
							if after.Verdict == Verified && before.Verdict != Verified && !wasTheMissing {
								t.Fatalf("%v and then %+v: %s", base.Results, extra, after.Verdict)
							}
							if before.Verdict == Failed && after.Verdict != Failed {
								t.Fatalf("%v and then %+v: %s is no longer FAILED", base.Results, extra, after.Verdict)
							}
							if (proposed || !slices.Contains(base.Required, id)) && (after.Verdict != before.Verdict || after.Assurance != before.Assurance) {
								t.Fatalf("%+v, which is not required, changed %s to %s", extra, before.Verdict, after.Verdict)
							}
						}
					}
				}
			}
		}
	}
}

func TestSecondAnswerIsNoAnswer(t *testing.T) {
	for _, c := range []struct {
		statuses []record.Status
		want     Verdict
	}{
		{[]record.Status{record.Pass, record.Pass}, Undecided},
		{[]record.Status{record.Pass, record.Inconclusive}, Undecided},
		{[]record.Status{record.Pass, record.Fail}, Failed},
		{[]record.Status{record.Fail, record.Pass}, Failed},
	} {
		var results []record.Result
		for _, s := range c.statuses {
			results = append(results, result("a", s))
		}
		if j := Judge(Input{Complete: true, Required: []string{"a"}, Results: results}); j.Verdict != c.want {
			t.Errorf("%v: %s, want %s", c.statuses, j.Verdict, c.want)
		}
	}
}

func TestContradictionIsNoPass(t *testing.T) {
	no := false
	for _, passed := range []*bool{nil, &no} {
		r := record.Result{CheckID: "a", Status: record.Pass, Passed: passed}
		if j := Judge(Input{Complete: true, Required: []string{"a"}, Results: []record.Result{r}}); j.Outcome != Inconclusive {
			t.Errorf("status pass with passed %v: %s", passed, j.Outcome)
		}
	}
}

func TestAttemptedLeavesOutWhatWasNeverStarted(t *testing.T) {
	skipped := result("b", record.Inconclusive)
	skipped.Error = &record.Problem{Code: string(fault.DependencyUnmet)}
	j := Judge(Input{Complete: true, Required: []string{"a", "b"}, Results: []record.Result{result("a", record.Fail), skipped, result("adv", record.Pass)}})
	if got := fmt.Sprint(j.Attempted); got != "[a adv]" {
		t.Errorf("attempted %s", got)
	}
	if !reflect.DeepEqual(j.Unresolved, []string{"b"}) {
		t.Errorf("unresolved %v", j.Unresolved)
	}
}

func TestRequiredTwiceCountsOnce(t *testing.T) {
	j := Judge(Input{Complete: true, Required: []string{"a", "a"}, Results: []record.Result{result("a", record.Pass)}})
	if j.Verdict != Verified || len(j.Required) != 1 || len(j.Passed) != 1 {
		t.Errorf("%+v", j)
	}
}
