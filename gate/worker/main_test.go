package worker

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// The test program is its own worker, and its own attacker: as a judged
// command it is called with the name of an attack.
func TestMain(m *testing.M) {
	if status, ok := Main(context.Background(), testTypes(), os.Args); ok {
		os.Exit(status)
	}
	if strings.HasPrefix(filepath.Base(os.Args[0]), "attacker") {
		os.Exit(attackerMain(os.Args[1:]))
	}
	os.Exit(m.Run())
}

type commandParams struct {
	Command []string `json:"command" need:"yes" doc:"argv"`
	Dir     string   `json:"dir" doc:"where"`
	Caches  []string `json:"caches" doc:"caches"`
}

func (*commandParams) Profile() check.Profile { return check.Process }

// seen is what the test types observe: an Exit in words.
type seen struct {
	Code      int    `json:"code"`
	Signal    string `json:"signal"`
	Limit     string `json:"limit"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Total     int64  `json:"total"`
	Kept      int    `json:"kept"`
	Digest    string `json:"digest"`
	Truncated bool   `json:"truncated"`
	Leftovers int    `json:"leftovers"`
	Tool      string `json:"tool"`
	ToolSum   string `json:"tool_sum"`
}

func runCommand(ctx context.Context, p *commandParams, pass *check.Pass) check.Outcome {
	exit, err := pass.Exec.Run(ctx, check.Command{Argv: p.Command, Dir: p.Dir, Caches: p.Caches})
	s := seen{Code: exit.Code, Signal: exit.Signal, Limit: exit.LimitHit, Stdout: head(exit.Stdout.Data), Stderr: head(exit.Stderr.Data), Total: exit.Stdout.Total,
		Kept: len(exit.Stdout.Data), Digest: exit.Stdout.Digest.String(), Truncated: exit.Stdout.Truncated, Leftovers: exit.Leftovers, Tool: exit.Tool.Path, ToolSum: exit.Tool.Digest}
	if err != nil {
		return check.From(err).Observing(s)
	}
	if exit.Code != 0 || exit.Signal != "" {
		return check.Failed("exit %d %s", exit.Code, exit.Signal).Observing(s)
	}
	return check.Passed("exit 0").Observing(s)
}

func head(b []byte) string {
	if len(b) > 4096 {
		b = b[:4096]
	}
	return strings.ToValidUTF8(string(b), "?")
}

type attackParams struct {
	Attack []string `json:"attack" need:"yes" doc:"name and arguments"`
}

// attackInside attacks from inside a reading worker: pass when the wall held.
func attackInside(_ context.Context, p *attackParams, _ *check.Pass) check.Outcome {
	if err := attack(p.Attack); err != nil {
		return check.Passed("%v", err)
	}
	return check.Failed("the attack worked")
}

type behaveParams struct {
	What string `json:"what" need:"yes" doc:"how a reading check behaves"`
}

func behave(ctx context.Context, p *behaveParams, pass *check.Pass) check.Outcome {
	what, arg, _ := strings.Cut(p.What, " ")
	switch what {
	case "fail":
		return check.Failed("as told")
	case "hang": // minds nothing
		select {}
	case "panic":
		panic("as told")
	case "die":
		os.Exit(3)
	case "exists":
		info, err := pass.Files.Stat(ctx, arg)
		if err != nil {
			return check.From(err)
		}
		if info.Kind != check.Regular {
			return check.Failed("%s is %s", arg, info.Kind)
		}
	case "env":
		return check.Passed("env").Observing(os.Environ())
	case "wait":
		<-ctx.Done()
		return check.From(ctx.Err())
	}
	return check.Passed("as told")
}

func testTypes() plan.Types {
	return plan.Types{
		check.Define("attack", "Attacks.", attackInside),
		check.Define("behave", "Behaves.", behave),
		check.Define("command", "Runs.", runCommand),
	}
}

// step is one check of a test's contract.
type step struct {
	ID      string   `json:"id"`
	Type    string   `json:"type"`
	Params  any      `json:"params"`
	Timeout float64  `json:"timeout_seconds,omitempty"`
	Depends []string `json:"depends_on,omitempty"`
}

func cmd(id string, argv ...string) step {
	return step{ID: id, Type: "command", Params: map[string]any{"command": append([]string{}, argv...)}}
}

func does(id, what string) step {
	return step{ID: id, Type: "behave", Params: map[string]any{"what": what}}
}

// jobOf binds a contract of these steps for a workspace.
func jobOf(t testing.TB, workspace string, steps ...step) Job {
	t.Helper()
	doc, err := json.Marshal(map[string]any{"schema_version": 2, "contract_id": "test", "checks": steps})
	if err != nil {
		t.Fatal(err)
	}
	f, err := contract.Parse("test", doc)
	if err != nil {
		t.Fatal(err)
	}
	canonical := f.Canonical()
	if f, err = contract.Parse("test", canonical); err != nil {
		t.Fatal(err)
	}
	p := plan.Bind(f, testTypes())
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	return Job{Plan: p, Types: testTypes(), Start: record.Start{Contract: canonical, Workspace: workspace, Roots: []string{workspace}, Path: os.Getenv("PATH")}}
}

// mustRun runs a job that must be complete.
func mustRun(t testing.TB, job Job) Report {
	t.Helper()
	r, err := Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Complete {
		t.Fatalf("the run failed: %s", r.Failure)
	}
	if len(r.Answers) != len(job.Plan.Steps) {
		t.Fatalf("%d answers to %d steps", len(r.Answers), len(job.Plan.Steps))
	}
	return r
}

// workspace makes a folder that belongs to nobody in particular when the test
// runs as root, so that the change of user is part of every test.
func workspace(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "gate-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	own(t, dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func own(t testing.TB, path string) {
	t.Helper()
	if os.Geteuid() == 0 {
		if err := os.Lchown(path, overflowID, overflowID); err != nil {
			t.Fatal(err)
		}
	}
}

// observed reads what a test type observed.
func observed(t testing.TB, a record.Answer) seen {
	t.Helper()
	var s seen
	if err := json.Unmarshal(strictjson.Canonical(&a.Result.Observed), &s); err != nil {
		t.Fatalf("%s: %v: %s", a.Result.CheckID, err, strictjson.Canonical(&a.Result.Observed))
	}
	return s
}

func want(t testing.TB, a record.Answer, status record.Status, text string) {
	t.Helper()
	said := a.Result.Summary
	if a.Result.Error != nil {
		said += " " + a.Result.Error.Code + " " + a.Result.Error.Message
	}
	if a.Result.Status != status || !strings.Contains(said, text) {
		t.Errorf("%s: %s %q (%s); want %s with %q", a.Result.CheckID, a.Result.Status, said, a.Result.Observed, status, text)
	}
}
