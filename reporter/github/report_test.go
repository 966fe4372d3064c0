package github

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// TestTitles name what is wrong first: they are what is shown beside a red mark.
func TestTitles(t *testing.T) {
	pass := result("app", "file_exists", true, record.Pass, "app is a file")
	fail := result("total", "json_value", true, record.Fail, "/total is 31, not 29")
	open := result("lint", "command_exit", true, record.Inconclusive, "there is no linter")
	broken := result("own", "plugin", true, record.Broken, "it answered nothing")
	advice := result("readme", "file_exists", false, record.Fail, "README.md is missing")
	for _, c := range []struct {
		results []record.Result
		want    string
	}{
		{[]record.Result{pass, fail}, "FAILED: total: /total is 31, not 29 (1 of 2 required false)"},
		{[]record.Result{open, fail, advice, result("sum", "json_value", true, record.Fail, "it is odd")}, "FAILED: total: /total is 31, not 29 (2 of 3 required false, 1 undecided)"},
		{[]record.Result{advice, pass, open}, "INCONCLUSIVE: lint: there is no linter (1 of 2 required undecided)"},
		{[]record.Result{open, broken}, "INCONCLUSIVE: own: it answered nothing (2 of 2 required undecided)"},
		{[]record.Result{pass, advice}, "VERIFIED: 1 of 1 required check passed"},
		{[]record.Result{advice}, "UNVERIFIED: the contract has no required check"},
	} {
		if got := Render(view(nil, c.results...), facts(shop())).Title; got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
	long := result(strings.Repeat("i", 300), "json_value", true, record.Fail, strings.Repeat("s", 3000))
	if got := Render(view(nil, long), facts(shop())).Title; len([]rune(got)) > maxTitle || !strings.HasSuffix(got, "s… (1 of 1 required false)") {
		t.Errorf("a long one: %q", got)
	}
	message := strings.Repeat("m", 3000)
	for word, run := range map[string]forge.CheckRun{
		"Refused: m":      RenderRefusal(fault.New(fault.ActionContractUnpinned, "", "%s", message), facts(shop())),
		"INCONCLUSIVE: m": RenderUndecided(fault.New(fault.ActionContractUnpinned, "", "%s", message), facts(shop())),
	} {
		if !strings.HasPrefix(run.Title, word) || !strings.HasSuffix(run.Title, "m… (action.contract_unpinned)") || run.Conclusion != forge.Failure {
			t.Errorf("%s: %q, %s", word, run.Title, run.Conclusion)
		}
	}
	lost := facts(shop())
	lost.Undelivered = fault.New(fault.ActionNameTaken, "", "taken")
	if run := RenderRefusal(fault.New(fault.ActionContractUnpinned, "", "x"), lost); run.Title != "Not delivered: action.name_taken (Refused: x (action.contract_unpinned))" {
		t.Errorf("%q", run.Title)
	}
}

// TestTitlesOfTheOverallCheckRun name the first check of the weightiest contract.
func TestTitlesOfTheOverallCheckRun(t *testing.T) {
	good := Result{Name: "verdict / a", Title: "VERIFIED: 1 of 1 required check passed", Verdict: verdict.Verified, Outcome: verdict.Pass}
	bad := Result{Name: "verdict / b", Title: "FAILED: total: /total is 31, not 29 (1 of 2 required false)", Verdict: verdict.Failed, Outcome: verdict.Fail, CheckRunURL: "https://github.com/acme/shop/runs/2"}
	for want, all := range map[string][]Result{
		"VERIFIED: 1 of 1 required check passed":                                                 {good},
		"VERIFIED: 2 of 2 contracts VERIFIED":                                                    {good, good},
		"FAILED: total: /total is 31, not 29 (1 of 2 required false)":                            {bad},
		"FAILED: total: /total is 31, not 29 (1 of 2 required false); 1 of 2 contracts VERIFIED": {good, bad},
		"INCONCLUSIVE: 0 of 0 contracts VERIFIED":                                                nil,
		"FAILED: " + strings.Repeat("x", 2*maxTitlePart-1) + "…; 0 of 2 contracts VERIFIED":      {{Title: "FAILED: " + strings.Repeat("x", 900), Verdict: verdict.Failed, Outcome: verdict.Fail}, bad},
	} {
		run := RenderOverall(all, facts(shop()))
		if run.Title != titled(want) || run.Name != "verdict @ main (ubuntu, 1.26)" || (run.Conclusion == forge.Success) != strings.HasPrefix(want, "VERIFIED") {
			t.Errorf("%q, not %q: %s", run.Title, want, run.Conclusion)
		}
	}
	if s := RenderOverall([]Result{bad}, facts(shop())).Summary; !strings.Contains(s, "[`verdict / b`](https://github.com/acme/shop/runs/2)") || strings.Contains(s, "###") {
		t.Errorf("the one contract's check-run is not linked, or it is not short:\n%s", s)
	}
}

// TestAnOverallRun is what is not about a contract: it stands under the name to require.
func TestAnOverallRun(t *testing.T) {
	f := facts(shop())
	f.Overall = true
	if run := Render(trouble(), f); run.Name != OverallName(f) {
		t.Errorf("it is called %q", run.Name)
	}
}

// TestWhatIsFolded is all that nobody needs who only wants the verdict; limitations are
// part of that.
func TestWhatIsFolded(t *testing.T) {
	s := Render(trouble(), facts(shop())).Summary
	shown := s[:strings.Index(s, "<details>")]
	for _, want := range []string{"checks ran as root", "### Limitations", "commit `aaaaaaaaaaaa` ", " at `bbbbbbbbbbbb` ", "unsigned", "[evidence](", "[log of the job]("} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not shown at once", want)
		}
	}
	for _, want := range []string{"sha256:", strings.Repeat("b", 40), "That the machine"} {
		if strings.Contains(shown, want) || !strings.Contains(s, want) {
			t.Errorf("%q is not folded", want)
		}
	}
	if strings.Count(s, "<details>") != 2 || strings.Count(s, "</details>") != 2 {
		t.Errorf("folds without an end:\n%s", s)
	}
	if got := Render(trouble(), facts(shop())).Text; strings.Contains(got, `"exists"`) || !strings.Contains(got, "README.md is missing") {
		t.Error("values only say again what the summary says")
	}
}

