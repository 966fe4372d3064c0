package sqlread

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

func TestStorageClasses(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", "CREATE TABLE t(x)")
	for _, tt := range []struct{ expression, want string }{
		{"NULL", "null"},
		{"0", "0"},
		{"9223372036854775807", "9223372036854775807"},
		{"-9223372036854775808", "-9223372036854775808"},
		{"9223372036854775808", "9.223372036854776e+18"}, // beyond an INTEGER: SQLite reads a REAL
		{"29.0", "29.0"},
		{"1e15", "1000000000000000.0"},
		{"1e16", "1e+16"},
		{"0.1 + 0.2", "0.30000000000000004"},
		{"9007199254740993", "9007199254740993"},
		{"9007199254740993.0", "9007199254740992.0"},
		{"9e999", `{"real":"Infinity"}`},
		{"-9e999", `{"real":"-Infinity"}`},
		{"9e999 - 9e999", "null"}, // SQLite has no NaN
		{"'29'", `"29"`},
		{"''", `""`},
		{"'a' || char(0) || 'b'", `"a\u0000b"`},
		{"char(0x1F600)", `"😀"`},
		{"CAST(x'ff41' AS TEXT)", `{"bytes":2,"text":"` + strictjson.Sum([]byte("\xff\x41")).String() + `"}`},
		{"x'00ff'", `{"blob":"sha256:06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8","bytes":2}`},
		{"x''", `{"blob":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","bytes":0}`},
		{"1 = 1", "1"},
		{"true", "1"},
	} {
		if got := w.rows("a.db", "SELECT "+tt.expression+" AS v"); got != "v="+tt.want {
			t.Errorf("%s: got %s, want v=%s", tt.expression, got, tt.want)
		}
	}
}

