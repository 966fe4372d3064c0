package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/bundle/bundletest"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/verdict"
	"github.com/verdictgate/verdictgate/reporter"
)

func TestConclusion(t *testing.T) {
	for _, v := range []Verdict{verdict.Verified, verdict.Failed, verdict.Undecided, verdict.Unverified, "", "verified", "NEW"} {
		for _, o := range []Outcome{verdict.Pass, verdict.Fail, verdict.Inconclusive, verdict.Error, Refused, "", "new"} {
			want := forge.Failure
			switch {
			case v == verdict.Verified && o == verdict.Pass:
				want = forge.Success
			case v == verdict.Unverified && o == verdict.Inconclusive:
				want = forge.ActionRequired
			}
			if got := Conclusion(v, o); got != want {
				t.Errorf("%s, %s: %s", v, o, got)
			}
		}
	}
}

func TestOverall(t *testing.T) {
	problem := &record.Problem{Code: "action.upload_failed"}
	kinds := []Result{ // the weightiest first
		{Verdict: verdict.Undecided, Outcome: verdict.Error},
		{Verdict: verdict.Failed, Outcome: verdict.Fail},
		{Outcome: Refused, Error: problem},
		{Verdict: verdict.Undecided, Outcome: verdict.Inconclusive},
		{Verdict: verdict.Unverified, Outcome: verdict.Inconclusive},
		{Verdict: verdict.Verified, Outcome: verdict.Pass},
	}
	for i := range kinds {
		for j := range kinds {
			v, o := Overall([]Result{kinds[i], kinds[j]})
			if heavy := kinds[min(i, j)]; v != heavy.Verdict || o != heavy.Outcome {
				t.Errorf("%v beside %v gives %s, %s", kinds[i], kinds[j], v, o)
			}
		}
	}
	for name, all := range map[string][]Result{
		"nothing":        nil,
		"no outcome":     {{Verdict: verdict.Verified}},
		"contradiction":  {{Verdict: verdict.Verified, Outcome: verdict.Fail}},
		"unknown":        {{Verdict: "NEW", Outcome: "new"}},
		"not delivered":  {{Verdict: verdict.Verified, Outcome: verdict.Pass, Error: problem}},
		"a refused pass": {{Verdict: verdict.Verified, Outcome: Refused}},
	} {
		if v, o := Overall(all); v != verdict.Undecided || o != verdict.Error {
			t.Errorf("%s gives %s, %s", name, v, o)
		}
	}
}

