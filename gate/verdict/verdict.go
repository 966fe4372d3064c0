// Package verdict turns results into a verdict. It is a pure function of what
// the contract requires and what was answered, so whoever reads a bundle back
// can derive the verdict again and must come to the same.
//
// # The order of decision
//
//  1. The worker gave no complete answer: error, whatever had arrived. A stream
//     that was cut may lack just the result that would have been false.
//  2. A required check was examined and is false: fail.
//  3. A required check is missing, inconclusive or broken: inconclusive.
//  4. The contract requires nothing: inconclusive, and the verdict is
//     UNVERIFIED, because nothing was there to be verified.
//  5. Otherwise every required check passed: pass.
//
// Advisory results, results of proposed checks and results of checks that the
// contract does not know never change it.
package verdict

import (
	"slices"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
)

// Outcome is what became of a run.
type Outcome string

// The outcomes.
const (
	Pass         Outcome = "pass"
	Fail         Outcome = "fail"
	Inconclusive Outcome = "inconclusive"
	Error        Outcome = "error"
)

// Verdict is the word for it that people read.
type Verdict string

// The verdicts.
const (
	Verified   Verdict = "VERIFIED"
	Failed     Verdict = "FAILED"
	Unverified Verdict = "UNVERIFIED"
	Undecided  Verdict = "INCONCLUSIVE"
)

// Input is all that a verdict depends on.
type Input struct {
	// Complete says that the worker's answer ended with a valid end record.
	Complete bool
	// InProcess says that the checks were not isolated from the gate.
	InProcess bool
	Results   []record.Result
	// Required are the ids of the contract's required checks, in its order.
	Required []string
}

// Judgement is the verdict with the lists that it rests on. The lists are never
// nil; all but Attempted hold required ids only, in the order of the contract.
type Judgement struct {
	Outcome    Outcome
	Verdict    Verdict
	Assurance  contract.Assurance
	Required   []string
	Passed     []string
	Failed     []string
	Unresolved []string // missing, inconclusive, broken, or answered more than once
	Attempted  []string // every check that was run, required or not, in the order of the results
}

// Judge decides.
func Judge(in Input) Judgement {
	j := Judgement{Required: unique(in.Required), Passed: []string{}, Failed: []string{}, Unresolved: []string{}, Attempted: attempted(in.Results)}
	if !in.Complete {
		// No result of a cut stream is relied on, so none is counted as passed.
		j.Outcome, j.Verdict, j.Assurance = Error, Undecided, contract.VisualAdvisory
		j.Unresolved = append(j.Unresolved, j.Required...)
		return j
	}
	answers := answersOf(in.Results)
	for _, id := range j.Required {
		switch answers[id].status() {
		case record.Pass:
			j.Passed = append(j.Passed, id)
		case record.Fail:
			j.Failed = append(j.Failed, id)
		default:
			j.Unresolved = append(j.Unresolved, id)
		}
	}
	switch {
	case len(j.Failed) > 0:
		j.Outcome, j.Verdict = Fail, Failed
	case len(j.Unresolved) > 0:
		j.Outcome, j.Verdict = Inconclusive, Undecided
	case len(j.Required) == 0:
		j.Outcome, j.Verdict = Inconclusive, Unverified
	default:
		j.Outcome, j.Verdict = Pass, Verified
	}
	j.Assurance = assurance(len(j.Passed)+len(j.Failed) > 0, in.InProcess)
	return j
}

// assurance says how far the judge stood from what it judged. A run in which no
// required check decided anything has looked, and no more.
func assurance(decided, inProcess bool) contract.Assurance {
	switch {
	case !decided:
		return contract.VisualAdvisory
	case inProcess:
		return contract.DeterministicLocal
	}
	return contract.IsolatedLocal
}

// answer is all that was said about one check.
type answer struct {
	results int
	failed  bool
	last    record.Status
}

// answersOf collects the results by check. A proposed check has no say about
// an id of the contract.
func answersOf(results []record.Result) map[string]answer {
	out := make(map[string]answer, len(results))
	for i := range results {
		r := &results[i]
		if r.Proposed {
			continue
		}
		a := out[r.CheckID]
		a.results++
		a.failed = a.failed || r.Status == record.Fail
		a.last = r.Status
		if r.Status == record.Pass && (r.Passed == nil || !*r.Passed) {
			a.last = record.Broken // a result that contradicts itself proves nothing
		}
		out[r.CheckID] = a
	}
	return out
}

// status is the answer to one required check. One false answer among several
// is enough to fail; several answers are otherwise none, because nobody can
// say which of them counts.
func (a answer) status() record.Status {
	switch {
	case a.failed:
		return record.Fail
	case a.results != 1:
		return record.Inconclusive
	}
	return a.last
}

// attempted lists the checks that were run: those with a result, less those
// that were never started because another had not passed.
func attempted(results []record.Result) []string {
	out := []string{}
	for i := range results {
		if e := results[i].Error; e != nil && e.Code == string(fault.DependencyUnmet) {
			continue
		}
		out = append(out, results[i].CheckID)
	}
	return unique(out)
}

// unique drops repetitions and keeps the order.
func unique(ids []string) []string {
	out := []string{}
	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return slices.Clip(out)
}
