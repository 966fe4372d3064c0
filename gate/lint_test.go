package gate_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/checks"
	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/contract"
)

func draft(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "draft.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// What can end in one way only is frozen all the same, and lint says so at the
// check's place.
func TestLintWarnsOfTheOneEnd(t *testing.T) {
	g := gate.Gate{Types: checks.All()}
	name := draft(t, `{"schema_version": 2, "contract_id": "c", "checks": [
		{"id": "sound", "type": "file_exists", "params": {"path": "a"}},
		{"id": "count", "type": "sqlite_query", "params": {"database": "a.db", "sql": "SELECT ?", "row_count": 1}},
		{"id": "from", "type": "numeric_invariant", "params": {"value": {"from": {"database": "a.db", "sql": "SELECT 1", "parameters": [1]}}, "min": 1}},
		{"id": "order", "type": "numeric_invariant", "params": {"value": 1, "min": 2, "max": 1}},
		{"id": "files", "type": "directory_manifest", "params": {"path": "d", "expected_files": ["a", "a/b"]}},
		{"id": "after", "type": "file_exists", "params": {"path": "a"}, "depends_on": ["sound", "sound"]}
	]}`)
	l, err := g.Lint(name)
	if err != nil || len(l.Problems) > 0 {
		t.Fatalf("%v %v", err, l.Problems)
	}
	want := []string{
		`/checks/1: check "count": a run can only end as an error`,
		`/checks/2: check "from": a run can only end as an error`,
		`/checks/3: check "order": a run can only fail`,
		`/checks/4: check "files": a run can only fail`,
		`/checks/5: check "after": depends_on names "sound" twice`,
	}
	if len(l.Warnings) != len(want) {
		t.Fatalf("%d warnings, want %d: %v", len(l.Warnings), len(want), l.Warnings)
	}
	for i, w := range l.Warnings {
		if !strings.HasPrefix(w.Pointer+": "+w.Message, want[i]) || w.Line != i+3 {
			t.Errorf("line %d, %s: %s; want %s", w.Line, w.Pointer, w.Message, want[i])
		}
	}
	if _, err := g.Freeze(name, time.Unix(0, 0)); err != nil {
		t.Errorf("it cannot be frozen: %v", err)
	}
}

// The default that is empty text is a default like any other.
func TestFreezeWritesEmptyDefaults(t *testing.T) {
	g := gate.Gate{Types: checks.All()}
	frozen, err := g.Freeze(draft(t, `{"contract_id": "c", "checks": [{"id": "a", "type": "json_value", "params": {"path": "a", "equals": 1}}]}`), time.Unix(0, 0))
	if err != nil || !strings.Contains(string(frozen), `"pointer": ""`) {
		t.Errorf("%v\n%s", err, frozen)
	}
}

// One wrong parameter hides no other of its check.
func TestLintSaysEverything(t *testing.T) {
	l, err := gate.Gate{Types: checks.All()}.Lint(draft(t, `{"contract_id": "c", "checks": [
		{"id": "a", "type": "sqlite_query", "params": {"sql": "drop table x"}},
		{"id": "b", "type": "json_schema", "params": {"path": "", "schema": {"type": "x", "$ref": "http://x.example/y"}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`lacks its member "database"`, "drop is no SELECT", `exactly one of "equals" and "row_count"`,
		"a path must not be empty", "no valid schema", "leads out of the schema"} {
		if !slices.ContainsFunc(l.Problems, func(p contract.Problem) bool { return strings.Contains(p.Message, want) }) {
			t.Errorf("no problem says %q: %v", want, l.Problems)
		}
	}
}
