package actions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/verdictgate/verdictgate/testdata/actions/github"
	"github.com/verdictgate/verdictgate/testdata/actions/runner"
	"github.com/verdictgate/verdictgate/testdata/sigstore/services"
)

// What a second stage posts.
const (
	verifiedName = "verdict verified / shop @ main"
	appToken     = "ghs_TheTokenOfAnApp000000000000000000001"
)

// commands is a contract whose only check starts a script of the change.
func commands(id string) string {
	return `{"contract_id":"` + id + `","checks":[{"id":"tests","type":"command_exit","params":{"command":["sh","run.sh"]}}]}`
}

// conclusions are the newest ones of the names.
func (w *world) conclusions() map[string]string {
	out := map[string]string{}
	for _, c := range w.hub.CheckRuns() {
		out[c.Name] = c.Conclusion
	}
	return out
}

// merged takes files into main.
func (w *world) merged(files ...github.File) {
	w.t.Helper()
	w.base = w.commit([]string{w.base}, files...)
	if err := w.repo.SetRef("refs/heads/main", w.base); err != nil {
		w.t.Fatal(err)
	}
}

// TestRootBesideTheWorkspace is a link of the change into a further root of the judging
// job: what is true there is true of no commit.
func TestRootBesideTheWorkspace(t *testing.T) {
	helper := &world{t: t, dir: t.TempDir()}
	for _, way := range []string{"sign", "verify"} {
		for _, expected := range []bool{false, true} {
			t.Run(fmt.Sprint(way, ", expected: ", expected), func(t *testing.T) {
				w := newWorld(t, options{base: []github.File{file(contractPath, helper.freeze(shopDraft)), file("app.txt", "x\n"), file("order.json", order)}})
				first := w.step(w.job())
				here, there := first.Temp()
				p := w.open(github.File{Path: "order.json", Mode: github.Gone}, github.File{Path: "order.json", Content: there + "/release/order.json", Mode: github.Link})
				first.Job = w.at(first.Job, w.pulled(p))
				write(t, filepath.Join(here, "release", "order.json"), order)
				first.Inputs["roots"], first.Inputs["check-run"] = there+"/release", "false"
				if way == "verify" {
					w.signs(&first, nil)
				}
				judged := w.run(first)
				if judged.Exit != 0 {
					t.Fatalf("the judging job: exit %d", judged.Exit)
				}
				s, want := w.second(p), 3
				if way == "sign" {
					s, want = w.signer(p, judged.Outputs["json"]), 2
				}
				if expected {
					s.Inputs["roots"], want = there+"/release", 0
				}
				r := w.run(s)
				if r.Exit != want || (r.Outputs["verdict"] == "VERIFIED") != expected {
					t.Errorf("exit %d and %q, not %d", r.Exit, r.Outputs["verdict"], want)
				}
				if !expected {
					w.code(r, "action.evidence_refused")
					if !strings.Contains(r.Stdout, "which is no part of the change") {
						t.Error("it does not say why")
					}
				}
			})
		}
	}
}

// at moves a job to where another one was to be: to know its folders before there is a
// change to check out.
func (w *world) at(place, j runner.Job) runner.Job {
	w.t.Helper()
	if err := os.MkdirAll(place.Dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(j.Dir, name), filepath.Join(place.Dir, name)); err != nil {
		w.t.Fatal(err)
	}
	j.Dir, j.Workspace = place.Dir, filepath.Join(place.Dir, name, name)
	return j
}

