package plan

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Evaluate runs the step, again if it has a retry, and gives its answer. It
// always gives one: a run function that crashes is an error of its check, one
// that outlives its timeout is inconclusive.
func (s *Step) Evaluate(ctx context.Context, pass *check.Pass) record.Answer {
	started := time.Now()
	var (
		out      check.Outcome
		attempts []record.Attempt
	)
	for n := 1; ; n++ {
		began := time.Now()
		out = s.attempt(ctx, pass)
		attempts = append(attempts, record.Attempt{Status: out.Status, Summary: out.Summary, DurationSeconds: time.Since(began).Seconds()})
		if out.Status == record.Pass || n >= s.Retry.Attempts || !pause(ctx, seconds(s.Retry.IntervalSeconds)) {
			break
		}
	}
	a := s.answer(out, started)
	if s.Retry.Attempts > 1 {
		a.Result.Attempts = attempts
		if failed := len(attempts) - 1; out.Status == record.Pass && failed > 0 {
			a.Limitations = append(a.Limitations, fmt.Sprintf("it passed only at attempt %d of %d", failed+1, s.Retry.Attempts))
		}
	}
	return a
}

func (s *Step) attempt(ctx context.Context, pass *check.Pass) (out check.Outcome) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	defer func() {
		if crash := recover(); crash != nil {
			out = check.Defective(fault.CheckCrashed, "", "the check crashed: %v\n%s", crash, debug.Stack())
		}
	}()
	out = s.run.Run(ctx, pass)
	if out.Status == record.Pass && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// It looked after its time was over; what it saw then does not count.
		return check.Unable(fault.Timeout, "", "it did not end within %s", s.Timeout)
	}
	return out
}

// pause waits between two attempts; false when the run ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Unrun answers for a step that was not run, or was cut off: inconclusive.
func (s *Step) Unrun(code fault.Code, format string, args ...any) record.Answer {
	return s.answer(check.Unable(code, "", format, args...), time.Now())
}

func (s *Step) answer(out check.Outcome, started time.Time) record.Answer {
	ended := time.Now()
	r := record.Result{
		CheckID: s.ID, Type: s.Type, Required: s.Required, Proposed: s.Proposed,
		Status: out.Status, Passed: out.Status.Passed(), Summary: out.Summary, Findings: out.Findings, EvidenceRefs: []record.Ref{},
		StartedAt: record.Time(started), EndedAt: record.Time(ended), DurationSeconds: ended.Sub(started).Seconds(),
		Error: out.Problem, Tool: out.Tool, InputDigest: s.Input.String(), Method: "deterministic",
	}
	a := record.Answer{Index: s.Index, Limitations: out.Limitations}
	var err error
	if r.Expected, err = strictjson.FromGo(out.Expected); err == nil {
		r.Observed, err = strictjson.FromGo(out.Observed)
	}
	if err != nil {
		// What a check saw must be in the evidence; without it, its word is no evidence.
		r.Status, r.Passed, r.Expected, r.Observed = record.Broken, nil, strictjson.Value{}, strictjson.Value{}
		r.Summary = "what the check saw cannot be written as JSON: " + err.Error()
		r.Error = &record.Problem{Code: string(fault.CheckCrashed), Message: r.Summary, Fix: fault.New(fault.CheckCrashed, "", "").Fix}
	}
	for _, b := range out.Blobs {
		a.Blobs = append(a.Blobs, record.Blob{Role: b.Role, Note: b.Note, Data: b.Data})
	}
	a.Result = r
	return a
}
