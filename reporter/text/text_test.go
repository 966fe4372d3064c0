package text

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
	"github.com/verdictgate/verdictgate/reporter"
)

var update = flag.Bool("update", false, "write the golden files")

func result(id, kind string, required bool, status record.Status, summary string) record.Result {
	return record.Result{CheckID: id, Type: kind, Required: required, Status: status, Passed: status.Passed(), Summary: summary,
		Expected: value("null"), Observed: value("null")}
}

func showing(r record.Result, expected, observed string) record.Result {
	r.Expected, r.Observed = value(expected), value(observed)
	return r
}

// trouble is a run with every kind of answer.
func trouble() reporter.View {
	order := showing(result("one_order", "sqlite_query", true, record.Fail, "the rows differ from the expected ones"),
		`[{"id":1,"total":29.0}]`, `[{"id":1,"total":31.5},{"id":2,"total":0}]`)
	order.Findings = []record.Finding{{Message: "row 1 differs", File: "orders.json", Line: 3, Column: 7}, {Message: "more rows than expected"}}
	tests := showing(result("tests", "command_exit", true, record.Fail, "go ended with exit status 1, not 0"),
		`{"exit_code":0}`, `{"exit_code":1,"stderr":"","stdout":"ok  shop/a\n--- FAIL: TestTotal\n    total is 31.5\nFAIL\n"}`)
	tool := result("lint", "command_exit", true, record.Inconclusive, `there is no program "golangci-lint" on PATH`)
	tool.Error = &record.Problem{Code: "verify.tool_missing", Message: "x", Fix: "Install it, or run the contract where it is."}
	crash := result("crash", "json_value", true, record.Broken, "the check crashed")
	proposed := result("model-1", "file_exists", false, record.Fail, "a.txt is missing")
	proposed.Proposed = true
	return view(bundle.Evidence{
		RunID: "vr_20260101T000000_0a1b2c3d4e5f", ContractID: "checkout-v1", ContractDigest: "sha256:0123456789abcdef0123456789abcdef",
		Verdict: verdict.Failed, Outcome: verdict.Fail,
		Limitations: []string{`advisory check "readme" did not pass, and does not decide`, "the run was not signed"},
	}, []string{"ledger", "one_order", "tests", "lint", "crash", "never"}, []record.Result{
		result("ledger", "file_exists", true, record.Pass, "orders.db is a file"), order, tests, tool, crash, proposed,
		showing(result("readme", "file_exists", false, record.Fail, "README.md is missing"), "true", "false"),
		showing(result("total", "numeric_invariant", false, record.Pass, "31.5 is at most 40"), "40", "31.5"),
	})
}

// view makes a bundle of an evidence as it is read back.
func view(e bundle.Evidence, required []string, results []record.Result) reporter.View {
	e.CheckResults = results
	e.Assurance = "isolated_local"
	title := "Checkout writes a real order"
	if e.RunID != "vr_20260101T000000_0a1b2c3d4e5f" {
		title = ""
	}
	return reporter.Of(&bundle.Sealed{
		Dir: "/home/you/.local/share/gate/verifications/" + e.RunID, Contract: &contract.File{Contract: &contract.Contract{Title: title}}, Evidence: e,
		Attestation: bundle.Attestation{SignatureStatus: bundle.Unsigned},
		Judgement:   verdict.Judgement{Verdict: e.Verdict, Outcome: e.Outcome, Assurance: e.Assurance, Required: required},
	})
}

func simple(v verdict.Verdict, o verdict.Outcome, results ...record.Result) reporter.View {
	var required []string
	for _, r := range results {
		if r.Required {
			required = append(required, r.CheckID)
		}
	}
	return view(bundle.Evidence{RunID: "vr_1", ContractID: "c", ContractDigest: "sha256:0123456789abcdef", Verdict: v, Outcome: o}, required, results)
}