// write makes a file and its folders.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSubjectsThatNobodyNamed is a release file in the evidence that the second stage does
// not ask for, and one that it asks for and that is not there.
func TestSubjectsThatNobodyNamed(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("dist/a.tgz", "a\n"), file("dist/b.tgz", "b\n"))
	first := w.step(w.pulled(p))
	first.Inputs["subjects"], first.Inputs["check-run"] = "dist/a.tgz", "false"
	w.signs(&first, nil)
	w.run(first)
	for subjects, want := range map[string]int{"dist/a.tgz": 0, "": 3, "dist/b.tgz": 3, "dist/a.tgz\ndist/b.tgz": 3} {
		s := w.second(p)
		s.Inputs["subjects"] = subjects
		if r := w.run(s); r.Exit != want || want != 0 && !strings.Contains(r.Stdout, "release file") {
			t.Errorf("subjects %q: exit %d and not %d\n%s", subjects, r.Exit, want, r.Summary)
		}
	}
}

// TestContractsShareAWorkspace is a command of one contract that prepares what the next
// one looks at.
func TestContractsShareAWorkspace(t *testing.T) {
	const (
		reads  = `{"contract_id":"bb","checks":[{"id":"total","type":"json_value","params":{"path":"order.json","pointer":"/total","equals":29}}]}`
		tidies = "sed -i s/31/29/ order.json\n"
	)
	both := `{"contract_id":"bb","checks":[{"id":"total","type":"json_value","params":{"path":"order.json","pointer":"/total","equals":29}},
		{"id":"tests","type":"command_exit","params":{"command":["true"]}}]}`
	helper := &world{t: t, dir: t.TempDir()}
	for name, c := range map[string]struct {
		second, run    string
		exit           int
		verdict, other string
		says           string
	}{
		"it only reads, and comes first":  {reads, tidies, 1, "FAILED", "failure", ""},
		"it starts something":             {both, tidies, 3, "INCONCLUSIVE", "failure", "a command of an earlier contract (.gate/contracts/a.json) changed the workspace"},
		"what was changed was committed":  {both, tidies + "git -c user.name=x -c user.email=x@x -c safe.directory='*' commit -qam x\n", 3, "INCONCLUSIVE", "failure", "a command of an earlier contract (.gate/contracts/a.json) changed the workspace"},
		"nothing that counts was changed": {both, "echo x >ignored.txt\n", 1, "FAILED", "failure", "the commands of .gate/contracts/a.json had before"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{base: []github.File{file(".gate/contracts/a.json", helper.freeze(commands("aa"))), file(".gate/contracts/b.json", helper.freeze(c.second)),
				file("run.sh", "exit 0\n"), file("order.json", order), file(".gitignore", "ignored.txt\n")}})
			p := w.open(file("order.json", wrongOrder), file("run.sh", c.run))
			r := w.judged(w.pulled(p))
			w.wants(r, want{exit: c.exit, verdict: c.verdict, head: p.Head,
				checks: map[string]string{"verdict / aa @ main": "success", "verdict / bb @ main": c.other, overallName: "failure"}})
			if text := w.check("verdict / bb @ main"); !strings.Contains(text.Summary+text.Text, c.says) {
				t.Errorf("it does not say %q:\n%s\n%s", c.says, text.Summary, text.Text)
			}
			if c.exit == 3 {
				w.code(r, "action.checkout_unknown")
			}
		})
	}
}

// TestCommitThatIsNotTheRuns is evidence about a merge of the head that somebody made:
// its files are not those of the commit that GitHub made for the run.
func TestCommitThatIsNotTheRuns(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("order.json", wrongOrder))
	made := w.commit([]string{w.base, p.Head}, file("order.json", order))
	if err := w.repo.SetRef("refs/heads/made", made); err != nil {
		t.Fatal(err)
	}
	first := w.step(w.pulled(p))
	first.Job.SHA, first.Inputs["check-run"] = made, "false"
	if err := os.RemoveAll(first.Job.Workspace); err != nil {
		t.Fatal(err)
	}
	if err := runner.Checkout(w.repo, first.Job.Server, repository, jobToken, "refs/heads/made", made, first.Job.Workspace); err != nil {
		t.Fatal(err)
	}
	w.signs(&first, func(c *services.Claims) { c.SHA = p.Merge })
	judged := w.run(first)
	if judged.Exit != 0 {
		t.Fatalf("exit %d", judged.Exit)
	}
	if r := w.run(w.signer(p, judged.Outputs["json"])); r.Exit != 2 || !strings.Contains(r.Stdout, "the workspace was at "+made) {
		t.Errorf("the signing job: exit %d, %v\n%s", r.Exit, r.Outputs["verdict"], r.Summary)
	}
	if r := w.run(w.second(p)); r.Exit != 3 || !strings.Contains(r.Stdout, "the evidence is about "+made) {
		t.Errorf("the second stage: exit %d, %v\n%s", r.Exit, r.Outputs["verdict"], r.Summary)
	}
}

