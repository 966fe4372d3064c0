package actions_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/actions/github"
	"github.com/verdictgate/verdictgate/testdata/actions/results"
	"github.com/verdictgate/verdictgate/testdata/actions/runner"
	"github.com/verdictgate/verdictgate/testdata/sigstore/services"
)

// The reusable workflow whose signatures the second stage believes.
const (
	judge       = "acme/judge/.github/workflows/verdict.yml@refs/tags/v1"
	judgeCommit = "89abcdef0123456789abcdef0123456789abcdef"
)

func (w *world) claims(j runner.Job, change func(*services.Claims)) func(*services.Claims) {
	return func(c *services.Claims) {
		c.Repository, c.RepositoryOwner, c.Ref, c.SHA, c.EventName, c.Visibility = repository, owner, j.Ref, j.SHA, j.Event, "public"
		c.WorkflowRef, c.WorkflowSHA, c.JobWorkflowRef, c.JobWorkflowSHA = repository+"/.github/workflows/gate.yml@"+j.Ref, j.SHA, judge, judgeCommit
		c.RunID, c.RunAttempt, c.RunnerEnvironment = "4242", "1", "github-hosted"
		if change != nil {
			change(c)
		}
	}
}

// second is the second stage's step over the run of the first one.
func (w *world) second(p github.Pull) runner.Step {
	w.t.Helper()
	w.hub.Allow(jobToken, github.Token{Permissions: map[string]string{"contents": "read", "pull_requests": "read", "checks": "write", "actions": "read"}})
	w.hub.AddRun(github.Run{ID: runID, Event: "pull_request", HeadSHA: p.Head, HeadBranch: p.HeadRef, HeadRepository: p.Fork, Called: []github.Called{{Path: judge, Ref: "refs/tags/v1", SHA: judgeCommit}}})
	j := w.job()
	j.Event, j.Ref, j.SHA, j.RunID = "workflow_run", "refs/heads/main", w.base, 9999
	j.RuntimeToken = results.Token("99999999-2222-3333-4444-555555555555", jobBackend)
	j.Payload = w.payload("workflow_run.completed", map[string]any{"workflow_run.id": runID, "workflow_run.head_sha": p.Head, "workflow_run.conclusion": "success"})
	j.Workspace = filepath.Join(j.Dir, name, name) // nothing is checked out
	if err := os.MkdirAll(j.Workspace, 0o755); err != nil {
		w.t.Fatal(err)
	}
	s := w.stepOf("verify", j)
	s.Inputs["certificate-identity"], s.Inputs["certificate-oidc-issuer"], s.Inputs["build-signer-digest"] = "https://github.com/"+judge, signing(w.t).Issuer.URL, judgeCommit
	s.Inputs["trusted-root"] = w.placed(s, signing(w.t).TrustedRoot)
	return s
}

// TestSigned is a first stage whose job may ask for an identity.
func TestSigned(t *testing.T) {
	w := newWorld(t, options{permissions: map[string]string{"contents": "read", "pull_requests": "read", "checks": "write", "attestations": "write"}})
	p := w.open(file("README", "x\n"))
	s := w.step(w.pulled(p))
	w.signs(&s, nil)
	r := w.run(s)
	w.wants(r, want{exit: 0, verdict: "VERIFIED", checks: one("success"), head: p.Head})
	if w.hub.Attestations() != 1 {
		t.Errorf("%d attestations are stored", w.hub.Attestations())
	}
	if _, err := os.Stat(filepath.Join(r.Temp, r.Outputs["bundle-path"], "attestation.sigstore.json")); err != nil {
		t.Error(err)
	}
	if strings.Contains(w.check(checkName).Summary, "unsigned") {
		t.Errorf("it says that it is unsigned:\n%s", w.check(checkName).Summary)
	}
}

// TestSignedWhereItCannot is a job without id-token: write, and one whose Sigstore fails.
func TestSignedWhereItCannot(t *testing.T) {
	w := newWorld(t, options{})
	r := w.judged(w.pulled(w.open(file("README", "x\n"))))
	w.wants(r, want{exit: 0, verdict: "VERIFIED", checks: one("success"), says: []string{"unsigned"}})
	w = newWorld(t, options{})
	s := w.step(w.pulled(w.open(file("README", "x\n"))))
	s.Inputs["sign"] = "keyless"
	if r := w.run(s); r.Exit == 0 || r.Outputs["verdict"] == "VERIFIED" {
		t.Errorf("keyless without an identity: exit %d, %v", r.Exit, r.Outputs)
	}
}

