package sqlread

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"
)

func TestLex(t *testing.T) {
	kinds := map[kind]string{illegal: "!", word: "w", quoted: "q", text: "t", blob: "b", number: "n", variable: "v", semicolon: ";", mark: "m"}
	for _, tt := range []struct{ sql, want string }{
		{"SELECT 1", "w:SELECT n:1"},
		{"a--b\nc", "w:a w:c"},
		{"a--b", "w:a"},
		{"a/*b*/c", "w:a w:c"},
		{"a/*/b*/c", "w:a w:c"},
		{"a/**/c", "w:a w:c"},
		{"a/*b", "w:a"},
		{"a/*", "w:a m:/ m:*"},
		{"a - -b", "w:a m:- m:- w:b"},
		{"'it''s' 'x'", "t:'it''s' t:'x'"},
		{"'x", "!:'x"},
		{`"a""b" [a"]] ` + "`a``b`", "q:\"a\"\"b\" q:[a\"] !:] q:`a``b`"},
		{"[a", "!:[a"},
		{"x'00ff'X''", "b:x'00ff' b:X''"},
		{"x'0' x'0g' x'", "!:x'0' !:x'0g' !:x'"},
		{"x 'a' xy'a'", "w:x t:'a' w:xy t:'a'"},
		{"1 1.5 .5 5. 1e5 1e+5 1E-5 0x1F 1_000", "n:1 n:1.5 n:.5 n:5. n:1e5 n:1e+5 n:1E-5 n:0x1F n:1_000"},
		{"1e 1e+ 0x 1a 1.5x 5.a", "!:1e !:1e m:+ !:0x !:1a !:1.5x !:5.a"},
		{"t.5", "w:t n:.5"},
		{"? ?12 :a @b $c #d :::e $f::g $h(i) $j(k", "v:? v:?12 v::a v:@b v:$c v:#d v::::e v:$f::g v:$h(i) !:$j(k"},
		{": @ $ $(a)", "!:: !:@ !:$ !:$ m:( w:a m:)"},
		{"a$b _c é9", "w:a$b w:_c w:é9"},
		{"a->b->>c==d<>e||f!=g", "w:a m:-> w:b m:->> w:c m:== w:d m:<> w:e m:|| w:f m:!= w:g"},
		{"a ! b \\ ^ {", "w:a !:! w:b !:\\ !:^ !:{"},
		{"\uFEFFSELECT", "w:SELECT"},
		{"a \v b", "w:a w:b"},
		{"a\vb", "w:a !:\v w:b"},
		{";;", ";:; ;:;"},
	} {
		var got []string
		for _, tok := range lex(tt.sql) {
			got = append(got, kinds[tok.kind]+":"+tt.sql[tok.start:tok.end])
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.sql, s, tt.want)
		}
	}
}

