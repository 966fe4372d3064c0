package text

import (
	"io"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// asciiRune writes a character as an escape of ASCII characters.
func asciiRune(r rune) string {
	q := strconv.QuoteRuneToASCII(r)
	return q[1 : len(q)-1]
}

// cells is how many columns a text without colours takes on a terminal.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// pad fills a text up to a number of columns.
func pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-cells(s)))
}

// clip cuts a text to a number of columns, with an ellipsis where it was cut.
// 0 columns is no bound.
func clip(s string, columns int) string {
	if columns <= 0 || cells(s) <= columns {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeCells(r); n > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap breaks a text into lines of at most so many columns: between words
// where it can, inside one that is longer than a line. 0 columns is no bound.
func wrap(s string, columns int) []string {
	if columns <= 0 || cells(s) <= columns {
		return []string{s}
	}
	var lines []string
	line, used := "", 0
	flush := func() {
		if line != "" {
			lines, line, used = append(lines, line), "", 0
		}
	}
	for _, word := range strings.Fields(s) {
		w := cells(word)
		if used > 0 && used+1+w > columns {
			flush()
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		for w > columns-used {
			head := head(word, columns-used)
			line += head
			word = word[len(head):]
			w = cells(word)
			flush()
		}
		line, used = line+word, used+w
	}
	flush()
	return lines
}

// head is the longest beginning of a word that fits, at least one character.
func head(word string, columns int) string {
	n := 0
	for i, r := range word {
		if n += runeCells(r); n > columns && i > 0 {
			return word[:i]
		}
	}
	return word
}

// page collects lines and writes them out once. Its first failure to write
// ends it: what could not be shown must not look shown.
type page struct {
	Style
	b strings.Builder
}

// line adds one finished line. It is guarded as a whole, whatever its pieces.
func (p *page) line(s string) {
	p.b.WriteString(guard(strings.TrimRightFunc(s, unicode.IsSpace)))
	p.b.WriteByte('\n')
}

// paragraph adds a text behind a lead, wrapped, its further lines indented by
// the columns that the lead takes. Only the text gets the tone.
func (p *page) paragraph(lead string, leadCells int, t tone, text string) {
	columns := p.Width - leadCells
	if p.Width == 0 {
		columns = 0
	} else {
		columns = max(columns, minWidth/2)
	}
	for i, l := range wrap(p.fit(text), columns) {
		if i > 0 {
			lead = strings.Repeat(" ", leadCells)
		}
		p.line(lead + p.paint(t, l))
	}
}

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}
