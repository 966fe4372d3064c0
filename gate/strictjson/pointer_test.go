package strictjson

import (
	"slices"
	"strings"
	"testing"
)

// The document and the table of RFC 6901, section 5.
func TestPointerExamples(t *testing.T) {
	root := parsed(t, `{
      "foo": ["bar", "baz"],
      "": 0,
      "a/b": 1,
      "c%d": 2,
      "e^f": 3,
      "g|h": 4,
      "i\\j": 5,
      "k\"l": 6,
      " ": 7,
      "m~n": 8
   }`)
	for text, want := range map[string]string{
		"":       string(Canonical(root)),
		"/foo":   `["bar","baz"]`,
		"/foo/0": `"bar"`,
		"/":      `0`,
		"/a~1b":  `1`,
		"/c%d":   `2`,
		"/e^f":   `3`,
		"/g|h":   `4`,
		"/i\\j":  `5`,
		"/k\"l":  `6`,
		"/ ":     `7`,
		"/m~0n":  `8`,
	} {
		p, err := ParsePointer(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		found, deepest, why := p.Find(root)
		if why != "" || string(Canonical(found)) != want || !slices.Equal(deepest, p) {
			t.Errorf("%q leads to %s (%s), want %s", text, Canonical(found), why, want)
		}
		if p.String() != text {
			t.Errorf("%q is written %q", text, p)
		}
	}
}

func TestPointerFind(t *testing.T) {
	root := parsed(t, `{"":{"":[]},"a":[10,[20]],"~1":"tilde","01":1,"0":{"-":2},"s":"text","n":null}`)
	huge := strings.Repeat("9", 100)
	for _, tt := range []struct{ text, found, deepest, why string }{
		{"/", `{"":[]}`, "/", ""},
		{"//", `[]`, "//", ""},
		{"/~01", `"tilde"`, "/~01", ""}, // ~01 is ~1, not /
		{"/a/1/0", `20`, "/a/1/0", ""},
		{"/01", `1`, "/01", ""}, // a member's name, no index
		{"/0/-", `2`, "/0/-", ""},
		{"/n", `null`, "/n", ""},
		{"/x", string(Canonical(root)), "", `no member "x"`},
		{"/A", string(Canonical(root)), "", `no member "A"`},
		{"/a/2", `[10,[20]]`, "/a", "2 elements, so no element 2"},
		{"/a/01", `[10,[20]]`, "/a", `"01" is no index`},
		{"/a/00", `[10,[20]]`, "/a", `"00" is no index`},
		{"/a/-", `[10,[20]]`, "/a", `"-" is no index`},
		{"/a/+1", `[10,[20]]`, "/a", `"+1" is no index`},
		{"/a/-1", `[10,[20]]`, "/a", `"-1" is no index`},
		{"/a/1.0", `[10,[20]]`, "/a", `"1.0" is no index`},
		{"/a/1e0", `[10,[20]]`, "/a", `"1e0" is no index`},
		{"/a/ 1", `[10,[20]]`, "/a", `" 1" is no index`},
		{"/a/", `[10,[20]]`, "/a", `"" is no index`},
		{"/a/１", `[10,[20]]`, "/a", `"１" is no index`},
		{"/a/" + huge, `[10,[20]]`, "/a", "so no element 99999"},
		{"/a/18446744073709551616", `[10,[20]]`, "/a", "so no element 18446744073709551616"}, // 2^64 is not 0
		{"/a/1/0/x", `20`, "/a/1/0", "there is a number there"},
		{"/s/0", `"text"`, "/s", "there is a string there"},
		{"/n/x", `null`, "/n", "there is null there"},
		{"///0", `[]`, "//", "0 elements, so no element 0"},
	} {
		p, err := ParsePointer(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		found, deepest, why := p.Find(root)
		if string(Canonical(found)) != tt.found || deepest.String() != tt.deepest || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%q: leads to %s at %q, %q; want %s at %q, %q", tt.text, Canonical(found), deepest, why, tt.found, tt.deepest, tt.why)
		}
		if len(why) > 200 {
			t.Errorf("%q: the reason has %d bytes", clip(tt.text), len(why))
		}
	}
}

func TestParsePointerRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a":     `must be "" or begin with "/"`,
		"#/a":   `must be "" or begin with "/"`,
		" /a":   `must be "" or begin with "/"`,
		"$.a":   `must be "" or begin with "/"`,
		"/~":    "~ must be followed by 0 or 1",
		"/a~2b": "~ must be followed by 0 or 1",
		"/~~0":  "~ must be followed by 0 or 1",
		"/a/~":  "~ must be followed by 0 or 1",
	} {
		if p, err := ParsePointer(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", text, p, err, want)
		}
	}
}
