package runner

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	got := commands(strings.Join([]string{
		"text ::error::not at the start",
		"  ::error file=a%2Cb.go,line=3::it%0Abroke %25",
		"::nosuch::x",
		"text ##[set-output name=verdict]VERIFIED",
		"progress\r::warning::after a carriage return",
		"::stop-commands::tok",
		"::error::hidden",
		"##[error]hidden",
		"::tok::",
		"::notice title=t::shown",
		"::group::unclosed",
	}, "\n"))
	want := []Command{
		{"error", map[string]string{"file": "a,b.go", "line": "3"}, "it\nbroke %"},
		{"set-output", map[string]string{"name": "verdict"}, "VERIFIED"},
		{"warning", map[string]string{}, "after a carriage return"},
		{"notice", map[string]string{"title": "t"}, "shown"},
		{"group", map[string]string{}, "unclosed"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAssignments(t *testing.T) {
	got, err := assignments("a=1\nb<<EOF\nx\ny\nEOF\n\nc=<<no\n")
	want := []Assignment{{"a", "1"}, {"b", "x\ny"}, {"c", "<<no"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	// A value with a delimiter that is known ends early: the rest is further outputs.
	got, err = assignments("name<<EOF\nx\nEOF\nverdict=VERIFIED\nz<<EOF\nEOF\n")
	if err != nil || len(got) != 3 || got[1] != (Assignment{"verdict", "VERIFIED"}) {
		t.Errorf("an injection is not seen: %q, %v", got, err)
	}
	for _, bad := range []string{"a<<EOF\nx\n", "no assignment\n"} {
		if _, err := assignments(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestStep(t *testing.T) {
	dir := t.TempDir()
	action := filepath.Join(dir, "action.yml")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(action, "inputs:\n  check-name: {default: verdict}\n  token: {default: '${{ github.token }}'}\n  matrix: {default: '${{ toJSON(matrix) }}'}\n  empty: {}\noutputs:\n  verdict: {}\nruns:\n  using: docker\n  args: [action]\n")
	a, err := ReadAction(action)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	write(program, `#!/usr/bin/env bash
env -0 | tr '\n' ' ' | tr '\0' '\n' | sort >"$RUNNER_TEMP/env"
echo "verdict=$1" >>"$GITHUB_OUTPUT"
echo summary >>"$GITHUB_STEP_SUMMARY"
echo "A=b" >>"$GITHUB_ENV"
echo "::error::x"
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "::warning::$i"; done
cat "$GITHUB_EVENT_PATH" >"$RUNNER_TEMP/event"
exit 3
`)
	s := Step{
		Program: program, Args: a.Args, Action: a, Inputs: map[string]string{"check-name": "other"},
		Env: map[string]string{"PLANTED": "yes", "GITHUB_SHA": "forged", "RUNNER_TEMP": "/forged", "INPUT_TOKEN": "forged"},
		Job: Job{Event: "push", Payload: map[string]any{"ref": "x"}, Ref: "refs/heads/main", SHA: "0123", Repository: "acme/shop", RunID: 7, Token: "secret",
			Server: "https://github.com", API: "https://api.github.com", Dir: filepath.Join(dir, "job"), Workspace: dir},
	}
	r, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Exit != 3 || r.Outputs["verdict"] != "action" || r.Summary != "summary\n" || len(r.Env) != 1 || len(r.Annotations()) != 1+perKind {
		t.Errorf("%+v", r)
	}
	env, err := os.ReadFile(filepath.Join(r.Temp, "env"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"INPUT_CHECK-NAME=other\n", "INPUT_TOKEN=secret\n", "INPUT_MATRIX=null\n", "INPUT_EMPTY=\n", "PLANTED=yes\n", "GITHUB_SHA=0123\n", "GITHUB_RUN_ATTEMPT=1\n"} {
		if !strings.Contains("\n"+string(env), "\n"+want) {
			t.Errorf("%q is not in the environment:\n%s", want, env)
		}
	}
	for _, not := range []string{"forged", "\nGITHUB_TOKEN=", "\nACTIONS_ID_TOKEN", "\nACTIONS_RUNTIME_TOKEN", "\nUSER="} {
		if strings.Contains("\n"+string(env), not) {
			t.Errorf("%q is in the environment:\n%s", not, env)
		}
	}
	s.Inputs = map[string]string{"no-such": "x"}
	if _, err := s.Run(t.Context()); err == nil {
		t.Error("an input that the action does not have was taken")
	}
}
