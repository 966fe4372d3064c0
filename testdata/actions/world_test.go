package actions_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/actions/events"
	"github.com/verdictgate/verdictgate/testdata/actions/github"
	"github.com/verdictgate/verdictgate/testdata/actions/results"
	"github.com/verdictgate/verdictgate/testdata/actions/runner"
)

var update = flag.Bool("update", false, "write the goldens anew")

const (
	owner, name = "acme", "shop"
	repository  = owner + "/" + name
	jobToken    = "ghs_TheTokenOfTheJobWhichNothingMayShow0"
	runBackend  = "11111111-2222-3333-4444-555555555555"
	jobBackend  = "66666666-7777-8888-9999-000000000000"
	runID       = 4242
)

// What a test's repository holds: the contract is met by these files.
const (
	contractPath = ".gate/contracts/shop.json"
	shopDraft    = `{"contract_id":"shop","title":"An order adds up","created_at":"2026-01-02T03:04:05+00:00","checks":[
		{"id":"app","type":"file_exists","params":{"path":"app.txt"}},
		{"id":"total","type":"json_value","params":{"path":"order.json","pointer":"/total","equals":29}}]}`
	order      = "{\n  \"sku\": \"a\",\n  \"total\": 29\n}\n"
	wrongOrder = "{\n  \"sku\": \"a\",\n  \"total\": 31\n}\n"
)

// permissions of a job's token as docs/action.md asks for them.
var permissions = map[string]string{"contents": "read", "pull_requests": "read", "checks": "write"}

// readOnly is the token of a pull request from a fork, or of Dependabot.
var readOnly = map[string]string{"contents": "read", "pull_requests": "read", "checks": "read", "actions": "read"}

// TestMain builds the gate when GATE does not name it.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, "tests of the Action:", err)
		os.Exit(1)
	}
	status := m.Run()
	if err := errors.Join(endSigstore(), theWay.forget()); err != nil {
		fmt.Fprintln(os.Stderr, "tests of the Action:", err)
		status = 1
	}
	os.Exit(status)
}

// gateProgram is what is tested; where GATE_IMAGE names an image, it freezes contracts only.
var gateProgram string

func build() error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	if g := os.Getenv("GATE"); g != "" {
		gateProgram, err = filepath.Abs(g)
		return err
	}
	cmd := exec.Command("make", "--no-print-directory", "build")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make build: %w\n%s", err, out)
	}
	gateProgram = filepath.Join(root, "bin", "gate")
	return nil
}

// options of a world; the zero value is a public repository with the shop's contract.
type options struct {
	private     bool
	permissions map[string]string // nil: permissions
	base        []github.File     // nil: the shop and its contract
	loopback    bool              // a program on this machine is run, whatever GATE_IMAGE asks for
}

// world is one repository on one GitHub.
type world struct {
	t     *testing.T
	repo  *github.Repo
	hub   *github.Server
	store *results.Server
	net   way
	base  string // the tip of main
	dir   string
	jobs  int
	shown []shown
}

