package github

import (
	"fmt"
	"regexp"
	"strings"
)

// escapeProse makes text of strangers a part of a Markdown sentence, on one line,
// that shows as it was written. No link, image, HTML, code, table cell or formula
// begins or ends in it; and since GitHub looks for mentions, references and addresses
// only after Markdown was read, when a backslash is gone, those are broken by an
// invisible character of ours, as other bots do.
func escapeProse(s string) string { return sentence(s, maxCell) }

// sentence is escapeProse for text of at most most bytes, and of at most twice as many
// once it is escaped: a text of nothing but @ becomes nine times as long.
func sentence(s string, most int) string {
	s = visible(strings.TrimSpace(s))
	for n := most; ; n = n * 3 / 4 {
		if out := proseOf(cutTo(s, n)); len(out) <= 2*most {
			return out
		}
	}
}

func proseOf(s string) string {
	s = linked.ReplaceAllStringFunc(s, func(m string) string {
		switch m[0] {
		case ':', '@', '#':
			return m[:1] + "\x00" + m[1:]
		}
		return m[:2] + "\x00" + m[2:] // www., GH-1
	})
	s = words.ReplaceAllStringFunc(s, func(m string) string {
		if commit.MatchString(m) {
			return m[:2] + "\x00" + m[2:]
		}
		return m
	})
	var b strings.Builder
	b.Grow(len(s) + len(s)/4)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case 0:
			b.WriteString(breaker)
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		case '$':
			b.WriteString("&#36;") // a formula's delimiter, with a backslash too
		case '\\', '`', '*', '_', '{', '}', '[', ']', '(', '#', '+', '-', '!', '|', '~', '@', '=', '^', '"', '\'', ':':
			if i > 0 && ordinary(c) {
				b.WriteByte(c)
				continue
			}
			b.WriteByte('\\')
			b.WriteByte(c)
		case '.', ')':
			if i > 0 && strings.Trim(s[:i], "0123456789") == "" {
				b.WriteByte('\\') // 1. and 1) begin a list
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// ordinary are signs that mean nothing inside a line. At its beginning they could
// make a list in the item of a list.
func ordinary(c byte) bool { return strings.IndexByte(`("':=+-`, c) >= 0 }

// breaker is a zero-width space.
const breaker = "&#8203;"

// linked, and commit among the words, find what GitHub turns into links by itself:
// addresses, mentions, numbers of issues, names of commits.
var (
	linked = regexp.MustCompile(`(?i)://|@|#|www\.|GH-[0-9]|mailto:|xmpp:`)
	words  = regexp.MustCompile(`[0-9A-Za-z]+`)
	commit = regexp.MustCompile(`^[0-9A-Fa-f]{7,40}$`)
)

// codeSpan shows text of strangers as code on one line: nothing in it means anything
// but its end, and that is a run of backticks that it does not hold. A | is a table's
// even there.
func codeSpan(s string) string {
	s = cutTo(visible(s), maxPlain)
	if strings.TrimSpace(s) == "" {
		return "` " + s + " `"
	}
	marks := strings.Repeat("`", longestRun(s)+1)
	pad := ""
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		pad = " "
	}
	return marks + pad + strings.ReplaceAll(s, "|", `\|`) + pad + marks
}

// fence shows several lines of text as code.
func fence(s, language string) string {
	s = visibleLines(s)
	marks := strings.Repeat("`", max(longestRun(s)+1, 3))
	return marks + language + "\n" + strings.TrimRight(s, "\n") + "\n" + marks + "\n"
}

func longestRun(s string) int {
	longest, run := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// link is a Markdown link to an address that GitHub gave, or plain code when it does
// not look like one.
func link(text, address string) string {
	if len(address) > maxAddress || !webAddress.MatchString(address) {
		return text + " " + codeSpan(address)
	}
	return "[" + text + "](" + address + ")"
}

var webAddress = regexp.MustCompile(`^https?://[A-Za-z0-9._~:/?#@!$&*+,;=%-]+$`)

// document collects Markdown up to a number of bytes.
type document struct {
	strings.Builder
	most int
}

func (d *document) left() int { return d.most - d.Len() }

// line adds a line of ours.
func (d *document) line(format string, args ...any) {
	fmt.Fprintf(d, format+"\n", args...)
}

// finish gives the document. Its parts are measured so that it fits; should one of
// them have been measured wrong, it is cut at a line and says so, for GitHub would
// refuse it whole.
func (d *document) finish() string {
	s := d.String()
	if len(s) <= d.most {
		return s
	}
	head := s[:runeEnd(s, d.most-reserve)]
	head = head[:strings.LastIndexByte(head, '\n')+1]
	return head + fmt.Sprintf("\n**%d bytes cut** for GitHub's limits; `evidence.json` of the run has all of it.\n", len(s)-len(head))
}

// items adds as many of the items as fit into room bytes, at most most of them, and
// gives how many it added.
func (d *document) items(n, most, room int, item func(i int) string) int {
	room = min(room, d.left()) - reserve
	for i := range n {
		text := ""
		if i < most {
			text = item(i)
		}
		if text == "" || len(text) > room {
			return i
		}
		room -= len(text)
		d.WriteString(text)
	}
	return n
}
