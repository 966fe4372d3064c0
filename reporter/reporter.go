// Package reporter is what stands between a finished run and whoever reads of
// it.
//
// A [View] is a run that was read back from its bundle with every binding
// checked, or one that left no bundle, and so has no verdict but an error. It only gives: no reporter can change it, and none decides anything,
// for the verdict was derived before and is one of the facts. A [Reporter]
// writes a View in one form; each form is a package below this one.
//
// [Summary] is the JSON answer of `gate run` and `gate show`: a fixed, documented
// shape that scripts rely on.
package reporter

import (
	"context"
	"slices"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// Reporter writes a run in one form.
type Reporter interface {
	Report(ctx context.Context, v View) error
}

// View is a run as reporters see it.
type View struct {
	summary Summary
	results []record.Result
	title   string
	foreign []string
	signer  string
}

// Of makes the view of a bundle that was read back.
func Of(s *bundle.Sealed) View {
	v := viewOf(s.Contract.Contract, &s.Evidence, &s.Judgement)
	v.foreign = slices.Clone(s.Unknown)
	v.summary.SignatureStatus, v.summary.Bundle = s.Attestation.SignatureStatus, s.Dir
	return v
}

// OfSigned makes the view of a bundle whose signature was verified: with the
// assurance that this granted, and who signed, in words.
func OfSigned(s *bundle.Sealed, granted contract.Assurance, signer string) View {
	v := Of(s)
	v.summary.Assurance, v.signer = granted, signer
	return v
}

// Signer is who signed, in words; "" when nobody did.
func (v View) Signer() string { return v.signer }

// OfUnwritten makes the view of a run that left no bundle. Its verdict is that
// of a verifier that failed; no attestation and no folder can be named.
func OfUnwritten(u *bundle.Unwritten) View {
	return viewOf(u.Contract.Contract, &u.Evidence, &u.Judgement)
}

func viewOf(k *contract.Contract, e *bundle.Evidence, j *verdict.Judgement) View {
	v := View{title: k.Title, results: slices.Clone(e.CheckResults)}
	v.summary = Summary{
		RunID: e.RunID, ContractID: e.ContractID, ContractDigest: e.ContractDigest, Verdict: j.Verdict, Outcome: j.Outcome, Assurance: j.Assurance,
		Limitations: e.Limitations, Required: j.Required, Passed: j.Passed, Attempted: j.Attempted,
	}
	for i := range e.CheckResults {
		v.summary.Checks = append(v.summary.Checks, summarize(&e.CheckResults[i]))
	}
	return v
}

// Title is what the contract calls itself; it may be empty.
func (v View) Title() string { return v.title }

// Foreign are files in the bundle's folder that belong to no part of it. No
// binding speaks of them.
func (v View) Foreign() []string { return slices.Clone(v.foreign) }

// Summary is the run in the shape of the JSON answer. It is the caller's own.
func (v View) Summary() Summary {
	s := v.summary
	for _, list := range []*[]string{&s.Limitations, &s.Required, &s.Passed, &s.Excepted, &s.Attempted} {
		*list = append([]string{}, *list...) // never null in JSON
	}
	s.Checks = append([]CheckSummary{}, s.Checks...)
	return s
}

// Results are the answers of the checks, in the order of the contract, the
// proposed ones last.
func (v View) Results() []record.Result { return slices.Clone(v.results) }

// Summary is what `gate run --format json` prints. The order of its members is
// the order in which they are written.
type Summary struct {
	RunID           string             `json:"run_id"`
	ContractID      string             `json:"contract_id"`
	ContractDigest  string             `json:"contract_digest"`
	Verdict         verdict.Verdict    `json:"verdict"`
	Outcome         verdict.Outcome    `json:"outcome"`
	Assurance       contract.Assurance `json:"assurance"`
	SignatureStatus string             `json:"signature_status"` // "" when there is nothing to sign
	Limitations     []string           `json:"limitations"`
	Required        []string           `json:"required"`
	Passed          []string           `json:"passed"`   // required checks only
	Excepted        []string           `json:"excepted"` // beside the verdict, never part of it
	Attempted       []string           `json:"attempted"`
	Checks          []CheckSummary     `json:"checks"`
	Bundle          string             `json:"bundle"` // the folder of the evidence; "" when it could not be written
}

// CheckSummary is one check of a Summary. Passed is null where nothing was
// learned.
type CheckSummary struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"`
	Required bool             `json:"required"`
	Status   record.Status    `json:"status"`
	Passed   *bool            `json:"passed"`
	Expected strictjson.Value `json:"expected"`
	Observed strictjson.Value `json:"observed"`
	Summary  string           `json:"summary"`
	Error    *record.Problem  `json:"error"`
}

func summarize(r *record.Result) CheckSummary {
	return CheckSummary{ID: r.CheckID, Type: r.Type, Required: r.Required, Status: r.Status, Passed: r.Passed,
		Expected: r.Expected, Observed: r.Observed, Summary: r.Summary, Error: r.Error}
}
