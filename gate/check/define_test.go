package check_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

type params struct {
	Path    check.Path `json:"path" need:"yes"`
	Command bool       `json:"command" default:"false"`
	Later   string     `json:"later" since:"2"`
}

// Validate refuses one path, so that a test can see when it is asked.
func (p *params) Validate(n strictjson.Node) {
	if n.HasSound("path") && p.Path == "refuse" {
		n.Member("path").Problemf("", "refused by Validate")
	}
}

func (p *params) Profile() check.Profile {
	if p.Command {
		return check.Process
	}
	return check.Reading
}

// Warnings repeats what later says.
func (p *params) Warnings() []string { return strings.Fields(p.Later) }

func (p *params) Tools() []string { return []string{string(p.Path)} }

func echo(_ context.Context, p *params, _ *check.Pass) check.Outcome {
	return check.Passed("%s", p.Path)
}

// bind binds params given as JSON and gives the step with what was wrong.
func bind(t *testing.T, typ check.Type, version int, src string) (check.Step, []string) {
	t.Helper()
	doc, err := strictjson.Parse([]byte(src), strictjson.ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	report := strictjson.Report{Version: version}
	step := typ.Bind(report.Root(&doc.Root))
	var problems []string
	for _, p := range report.Problems {
		if doc.Position(p.Pos).Line == 0 {
			t.Errorf("the problem %q has no place", p.Message)
		}
		problems = append(problems, p.Pointer+": "+p.Message)
	}
	return step, problems
}

func TestBind(t *testing.T) {
	typ := check.Define("echo", "Echoes its path. More.", echo)
	if typ.Name != "echo" || typ.Since != 1 || typ.Summary() != "Echoes its path." {
		t.Errorf("type %+v, summary %q", typ, typ.Summary())
	}
	for _, tt := range []struct {
		src      string
		version  int
		profile  check.Profile
		problems []string
	}{
		{`{"path":"a"}`, 1, check.Reading, nil},
		{`{"path":"a","command":true}`, 1, check.Process, nil},
		{`{"path":"a","later":"x"}`, 2, check.Reading, nil},
		{`{"path":"a","later":"x"}`, 1, check.Reading, []string{`/later: params of echo: "later" belongs to schema_version 2`}},
		{`{"path":"refuse"}`, 1, check.Reading, []string{"/path: refused by Validate"}},
		{`{"path":"refuse","x":1}`, 1, check.Reading, []string{`/x: params of echo has no member "x"`, "/path: refused by Validate"}},
		{`{"path":"refuse","command":1}`, 1, check.Reading, []string{`/command: "command" must be a boolean, not a number`, "/path: refused by Validate"}},
		{`{"path":"","later":1}`, 2, check.Reading, []string{"/path: a path must not be empty", `/later: "later" must be a string, not a number`}},
		{`{}`, 1, check.Reading, []string{`: params of echo lacks its member "path"`}},
		{`[]`, 1, check.Reading, []string{": params of echo must be an object, not an array"}},
	} {
		step, problems := bind(t, typ, tt.version, tt.src)
		if !slices.Equal(problems, tt.problems) {
			t.Errorf("%s\n got %q\nwant %q", tt.src, problems, tt.problems)
		}
		if step.Profile != tt.profile {
			t.Errorf("%s: profile %q, want %q", tt.src, step.Profile, tt.profile)
		}
		if len(problems) > 0 {
			if step.Tools != nil || step.Warnings != nil {
				t.Errorf("%s: refused params were asked for more", tt.src)
			}
			continue
		}
		if !slices.Equal(step.Tools, []string{"a"}) {
			t.Errorf("%s: tools %q", tt.src, step.Tools)
		}
		if warned := len(step.Warnings()) > 0; warned != strings.Contains(tt.src, "later") {
			t.Errorf("%s: warnings %q", tt.src, step.Warnings())
		}
		if o := step.Run(context.Background(), nil); o.Summary != "a" {
			t.Errorf("%s: the run function got %q", tt.src, o.Summary)
		}
	}
}

// Two steps of one type share nothing.
func TestBindTwice(t *testing.T) {
	typ := check.Define("echo", "", echo)
	one, _ := bind(t, typ, 1, `{"path":"one"}`)
	two, _ := bind(t, typ, 1, `{"path":"two"}`)
	if o := one.Run(context.Background(), nil); o.Summary != "one" {
		t.Errorf("the first step answers %q", o.Summary)
	}
	if o := two.Run(context.Background(), nil); o.Summary != "two" {
		t.Errorf("the second step answers %q", o.Summary)
	}
}

func TestDefinePanics(t *testing.T) {
	type badDefault struct {
		N int `json:"n" default:"many"`
	}
	type badType struct {
		C chan int `json:"c"`
	}
	for name, define := range map[string]func(){
		"without a name":          func() { check.Define("", "", echo) },
		"with a name in capitals": func() { check.Define("Echo", "", echo) },
		"with params of no struct": func() {
			check.Define("x", "", func(context.Context, *int, *check.Pass) check.Outcome { return check.Outcome{} })
		},
		"with a default of no kind": func() {
			check.Define("x", "", func(context.Context, *badDefault, *check.Pass) check.Outcome { return check.Outcome{} })
		},
		"with a field of no kind": func() {
			check.Define("x", "", func(context.Context, *badType, *check.Pass) check.Outcome { return check.Outcome{} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r == nil {
					t.Error("no panic")
				} else if s, ok := r.(string); !ok || !strings.HasPrefix(s, "check: type ") {
					t.Errorf("panic %v does not name the type", r)
				}
			}()
			define()
		})
	}
}

func TestSummary(t *testing.T) {
	for doc, want := range map[string]string{
		"Decides\nwhether a file\tis there. It reads nothing.\n\n# Fails\n": "Decides whether a file is there.",
		"Decides it.": "Decides it.",
		"Package fileexists decides whether a file is there. It reads nothing.": "Decides whether a file is there.",
		"no sentence": "no sentence",
		"":            "",
	} {
		if got := (check.Type{Doc: doc}).Summary(); got != want {
			t.Errorf("Summary of %q is %q, want %q", doc, got, want)
		}
	}
}

func TestPath(t *testing.T) {
	type onlyPath struct {
		Path check.Path `json:"path"`
	}
	typ := check.Define("x", "", func(_ context.Context, p *onlyPath, _ *check.Pass) check.Outcome {
		return check.Passed("%s", p.Path)
	})
	for src, want := range map[string]string{
		`"a/b"`:      "",
		`"."`:        "",
		`"/etc/x"`:   "",
		`" "`:        "",
		`"é\n"`:      "",
		`""`:         "/path: a path must not be empty",
		`"a\u0000b"`: "/path: a path must not hold a NUL character",
		`7`:          "/path: a path must be a string, not a number",
		`null`:       "/path: a path must be a string, not null",
		`["a"]`:      "/path: a path must be a string, not an array",
	} {
		_, problems := bind(t, typ, 1, `{"path":`+src+`}`)
		if got := strings.Join(problems, "; "); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

func TestQuoteAndShow(t *testing.T) {
	for name, want := range map[string][2]string{
		"a b.txt":      {`"a b.txt"`, `a b.txt`},
		"é":            {`"é"`, `é`},
		"\xe9":         {`"\xe9"`, `"\xe9"`},
		`\xe9`:         {`"\\xe9"`, `"\\xe9"`}, // not the same name as the one above
		"a\nb":         {`"a\nb"`, `"a\nb"`},
		"a\u202eb":     {`"a\u202eb"`, `"a\u202eb"`},
		"\x1b[31m":     {`"\x1b[31m"`, `"\x1b[31m"`},
		`"`:            {`"\""`, `"\""`},
		"\ufffd":       {`"�"`, `�`},
		"":             {`""`, ``},
		"::error::x\r": {`"::error::x\r"`, `"::error::x\r"`},
	} {
		if got := [2]string{check.Quote(name), check.Show(name)}; got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
