package actions_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/actions/github"
	"github.com/verdictgate/verdictgate/testdata/actions/runner"
)

// toolDraft is a contract that runs a tool of the job.
const toolDraft = `{"contract_id":"shop","created_at":"2026-01-02T03:04:05+00:00","checks":[{"id":"tool","type":"command_exit","params":{"command":["shop-tool","order.json"]}}]}`

// hostAction is host/ as a release has it, but for the image that it builds: the given one.
func hostAction(t *testing.T, image string) runner.Action {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "host"), os.DirFS("../../host")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM "+image+" AS reading\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	action, err := runner.ReadAction(filepath.Join(dir, "host", "action.yml"))
	if err != nil || len(action.Steps) == 0 {
		t.Fatalf("host/action.yml: %d steps, %v", len(action.Steps), err)
	}
	return action
}

// program writes a script that can be run.
func program(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestHost is host/action.yml: the program out of the image, on the runner itself, with the job's
// tools. Earlier steps planted what a shell, a linker and Docker's client would use.
func TestHost(t *testing.T) {
	image := os.Getenv("GATE_IMAGE")
	if image == "" {
		return // there is no image to take the program from
	}
	for name, c := range map[string]struct {
		file github.File
		want want
	}{
		"verified": {file("README", "x\n"), want{exit: 0, verdict: "VERIFIED", checks: one("success"), says: []string{"VERIFIED"}}},
		"failed":   {file("order.json", wrongOrder), want{exit: 1, verdict: "FAILED", checks: one("failure"), says: []string{"FAILED"}}},
	} {
		t.Run(name, func(t *testing.T) {
			helper := &world{t: t, dir: t.TempDir()}
			w := newWorld(t, options{loopback: true, base: []github.File{file(contractPath, helper.freeze(toolDraft)), file("app.txt", "x\n"), file("order.json", order)}})
			p := w.open(c.file)
			j := w.pulled(p)
			s := runner.Step{Job: j, Action: hostAction(t, image), Inputs: map[string]string{}}
			marker := filepath.Join(j.Dir, "marker")
			planted := filepath.Join(j.Workspace, "bin")
			for _, tool := range []string{"bash", "docker", "mktemp", "git", "gate", "shop-tool"} {
				program(t, planted, tool, "touch "+marker)
			}
			program(t, planted, "profile", "touch "+marker)
			// The job's own tools lie outside of the workspace.
			tools := filepath.Join(j.Dir, "tools")
			program(t, tools, "shop-tool", `grep -q '"total": 29' "$1"`)
			s.Path = []string{planted, tools}
			s.Env = map[string]string{"BASH_ENV": filepath.Join(planted, "profile"), "LD_PRELOAD": filepath.Join(planted, "evil.so"), "DOCKER_HOST": "tcp://127.0.0.1:1",
				"BASH_FUNC_docker%%": "() { touch " + marker + "; }", "GATE_DATA_DIR": planted}
			r := w.run(s)
			c.want.head = p.Head
			w.wants(r, c.want)
			if _, err := os.Stat(marker); err == nil {
				t.Error("what an earlier step planted was run")
			}
			if strings.Contains(r.Stderr, "evil.so") {
				t.Error("the planted library was asked for")
			}
			if len(w.store.Of(runBackend)) != 1 || r.Outputs["artifact-id"] != "1" || r.Outputs["check-run-url"] == "" {
				t.Errorf("outputs: %v", r.Outputs)
			}
		})
	}
}

// TestHostIsTheSame: it takes what action.yml takes, passes all of it on, and gives what that gives.
func TestHostIsTheSame(t *testing.T) {
	read := func(name string) runner.Action {
		a, err := runner.ReadAction(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(a.Outputs)
		return a
	}
	host, image := read("host/action.yml"), read("action.yml")
	if !maps.Equal(host.Inputs, image.Inputs) || !slices.Equal(host.Outputs, image.Outputs) {
		t.Errorf("inputs %v, not %v; outputs %v, not %v", host.Inputs, image.Inputs, host.Outputs, image.Outputs)
	}
	env := host.Steps[len(host.Steps)-1].Env
	for name := range host.Inputs {
		if got, want := env["INPUT_"+strings.ToUpper(name)], "${{ inputs."+name+" }}"; got != want {
			t.Errorf("the input %s is passed on as %q, not %q", name, got, want)
		}
	}
	for name, value := range host.Values {
		if want := "${{ steps.judge.outputs." + name + " }}"; value != want {
			t.Errorf("the output %s is %q, not %q", name, value, want)
		}
	}
}
