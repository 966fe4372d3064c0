package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// buildLean makes what make build makes: the full program inside the lean one.
func buildLean(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	full, lean, overlay := filepath.Join(dir, "full"), filepath.Join(dir, "gate"), filepath.Join(dir, "overlay.json")
	place, err := filepath.Abs("full/gate")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{place: full}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"build", "-o", full, "."}, {"build", "-tags", "lean", "-overlay", overlay, "-o", lean, "."}} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return lean
}

// The lean program starts fast because it links less, and nobody can tell from
// what it says: a contract that needs the rest is judged by the program that it
// carries, and both are the one verifier that the user installed.
func TestTheLeanProgramIsTheWholeGate(t *testing.T) {
	lean := buildLean(t)
	program, err := os.ReadFile(lean)
	if err != nil {
		t.Fatal(err)
	}
	if linked, err := exec.Command("go", "list", "-e", "-tags", "lean", "-deps", ".").Output(); err != nil || strings.Contains(string(linked), "santhosh-tekuri") || strings.Contains(string(linked), "sigstore") {
		t.Fatalf("the lean program links the JSON Schema library, or Sigstore: %v", err)
	}
	top := t.TempDir()
	ws, data := filepath.Join(top, "ws"), filepath.Join(top, "data")
	if err := os.MkdirAll(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws, "j.json"), []byte(`{"a": 1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	call := func(want int, args ...string) string {
		t.Helper()
		out, err := exec.Command(lean, args...).CombinedOutput()
		status := 0
		if exit, ok := err.(*exec.ExitError); ok {
			status = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if status != want {
			t.Fatalf("gate %s: exit %d, want %d\n%s", strings.Join(args, " "), status, want, out)
		}
		return string(out)
	}
	const schema = `{"id":"s","type":"json_schema","params":{"path":"j.json","schema":{"required":[%q]}}}`
	for _, c := range []struct {
		checks string
		status int
	}{
		{`{"id":"f","type":"file_exists","params":{"path":"j.json"}}`, 0},
		{fmt.Sprintf(schema, "a"), 0},
		{fmt.Sprintf(schema, "b"), 1},
		{fmt.Sprintf(schema, "a") + `,{"id":"c","type":"command_exit","params":{"command":["true"]}}`, 0},
	} {
		draft, frozen := filepath.Join(top, "draft.json"), filepath.Join(top, "frozen.json")
		if err := os.WriteFile(draft, []byte(`{"contract_id":"c","checks":[`+c.checks+`]}`), 0o644); err != nil {
			t.Fatal(err)
		}
		call(0, "lint", draft)
		call(0, "freeze", draft, "-o", frozen, "--force")
		var said struct {
			RunID string `json:"run_id"`
		}
		if err := json.Unmarshal([]byte(call(c.status, "run", frozen, "--dir", ws, "--data-dir", data, "--format", "json")), &said); err != nil {
			t.Fatal(err)
		}
		s, err := bundle.Read(filepath.Join(data, "verifications", said.RunID))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Evidence.Verifier.Digest; got != strictjson.Sum(program).String() {
			t.Errorf("%s: the verifier is %s, not the program that was started", c.checks, got)
		}
		for _, i := range s.Evidence.Isolation.Profiles {
			for _, l := range i.Layers {
				if l.Name == "landlock" && !l.On {
					t.Errorf("%s: %s", c.checks, l.Detail)
				}
			}
		}
		call(0, "show", said.RunID, "--data-dir", data)
	}
	// Signing is the carried program's.
	key, public := newKeyPair(t, top)
	frozen := filepath.Join(top, "frozen.json")
	var said struct {
		RunID  string `json:"run_id"`
		Bundle string `json:"bundle"`
	}
	subject := filepath.Join(ws, "j.json")
	if err := json.Unmarshal([]byte(call(0, "run", frozen, "--dir", ws, "--data-dir", data, "--subject", subject, "--sign", "key", "--key", key, "--format", "json")), &said); err != nil {
		t.Fatal(err)
	}
	call(0, "show", said.RunID, "--data-dir", data, "--key", public)
	if out := call(0, "require", said.Bundle, "--subject", subject, "--contract", frozen, "--key", public, "--verifier-digest", strictjson.Sum(program).String()); !strings.Contains(out, "VERIFIED") {
		t.Errorf("require said\n%s", out)
	}
	call(0, "sign", said.RunID, "--data-dir", data, "--sign", "key", "--key", key, "--force")
	// A pipe can be read once, and here two programs need what it gives.
	piped := exec.Command("sh", "-c", `cat frozen.json | "$1" run /dev/stdin --dir ws --data-dir data`, "sh", lean)
	piped.Dir = top
	if out, err := piped.CombinedOutput(); err != nil || !strings.Contains(string(out), "VERIFIED") {
		t.Errorf("a contract from a pipe: %v\n%s", err, out)
	}
	if out := call(0, "checks"); !strings.Contains(out, "json_schema") {
		t.Errorf("checks does not list the carried types:\n%s", out)
	}
	if out := call(0, "lint", "--schema"); !strings.Contains(out, "json_schema") {
		t.Errorf("the schema lacks the carried types:\n%s", out)
	}
}
