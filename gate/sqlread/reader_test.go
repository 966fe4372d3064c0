package sqlread

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

const shop = `CREATE TABLE orders(id INTEGER PRIMARY KEY, total REAL, note TEXT, paid BOOLEAN);
	INSERT INTO orders VALUES (1, 29.0, 'first', 1), (2, 5.5, NULL, 0);
	CREATE TABLE lines(id INTEGER, n INTEGER);
	CREATE VIEW broken AS SELECT * FROM gone;
	CREATE VIEW foreign_function AS SELECT their_function(id) AS x FROM orders;
	CREATE VIEW harmful AS SELECT load_extension('x') AS x FROM orders;
	CREATE VIEW dice AS SELECT random() AS x;`

func TestParametersBind(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", shop)
	num, str := strictjson.Num, strictjson.Str
	for _, tt := range []struct {
		sql        string
		parameters []strictjson.Value
		want       string
	}{
		{"SELECT count(*) AS n FROM orders WHERE note = ?", []strictjson.Value{str("x' OR '1'='1")}, "n=0"},
		{"SELECT id FROM orders WHERE note = ? AND total = ?", []strictjson.Value{str("first"), num("29")}, "id=1"},
		{"SELECT ? AS a, typeof(?1) AS b", []strictjson.Value{num("5")}, `a=5 b="integer"`},
		{"SELECT ? AS a, typeof(?1) AS b", []strictjson.Value{num("5.0")}, `a=5.0 b="real"`},
		{"SELECT ? AS a, typeof(?1) AS b", []strictjson.Value{num("9223372036854775807")}, `a=9223372036854775807 b="integer"`},
		{"SELECT ? AS a, typeof(?1) AS b", []strictjson.Value{num("-0")}, `a=0 b="integer"`},
		{"SELECT ? AS a, typeof(?1) AS b", []strictjson.Value{strictjson.Boolean(true)}, `a=1 b="integer"`},
		{"SELECT ? AS a, typeof(?1) AS b", []strictjson.Value{strictjson.Boolean(false)}, `a=0 b="integer"`},
		{"SELECT ? AS a, typeof(?1) AS b", []strictjson.Value{{}}, `a=null b="null"`},
		{"SELECT ? AS a, typeof(?1) AS b, length(CAST(?1 AS BLOB)) AS c", []strictjson.Value{str("a\x00é")}, `a="a\u0000é" b="text" c=4`},
		{"SELECT ? AS a, length(?1) AS b", []strictjson.Value{str("")}, `a="" b=0`},
		{"SELECT :b AS x, :a AS y, :b AS z", []strictjson.Value{num("1"), num("2")}, "x=1 y=2 z=1"},
		{"SELECT ?2 AS x", []strictjson.Value{num("1"), num("2")}, "x=2"},
		// A parameter binds in the wrapped form too.
		{"SELECT paid FROM orders WHERE id = ?", []strictjson.Value{num("1")}, "paid=1"},
	} {
		if got := w.rows("a.db", tt.sql, tt.parameters...); got != tt.want {
			t.Errorf("%s %v: got %s, want %s", tt.sql, tt.parameters, got, tt.want)
		}
	}
}

