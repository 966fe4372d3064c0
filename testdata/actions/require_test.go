package actions_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/actions/github"
	"github.com/verdictgate/verdictgate/testdata/actions/runner"
)

// releaseRun is the run of the workflow that ships, where it is another than the one that judged.
const releaseRun = 9999

// judgedMain is a run that judged main, about the file app.txt.
type judgedMain struct {
	*world
	head   string
	result runner.Result
}

func judgeMain(t *testing.T, changed github.File, signed bool) judgedMain {
	t.Helper()
	w := newWorld(t, options{})
	head := w.commit([]string{w.base}, changed)
	if err := w.repo.SetRef("refs/heads/main", head); err != nil {
		t.Fatal(err)
	}
	s := w.step(w.pushed("push", "refs/heads/main", head))
	s.Inputs["subjects"] = "app.txt"
	if signed {
		w.signs(&s, nil)
	}
	w.hub.AddRun(github.Run{ID: runID, Event: "push", HeadSHA: head, HeadBranch: "main"})
	m := judgedMain{w, head, w.run(s)}
	if len(w.store.Of(runBackend)) != 1 {
		t.Fatal("the judging run uploaded nothing")
	}
	return m
}

// release is a step of the same run that is about to ship dist/app.txt.
type release struct {
	*world
	judged runner.Result
	step   runner.Step
}

func (m judgedMain) release(t *testing.T) *release {
	t.Helper()
	w := m.in(t)
	w.hub.Allow(jobToken, github.Token{Permissions: map[string]string{"contents": "read", "actions": "read"}})
	r := &release{world: w, judged: m.result, step: w.stepOf("require", w.pushed("push", "refs/heads/main", m.head))}
	r.put("dist/app.txt", "hello\n")
	r.put("gate/shop.json", w.freeze(shopDraft))
	r.step.Inputs = map[string]string{
		"artifact-name": w.store.Of(runBackend)[0].Name, "subjects": "dist/*", "contract": "gate/shop.json", "assurance": "remote_attested", "max-age": "1h",
		"certificate-identity": "https://github.com/" + judge, "certificate-oidc-issuer": signing(t).Issuer.URL, "build-signer-digest": judgeCommit,
		"source-repository": "https://github.com/" + repository, "trusted-root": w.placed(r.step, signing(t).TrustedRoot),
	}
	return r
}

