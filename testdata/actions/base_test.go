package actions_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/actions/github"
	"github.com/verdictgate/verdictgate/testdata/actions/runner"
)

// moved points main to a commit that changes files of another one; none is an orphan.
func (w *world) moved(from string, files ...github.File) string {
	w.t.Helper()
	var parents []string
	if from == "" {
		files = append(w.shop(file("elsewhere.txt", "x\n")), files...)
	} else {
		parents = []string{from}
	}
	to := w.commit(parents, files...)
	w.point("refs/heads/main", to)
	return to
}

func (w *world) point(ref, to string) {
	w.t.Helper()
	if err := w.repo.SetRef(ref, to); err != nil {
		w.t.Fatal(err)
	}
}

// remerged makes the merge of a pull request anew, as GitHub does when its base went on.
// The base that the API names stays.
func (w *world) remerged(p github.Pull, base string) github.Pull {
	w.t.Helper()
	merge, err := w.repo.Merge(base, p.Head)
	if err != nil {
		w.t.Fatal(err)
	}
	w.point(fmt.Sprintf("refs/pull/%d/merge", p.Number), merge)
	p.Merge = merge
	return p
}

// TestBaseOfAPullRequest: which of the commits that a base branch had judges.
func TestBaseOfAPullRequest(t *testing.T) {
	for name, c := range map[string]struct {
		// world gives the pull request, of which the strict contract is not met.
		world func(w *world) github.Pull
		want  want
	}{
		"the API's base is old, and the merge is with a stricter main": {func(w *world) github.Pull {
			weak := w.moved(w.base, file(contractPath, w.freeze(weakDraft)))
			p := w.open(file("order.json", wrongOrder))
			return w.remerged(p, w.moved(weak, file(contractPath, w.freeze(shopDraft))))
		}, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
		"the merge is old, and the API's base is stricter": {func(w *world) github.Pull {
			weak := w.moved(w.base, file(contractPath, w.freeze(weakDraft)))
			p := w.open(file("order.json", wrongOrder))
			strict := w.moved(weak, file(contractPath, w.freeze(shopDraft)))
			w.hub.Pulled(p.Number, func(p *github.Pull) { p.Base = strict })
			return p
		}, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
		"both are older than main, and what the job merges with judges": {func(w *world) github.Pull {
			p := w.open(file("order.json", wrongOrder))
			w.moved(w.base, file(contractPath, w.freeze(weakDraft)))
			return p
		}, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
		"a weak contract was force-pushed away": {func(w *world) github.Pull {
			w.moved(w.base, file(contractPath, w.freeze(weakDraft)))
			p := w.open(file("order.json", wrongOrder))
			w.point("refs/heads/main", w.base)
			return p
		}, want{exit: 3, verdict: "INCONCLUSIVE", says: []string{"not on the base branch main"}}},
		"the same, and the merge is with main as it is now": {func(w *world) github.Pull {
			w.moved(w.base, file(contractPath, w.freeze(weakDraft)))
			p := w.open(file("order.json", wrongOrder))
			w.point("refs/heads/main", w.base)
			return w.remerged(p, w.base)
		}, want{exit: 1, verdict: "FAILED", checks: one("failure")}},
		"main is another branch by now": {func(w *world) github.Pull {
			p := w.open(file("README", "x\n"))
			w.moved("")
			return p
		}, want{exit: 3, verdict: "INCONCLUSIVE", says: []string{"not on the base branch main"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			p := c.world(w)
			r := w.judged(w.pulled(p))
			c.want.head = p.Head
			if c.want.checks == nil {
				if checks := w.hub.CheckRuns(); len(checks) != 1 || checks[0].Conclusion != "failure" {
					t.Errorf("%+v", checks)
				}
				c.want.checks = map[string]string{}
				for _, check := range w.hub.CheckRuns() {
					c.want.checks[check.Name] = "failure"
				}
				w.code(r, "action.base_untrusted")
			}
			w.wants(r, c.want)
		})
	}
}

// TestOrphanTag is a tag on a commit that has no ancestor in common with main: the
// comparison that GitHub refuses with 404 is an answer.
func TestOrphanTag(t *testing.T) {
	w := newWorld(t, options{})
	orphan := w.commit(nil, file("app.txt", "x\n"), file("order.json", wrongOrder), file(contractPath, w.freeze(weakDraft)))
	w.point("refs/tags/v1", orphan)
	r := w.judged(w.pushed("push", "refs/tags/v1", orphan))
	w.wants(r, want{exit: 1, verdict: "FAILED", checks: one("failure"), head: orphan})
	if edited := w.check(checkName).Annotations; !slices.ContainsFunc(edited, func(a github.Annotation) bool { return a.Path == contractPath }) {
		t.Errorf("that its contract is another one is not told: %+v", edited)
	}
}

// TestStackedGroup is a group of the merge queue that stands on one that is not merged.
func TestStackedGroup(t *testing.T) {
	for name, c := range map[string]struct {
		before func(w *world) (base string)
		want   want
		says   string
	}{
		"the same contracts": {func(w *world) string { return w.commit([]string{w.base}, file("docs.txt", "x\n")) }, want{exit: 1, verdict: "FAILED", checks: one("failure")}, ""},
		"another contract":   {func(w *world) string { return w.commit([]string{w.base}, file(contractPath, w.freeze(weakDraft))) }, want{exit: 3, verdict: "INCONCLUSIVE"}, "which is not merged into main yet and has other contracts"},
		"one contract more": {func(w *world) string {
			return w.commit([]string{w.base}, file(".gate/contracts/z.json", w.freeze(weakDraft)))
		}, want{exit: 3, verdict: "INCONCLUSIVE"}, "has other contracts"},
		"the one before it was merged": {func(w *world) string {
			base := w.commit([]string{w.base}, file("docs.txt", "x\n"))
			w.point("refs/heads/main", base)
			return base
		}, want{exit: 1, verdict: "FAILED", checks: one("failure")}, ""},
		"main went another way": {func(w *world) string {
			base := w.commit([]string{w.base}, file("docs.txt", "x\n"))
			w.moved(w.base, file("docs.txt", "y\n"))
			return base
		}, want{exit: 3, verdict: "INCONCLUSIVE"}, "which is not on the base branch main"},
		"on no commit of main": {func(w *world) string {
			return w.commit(nil, file("app.txt", "x\n"), file(contractPath, w.freeze(weakDraft)))
		}, want{exit: 3, verdict: "INCONCLUSIVE"}, "which is not on the base branch main"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			base := c.before(w)
			head := w.commit([]string{base}, file("order.json", wrongOrder))
			r := w.judged(w.queued(base, head))
			if r.Exit != c.want.exit || r.Outputs["verdict"] != c.want.verdict || !strings.Contains(r.Summary, c.says) {
				t.Errorf("exit %d, %v\n%s", r.Exit, r.Outputs, r.Summary)
			}
			if c.says != "" {
				w.code(r, "action.base_untrusted")
			}
			for _, check := range w.hub.CheckRuns() {
				if check.Conclusion != "failure" || check.HeadSHA != head {
					t.Errorf("%+v", check)
				}
			}
		})
	}
}

// TestSecondStageOfAGroup is evidence about a group of the merge queue.
func TestSecondStageOfAGroup(t *testing.T) {
	for name, c := range map[string]struct {
		event   string // of the run, by the API; "" is merge_group
		after   func(w *world, base string)
		exit    int
		verdict string
	}{
		"it waits behind another one": {"", func(*world, string) {}, 0, "VERIFIED"},
		"that one was merged":         {"", func(w *world, base string) { w.point("refs/heads/main", base) }, 0, "VERIFIED"},
		"that one never will be":      {"", func(w *world, _ string) { w.moved(w.base, file("other.txt", "x\n")) }, 3, "INCONCLUSIVE"},
		"the contract was replaced on top of it": {"", func(w *world, base string) {
			w.moved(base, file(contractPath, w.freeze(weakDraft)))
		}, 3, "INCONCLUSIVE"},
		// Main's contract judges, and the evidence names main, so nothing is gained.
		"it was a push to a branch of that name": {"push", func(*world, string) {}, 0, "VERIFIED"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			base := w.commit([]string{w.base}, file("docs.txt", "x\n"))
			head := w.commit([]string{base}, file("README", "x\n"))
			s := w.step(w.queued(base, head))
			w.signs(&s, nil)
			s.Inputs["check-run"] = "false"
			w.run(s)
			c.after(w, base)
			s = w.second(github.Pull{Head: head, HeadRef: "x"})
			if c.event == "" {
				c.event = "merge_group"
			}
			w.hub.AddRun(github.Run{ID: runID, Event: c.event, HeadSHA: head, HeadBranch: "gh-readonly-queue/main/pr-7-" + base, Called: []github.Called{{Path: judge, Ref: "refs/tags/v1", SHA: judgeCommit}}})
			r := w.run(s)
			if r.Exit != c.exit || r.Outputs["verdict"] != c.verdict {
				t.Errorf("exit %d, %v\n%s", r.Exit, r.Outputs, r.Summary)
			}
			w.end(head, c.exit == 0)
		})
	}
}

// end says that there are check-runs, all for a head, and all or none a success.
func (w *world) end(head string, success bool) {
	w.t.Helper()
	checks := w.hub.CheckRuns()
	for _, c := range checks {
		if c.HeadSHA != head || (c.Conclusion == "success") != success {
			w.t.Errorf("%+v", c)
		}
	}
	if len(checks) == 0 {
		w.t.Error("there is no check-run")
	}
}

// TestQueueByAPush is a branch that is called like one of the queue's, made by somebody who may
// push, with a contract of his own: main's judges, whatever patterns are trusted.
func TestQueueByAPush(t *testing.T) {
	for _, event := range []string{"push", "workflow_dispatch"} {
		w := newWorld(t, options{})
		head := w.commit([]string{w.base}, file("order.json", wrongOrder), file(contractPath, w.freeze(weakDraft)))
		ref := "refs/heads/gh-readonly-queue/main/pr-7-" + w.base
		w.point(ref, head)
		s := w.step(w.pushed(event, ref, head))
		s.Inputs["trusted-refs"] = "main\n**"
		w.wants(w.run(s), want{exit: 1, verdict: "FAILED", checks: one("failure"), head: head})
	}
}

// firstStage judges and signs a pull request, and posts nothing.
func (w *world) firstStage(p github.Pull) runner.Result {
	w.t.Helper()
	s := w.step(w.pulled(p))
	w.signs(&s, nil)
	s.Inputs["check-run"] = "false"
	return w.run(s)
}

// TestBaseMoved is a base branch that goes on between the stages.
func TestBaseMoved(t *testing.T) {
	for name, c := range map[string]struct {
		moved   func(w *world)
		exit    int
		verdict string
		says    string
	}{
		"another change was merged": {func(w *world) { w.moved(w.base, file("docs.txt", "x\n")) }, 0, "VERIFIED", ""},
		"the contract was replaced": {func(w *world) { w.moved(w.base, file(contractPath, w.freeze(weakDraft))) }, 3, "INCONCLUSIVE", "the contract .gate/contracts/shop.json has changed"},
		"main is another branch":    {func(w *world) { w.moved("", file("docs.txt", "x\n")) }, 3, "INCONCLUSIVE", "which is not on the base branch main"},
		"the contract is gone":      {func(w *world) { w.moved(w.base, github.File{Path: contractPath, Mode: github.Gone}) }, 3, "INCONCLUSIVE", "there is no contract"},
	} {
		for _, told := range []bool{true, false} { // whether GitHub names the new base by then
			t.Run(fmt.Sprint(name, told), func(t *testing.T) {
				w := newWorld(t, options{})
				p := w.open(file("README", "x\n"))
				w.firstStage(p)
				c.moved(w)
				if base, ok := w.repo.Resolve("refs/heads/main"); ok && told {
					w.hub.Pulled(p.Number, func(p *github.Pull) { p.Base = base })
				}
				r := w.run(w.second(p))
				if r.Exit != c.exit || r.Outputs["verdict"] != c.verdict || !strings.Contains(r.Summary, c.says) {
					t.Errorf("exit %d, %v\n%s", r.Exit, r.Outputs, r.Summary)
				}
				if strings.Contains(name, "replaced") && !strings.Contains(r.Summary, "updated and judged again") {
					t.Errorf("it is not said what to do:\n%s", r.Summary)
				}
				w.end(p.Head, c.exit == 0)
			})
		}
	}
}

// TestBaseMovedBeforeSigning is the same between the jobs of the reusable workflow.
func TestBaseMovedBeforeSigning(t *testing.T) {
	for name, c := range map[string]struct {
		moved   func(w *world)
		exit    int
		verdict string
		says    string
	}{
		"another change was merged": {func(w *world) { w.moved(w.base, file("docs.txt", "x\n")) }, 0, "VERIFIED", ""},
		"the contract was replaced": {func(w *world) { w.moved(w.base, file(contractPath, w.freeze(weakDraft))) }, 2, "", "is not by the contract .gate/contracts/shop.json that main has at its tip"},
		"a contract was added": {func(w *world) {
			w.moved(w.base, file(".gate/contracts/z.json", w.freeze(strings.Replace(weakDraft, "shop", "other", 1))))
		}, 2, "", "is not by the contract .gate/contracts/z.json"},
		"main is another branch": {func(w *world) { w.moved("") }, 3, "INCONCLUSIVE", "which is not on the base branch main"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			p := w.open(file("README", "x\n"))
			first := w.step(w.pulled(p))
			first.Inputs["check-run"] = "false"
			judged := w.run(first)
			c.moved(w)
			base, _ := w.repo.Resolve("refs/heads/main")
			w.hub.Pulled(p.Number, func(p *github.Pull) { p.Base = base })
			r := w.run(w.signer(p, judged.Outputs["json"]))
			if r.Exit != c.exit || r.Outputs["verdict"] != c.verdict || !strings.Contains(r.Summary, c.says) {
				t.Errorf("exit %d, %v\n%s", r.Exit, r.Outputs, r.Summary)
			}
			for _, check := range w.hub.CheckRuns() {
				if check.Conclusion == "success" && c.exit != 0 && check.Name != checkName {
					t.Errorf("%+v", check)
				}
			}
		})
	}
}

// TestSigningWithoutContract is the reusable workflow before a repository has a contract: what the
// judging job found is UNVERIFIED, and is signed as that.
func TestSigningWithoutContract(t *testing.T) {
	for name, moved := range map[string]bool{"none": false, "one came in between": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{base: []github.File{file("app.txt", "x")}})
			p := w.open(file(contractPath, w.freeze(weakDraft)))
			first := w.step(w.pulled(p))
			first.Inputs["check-run"] = "false"
			judged := w.run(first)
			next := file("docs.txt", "x\n")
			if moved {
				next = file(contractPath, w.freeze(shopDraft))
			}
			w.moved(w.base, next) // and the placeholder names the base that there was
			r := w.run(w.signer(p, judged.Outputs["json"]))
			if moved {
				if r.Exit != 2 || r.Outputs["verdict"] != "" || !strings.Contains(r.Summary, "the judging job found no contract, and main has one") {
					t.Errorf("exit %d, %v\n%s", r.Exit, r.Outputs, r.Summary)
				}
				return
			}
			if r.Exit != 4 || r.Outputs["verdict"] != "UNVERIFIED" || r.Outputs["artifact-id"] == "" || r.Outputs["bundle-digest"] == "" {
				t.Errorf("exit %d, %v\n%s", r.Exit, r.Outputs, r.Summary)
			}
			if checks := w.hub.CheckRuns(); len(checks) != 1 || checks[0].Conclusion != "action_required" {
				t.Errorf("%+v", checks)
			}
			if n := len(w.store.Of(runBackend)); n != 2 {
				t.Errorf("%d artifacts", n)
			}
		})
	}
}

