package gate_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/verdictgate/verdictgate/checks"
	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/worker"
)

// The test program is its own worker, as the gate is.
func TestMain(m *testing.M) {
	if status, ok := worker.Main(context.Background(), checks.All(), os.Args); ok {
		os.Exit(status)
	}
	os.Exit(m.Run())
}

var theGate = gate.Gate{Types: checks.All(), Version: "test"}

// bench is a workspace with a contract beside it.
type bench struct {
	t        *testing.T
	ws, data string
	top      string
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, top: t.TempDir()}
	b.ws, b.data = filepath.Join(b.top, "ws"), filepath.Join(b.top, "data")
	b.must(os.Mkdir(b.ws, 0o755))
	for name, text := range files {
		path := filepath.Join(b.ws, name)
		b.must(os.MkdirAll(filepath.Dir(path), 0o755))
		b.must(os.WriteFile(path, []byte(text), 0o644))
	}
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// freeze writes a frozen contract with these members beside the workspace.
func (b *bench) freeze(members string) string {
	b.t.Helper()
	draft, frozen := filepath.Join(b.top, "draft.json"), filepath.Join(b.top, "frozen.json")
	b.must(os.WriteFile(draft, []byte(`{"contract_id":"c",`+members+`}`), 0o644))
	text, err := theGate.Freeze(draft, time.Date(2026, 9, 8, 12, 0, 0, 0, time.UTC))
	b.must(err)
	b.must(os.WriteFile(frozen, text, 0o644))
	return frozen
}

func (b *bench) request(contract string) gate.Request {
	return gate.Request{Contract: contract, Dir: b.ws, DataDir: b.data, Env: os.Getenv}
}

func (b *bench) run(members string, change ...func(*gate.Request)) *bundle.Sealed {
	b.t.Helper()
	r := b.request(b.freeze(members))
	for _, c := range change {
		c(&r)
	}
	s, err := theGate.Run(b.t.Context(), r)
	b.must(err)
	// What a run gives, it wrote; a reader finds the same.
	read, err := bundle.Read(s.Dir)
	b.must(err)
	wrote, err := strictjson.Marshal(s.Evidence)
	b.must(err)
	found, err := strictjson.Marshal(read.Evidence)
	b.must(err)
	if !bytes.Equal(wrote, found) || !reflect.DeepEqual(s.Judgement, read.Judgement) || s.Attestation != read.Attestation {
		b.t.Errorf("a run gave\n%+v\nand a reader finds\n%+v", s, read)
	}
	return s
}

const mixed = `"schema_version":2,"subjects":["*.txt"],"expectations":["it looks right"],"checks":[
	{"id":"there","type":"file_exists","params":{"path":"a.txt"}},
	{"id":"value","type":"json_value","params":{"path":"j.json","pointer":"/n","equals":1}},
	{"id":"rows","type":"sqlite_query","params":{"database":"o.db","sql":"SELECT n FROM t","equals":[{"n":7}]}},
	{"id":"build","type":"command_exit","params":{"command":["sh","-c","echo built > made.txt; echo out; echo err >&2"]}},
	{"id":"made","type":"file_digest","depends_on":["build"],"params":{"path":"made.txt","sha256":"56f6e6304d02d413bb7d5d463ac5cdc58551266dc7269b467fc385815f39b913"}},
	{"id":"advice","type":"file_exists","required":false,"params":{"path":"nothing"}}]`

func mixedBench(t *testing.T) *bench {
	b := newBench(t, map[string]string{"a.txt": "x", "j.json": `{"n": 1}`})
	db, err := sql.Open("sqlite3", filepath.Join(b.ws, "o.db"))
	b.must(err)
	_, err = db.Exec("CREATE TABLE t(n); INSERT INTO t VALUES(7)")
	b.must(err)
	b.must(db.Close())
	return b
}

