package actions_test

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/actions/github"
	"github.com/verdictgate/verdictgate/testdata/actions/runner"
)

// weakDraft is a contract that every change of these tests meets.
const weakDraft = `{"contract_id":"shop","created_at":"2026-01-02T03:04:05+00:00","checks":[{"id":"app","type":"file_exists","params":{"path":"app.txt"}}]}`

// TestContractEdited is a change that weakens the contract that judges it.
func TestContractEdited(t *testing.T) {
	w := newWorld(t, options{})
	weak := w.freeze(weakDraft)
	p := w.open(file("order.json", wrongOrder), file(contractPath, weak), file(".gate/exceptions.json", "{}\n"), file(".gate/exceptions/e1.json", "{}\n"))
	w.wants(w.judged(w.pulled(p)), want{exit: 1, verdict: "FAILED", checks: one("failure"), head: p.Head})
	told := map[string]bool{}
	for _, a := range w.check(checkName).Annotations {
		if strings.Contains(a.Message+*or(a.Title), "judged against the base version") {
			told[a.Path] = true
		}
	}
	if !told[contractPath] || !told[".gate/exceptions.json"] || !told[".gate/exceptions/e1.json"] {
		t.Errorf("the edits are not told: %v in %+v", told, w.check(checkName).Annotations)
	}
}

// TestContractRemoved is one that removes it.
func TestContractRemoved(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("order.json", wrongOrder), github.File{Path: contractPath, Mode: github.Gone})
	w.wants(w.judged(w.pulled(p)), want{exit: 1, verdict: "FAILED", checks: one("failure"), head: p.Head})
}

func or(s *string) *string {
	if s == nil {
		return new(string)
	}
	return s
}

// TestWorkspaceRepository is a workspace whose .git an earlier step has made its own.
func TestWorkspaceRepository(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("order.json", wrongOrder))
	j := w.pulled(p)
	// git over HTTP is the way on which a repository could matter.
	j.Server = w.hub.URL
	for _, f := range tried {
		w.hub.Fail(f)
	}
	marker := filepath.Join(w.dir, "marker")
	git := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env, cmd.Stdin = j.Workspace, github.Env(w.dir), strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "fetch", "-q", "file://"+w.repo.Dir, w.base)
	weak := git(w.freeze(weakDraft), "hash-object", "-w", "--stdin")
	git("", "replace", git("", "rev-parse", w.base+":"+contractPath), weak)
	script := filepath.Join(j.Workspace, ".git", "evil")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+marker+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "credential.helper", "diff.external", "core.gitProxy", "uploadpack.packObjectsHook", "core.askPass"} {
		git("", "config", setting, script)
	}
	git("", "config", "core.hooksPath", filepath.Join(j.Workspace, ".git"))
	git("", "config", "url.file:///nowhere/.insteadOf", w.hub.URL)
	git("", "config", "filter.evil.clean", script)
	if err := os.WriteFile(filepath.Join(j.Workspace, ".git", "info", "attributes"), []byte("* filter=evil\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.wants(w.judged(j), want{exit: 1, verdict: "FAILED", checks: one("failure"), head: p.Head})
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program that the workspace's repository names was run")
	}
	if !w.fetched() {
		t.Error("git did not fetch the contract, so nothing was tried")
	}
}