// TestFolderIsALink is a folder to judge that the change made a link: out of the
// workspace, or into the second stage's own checkout.
func TestFolderIsALink(t *testing.T) {
	helper := &world{t: t, dir: t.TempDir()}
	base := []github.File{file(contractPath, helper.freeze(shopDraft)), file("shop/app.txt", "x\n"), file("shop/order.json", order)}
	gone := []github.File{{Path: "shop/app.txt", Mode: github.Gone}, {Path: "shop/order.json", Mode: github.Gone}}
	refused := func(t *testing.T, w *world, r runner.Result) {
		t.Helper()
		if r.Exit != 3 || r.Outputs["verdict"] != "INCONCLUSIVE" || !strings.Contains(r.Summary, "leads through the symbolic link shop") {
			t.Errorf("exit %d, %v\n%s", r.Exit, r.Outputs["verdict"], r.Summary)
		}
		w.code(r, "action.checkout_unknown")
		for n, c := range w.conclusions() {
			if c != "failure" {
				t.Errorf("%q is %s", n, c)
			}
		}
	}
	t.Run("first stage", func(t *testing.T) {
		w := newWorld(t, options{base: base})
		p := w.open(append(gone, github.File{Path: "shop", Content: "../../_temp/good", Mode: github.Link})...)
		s := w.step(w.pulled(p))
		here, _ := s.Temp()
		write(t, filepath.Join(here, "good", "order.json"), order)
		write(t, filepath.Join(here, "good", "app.txt"), "x\n")
		if out, err := exec.Command("cp", "-a", filepath.Join(s.Job.Workspace, ".git"), filepath.Join(here, "good", ".git")).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		s.Inputs["directory"] = "shop"
		refused(t, w, w.run(s))
	})
	t.Run("second stage", func(t *testing.T) {
		w := newWorld(t, options{base: base})
		p := w.openAs(github.Pull{Fork: "stranger/shop"}, "main", append(gone, github.File{Path: "shop", Content: filepath.Join(w.dir, "good"), Mode: github.Link})...)
		write(t, filepath.Join(w.dir, "good", "order.json"), order)
		write(t, filepath.Join(w.dir, "good", "app.txt"), "x\n")
		s := w.second(p)
		s.Job.Server = w.hub.URL // git fetches from there
		s.Inputs["directory"] = "shop"
		refused(t, w, w.run(s))
	})
}

// TestInputIsALink is what an input names in the workspace, and the change made a link: to
// the gate's own environment, which is then neither read nor quoted.
func TestInputIsALink(t *testing.T) {
	for _, input := range []string{"proposed", "roots", "subjects", "signing-config", "trusted-root"} {
		w := newWorld(t, options{})
		p := w.open(github.File{Path: "x/named", Content: "/proc/self/environ", Mode: github.Link})
		s := w.step(w.pulled(p))
		s.Inputs[input] = "x/named"
		r := w.run(s)
		if r.Exit != 2 || r.Outputs["verdict"] != "" || !strings.Contains(r.Summary, "symbolic link") {
			t.Errorf("%s: exit %d, %v\n%s", input, r.Exit, r.Outputs, r.Summary)
		}
		w.code(r, "action.input_invalid")
		if strings.Contains(r.Stdout+r.Summary, "GITHUB_") {
			t.Errorf("%s: the environment is quoted:\n%s", input, r.Summary)
		}
	}
}