// signer is the signing job's step: it has an identity, and runs nothing of the change.
func (w *world) signer(p github.Pull, judged string) runner.Step {
	w.t.Helper()
	w.hub.Allow(jobToken, github.Token{Permissions: map[string]string{"contents": "read", "pull_requests": "read", "checks": "write", "actions": "read", "attestations": "write"}})
	w.hub.AddRun(github.Run{ID: runID, Event: "pull_request", HeadSHA: p.Head, HeadBranch: p.HeadRef})
	j := w.pulled(p)
	j.Name = "sign"
	if err := os.RemoveAll(j.Workspace); err != nil {
		w.t.Fatal(err)
	}
	if err := os.MkdirAll(j.Workspace, 0o755); err != nil {
		w.t.Fatal(err)
	}
	s := w.stepOf("sign", j)
	w.signs(&s, nil)
	s.Inputs["judged"] = judged
	return s
}

// TestSigningJob is the reusable workflow: one job judges and may sign nothing, the
// next one signs and runs nothing, and the second stage believes the latter.
func TestSigningJob(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("README", "x\n"))
	first := w.step(w.pulled(p))
	first.Inputs["check-run"] = "false"
	judged := w.run(first)
	r := w.run(w.signer(p, judged.Outputs["json"]))
	w.wants(r, want{exit: 0, verdict: "VERIFIED", checks: one("success"), head: p.Head})
	if n := len(w.store.Of(runBackend)); n != 2 {
		t.Errorf("%d artifacts", n)
	}
	if r := w.run(w.second(p)); r.Exit != 0 || r.Outputs["verdict"] != "VERIFIED" {
		t.Errorf("the second stage: exit %d, %v", r.Exit, r.Outputs)
	}

	// What the judging job says is its own; what it uploaded must be about the change.
	for name, c := range map[string]struct {
		judged string
		exit   int
	}{
		"another digest": {strings.ReplaceAll(judged.Outputs["json"], judged.Outputs["bundle-digest"], digest(nil)), 2},
		"no evidence":    {`{"contracts":[]}`, 2}, "no JSON": {"", 2},
	} {
		if r := w.run(w.signer(p, c.judged)); r.Exit != c.exit || r.Outputs["verdict"] != "" {
			t.Errorf("%s: exit %d, %v", name, r.Exit, r.Outputs)
		}
	}
	other := w.openAs(github.Pull{HeadRef: "other"}, "main", file("order.json", wrongOrder))
	if r := w.run(w.signer(other, judged.Outputs["json"])); r.Exit == 0 || r.Outputs["verdict"] == "VERIFIED" {
		t.Errorf("evidence of another change is signed: exit %d, %v", r.Exit, r.Outputs)
	}
}