// TestContractLinks are contracts at the base that are no files.
func TestContractLinks(t *testing.T) {
	for name, files := range map[string]func(w *world) []github.File{
		"a link": func(w *world) []github.File {
			return []github.File{file("docs/weak.json", w.freeze(weakDraft)), {Path: contractPath, Content: "../../docs/weak.json", Mode: github.Link}}
		},
		"a folder that is one": func(w *world) []github.File {
			return []github.File{file("docs/weak.json", w.freeze(weakDraft)), {Path: ".gate/contracts", Content: "../docs", Mode: github.Link}}
		},
		"a submodule": func(w *world) []github.File {
			return []github.File{{Path: ".gate/contracts", Content: strings.Repeat("1", 40), Mode: github.Submodule}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			helper := &world{t: t, dir: t.TempDir()}
			w := newWorld(t, options{base: append([]github.File{file("app.txt", "x\n"), file("order.json", order)}, files(helper)...)})
			r := w.judged(w.pulled(w.open(file("order.json", wrongOrder))))
			if r.Exit != 2 || r.Outputs["outcome"] != "refused" || r.Outputs["verdict"] != "" {
				t.Errorf("exit %d, %v", r.Exit, r.Outputs)
			}
			w.code(r, "action.contract_unavailable")
			for _, c := range w.hub.CheckRuns() {
				if c.Conclusion != "failure" {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

// TestPlanted are variables and programs that an earlier step left for later ones.
func TestPlanted(t *testing.T) {
	w := newWorld(t, options{})
	p := w.open(file("order.json", wrongOrder))
	j := w.pulled(p)
	marker := filepath.Join(j.Dir, "marker")
	bin := filepath.Join(j.Workspace, "bin")
	for _, program := range []string{"git", "gate", "sh", "chromium-headless-shell", "tesseract"} {
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\ntouch "+marker+"\nexit 0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	empty := filepath.Join(j.Workspace, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := w.step(j)
	s.Path = []string{bin}
	s.Env = map[string]string{
		"GATE_DATA_DIR": j.Workspace, "GATE_CHROMIUM": filepath.Join(bin, "chromium-headless-shell"), "GATE_TESSERACT": filepath.Join(bin, "tesseract"), "GATE_GIT": filepath.Join(bin, "git"),
		"GIT_DIR": "/nowhere", "GIT_EXEC_PATH": bin, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": filepath.Join(bin, "sh"), "GIT_SSH_COMMAND": filepath.Join(bin, "sh"),
		"SSL_CERT_FILE": empty, "SSL_CERT_DIR": j.Workspace,
		"XDG_CONFIG_HOME": j.Workspace, "TMPDIR": "/nowhere", "BASH_ENV": filepath.Join(bin, "sh"), "TUF_ROOT": j.Workspace, "SIGSTORE_ID_TOKEN": "x", "GODEBUG": "http2debug=1",
	}
	if preloadable(t) {
		s.Env["LD_PRELOAD"], s.Env["LD_LIBRARY_PATH"] = library(t, marker), bin
	}
	r := w.run(s)
	w.wants(r, want{exit: 1, verdict: "FAILED", checks: one("failure"), head: p.Head})
	if _, err := os.Stat(marker); err == nil {
		t.Error("something that was planted was run")
	}
	if !strings.HasPrefix(filepath.Join(r.Temp, r.Outputs["bundle-path"]), r.Temp) || r.Outputs["bundle-path"] == "" {
		t.Errorf("the evidence is in %q", r.Outputs["bundle-path"])
	}
	if found, err := filepath.Glob(filepath.Join(j.Workspace, "verifications*")); err != nil || len(found) > 0 {
		t.Errorf("evidence lies in the workspace: %v %v", found, err)
	}
}

// TestPlantedIdentity is an address for identity tokens that the runner did not set: the
// job has none, so an earlier step can name its own.
func TestPlantedIdentity(t *testing.T) {
	w := newWorld(t, options{})
	s := w.step(w.pulled(w.open(file("README", "x\n"))))
	s.Env = map[string]string{"ACTIONS_ID_TOKEN_REQUEST_URL": "http://127.0.0.1:1/x?y=z", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "planted"}
	r := w.run(s)
	w.wants(r, want{exit: 0, verdict: "VERIFIED", checks: one("success"), says: []string{"unsigned"}})
}

// preloadable says that the program could be kept from loading a library: a dynamic
// one loads it before its first instruction, and is not what images and host/ run.
func preloadable(t *testing.T) bool {
	if network(t).image != "" {
		return true
	}
	f, err := elf.Open(gateProgram)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}

// library makes one that leaves a marker in whatever loads it.
func library(t *testing.T, marker string) string {
	t.Helper()
	dir := t.TempDir()
	source, out := filepath.Join(dir, "evil.c"), filepath.Join(dir, "evil.so")
	code := fmt.Sprintf("#include <fcntl.h>\n__attribute__((constructor)) static void f(void) { open(%q, O_CREAT|O_WRONLY, 0666); }\n", marker)
	if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("gcc", "-shared", "-fPIC", "-o", out, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, said)
	}
	return out
}

// TestForgedEvent is an event's file that an earlier step wrote anew.
func TestForgedEvent(t *testing.T) {
	w := newWorld(t, options{})
	weak := w.commit([]string{w.base}, file(contractPath, w.freeze(weakDraft)))
	if err := w.repo.SetRef("refs/heads/weak", weak); err != nil {
		t.Fatal(err)
	}
	p := w.open(file("order.json", wrongOrder))
	other := w.openAs(github.Pull{HeadRef: "other"}, "weak", file("README", "x\n"))
	j := w.pulled(p)
	j.Payload = w.pulled(other).Payload
	w.wants(w.judged(j), want{exit: 1, verdict: "FAILED", checks: one("failure"), head: p.Head})
}

// thief is a judged command that looks for everything that it should not reach, and
// says what it got.
const thief = `exec >loot.txt 2>/dev/null
for p in /proc/[0-9]*; do
  tr '\0' '\n' <$p/environ | grep -aE '^(INPUT_|ACTIONS_|GITHUB_(OUTPUT|ENV|STEP_SUMMARY))' && echo "environ of $p"
done
for p in $PPID $(cut -d' ' -f4 /proc/$PPID/stat); do
  head -c 1 /proc/$p/mem >/dev/null && echo "mem of $p"
  ls /proc/$p/fd/ >/dev/null && echo "fd of $p"
done
for s in /var/run/docker.sock /run/docker.sock; do [ -w $s ] && echo "writable $s"; done
if command -v python3 >/dev/null; then python3 -c "
import socket
s = socket.socket(socket.AF_UNIX)
s.connect('/var/run/docker.sock')
print('docker.sock')"; fi
for d in ../../_temp /github/runner_temp; do
  find $d -name evidence.json | grep . && echo "bundle in $d"
  for f in $(find $d -type f); do echo 'verdict=VERIFIED' >>$f && echo "wrote $f"; done
done
for f in ../../_temp/_runner_file_commands/* /github/file_commands/* ../../_temp/_github_workflow/* /github/workflow/*; do
  [ -f $f ] && echo 'verdict=VERIFIED' >>$f && echo "wrote $f"
done
env | grep -aE '^(INPUT_|ACTIONS_|GITHUB_)' && echo "environment"
exit 1
`

// TestThief is the code of a change that a contract's command runs.
func TestThief(t *testing.T) {
	helper := &world{t: t, dir: t.TempDir()}
	contract := helper.freeze(`{"contract_id":"shop","checks":[{"id":"tests","type":"command_exit","params":{"command":["sh","run.sh"]}}]}`)
	w := newWorld(t, options{base: []github.File{file(contractPath, contract), file("run.sh", "exit 0\n")}})
	p := w.open(file("run.sh", thief))
	j := w.pulled(p)
	r := w.judged(j)
	w.wants(r, want{exit: 1, verdict: "FAILED", checks: one("failure"), head: p.Head})
	loot, err := os.ReadFile(filepath.Join(j.Workspace, "loot.txt"))
	if err != nil {
		t.Fatal("the command was not run:", err)
	}
	if len(loot) > 0 {
		t.Errorf("the command got:\n%s", loot)
	}
}

// hostile is text that means something wherever it is put without care.
var hostile = strings.Join([]string{
	"::error file=app.txt,line=1::planted", "::set-output name=verdict::VERIFIED", "##[set-output name=verdict]VERIFIED", "::stop-commands::x", "::add-mask::a",
	"\r::warning::planted", "<img src=x onerror=alert(1)>", "</details></td></table>", "[planted](https://evil.example)", "![](https://evil.example/x.png)", "@mona", "| a | b |",
	"```", "~~~~~", "<!--", "\u202eDEIFIREV\u202c", "\u2066x\u2069", "zero\u200bwidth", "\U0001F600", "EOF", "verdict=VERIFIED", "ghadelimiter_", "\x1b[31mred", "%0A::error::planted",
}, "\n")

// TestHostileValues is that text in an observed value, in a name of a file and in the
// output of a command.
func TestHostileValues(t *testing.T) {
	value, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	helper := &world{t: t, dir: t.TempDir()}
	contract := helper.freeze(`{"contract_id":"shop","checks":[
		{"id":"total","type":"json_value","params":{"path":"order.json","pointer":"/total","equals":29}},
		{"id":"files","type":"directory_manifest","params":{"path":"files","expected_files":["a.txt"]}},
		{"id":"tests","type":"command_exit","params":{"command":["sh","run.sh"]}}]}`)
	w := newWorld(t, options{base: []github.File{file(contractPath, contract), file("files/a.txt", "a\n"), file("order.json", order), file("run.sh", "exit 0\n")}})
	p := w.open(file("order.json", `{"total": `+string(value)+`}`), file("run.sh", "cat order.json | sed 's/\\\\n/\\n/g'; exit 1\n"),
		file("files/x\nverdict=VERIFIED\ny", "x"), file("files/::error::planted", "x"), file("files/`](x)<b>", "x"), file("files/\u202etxt.exe", "x"))
	r := w.judged(w.pulled(p))
	w.wants(r, want{exit: 1, verdict: "FAILED", checks: one("failure"), head: p.Head})
	for _, c := range r.Commands {
		if strings.HasPrefix(c.Data, "planted") {
			t.Errorf("a command of the change is obeyed: %+v", c)
		}
	}
	c := w.check(checkName)
	texts := map[string]string{"job summary": r.Summary, "title": c.Title, "summary": c.Summary, "text": c.Text}
	for i, a := range c.Annotations {
		texts[fmt.Sprint("annotation ", i)] = a.Message + *or(a.Title) + *or(a.RawDetails) + a.Path
	}
	for where, text := range texts {
		if at := invisible.FindStringIndex(text); at != nil {
			t.Errorf("the %s has %q as it stands", where, text[at[0]:at[1]])
		}
		if strings.HasPrefix(where, "annotation") {
			continue // shown as text
		}
		rendered := code.ReplaceAllString(text, "")
		for _, markup := range []string{"<img", "</td>", "](https://evil", "![](", " @mona", "\n@mona", "<!--\n"} {
			if strings.Contains(rendered, markup) {
				t.Errorf("the %s has the markup %q:\n%s", where, markup, text)
			}
		}
	}
}

var (
	invisible = regexp.MustCompile("[\u202a-\u202e\u2066-\u2069\u200b\x1b]")
	code      = regexp.MustCompile("(?s)(`{3,}|~{3,}).*?\n(`{3,}|~{3,})|`[^`\n]*`")
)

func TestLargeValue(t *testing.T) {
	w := newWorld(t, options{})
	r := w.judged(w.pulled(w.open(file("order.json", `{"total": "`+strings.Repeat("é", 5<<20)+`"}`))))
	if r.Exit != 1 && r.Exit != 3 || r.Summary == "" {
		t.Errorf("exit %d, %q, a summary of %d bytes", r.Exit, r.Outputs["verdict"], len(r.Summary))
	}
	if c := w.check(checkName); c.Conclusion != "failure" {
		t.Errorf("%+v", c)
	}
}

func TestManyFailures(t *testing.T) {
	const n = 5000
	var draft strings.Builder
	draft.WriteString(`{"contract_id":"shop","checks":[`)
	for i := range n {
		if i > 0 {
			draft.WriteString(",\n")
		}
		fmt.Fprintf(&draft, `{"id":"c%d","type":"file_exists","params":{"path":"missing/%d"}}`, i, i)
	}
	draft.WriteString("]}")
	helper := &world{t: t, dir: t.TempDir()}
	w := newWorld(t, options{base: []github.File{file(contractPath, helper.freeze(draft.String())), file("app.txt", "x\n")}})
	p := w.open(file("README", "x\n"))
	r := w.judged(w.pulled(p))
	w.wants(r, want{exit: 1, verdict: "FAILED", checks: one("failure"), head: p.Head})
	c := w.check(checkName)
	if len(c.Annotations) == 0 || !strings.Contains(c.Summary+c.Text, fmt.Sprint(n)) && !strings.Contains(c.Summary+c.Text, "5,000") {
		t.Errorf("%d annotations, and how many failed is not told", len(c.Annotations))
	}
	if writes := writes(w); writes > 80 {
		t.Errorf("%d content writes; GitHub takes 80 a minute", writes)
	}
	if r.Summary == "" {
		t.Error("the summary is too large, and dropped")
	}
}

func writes(w *world) int {
	n := 0
	for _, r := range w.hub.Requests() {
		if r.Method != "GET" {
			n++
		}
	}
	return n
}

// TestPullRequestTarget runs with the repository's secrets.
func TestPullRequestTarget(t *testing.T) {
	for name, c := range map[string]struct {
		draft string
		want  want
	}{
		"it starts a process": {`{"contract_id":"shop","checks":[{"id":"tests","type":"command_exit","params":{"command":["sh","run.sh"]}}]}`, want{exit: 2}},
		"it only reads":       {shopDraft, want{exit: 1, verdict: "FAILED"}},
	} {
		t.Run(name, func(t *testing.T) {
			helper := &world{t: t, dir: t.TempDir()}
			w := newWorld(t, options{base: []github.File{file(contractPath, helper.freeze(c.draft)), file("app.txt", "x\n"), file("order.json", order), file("run.sh", "exit 0\n")}})
			p := w.openAs(github.Pull{Fork: "stranger/shop"}, "main", file("order.json", wrongOrder), file("run.sh", "touch ran; exit 1\n"))
			j := w.pulled(p)
			if err := os.RemoveAll(j.Workspace); err != nil {
				t.Fatal(err)
			}
			if err := runner.Checkout(w.repo, j.Server, repository, j.Token, fmt.Sprintf("refs/pull/%d/head", p.Number), p.Head, j.Workspace); err != nil {
				t.Fatal(err)
			}
			j.Event, j.Ref, j.SHA = "pull_request_target", "refs/heads/main", w.base
			r := w.judged(j)
			if r.Exit != c.want.exit || r.Outputs["verdict"] != c.want.verdict {
				t.Errorf("exit %d, %v", r.Exit, r.Outputs)
			}
			if _, err := os.Stat(filepath.Join(j.Workspace, "ran")); err == nil {
				t.Error("code of the change was run")
			}
			if c.want.exit == 2 && !strings.Contains(r.Stdout+r.Stderr+r.Summary, "action.untrusted_checkout") {
				t.Error("the code is not named")
			}
		})
	}
}

// TestNoLitter holds that nothing of root's stays in the workspace, which later
// steps could not remove.
func TestNoLitter(t *testing.T) {
	if os.Geteuid() != 0 {
		return // nothing could be root's
	}
	w := newWorld(t, options{})
	j := w.pulled(w.open(file("README", "x\n")))
	r := w.judged(j)
	w.wants(r, want{exit: 0, verdict: "VERIFIED", checks: one("success")})
	for _, dir := range []string{j.Workspace, filepath.Join(r.Temp, filepath.Dir(r.Outputs["bundle-path"]))} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && runner.OwnedByRoot(path) {
				t.Errorf("%s is root's", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCredentialInInput is a token in the place of another input: what is refused is quoted, without it.
func TestCredentialInInput(t *testing.T) {
	// Made up, and put together here so that no scanner of source code takes this file for a leak.
	token := "gh" + "p_" + "aZ3bY7cX1dW9eV5fU2gT8hS4iR6jQ0kPlOmN"
	main := judgeMain(t, file("README", "x\n"), true)
	release := main.release(t)
	release.step.Inputs["assurance"] = token
	w := newWorld(t, options{})
	judging := w.step(w.pulled(w.open(file("README", "x\n"))))
	judging.Inputs["sign"] = token
	for name, r := range map[string]runner.Result{"require": release.run(release.step), "judge": w.run(judging)} {
		told := r.Stdout + r.Stderr + r.Summary + fmt.Sprint(r.Outputs)
		if r.Exit != 2 || r.Outputs["outcome"] != "refused" || strings.Contains(told, token) || !strings.Contains(told, "redacted:github-token") {
			t.Errorf("%s: exit %d\n%s", name, r.Exit, told)
		}
	}
}
