package actions_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/actions/github"
	"github.com/verdictgate/verdictgate/testdata/actions/runner"
)

// checkName is the check-run of the shop's contract on main.
const checkName = "verdict / shop @ main"

// overallName is the check-run of all contracts on main: the one to require.
const overallName = "verdict @ main"

func one(conclusion string) map[string]string {
	return map[string]string{checkName: conclusion, overallName: conclusion}
}

func TestPullRequestVerified(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("README", "more\n"))
	r := w.judged(w.pulled(p))
	w.wants(r, want{exit: 0, verdict: "VERIFIED", checks: one("success"), head: p.Head, says: []string{"VERIFIED", "shop"}})
	c := w.check(checkName)
	if !strings.HasPrefix(c.ExternalID, fmt.Sprintf("vg1:%d:1:", runID)) || !strings.HasSuffix(c.ExternalID, ":"+w.base) {
		t.Errorf("external id %q", c.ExternalID)
	}
	for name, want := range map[string]string{"outcome": "pass", "assurance": "", "run-id": "", "bundle-digest": "sha256:", "contract-digest": "sha256:", "bundle-path": "", "artifact-id": "1", "artifact-url": "/actions/runs/", "check-run-url": "/runs/", "json": "{"} {
		if got := r.Outputs[name]; got == "" || !strings.Contains(got, want) {
			t.Errorf("the output %s is %q", name, got)
		}
	}
	var all struct {
		Verdict   string
		Contracts []map[string]any
	}
	if err := json.Unmarshal([]byte(r.Outputs["json"]), &all); err != nil || all.Verdict != "VERIFIED" || len(all.Contracts) != 1 {
		t.Errorf("the output json: %v, %s", err, r.Outputs["json"])
	}
	if _, err := os.Stat(filepath.Join(r.Temp, r.Outputs["bundle-path"], "evidence.json")); err != nil {
		t.Errorf("bundle-path leads nowhere: %v", err)
	}
	if a := w.store.Of(runBackend); len(a) != 1 || !strings.HasPrefix(a[0].Name, "gate-shop-gate") || !strings.Contains(c.Summary+c.Text, a[0].Digest) {
		t.Errorf("the artifact is not named in the check-run: %v\n%s", a, c.Summary)
	}
	w.golden("pull-request-verified", map[string]string{w.base: "BASE", p.Head: "HEAD", p.Merge: "MERGE"})
}

func TestPullRequestFailed(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("order.json", wrongOrder))
	r := w.judged(w.pulled(p))
	w.wants(r, want{exit: 1, verdict: "FAILED", checks: one("failure"), head: p.Head, says: []string{"FAILED", "31"}})
	c := w.check(checkName)
	if len(c.Annotations) != 1 || c.Annotations[0].Path != "order.json" || c.Annotations[0].StartLine != 3 || c.Annotations[0].Level != "failure" {
		t.Errorf("annotations: %+v", c.Annotations)
	}
	w.golden("pull-request-failed", map[string]string{w.base: "BASE", p.Head: "HEAD", p.Merge: "MERGE"})
}

// TestReadOnlyToken is a pull request from a fork, and Dependabot's: the token can
// only read, so the job itself says what the check-run would.
func TestReadOnlyToken(t *testing.T) {
	for _, c := range []struct {
		name, actor string
		pull        github.Pull
		file        github.File
		want        want
	}{
		{"a fork, verified", "stranger", github.Pull{Fork: "stranger/shop", Author: "stranger"}, file("README", "x\n"), want{exit: 0, verdict: "VERIFIED"}},
		{"a fork, failed", "stranger", github.Pull{Fork: "stranger/shop", Author: "stranger"}, file("order.json", wrongOrder), want{exit: 1, verdict: "FAILED"}},
		{"Dependabot", "dependabot[bot]", github.Pull{HeadRef: "dependabot/go_modules/x", Author: "dependabot[bot]"}, file("order.json", wrongOrder), want{exit: 1, verdict: "FAILED"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, options{permissions: readOnly})
			j := w.pulled(w.openAs(c.pull, "main", c.file))
			j.Actor = c.actor
			r := w.judged(j)
			c.want.says = []string{c.want.verdict, "checks: write"}
			w.wants(r, c.want)
			if !strings.Contains(r.Stdout+r.Stderr, "checks: write") {
				t.Error("the log does not name the permission")
			}
			if len(w.store.Of(runBackend)) != 1 {
				t.Error("the evidence was not uploaded")
			}
			errors := 0
			for _, a := range r.Annotations() {
				if a.Name == "error" && a.Properties["file"] == "order.json" && a.Properties["line"] == "3" {
					errors++
				}
			}
			if failed := c.want.verdict == "FAILED"; failed && errors != 1 || !failed && errors != 0 {
				t.Errorf("annotations: %+v", r.Annotations())
			}
		})
	}
}

