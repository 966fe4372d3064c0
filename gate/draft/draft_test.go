package draft

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// tables is a database of the test: how many rows each table has.
type tables map[string]string

func (t tables) Query(_ context.Context, q check.Query) (check.RowSet, error) {
	if t == nil {
		return check.RowSet{}, errors.New("file is encrypted")
	}
	if !strings.Contains(q.SQL, "sqlite_schema") {
		for name, n := range t {
			if strings.HasSuffix(q.SQL, `FROM "`+strings.ReplaceAll(name, `"`, `""`)+`"`) {
				return check.RowSet{Rows: [][]strictjson.Value{{strictjson.Num(n)}}}, nil
			}
		}
		return check.RowSet{}, errors.New("no such table")
	}
	var rows [][]strictjson.Value
	for name := range t {
		rows = append(rows, []strictjson.Value{strictjson.Str(name)})
	}
	slices.SortFunc(rows, func(a, b []strictjson.Value) int { return strings.Compare(a[0].Text, b[0].Text) })
	return check.RowSet{Rows: rows[:min(len(rows), q.MaxRows)]}, nil
}

// lines shows a draft in a form that a test can state: one line a check.
func lines(t *testing.T, d Draft) []string {
	t.Helper()
	doc, err := strictjson.Parse(d.Contract, strictjson.ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range doc.Root.Get("checks").Items {
		mark := "  "
		if !c.Get("required").Bool {
			mark = "? "
		}
		out = append(out, mark+c.Get("id").Text+" "+string(strictjson.Canonical(c.Get("params"))))
	}
	return out
}

func repository(files ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		out[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return out
}

func TestMake(t *testing.T) {
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		rows  tables
		want  []string
		notes string
	}{
		{"a Go module", repository("go.mod", "module example.com/m", "m_test.go", "", "README.md", ""), nil, []string{
			`  README.md {"path":"README.md"}`,
			`  go.mod {"path":"go.mod"}`,
			`? go_vet {"command":["go","vet","./..."]}`,
			`? go_test {"command":["go","test","./..."]}`,
		}, ""},
		{"a Node package", repository("package.json", `{"name":"shop","scripts":{"test":"vitest run","test:watch":"vitest","lint:fix":"eslint --fix",
			"deploy":"rm -rf /","pretest":"x","lint":"eslint ."}}`, "pnpm-lock.yaml", ""), nil, []string{
			`  pnpm-lock.yaml {"path":"pnpm-lock.yaml"}`,
			`  package_name {"equals":"shop","path":"package.json","pointer":"/name"}`,
			`? pnpm_lint {"command":["pnpm","run","lint"]}`,
			`? pnpm_test {"command":["pnpm","run","test"]}`,
		}, ""},
		{"a Node package with the test that npm writes into a new one", repository("package.json", `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`), nil,
			[]string{`  package.json {"path":"package.json"}`}, ""},
		{"a package.json with a comment", repository("package.json", "{} // no"), nil,
			[]string{`  package.json {"path":"package.json"}`}, "not strict JSON"},
		{"a Python project with pytest", repository("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]"), nil, []string{
			`  pyproject.toml {"path":"pyproject.toml"}`,
			`? pytest {"command":["python3","-m","pytest"]}`,
			`? ruff {"command":["ruff","check","--no-cache","."]}`,
			`? mypy {"command":["mypy","."]}`,
		}, ""},
		{"a Python project with unittest", repository("setup.py", "", "tests/test_a.py", ""), nil, []string{
			`  setup.py {"path":"setup.py"}`,
			`? unittest {"command":["python3","-m","unittest","discover"]}`,
		}, ""},
		{"a static site", repository("public/index.html", `<link href="css/a.css?v=1"><script src='/app.js'></script><a href="https://x.example/y.js">
			<a href="#top"><a href="//cdn.example/z.js"><img src="gone.png"><img src="data:x">`,
			"public/css/a.css", "", "public/app.js", "", "public/robots.txt", ""), nil, []string{
			`  public_index.html {"path":"public/index.html"}`,
			`  public_robots.txt {"path":"public/robots.txt"}`,
			`  public_app.js {"path":"public/app.js"}`,
			`  public_css_a.css {"path":"public/css/a.css"}`,
		}, "public/gone.png, which is not there"},
		{"databases by their header", repository("data/shop.bin", sqliteHeader+"…", "data/notes.db", "text", "node_modules/x.db", sqliteHeader),
			tables{"orders": "1", `we"ird`: "0"}, []string{
				`  data_shop.bin {"path":"data/shop.bin"}`,
				`  data_shop.bin_orders {"database":"data/shop.bin","equals":[{"n":1}],"sql":"SELECT count(*) AS n FROM \"orders\""}`,
				`  data_shop.bin_we_ird {"database":"data/shop.bin","equals":[{"n":0}],"sql":"SELECT count(*) AS n FROM \"we\"\"ird\""}`,
			}, ""},
		{"a database that cannot be read", repository("a.db", sqliteHeader), nil, []string{`  a.db {"path":"a.db"}`}, "encrypted"},
		{"a Makefile", repository("Makefile", "X := test\nlint check: all\n\tgo\ntest:\n.PHONY: test\ninstall:\nvet::\n"), nil, []string{
			`  Makefile {"path":"Makefile"}`,
			`? make_check {"command":["make","check"]}`,
			`? make_lint {"command":["make","lint"]}`,
			`? make_test {"command":["make","test"]}`,
			`? make_vet {"command":["make","vet"]}`,
		}, ""},
		{"names that make the same id", repository("index.html", `<a href="a b.js"><a href="a+b.js"><a href="a&b.js">`, "a+b.js", "", "a&b.js", ""), nil, []string{
			`  index.html {"path":"index.html"}`,
			`  a_b.js {"path":"a&b.js"}`,
			`  a_b.js_2 {"path":"a+b.js"}`,
		}, ""},
		{"a script that holds a token", repository("package.json", `{"name":"n","scripts":{"test":"T=ghp_`+strings.Repeat("a1B2", 9)+` vitest"}}`), nil,
			[]string{`  package_name {"equals":"n","path":"package.json","pointer":"/name"}`}, "looks like a credential"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := Source{Name: "/tmp/shop", Files: c.files, Rows: c.rows}
			d, err := Make(t.Context(), src)
			if err != nil {
				t.Fatal(err)
			}
			got := lines(t, d)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, c.notes) || c.notes == "" && notes != "" {
				t.Errorf("notes are %q, want %q", notes, c.notes)
			}
			again, err := Make(t.Context(), src)
			if err != nil || string(again.Contract) != string(d.Contract) {
				t.Errorf("a second look gives another draft (%v)", err)
			}
		})
	}
}