func TestNames(t *testing.T) {
	name := func(id, base, matrix string) string {
		return Name(Facts{CheckName: "verdict", ContractID: id, BaseRef: base, Matrix: matrix})
	}
	for got, want := range map[string]string{
		name("checkout-v1", "main", ""):                                      "verdict / checkout-v1 @ main",
		name("checkout-v1", "main", "ubuntu, 1.26"):                          "verdict / checkout-v1 @ main (ubuntu, 1.26)",
		name("a", "main\u200b", ""):                                          "verdict / a @ main<U+200B>",
		name("a", "\u202eniam", ""):                                          "verdict / a @ <U+202E>niam",
		name("a", "", ""):                                                    "verdict / a",
		OverallName(Facts{CheckName: "gate", ContractID: "a", BaseRef: "m"}): "gate @ m",
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	long := strings.Repeat("x", 300)
	one, two := name(long+"1", long+"2", long), name(long+"1", long+"3", long)
	if one == two || len([]rune(one)) > 255 {
		t.Errorf("two long names are one: %q, %q", one, two)
	}
	for in, want := range map[string]string{"": "", "null": "", `{"os":"ubuntu","go":1.26,"x":{"b":[true]}}`: `ubuntu, 1.26, {"b":[true]}`, "{}": ""} {
		if got, err := MatrixValues(in); got != want || err != nil {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"[1]", "x", `{"a":1,"a":2}`} {
		if _, err := MatrixValues(in); err == nil {
			t.Errorf("%s is a matrix", in)
		}
	}
}

func TestLocations(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		want   []string
	}{
		"go":             {"# example.com/shop\n./main.go:12:5: undefined: x\nvet: a/b.go:3: bad\n", []string{"./main.go:12:5: undefined: x"}},
		"go test":        {"    total_test.go:12: total is 31.5\nFAIL\nFAIL\texample.com/shop/order\t0.01s\n", []string{"total_test.go:12:0: total is 31.5 [example.com/shop/order]"}},
		"gcc":            {"src/main.c: In function 'main':\nsrc/main.c:4:2: error: expected ';'\nsrc/main.c:5:1: warning: unused\nsrc/main.c:1:1: note: here\n", []string{"src/main.c:4:2: error: expected ';' {error}", "src/main.c:5:1: warning: unused {warning}", "src/main.c:1:1: note: here {note}"}},
		"clang, colours": {"\x1b[1ma.c:4:2: \x1b[0m\x1b[31mfatal error: \x1b[0mno\n", []string{"a.c:4:2: fatal error: no {error}"}},
		"eslint stylish": {"\n/github/workspace/src/a b.js\n  12:5   error    'x' is not defined   no-undef\n  13:1  warning  y  z\n\n  14:1  error  lost  w\n", []string{"/github/workspace/src/a b.js:12:5: error 'x' is not defined no-undef {error}", "/github/workspace/src/a b.js:13:1: warning y z {warning}"}},
		"eslint unix":    {"src/a.js:12:5: 'x' is not defined. [Error/no-undef]\n", []string{"src/a.js:12:5: 'x' is not defined. [Error/no-undef]"}},
		"eslint compact": {"src/a.js: line 12, col 5, Error - 'x' is not defined. (no-undef)\n", []string{"src/a.js:12:5: Error - 'x' is not defined. (no-undef) {error}"}},
		"pytest":         {">       assert total() == 29\nE       assert 31.5 == 29\n\ntests/test_a.py:12: AssertionError\n", []string{"tests/test_a.py:12:0: AssertionError\nassert 31.5 == 29"}},
		"tsc":            {"src/a.ts(12,5): error TS2322: no\r\n", []string{"src/a.ts:12:5: error TS2322: no {error}"}},
		"tsc pretty":     {"src/a.ts:12:5 - error TS2322: no\n", []string{"src/a.ts:12:5: error TS2322: no {error}"}},
		"rustc":          {"error[E0308]: mismatched types\n --> src/main.rs:12:5\n  |\n --> src/other.rs:1:1\n", []string{"src/main.rs:12:5: error[E0308]: mismatched types {error}"}},
		"twice":          {"a.go:1: x\na.go:1: x\n", []string{"a.go:1:0: x"}},
		"no places":      {"12:30:05: started\n:1: x\na.go:0: x\na.go:99999999999: x\nhttp://x:80/\n\tmain.go:12 +0x1d\n", []string{"12:30:5: started"}},
	} {
		var got []string
		found, _ := locations(c.output)
		for _, l := range found {
			s := fmt.Sprintf("%s:%d:%d: %s", l.path, l.line, l.col, l.message)
			if l.said != "" {
				s += " {" + l.said + "}"
			}
			if l.pkg != "" {
				s += " [" + l.pkg + "]"
			}
			got = append(got, s)
		}
		if name == "go" {
			got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "vet:") })
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q\nnot %q", name, got, c.want)
		}
	}
	if found, _ := locations(strings.Repeat("x", maxScannedLine) + "a.go:1: x\n"); len(found) != 0 {
		t.Errorf("a line that no compiler prints: %d places", len(found))
	}
	if found, more := locations(manyLocations(maxLocations + 1)); len(found) != maxLocations || !more {
		t.Errorf("%d places, more: %v", len(found), more)
	}
}

func manyLocations(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a.go:%d: x\n", i+1)
	}
	return b.String()
}

// TestOnlyFilesOfTheChangeAreAnnotated names files in every way, from outside too.
func TestOnlyFilesOfTheChangeAreAnnotated(t *testing.T) {
	files := tree{"sub/a.go": "", "a.go": "", ".git/config": "", "sub/x\u202ey": "", "sub/\U0001F600": "", "../out": "", "/etc/passwd": ""}
	w := files.workspace()
	w.Prefix = "sub"
	for in, want := range map[string]string{
		"a.go": "sub/a.go", "./a.go": "sub/a.go", "../a.go": "a.go", "/github/workspace/a.go": "a.go", "b.go": "", "../../out": "", "/etc/passwd": "",
		"/github/workspace/../../etc/passwd": "", "/github/workspace2/a.go": "", "../.git/config": "", "x\u202ey": "", "\U0001F600": "", "": "", ".": "", "..": "",
	} {
		if got := w.repositoryPath("", in); got != want {
			t.Errorf("%q is %q, not %q", in, got, want)
		}
	}
	if got := w.repositoryPath("/github/workspace/sub", "a.go"); got != "sub/a.go" {
		t.Errorf("from an absolute folder: %q", got)
	}
	if got := (Workspace{}).repositoryPath("", "a.go"); got != "" {
		t.Errorf("without a workspace: %q", got)
	}
}

