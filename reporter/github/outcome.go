package github

import (
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// Verdict and Outcome are those of package verdict.
type (
	Verdict = verdict.Verdict
	Outcome = verdict.Outcome
)

// Refused is the outcome of a contract that was not judged; its verdict is "".
const Refused Outcome = "refused"

// Conclusion is what GitHub is told of a verdict. Only success lets a change past a
// required check; whatever is not known here is a failure.
func Conclusion(v Verdict, o Outcome) forge.Conclusion {
	switch {
	case v == verdict.Verified && o == verdict.Pass:
		return forge.Success
	case v == verdict.Unverified && o == verdict.Inconclusive:
		return forge.ActionRequired
	}
	return forge.Failure
}

// maxWeight is that of VERIFIED.
const maxWeight = 5

// weight orders what became of contracts, the weightiest first. What does not fit
// together weighs as a verifier that failed, and so does what was not delivered.
func weight(r *Result) int {
	switch {
	case r.Outcome == Refused && r.Verdict == "":
		return 2
	case r.Verdict == verdict.Failed && r.Outcome == verdict.Fail && r.Error == nil:
		return 1
	case r.Error != nil:
		return 0
	case r.Verdict == verdict.Undecided && r.Outcome == verdict.Inconclusive:
		return 3
	case r.Verdict == verdict.Unverified && r.Outcome == verdict.Inconclusive:
		return 4
	case r.Verdict == verdict.Verified && r.Outcome == verdict.Pass:
		return maxWeight
	}
	return 0
}

// weightiest is the place of the first of the weightiest results; -1 for none.
func weightiest(all []Result) int {
	at := -1
	for i := range all {
		if at < 0 || weight(&all[i]) < weight(&all[at]) {
			at = i
		}
	}
	return at
}

// Overall is the result of several contracts: that of the weightiest, where an error
// weighs most, then FAILED, a refusal, INCONCLUSIVE, UNVERIFIED and VERIFIED. Every
// verdict was decided before. No result at all is an error, and so is a verdict
// that could not be delivered: INCONCLUSIVE then.
func Overall(all []Result) (Verdict, Outcome) {
	at := weightiest(all)
	if at < 0 || weight(&all[at]) == 0 {
		return verdict.Undecided, verdict.Error
	}
	return all[at].Verdict, all[at].Outcome
}