func TestValidateAccepts(t *testing.T) {
	for _, tt := range []struct {
		sql        string
		parameters int
	}{
		{"SELECT 1", 0},
		{"select 1;", 0},
		{" \n SELECT 1 ; ; -- the end", 0},
		{"SELECT 1 /* no end", 0},
		{"-- first\n/* second */ SELECT * FROM orders", 0},
		{"WITH t AS (SELECT 1) SELECT * FROM t", 0},
		{"WITH RECURSIVE t(n) AS NOT MATERIALIZED (SELECT 1 UNION ALL SELECT n+1 FROM t), [u v](a, b) AS MATERIALIZED (SELECT 1, (2)) SELECT * FROM t, [u v]", 0},
		// Words that write are no writes in a literal, a quoted name or as a function.
		{`SELECT note AS "update", 'drop table' AS x, replace('ab','a','b') AS r, [delete], ` + "`insert`" + ` FROM orders -- ; DROP TABLE orders`, 0},
		// SQLite lets these be names, and people call columns so.
		{"SELECT key, begin, release, plan, replace, vacuum, rollback, pragma, attach, analyze, explain, reindex, savepoint, detach, \"end\" FROM t ORDER BY replace", 0},
		{"SELECT t.begin AS release FROM t AS savepoint", 0},
		{"SELECT 1 UNION SELECT 2 EXCEPT VALUES (3)", 0},
		{"SELECT no_such_function(x) FROM no_such_table WHERE no_such_column = 1", 0},
		{"SELECT a COLLATE no_such FROM t", 0},
		{"SELECT ?, ?, ?", 3},
		{"SELECT ?2", 2},
		{"SELECT :a, @a, $a, :a, ?", 4},
		{"SELECT ?3, ?, :b FROM t", 5},
		{"SELECT '?', \"?\", [?] -- ?", 0},
		{"SELECT count(*) FROM t WHERE a = ? AND b IN (?, ?)", 3},
		{"SELECT '{\"a\":1}' ->> 'a'", 0},
	} {
		if _, err := Validate(tt.sql, tt.parameters); err != nil {
			t.Errorf("%s: %v", tt.sql, err)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	for _, tt := range []struct{ sql, want string }{
		{"", "line 1, column 1: there is no statement"},
		{" ;-- nothing", "there is no statement"},
		{"INSERT INTO t VALUES (1)", "line 1, column 1: INSERT is no SELECT"},
		{"  /* SELECT */\n  Delete FROM t", "line 2, column 3: Delete is no SELECT"},
		{"REPLACE INTO t VALUES (1)", "REPLACE is no SELECT"},
		{"EXPLAIN SELECT 1", "EXPLAIN is no SELECT"},
		{"EXPLAIN QUERY PLAN DELETE FROM t", "EXPLAIN is no SELECT"},
		{"VALUES (1)", "VALUES is no SELECT"},
		{"(SELECT 1)", "( is no SELECT"},
		{"\"SELECT\" 1", `is no SELECT`},
		{"PRAGMA user_version", "PRAGMA is no SELECT"},
		{"ATTACH 'x' AS y", "ATTACH is no SELECT"},
		{"DETACH y", "DETACH is no SELECT"},
		{"VACUUM", "VACUUM is no SELECT"},
		{"REINDEX", "REINDEX is no SELECT"},
		{"ANALYZE", "ANALYZE is no SELECT"},
		{"BEGIN", "BEGIN is no SELECT"},
		{"COMMIT", "COMMIT is no SELECT"},
		{"ROLLBACK", "ROLLBACK is no SELECT"},
		{"SAVEPOINT s", "SAVEPOINT is no SELECT"},
		{"RELEASE s", "RELEASE is no SELECT"},
		{"DROP TABLE t", "DROP is no SELECT"},
		{"CREATE TABLE t(x)", "CREATE is no SELECT"},
		{"ALTER TABLE t ADD y", "ALTER is no SELECT"},
		{"WITH t AS (SELECT 1) DELETE FROM orders RETURNING id", "line 1, column 22: DELETE is no SELECT"},
		{"WITH t AS (SELECT 1) REPLACE INTO orders SELECT * FROM t", "REPLACE is no SELECT"},
		{"WITH a AS (SELECT 1), b(x) AS (SELECT 2) INSERT INTO t SELECT 1", "line 1, column 42: INSERT is no SELECT"},
		{"WITH t AS (DELETE FROM x RETURNING id) SELECT 1", "line 1, column 12: DELETE is no part of a SELECT"},
		{"SELECT 1; SELECT 2", "line 1, column 11: a second statement begins here"},
		{"SELECT 1;\nDROP TABLE t", "line 2, column 1: a second statement begins here"},
		{"; SELECT 1", "a second statement begins here"},
		{"SELECT 1 FROM t WHERE update = 1", "line 1, column 23: UPDATE is no part of a SELECT"},
		{"SELECT (INSERT INTO t VALUES (1))", "INSERT is no part of a SELECT"},
		{"SELECT 'é', drop", "line 1, column 13: DROP is no part of a SELECT"},
		{"SELECT load_extension('x')", "line 1, column 8: load_extension() may not be called"},
		{"SELECT \"LOAD_extension\" -- x\n ('x')", "may not be called"},
		{"SELECT writefile('x', 'y')", "writefile() may not be called: it reaches files"},
		{"SELECT random()", "random() may not be called: a check must give the same answer each time"},
		{"SELECT sqlite_version()", "sqlite_version() is not among the functions"},
		{"SELECT 'x", "line 1, column 8: what is quoted from here on has no end"},
		{"SELECT \"x", "has no end"},
		{"SELECT [x", "has no end"},
		{"SELECT x'0'", "line 1, column 8: a blob literal is x'…'"},
		{"SELECT 12abc", "line 1, column 8: 12abc is neither a number nor a name"},
		{"SELECT :", "line 1, column 8: a parameter needs a name behind its :"},
		{"SELECT 1 \\ 2", "is no token of SQL"},
		{"SELECT 1\x00; DROP TABLE t", "line 1, column 9: the statement holds a NUL character"},
		{"SELECT ?0", "line 1, column 8: the number of a parameter is between ?1 and ?250"},
		{"SELECT ?99999999999999999999", "the number of a parameter"},
		{"WITH t SELECT 1", "line 1, column 8: the WITH clause breaks off here"},
		{"WITH t AS SELECT 1", "the WITH clause breaks off here"},
		{"WITH t AS (SELECT 1)", "the WITH clause breaks off here"},
		{"WITH t AS (SELECT 1", "the WITH clause breaks off here"},
		{"WITH", "the WITH clause breaks off here"},
		{"SELECT FROM t", "line 1, column 8: syntax error near FROM"},
		{"SELECT a,\n  b\nFORM t\nWHERE", "line 3, column 6: syntax error near t"},
		{"SELECT (a, b) FROM (SELECT a FROM t) WHERE a = ) AND a", "line 1, column 48: syntax error near )"},
		{"SELECT 1 FROM t WHERE", "line 1, column 22: the statement is not complete"},
		{"SELECT", "line 1, column 7: the statement is not complete"},
		{"SELECT (SELECT 1, 2)", "sub-select returns 2 columns"},
		{"SELECT 1 UNION SELECT 1, 2", "do not have the same number of result columns"},
		{"SELECT *", "no tables specified"},
		{"SELECT abs(1, 2)", "wrong number of arguments"},
		{"SELECT 1" + strings.Repeat("+1", 2000), "SQLite says: Expression tree is too large"},
		{"SELECT '" + strings.Repeat("x", maxSQL) + "'", "at most 65536 are read"},
	} {
		_, err := Validate(tt.sql, 0)
		var bad *SQLError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80q: got %v, want %q", tt.sql, err, tt.want)
		}
	}
}

// A statement that can only end as an error is a SELECT all the same.
func TestValidateWarns(t *testing.T) {
	for _, tt := range []struct {
		sql   string
		given int
		want  string
	}{
		{"SELECT ?", 1, ""},
		{"SELECT ?", 0, "the statement takes 1 parameter, and parameters gives 0"},
		{"SELECT 1 FROM t", 2, "the statement takes 0 parameters, and parameters gives 2"},
		{"SELECT ?3 FROM t", 1, "the statement takes 3 parameters, and parameters gives 1"},
		{"SELECT no_such(1)", 0, "there is no function: no_such"},
		{"SELECT 'a' COLLATE no_such ORDER BY 1", 0, "there is no collation sequence: no_such"},
	} {
		warnings, err := Validate(tt.sql, tt.given)
		got := strings.Join(warnings, "\n")
		if err != nil || (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, %v, want %q", tt.sql, got, err, tt.want)
		}
	}
}

func TestFunctionsAreSorted(t *testing.T) {
	if !slices.IsSorted(functions[:]) {
		t.Error("the list is searched by halves, and is not sorted")
	}
}

// Every function of this SQLite is either allowed or left out on purpose.
func TestEveryFunctionIsDecided(t *testing.T) {
	leftOut := strings.Fields(`auth_enabled auth_user_add auth_user_change auth_user_delete authenticate changes fts3_tokenizer
		last_insert_rowid load_extension optimize random randomblob rtreecheck rtreedepth rtreenode sqlite_compileoption_get
		sqlite_compileoption_used sqlite_log sqlite_source_id sqlite_version total_changes`)
	w := newWorkspace(t)
	rows, err := w.database("a.db", "").Query("SELECT DISTINCT name FROM pragma_function_list")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		_, allowed := slices.BinarySearch(functions[:], name)
		if allowed == slices.Contains(leftOut, name) {
			t.Errorf("%s: allowed %v, left out %v", name, allowed, !allowed)
		}
	}
	if err := rows.Err(); err != nil || n < 100 {
		t.Errorf("%d functions, %v", n, err)
	}
}