func TestARunIsWhatTheContractSays(t *testing.T) {
	s := mixedBench(t).run(mixed)
	e := s.Evidence
	if e.Verdict != "VERIFIED" || e.Outcome != "pass" || e.Assurance != "isolated_local" {
		t.Fatalf("%s %s %s\n%+v", e.Verdict, e.Outcome, e.Assurance, e.CheckResults)
	}
	var ids []string
	for _, r := range e.CheckResults {
		ids = append(ids, r.CheckID)
	}
	if want := []string{"there", "value", "rows", "build", "made", "advice"}; !slices.Equal(ids, want) {
		t.Errorf("results stand in the contract's order: %v", ids)
	}
	told := strings.Join(e.Limitations, "\n")
	for _, want := range []string{"check advice is advisory, not verified: fail", "expectation, advisory, not verified: it looks right", "added made.txt"} {
		if !strings.Contains(told, want) {
			t.Errorf("no limitation says %q:\n%s", want, told)
		}
	}
	if len(e.Subjects) != 2 || e.Subjects[0].Name != "a.txt" || e.Subjects[1].Name != "made.txt" {
		t.Errorf("subjects are taken after the checks: %+v", e.Subjects)
	}
	if e.ContentDigest == nil || e.Verifier.Digest == "" || e.Cost.BytesHashed == 0 || len(e.Isolation.Profiles) != 2 {
		t.Errorf("%+v", e)
	}
}

// Two runs of the same thing say the same, but for when and under what id.
func TestTwoRunsGiveTheSameEvidence(t *testing.T) {
	b := mixedBench(t)
	b.must(os.WriteFile(filepath.Join(b.ws, "made.txt"), []byte("built\n"), 0o644))
	moments := regexp.MustCompile(`"(run_id|created_at|started_at|ended_at)":"[^"]*"|"(duration_seconds|wall_seconds|cpu_seconds|peak_memory_bytes|bytes_hashed)":[^,}]*`)
	var seen []string
	for range 2 {
		text, err := os.ReadFile(filepath.Join(b.run(mixed).Dir, "evidence.json"))
		b.must(err)
		seen = append(seen, moments.ReplaceAllString(string(text), ""))
	}
	if seen[0] != seen[1] {
		t.Errorf("two runs differ:\n%s\n%s", seen[0], seen[1])
	}
}

