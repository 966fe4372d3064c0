package checktest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/roots"
	"github.com/verdictgate/verdictgate/gate/sqlread"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// grace is how long a check may take to notice that its time is over.
const grace = 15 * time.Second

// Impossible is a status that a type can never have; see [Without].
type Impossible struct{ status, reason string }

// Without declares that no case of a type can have a status, and why.
func Without(status, reason string) Impossible { return Impossible{status, reason} }

// Run runs every case of the calling package's testdata folder as a subtest.
func Run(t *testing.T, typ check.Type, without ...Impossible) {
	t.Helper()
	asked, err := askedCase()
	if err != nil {
		t.Fatal(err)
	}
	if asked != nil {
		if err := asked.answer(typ); err != nil {
			t.Fatal(err)
		}
		return
	}
	cases, err := readCases("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, gap := range gaps(cases, without) {
		t.Errorf("testdata of %s: %s", typ.Name, gap)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			complaints, err := runCase(t, typ, c)
			if err != nil {
				t.Fatal(err)
			}
			for _, complaint := range complaints {
				t.Error(complaint)
			}
		})
	}
}

// runCase lays a case out, runs it and says what is not as the case wants it.
// An error is a case that could not be run at all.
func runCase(t *testing.T, typ check.Type, c *testCase) (complaints []string, err error) {
	w, err := newWorld(t.TempDir())
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("the setup's connections: %v", err)
		}
		if err := w.release(); err != nil {
			t.Error(err)
		}
	})
	if err := w.layOut(c); err != nil {
		return nil, err
	}
	var before map[string]string
	if c.want.unchanged {
		if before, err = w.snapshot(); err != nil {
			return nil, err
		}
	}
	evaluate := w.evaluate
	if c.unprivileged() {
		evaluate = func(typ check.Type, c *testCase) (seen, error) { return w.evaluateUnprivileged(t, typ, c) }
	}
	s, err := evaluate(typ, c)
	if err != nil {
		return nil, err
	}
	wanted := c.want
	wanted.contains = nil
	for _, e := range c.want.contains {
		wanted.contains = append(wanted.contains, expectation{e.key, w.expand(e.text)})
	}
	complaints = wanted.complaints(s)
	if c.want.unchanged {
		after, err := w.snapshot()
		if err != nil {
			return nil, err
		}
		complaints = append(complaints, differences(before, after)...)
	}
	return complaints, nil
}

// evaluate binds the params of a case and runs the check: in this process,
// unless it starts processes.
func (w *world) evaluate(typ check.Type, c *testCase) (s seen, err error) {
	doc, err := strictjson.Parse([]byte(w.expand(c.params)), strictjson.ContractLimits)
	if err != nil {
		return seen{}, fmt.Errorf("params.json: %w", err)
	}
	report := strictjson.Report{Version: c.want.version}
	step := typ.Bind(report.Root(&doc.Root))
	if len(report.Problems) > 0 {
		return refused(doc, report.Problems), nil
	}
	if step.Profile == check.Process {
		return w.evaluateInWorker(typ, c)
	}
	files, err := roots.Open(w.ws, nil)
	if err != nil {
		return seen{}, err
	}
	rows := sqlread.New(files, w.scratch)
	defer func() { err = errors.Join(err, rows.Close(), files.Close()) }()
	pass := &check.Pass{Files: files, Rows: rows}
	outcome, err := bounded(c.want.timeout, func(ctx context.Context) check.Outcome { return step.Run(ctx, pass) })
	if err != nil {
		return seen{}, err
	}
	s = look(outcome)
	if step.Warnings != nil {
		s.Warnings = step.Warnings()
	}
	return s, nil
}

// refused is what is seen of params that could not be bound. Each problem must
// have a place in the text: that is what a person needs to mend it.
func refused(doc *strictjson.Document, problems []strictjson.Problem) seen {
	s := seen{Status: invalid}
	for _, p := range problems {
		if doc.Position(p.Pos).Line == 0 {
			s.Broken = append(s.Broken, fmt.Sprintf("the problem %q has no place in the params", p.Message))
		}
		s.Problems = append(s.Problems, fmt.Sprintf("%s: %s: %s %s", doc.Position(p.Pos), p.Pointer, p.Message, p.Fix))
	}
	s.Whole = strings.Join(s.Problems, "\n")
	return s
}

// bounded runs a check under its timeout; a check that goes on long after it,
// or that panics, is an error.
func bounded(timeout time.Duration, run func(context.Context) check.Outcome) (check.Outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	type end struct {
		outcome check.Outcome
		err     error
	}
	done := make(chan end, 1)
	go func() {
		var e end
		defer func() {
			if r := recover(); r != nil {
				e.err = fmt.Errorf("the check panicked: %v\n%s", r, debug.Stack())
			}
			done <- e
		}()
		e.outcome = run(ctx)
	}()
	late := time.NewTimer(timeout + grace)
	defer late.Stop()
	select {
	case e := <-done:
		return e.outcome, e.err
	case <-late.C:
		return check.Outcome{}, fmt.Errorf("the check still runs %s after its timeout of %s", grace, timeout)
	}
}