// TestTheSummaryOfTheJobSaysThingsOnce holds the first lines of each run.
func TestTheSummaryOfTheJobSaysThingsOnce(t *testing.T) {
	run := Render(view(nil, result("app", "file_exists", true, record.Pass, "app is a file")), facts(shop()))
	if s := JobSummary([]forge.CheckRun{run}, true); strings.Count(s, "1 of 1 required check passed") != 1 {
		t.Errorf("twice:\n%s", s)
	}
}

// TestPages are the documentation of the very program, where it is known.
func TestPages(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	for at, want := range map[string]string{"": "main", commit: commit, "v1.2.3": "v1.2.3", "v1.2.3-rc.1": "v1.2.3-rc.1", "devel": "main", "v1.2.3-4-gabcdef": "main", "../x": "main", commit + "\n": "main"} {
		f := Facts{Docs: at}
		if got := f.page("trust.md#x"); got != "https://github.com/verdictgate/verdictgate/blob/"+want+"/docs/trust.md#x" {
			t.Errorf("%q leads to %s", at, got)
		}
	}
	f := facts(shop())
	f.Docs = commit
	if s := Render(trouble(), f).Summary; !strings.Contains(s, "/blob/"+commit+"/docs/"+trustPage+")") {
		t.Errorf("no link to it in\n%s", s)
	}
}

// TestReasons are few, for the runner shows few annotations, and cannot be made to
// command it.
func TestReasons(t *testing.T) {
	var out bytes.Buffer
	log := NewLog(&out)
	for i := range maxReasons + 2 {
		shown, err := log.Reason("FAILED", fmt.Sprintf("check %d\n::warning::x", i))
		if err != nil || shown != (i < maxReasons) {
			t.Errorf("reason %d: %v, %v", i, shown, err)
		}
	}
	if want := "::error title=FAILED::check 0%0A::warning::x\n"; !strings.HasPrefix(out.String(), want) || strings.Count(out.String(), "\n") != maxReasons {
		t.Errorf("%q", out.String())
	}
	all := make([]forge.Annotation, maxCommands)
	for i := range all {
		all[i] = forge.Annotation{Path: "a", StartLine: 1, EndLine: 1, Level: forge.Grave, Message: "x"}
	}
	if cut, err := log.Annotate(all); err != nil || cut != maxReasons {
		t.Errorf("they leave room for too many annotations: %d cut, %v", cut, err)
	}
	out.Reset()
	if _, err := NewLog(&out).Reason("a:b,c\n::error::", "%\r"); err != nil || strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), "\r") || strings.Count(out.String(), "::") != 2 {
		t.Errorf("%q, %v", out.String(), err)
	}
}
