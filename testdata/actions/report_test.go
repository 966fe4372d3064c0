package actions_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/actions/github"
	"github.com/verdictgate/verdictgate/testdata/actions/runner"
)

// newest is what GitHub shows of a name: the check-run that was posted last.
func (w *world) newest(name string) github.CheckRun {
	w.t.Helper()
	all := w.hub.CheckRuns()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Name == name {
			return all[i]
		}
	}
	w.t.Fatalf("there is no check-run %q", name)
	return github.CheckRun{}
}

// reason is the one line outside of every group that says why a step is red.
func (w *world) reason(r runner.Result, title string) string {
	w.t.Helper()
	depth, found := 0, []string{}
	for _, c := range r.Commands {
		switch {
		case c.Name == "group":
			depth++
		case c.Name == "endgroup":
			depth--
		case c.Name == "error" && c.Properties["title"] == title && c.Properties["file"] == "" && depth == 0:
			found = append(found, c.Data)
		}
	}
	if len(found) != 1 {
		w.t.Errorf("%d reasons with the title %q outside of groups: %q", len(found), title, found)
		return ""
	}
	return found[0]
}

// unpassed says that the outputs tell of no pass.
func (w *world) unpassed(r runner.Result) {
	w.t.Helper()
	if r.Outputs["verdict"] != "INCONCLUSIVE" || r.Outputs["outcome"] != "error" || !strings.HasPrefix(r.Outputs["json"], `{"verdict":"INCONCLUSIVE","outcome":"error","error":{"code":"action.report_failed",`) {
		w.t.Errorf("the outputs say %q, %q, %.120s", r.Outputs["verdict"], r.Outputs["outcome"], r.Outputs["json"])
	}
}

// TestTwoFolders is one job that judges two folders by one contract: the second step would
// hide what the first one found.
func TestTwoFolders(t *testing.T) {
	helper := &world{t: t, dir: t.TempDir()}
	draft := `{"contract_id":"shop","checks":[{"id":"app","type":"file_exists","params":{"path":"app.txt"}}]}`
	w := newWorld(t, options{base: []github.File{file(contractPath, helper.freeze(draft)), file("a/x", "x"), file("b/app.txt", "x\n")}})
	j := w.pulled(w.open(file("README", "x\n")))
	step := func(directory, name string) runner.Result {
		s := w.step(j)
		s.Inputs["directory"], s.Inputs["artifact-name"] = directory, "evidence-"+directory+name
		if name != "" {
			s.Inputs["check-name"] = name
		}
		return w.run(s)
	}
	w.wants(step("a", ""), want{exit: 1, verdict: "FAILED", checks: one("failure")})
	second := step("b", "")
	if second.Exit != 5 || second.Outputs["verdict"] != "INCONCLUSIVE" || len(w.hub.CheckRuns()) != 2 {
		t.Errorf("exit %d, %v, %d check-runs", second.Exit, second.Outputs, len(w.hub.CheckRuns()))
	}
	if !strings.Contains(second.Summary, "Give this step its own check-name") {
		t.Errorf("how to mend it is not told:\n%s", second.Summary)
	}
	w.code(second, "action.name_taken")
	// As it says.
	if r := step("b", "folder b"); r.Exit != 0 || w.newest("folder b / shop @ main").Conclusion != "success" || w.newest(overallName).Conclusion != "failure" {
		t.Errorf("with a name of its own: exit %d", r.Exit)
	}
}

