package sqlread

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
)

// attack is a statement that writes something when nothing stops it.
type attack struct {
	name, sql string
	past      string // the wall that does not see this kind of write
}

var attacks = []attack{
	{"insert", "INSERT INTO t VALUES (2)", ""},
	{"insert returning", "INSERT INTO t VALUES (2) RETURNING x", ""},
	{"insert behind a comment", "/* SELECT */ -- SELECT\nINSERT INTO t VALUES (2)", ""},
	{"insert behind WITH", "WITH s(x) AS (SELECT 2) INSERT INTO t SELECT x FROM s", ""},
	{"replace behind WITH", "WITH s(x) AS (SELECT 2) REPLACE INTO t SELECT x FROM s", ""},
	{"update", "UPDATE t SET x = 2", ""},
	{"delete", "DELETE FROM t", ""},
	{"delete returning, behind WITH", "WITH s AS (SELECT 1) DELETE FROM t RETURNING x", ""},
	{"replace", "REPLACE INTO t VALUES (2)", ""},
	{"create", "CREATE TABLE u(x)", ""},
	{"create from a select", "CREATE TABLE u AS SELECT * FROM t", ""},
	{"drop", "DROP TABLE t", ""},
	{"alter", "ALTER TABLE t ADD COLUMN y", ""},
	{"analyze", "ANALYZE", ""},
	{"vacuum", "VACUUM", ""},
	{"user version", "PRAGMA user_version = 7", ""},
	{"journal mode", "PRAGMA journal_mode = WAL", ""},
	{"vacuum into", "VACUUM INTO '{{dir}}/new.db'", ""},
	// sqlite3_stmt_readonly speaks of the open databases alone, and calls this
	// read-only though it makes a file.
	{"attach", "ATTACH 'file:{{uri}}/new.db?mode=rwc' AS n", "statement"},
}

// Each wall alone stops every attack; without any wall every attack works, or
// the first half of this test would prove nothing.
func TestEachWallHoldsAlone(t *testing.T) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			if written, err := a.run(t, walls{}); !written {
				t.Errorf("with no wall at all nothing was written (%v): the attack proves nothing", err)
			}
			for name, w := range map[string]walls{"screen": {screen: true}, "file": {file: true}, "statement": {statement: true}, "authorizer": {authorizer: true}} {
				written, err := a.run(t, w)
				switch past := a.past == name; {
				case past && !written:
					t.Errorf("the wall %q is said not to see this, and stops it (%v): say so", name, err)
				case !past && written:
					t.Errorf("the wall %q alone let it write", name)
				case !past && err == nil:
					t.Errorf("the wall %q alone let it pass in silence", name)
				}
			}
			if written, err := a.run(t, allWalls); written || err == nil {
				t.Errorf("all four walls let it pass: written %v, error %v", written, err)
			}
		})
	}
}

// run carries an attack out on a copy and says whether anything was written to
// it or beside it.
func (a attack) run(t *testing.T, w walls) (written bool, err error) {
	t.Helper()
	ws := newWorkspace(t)
	if err := ws.database("a.db", "CREATE TABLE t(x); INSERT INTO t VALUES (1)").Close(); err != nil {
		t.Fatal(err)
	}
	ws.reader.walls = w
	// The copy must outlive the query to be looked at: a second user holds it.
	snap, err := ws.reader.acquire(t.Context(), "a.db")
	if err != nil {
		t.Fatal(err)
	}
	defer ws.reader.release(snap)
	before := contents(t, snap.dir)
	places := strings.NewReplacer("{{dir}}", snap.dir, "{{uri}}", (&url.URL{Path: snap.dir}).EscapedPath())
	statement := check.Query{Database: "a.db", SQL: places.Replace(a.sql), MaxRows: 10}
	s, err := ws.reader.admit(statement.SQL)
	if err == nil {
		_, err = ws.reader.read(t.Context(), snap, s, nil, statement)
	}
	return !maps.Equal(before, contents(t, snap.dir)), err
}

// A function that loads code never runs, whichever wall meets it, and even
// though the driver is built with the means to load.
func TestNoExtensionIsLoaded(t *testing.T) {
	for name, w := range map[string]walls{"all": allWalls, "screen": {screen: true}, "authorizer": {authorizer: true}, "none": {}} {
		ws := newWorkspace(t)
		ws.database("a.db", "CREATE TABLE t(x)")
		ws.reader.walls = w
		for _, sql := range []string{"SELECT load_extension('x')", "SELECT \"load_extension\"('x', 'y')", "SELECT load_extension /* */ ('x')"} {
			if set, err := ws.query("a.db", sql); err == nil {
				t.Errorf("walls %s: %s: %s", name, sql, lines(set))
			}
		}
	}
}

// The workspace is never written, whatever state the database was left in.
func TestNothingIsCreatedBesideTheDatabase(t *testing.T) {
	w := newWorkspace(t)
	w.database("plain.db", "CREATE TABLE t(x); INSERT INTO t VALUES (1)")
	w.database("wal.db", "PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1)")
	w.database("persist.db", "PRAGMA journal_mode=PERSIST; CREATE TABLE t(x); INSERT INTO t VALUES (1)")
	if err := os.WriteFile(w.path("empty.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := contents(t, w.dir)
	for _, name := range []string{"plain.db", "wal.db", "persist.db"} {
		if got := w.rows(name, "SELECT x FROM t"); got != "x=1" {
			t.Errorf("%s: got %s", name, got)
		}
	}
	if _, err := w.query("empty.db", "SELECT x FROM t"); err == nil {
		t.Error("an empty file has a table")
	}
	if _, err := w.query("missing.db", "SELECT 1"); err == nil {
		t.Error("a missing database answered")
	}
	if after := contents(t, w.dir); !maps.Equal(before, after) {
		t.Errorf("the workspace changed: %v", names(t, w.dir))
	}
	if _, err := os.Stat(filepath.Join(w.dir, "missing.db")); err == nil {
		t.Error("the missing database was created")
	}
}
