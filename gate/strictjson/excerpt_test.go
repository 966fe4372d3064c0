package strictjson

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExcerpt(t *testing.T) {
	for _, c := range []struct {
		src  string
		most int
		want string
		cut  bool
	}{
		{`{"b":[1,2.50,"x"],"a":null}`, 100, `{"b":[1,2.50,"x"],"a":null}`, false},
		{`[1,2,3,4,5]`, 5, `[1,2,…`, true},
		{`[1,2,3,4,5]`, 11, `[1,2,3,4,5]`, false},
		{`"abcdef"`, 4, `"abc…`, true},
		{`"ééééé"`, 4, `"é…`, true},
		{`123456789`, 3, `123…`, true},
		{`true`, 4, `true`, false},
	} {
		doc, err := Parse([]byte(c.src), DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		got, cut := Excerpt(&doc.Root, c.most)
		if got != c.want || cut != c.cut {
			t.Errorf("Excerpt(%s, %d) = %q, %v; want %q, %v", c.src, c.most, got, cut, c.want, c.cut)
		}
	}
}

func TestExcerptStaysSmall(t *testing.T) {
	huge := Str(strings.Repeat("\xff", 1<<20))
	items := make([]Value, 1<<20)
	for i := range items {
		items[i] = huge
	}
	v := Arr(items...)
	text, cut := Excerpt(&v, 200)
	if !cut || len(text) > 210 || !utf8.ValidString(text) {
		t.Errorf("%d bytes, cut %v: %q", len(text), cut, text)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{"é": "é", "a\xff\x00b": "a\\xff\x00b", "\xe2\x82": `\xe2\x82`, "\ufffd": "\ufffd"} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCompareNumbers(t *testing.T) {
	digits := strings.Repeat("9", 4_000_000) // as a big.Int this would take half a minute
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1", "1.0", 0}, {"-0", "0", 0}, {"-0.0", "0", 0}, {"0", "-1", 1}, {"-2", "-1", -1}, {"10", "9", 1}, {"-10", "-9", -1},
		{"9007199254740993", "9007199254740992", 1}, {"9007199254740993", "9007199254740992.0", 1}, {"1e2", "100", 0},
		{digits, digits[1:], 1}, {"-" + digits, digits, -1}, {digits, "1.7976931348623157e308", 1}, {"-1.5", "-" + digits, 1},
		{digits, digits[:len(digits)-1] + "8", 1}, {"0.1", "0.10000000000000000001", 0},
	} {
		if got := CompareNumbers(c.a, c.b); got != c.want {
			t.Errorf("CompareNumbers(%.20s, %.20s) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestParseBoundsValues(t *testing.T) {
	lim := Limits{Depth: 10, Bytes: 1000, Values: 3}
	if _, err := Parse([]byte(`[1,{"a":2}]`), lim); err == nil || !err.(*SyntaxError).Limit {
		t.Errorf("four values under a bound of three: %v", err)
	}
	if _, err := Parse([]byte(`[1,2]`), lim); err != nil {
		t.Errorf("three values under a bound of three: %v", err)
	}
}
