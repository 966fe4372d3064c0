package text

import (
	"strings"
	"testing"
	"time"
)

func env(pairs ...string) func(string) string {
	return func(k string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == k {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestProgressInAPipeIsSilent(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, Style{}, env())
	p.Step(1, 2, "a", "pass")
	p.End()
	if b.Len() > 0 {
		t.Errorf("it wrote %q", b.String())
	}
}

func TestProgressInAJobIsAGroup(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, Style{}, env("GITHUB_ACTIONS", "true"))
	p.Step(0, 2, "a", "")
	p.Step(1, 2, "a", "pass")
	p.Step(2, 2, "::error::x\r\n::y", "fail")
	p.End()
	p.End()
	want := "::group::2 checks\n1/2 a: pass\n" + `2/2 ::error::x\r\n::y: fail` + "\n::endgroup::\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestProgressOnATerminalIsOneLine(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, Style{Live: true, Width: 40, Unicode: true}, env("GITHUB_ACTIONS", "true"))
	now := time.Unix(0, 0)
	p.now = func() time.Time { return now }
	p.Step(0, 4, "early", "")
	if b.Len() > 0 {
		t.Errorf("a short run flickers: %q", b.String())
	}
	now = now.Add(liveAfter)
	p.Step(2, 4, "\x1b[2Jlong "+strings.Repeat("x", 80), "")
	p.Step(3, 4, "too soon", "")
	p.End()
	got := b.String()
	if strings.Contains(got, "\n") || strings.Contains(got, "too soon") || strings.Contains(got, "\x1b[2J") || strings.Contains(got, "::group") {
		t.Errorf("got %q", got)
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(got, "\r\x1b[K"), "\r")
	if !strings.HasPrefix(line, strings.Repeat("━", 10)+strings.Repeat("─", 10)+" 2/4  ") || cells(line) >= 40 {
		t.Errorf("the line is %q", line)
	}
	if !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the line is left on the terminal: %q", got)
	}
}