func TestRefusedBeforeAnythingRuns(t *testing.T) {
	b := newBench(t, map[string]string{"a": "x"})
	marker := filepath.Join(b.ws, "ran")
	contract := filepath.Join(b.top, "plain.json")
	b.must(os.Rename(b.freeze(`"checks":[{"id":"c","type":"command_exit","params":{"command":["touch","ran"]}}]`), contract))
	strong := func(level string) func(*gate.Request) {
		return func(r *gate.Request) {
			r.Contract = b.freeze(fmt.Sprintf(`"required_assurance":%q,"checks":[{"id":"c","type":"command_exit","params":{"command":["touch","ran"]}}]`, level))
		}
	}
	for _, c := range []struct {
		name   string
		change func(*gate.Request)
		code   fault.Code
	}{
		{"no folder", func(r *gate.Request) { r.Dir = "" }, fault.WorkspaceUnresolved},
		{"a missing folder", func(r *gate.Request) { r.Dir = filepath.Join(b.top, "none") }, fault.WorkspaceUnresolved},
		{"a file", func(r *gate.Request) { r.Dir = filepath.Join(b.ws, "a") }, fault.WorkspaceUnresolved},
		{"a missing root", func(r *gate.Request) { r.Roots = []string{filepath.Join(b.top, "none")} }, fault.WorkspaceUnresolved},
		{"remote_attested", strong("remote_attested"), fault.AssuranceUnavailable},
		{"human_attested", strong("human_attested"), fault.AssuranceUnavailable},
		{"external_read_only", strong("external_read_only"), fault.AssuranceUnavailable},
		{"evidence inside the workspace", func(r *gate.Request) { r.DataDir = filepath.Join(b.ws, "sub") }, fault.Usage},
		{"a draft", func(r *gate.Request) { r.Contract = filepath.Join(b.top, "draft.json") }, fault.ContractNotFrozen},
		{"no contract", func(r *gate.Request) { r.Contract = filepath.Join(b.top, "none.json") }, fault.ContractUnreadable},
		{"a proposal without end", func(r *gate.Request) { r.Proposed = "/dev/zero" }, fault.Usage},
		{"a missing proposal", func(r *gate.Request) { r.Proposed = filepath.Join(b.top, "none.json") }, fault.Usage},
	} {
		r := b.request(contract)
		c.change(&r)
		_, err := theGate.Run(t.Context(), r)
		if err == nil || fault.As(err).Code != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	r := b.request("")
	strong("isolated_local")(&r)
	r.InProcess = true
	if _, err := theGate.Run(t.Context(), r); err == nil || fault.As(err).Code != fault.AssuranceUnavailable {
		t.Errorf("isolated_local in process: %v", err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a refused run has started a command")
	}
	if runs, err := os.ReadDir(filepath.Join(b.data, "verifications")); err == nil && len(runs) > 0 {
		t.Errorf("a refused run has left %v", runs)
	}
}

func TestAProposalIsOnlyAdvice(t *testing.T) {
	b := newBench(t, map[string]string{"a": "x"})
	proposal := filepath.Join(b.top, "p.json")
	for _, text := range []string{
		`[{"id":"p","type":"file_exists","params":{"path":"none"}},{"id":"cmd","type":"command_exit","params":{"command":["touch","ran"]}}]`,
		`not json`, `{"id":"p"}`, `[]`,
	} {
		b.must(os.WriteFile(proposal, []byte(text), 0o644))
		s := b.run(`"checks":[{"id":"c","type":"file_exists","params":{"path":"a"}}]`, func(r *gate.Request) { r.Proposed = proposal })
		if s.Evidence.Verdict != "VERIFIED" {
			t.Errorf("%s: %s", text, s.Evidence.Verdict)
		}
		if _, err := os.Stat(filepath.Join(b.ws, "ran")); err == nil {
			t.Fatal("a proposed command was started")
		}
	}
}

// A dependency that did not pass leaves what depends on it open; it is not run.
func TestDependencies(t *testing.T) {
	b := newBench(t, map[string]string{"a": "x"})
	s := b.run(`"schema_version":2,"checks":[
		{"id":"no","type":"file_exists","params":{"path":"none"},"required":false},
		{"id":"cmd","type":"command_exit","params":{"command":["touch","ran"]},"depends_on":["no"],"required":false},
		{"id":"next","type":"file_exists","params":{"path":"a"},"depends_on":["cmd"]}]`)
	for _, id := range []int{1, 2} {
		r := s.Evidence.CheckResults[id]
		if r.Status != "inconclusive" || r.Error == nil || r.Error.Code != string(fault.DependencyUnmet) {
			t.Errorf("%+v", r)
		}
	}
	if s.Evidence.Verdict != "INCONCLUSIVE" {
		t.Error(s.Evidence.Verdict)
	}
	if _, err := os.Stat(filepath.Join(b.ws, "ran")); err == nil {
		t.Error("a command ran although what it depends on did not pass")
	}
}

func TestSubjectsThatAreNotThereAreTold(t *testing.T) {
	b := newBench(t, map[string]string{"a": "x", "dist/b.tgz": "y"})
	file := filepath.Join(b.top, "release.bin")
	b.must(os.WriteFile(file, []byte("z"), 0o644))
	s := b.run(`"schema_version":2,"subjects":["dist/**","none*"],"checks":[{"id":"c","type":"file_exists","params":{"path":"a"}}]`,
		func(r *gate.Request) { r.Subjects = []string{file, filepath.Join(b.top, "gone.bin")} })
	var names []string
	for _, x := range s.Evidence.Subjects {
		names = append(names, x.Name)
	}
	if !slices.Equal(names, []string{filepath.ToSlash(file), "dist/b.tgz"}) {
		t.Errorf("%v", names)
	}
	told := strings.Join(s.Evidence.Limitations, "\n")
	if !strings.Contains(told, "gone.bin") || !strings.Contains(told, "none*") {
		t.Errorf("what is not bound is not told:\n%s", told)
	}
}

// In a git work tree the content digest is about what git would keep: a
// command's new file counts, an ignored one does not.
func TestContentOfAGitWorkTree(t *testing.T) {
	b := newBench(t, map[string]string{".gitignore": "ignored\n", "a": "x", "caf\xe9": "not UTF-8"})
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-qm", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = b.ws
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	s := b.run(`"checks":[{"id":"c","type":"command_exit","params":{"command":["sh","-c","echo y > new; echo z > ignored; echo w >> a"]}}]`)
	told := strings.Join(s.Evidence.Limitations, "\n")
	for _, want := range []string{"added new", "changed a"} {
		if !strings.Contains(told, want) {
			t.Errorf("no limitation says %q:\n%s", want, told)
		}
	}
	if strings.Contains(told, "ignored") || strings.Contains(told, "caf") {
		t.Errorf("what did not change, or is ignored, is told as changed:\n%s", told)
	}
	if s.Evidence.SourceRevision == nil || len(*s.Evidence.SourceRevision) != 40 {
		t.Errorf("source revision %v", s.Evidence.SourceRevision)
	}
}

func TestLintSaysAllAtOnceAndWarns(t *testing.T) {
	b := newBench(t, nil)
	draft := filepath.Join(b.top, "d.json")
	b.must(os.WriteFile(draft, []byte("{\n \"contract_id\": \"c\",\n \"checks\": [\n  {\"id\": \"p\", \"type\": \"telepathy\", \"params\": {}},\n  {\"id\": \"q\", \"type\": \"file_exists\", \"params\": {\"pth\": \"a\"}}\n ]\n}\n"), 0o644))
	l, err := theGate.Lint(draft)
	b.must(err)
	lines := map[int]bool{}
	for _, p := range l.Problems {
		lines[p.Line] = true
	}
	if !lines[4] || !lines[5] {
		t.Errorf("%+v", l.Problems)
	}
	b.must(os.WriteFile(draft, []byte(`{"contract_id":"c","required_assurance":"remote_attested","checks":[{"id":"p","type":"command_exit","required":false,"params":{"command":["no-such-tool-xyz"]}}]}`), 0o644))
	l, err = theGate.Lint(draft)
	b.must(err)
	text, err := json.Marshal(l.Warnings)
	b.must(err)
	for _, want := range []string{"no check is required", "more than this build can give", "no-such-tool-xyz"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no warning says %q: %s", want, text)
		}
	}
	if len(l.Problems) > 0 {
		t.Errorf("%+v", l.Problems)
	}
}

// The verifier's digest is that of the running binary, also from the cache.
func TestVerifierIsThisBinary(t *testing.T) {
	b := newBench(t, map[string]string{"a": "x"})
	self, err := os.Executable()
	b.must(err)
	data, err := os.ReadFile(self)
	b.must(err)
	zeros := fmt.Sprintf("sha256:%064d", 0)
	cache := filepath.Join(b.data, "cache", "verifier.json")
	for _, planted := range []string{"", "foreign", "writable", ""} {
		switch planted {
		case "foreign": // of another file
			b.must(os.WriteFile(cache, fmt.Appendf(nil, `{"key":"1 2 3","digest":%q}`, zeros), 0o600))
		case "writable": // by others, who could have written it
			text, err := os.ReadFile(cache)
			b.must(err)
			b.must(os.WriteFile(cache, regexp.MustCompile(`sha256:[0-9a-f]+`).ReplaceAll(text, []byte(zeros)), 0o600))
			b.must(os.Chmod(cache, 0o666))
		}
		s := b.run(`"checks":[{"id":"c","type":"file_exists","params":{"path":"a"}}]`)
		if s.Evidence.Verifier.Digest != strictjson.Sum(data).String() {
			t.Errorf("%+v", s.Evidence.Verifier)
		}
	}
}