func TestCommandsAreMarked(t *testing.T) {
	d, err := Make(t.Context(), Source{Name: "x", Files: repository("package.json", `{"scripts":{"test":"`+strings.Repeat("long ", 99)+`"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Review, []string{"npm_test"}) {
		t.Errorf("to be reviewed: %q", d.Review)
	}
	text := string(d.Contract)
	if !strings.Contains(text, "REVIEW: found in package.json scripts.test (long long") || !strings.Contains(text, "…)") {
		t.Errorf("the command is not marked, or its script is quoted whole:\n%s", text)
	}
}

func TestNothingFound(t *testing.T) {
	_, err := Make(t.Context(), Source{Name: "empty", Files: repository("notes.xyz", "")})
	if fault.As(err).Code != fault.ContractEmpty {
		t.Errorf("got %v", err)
	}
}

// What could not be taken is told although nothing else is there, and no token
// gets into a draft or a note.
func TestTokensInARepository(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2", 9)
	files := repository("package.json", `{"name":"`+token+`","scripts":{"test:`+token+`":"`+token+` vitest"}}`)
	d, err := Make(t.Context(), Source{Name: token, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(d.Notes, "\n")
	if strings.Contains(string(d.Contract)+told, token) {
		t.Errorf("a token is told:\n%s\n%s", d.Contract, told)
	}
	if !strings.Contains(string(d.Contract), `"file_exists"`) || strings.Count(told, "looks like a credential") != 2 {
		t.Errorf("%s\n%s", d.Contract, told)
	}
	_, err = Make(t.Context(), Source{Name: "n", Files: repository(token+".db", sqliteHeader), Rows: tables(nil)})
	f := fault.As(err)
	notes, ok := f.Details["notes"].([]string)
	if f.Code != fault.ContractEmpty || !ok || len(notes) != 2 || !strings.Contains(f.Message, notes[0]) || strings.Contains(f.Message+strings.Join(notes, ""), token) {
		t.Errorf("%v %q", err, notes)
	}
}

func TestBounds(t *testing.T) {
	files := repository("Makefile", "test:\n")
	files["package.json"] = &fstest.MapFile{Data: make([]byte, maxText+1)}
	many := tables{}
	for _, c := range "abcdefghijkl" {
		many[string(c)] = "1"
		files[string(c)+".db"] = &fstest.MapFile{Data: []byte(sqliteHeader)}
	}
	d, err := Make(t.Context(), Source{Name: "x", Files: files, Rows: many})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(d.Notes, "\n")
	for _, want := range []string{"too large", "first 5 databases", "first 8 tables"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
	if got := strings.Count(string(d.Contract), "sqlite_query"); got != maxDatabases*maxTables {
		t.Errorf("%d queries, want %d", got, maxDatabases*maxTables)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := Make(ctx, Source{Name: "x", Files: repository("go.mod", "")}); err == nil {
		t.Errorf("a draft came out: %s", d.Contract)
	}
}

func TestUnreadableFolder(t *testing.T) {
	_, err := Make(t.Context(), Source{Name: "x", Files: os.DirFS("/nonexistent/folder")})
	if fault.As(err).Code != fault.Usage {
		t.Errorf("got %v", err)
	}
}
