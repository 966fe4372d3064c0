package text

import (
	"os"
	"strings"

	"golang.org/x/term"
)

// Style says how text may look where it goes. The zero Style is for a pipe in
// an ASCII locale: no colour, no line breaks of ours.
type Style struct {
	Width   int  // columns to wrap at; 0: never wrap
	Color   bool // ANSI colours may be used
	Unicode bool // the locale can show more than ASCII
	Live    bool // a terminal, where a line can be drawn over
}

// Lines are wrapped between these widths: under minWidth a table is no table
// any more, over maxWidth the eye loses its line.
const (
	minWidth = 40
	maxWidth = 120
)

// Detect gives the style for an output stream and an environment: colour only
// on a terminal (unless CLICOLOR_FORCE asks for it, never against NO_COLOR or a
// dumb terminal), symbols only in a UTF-8 locale.
func Detect(out any, env func(string) string) Style {
	s := Style{Unicode: utf8Locale(env)}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.Live = env("TERM") != "dumb"
		s.Width = maxWidth
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			s.Width = min(max(columns, minWidth), maxWidth)
		}
	}
	s.Color = s.Live && env("CLICOLOR") != "0"
	if force := env("CLICOLOR_FORCE"); force != "" && force != "0" {
		s.Color = true
	}
	if env("NO_COLOR") != "" || env("TERM") == "dumb" {
		s.Color = false
	}
	return s
}

// utf8Locale looks at the variables in the order in which POSIX ranks them.
// Where none is set, as in most containers and CI jobs, UTF-8 is taken: their
// logs are shown by browsers.
func utf8Locale(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// tone is what a piece of text is, for its colour.
type tone string

const (
	plainTone tone = ""
	good      tone = "32"   // green
	bad       tone = "31"   // red
	unsure    tone = "33"   // yellow
	broken    tone = "35"   // magenta
	faint     tone = "2"    // what may be skipped
	strong    tone = "1"    // a heading
	goodBig   tone = "1;32" // the verdict line
	badBig    tone = "1;31"
	unsureBig tone = "1;33"
	brokenBig tone = "1;35"
)

// paint colours a piece of text that is safe to print already.
func (s Style) paint(t tone, text string) string {
	if !s.Color || t == plainTone || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// pick gives the symbol of a Unicode locale, or its ASCII stand-in.
func (s Style) pick(symbol, ascii string) string {
	if s.Unicode {
		return symbol
	}
	return ascii
}

// fit makes text of ours and of the world showable: in an ASCII locale, what is
// not ASCII is written as an escape or by its nearest sign.
func (s Style) fit(text string) string {
	if s.Unicode || plain(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r == '…':
			b.WriteByte('~') // one column, as the sign that it stands for
		case r == '·':
			b.WriteByte('-')
		default:
			b.WriteString(asciiRune(r))
		}
	}
	return b.String()
}

// Line is one line of an answer: a lead of ours and a text of the world.
func (s Style) Line(lead, text string) string { return guard(lead + s.fit(Escape(text))) }

// Refusal is the first line of a refusal: its code.
func (s Style) Refusal(code string) string {
	return s.paint(badBig, "refused") + " " + s.Line("", code)
}

// Problem is one problem of a contract with its place.
func (s Style) Problem(place, word, message string) string {
	t := bad
	if word != "" {
		t = unsure
	}
	return guard(s.paint(strong, s.fit(Escape(place))) + ": " + s.paint(t, word) + s.fit(Escape(message)))
}

// Heading is the title of a part of an answer.
func (s Style) Heading(text string) string { return s.paint(strong, s.Line("", text)) }

// Paragraph is a text behind a lead, wrapped, with its line breaks.
func (s Style) Paragraph(lead, text string) string {
	p := page{Style: s}
	p.paragraph(lead, cells(lead), plainTone, Escape(text))
	return p.b.String()
}

// Sign is the symbol of something that holds or does not, in one column.
func (s Style) Sign(holds bool) string {
	if holds {
		return s.pick("✓", "+")
	}
	return s.pick("✗", "x")
}

// Mark is the coloured [Style.Sign].
func (s Style) Mark(holds bool) string {
	if holds {
		return s.paint(good, s.Sign(true))
	}
	return s.paint(bad, s.Sign(false))
}