// What a column was declared as changes nothing about the values in it, in
// either encoding and of any affinity.
func TestDeclaredTypesDistortNothing(t *testing.T) {
	for _, declared := range []string{"", "BOOLEAN", "boolean", "DATE", "DATETIME", "TIMESTAMP", "INTEGER", "INT", "REAL", "FLOAT", "TEXT", "VARCHAR(3)", "BLOB", "NUMERIC", "DECIMAL(9,2)", "JSON", "UUID", "ANYTHING"} {
		for _, encoding := range []string{"UTF-8", "UTF-16le", "UTF-16be"} {
			w := newWorkspace(t)
			db := w.database("a.db", fmt.Sprintf(`PRAGMA encoding=%q; CREATE TABLE t(id INTEGER PRIMARY KEY, v %s);
				INSERT INTO t(v) VALUES (2),(-1),(0),(1790000000123),('soon'),('2026-01-02'),('2026-01-02T03:04:05Z'),(29),(28.5),(NULL),(x'00ff'),(''),('é')`, encoding, declared))
			// The reference does not go through declared types: quote() gives text.
			var want []string
			rows, err := db.Query("SELECT typeof(v), quote(v) FROM t ORDER BY id")
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var class, literal string
				if err := rows.Scan(&class, &literal); err != nil {
					t.Fatal(err)
				}
				want = append(want, class+" "+literal)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			set, err := w.query("a.db", "SELECT v FROM t ORDER BY id")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, row := range set.Rows {
				got = append(got, describe(row[0]))
			}
			if len(got) != 13 || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("declared %q, %s: got\n%s\nwant\n%s", declared, encoding, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// describe gives a value as SQLite's typeof and quote do.
func describe(v strictjson.Value) string {
	switch v.Kind {
	case strictjson.Null:
		return "null NULL"
	case strictjson.Number:
		if strings.ContainsAny(v.Text, ".e") {
			return "real " + v.Text
		}
		return "integer " + v.Text
	case strictjson.String:
		return "text '" + strings.ReplaceAll(v.Text, "'", "''") + "'"
	}
	if v.Get("blob").Text == strictjson.Sum([]byte("\x00\xff")).String() {
		return "blob X'00FF'"
	}
	return "blob of another digest"
}

// The statement that is wrapped to lose declared types gives the same rows in
// the same order as the plain one, whatever it is made of.
func TestWrappedStatementKeepsOrderAndValues(t *testing.T) {
	w := newWorkspace(t)
	script := "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, r REAL, s TEXT COLLATE NOCASE, u); CREATE INDEX by_s ON t(s); CREATE INDEX by_n ON t(n DESC); CREATE VIEW v AS SELECT * FROM t ORDER BY r DESC;"
	source := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		script += fmt.Sprintf("INSERT INTO t(n, r, s, u) VALUES (%d, %d, '%c%c', %s);", source.IntN(20), source.IntN(20), 'A'+rune(source.IntN(4)), 'a'+rune(source.IntN(4)), []string{"NULL", "x'01'", "'t'", "1.5", "7"}[source.IntN(5)])
	}
	w.database("a.db", script)
	statements := []string{
		"SELECT 1 AS a", "SELECT * FROM t", "SELECT * FROM t WHERE n > 5", "SELECT r FROM t WHERE s = 'aa'", "SELECT * FROM v", "SELECT s FROM v LIMIT 7",
		"SELECT DISTINCT s FROM t", "SELECT n, count(*) AS c FROM t GROUP BY n", "SELECT n, group_concat(id) AS c FROM t GROUP BY n HAVING c > '1' ORDER BY c DESC",
		"SELECT s FROM t UNION SELECT n FROM t", "SELECT s FROM t UNION ALL SELECT n FROM t ORDER BY 1 DESC", "SELECT n FROM t EXCEPT SELECT id FROM t", "SELECT n FROM t INTERSECT SELECT r FROM t ORDER BY n DESC LIMIT 3",
		"SELECT a.id AS a, b.id AS b FROM t a JOIN t b ON a.n = b.id ORDER BY b.s COLLATE BINARY DESC, a", "SELECT t.id, x.n FROM t LEFT JOIN (SELECT * FROM t WHERE n < 3 ORDER BY u) x USING (id)",
		"SELECT id, row_number() OVER (PARTITION BY n ORDER BY r DESC, id) AS k FROM t", "SELECT id, sum(n) OVER (ORDER BY s, id ROWS 3 PRECEDING) AS k FROM t ORDER BY k, id DESC",
		"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 50) SELECT i, (SELECT s FROM t WHERE id = i) AS s FROM c ORDER BY -i", "WITH answer AS (SELECT * FROM t ORDER BY s DESC LIMIT 20) SELECT id FROM answer ORDER BY n",
		"SELECT id FROM t ORDER BY u, s DESC, id DESC LIMIT 40 OFFSET 11", "SELECT n FROM t ORDER BY CASE WHEN n > 9 THEN 0 ELSE 1 END, id", "SELECT id FROM (SELECT * FROM t ORDER BY r, id LIMIT 100) ORDER BY n DESC, id", "SELECT value FROM json_each('[3,1,2]')", "SELECT key FROM json_each('{\"b\":1,\"a\":2}') ORDER BY key",
		"SELECT max(r) AS m, s FROM t GROUP BY s ORDER BY m, s DESC -- a comment", "SELECT id FROM t ORDER BY s COLLATE NOCASE, id /* and one without an end",
	}
	for _, column := range []string{"id", "n", "r", "s", "u"} {
		for _, order := range []string{"ASC", "DESC", "DESC NULLS LAST", "ASC NULLS FIRST", "COLLATE NOCASE DESC", "COLLATE RTRIM"} {
			statements = append(statements,
				fmt.Sprintf("SELECT * FROM t ORDER BY %s %s, id", column, order), fmt.Sprintf("SELECT n AS k, %s FROM t ORDER BY %s %s LIMIT 17", column, column, order), fmt.Sprintf("SELECT DISTINCT %s FROM t ORDER BY %s %s", column, column, order), fmt.Sprintf("SELECT %s FROM v WHERE id %% 3 = 0 ORDER BY n, %s %s, id DESC", column, column, order))
		}
	}
	for _, text := range statements {
		s, err := screen(text)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := w.query("a.db", text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		wrapped, err := w.query("a.db", s.undeclared(len(plain.Columns)))
		if err != nil {
			t.Fatalf("%s: wrapped: %v", text, err)
		}
		wrapped.Columns = plain.Columns
		if a, b := lines(plain), lines(wrapped); a != b {
			t.Errorf("%s:\nplain   %.300s\nwrapped %.300s", text, a, b)
		}
	}
}