// TestSecondStage is what the second stage makes of what a first one uploaded.
func TestSecondStage(t *testing.T) {
	const verified = "verdict verified / shop @ main"
	failed := func(verdict string, exit int) want { return want{exit: exit, verdict: verdict} }
	for name, c := range map[string]struct {
		file   github.File
		sign   bool
		claims func(*services.Claims)
		inputs map[string]string                             // of the first stage, as an edited workflow passes them
		before func(w *world, p github.Pull, s *runner.Step) // the second stage runs
		want   want
	}{
		"signed, verified":     {file: file("README", "x\n"), sign: true, want: failed("VERIFIED", 0)},
		"signed, failed":       {file: file("order.json", wrongOrder), sign: true, want: failed("FAILED", 1)},
		"unsigned":             {file: file("README", "x\n"), want: failed("INCONCLUSIVE", 3)},
		"another workflow":     {file: file("README", "x\n"), sign: true, claims: func(c *services.Claims) { c.JobWorkflowRef = "acme/shop/.github/workflows/gate.yml@refs/pull/1/merge" }, want: failed("INCONCLUSIVE", 3)},
		"another commit of it": {file: file("README", "x\n"), sign: true, claims: func(c *services.Claims) { c.JobWorkflowSHA = strings.Repeat("a", 40) }, want: failed("INCONCLUSIVE", 3)},
		"another repository":   {file: file("README", "x\n"), sign: true, claims: func(c *services.Claims) { c.Repository = "stranger/shop" }, want: failed("INCONCLUSIVE", 3)},
		"a made-up folder":     {file: file("made/app.txt", "x\n"), sign: true, inputs: map[string]string{"directory": "made"}, want: failed("INCONCLUSIVE", 3)},
		"another run":          {file: file("README", "x\n"), sign: true, claims: func(c *services.Claims) { c.RunID = "4241" }, want: failed("INCONCLUSIVE", 3)},
		"an earlier attempt": {file: file("README", "x\n"), sign: true, before: func(w *world, p github.Pull, _ *runner.Step) {
			w.hub.AddRun(github.Run{ID: runID, Attempt: 2, Event: "pull_request", HeadSHA: p.Head, HeadBranch: p.HeadRef})
		}, want: failed("INCONCLUSIVE", 3)},
		"another base": {file: file("README", "x\n"), sign: true, before: func(w *world, p github.Pull, _ *runner.Step) {
			// main is another one now, and what was judged is not on it.
			base := w.commit(nil, w.shop(file("docs.txt", "x\n"))...)
			if err := w.repo.SetRef("refs/heads/main", base); err != nil {
				w.t.Fatal(err)
			}
			w.hub.Pulled(p.Number, func(p *github.Pull) { p.Base = base })
		}, want: failed("INCONCLUSIVE", 3)},
		"fabricated": {file: file("README", "x\n"), before: func(w *world, _ github.Pull, _ *runner.Step) {
			w.store.Put(runBackend, "gate-shop-gate-2", []byte("PK\x05\x06"+strings.Repeat("\x00", 18)))
		}, want: failed("INCONCLUSIVE", 3)},
		"the change went on": {file: file("README", "x\n"), sign: true, before: func(w *world, p github.Pull, _ *runner.Step) {
			head := w.commit([]string{p.Head}, file("order.json", wrongOrder))
			w.hub.Pulled(p.Number, func(p *github.Pull) { p.Head = head })
		}, want: failed("", 2)},
		"an event of the change": {file: file("README", "x\n"), sign: true, before: func(w *world, p github.Pull, s *runner.Step) {
			s.Job.Event, s.Job.Ref, s.Job.SHA = "pull_request", "refs/pull/1/merge", p.Merge
		}, want: failed("", 2)},
		"a branch of the change": {file: file("README", "x\n"), sign: true, before: func(_ *world, p github.Pull, s *runner.Step) {
			s.Job.Ref, s.Job.SHA = "refs/heads/feature", p.Head
		}, want: failed("", 2)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			p := w.open(c.file)
			first := w.step(w.pulled(p))
			if c.sign {
				w.signs(&first, c.claims)
			}
			// The change's own job posts nothing here: what is asserted is the second stage's.
			first.Inputs["check-run"] = "false"
			maps.Copy(first.Inputs, c.inputs)
			w.run(first)
			if len(w.store.Of(runBackend)) != 1 {
				t.Fatal("the first stage uploaded nothing")
			}
			s := w.second(p)
			if c.before != nil {
				c.before(w, p, &s)
			}
			r := w.run(s)
			if r.Exit != c.want.exit || r.Outputs["verdict"] != c.want.verdict {
				t.Errorf("exit %d, %v", r.Exit, r.Outputs)
			}
			if c.want.verdict == "INCONCLUSIVE" {
				w.code(r, "action.evidence_refused")
			}
			for _, check := range w.hub.CheckRuns() {
				if (check.Conclusion == "success") != (c.want.exit == 0) || c.want.exit == 0 && (check.Name != verified && check.Name != "verdict verified @ main" || check.HeadSHA != p.Head) {
					t.Errorf("the check-run %q ended with %s for %s", check.Name, check.Conclusion, check.HeadSHA)
				}
			}
			if c.want.verdict != "" && len(w.hub.CheckRuns()) != 2 {
				t.Errorf("%d check-runs", len(w.hub.CheckRuns()))
			}
		})
	}
}