// shown is what a step left, and the outputs that its action has.
type shown struct {
	runner.Result
	outputs []string
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	// Nobody but its owner may enter a test's folder, and the runner is another user.
	if err := os.Chmod(filepath.Dir(w.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	w.repo, err = github.NewRepo(filepath.Join(w.dir, "repo.git"))
	must(err)
	files := o.base
	if files == nil {
		files = w.shop()
	}
	w.base = w.commit(nil, files...)
	must(w.repo.SetRef("refs/heads/main", w.base))
	if w.net = network(t); o.loopback {
		w.net = way{client: http.DefaultClient}
	}
	w.hub, err = github.Start(github.Config{Repo: w.repo, Owner: owner, Name: name, Private: o.private, Address: w.net.address, TLS: w.net.cert})
	must(err)
	t.Cleanup(w.hub.Close)
	w.store, err = results.Start(w.net.address, w.net.cert)
	must(err)
	t.Cleanup(w.store.Close)
	if o.permissions == nil {
		o.permissions = permissions
	}
	w.hub.Allow(jobToken, github.Token{Permissions: o.permissions})
	w.hub.Artifacts(func(run int64) []github.Artifact {
		var out []github.Artifact
		if run != runID {
			return out // no other job of these tests uploads any
		}
		for _, a := range w.store.Of(runBackend) {
			out = append(out, github.Artifact{ID: a.ID, Name: a.Name, Size: int64(len(a.Archive)), Digest: a.Digest, URL: a.URL})
		}
		return out
	})
	t.Cleanup(w.wellBehaved)
	return w
}

// in is the same world in a part of its test, which runs steps of its own.
func (w *world) in(t *testing.T) *world {
	t.Helper()
	of := *w
	of.t, of.dir, of.shown = t, t.TempDir(), nil
	if err := os.Chmod(filepath.Dir(of.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(of.wellBehaved)
	return &of
}

// wellBehaved is what holds for every scenario.
func (w *world) wellBehaved() {
	for _, v := range slices.Concat(w.hub.Violations(), w.store.Violations()) {
		w.t.Error("violation:", v)
	}
	for _, r := range w.shown {
		for what, text := range map[string]string{"stdout": r.Stdout, "stderr": r.Stderr, "summary": r.Summary, "outputs": fmt.Sprint(r.Assigned)} {
			// A mask is how the runner is told what to hide: there, a secret must stand.
			text = masks.ReplaceAllString(text, "")
			for _, secret := range []string{jobToken, results.Signature(), strings.Split(results.Token(runBackend, jobBackend), ".")[1]} {
				if strings.Contains(text, secret) {
					w.t.Errorf("%s shows a secret:\n%s", what, text)
				}
			}
		}
		for _, c := range r.Commands {
			if slices.Contains([]string{"set-output", "set-env", "add-path", "save-state", "add-matcher", "internal-set-repo-path"}, c.Name) {
				w.t.Errorf("the log has the command %+v", c)
			}
		}
		for i, a := range r.Assigned {
			if slices.ContainsFunc(r.Assigned[:i], func(b runner.Assignment) bool { return b.Name == a.Name }) {
				w.t.Errorf("the output %s is set twice: %v", a.Name, r.Assigned)
			}
			if !slices.Contains(r.outputs, a.Name) {
				w.t.Errorf("there is an output %q that the action does not have", a.Name)
			}
		}
		if len(r.Env) > 0 || r.Path != "" {
			w.t.Errorf("it set variables for later steps: %v %q", r.Env, r.Path)
		}
		passed := r.Outputs["verdict"] == "VERIFIED" && r.Outputs["outcome"] == "pass"
		if r.Exit == 0 && !passed && r.Outputs["verdict"] != "" {
			w.t.Errorf("it exits with 0, and the verdict is %q", r.Outputs["verdict"])
		}
		if r.Exit != 0 && (passed || r.Outputs["outcome"] == "pass") {
			w.t.Errorf("it exits with %d, and the outputs tell of a pass: %v", r.Exit, r.Outputs)
		}
	}
	for _, c := range w.hub.CheckRuns() {
		if c.Status != "completed" || !slices.Contains([]string{"success", "failure", "action_required"}, c.Conclusion) {
			w.t.Errorf("the check-run %q ended with %q", c.Name, c.Conclusion)
		}
	}
}

var masks = regexp.MustCompile(`(?m)^::add-mask::.*$`)

func (w *world) commit(parents []string, files ...github.File) string {
	w.t.Helper()
	id, err := w.repo.Commit("a commit", parents, files...)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// file is a plain file.
func file(path, content string) github.File { return github.File{Path: path, Content: content} }

// shop are the shop's files, met by its contract.
func (w *world) shop(more ...github.File) []github.File {
	return append([]github.File{file("app.txt", "hello\n"), file("order.json", order), file(contractPath, w.freeze(shopDraft))}, more...)
}

var frozen sync.Map

// freeze makes a contract of a draft.
func (w *world) freeze(draft string) string {
	w.t.Helper()
	if text, ok := frozen.Load(draft); ok {
		return text.(string)
	}
	name := filepath.Join(w.dir, "draft.json")
	if err := os.WriteFile(name, []byte(draft), 0o644); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(gateProgram, "freeze", name, "-o", "-")
	cmd.Env = github.Env(w.dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("gate freeze: %v\n%s", err, said.String())
	}
	frozen.Store(draft, string(out))
	return string(out)
}

// open opens a pull request with changes to main.
func (w *world) open(files ...github.File) github.Pull {
	return w.openAs(github.Pull{}, "main", files...)
}

func (w *world) openAs(p github.Pull, base string, files ...github.File) github.Pull {
	w.t.Helper()
	from, ok := w.repo.Resolve("refs/heads/" + base)
	if !ok {
		w.t.Fatal("no branch", base)
	}
	p, err := w.hub.Open(base, w.commit([]string{from}, files...), p)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// job is a job of this world, without its event.
func (w *world) job() runner.Job {
	w.jobs++
	return runner.Job{
		Repository: repository, RunID: runID, Attempt: 1, Token: jobToken, Server: "https://github.com", API: w.hub.URL, Results: w.store.URL,
		RuntimeToken: results.Token(runBackend, jobBackend), Dir: filepath.Join(w.dir, "job"+strconv.Itoa(w.jobs)),
	}
}

func (w *world) payload(name string, changes map[string]any) map[string]any {
	w.t.Helper()
	if changes == nil {
		changes = map[string]any{}
	}
	changes["repository.full_name"], changes["repository.name"] = repository, name
	p, err := events.Load(name, changes)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// pulled is a job for a pull request.
func (w *world) pulled(p github.Pull) runner.Job {
	j := w.job()
	from := repository
	if p.Fork != "" {
		from = p.Fork
	}
	j.Event, j.Ref, j.SHA, j.BaseRef, j.HeadRef = "pull_request", fmt.Sprintf("refs/pull/%d/merge", p.Number), p.Merge, p.BaseRef, p.HeadRef
	j.Payload = w.payload("pull_request.opened", map[string]any{
		"number": p.Number, "pull_request.number": p.Number, "pull_request.head.sha": p.Head, "pull_request.head.ref": p.HeadRef, "pull_request.head.repo.full_name": from,
		"pull_request.head.repo.fork": p.Fork != "", "pull_request.base.sha": p.Base, "pull_request.base.ref": p.BaseRef, "pull_request.base.repo.full_name": repository,
	})
	return w.checkout(j)
}

// pushed is a job for a commit on a ref.
func (w *world) pushed(event, ref, sha string) runner.Job {
	j := w.job()
	j.Event, j.Ref, j.SHA = event, ref, sha
	switch {
	case event == "workflow_dispatch":
		j.Payload = w.payload("workflow_dispatch", map[string]any{"ref": ref})
	case event == "schedule": // no webhook's
		j.Payload = map[string]any{"schedule": "30 5 * * 1", "workflow": ".github/workflows/gate.yml", "repository": w.payload("workflow_dispatch", nil)["repository"]}
	case event == "release":
		j.Payload = w.payload("release.published", map[string]any{"release.tag_name": strings.TrimPrefix(ref, "refs/tags/")})
	case event == "repository_dispatch":
		j.Payload = w.payload("repository_dispatch", map[string]any{"branch": strings.TrimPrefix(ref, "refs/heads/")})
	case event == "issue_comment":
		j.Payload = w.payload("issue_comment.created", nil)
	case strings.HasPrefix(ref, "refs/tags/"):
		j.Payload = w.payload("push.tag", map[string]any{"ref": ref, "after": sha})
	default:
		j.Payload = w.payload("push", map[string]any{"ref": ref, "after": sha})
	}
	return w.checkout(j)
}

// queued is a job for a group of the merge queue.
func (w *world) queued(base, head string) runner.Job {
	j := w.job()
	ref := "refs/heads/gh-readonly-queue/main/pr-7-" + base
	if err := w.repo.SetRef(ref, head); err != nil {
		w.t.Fatal(err)
	}
	j.Event, j.Ref, j.SHA = "merge_group", ref, head
	j.Payload = w.payload("merge_group.checks_requested", map[string]any{
		"merge_group.head_sha": head, "merge_group.head_ref": ref, "merge_group.base_sha": base, "merge_group.base_ref": "refs/heads/main"})
	return w.checkout(j)
}

func (w *world) checkout(j runner.Job) runner.Job {
	w.t.Helper()
	j.Workspace = filepath.Join(j.Dir, name, name)
	if err := runner.Checkout(w.repo, j.Server, repository, j.Token, j.Ref, j.SHA, j.Workspace); err != nil {
		w.t.Fatal(err)
	}
	return j
}

// step is the gate's step of a job.
func (w *world) step(j runner.Job) runner.Step { return w.stepOf(".", j) }

// stepOf is a step that uses the action in a folder of the repository.
func (w *world) stepOf(folder string, j runner.Job) runner.Step {
	w.t.Helper()
	action, err := runner.ReadAction(filepath.Join("..", "..", folder, "action.yml"))
	if err != nil {
		w.t.Fatal(err)
	}
	s := runner.Step{Job: j, Action: action, Inputs: map[string]string{}, Program: gateProgram, Args: append([]string{"action"}, action.Args...)}
	if w.net.image != "" {
		s.Image, s.Args = w.net.image, action.Args // its entrypoint is the rest
	}
	return s
}

// run runs a step and remembers what it showed.
func (w *world) run(s runner.Step) runner.Result {
	w.t.Helper()
	r, err := s.Run(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.shown = append(w.shown, shown{r, s.Action.Outputs})
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("exit %d\nstdout:\n%.6000s\nstderr:\n%.2000s\noutputs: %.2000v", r.Exit, r.Stdout, r.Stderr, r.Outputs)
		}
	})
	return r
}

// judged runs the gate's step of a job.
func (w *world) judged(j runner.Job) runner.Result {
	w.t.Helper()
	return w.run(w.step(j))
}

// want is what must come of a step.
type want struct {
	exit    int
	verdict string
	checks  map[string]string // names of check-runs and their conclusions; all of them
	head    string            // what they are for; "" is not looked at
	says    []string          // in the summary of the job
}

func (w *world) wants(r runner.Result, want want) {
	w.t.Helper()
	if r.Exit != want.exit || r.Outputs["verdict"] != want.verdict {
		w.t.Errorf("exit %d and %q, not %d and %q", r.Exit, r.Outputs["verdict"], want.exit, want.verdict)
	}
	got := map[string]string{}
	for _, c := range w.hub.CheckRuns() {
		got[c.Name] = c.Conclusion
		if want.head != "" && c.HeadSHA != want.head {
			w.t.Errorf("the check-run %q is for %s, not %s", c.Name, c.HeadSHA, want.head)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want.checks) && len(got)+len(want.checks) > 0 {
		w.t.Errorf("check-runs %v, not %v", got, want.checks)
	}
	for _, text := range want.says {
		if !strings.Contains(r.Summary, text) {
			w.t.Errorf("the summary does not say %q:\n%s", text, r.Summary)
		}
	}
}

// code says that the step named a code in its log.
func (w *world) code(r runner.Result, code string) {
	w.t.Helper()
	if !strings.Contains(r.Stdout+r.Stderr, code) {
		w.t.Errorf("the log does not name the code %s", code)
	}
}

// check gives the one check-run of a name.
func (w *world) check(name string) github.CheckRun {
	w.t.Helper()
	var found []github.CheckRun
	for _, c := range w.hub.CheckRuns() {
		if c.Name == name {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d check-runs %q", len(found), name)
	}
	return found[0]
}

// golden compares the requests of a scenario with those that are on file.
func (w *world) golden(file string, names map[string]string) {
	w.t.Helper()
	if w.net.image != "" {
		return // the same program; versions and paths are the image's
	}
	var text strings.Builder
	for _, r := range w.hub.Requests() {
		fmt.Fprintf(&text, "%s %s\n", r.Method, r.Path)
		if r.Accept != "" && r.Accept != "application/vnd.github.v3+json" {
			fmt.Fprintf(&text, "Accept: %s\n", r.Accept)
		}
		if len(r.Body) > 0 {
			var indented bytes.Buffer
			if err := json.Indent(&indented, r.Body, "", "  "); err != nil {
				w.t.Fatal(err)
			}
			for _, line := range strings.Split(strings.TrimSpace(indented.String()), "\n") {
				// The lines of a text are told apart, so that a change of one is seen as one.
				fmt.Fprintln(&text, strings.ReplaceAll(strings.ReplaceAll(line, `\\n`, "\x00"), `\n`, "\\n\n      "))
			}
		}
		fmt.Fprintf(&text, "-> %d\n\n", r.Status)
	}
	got := normal(strings.ReplaceAll(text.String(), "\x00", `\\n`), w, names)
	path := filepath.Join("testdata", "golden", file+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	wanted, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if got != string(wanted) {
		w.t.Errorf("%s (-update writes it anew): what was sent is\n%s", path, got)
	}
}

var accidents = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`vr_[0-9A-Za-z_]+`), "RUN"},
	{regexp.MustCompile(`/blob/(main|[0-9a-f]{40})/docs/`), "/blob/BUILD/docs/"},
	{regexp.MustCompile("`[0-9a-f]{12}`"), "`SHORT`"},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "sha256:DIGEST"},
	{regexp.MustCompile(`vg1:(\d+):(\d+):[0-9a-f]{16}:[0-9a-f]{16}:`), "vg1:$1:$2:JOB:CONTRACT:"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "DIGEST"},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), "COMMIT"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`https?://127\.0\.0\.1:\d+`), "https://HOST"},
}

// normal puts words in the place of what differs from run to run.
func normal(text string, w *world, names map[string]string) string {
	for commit, as := range names {
		text = strings.ReplaceAll(text, commit, as)
	}
	text = strings.ReplaceAll(text, w.dir, "WORK")
	for _, a := range accidents {
		text = a.pattern.ReplaceAllString(text, a.with)
	}
	return text
}

// digest is one of bytes as contracts and artifacts have it.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