// TestOutputIsReadFromBlobs: what is too large for the evidence stands beside it.
func TestOutputIsReadFromBlobs(t *testing.T) {
	failing := func(observed string, refs ...record.Ref) record.Result {
		r := showing(result("tests", "command_exit", true, record.Fail, "no"), `{"exit_code":0}`, observed)
		r.EvidenceRefs = refs
		return r
	}
	f := facts(tree{"a.go": ""})
	f.Workspace.Blob = func(ref record.Ref) ([]byte, error) {
		switch ref.Digest {
		case "out":
			return []byte("a.go:5: from the stream"), nil
		case "whole":
			return []byte(`{"stdout":"","stderr":"a.go:6: from the value"}`), nil
		}
		return nil, errors.New("tampered")
	}
	for line, r := range map[int]record.Result{
		5: failing(`{"stdout":"[… cut …]"}`, record.Ref{Role: "stdout", Digest: "out"}),
		6: failing(`{"cut":true}`, record.Ref{Role: "observed", Digest: "whole"}),
		7: failing(`{"stdout":"a.go:7: shown"}`, record.Ref{Role: "stdout", Digest: "bad"}),
	} {
		f.ContractText = []byte(`{"checks":[]}`)
		if got := Render(view(nil, r), f).Annotations; len(got) != 1 || got[0].StartLine != line || got[0].Path != "a.go" {
			t.Errorf("line %d: %v", line, got)
		}
	}
}

// TestAChangedContractIsAnnotatedWhereItIs: the line is that of the change's copy,
// which is the file that the reader sees; the folder of a command is that of the
// contract that judged.
func TestAChangedContractIsAnnotatedWhereItIs(t *testing.T) {
	missing := result("total", "json_value", true, record.Fail, "order.json is missing")
	for _, c := range []struct {
		copy string
		line int
	}{{contractText, 7}, {"\n\n" + contractText, 9}, {`{"checks":[]}`, 1}, {"no json", 1}} {
		got := Render(view(nil, missing), facts(tree{".gate/contracts/checkout.json": c.copy})).Annotations
		if len(got) != 1 || got[0].StartLine != c.line {
			t.Errorf("with the copy %.20q: %+v", c.copy, got)
		}
	}
	run := Render(view(nil, missing), facts(tree{}))
	if len(run.Annotations) != 0 || !strings.Contains(run.Summary, "1 check that did not pass, without a line") {
		t.Errorf("a check without a place is not told: %v", run.Annotations)
	}
	moved := strings.Replace(contractText, `"cwd": "shop"`, `"cwd": "other"`, 1)
	tests := showing(result("tests", "command_exit", true, record.Fail, "no"), `0`, `{"stdout":"main.go:1: x"}`)
	if got := Render(view(nil, tests), facts(tree{".gate/contracts/checkout.json": moved, "shop/main.go": "", "other/main.go": ""})).Annotations; len(got) != 1 || got[0].Path != "shop/main.go" {
		t.Errorf("the change chose the folder: %v", got)
	}
}

// TestEachCheckHasItsFirstAnnotationFirst: a noisy one takes no place from another.
func TestEachCheckHasItsFirstAnnotationFirst(t *testing.T) {
	noisy, quiet := result("noisy", "json_schema", true, record.Fail, "no"), result("quiet", "file_exists", false, record.Fail, "no")
	for i := range 500 {
		noisy.Findings = append(noisy.Findings, record.Finding{Message: fmt.Sprint(i), File: "a", Line: i + 1})
	}
	quiet.Findings = []record.Finding{{Message: "here", File: "b"}}
	run := Render(view(nil, noisy, quiet), facts(tree{"a": "", "b": ""}))
	if a := run.Annotations; len(a) != maxOfOneCheck || a[0].Level != forge.Grave || a[1].Path != "b" || a[1].Level != forge.Warning {
		t.Errorf("%d, %+v", len(a), a[:2])
	}
	if !strings.Contains(run.Summary, "100 annotations are shown, 401 more were cut") {
		t.Error("the cut is not told")
	}
}

// TestARealBundle: what a run leaves behind is what is shown, its signer too.
func TestARealBundle(t *testing.T) {
	s := bundletest.Write(t, bundletest.Content(t))
	run := Render(reporter.OfSigned(s, "remote_attested", "the workflow of acme"), Facts{CheckName: "verdict", BaseRef: "main"})
	within(t, run)
	for _, want := range []string{"signed and verified: `the workflow of acme`", "`remote_attested`", "2 of 2 required checks passed"} {
		if !strings.Contains(run.Summary, want) {
			t.Errorf("no %q in\n%s", want, run.Summary)
		}
	}
	if run.Conclusion != forge.Success || run.Name != "verdict / release of the app @ main" || strings.Contains(run.Summary, "not signed here") {
		t.Errorf("%+v", run)
	}
}