// TestSecondStageWithoutContract has nothing at the base to hold evidence against.
func TestSecondStageWithoutContract(t *testing.T) {
	w := newWorld(t, options{base: []github.File{file("app.txt", "x\n")}})
	p := w.open(file(contractPath, w.freeze(weakDraft)))
	r := w.run(w.second(p))
	if r.Exit != 3 || r.Outputs["verdict"] != "INCONCLUSIVE" || len(w.hub.CheckRuns()) != 1 {
		t.Errorf("exit %d, %v, %d check-runs", r.Exit, r.Outputs, len(w.hub.CheckRuns()))
	}
	w.code(r, "action.contract_missing")
}

// TestAnApp is a job of the change that posts a check-run of the second stage's name by
// itself: nothing keeps it from that, and only the App that posted it tells the two apart.
func TestAnApp(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("order.json", wrongOrder))
	first := w.step(w.pulled(p))
	first.Inputs["check-run"] = "false"
	w.run(first)
	forged := w.post(p.Head, "verdict verified / shop @ main")

	s := w.second(p)
	const appToken = "ghs_TheTokenOfAnApp000000000000000000001"
	w.hub.Allow(appToken, github.Token{App: "acme-gate", Permissions: map[string]string{"contents": "read", "pull_requests": "read", "checks": "write", "actions": "read"}})
	s.Inputs["token"] = appToken
	if r := w.run(s); r.Exit != 3 || r.Outputs["verdict"] != "INCONCLUSIVE" {
		t.Errorf("exit %d, %v", r.Exit, r.Outputs)
	}
	by := map[string]string{}
	for _, c := range w.hub.CheckRuns() {
		if c.Name != forged.Name && c.Name != "verdict verified @ main" || c.HeadSHA != p.Head {
			t.Errorf("a check-run %q for %s", c.Name, c.HeadSHA)
		}
		if by[c.App] == "" || c.Name == forged.Name {
			by[c.App] = c.Conclusion
		}
	}
	if by["github-actions"] != "success" || by["acme-gate"] != "failure" || len(by) != 2 {
		t.Errorf("check-runs by App: %v", by)
	}
}

// post posts a check-run as any job can whose workflow the change edited.
func (w *world) post(head, name string) github.CheckRun {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"name": name, "head_sha": head, "external_id": "forged", "status": "completed", "conclusion": "success"})
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.hub.URL+"/repos/"+repository+"/check-runs", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	w.hub.Allow(jobToken, github.Token{Permissions: map[string]string{"checks": "write"}})
	req.Header.Set("Authorization", "Bearer "+jobToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.net.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	all := w.hub.CheckRuns()
	if resp.StatusCode != http.StatusCreated || len(all) == 0 {
		w.t.Fatalf("the job's own check-run: %s", resp.Status)
	}
	return all[len(all)-1]
}

// TestSecondStageOfForks reads the head itself, as nobody can sign for it.
func TestSecondStageOfForks(t *testing.T) {
	command := `{"contract_id":"shop","checks":[{"id":"tests","type":"command_exit","params":{"command":["touch","ran"]}}]}`
	for name, c := range map[string]struct {
		draft   string
		file    github.File
		exit    int
		verdict string
	}{
		"verified": {shopDraft, file("README", "x\n"), 0, "VERIFIED"}, "failed": {shopDraft, file("order.json", wrongOrder), 1, "FAILED"},
		"a command": {command, file("README", "x\n"), 3, "INCONCLUSIVE"},
	} {
		t.Run(name, func(t *testing.T) {
			helper := &world{t: t, dir: t.TempDir()}
			w := newWorld(t, options{base: []github.File{file(contractPath, helper.freeze(c.draft)), file("app.txt", "x\n"), file("order.json", order)}})
			p := w.openAs(github.Pull{Fork: "stranger/shop"}, "main", c.file)
			s := w.second(p)
			s.Job.Server = w.hub.URL
			r := w.run(s)
			if r.Exit != c.exit || r.Outputs["verdict"] != c.verdict {
				t.Errorf("exit %d, %v", r.Exit, r.Outputs)
			}
			checks := w.hub.CheckRuns()
			if len(checks) != 2 || checks[1].HeadSHA != p.Head || checks[1].Name != "verdict verified @ main" || (checks[0].Conclusion == "success") != (c.exit == 0) || checks[1].Conclusion != checks[0].Conclusion {
				t.Errorf("%+v", checks)
			}
		})
	}
}