func TestMergeGroup(t *testing.T) {
	w := newWorld(t, options{})
	head := w.commit([]string{w.base}, file("order.json", wrongOrder), file(contractPath, "{}"))
	w.wants(w.judged(w.queued(w.base, head)), want{exit: 1, verdict: "FAILED", checks: one("failure"), head: head})
}

func TestCommits(t *testing.T) {
	for _, c := range []struct {
		name, event, ref string
		onMain           bool
		want             want
	}{
		{"push to main", "push", "refs/heads/main", true, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
		{"tag on main", "push", "refs/tags/v1", true, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
		{"push elsewhere", "push", "refs/heads/feature", false, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
		{"workflow_dispatch", "workflow_dispatch", "refs/heads/main", true, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
		{"schedule", "schedule", "refs/heads/main", true, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
		{"release of a tag on main", "release", "refs/tags/v1", true, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
		{"release of a tag elsewhere", "release", "refs/tags/v1", false, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
		{"repository_dispatch", "repository_dispatch", "refs/heads/main", true, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, options{})
			files := []github.File{file("order.json", wrongOrder)}
			if !c.onMain { // its own contract would pass
				files = append(files, file(contractPath, w.freeze(`{"contract_id":"shop","checks":[{"id":"app","type":"file_exists","params":{"path":"app.txt"}}]}`)))
			}
			head := w.commit([]string{w.base}, files...)
			if c.onMain {
				if err := w.repo.SetRef("refs/heads/main", head); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.repo.SetRef(c.ref, head); err != nil {
				t.Fatal(err)
			}
			c.want.head = head
			w.wants(w.judged(w.pushed(c.event, c.ref, head)), c.want)
		})
	}
}

// TestUnknownEvent is an event that names no change: it is refused, and nothing stands at a commit.
func TestUnknownEvent(t *testing.T) {
	w := newWorld(t, options{})
	r := w.judged(w.pushed("issue_comment", "refs/heads/main", w.base))
	w.wants(r, want{exit: 2, says: []string{"action.event_unsupported", "issue"}})
	if r.Outputs["outcome"] != "refused" || !strings.Contains(r.Stdout, "action.event_unsupported") || !strings.Contains(r.Outputs["json"], "action.event_unsupported") {
		t.Errorf("outputs: %v", r.Outputs)
	}
}

// TestAgain runs one attempt twice, and another one: the first two are one check-run.
func TestAgain(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("order.json", wrongOrder))
	first := w.judged(w.pulled(p))
	w.wants(first, want{exit: 1, verdict: "FAILED", checks: one("failure")})
	second := w.pulled(p)
	s := w.step(second)
	s.Inputs["artifact-name"] = "another-name" // as that of this attempt is taken
	w.wants(w.run(s), want{exit: 1, verdict: "FAILED", checks: one("failure")})
	if n := len(w.hub.CheckRuns()); n != 2 {
		t.Errorf("%d check-runs for one attempt", n)
	}
	if a := w.check(checkName).Annotations; len(a) != 1 {
		t.Errorf("the annotations were posted again: %+v", a)
	}
	third := w.pulled(p)
	third.Attempt = 2
	w.wants(w.judged(third), want{exit: 1, verdict: "FAILED", checks: one("failure")})
	if n := len(w.hub.CheckRuns()); n != 4 {
		t.Errorf("%d check-runs for two attempts", n)
	}
}

func TestUntrustedBase(t *testing.T) {
	w := newWorld(t, options{})
	// The attacker's base has a contract that the change meets.
	base := w.commit([]string{w.base}, file(contractPath, w.freeze(`{"contract_id":"shop","checks":[{"id":"app","type":"file_exists","params":{"path":"app.txt"}}]}`)))
	if err := w.repo.SetRef("refs/heads/attacker", base); err != nil {
		t.Fatal(err)
	}
	r := w.judged(w.pulled(w.openAs(github.Pull{}, "attacker", file("order.json", wrongOrder))))
	if r.Exit != 3 || r.Outputs["verdict"] != "INCONCLUSIVE" {
		t.Errorf("exit %d, %q", r.Exit, r.Outputs["verdict"])
	}
	w.code(r, "action.base_untrusted")
	for _, c := range w.hub.CheckRuns() {
		if c.Conclusion != "failure" || strings.HasSuffix(c.Name, "@ main") || !strings.Contains(c.Name+c.Title+c.Summary, "attacker") {
			t.Errorf("%+v", c)
		}
	}
	if len(w.hub.CheckRuns()) != 1 || !strings.Contains(r.Summary, "attacker") {
		t.Errorf("%d check-runs; the summary:\n%s", len(w.hub.CheckRuns()), r.Summary)
	}
	// The same branch, trusted by whoever writes the workflow.
	s := w.step(w.pulled(w.openAs(github.Pull{HeadRef: "other"}, "attacker", file("README", "x\n"))))
	s.Inputs["trusted-refs"] = "main\nattacker"
	if r := w.run(s); r.Exit != 0 || r.Outputs["verdict"] != "VERIFIED" {
		t.Errorf("trusted: exit %d, %q", r.Exit, r.Outputs["verdict"])
	}
}

func TestNoContract(t *testing.T) {
	plain := []github.File{file("app.txt", "hello\n"), file("order.json", order)}
	for _, c := range []struct {
		name string
		own  bool
		says string
	}{{"nowhere", false, "UNVERIFIED"}, {"only in the change", true, "advisory"}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, options{base: plain})
			change := []github.File{file("order.json", wrongOrder)}
			if c.own {
				change = append(change, file(contractPath, w.freeze(shopDraft)))
			}
			r := w.judged(w.pulled(w.open(change...)))
			if r.Exit != 4 || r.Outputs["verdict"] != "UNVERIFIED" || !strings.Contains(r.Summary, c.says) {
				t.Errorf("exit %d, %q\n%s", r.Exit, r.Outputs["verdict"], r.Summary)
			}
			checks := w.hub.CheckRuns()
			if len(checks) != 1 || checks[0].Conclusion != "action_required" {
				t.Errorf("%+v", checks)
			}
			if c.own && !strings.Contains(r.Summary, "31") {
				t.Errorf("what the change's own contract finds is not shown:\n%s", r.Summary)
			}
		})
	}
}

func TestSeveralContracts(t *testing.T) {
	w := newWorld(t, options{})
	base := w.commit([]string{w.base}, file(".gate/contracts/z.json", w.freeze(`{"contract_id":"files","checks":[{"id":"app","type":"file_exists","params":{"path":"app.txt"}}]}`)),
		file(".gate/contracts/notes.txt", "no contract"))
	if err := w.repo.SetRef("refs/heads/main", base); err != nil {
		t.Fatal(err)
	}
	p := w.open(file("order.json", wrongOrder))
	r := w.judged(w.pulled(p))
	w.wants(r, want{exit: 1, verdict: "FAILED", head: p.Head,
		checks: map[string]string{checkName: "failure", "verdict / files @ main": "success", "verdict @ main": "failure"}})
	if n := len(w.store.Of(runBackend)); n != 2 {
		t.Errorf("%d artifacts", n)
	}
	if r.Outputs["run-id"] != "" || strings.Count(r.Outputs["json"], `"contract_id"`)+strings.Count(r.Outputs["json"], `"contract-id"`) != 2 {
		t.Errorf("outputs: %v", r.Outputs)
	}
}

func TestMatrix(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("README", "x\n"))
	for _, leg := range []map[string]any{{"os": "ubuntu", "go": "1.26"}, {"os": "ubuntu", "go": "1.25"}} {
		j := w.pulled(p)
		j.Matrix = leg
		if r := w.judged(j); r.Exit != 0 {
			t.Errorf("exit %d", r.Exit)
		}
	}
	checks := w.hub.CheckRuns()
	if len(checks) != 4 || len(w.store.Of(runBackend)) != 2 {
		t.Fatalf("%+v", checks)
	}
	for _, c := range checks {
		if !strings.HasPrefix(c.Name, checkName+" (") && !strings.HasPrefix(c.Name, overallName+" (") || !strings.Contains(c.Name, "ubuntu") {
			t.Errorf("the name is %q", c.Name)
		}
		w.check(c.Name) // there is one of it
	}
	// Another job that would hide the first one's check-run.
	j := w.pulled(p)
	j.Matrix, j.Name = map[string]any{"os": "ubuntu", "go": "1.26"}, "other"
	if r := w.judged(j); r.Exit == 0 || len(w.hub.CheckRuns()) != 4 || !strings.Contains(r.Stdout+r.Stderr+r.Summary, "action.name_taken") {
		t.Errorf("exit %d, %d check-runs", r.Exit, len(w.hub.CheckRuns()))
	}
}

func TestPins(t *testing.T) {
	for name, c := range map[string]struct {
		pin  func(w *world) string
		code string // "" when the contract is judged by
	}{
		"the contract's": {func(w *world) string { return contractPath + "=" + w.contractDigest(w.freeze(shopDraft)) }, ""},
		"another one":    {func(w *world) string { return contractPath + "=" + digest(nil) }, "action.contract_unpinned"},
		"one not there":  {func(w *world) string { return w.contractDigest(w.freeze(shopDraft)) + "\nother.json=" + digest(nil) }, "action.contract_unpinned"},
		"no digest":      {func(*world) string { return "sha256:1" }, "action.input_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			s := w.step(w.pulled(w.open(file("README", "x\n"))))
			s.Inputs["contract-digests"] = c.pin(w)
			r := w.run(s)
			if refused := r.Exit == 2 && r.Outputs["outcome"] == "refused"; refused != (c.code != "") || !refused && r.Exit != 0 {
				t.Errorf("exit %d, %v", r.Exit, r.Outputs)
			}
			w.code(r, c.code)
		})
	}
}