// TestOneIDTwice are two contracts of the base with one id: they would have one name, and
// the one that is met would hide the other.
func TestOneIDTwice(t *testing.T) {
	const old = ".gate/contracts/z-old.json"
	for _, stage := range []string{"first", "second", "second, of a fork"} {
		t.Run(stage, func(t *testing.T) {
			w := newWorld(t, options{})
			w.merged(file(old, w.freeze(weakDraft)))
			pull := github.Pull{}
			if strings.HasSuffix(stage, "fork") {
				pull.Fork = "stranger/shop"
			}
			p := w.openAs(pull, "main", file("order.json", wrongOrder))
			s := w.step(w.pulled(p))
			if stage != "first" {
				s = w.second(p)
				s.Job.Server = w.hub.URL
			}
			r := w.run(s)
			if r.Exit != 2 || r.Outputs["verdict"] != "" || !strings.Contains(r.Summary, contractPath) || !strings.Contains(r.Summary, old) {
				t.Errorf("exit %d, %v\n%s", r.Exit, r.Outputs["verdict"], r.Summary)
			}
			w.code(r, "action.contract_unavailable")
			for n, c := range w.conclusions() {
				if c == "success" {
					t.Errorf("%q is a success", n)
				}
			}
		})
	}
}

// posts posts a check-run with the token of a job of the branch.
func (w *world) posts(head, name, external string) {
	w.t.Helper()
	const token = "ghs_TheTokenOfTheBranchesJob000000000002"
	w.hub.Allow(token, github.Token{Permissions: map[string]string{"checks": "write"}})
	body, err := json.Marshal(map[string]any{"name": name, "head_sha": head, "external_id": external, "status": "completed", "conclusion": "failure"})
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.hub.URL+"/repos/"+repository+"/check-runs", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := network(w.t).client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusCreated {
		w.t.Fatal(err, resp.Status)
	}
}

// TestNameTakenByAnotherApp is a job of the branch that posts under the second stage's
// name and run, so that the App's failure would not be posted, and its older success stay.
func TestNameTakenByAnotherApp(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("README", "x\n"))
	first := w.step(w.pulled(p))
	first.Inputs["check-run"] = "false"
	w.signs(&first, nil)
	w.run(first)
	second := func(run int64) runner.Result {
		s := w.second(p)
		w.hub.Allow(appToken, github.Token{App: "acme-gate", Permissions: map[string]string{"contents": "read", "pull_requests": "read", "checks": "write", "actions": "read"}})
		s.Inputs["token"], s.Job.RunID = appToken, run
		return w.run(s)
	}
	if r := second(9999); r.Exit != 0 {
		t.Fatalf("exit %d", r.Exit)
	}
	w.merged(file(contractPath, w.freeze(strings.Replace(shopDraft, `"equals":29`, `"equals":30`, 1))))
	w.hub.Pulled(p.Number, func(p *github.Pull) { p.Base = w.base })
	for _, n := range []string{verifiedName, "verdict verified @ main"} {
		w.posts(p.Head, n, "vg1:10000:1:deadbeefdeadbeef:deadbeefdeadbeef:"+w.base)
	}
	r := second(10000)
	if r.Exit != 3 || strings.Contains(r.Stdout, "action.name_taken") {
		t.Errorf("exit %d", r.Exit)
	}
	newest := map[string]string{}
	for _, c := range w.hub.CheckRuns() {
		if c.App == "acme-gate" {
			newest[c.Name] = c.Conclusion
		}
	}
	if newest[verifiedName] != "failure" || newest["verdict verified @ main"] != "failure" {
		t.Errorf("the App's newest ones: %v", newest)
	}
}