// TestSigningAFolder is the signing job's own inputs: what was judged of the
// repository is for both jobs to say.
func TestSigningAFolder(t *testing.T) {
	helper := &world{t: t, dir: t.TempDir()}
	for directory, exit := range map[string]int{".": 2, "shop": 0} {
		w := newWorld(t, options{base: []github.File{file(contractPath, helper.freeze(weakDraft)), file("shop/app.txt", "x\n")}})
		p := w.open(file("README", "x\n"))
		first := w.step(w.pulled(p))
		first.Inputs["check-run"], first.Inputs["directory"] = "false", "shop"
		judged := w.run(first)
		s := w.signer(p, judged.Outputs["json"])
		if s.Inputs["directory"] = directory; directory == "." {
			delete(s.Inputs, "directory")
		}
		if r := w.run(s); r.Exit != exit || (r.Outputs["verdict"] == "VERIFIED") != (exit == 0) {
			t.Errorf("%s: exit %d, %v", directory, r.Exit, r.Outputs)
		}
	}
}

// TestDependabot: nobody can sign for its changes, so they are read anew; a person's
// branch of that name, and another bot's, are like any other.
func TestDependabot(t *testing.T) {
	for _, c := range []struct {
		author  string
		file    github.File
		sign    bool
		exit    int
		verdict string
	}{
		{"dependabot[bot]", file("README", "x\n"), false, 0, "VERIFIED"},
		{"dependabot[bot]", file("order.json", wrongOrder), false, 1, "FAILED"},
		// A person pushed to its branch, and that job could sign.
		{"dependabot[bot]", file("README", "x\n"), true, 0, "VERIFIED"},
		{"mona", file("README", "x\n"), false, 3, "INCONCLUSIVE"},
		{"renovate[bot]", file("README", "x\n"), false, 3, "INCONCLUSIVE"},
	} {
		t.Run(c.author+c.verdict, func(t *testing.T) {
			w := newWorld(t, options{})
			p := w.openAs(github.Pull{HeadRef: "dependabot/go_modules/x", Author: c.author}, "main", c.file)
			if c.sign {
				w.firstStage(p)
			} else {
				s := w.step(w.pulled(p))
				s.Inputs["check-run"] = "false"
				w.run(s)
			}
			s := w.second(p)
			s.Job.Server = w.hub.URL
			if c.sign {
				s.Job.Server = "https://github.com" // which the certificate names
			}
			r := w.run(s)
			if r.Exit != c.exit || r.Outputs["verdict"] != c.verdict {
				t.Errorf("exit %d, %v\n%s", r.Exit, r.Outputs, r.Summary)
			}
			anew := c.author == "dependabot[bot]" && !c.sign
			if got := strings.Contains(r.Summary, "the change comes from Dependabot"); got != anew {
				t.Errorf("read anew: %v\n%s", got, r.Summary)
			}
			w.end(p.Head, c.exit == 0)
		})
	}
}