// contractDigest is the one that a frozen contract has in it.
func (w *world) contractDigest(text string) string {
	w.t.Helper()
	var c struct {
		Digest string `json:"contract_digest"`
		Other  string `json:"digest"`
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil || c.Digest+c.Other == "" {
		w.t.Fatalf("the contract has no digest: %v\n%s", err, text)
	}
	if d := c.Digest + c.Other; !strings.HasPrefix(d, "sha256:") {
		return "sha256:" + d
	}
	return c.Digest + c.Other
}

// tried are as many failures as the gate makes attempts, so that the API does not give
// a contract, and git has to. What is read afterwards, the API gives.
var tried = []github.Fault{{Operation: "git/get-tree", Kind: github.Broken, Times: 4}, {Operation: "repos/get-content", Kind: github.Broken, Times: 4}}

func (w *world) fetched() bool {
	return slices.ContainsFunc(w.hub.Requests(), func(r github.Request) bool { return r.Operation == "git" })
}

// TestForgeFails is a GitHub that does not work as it should.
func TestForgeFails(t *testing.T) {
	for name, c := range map[string]struct {
		faults []github.Fault
		server bool // GITHUB_SERVER_URL is the double's, so that git reaches it
		want   want
		checks int
		says   string
		code   string
		// fetched says that git has to fetch the contract.
		fetched bool
	}{
		"broken twice, everywhere":      {faults: []github.Fault{{Kind: github.Broken, Times: 2}}, want: want{exit: 0, verdict: "VERIFIED"}, checks: 2},
		"a secondary limit at the post": {faults: []github.Fault{{Operation: "checks/create", Kind: github.SecondaryLimit, Times: 1}}, want: want{exit: 0, verdict: "VERIFIED"}, checks: 2},
		"cut before the post":           {faults: []github.Fault{{Operation: "checks/create", Kind: github.CutBefore, Times: 1}}, want: want{exit: 0, verdict: "VERIFIED"}, checks: 2},
		"cut after the post":            {faults: []github.Fault{{Operation: "checks/create", Kind: github.CutAfter, Times: 1}}, want: want{exit: 0, verdict: "VERIFIED"}, checks: 2},
		"no pull requests":              {faults: []github.Fault{{Operation: "pulls/get", Kind: github.Forbidden}}, want: want{exit: 2, verdict: ""}, says: "pull-requests: read", code: "action.permission_missing"},
		"no comparison":                 {faults: []github.Fault{{Operation: "repos/compare-commits-with-basehead", Kind: github.Forbidden}}, want: want{exit: 0, verdict: "VERIFIED"}, checks: 2, says: "whether the change edits contracts, exceptions or approvals could not be seen"},
		"no contents by the API":        {faults: tried, server: true, want: want{exit: 0, verdict: "VERIFIED"}, checks: 2, fetched: true},
		"no permission for contents":    {faults: []github.Fault{{Operation: "git/get-tree", Kind: github.Forbidden}, {Operation: "repos/get-content", Kind: github.Forbidden}}, want: want{exit: 2, verdict: ""}, checks: 1, says: "contents: read", code: "action.permission_missing"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{private: true})
			j := w.pulled(w.open(file("README", "x\n")))
			if c.server {
				j.Server = w.hub.URL
			}
			for _, f := range c.faults {
				w.hub.Fail(f)
			}
			r := w.judged(j)
			if r.Exit != c.want.exit || r.Outputs["verdict"] != c.want.verdict || len(w.hub.CheckRuns()) != c.checks {
				t.Errorf("exit %d, %q, %d check-runs", r.Exit, r.Outputs["verdict"], len(w.hub.CheckRuns()))
			}
			if !strings.Contains(r.Stdout+r.Stderr, c.says) {
				t.Errorf("the log does not say %q", c.says)
			}
			w.code(r, c.code)
			if fetched := w.fetched(); fetched != c.fetched {
				t.Errorf("fetched with git: %v", fetched)
			}
		})
	}
}