// TestTwoStepsOfOtherContracts share the overall name, and so the second one is stopped.
func TestTwoStepsOfOtherContracts(t *testing.T) {
	w := newWorld(t, options{})
	const path = ".gate/contracts/z.json"
	base := w.commit([]string{w.base}, file(path, w.freeze(`{"contract_id":"files","checks":[{"id":"app","type":"file_exists","params":{"path":"app.txt"}}]}`)))
	if err := w.repo.SetRef("refs/heads/main", base); err != nil {
		t.Fatal(err)
	}
	j := w.pulled(w.open(file("order.json", wrongOrder)))
	for i, contract := range []string{contractPath, path} {
		s := w.step(j)
		s.Inputs["contracts"] = contract
		if r := w.run(s); r.Exit != []int{1, 5}[i] || w.newest(overallName).Conclusion != "failure" {
			t.Errorf("%s: exit %d, and overall %s", contract, r.Exit, w.newest(overallName).Conclusion)
		}
	}
}

// TestOverall is the name to require, whatever becomes of an attempt: a refusal stands
// under it, the next attempt's success takes its place, and a later refusal that one's.
func TestOverall(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("README", "x\n"))
	attempt := func(n int, pins string) runner.Result {
		j := w.pulled(p)
		j.Attempt = n
		s := w.step(j)
		s.Inputs["contract-digests"] = pins
		return w.run(s)
	}
	for i, c := range []struct {
		pins, conclusion string
		exit             int
	}{{digest(nil), "failure", 2}, {"", "success", 0}, {digest(nil), "failure", 2}} {
		r := attempt(i+1, c.pins)
		if got := w.newest(overallName).Conclusion; r.Exit != c.exit || got != c.conclusion {
			t.Errorf("attempt %d: exit %d, and %q ended with %s", i+1, r.Exit, overallName, got)
		}
		if c.exit != 0 && !strings.Contains(w.reason(r, "action.contract_unpinned"), "contract-digests does not name") {
			t.Errorf("attempt %d does not say why", i+1)
		}
	}
	c := w.check(checkName)
	w.hub.CheckRuns()
	for _, all := range w.hub.CheckRuns() {
		if all.Name == overallName && all.Conclusion == "success" && (!strings.Contains(all.Summary, checkName) || !strings.Contains(all.Summary, "/runs/") || len(all.Summary) > 1000 || all.Title != c.Title) {
			t.Errorf("the overall check-run of one contract:\n%s\n%s", all.Title, all.Summary)
		}
	}
}

// TestOverallIsLost is the overall check-run alone that cannot be posted.
func TestOverallIsLost(t *testing.T) {
	for name, contracts := range map[string]int{"one contract": 1, "two contracts": 2} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			if contracts == 2 {
				base := w.commit([]string{w.base}, file(".gate/contracts/z.json", w.freeze(`{"contract_id":"files","checks":[{"id":"app","type":"file_exists","params":{"path":"app.txt"}}]}`)))
				if err := w.repo.SetRef("refs/heads/main", base); err != nil {
					t.Fatal(err)
				}
			}
			w.hub.Fail(github.Fault{Operation: "checks/create", After: contracts, Kind: github.Broken})
			r := w.judged(w.pulled(w.open(file("README", "x\n"))))
			if r.Exit != 5 || len(w.hub.CheckRuns()) != contracts {
				t.Errorf("exit %d, %d check-runs", r.Exit, len(w.hub.CheckRuns()))
			}
			w.unpassed(r)
			if !strings.Contains(r.Summary, "action.report_failed") || !strings.Contains(r.Summary, "## "+strings.ReplaceAll(overallName, "@", `\@&#8203;`)) {
				t.Errorf("the summary does not tell:\n%s", r.Summary)
			}
			if got := w.reason(r, "action.report_failed"); !strings.HasPrefix(got, overallName+": ") {
				t.Errorf("the reason is %q", got)
			}
		})
	}
}

// TestSummaryIsLost is a summary without room: the outputs, which come last, know it.
func TestSummaryIsLost(t *testing.T) {
	w := newWorld(t, options{})
	s := w.step(w.pulled(w.open(file("README", "x\n"))))
	s.Summary = strings.Repeat("x", 1<<20)
	r := w.run(s)
	if r.Exit != 5 {
		t.Errorf("exit %d", r.Exit)
	}
	w.unpassed(r)
	w.reason(r, "action.report_failed")
}