// FuzzScreen holds the screen against SQLite: what the screen lets through,
// SQLite compiles to something that only reads, or not at all; what the screen
// calls malformed, SQLite refuses; and both count the same parameters.
func FuzzScreen(f *testing.F) {
	for _, seed := range []string{
		"SELECT 1", "SELECT x, y FROM t WHERE x = ? AND y = :y;", "WITH a(b) AS (SELECT 1) SELECT * FROM a", "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c) SELECT i FROM c LIMIT 3",
		"SELECT replace(x, 'a', x'00') FROM t -- c", "SELECT \"update\", [insert], `delete` FROM t /* open", "DELETE FROM t", "WITH a AS (SELECT 1) DELETE FROM t RETURNING x", "REPLACE INTO t VALUES (1, 2)",
		"SELECT 1; DROP TABLE t", "PRAGMA user_version = 1", "ATTACH 'x' AS y", "EXPLAIN SELECT 1", "VALUES (1)", "SELECT $a(b), $c::d, ?7, @e, #1", "SELECT 1e5, .5, 0xFF, 1_0, 12ab", "SELECT '\x00'", "\uFEFFSELECT\v1",
		"SELECT begin, release FROM (SELECT 1 AS begin, 2 AS release)", "SELECT max(x) OVER (ORDER BY y ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t", "WITH t AS NOT MATERIALIZED (VALUES(1)), 'u'(x) AS (SELECT 2) SELECT * FROM t, u",
	} {
		f.Add(seed)
	}
	c, err := open("fuzz", "memory", "0", walls{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.close() })
	if _, err := c.db.Exec("CREATE TABLE t(x, y); CREATE TABLE orders(id INTEGER PRIMARY KEY, total REAL); CREATE VIEW v AS SELECT x FROM t", nil); err != nil {
		f.Fatal(err)
	}
	var writes []int
	c.db.RegisterAuthorizer(func(action int, _, _, _ string) int {
		switch action {
		case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, actionRecursive:
		default:
			writes = append(writes, action)
		}
		return sqlite3.SQLITE_OK
	})
	// compile says whether SQLite takes a text as one statement.
	compile := func(sql string) (readonly bool, parameters int, err error) {
		stmt, err := c.prepare(sql)
		if err != nil {
			return false, 0, err
		}
		defer stmt.Close()
		return stmt.Readonly(), stmt.NumInput(), nil
	}
	f.Fuzz(func(t *testing.T, sql string) {
		writes = nil
		s, err := screen(sql)
		if err != nil {
			malformed := false
			for _, reason := range []string{"no part of a SELECT", "is no token", "neither a number nor", "has no end", "blob literal", "needs a name", "breaks off"} {
				malformed = malformed || strings.Contains(err.Error(), reason)
			}
			if malformed && !strings.Contains(sql, ";") {
				if _, _, accepted := compile(sql); accepted == nil {
					t.Errorf("%q: %v, but SQLite takes it", sql, err)
				}
			}
			return
		}
		readonly, parameters, err := compile(s.sql())
		if err != nil {
			return
		}
		if !readonly || len(writes) > 0 {
			t.Errorf("%q was let through: readonly %v, actions %v", sql, readonly, writes)
		}
		if parameters != s.parameters {
			t.Errorf("%q takes %d parameters, SQLite says %d", sql, s.parameters, parameters)
		}
		// In parentheses a text can only be one SELECT; what the screen cut off at
		// the ends cannot have been part of it.
		for _, inner := range []string{s.sql(), sql[:strings.LastIndex(sql, s.sql())] + s.sql()} {
			if _, _, err := compile(fmt.Sprintf("SELECT 1 FROM (\n%s\n)", inner)); err != nil {
				t.Errorf("%q is not one SELECT to SQLite: %v", sql, err)
			}
		}
	})
}