// TestSecondStageOfAForkByTheTip: a fork's change is read by the contract at the tip, and
// only the pull request whose head was judged is one.
func TestSecondStageOfAForkByTheTip(t *testing.T) {
	w := newWorld(t, options{})
	weak := w.moved(w.base, file(contractPath, w.freeze(weakDraft)))
	p := w.openAs(github.Pull{Fork: "stranger/shop"}, "main", file("order.json", wrongOrder))
	w.moved(weak, file(contractPath, w.freeze(shopDraft)))
	s := w.second(p)
	s.Job.Server = w.hub.URL
	if r := w.run(s); r.Exit != 1 || r.Outputs["verdict"] != "FAILED" {
		t.Errorf("exit %d, %v", r.Exit, r.Outputs)
	}
	next := w.commit([]string{p.Head}, file("order.json", order))
	w.hub.Pulled(p.Number, func(p *github.Pull) { p.Head = next })
	s = w.second(p)
	s.Job.Server = w.hub.URL
	if r := w.run(s); r.Exit != 2 || r.Outputs["verdict"] != "" {
		t.Errorf("the change went on: exit %d, %v", r.Exit, r.Outputs)
	}
}

// TestOtherArtifacts are what a run uploads beside the evidence.
func TestOtherArtifacts(t *testing.T) {
	for name, c := range map[string]struct {
		also    func(w *world, nowhere string) []github.Artifact
		fail    []github.Fault
		without bool // the evidence is not there
		exit    int
		verdict string
	}{
		"a large one": {also: func(_ *world, nowhere string) []github.Artifact {
			return []github.Artifact{{ID: 77, Name: "docker-image", Size: 5 << 30, Digest: digest(nil), URL: nowhere}}
		}, exit: 0, verdict: "VERIFIED"},
		"one that is no archive": {also: func(w *world, _ string) []github.Artifact {
			a := w.store.Put(runBackend, "junk", []byte("junk"))
			return []github.Artifact{{ID: a.ID, Name: "junk", Size: 4, Digest: digest(nil), URL: a.URL}}
		}, exit: 0, verdict: "VERIFIED"},
		"one that the store lost": {also: func(_ *world, nowhere string) []github.Artifact {
			return []github.Artifact{{ID: 77, Name: "logs", Size: 5, Digest: digest(nil), URL: nowhere}}
		}, exit: 0, verdict: "VERIFIED"},
		"only one that the store lost": {also: func(_ *world, nowhere string) []github.Artifact {
			return []github.Artifact{{ID: 77, Name: "logs", Size: 5, Digest: digest(nil), URL: nowhere}}
		}, without: true, exit: 2, verdict: ""},
		"GitHub gives none": {fail: []github.Fault{{Operation: "actions/download-artifact", Kind: github.Broken}}, exit: 2, verdict: ""},
		"too large, and nothing else": {also: func(_ *world, nowhere string) []github.Artifact {
			return []github.Artifact{{ID: 77, Name: "docker-image", Size: 5 << 30, Digest: digest(nil), URL: nowhere}}
		}, without: true, exit: 3, verdict: "INCONCLUSIVE"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{})
			p := w.open(file("README", "x\n"))
			w.firstStage(p)
			nowhere := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(nowhere.Close)
			var list []github.Artifact
			if c.also != nil {
				list = c.also(w, nowhere.URL)
			}
			for _, a := range w.store.Of(runBackend) {
				if a.Name != "junk" && !c.without {
					list = append(list, github.Artifact{ID: a.ID, Name: a.Name, Size: int64(len(a.Archive)), Digest: a.Digest, URL: a.URL})
				}
			}
			s := w.second(p)
			w.hub.Artifacts(func(int64) []github.Artifact { return list })
			for _, f := range c.fail {
				w.hub.Fail(f)
			}
			r := w.run(s)
			if r.Exit != c.exit || r.Outputs["verdict"] != c.verdict {
				t.Errorf("exit %d, %v\n%s", r.Exit, r.Outputs, r.Summary)
			}
			for _, check := range w.hub.CheckRuns() {
				if (check.Conclusion == "success") != (c.exit == 0) {
					t.Errorf("%+v", check)
				}
			}
		})
	}
}