// put writes a file of the release's workspace.
func (r *release) put(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.step.Job.Workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// folder gives the evidence as a folder of the workspace, in the place of the artifact.
func (r *release) folder() {
	r.t.Helper()
	evidence := os.DirFS(filepath.Join(r.judged.Temp, r.judged.Outputs["bundle-path"]))
	if err := os.CopyFS(filepath.Join(r.step.Job.Workspace, "evidence"), evidence); err != nil {
		r.t.Fatal(err)
	}
	r.step.Inputs["artifact-name"], r.step.Inputs["bundle"] = "", "evidence"
}

// TestRequire is a release that may go on, however it names the evidence and the contract.
func TestRequire(t *testing.T) {
	main := judgeMain(t, file("README", "x\n"), true)
	for name, change := range map[string]func(r *release){
		"an artifact of this run by its name": func(*release) {},
		"an artifact by its id": func(r *release) {
			r.step.Inputs["artifact-name"], r.step.Inputs["artifact-id"] = "", r.judged.Outputs["artifact-id"]
		},
		"an artifact of another run": func(r *release) {
			r.step.Job.RunID, r.step.Inputs["run-id"] = releaseRun, "4242"
		},
		"a folder": (*release).folder,
		"an archive": func(r *release) {
			r.put("evidence.zip", string(r.store.Of(runBackend)[0].Archive))
			r.step.Inputs["artifact-name"], r.step.Inputs["bundle"] = "", "evidence.zip"
		},
		"the contract by its digest": func(r *release) {
			r.step.Inputs["contract"], r.step.Inputs["contract-digest"] = "", r.contractDigest(r.freeze(shopDraft))
		},
		"the identity by a pattern": func(r *release) {
			r.step.Inputs["certificate-identity"], r.step.Inputs["certificate-identity-regexp"] = "", `https://github\.com/acme/judge/.*@refs/tags/v\d+`
			r.step.Inputs["build-signer-uri"] = "https://github.com/" + judge
		},
		"less assurance asked for": func(r *release) { r.step.Inputs["assurance"] = "isolated_local" },
	} {
		t.Run(name, func(t *testing.T) {
			r := main.release(t)
			change(r)
			got := r.run(r.step)
			if got.Exit != 0 || !strings.Contains(got.Stdout, "VERIFIED") || !strings.Contains(got.Stdout, "app.txt") {
				t.Errorf("exit %d", got.Exit)
			}
			for name, want := range map[string]string{
				"verdict": "VERIFIED", "outcome": "pass", "assurance": "remote_attested", "run-id": r.judged.Outputs["run-id"], "bundle-digest": r.judged.Outputs["bundle-digest"],
				"contract-digest": r.judged.Outputs["contract-digest"],
			} {
				if got.Outputs[name] != want || want == "" {
					t.Errorf("the output %s is %q, not %q", name, got.Outputs[name], want)
				}
			}
			var all struct {
				Verdict  string
				Subjects []struct{ Name, Digest string }
			}
			if err := json.Unmarshal([]byte(got.Outputs["json"]), &all); err != nil || all.Verdict != "VERIFIED" || len(all.Subjects) != 1 || all.Subjects[0].Digest != digest([]byte("hello\n")) {
				t.Errorf("the output json: %v, %s", err, got.Outputs["json"])
			}
		})
	}
}

// TestRequireAnotherVerdict: the policy holds, and there is no leave to ship.
func TestRequireAnotherVerdict(t *testing.T) {
	r := judgeMain(t, file("order.json", wrongOrder), true).release(t)
	got := r.run(r.step)
	if got.Exit != 1 || got.Outputs["verdict"] != "FAILED" || got.Outputs["outcome"] != "fail" || !strings.Contains(got.Stdout, "Do not ship") {
		t.Errorf("exit %d, %v", got.Exit, got.Outputs)
	}
}

// TestRequireRefuses is evidence, or a policy, that lets nothing through: each is refused for its reason.
func TestRequireRefuses(t *testing.T) {
	set := func(name, value string) func(r *release) {
		return func(r *release) { r.step.Inputs[name] = value }
	}
	signed, unsigned := judgeMain(t, file("README", "x\n"), true), judgeMain(t, file("README", "x\n"), false)
	for name, c := range map[string]struct {
		of     judgedMain
		change func(r *release)
		code   string
	}{
		"unsigned":                     {of: unsigned, change: func(*release) {}, code: "verify.policy_unmet"},
		"another file to ship":         {of: signed, change: func(r *release) { r.put("dist/app.txt", "something else\n") }, code: "verify.subject_mismatch"},
		"one more file to ship":        {of: signed, change: func(r *release) { r.put("dist/more.txt", "more\n") }, code: "verify.subject_mismatch"},
		"a file that is not there":     {of: signed, change: set("subjects", "dist/none.txt"), code: "action.input_invalid"},
		"no file":                      {of: signed, change: set("subjects", ""), code: "verify.usage"},
		"another contract":             {of: signed, change: func(r *release) { r.put("gate/shop.json", r.freeze(weakDraft)) }, code: "verify.contract_mismatch"},
		"no contract":                  {of: signed, change: set("contract", ""), code: "verify.usage"},
		"another workflow":             {of: signed, change: set("certificate-identity", "https://github.com/acme/judge/.github/workflows/other.yml@refs/tags/v1"), code: "verify.signature_invalid"},
		"another commit of it":         {of: signed, change: set("build-signer-digest", strings.Repeat("a", 40)), code: "verify.policy_unmet"},
		"another repository":           {of: signed, change: set("source-repository", "https://github.com/acme/other"), code: "verify.policy_unmet"},
		"another commit judged":        {of: signed, change: set("source-revision", strings.Repeat("a", 40)), code: "verify.source_mismatch"},
		"another verifier":             {of: signed, change: set("verifier-digest", digest(nil)), code: "verify.verifier_mismatch"},
		"too old":                      {of: signed, change: set("max-age", "1ns"), code: "verify.age_refused"},
		"an age that is none":          {of: signed, change: set("max-age", "7d"), code: "action.input_invalid"},
		"an age of nothing":            {of: signed, change: set("max-age", "0s"), code: "action.input_invalid"},
		"a level that is none":         {of: signed, change: set("assurance", "certain"), code: "verify.usage"},
		"nobody's signature":           {of: signed, change: func(r *release) { r.step.Inputs["certificate-identity"], r.step.Inputs["build-signer-digest"] = "", "" }, code: "verify.usage"},
		"no such artifact":             {of: signed, change: set("artifact-name", "gate-none"), code: "action.input_invalid"},
		"no artifact of such an id":    {of: signed, change: func(r *release) { r.step.Inputs["artifact-name"], r.step.Inputs["artifact-id"] = "", "77" }, code: "action.permission_missing"},
		"an artifact of this run only": {of: signed, change: func(r *release) { r.step.Job.RunID = releaseRun }, code: "action.input_invalid"},
		"no evidence":                  {of: signed, change: set("artifact-name", ""), code: "action.input_invalid"},
		"the evidence twice":           {of: signed, change: set("bundle", "evidence"), code: "action.input_invalid"},
		"a folder that is not there":   {of: signed, change: func(r *release) { r.step.Inputs["artifact-name"], r.step.Inputs["bundle"] = "", "evidence" }, code: "verify.run_not_found"},
		"a folder that is none of ours": {of: signed, change: func(r *release) {
			r.put("evidence/x", "x")
			r.step.Inputs["artifact-name"], r.step.Inputs["bundle"] = "", "evidence"
		}, code: "verify.attestation_invalid"},
		"a folder with an edited verdict": {of: signed, change: func(r *release) { r.folder(); r.edit("evidence.json", `"verdict":"VERIFIED"`, `"verdict":"FAILED"`) }, code: "verify.attestation_tampered"},
		"no permission": {of: signed, change: func(r *release) {
			r.hub.Allow(jobToken, github.Token{Permissions: map[string]string{"contents": "read"}})
			r.hub.Fail(github.Fault{Operation: "actions/list-workflow-run-artifacts", Kind: github.Forbidden, Times: 1})
		}, code: "action.permission_missing"},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.of.release(t)
			c.change(r)
			got := r.run(r.step)
			if got.Exit != 2 || got.Outputs["verdict"] != "" || got.Outputs["outcome"] != "refused" {
				t.Errorf("exit %d, %v", got.Exit, got.Outputs)
			}
			for where, text := range map[string]string{"log": got.Stdout, "summary": got.Summary, "output json": got.Outputs["json"]} {
				if !strings.Contains(text, c.code) {
					t.Errorf("the %s does not name %s:\n%s", where, c.code, text)
				}
			}
		})
	}
}

// edit changes a text of the evidence's folder.
func (r *release) edit(name, old, with string) {
	r.t.Helper()
	path := filepath.Join(r.step.Job.Workspace, "evidence", name)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		r.t.Fatalf("%s does not have %q: %v", path, old, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, with, 1)), 0o600); err != nil {
		r.t.Fatal(err)
	}
}
