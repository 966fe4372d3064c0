package bundle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// Unwritten is the error of a run whose evidence is nowhere. The verifier
// failed then, whatever the checks said: a verdict that nothing bears out is
// none. What is known of the run is here for a reporter, redacted as it would
// have been written. There are no blobs, so no evidence_refs and no artifacts.
type Unwritten struct {
	Contract  *contract.File
	Evidence  Evidence
	Judgement verdict.Judgement
	why       *fault.Error
}

func (u *Unwritten) Error() string { return u.why.Error() }

// Unwrap gives the fault that says why.
func (u *Unwritten) Unwrap() error { return u.why }

// NotBegun is the error of a run that was given up before anything was judged.
func NotBegun(c Content, why error) *Unwritten {
	return (&Pending{}).Unwritten(c, why)
}

// Unwritten makes the error of a run that was judged and whose evidence could
// not be kept.
func (p *Pending) Unwritten(c Content, why error) *Unwritten {
	u := &Unwritten{Contract: c.Contract, why: fault.As(why)}
	// What could not be redacted cannot be told either; that it is missing shows.
	kept := Pending{received: map[int]redacted{}, reopened: p.reopened}
	answers := c.Answers
	c.Answers = nil
	for _, a := range answers {
		r, ok := p.received[a.Index]
		if !ok {
			var err error
			if r, err = redact(&a, discard); err != nil {
				continue
			}
		}
		r.result.EvidenceRefs, r.artifacts = []record.Ref{}, nil
		r.limitations = slices.DeleteFunc(slices.Clone(r.limitations), func(l string) bool { return strings.HasSuffix(l, wholeInBlob) })
		kept.received[a.Index] = r
		c.Answers = append(c.Answers, a)
	}
	c.Limitations = slices.Concat([]string{fmt.Sprintf("there is no evidence of this run, so nothing is concluded from it: %s", u.why.Message)}, c.Limitations)
	now := time.Now()
	e, _, err := kept.evidence(newID(now), now, c)
	if err != nil {
		u.why.Message += fmt.Sprintf(" (%v)", err)
	}
	u.Judgement = verdict.Judge(verdict.Input{Complete: false, InProcess: c.Isolation.InProcess, Results: e.CheckResults, Required: c.Contract.Contract.Required()})
	e.Verdict, e.Outcome, e.Assurance = u.Judgement.Verdict, u.Judgement.Outcome, u.Judgement.Assurance
	u.Evidence = e
	return u
}