// TestReportFails is a report that cannot be delivered: the evidence stays, and
// nothing passes.
func TestReportFails(t *testing.T) {
	w := newWorld(t, options{})
	w.hub.Fail(github.Fault{Operation: "checks/create", Kind: github.Broken})
	r := w.judged(w.pulled(w.open(file("README", "x\n"))))
	if r.Exit != 5 || len(w.hub.CheckRuns()) != 0 {
		t.Errorf("exit %d", r.Exit)
	}
	if _, err := os.Stat(filepath.Join(r.Temp, r.Outputs["bundle-path"], "evidence.json")); r.Outputs["bundle-path"] == "" || err != nil {
		t.Errorf("the evidence is lost: %q, %v", r.Outputs["bundle-path"], err)
	}
	if !strings.Contains(r.Stdout+r.Stderr+r.Summary, "action.report_failed") && !strings.Contains(r.Stdout+r.Stderr+r.Summary, "action.forge_unreachable") {
		t.Error("nothing names the code")
	}
}

func TestUploadFails(t *testing.T) {
	w := newWorld(t, options{})
	w.store.Refuse(1000)
	r := w.judged(w.pulled(w.open(file("README", "x\n"))))
	if r.Exit != 5 || !strings.Contains(r.Stdout+r.Stderr, "action.upload_failed") {
		t.Errorf("exit %d", r.Exit)
	}
	for _, c := range w.hub.CheckRuns() {
		if c.Conclusion == "success" {
			t.Errorf("a run whose evidence is nowhere passes: %+v", c)
		}
	}
}

