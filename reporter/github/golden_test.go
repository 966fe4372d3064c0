package github

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
	"github.com/verdictgate/verdictgate/reporter"
)

var update = flag.Bool("update", false, "write the golden files")

// golden holds a text against a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is another (see with -update and git diff):\n%s", file, got)
	}
}

func goldenRun(t *testing.T, name string, run forge.CheckRun) {
	t.Helper()
	golden(t, name+"/summary.md", run.Summary)
	golden(t, name+"/text.md", run.Text)
	short := run
	short.Summary, short.Text = "see summary.md", "see text.md"
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(short); err != nil {
		t.Fatal(err)
	}
	golden(t, name+"/checkrun.json", out.String())
	within(t, run)
}

// within holds a check-run against GitHub's limits.
func within(t *testing.T, run forge.CheckRun) {
	t.Helper()
	if n := len(run.Summary); n > 65_535 || n == 0 {
		t.Errorf("the summary has %d bytes", n)
	}
	if n := len(run.Text); n > 65_535 {
		t.Errorf("the text has %d bytes", n)
	}
	if n := len([]rune(run.Title)); n > 255 || n == 0 {
		t.Errorf("the title has %d characters", n)
	}
	if n := len([]rune(run.Name)); n > 255 || n == 0 {
		t.Errorf("the name has %d characters", n)
	}
	if n := len(run.Annotations); n > maxAnnotations {
		t.Errorf("%d annotations", n)
	}
	for _, a := range run.Annotations {
		if a.Path == "" || a.StartLine < 1 || a.EndLine < a.StartLine || a.Message == "" || len(a.Message) >= 64<<10 || len([]rune(a.Title)) > 255 || a.Level == "" {
			t.Errorf("GitHub would refuse %+.300v", a)
		}
		for _, r := range a.Path + a.Title + a.Message {
			if r > 0xffff || r < ' ' && r != '\n' && r != '\t' {
				t.Errorf("an annotation holds %U", r)
			}
		}
	}
}

func result(id, kind string, required bool, status record.Status, summary string) record.Result {
	return record.Result{CheckID: id, Type: kind, Required: required, Status: status, Passed: status.Passed(), Summary: summary,
		Expected: value("null"), Observed: value("null")}
}

func showing(r record.Result, expected, observed string) record.Result {
	r.Expected, r.Observed = value(expected), value(observed)
	return r
}

func value(text string) strictjson.Value {
	doc, err := strictjson.Parse([]byte(text), strictjson.DocumentLimits)
	if err != nil {
		panic(err)
	}
	return doc.Root
}

// view is a run of those results with the verdict that follows from them.
func view(limitations []string, results ...record.Result) reporter.View {
	var required []string
	for _, r := range results {
		if r.Required {
			required = append(required, r.CheckID)
		}
	}
	j := verdict.Judge(verdict.Input{Complete: true, Results: results, Required: required})
	var foreign []string
	if len(limitations) > 0 {
		foreign = []string{"reports/own.html"}
	}
	return reporter.Of(&bundle.Sealed{
		Dir: "/data/vr_1", Contract: &contract.File{Contract: &contract.Contract{Title: "Checkout writes a real order"}},
		Evidence: bundle.Evidence{RunID: "vr_20260101T000000_0a1b2c3d4e5f", ContractID: "checkout-v1", ContractDigest: strictjson.Sum([]byte("contract")).String(),
			CheckResults: results, Limitations: limitations},
		Attestation: bundle.Attestation{SignatureStatus: bundle.Unsigned}, Judgement: j, Unknown: foreign,
	})
}

// tree is a workspace of a few files.
type tree map[string]string

func (t tree) workspace() Workspace {
	return Workspace{
		Root:   "/github/workspace",
		Exists: func(name string) bool { _, ok := t[name]; return ok },
		Open: func(name string) ([]byte, error) {
			if text, ok := t[name]; ok {
				return []byte(text), nil
			}
			return nil, errors.New("no such file")
		},
	}
}

const contractText = `{
  "checks": [
    {"id": "ledger"},
    {"id": "manifest"},
    {"id": "tests", "params": {"cwd": "shop"}},
    {"id": "lint"},
    {"id": "total"},
    {"id": "schema"},
    {"id": "readme"}
  ]
}`

func facts(files tree) Facts {
	return Facts{CheckName: "verdict", BaseRef: "main", BaseSHA: strings.Repeat("b", 40), HeadSHA: strings.Repeat("a", 40), Matrix: "ubuntu, 1.26", ExternalID: "vg1:1",
		ContractPath: ".gate/contracts/checkout.json", ContractCommit: strings.Repeat("b", 40), ContractText: []byte(contractText),
		ArtifactURL: "https://github.com/acme/shop/actions/runs/1/artifacts/2", ArtifactDigest: strictjson.Sum([]byte("zip")).String(),
		BundleDigest: strictjson.Sum([]byte("bundle")).String(), RunURL: "https://github.com/acme/shop/actions/runs/1/job/3", Workspace: files.workspace()}
}