// TestSameHeadFromAFork is a stranger's pull request with the head of somebody else's. Its
// commands cannot be signed for, and its result must not take the other's place.
func TestSameHeadFromAFork(t *testing.T) {
	helper := &world{t: t, dir: t.TempDir()}
	w := newWorld(t, options{base: []github.File{file(contractPath, helper.freeze(commands("shop"))), file("run.sh", "exit 0\n")}})
	p := w.open(file("README", "x\n"))
	first := w.step(w.pulled(p))
	first.Inputs["check-run"] = "false"
	w.signs(&first, nil)
	w.run(first)
	if r := w.run(w.second(p)); r.Exit != 0 {
		t.Fatalf("exit %d", r.Exit)
	}
	before := len(w.hub.CheckRuns())
	q, err := w.hub.Open("main", p.Head, github.Pull{Fork: "stranger/shop", HeadRef: "copy"})
	if err != nil {
		t.Fatal(err)
	}
	s := w.second(q)
	s.Job.RunID, s.Job.Server = 10001, w.hub.URL
	r := w.run(s)
	if all := w.hub.CheckRuns(); r.Exit != 2 || len(all) != before || w.newest(verifiedName).Conclusion != "success" {
		t.Errorf("exit %d, %d check-runs, newest %s", r.Exit, len(all), w.newest(verifiedName).Conclusion)
	}
	if !strings.Contains(r.Stdout, fmt.Sprintf("own #%d", p.Number)) {
		t.Errorf("it does not say whose result counts:\n%s", r.Summary)
	}
}