// TestBudget is how many requests the stages make of GitHub, as docs/action.md says.
func TestBudget(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("README", "x\n"))
	var judged string
	for _, c := range []struct {
		what     string
		step     func() runner.Step
		requests int
	}{
		{"judging", func() runner.Step { return w.step(w.pulled(p)) }, 18},
		{"signing", func() runner.Step {
			s := w.signer(p, judged)
			s.Inputs["check-name"] = "signed" // the judging job has posted the other name
			return s
		}, 17},
		{"the second stage", func() runner.Step { return w.second(p) }, 17 + 2},
	} {
		s := c.step()
		w.hub.Forget()
		if r := w.run(s); c.what == "judging" {
			judged = r.Outputs["json"]
		}
		made := w.hub.Requests()
		if len(made) != c.requests {
			t.Errorf("%s: %d requests", c.what, len(made))
			for _, r := range made {
				t.Logf("%s %s", r.Method, r.Path)
			}
		}
		seen := map[string]bool{}
		for _, r := range made {
			if key := r.Method + r.Path; r.Method == "GET" && seen[key] && !strings.Contains(key, "/check-runs?") { // those are looked at before and after a post
				t.Errorf("%s: %s was read twice", c.what, r.Path)
			} else {
				seen[key] = true
			}
		}
	}
}