func shop() tree {
	return tree{".gate/contracts/checkout.json": contractText, "shop/go.mod": "module example.com/shop\n", "shop/order/total_test.go": "", "shop/main.go": "",
		"order.json": "{\n  \"id\": 1,\n  \"total\": 31.5\n}\n", "dist/extra.txt": "x"}
}

// trouble is a run with every kind of answer and of place.
func trouble() reporter.View {
	total := showing(result("total", "json_value", true, record.Fail, "/total is 31.5, not 29"), `{"equals":29.0}`, `31.5`)
	total.Findings = []record.Finding{{Message: "/total is 31.5, not 29", File: "order.json", Line: 3, Column: 12, Pointer: "/total"}}
	schema := showing(result("schema", "json_schema", true, record.Fail, "order.json violates the schema in 2 places"), `{"schema":{}}`, `{"total":2}`)
	schema.Findings = []record.Finding{{Message: "must be a string", File: "order.json", Pointer: "/id"}, {Message: "is missing", File: "order.json", Line: 1, Column: 1}}
	manifest := showing(result("manifest", "directory_manifest", true, record.Fail, "2 files differ"), `{"exact":true}`, `{"missing":["dist/app"]}`)
	manifest.Findings = []record.Finding{{Message: "expected file dist/app is missing", File: "dist/app"}, {Message: "dist/extra.txt (a file) is not expected", File: "dist/extra.txt"}}
	tests := showing(result("tests", "command_exit", true, record.Fail, "go ended with exit code 1, not 0"), `{"exit_code":0}`,
		`{"exit_code":1,"stderr":"main.go:3:1: warning: unused\n","stdout":"--- FAIL: TestTotal (0.00s)\n    total_test.go:12: total is 31.5\nFAIL\nFAIL\texample.com/shop/order\t0.01s\n"}`)
	lint := result("lint", "command_exit", true, record.Inconclusive, `there is no program "golangci-lint" on PATH`)
	lint.Error = &record.Problem{Code: "verify.tool_missing", Message: "there is none", Fix: "Install it."}
	return view([]string{`check readme is advisory, not verified: fail: README.md is missing`, "checks ran as root"},
		result("ledger", "file_exists", true, record.Pass, "orders.db is a file"), total, schema, manifest, tests, lint,
		showing(result("readme", "file_exists", false, record.Fail, "README.md is missing"), `{"exists":true}`, `{"exists":false}`))
}

func TestCheckRuns(t *testing.T) {
	f := facts(shop())
	f.Notes = []string{"The evidence is unsigned: the job has no id-token: write."}
	f.Edits = []Edit{{Path: ".gate/contracts/checkout.json", Line: 4}, {Path: ".gate/gone.json"}}
	goldenRun(t, "failed", Render(trouble(), f))

	verified := view(nil, result("ledger", "file_exists", true, record.Pass, "orders.db is a file"))
	goldenRun(t, "verified", Render(verified, facts(shop())))
	lost := facts(shop())
	lost.ArtifactURL, lost.Undelivered = "", fault.New(fault.ActionUploadFailed, "", "the results service answered 500")
	goldenRun(t, "undelivered", Render(verified, lost))

	refused := facts(shop())
	refused.ContractID = "checkout-v1"
	goldenRun(t, "refused", RenderRefusal(fault.New(fault.ActionBaseUntrusted, "", "the base is %q, and only main is trusted", "evil"), refused))

	goldenRun(t, "undecided", RenderUndecided(fault.New(fault.ActionBaseUntrusted, "", "the base is %q, and only main is trusted", "evil"), refused))

	failed := Render(trouble(), f)
	goldenRun(t, "single", RenderOverall([]Result{{ContractID: "a", Verdict: verdict.Failed, Outcome: verdict.Fail, CheckRunURL: "https://github.com/acme/shop/runs/1", Name: failed.Name, Title: failed.Title}}, facts(shop())))
	goldenRun(t, "overall", RenderOverall([]Result{
		{ContractID: "a", ContractPath: ".gate/contracts/a.json", Verdict: verdict.Verified, Outcome: verdict.Pass, CheckRunURL: "https://github.com/acme/shop/runs/1"},
		{ContractID: "b", Outcome: Refused, Error: &record.Problem{Code: "action.contract_unpinned", Message: "its digest is none of the pinned"}},
		{ContractID: "c", Verdict: verdict.Unverified, Outcome: verdict.Inconclusive},
	}, facts(shop())))
}

func TestJobSummaryAndLogOfARun(t *testing.T) {
	run := Render(trouble(), facts(shop()))
	golden(t, "job-summary.md", JobSummary([]forge.CheckRun{run}, false))
	if strings.Contains(JobSummary([]forge.CheckRun{run}, true), "### Places") {
		t.Error("the places are listed although the check-run shows them")
	}
	var out bytes.Buffer
	log := NewLog(&out)
	if cut, err := log.Annotate(run.Annotations); err != nil || cut != 0 {
		t.Fatal(cut, err)
	}
	golden(t, "log.txt", out.String())
}