func TestOutputs(t *testing.T) {
	one := Result{ContractID: "a", ContractPath: "a.json", ContractDigest: "sha256:1", Verdict: verdict.Verified, Outcome: verdict.Pass, Assurance: "isolated_local", RunID: "vr", BundleDigest: "sha256:2",
		ArtifactID: "7", ArtifactURL: "u", CheckRunURL: "c", BundlePath: "p", SignatureStatus: "unsigned_hash_bound"}
	all, err := Outputs([]Result{one}, Delivery{})
	const want = `[{verdict VERIFIED} {outcome pass} {assurance isolated_local} {run-id vr} {bundle-digest sha256:2} {contract-digest sha256:1} {artifact-id 7} {artifact-url u} {check-run-url c} {bundle-path p} ` +
		`{json {"verdict":"VERIFIED","outcome":"pass","error":null,"contracts":[{"contract_id":"a","contract_path":"a.json","contract_digest":"sha256:1","verdict":"VERIFIED","outcome":"pass","assurance":"isolated_local",` +
		`"run_id":"vr","bundle_digest":"sha256:2","artifact_id":"7","artifact_url":"u","check_run_url":"c","bundle_path":"p","signature_status":"unsigned_hash_bound","error":null}]}}]`
	if got := fmt.Sprint(all); got != want || err != nil {
		t.Errorf("%v\n%s", err, got)
	}
	refused := Result{ContractID: "b", Outcome: Refused, Error: &record.Problem{Code: "x", Message: "\xff"}}
	all, err = Outputs([]Result{one, refused}, Delivery{CheckRunURL: "overall"})
	if got := fmt.Sprint(all[:10]); err != nil || got != `[{verdict } {outcome refused} {assurance } {run-id } {bundle-digest } {contract-digest } {artifact-id } {artifact-url } {check-run-url overall} {bundle-path }]` || !json.Valid([]byte(all[10].Value)) {
		t.Errorf("%v %s", err, got)
	}
	all, err = Outputs(nil, Delivery{})
	if err != nil || all[0].Value != "INCONCLUSIVE" || all[1].Value != "error" || !strings.HasSuffix(all[10].Value, `"contracts":[]}`) {
		t.Errorf("nothing judged gives %v", all)
	}
	// What could not be reported whole is no pass; a contract's own check-run is the one
	// to look at.
	lost := Delivery{CheckRunURL: "overall", Error: &record.Problem{Code: "action.report_failed", Message: "gone"}}
	all, err = Outputs([]Result{one}, lost)
	if err != nil || all[0].Value != "INCONCLUSIVE" || all[1].Value != "error" || all[8].Value != "c" || !strings.HasPrefix(all[10].Value, `{"verdict":"INCONCLUSIVE","outcome":"error","error":{"code":"action.report_failed","message":"gone","fix":""},"contracts":[{`) {
		t.Errorf("not reported: %v, %v", err, all)
	}
	many := make([]Result, 3000)
	for i := range many {
		many[i] = refused
		many[i].ContractPath = strings.Repeat("x", 300)
	}
	if all, err = Outputs(many, Delivery{}); err == nil || all[1].Value != "refused" || all[10].Value != "" {
		t.Errorf("a JSON that is too large: %v", err)
	}
}

// TestFilesOfTheRunner: what cannot be written is an error with its code, and
// what is there stays.
func TestFilesOfTheRunner(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"", dir, os.DevNull, filepath.Join(dir, "none", "x")} {
		for _, err := range []error{WriteSummary(name, "x"), WriteOutputs(name, []Output{{"a", "b"}})} {
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != fault.ActionReportFailed || strings.Contains(f.Message, dir) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	file := filepath.Join(dir, "summary")
	if err := errors.Join(WriteSummary(file, "one\n"), WriteSummary(file, "two\n")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := WriteSummary(file, strings.Repeat("a line\n", 200_000)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || len(text) > 1<<20 || len(text) < 1<<20-2*reserve || !strings.Contains(string(text), " bytes cut**") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if err := WriteSummary(file, strings.Repeat("x", 5000)); err == nil {
		t.Error("a summary without room is no error")
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, a := range attacks {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if problem := proseProblem(escapeProse(s)); problem != "" {
			t.Errorf("%q becomes %q: %s", s, escapeProse(s), problem)
		}
		spanEnds(t, codeSpan(s), s)
		if left := stripCode(fence(s, "text")); left != "" {
			t.Errorf("the fence of %q leaves %q", s, left)
		}
	})
}

func FuzzLocations(f *testing.F) {
	for _, s := range append(attacks, "a.go:1: x\n", "a.ts(1,2): error\n", "error: x\n --> a.rs:1:2\n", "a.js\n  1:2  error  x\n", "E   x\na.py:1: y\n", "a.go:1: x\nFAIL\tp\t") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		found, _ := locations(s)
		for _, l := range found {
			if l.line < 1 || l.col < 0 || l.path == "" || strings.ContainsAny(l.path, "\n") || !strings.Contains(s, l.path) && !strings.Contains(s, "\x1b") {
				t.Errorf("%q has the place %+v", s, l)
			}
		}
	})
}
