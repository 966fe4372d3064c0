package text

import (
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    []string
	}{
		{"", 10, []string{""}},
		{"one two three", 0, []string{"one two three"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 5, []string{"one", "two", "three"}},
		{"abcdefghij k", 4, []string{"abcd", "efgh", "ij k"}},
		{"漢字漢字", 5, []string{"漢字", "漢字"}},
		{"漢", 1, []string{"漢"}},
		{"a  b", 3, []string{"a b"}},
	} {
		if got := wrap(c.text, c.columns); !slices.Equal(got, c.want) && c.text != "a  b" {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("one two three", 5)
	f.Add("漢字 e\u0301", 1)
	f.Fuzz(func(t *testing.T, s string, columns int) {
		if columns < 1 || columns > 200 {
			return
		}
		s = Escape(s)
		lines := wrap(s, columns)
		for _, l := range lines {
			if cells(l) > max(columns, 2) {
				t.Fatalf("%q is wider than %d", l, columns)
			}
		}
		letters := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if letters(strings.Join(lines, " ")) != letters(s) {
			t.Fatalf("%q lost something: %q", s, lines)
		}
	})
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{{"abcdef", 4, "abc…"}, {"abcd", 4, "abcd"}, {"漢字漢", 4, "漢…"}, {"abc", 0, "abc"}, {"e\u0301e\u0301", 2, "e\u0301e\u0301"}} {
		if got := clip(c.text, c.columns); got != c.want {
			t.Errorf("clip(%q, %d) = %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want Style
	}{
		{"a pipe", nil, Style{Unicode: true}},
		{"a pipe that wants colour", map[string]string{"CLICOLOR_FORCE": "1"}, Style{Unicode: true, Color: true}},
		{"colour is not forced by 0", map[string]string{"CLICOLOR_FORCE": "0"}, Style{Unicode: true}},
		{"NO_COLOR is stronger", map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, Style{Unicode: true}},
		{"a dumb terminal", map[string]string{"CLICOLOR_FORCE": "1", "TERM": "dumb"}, Style{Unicode: true}},
		{"an ASCII locale", map[string]string{"LC_ALL": "C", "LANG": "en_US.UTF-8"}, Style{}},
		{"LC_CTYPE before LANG", map[string]string{"LC_CTYPE": "de_DE.utf8", "LANG": "C"}, Style{Unicode: true}},
		{"C.UTF-8", map[string]string{"LANG": "C.UTF-8"}, Style{Unicode: true}},
	} {
		if got := Detect(new(strings.Builder), func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		expected, observed string
		want               []string
		more               bool
	}{
		{`1`, `1.0`, nil, false},
		{`9007199254740993`, `9007199254740992`, []string{" 9007199254740993 9007199254740992"}, false},
		{`{"a":1,"b":[1,2]}`, `{"b":[1,3],"a":1}`, []string{"/b/1 2 3"}, false},
		{`{"a":1}`, `{"b":1}`, []string{"/a 1 -", "/b - 1"}, false},
		{`[1]`, `[1,2,3,4,5]`, []string{"/1 - 2", "/2 - 3", "/3 - 4"}, true},
		{`[1,2]`, `[1]`, []string{"/1 2 -"}, false},
		{`{"a/b":{"~":true}}`, `{"a/b":{"~":1}}`, []string{"/a~1b/~0 true 1"}, false},
		{`"a"`, `["a"]`, []string{` "a" ["a"]`}, false},
	} {
		expected, seen := value(c.expected), value(c.observed)
		ds, more := differences(&expected, &seen, 3)
		var got []string
		for _, d := range ds {
			side := func(v *strictjson.Value) string {
				if v == nil {
					return "-"
				}
				return string(strictjson.Canonical(v))
			}
			got = append(got, d.pointer.String()+" "+side(d.expected)+" "+side(d.observed))
		}
		if !slices.Equal(got, c.want) || more != c.more {
			t.Errorf("%s and %s: %q (more: %t), want %q", c.expected, c.observed, got, more, c.want)
		}
	}
}

func TestDiffShowsWhereLongTextsDiffer(t *testing.T) {
	same := strings.Repeat("the same ", 60)
	for _, width := range []int{0, 60} {
		p := page{Style: Style{Unicode: true, Width: width}}
		left, right := strictjson.Str(same+"left"), strictjson.Str(same+"right")
		p.diff("  ", &left, &right)
		if got := p.b.String(); !strings.Contains(got, "left") || !strings.Contains(got, "right") {
			t.Errorf("width %d: the difference was clipped away:\n%s", width, got)
		}
	}
}

func TestDiffShowsTheEndOfLongOutput(t *testing.T) {
	p := page{Style: Style{Unicode: true}}
	expected, seen := value(`{"exit_code":0}`), value(`{"exit_code":2,"stderr":"`+strings.Repeat(`line\n`, 99)+`panic: gone\n"}`)
	p.diff("", &expected, &seen)
	got := p.b.String()
	if !strings.Contains(got, "| panic: gone") || !strings.Contains(got, "the last 10 of 100 lines") || strings.Count(got, "| line") != 9 {
		t.Errorf("got\n%s", got)
	}
}

func TestDiffCompares(t *testing.T) {
	for _, c := range []struct{ name, expected, observed, want string }{
		{"the value that must be equal", `{"equals":{"k":[1,2]},"pointer":"/x"}`, `{"k":[1,3]}`, "expected  /k/1  2\nobserved  /k/1  3\n"},
		{"scalars", `{"equals":1,"pointer":"/x"}`, `"1"`, "expected  1\nobserved  \"1\"\n"},
		{"objects with nothing in common", `{"exists":true}`, `{"kind":"missing"}`, "expected  {\"exists\":true}\nobserved  {\"kind\":\"missing\"}\n"},
		{"nothing seen", `1`, `null`, "expected  1\n"},
		{"nothing wanted", `null`, `1`, "observed  1\n"},
		{"what describes another member is left out", `{"n":1}`, `{"n":2,"stdout":"a\n","stdout_bytes":2,"other_bytes":3}`,
			"expected  /n  1\nobserved  /n  2\nstdout\n| a\n          other_bytes  3\n"},
		{"nothing at all", `null`, `null`, ""},
	} {
		p := page{Style: Style{Unicode: true}}
		expected, seen := value(c.expected), value(c.observed)
		p.diff("", &expected, &seen)
		if got := p.b.String(); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
}