// TestCredentialsAreTold is a checkout that keeps the job's token where commands read it.
func TestCredentialsAreTold(t *testing.T) {
	helper := &world{t: t, dir: t.TempDir()}
	for name, c := range map[string]struct {
		draft string
		keeps bool
		told  bool
	}{
		"commands":                {commands("shop"), true, true},
		"commands, nothing kept":  {commands("shop"), false, false},
		"nothing that is started": {shopDraft, true, false},
	} {
		w := newWorld(t, options{base: []github.File{file(contractPath, helper.freeze(c.draft)), file("run.sh", "exit 0\n"), file("app.txt", "x\n"), file("order.json", order)}})
		j := w.pulled(w.open(file("README", "x\n")))
		if !c.keeps {
			cmd := exec.Command("git", "config", "--local", "--unset-all", "http.https://github.com/.extraheader")
			cmd.Dir, cmd.Env = j.Workspace, github.Env(w.dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		if r := w.judged(j); r.Exit != 0 || strings.Contains(r.Summary, "persist-credentials: false") != c.told {
			t.Errorf("%s: exit %d, told: %v", name, r.Exit, !c.told)
		}
	}
}

// TestCachesReachNothingOfTheGates is a contract whose cache holds the evidence, or what
// the runner reads after the step.
func TestCachesReachNothingOfTheGates(t *testing.T) {
	for _, cache := range []string{"", "/_runner_file_commands", "/_runner_file_commands/deep", "/_github_workflow", "/cache"} {
		w := newWorld(t, options{base: []github.File{file("run.sh", "exit 0\n")}})
		s := w.step(w.job())
		_, temp := s.Temp()
		if network(t).image != "" {
			temp = map[string]string{"/_runner_file_commands": "/github/file_commands", "/_runner_file_commands/deep": "/github/file_commands/deep", "/_github_workflow": "/github/workflow"}[cache]
			if temp == "" {
				temp = "/github/runner_temp" + cache
			}
		} else {
			temp += cache
		}
		w.merged(file(contractPath, w.freeze(`{"schema_version":2,"contract_id":"shop","checks":[{"id":"tests","type":"command_exit","params":{"command":["sh","run.sh"],"caches":["`+temp+`"]}}]}`)))
		p := w.open(file("run.sh", "for f in ../../_temp/_runner_file_commands/* /github/file_commands/*; do echo verdict=VERIFIED >>$f; done; echo x >"+temp+"/x\n"))
		s.Job = w.at(s.Job, w.pulled(p))
		r := w.run(s)
		if cache == "/cache" {
			w.wants(r, want{exit: 0, verdict: "VERIFIED", checks: one("success")})
			continue
		}
		w.wants(r, want{exit: 3, verdict: "INCONCLUSIVE", checks: one("failure"), says: []string{"which is the gate"}})
	}
}

// TestWhoseRunner is evidence that was signed on a runner of somebody's own, or in a run
// at another commit than the evidence is about.
func TestWhoseRunner(t *testing.T) {
	for says, change := range map[string]func(*services.Claims){
		`the runner is "self-hosted"`: func(c *services.Claims) { c.RunnerEnvironment = "self-hosted" },
		"the evidence is about":       func(c *services.Claims) { c.SHA = strings.Repeat("b", 40) },
	} {
		w := newWorld(t, options{})
		p := w.open(file("README", "x\n"))
		first := w.step(w.pulled(p))
		first.Inputs["check-run"] = "false"
		w.signs(&first, change)
		w.run(first)
		r := w.run(w.second(p))
		if r.Exit != 3 || !strings.Contains(r.Stdout, "remote_attested cannot be granted") || !strings.Contains(r.Stdout, says) {
			t.Errorf("%s: exit %d, %v\n%s", says, r.Exit, r.Outputs["verdict"], r.Summary)
		}
	}
}

// TestUndeclaredInput is a variable of an earlier step that looks like an input: the
// second stage has none of that name.
func TestUndeclaredInput(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("order.json", wrongOrder))
	s := w.second(p)
	s.Env = map[string]string{"INPUT_CHECK-RUN": "false", "INPUT_ANNOTATIONS": "false", "INPUT_PROPOSED": "x"}
	w.run(s)
	if w.newest(verifiedName).Conclusion != "failure" {
		t.Errorf("%v", w.conclusions())
	}
	sign := w.signer(p, `{"contracts":[]}`)
	delete(sign.Action.Inputs, "directory")
	sign.Env = map[string]string{"INPUT_CHECK-RUN": "false", "INPUT_ARTIFACT": "perhaps"}
	if r := w.run(sign); strings.Contains(r.Stdout, "action.input_invalid") {
		t.Error("an input is read that the action does not have")
	}
}

// TestContractsComeAlone is the step of examples/github/contract-change.yml, with fewer
// and with more names than a pipe holds.
func TestContractsComeAlone(t *testing.T) {
	text, err := os.ReadFile("../../examples/github/contract-change.yml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	script := ""
	for _, s := range doc.Jobs["frozen"].Steps {
		if s.Name == "Contracts come alone" {
			script = s.Run
		}
	}
	if script == "" {
		t.Fatal("there is no such step")
	}
	w := newWorld(t, options{})
	many := make([]github.File, 0, 3000)
	for i := range cap(many) {
		many = append(many, file(fmt.Sprintf("src/%s/%d", strings.Repeat("long-", 10), i), "x\n"))
	}
	contract := file(contractPath, "{}\n")
	for name, c := range map[string]struct {
		files []github.File
		exit  int
	}{
		"alone": {[]github.File{contract}, 0}, "with one": {[]github.File{contract, file("README", "x\n")}, 1}, "with many": {append(slices.Clone(many), contract), 1},
		"with a submodule": {[]github.File{contract, {Path: "lib", Content: strings.Repeat("1", 40), Mode: github.Submodule},
			file(".gate/x", "x\n")}, 1},
	} {
		head := w.commit([]string{w.base}, c.files...)
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
		cmd.Dir, cmd.Env = w.repo.Dir, append(github.Env(w.dir), "BASE="+w.base, "HEAD="+head)
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != c.exit || (c.exit == 1) != strings.Contains(string(out), "::error::") {
			t.Errorf("%s: exit %d and not %d (%v)\n%.500s", name, got, c.exit, err, out)
		}
	}
}
