package check_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
)

// From is the one place where "examined and false" and "could not be examined"
// are told apart for errors of the world, so each kind has its row.
func TestFrom(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     error
		status  record.Status
		code    fault.Code
		summary string
	}{
		{"a path that is examined and wrong", &check.PathError{Path: "a", Reason: "is missing"}, record.Fail, "", `"a" is missing`},
		{"a path outside the roots", &check.PathError{Path: "a", Code: fault.CheckRefused, Reason: "leaves the allowed roots"}, record.Inconclusive, fault.CheckRefused, `"a" leaves the allowed roots`},
		{"a path that may not be read", &check.PathError{Path: "a", Code: fault.TargetUnreadable, Reason: "may not be read"}, record.Inconclusive, fault.TargetUnreadable, `"a" may not be read`},
		{"a path over a limit", &check.PathError{Path: "a", Code: fault.LimitExceeded, Reason: "is too large"}, record.Inconclusive, fault.LimitExceeded, `"a" is too large`},
		{"a query that is false", &check.QueryError{Status: record.Fail, Reason: "no such table"}, record.Fail, "", "no such table"},
		{"a query that is wrong", &check.QueryError{Status: record.Broken, Code: fault.CheckMalformed, Reason: "no such function"}, record.Broken, fault.CheckMalformed, "no such function"},
		{"a query that could not run", &check.QueryError{Status: record.Inconclusive, Code: fault.TargetUnreadable, Reason: "is locked"}, record.Inconclusive, fault.TargetUnreadable, "is locked"},
		{"a program that is missing", &check.ExecError{Code: fault.ToolMissing, Reason: "no such program"}, record.Inconclusive, fault.ToolMissing, "no such program"},
		{"a deadline", context.DeadlineExceeded, record.Inconclusive, fault.Timeout, "stopped at the timeout before it ended"},
		{"a cancellation", context.Canceled, record.Inconclusive, fault.Timeout, "stopped at the timeout before it ended"},
		{"anything else", errors.New("a surprise"), record.Broken, fault.CheckCrashed, "unexpected: a surprise"},
	} {
		for _, err := range []error{tt.err, fmt.Errorf("wrapped: %w", tt.err)} {
			if tt.status == record.Broken && tt.code == fault.CheckCrashed && err != tt.err {
				continue // the text of what nobody knows is shown as it is
			}
			o := check.From(err)
			if o.Status != tt.status || o.Summary != tt.summary {
				t.Errorf("%s: %s %q, want %s %q", tt.name, o.Status, o.Summary, tt.status, tt.summary)
			}
			switch {
			case tt.code == "" && o.Problem != nil:
				t.Errorf("%s: an answer carries the problem %+v", tt.name, o.Problem)
			case tt.code != "" && (o.Problem == nil || o.Problem.Code != string(tt.code) || o.Problem.Message == "" || o.Problem.Fix == ""):
				t.Errorf("%s: problem %+v, want the code %s with message and mend", tt.name, o.Problem, tt.code)
			}
		}
	}
}

func TestOutcomes(t *testing.T) {
	expected, observed := []int{1}, map[string]any{"a": 1}
	for _, tt := range []struct {
		outcome check.Outcome
		status  record.Status
		problem *record.Problem
	}{
		{check.Passed("%d of %d", 1, 2), record.Pass, nil},
		{check.Failed("%d of %d", 1, 2), record.Fail, nil},
		{check.Unable(fault.ToolMissing, "Mend %d.", "%d of %d", 1, 2), record.Inconclusive, &record.Problem{Code: "verify.tool_missing", Message: "1 of 2", Fix: "Mend %d."}},
		{check.Defective(fault.CheckCrashed, "Mend.", "%d of %d", 1, 2), record.Broken, &record.Problem{Code: "verify.check_crashed", Message: "1 of 2", Fix: "Mend."}},
	} {
		o := tt.outcome.Expecting(expected).Observing(observed)
		want := check.Outcome{Status: tt.status, Summary: "1 of 2", Expected: expected, Observed: observed, Problem: tt.problem}
		if !reflect.DeepEqual(o, want) {
			t.Errorf("got %+v, want %+v", o, want)
		}
	}
}
