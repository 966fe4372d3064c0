package checktest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/worker"
)

// A check that starts processes is run as the gate runs it: by a worker in its
// sandbox, which is this test binary started again.

// isWorkersParent says that Main ran, without which the test binary would run
// its tests again where it was asked to be a worker.
var isWorkersParent bool

// Main runs the tests of a type that starts processes:
//
//	func TestMain(m *testing.M) { os.Exit(checktest.Main(m, Type())) }
func Main(m *testing.M, types ...check.Type) int {
	if status, ok := worker.Main(context.Background(), types, os.Args); ok {
		return status
	}
	isWorkersParent = true
	return m.Run()
}

// evaluateInWorker runs the case as the only check of a contract.
func (w *world) evaluateInWorker(typ check.Type, c *testCase) (seen, error) {
	if !isWorkersParent {
		return seen{}, errors.New("the check starts processes, so its test needs: func TestMain(m *testing.M) { os.Exit(checktest.Main(m, Type())) }")
	}
	if err := w.giveAway(); err != nil {
		return seen{}, err
	}
	text := fmt.Sprintf(`{"schema_version":%d,"contract_id":"case","checks":[{"id":"case","type":%q,"timeout_seconds":%g,"params":%s}]}`,
		c.want.version, typ.Name, c.want.timeout.Seconds(), w.expand(c.params))
	f, err := contract.Parse("the case", []byte(text))
	if err != nil {
		return seen{}, err
	}
	canonical := f.Canonical()
	if f, err = contract.Parse("the case", canonical); err != nil {
		return seen{}, err
	}
	types := plan.Types{typ}
	p := plan.Bind(f, types)
	if err := f.Err(); err != nil {
		return seen{}, err
	}
	job := worker.Job{Plan: p, Types: types, Start: record.Start{Contract: canonical, Workspace: w.ws, Roots: []string{w.ws}, Path: os.Getenv("PATH")}}
	ctx, cancel := context.WithTimeout(context.Background(), c.want.timeout+grace)
	defer cancel()
	report, err := worker.Run(ctx, job)
	switch {
	case err != nil:
		return seen{}, err
	case !report.Complete:
		return seen{}, fmt.Errorf("the worker failed: %s", report.Failure)
	case len(report.Answers) != 1:
		return seen{}, fmt.Errorf("the worker gave %d answers", len(report.Answers))
	}
	return look(outcomeOf(&report.Answers[0])), nil
}

// outcomeOf is the outcome that an answer was made of.
func outcomeOf(a *record.Answer) check.Outcome {
	r := &a.Result
	o := check.Outcome{Status: r.Status, Summary: r.Summary, Expected: r.Expected, Observed: r.Observed,
		Findings: r.Findings, Tool: r.Tool, Problem: r.Error, Limitations: a.Limitations}
	for _, b := range a.Blobs {
		o.Blobs = append(o.Blobs, check.Blob{Role: b.Role, Data: b.Data, Note: b.Note})
	}
	return o
}

// giveAway makes the workspace another user's when the tests run as root, for
// then the worker starts commands as that user, as it does on a CI machine.
func (w *world) giveAway() error {
	if os.Geteuid() != 0 {
		return nil
	}
	if err := w.open(); err != nil {
		return err
	}
	return filepath.WalkDir(w.ws, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
}

// open lets other users through to the world: the temporary folder of a test is
// its owner's alone.
func (w *world) open() error { return os.Chmod(filepath.Dir(filepath.Dir(w.ws)), 0o711) }