// TestReason is what the log says outside of every group.
func TestReason(t *testing.T) {
	w := newWorld(t, options{})
	failed := w.judged(w.pulled(w.open(file("order.json", wrongOrder))))
	if got := w.reason(failed, "FAILED"); !strings.HasPrefix(got, checkName+": total: ") || !strings.Contains(got, "31, not 29") {
		t.Errorf("the reason is %q", got)
	}
	if got := w.check(checkName).Title; !strings.HasPrefix(got, "FAILED: total: ") || !strings.HasSuffix(got, "31, not 29 (1 of 2 required false)") {
		t.Errorf("the title is %q", got)
	}
	if s := failed.Summary; strings.Count(s, "1 of 2 required") != 1 || strings.Contains(s, w.check(checkName).Title) {
		t.Errorf("the summary says it twice:\n%s", s)
	}
	passed := newWorld(t, options{})
	r := passed.judged(passed.pulled(passed.open(file("README", "x\n"))))
	if slices.ContainsFunc(r.Commands, func(c runner.Command) bool { return c.Name == "error" }) {
		t.Errorf("a step that is green says an error: %+v", r.Commands)
	}
}

// TestUndecidedIsNoRefusal is a base that nobody trusts: its verdict is INCONCLUSIVE.
func TestUndecidedIsNoRefusal(t *testing.T) {
	w := newWorld(t, options{})
	if err := w.repo.SetRef("refs/heads/other", w.base); err != nil {
		t.Fatal(err)
	}
	r := w.judged(w.pulled(w.openAs(github.Pull{}, "other", file("README", "x\n"))))
	c := w.newest("verdict @ other")
	for what, text := range map[string]string{"title": c.Title, "check-run": c.Summary, "summary": r.Summary} {
		if !strings.Contains(text, "INCONCLUSIVE") || strings.Contains(text, "Refused") || strings.Contains(text, "no verdict") {
			t.Errorf("the %s calls it otherwise:\n%s", what, text)
		}
	}
	w.reason(r, "action.base_untrusted")
}

// TestLinks lead to the documentation of the program that is running.
func TestLinks(t *testing.T) {
	w := newWorld(t, options{})
	w.judged(w.pulled(w.open(file("README", "x\n"))))
	const before, after = "https://github.com/verdictgate/verdictgate/blob/", "/docs/trust.md#on-github-who-can-forge-what)"
	_, link, _ := strings.Cut(w.check(checkName).Summary, before)
	at, _, ok := strings.Cut(link, after)
	if !ok || at != "main" && len(at) != 40 {
		t.Errorf("it leads to %.200q", link)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "trust.md"))
	if err != nil || !strings.Contains(string(text), "\n### On GitHub: who can forge what\n") {
		t.Errorf("there is no such heading: %v", err)
	}
}

// TestAttestationsFail is GitHub's own store of statements: a failure of it is a note,
// unless somebody asked for it.
func TestAttestationsFail(t *testing.T) {
	for asked, exit := range map[string]int{"auto": 0, "true": 5} {
		t.Run(asked, func(t *testing.T) {
			w := newWorld(t, options{permissions: map[string]string{"contents": "read", "pull_requests": "read", "checks": "write", "attestations": "write"}})
			w.hub.Fail(github.Fault{Operation: "repos/create-attestation", Kind: github.Broken})
			s := w.step(w.pulled(w.open(file("README", "x\n"))))
			w.signs(&s, nil)
			s.Inputs["attestations"] = asked
			r := w.run(s)
			if r.Exit != exit || !strings.Contains(r.Summary, "stored with GitHub") || (w.newest(overallName).Conclusion == "success") != (exit == 0) {
				t.Errorf("exit %d, %s\n%s", r.Exit, w.newest(overallName).Conclusion, r.Summary)
			}
		})
	}
}
