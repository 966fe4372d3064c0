package github

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// visible makes text of strangers fit for a place that shows plain text on one
// line: whatever would not show itself (control characters, bidi and zero-width
// controls, separators of lines, private and unassigned code points) is written as
// <U+202E>, and a byte that is no UTF-8 as <0xFF>. Nothing is left out, so two texts
// that differ never look the same for want of a character that nobody sees.
func visible(s string) string { return escapeRunes(s, false, false) }

// visibleLines is visible for several lines: line feeds and tabs stay.
func visibleLines(s string) string { return escapeRunes(s, true, false) }

// annotationText is for messages of annotations, where code points above U+FFFF
// were seen to make the API fail.
func annotationText(s string) string { return escapeRunes(s, true, true) }

func escapeRunes(s string, lines, basic bool) string {
	if lines {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	if plainASCII(s, lines) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[i])
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case !strconv.IsGraphic(r), basic && r > 0xffff, blank(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// blank are letters that show nothing, which Unicode calls graphic all the same.
func blank(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0, 0x2800, 0x034f:
		return true
	}
	return r >= 0xfe00 && r <= 0xfe0e || r >= 0xe0100 && r <= 0xe01ef // variation selectors, but for emoji's
}

func plainASCII(s string, lines bool) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < ' ' || c > '~') && !(lines && (c == '\n' || c == '\t')) {
			return false
		}
	}
	return true
}

// cutTo shortens text to at most most bytes, and says inside how many are gone. Text
// that is cut first and escaped afterwards can be longer again; so it is cut here
// after visible, and before what is Markdown's.
func cutTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head := s[:runeEnd(s, max(most-len(cutMark(len(s))), 0))]
	return head + cutMark(len(s)-len(head))
}

func cutMark(n int) string { return fmt.Sprintf(" … [%d bytes cut]", n) }

// tailOf keeps the end of a text instead: what a command says last is mostly why it
// ended.
func tailOf(s string, most int) (tail string, cut int) {
	if len(s) <= most {
		return s, 0
	}
	at := len(s) - most
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	if i := strings.IndexByte(s[at:], '\n'); i >= 0 && i < most/2 {
		at += i + 1
	}
	return s[at:], at
}

// runeEnd is the last place up to at where no character is cut through.
func runeEnd(s string, at int) int {
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// titled cuts to characters, as GitHub counts titles.
func titled(s string) string { return clipped(s, maxTitle) }

// clipped makes text fit for a title of at most most characters.
func clipped(s string, most int) string {
	s = escapeRunes(s, false, true)
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