func shownAs(t *testing.T, v reporter.View, s Style, reread bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := (Reporter{To: &b, Style: s, Reread: reread}).Report(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportGolden(t *testing.T) {
	one := result("a", "file_exists", true, record.Pass, "a is a file")
	for name, c := range map[string]struct {
		view   reporter.View
		style  Style
		reread bool
	}{
		"failed-pipe":     {trouble(), Style{Unicode: true}, false},
		"failed-80":       {trouble(), Style{Unicode: true, Width: 80}, false},
		"failed-40-ascii": {trouble(), Style{Width: 40}, false},
		"failed-colour":   {trouble(), Style{Unicode: true, Width: 100, Color: true}, false},
		"verified":        {simple(verdict.Verified, verdict.Pass, one), Style{Unicode: true}, false},
		"verified-reread": {simple(verdict.Verified, verdict.Pass, one, one), Style{Unicode: true}, true},
		"unverified":      {simple(verdict.Unverified, verdict.Inconclusive), Style{Unicode: true}, false},
		"inconclusive":    {simple(verdict.Undecided, verdict.Inconclusive, result("a", "file_exists", true, record.Inconclusive, "a cannot be read")), Style{Unicode: true}, false},
		"error":           {simple(verdict.Undecided, verdict.Error), Style{Unicode: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := shownAs(t, c.view, c.style, c.reread)
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || got != string(want) {
				t.Errorf("%s (%v):\n%s", file, err, got)
			}
			if c.style.Width > 0 {
				for line := range strings.Lines(got) {
					line = strings.TrimSuffix(ansi.ReplaceAllString(line, ""), "\n")
					if cells(line) > c.style.Width && !strings.Contains(line, "/home/you/") {
						t.Errorf("wider than %d columns: %q", c.style.Width, line)
					}
				}
			}
		})
	}
}

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*[mK]")

func TestReportIsBounded(t *testing.T) {
	var many []record.Result
	for i := range 1000 {
		many = append(many, showing(result(fmt.Sprintf("fail%04d", i), "json_value", true, record.Fail, "differs"), "1", "2"),
			result(fmt.Sprintf("pass%04d", i), "json_value", true, record.Pass, "is 1"))
	}
	got := shownAs(t, simple(verdict.Failed, verdict.Fail, many...), Style{Unicode: true}, false)
	if n := strings.Count(got, "\n"); n > maxTroubles+maxPassed+3*maxDetails+20 {
		t.Errorf("%d lines", n)
	}
	for _, want := range []string{"and 900 more that did not pass", "and 960 more that passed", "Of 2000 required, 1000 were examined and are false."} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

// hostile fills every text of a run that the world can write.
func hostile(s string) reporter.View {
	seen := strictjson.Obj(strictjson.Member{Name: "exit_code", Value: strictjson.Str(s)},
		strictjson.Member{Name: "stdout", Value: strictjson.Str(s + "\n" + s)}, strictjson.Member{Name: s, Value: strictjson.Str(s)})
	r := record.Result{CheckID: s, Type: s, Required: true, Status: record.Fail, Summary: s, Expected: value(`{"exit_code":0}`), Observed: seen,
		Findings: []record.Finding{{Message: s, File: s, Line: 1}}, Error: &record.Problem{Code: s, Message: s, Fix: s}}
	advisory := r
	advisory.Required = false
	return reporter.Of(&bundle.Sealed{
		Dir: s, Contract: &contract.File{Contract: &contract.Contract{Title: s}}, Unknown: []string{s},
		Evidence:    bundle.Evidence{RunID: s, ContractID: s, ContractDigest: s, Limitations: []string{s}, CheckResults: []record.Result{r, advisory}},
		Attestation: bundle.Attestation{SignatureStatus: s},
		Judgement:   verdict.Judgement{Verdict: verdict.Failed, Outcome: verdict.Fail, Assurance: contract.IsolatedLocal, Required: []string{s}},
	})
}

var hostiles = []string{"::set-output name=verdict::VERIFIED", "a\r::add-mask::x\n::error::y", "\x1b[2J\x1b]0;VERIFIED\x07", "\u202eDEIFIREV\u202c", "a\u2028::error::b",
	" ::group::", "##[error]x", "a ::b ::c ::d ::e ::f ::g ::h ::i ::j ::k", "\u200b::x", "caf\xe9", "\x9b31m", strings.Repeat("漢字 ", 99), strings.Repeat("::", 200), "\u0085::x", "::"}

// safe fails the test when printed text could command a terminal or a runner.
func safe(t *testing.T, what, printed string) {
	t.Helper()
	plainText := ansi.ReplaceAllString(printed, "")
	if !utf8.ValidString(plainText) {
		t.Errorf("%s: not UTF-8", what)
	}
	for _, r := range plainText {
		if r != '\n' && !unicode.IsGraphic(r) {
			t.Errorf("%s: %U was printed", what, r)
			break
		}
	}
	for line := range strings.Lines(plainText) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
			t.Errorf("%s: a runner would take this line for a command: %q", what, line)
		}
	}
}

func TestReportOfHostileText(t *testing.T) {
	for _, s := range hostiles {
		for _, style := range []Style{{Unicode: true}, {Unicode: true, Width: 40, Color: true}, {Width: 53}} {
			safe(t, fmt.Sprintf("%q in %+v", s, style), shownAs(t, hostile(s), style, false))
			safe(t, "line", style.Line("  fix: ", s)+"\n"+style.Line("", s)+"\n"+style.Refusal(s)+"\n"+style.Problem(s, "", s)+"\n"+style.Heading(s)+"\n"+style.Paragraph("", s)+Table(style, [][]string{{s, s}, {"", s}}))
		}
	}
}

func FuzzReport(f *testing.F) {
	for _, s := range hostiles {
		f.Add(s, 0, false)
		f.Add(s, 40, true)
	}
	f.Fuzz(func(t *testing.T, s string, width int, ascii bool) {
		style := Style{Unicode: !ascii}
		if width > 0 {
			style.Width = minWidth + width%maxWidth
		}
		safe(t, "report", shownAs(t, hostile(s), style, false))
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestReportSaysThatItCouldNotBeShown(t *testing.T) {
	if err := (Reporter{To: full{}}).Report(t.Context(), trouble()); err == nil {
		t.Error("a report that nobody could read was written without an error")
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