// TestEnterpriseServer has no service for artifacts.
func TestEnterpriseServer(t *testing.T) {
	w := newWorld(t, options{})
	j := w.pulled(w.open(file("README", "x\n")))
	j.Server, j.API, j.RuntimeToken = w.hub.URL, w.hub.URL+"/api/v3", ""
	r := w.judged(j)
	w.wants(r, want{exit: 0, verdict: "VERIFIED", checks: one("success")})
	if !strings.Contains(r.Summary+r.Stdout, "Enterprise") {
		t.Error("it does not say why there is no artifact")
	}
}

func TestInputs(t *testing.T) {
	for name, set := range map[string]map[string]string{
		"sign": {"sign": "maybe"}, "artifact": {"artifact": "perhaps"}, "directory": {"directory": "../x"}, "token": {"token": ""}, "retention-days": {"retention-days": "many"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			s := w.step(w.pulled(w.open(file("README", "x\n"))))
			for k, v := range set {
				s.Inputs[k] = v
			}
			r := w.run(s)
			if r.Exit != 2 || r.Outputs["verdict"] != "" || r.Outputs["outcome"] != "refused" || !strings.Contains(r.Stdout+r.Stderr, "action.input_invalid") {
				t.Errorf("exit %d, %v", r.Exit, r.Outputs)
			}
			for _, c := range w.hub.CheckRuns() {
				if c.Conclusion != "failure" {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

func TestNoCheckRun(t *testing.T) {
	w := newWorld(t, options{})
	s := w.step(w.pulled(w.open(file("order.json", wrongOrder))))
	s.Inputs["check-run"] = "false"
	w.wants(w.run(s), want{exit: 1, verdict: "FAILED", says: []string{"FAILED"}})
}

// TestWorkspace is a workspace that is not the change.
func TestWorkspace(t *testing.T) {
	for name, spoil := range map[string]func(w *world, j runner.Job) error{
		"another commit": func(w *world, j runner.Job) error {
			if err := os.RemoveAll(j.Workspace); err != nil {
				return err
			}
			return runner.Checkout(w.repo, j.Server, repository, j.Token, "refs/heads/main", w.base, j.Workspace)
		},
		"no checkout": func(_ *world, j runner.Job) error {
			if err := os.RemoveAll(j.Workspace); err != nil {
				return err
			}
			return os.MkdirAll(j.Workspace, 0o755)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			j := w.pulled(w.open(file("order.json", wrongOrder)))
			if err := spoil(w, j); err != nil {
				t.Fatal(err)
			}
			r := w.judged(j)
			if r.Exit != 3 || r.Outputs["verdict"] != "INCONCLUSIVE" || !strings.Contains(r.Summary, "action.checkout_unknown") {
				t.Errorf("exit %d, %v\n%s", r.Exit, r.Outputs, r.Summary)
			}
		})
	}
}
