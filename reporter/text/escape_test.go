package text

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain text stays", `orders.db: 29.0 (C:\new)`, `orders.db: 29.0 (C:\new)`},
		{"letters of any script stay", "žluť 漢字 🙂 é", "žluť 漢字 🙂 é"},
		{"ANSI colour", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"OSC 8 link", "\x1b]8;;https://evil\x07text", `\x1b]8;;https://evil\atext`},
		{"C1 control sequence introducer", "\u009b2J", `\u009b2J`},
		{"C1 as a lone byte", "\x9b2J", `\x9b2J`},
		{"new lines", "a\nb\r\nc\rd", `a\nb\r\nc\rd`},
		{"tab, backspace, bell, NUL, DEL", "\t\b\a\x00\x7f", `\t\b\a\x00\x7f`},
		{"line and paragraph separator, next line", "a\u2028b\u2029c\u0085d", `a\u2028b\u2029c\u0085d`},
		{"bidi override", "a\u202eb\u2066c\u200f", `a\u202eb\u2066c\u200f`},
		{"zero width", "a\u200bb\u200dc\ufeffd\u2060", `a\u200bb\u200dc\ufeffd\u2060`},
		{"tag characters", "a\U000e0041", `a\U000e0041`},
		{"soft hyphen", "a\u00adb", `a\u00adb`},
		{"not UTF-8", "caf\xe9", `caf\xe9`},
		{"workflow command", "::set-output name=verdict::VERIFIED", `\x3a:set-output name=verdict::VERIFIED`},
		{"workflow command after white space", " \u00a0\u3000::error::x", " \u00a0\u3000" + `\x3a:error::x`},
		{"workflow command behind a bare return", "a\r::add-mask::x", `a\r::add-mask::x`},
		{"colons inside stay", "std::vector", "std::vector"},
		{"old runner command", "x ##[group]y", `x #\x23[group]y`},
		{"old runner command, hidden", "x #\u200b#[group]", `x #\u200b#[group]`},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Escape(c.in); got != c.want {
				t.Errorf("Escape(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
		})
	}
}

func TestGuardSeesThroughColour(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31m::error::x": "\x1b[31m\\x3a:error::x",
		" \x1b[1m ::x":       " \x1b[1m \\x3a:x",
		"\x1b[never ends ::": "\x1b[never ends ::",
		":: ":                `\x3a: `,
		"a ::b":              "a ::b",
	} {
		if got := guard(in); got != want {
			t.Errorf("guard(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a", "::error::x", " ::", "##[", "###[[", "\x1b[0m", "\u202e", "caf\xe9", "a\r\n::x", "\u2028::x", "\U000e0001"} {
		f.Add(s)
	}
	command := regexp.MustCompile(`^\s*::|##\[`)
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q: not UTF-8: %q", s, got)
		}
		for _, r := range got {
			if !unicode.IsGraphic(r) {
				t.Fatalf("%q: %U was let through: %q", s, r, got)
			}
		}
		if command.MatchString(got) || strings.HasPrefix(strings.TrimSpace(got), "::") {
			t.Fatalf("%q: a runner would take this for a command: %q", s, got)
		}
		if Escape(got) != got {
			t.Fatalf("%q: escaping twice changes it: %q, %q", s, got, Escape(got))
		}
	})
}

func FuzzEscapeJSON(f *testing.F) {
	for _, s := range []string{"", "a", "\u202e", "\U000e0001", "##[", "###[[", "\x7f\u0085", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		doc, err := json.MarshalIndent(map[string]string{s: s}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		safe := EscapeJSON(doc)
		var before, after map[string]string
		if err := json.Unmarshal(doc, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(safe, &after); err != nil {
			t.Fatalf("%q: no JSON any more: %v\n%s", s, err, safe)
		}
		for k, v := range before {
			if after[k] != v {
				t.Fatalf("%q became %q", v, after[k])
			}
		}
		for _, r := range string(safe) {
			if r != '\n' && !unicode.IsGraphic(r) {
				t.Fatalf("%q: %U was let through", s, r)
			}
		}
		if strings.Contains(string(safe), "##[") {
			t.Fatalf("%q: a runner would take this for a command: %q", s, safe)
		}
	})
}
