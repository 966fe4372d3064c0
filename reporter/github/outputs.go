package github

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
)

// Output is one output of the step.
type Output struct{ Name, Value string }

// Delivery is what became of the report of a whole step.
type Delivery struct {
	CheckRunURL string          // of the overall check-run; "" when there is none
	Error       *record.Problem // why what was found could not be reported whole; nil when it was
}

// overall is the step's result: what was not reported is no pass, whoever reads it.
func (d Delivery) overall(all []Result) (Verdict, Outcome) {
	if d.Error != nil {
		return Overall(nil)
	}
	return Overall(all)
}

// Outputs are the outputs of the step, in the order of the documentation. With
// several contracts what belongs to one run is empty, and the check-run is the overall
// one; with one contract it is the contract's own, if that was posted.
//
// Its error is action.report_failed, when the JSON is larger than GitHub takes; the
// other outputs are whole then, and json is empty.
func Outputs(all []Result, d Delivery) ([]Output, error) {
	v, o := d.overall(all)
	one := Result{}
	if len(all) == 1 {
		one = all[0]
	}
	checkRunURL := one.CheckRunURL
	if checkRunURL == "" {
		checkRunURL = d.CheckRunURL
	}
	document, err := outputJSON(all, d)
	return []Output{
		{"verdict", string(v)},
		{"outcome", string(o)},
		{"assurance", string(one.Assurance)},
		{"run-id", one.RunID},
		{"bundle-digest", one.BundleDigest},
		{"contract-digest", one.ContractDigest},
		{"artifact-id", one.ArtifactID},
		{"artifact-url", one.ArtifactURL},
		{"check-run-url", checkRunURL},
		{"bundle-path", one.BundlePath},
		{"json", document},
	}, err
}

func outputJSON(all []Result, d Delivery) (string, error) {
	v, o := d.overall(all)
	shown := append([]Result{}, all...) // never null
	for i := range shown {
		shown[i].Error = problem(shown[i].Error)
	}
	text, err := json.Marshal(struct {
		Verdict   Verdict         `json:"verdict"`
		Outcome   Outcome         `json:"outcome"`
		Error     *record.Problem `json:"error"`
		Contracts []Result        `json:"contracts"`
	}{v, o, problem(d.Error), shown})
	if err != nil {
		return "", fault.New(fault.ActionReportFailed, "", "the output json could not be written: %v", err).Because(err)
	}
	if len(text) > maxOutput {
		return "", fault.New(fault.ActionReportFailed, "Judge fewer contracts in one step.", "the output json has %d bytes, and GitHub takes no more than %d", len(text), maxOutput)
	}
	return string(text), nil
}

// problem is one as JSON can have it.
func problem(e *record.Problem) *record.Problem {
	if e == nil {
		return nil
	}
	return &record.Problem{Code: e.Code, Message: cutTo(strings.ToValidUTF8(e.Message, "\uFFFD"), maxLong), Fix: cutTo(strings.ToValidUTF8(e.Fix, "\uFFFD"), maxLong)}
}

// WriteOutputs adds outputs to the file that GITHUB_OUTPUT names. Each value ends at
// a delimiter of its own that nobody could foresee, so no value can add an output.
// Its error is action.report_failed: an unset variable, or a file that cannot be
// written.
//
// The library's own SetOutput is not used: its delimiter is a constant, which a file
// name can hold.
func WriteOutputs(name string, outputs []Output) error {
	if _, err := fileSize("GITHUB_OUTPUT", name); err != nil {
		return err
	}
	var text strings.Builder
	for _, o := range outputs {
		if len(o.Value) > maxOutput {
			return fault.New(fault.ActionReportFailed, "", "the output %s has %d bytes, and GitHub takes no more than %d", o.Name, len(o.Value), maxOutput)
		}
		end := unguessable([]byte(o.Value))
		fmt.Fprintf(&text, "%s<<%s\n%s\n%s\n", o.Name, end, o.Value, end)
	}
	return appendTo("GITHUB_OUTPUT", name, text.String())
}
