package reporter

import (
	"encoding/json"
	"testing"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

func sealed() *bundle.Sealed {
	return &bundle.Sealed{
		Dir: "/data/vr_1", Contract: &contract.File{Contract: &contract.Contract{Title: "t"}}, Unknown: []string{"x"},
		Evidence: bundle.Evidence{RunID: "vr_1", ContractID: "c", ContractDigest: "sha256:0", Verdict: "recorded", Outcome: "recorded", Assurance: "recorded",
			CheckResults: []record.Result{{CheckID: "a", Type: "file_exists", Required: true, Status: record.Inconclusive,
				Expected: value(`{"exists":true}`), Observed: value(`29.0`), Summary: "s", Error: &record.Problem{Code: "verify.timeout", Message: "m", Fix: "f"}}}},
		Attestation: bundle.Attestation{SignatureStatus: bundle.Unsigned},
		Judgement:   verdict.Judgement{Verdict: verdict.Undecided, Outcome: verdict.Inconclusive, Assurance: contract.VisualAdvisory, Required: []string{"a"}},
	}
}

// TestSummaryShape pins the document that scripts rely on: its members, their
// order, no list that is null, and the verdict as it was derived again.
func TestSummaryShape(t *testing.T) {
	const want = `{"run_id":"vr_1","contract_id":"c","contract_digest":"sha256:0","verdict":"INCONCLUSIVE","outcome":"inconclusive","assurance":"visual_advisory",` +
		`"signature_status":"unsigned_hash_bound","limitations":[],"required":["a"],"passed":[],"excepted":[],"attempted":[],` +
		`"checks":[{"id":"a","type":"file_exists","required":true,"status":"inconclusive","passed":null,"expected":{"exists":true},"observed":29.0,"summary":"s",` +
		`"error":{"code":"verify.timeout","message":"m","fix":"f"}}],"bundle":"/data/vr_1"}`
	got, err := json.Marshal(Of(sealed()).Summary())
	if err != nil || string(got) != want {
		t.Errorf("got  %s (%v)\nwant %s", got, err, want)
	}
}

func TestViewCannotBeChanged(t *testing.T) {
	s := sealed()
	v := Of(s)
	s.Unknown[0], s.Evidence.CheckResults[0].Status = "changed", record.Pass
	v.Foreign()[0] = "changed"
	v.Results()[0].Status = record.Pass
	sum := v.Summary()
	sum.Required[0], sum.Checks[0].Status = "changed", record.Pass
	if v.Foreign()[0] != "x" || v.Results()[0].Status != record.Inconclusive || v.Summary().Required[0] != "a" || v.Summary().Checks[0].Status != record.Inconclusive {
		t.Error("what a reporter did to its copy reached the view")
	}
}

// value is the JSON value of a text.
func value(text string) strictjson.Value {
	doc, err := strictjson.Parse([]byte(text), strictjson.DocumentLimits)
	if err != nil {
		panic(err)
	}
	return doc.Root
}
