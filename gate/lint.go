package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/plan"
)

// Lint is all that can be said about a contract before it is run.
type Lint struct {
	File     string             `json:"file"`
	Frozen   bool               `json:"frozen"`
	Problems []contract.Problem `json:"problems"` // it cannot be frozen or run with these
	Warnings []contract.Problem `json:"warnings"` // it can, but not with a good end here
}

// Lint reads a draft or a frozen contract and lists every problem at once. The
// error is for a document that is no JSON, or that was edited after freezing.
func (g Gate) Lint(name string) (Lint, error) {
	f, err := contract.Load(name)
	if err != nil {
		return Lint{}, err
	}
	steps := plan.Bind(f, g.Types)
	if err := steps.Linked(); err != nil {
		return Lint{}, err
	}
	l := Lint{File: name, Frozen: f.Contract.Frozen(), Problems: sorted(f.Problems()), Warnings: []contract.Problem{}}
	if len(l.Problems) > 0 {
		return l, nil
	}
	if l.Frozen {
		if err := f.CheckSeal(); err != nil {
			return Lint{}, err
		}
	}
	l.Problems = append(l.Problems, Undecided(f)...)
	l.Warnings = append(l.Warnings, g.warn(f, steps)...)
	return l, nil
}

// Undecided is the problem of a draft that could decide nothing, if it is one.
// A contract that was frozen by another tool is judged as it stands.
func Undecided(f *contract.File) []contract.Problem {
	if f.Contract.Frozen() || len(f.Contract.Checks) > 0 || len(f.Contract.Expectations) > 0 {
		return nil
	}
	return []contract.Problem{f.At(&f.Doc.Root, "", "the contract has no check and no expectation, so it could decide nothing", "Add at least one check.")}
}

// warn finds what a run on this machine can only leave open.
func (g Gate) warn(f *contract.File, p *plan.Plan) []contract.Problem {
	var out []contract.Problem
	at := func(message, fix string) {
		out = append(out, f.At(&f.Doc.Root, "", message, fix))
	}
	if len(f.Contract.Required()) == 0 && len(f.Contract.Checks) > 0 {
		at("no check is required, so a run can only end UNVERIFIED", `Set "required": true on the checks that decide.`)
	}
	if r := f.Contract.RequiredAssurance; !contract.IsolatedLocal.AtLeast(r) {
		at(fmt.Sprintf("required_assurance %q is more than this build can give, so a run will be refused", r), "")
	}
	for _, step := range p.Steps {
		check := &f.Doc.Root.Get("checks").Items[step.Index]
		of := func(message, fix string) {
			out = append(out, f.At(check, fmt.Sprintf("/checks/%d", step.Index), fmt.Sprintf("check %q%s", step.ID, message), fix))
		}
		for _, tool := range step.Tools {
			if !onPath(tool) {
				of(fmt.Sprintf(" can only end inconclusive on this machine: there is no program %q on PATH", tool), "Install it, or run the contract where it is.")
			}
		}
		var warnings []string
		if step.Warnings != nil {
			warnings = step.Warnings()
		}
		for _, warning := range warnings {
			of(": "+warning, "")
		}
		if id := twice(f.Contract.Checks[step.Index].DependsOn); id != "" {
			of(fmt.Sprintf(": depends_on names %q twice, which says no more than once", id), "Remove one of them.")
		}
	}
	return out
}

// twice gives the first id that a list names again.
func twice(ids []string) string {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return id
		}
	}
	return ""
}

func sorted(ps []contract.Problem) []contract.Problem {
	slices.SortStableFunc(ps, func(a, b contract.Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return ps
}

// Freeze gives the frozen document of a draft.
func (g Gate) Freeze(draft string, now time.Time) ([]byte, error) {
	f, err := g.loadDraft(draft)
	if err != nil {
		return nil, err
	}
	return contract.Freeze(f, g.Types.FillDefaults, now)
}

// Revise gives the frozen document of a draft that replaces a frozen contract.
func (g Gate) Revise(frozen, draft string, now time.Time) ([]byte, error) {
	old, err := contract.Load(frozen)
	if err != nil {
		return nil, err
	}
	f, err := g.loadDraft(draft)
	if err != nil {
		return nil, err
	}
	return contract.Revise(old, f, g.Types.FillDefaults, now)
}

// loadDraft reads a draft and refuses what is wrong with it. That it is frozen
// already is the first thing to say: what else is wrong does not matter then.
func (g Gate) loadDraft(name string) (*contract.File, error) {
	f, err := contract.Load(name)
	if err != nil {
		return nil, err
	}
	if f.Contract.DigestText() != "" {
		return nil, fault.New(fault.ContractAlreadyFrozen, "", "%s: the contract %q is frozen already", name, f.Contract.ID).
			With("file", name).With("digest", f.Contract.DigestText())
	}
	if err := plan.Bind(f, g.Types).Linked(); err != nil {
		return nil, err
	}
	return f, f.Err()
}

// onPath says whether a program can be found. A name with a slash is relative
// to a workspace that lint does not know, so it is taken to be there.
func onPath(name string) bool {
	if strings.Contains(name, "/") {
		return true
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}