func TestVirtualTables(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", `CREATE VIRTUAL TABLE texts USING fts4(body); INSERT INTO texts VALUES ('hello world'), ('goodbye');
		CREATE VIRTUAL TABLE boxes USING rtree(id, low, high); INSERT INTO boxes VALUES (1, 2, 3), (4, 5, 6);
		CREATE TABLE doc(j); INSERT INTO doc VALUES ('{"a":[1,2.5,null]}')`)
	for sql, want := range map[string]string{
		"SELECT body FROM texts WHERE texts MATCH 'hello'": `body="hello world"`,
		"SELECT id FROM boxes WHERE low > 4":               "id=4",
		"SELECT value FROM doc, json_each(j, '$.a')":       "value=1; value=2.5; value=null",
		"SELECT j ->> '$.a[1]' AS v FROM doc":              "v=2.5",
		"SELECT count(*) AS n FROM sqlite_schema":          "n=12",
	} {
		if got := w.rows("a.db", sql); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
}

// damagedDatabases makes files that are no database, or no longer a sound one.
func (w *workspace) damagedDatabases() {
	w.Helper()
	whole, err := os.ReadFile(w.path("a.db"))
	if err != nil {
		w.Fatal(err)
	}
	page, format := bytes.Clone(whole), bytes.Clone(whole)
	copy(page[4096:], strings.Repeat("\xff", 4096))
	format[47] = 9
	for name, content := range map[string][]byte{
		"text.db":   []byte(strings.Repeat("hello, I am text", 100)),
		"short.db":  []byte("SQLite"),
		"empty.db":  nil,
		"cut.db":    whole[:4096],
		"page.db":   page,
		"schema.db": bytes.Replace(whole, []byte("CREATE TABLE lines"), []byte("CREATE TABXE lines"), 1),
		"format.db": format,
	} {
		if err := os.WriteFile(w.path(name), content, 0o600); err != nil {
			w.Fatal(err)
		}
	}
}

// The settings that SQLite's authors advise for databases from strangers.
func TestConnectionDistrusts(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", shop)
	snap, err := w.reader.acquire(t.Context(), "a.db")
	if err != nil {
		t.Fatal(err)
	}
	defer w.reader.release(snap)
	c, err := openCopy(snap.path(), allWalls)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.db.RegisterAuthorizer(nil) // which would refuse to tell
	for name, want := range map[string]int64{"trusted_schema": 0, "cell_size_check": 1, "mmap_size": 0, "query_only": 1, "busy_timeout": 0} {
		err := c.each(t.Context(), "PRAGMA "+name, nil, func(_ []string, row []driver.Value) error {
			if row != nil && row[0] != want {
				t.Errorf("%s is %v, want %d", name, row[0], want)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, l := range []struct{ id, want int }{{sqlite3.SQLITE_LIMIT_ATTACHED, 0}, {sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0}, {sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, maxParameters}, {sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0}, {sqlite3.SQLITE_LIMIT_SQL_LENGTH, limitSchemaText}, {sqlite3.SQLITE_LIMIT_COLUMN, maxColumns}, {sqlite3.SQLITE_LIMIT_EXPR_DEPTH, limitDepth}, {sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, limitCompound}} {
		if got := c.db.GetLimit(l.id); got != l.want {
			t.Errorf("limit %d is %d, want %d", l.id, got, l.want)
		}
	}
}

// What went wrong decides between "examined and false", "the statement is
// wrong" and "nothing was learned".
func TestErrorsAreTold(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", shop)
	w.damagedDatabases()
	const (
		fail         = record.Fail
		broken       = record.Broken
		inconclusive = record.Inconclusive
	)
	for _, tt := range []struct {
		database, sql string
		status        record.Status
		code          fault.Code
		reason        string
	}{
		{"missing.db", "SELECT 1", fail, "", "is missing"},
		{".", "SELECT 1", fail, "", "is a directory"},
		{"../a.db", "SELECT 1", inconclusive, fault.CheckRefused, "leaves the allowed roots"},
		{"text.db", "SELECT 1 FROM t", fail, "", `"text.db" is not a SQLite database, or is encrypted`},
		{"text.db", "SELECT 1", fail, "", "is not a SQLite database"},
		{"short.db", "SELECT 1", fail, "", "is not a SQLite database"},
		{"empty.db", "SELECT * FROM orders", fail, "", `"empty.db" has no table: orders`},
		{"cut.db", "SELECT * FROM orders", fail, "", "is damaged"},
		{"page.db", "SELECT * FROM orders", fail, "", "is damaged"},
		{"schema.db", "SELECT * FROM orders", fail, "", "is damaged"},
		{"format.db", "SELECT * FROM orders", fail, "", "is damaged: unsupported file format"},
		{"a.db", "SELECT * FROM nope", fail, "", `"a.db" has no table: nope`},
		{"a.db", "SELECT nope FROM orders", fail, "", `"a.db" has no column: nope`},
		{"a.db", "SELECT * FROM broken", fail, "", "has no table: main.gone"},
		{"a.db", "SELECT * FROM other.orders", fail, "", "has no table: other.orders"},
		{"a.db", "SELECT * FROM orders INDEXED BY nope", fail, "", "has no index: nope"},
		{"a.db", "SELECT json_extract(note, '$.a') AS x FROM orders", fail, "", "a value that is no JSON"},
		{"a.db", "SELECT nope(id) AS x FROM orders", broken, fault.CheckMalformed, "no such function: nope"},
		{"a.db", "SELECT abs(1, 2) AS x FROM orders", broken, fault.CheckMalformed, "wrong number of arguments to function abs()"},
		{"a.db", "SELECT id FROM orders WHERE note REGEXP 'a'", broken, fault.CheckMalformed, "no such function: REGEXP"},
		{"a.db", "SELECT * FROM foreign_function", inconclusive, fault.ToolMissing, "needs an extension that this build of SQLite lacks: no such function: their_function"},
		{"a.db", "SELECT * FROM harmful", inconclusive, fault.CheckRefused, `a view or a table of "a.db" calls a function: unsafe use of load_extension()`},
		{"a.db", "SELECT * FROM dice", inconclusive, fault.CheckRefused, "random() is not among"},
		{"a.db", "SELECT note COLLATE nope AS x FROM orders ORDER BY 1", broken, fault.CheckMalformed, "no such collation sequence: nope"},
		{"a.db", "SELECT id FROM orders, lines", broken, fault.CheckMalformed, "ambiguous column name: id"},
		{"a.db", "SELECT 1 AS a, 2 AS a", broken, fault.CheckMalformed, `two columns of the answer are named "a"`},
		{"a.db", "SELECT * FROM orders JOIN lines", broken, fault.CheckMalformed, `two columns of the answer are named "id"`},
		{"a.db", "SELECT * FROM orders JOIN lines WHERE 0", broken, fault.CheckMalformed, `two columns of the answer are named "id"`},
		{"a.db", "SELECT ?", broken, fault.CheckMalformed, "the statement takes 1 parameter, and parameters gives 0"},
		{"a.db", "SELECT * FROM pragma_table_info('orders')", broken, fault.CheckMalformed, "PRAGMA table_info is not allowed"},
		{"a.db", "SELECT last_insert_rowid()", broken, fault.CheckMalformed, "last_insert_rowid() is not among the functions"},
		{"a.db", "SELECT abs(-9223372036854775808)", broken, fault.CheckMalformed, "integer overflow"},
		{"a.db", "SELECT 1 LIMIT 'x'", broken, fault.CheckMalformed, "datatype mismatch"},
		{"a.db", "SELECT FROM orders", broken, fault.CheckMalformed, "syntax error"},
		{"a.db", "DELETE FROM orders", broken, fault.CheckMalformed, "DELETE is no SELECT"},
		{"a.db", "SELECT hex(zeroblob(30000000))", inconclusive, fault.LimitExceeded, "string or blob too big"},
		{"a.db", "SELECT 'a' LIKE '" + strings.Repeat("%a", 600) + "'", inconclusive, fault.LimitExceeded, "pattern too complex"},
		{"a.db", "SELECT zeroblob(33554433)", inconclusive, fault.LimitExceeded, "too big"},
		{"a.db", "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c) SELECT i FROM c", inconclusive, fault.LimitExceeded, "more than 1000 rows"},
		{"a.db", "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c) SELECT printf('%.*c', 100000, 'x') || i AS x FROM c", inconclusive, fault.LimitExceeded, "take more than 16777216 bytes"},
	} {
		set, err := w.query(tt.database, tt.sql)
		if err == nil {
			t.Errorf("%s: %s: got %s", tt.database, tt.sql, lines(set))
			continue
		}
		t.Run(tt.database+" "+tt.reason, func(t *testing.T) { (&workspace{T: t}).refused(err, tt.status, tt.code, tt.reason) })
	}
}

func TestParametersThatCannotBind(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", shop)
	for _, tt := range []struct {
		value  strictjson.Value
		reason string
	}{
		{strictjson.Arr(), "parameter 1: an array cannot be bound"},
		{strictjson.Obj(), "parameter 1: an object cannot be bound"},
		{strictjson.Num("9223372036854775808"), "parameter 1: 9223372036854775808 is beyond the 64 bits of an INTEGER of SQLite"},
		{strictjson.Num("1e999"), "beyond what a REAL of SQLite holds"},
	} {
		_, err := w.query("a.db", "SELECT ?", tt.value)
		w.refused(err, record.Broken, fault.CheckMalformed, tt.reason)
	}
}

// Rows past a bound can be counted instead of refused.
func TestRowsAreCounted(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", shop)
	const many = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 500) SELECT i, printf('%.*c', ?, 'x') AS x FROM c"
	for _, tt := range []struct {
		width   string
		most    int
		count   bool
		rows    int
		refused string
	}{
		{"1", 500, false, 500, ""},
		{"1", 499, false, 0, "gives more than 499 rows"},
		{"1", 1, false, 0, "gives more than 1 row"},
		{"1", 499, true, 499, ""},
		{"1", 0, true, 0, ""},
		{"4000000", 500, false, 0, "take more than"},
		{"4000000", 500, true, 4, ""},
	} {
		set, err := w.reader.Query(context.Background(), check.Query{Database: "a.db", SQL: many, Parameters: []strictjson.Value{strictjson.Num(tt.width)}, MaxRows: tt.most, Count: tt.count})
		switch {
		case tt.refused != "":
			w.refused(err, record.Inconclusive, fault.LimitExceeded, tt.refused)
		case err != nil || len(set.Rows) != tt.rows || set.Total != 500:
			t.Errorf("width %s, most %d, count %v: %d rows of %d, %v; want %d of 500", tt.width, tt.most, tt.count, len(set.Rows), set.Total, err, tt.rows)
		}
	}
}

// A statement without end is stopped by its context, in its first row and in a
// later one.
func TestStatementWithoutEnd(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", shop)
	for _, sql := range []string{
		"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c) SELECT count(*) AS n FROM c",
		"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c) SELECT i FROM c WHERE i = 1 OR i < 0",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		set, err := w.reader.Query(ctx, check.Query{Database: "a.db", SQL: sql, MaxRows: 10})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %s, %v", sql, lines(set), err)
		}
	}
}

// Views that multiply one another are stopped before they fill the memory.
func TestViewsThatMultiply(t *testing.T) {
	w := newWorkspace(t)
	script := "CREATE TABLE base(x); CREATE VIEW v0 AS SELECT x FROM base;"
	for i, name := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		before := "v0"
		if i > 0 {
			before = string(rune('a' + i - 1))
		}
		script += "CREATE VIEW " + name + " AS SELECT x FROM " + before + " UNION SELECT x FROM " + before + " UNION SELECT x+1 FROM " + before + ";"
	}
	w.database("a.db", script)
	_, err := w.query("a.db", "SELECT * FROM j")
	w.refused(err, record.Inconclusive, fault.LimitExceeded, "needs more than is allowed")
}

// A name is what the database or the statement makes of it.
func TestColumnNames(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", "CREATE TABLE t(\"a b\" BOOLEAN, \"c\xff\" DATE); INSERT INTO t VALUES (7, 'x')")
	if got, want := w.rows("a.db", `SELECT * FROM t`), `a b=7 c\xff="x"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := w.rows("a.db", `SELECT count(*), 1+1, 'x' AS "", t."a b" AS A, "a b" AS a FROM t`), `count(*)=1 1+1=2 ="x" A=7 a=7`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
