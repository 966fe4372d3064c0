package check

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextKeepsHeadAndTail(t *testing.T) {
	const most = 20 << 10
	for name, data := range map[string]string{
		"one line":          "HEAD" + strings.Repeat("x", 100<<10) + "TAIL",
		"lines":             "HEAD\n" + strings.Repeat("a line\n", 20<<10) + "TAIL",
		"characters":        "HEAD" + strings.Repeat("é", 50<<10) + "TAIL",
		"odd characters":    "HEADx" + strings.Repeat("é", 50<<10) + "TAIL",
		"large characters":  "HEADxx" + strings.Repeat("😀", 20<<10) + "TAIL",
		"no UTF-8":          "HEAD" + strings.Repeat("\xff", 50<<10) + "TAIL",
		"just over":         "HEAD" + strings.Repeat("x", most-7) + "TAIL",
		"only line ends":    "HEAD" + strings.Repeat("\n", 50<<10) + "TAIL",
		"a line at the cut": "HEAD" + strings.Repeat("x", most/2-5) + "\n" + strings.Repeat("y", 60<<10) + "TAIL",
	} {
		text, whole := Output{Data: []byte(data)}.Text(most)
		if whole || !utf8.ValidString(text) || len(text) > most+100 {
			t.Errorf("%s: whole %v, %d bytes, valid %v", name, whole, len(text), utf8.ValidString(text))
		}
		if !strings.HasPrefix(text, "HEAD") || !strings.HasSuffix(text, "TAIL") || !strings.Contains(text, "bytes left out") {
			t.Errorf("%s: %.30q … %q", name, text, text[max(0, len(text)-30):])
		}
	}
}

func TestTextIsWholeWhenItFits(t *testing.T) {
	for data, want := range map[string]bool{"": true, "é\x00\x1b": true, "a\xffb": false} {
		if text, whole := (Output{Data: []byte(data)}).Text(100); whole != want || !utf8.ValidString(text) {
			t.Errorf("%q: %q, whole %v", data, text, whole)
		}
	}
	if _, whole := (Output{Data: []byte("a"), Truncated: true}).Text(100); whole {
		t.Error("a stream that was cut is not whole")
	}
}

// A cut in a line could leave half of a credential, which nothing recognises.
func TestTextCutsBetweenLines(t *testing.T) {
	line := strings.Repeat("k", 100) + "\n"
	text, _ := Output{Data: []byte(strings.Repeat(line, 1000))}.Text(10 << 10)
	for l := range strings.Lines(text) {
		if l != line && !strings.Contains(l, "bytes left out") && l != "\n" {
			t.Errorf("half a line: %q", l)
		}
	}
}

func TestPathFileOfAFinding(t *testing.T) {
	for p, want := range map[Path]string{"./a/b.json": "a/b.json", "a//b": "a/b", "a\xffb": `"a\xffb"`, "/ws/a": "/ws/a"} {
		if got := p.File(); got != want {
			t.Errorf("%q: %q, want %q", p, got, want)
		}
	}
}
