package text

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes text that came from the world (a contract, a file name, a
// command's output, an error of the system) safe to print on a terminal and in
// a CI log, on one line:
//
//   - whatever is no graphic character is written as Go writes it in a string:
//     control characters of both ranges (so no ANSI sequence), line and
//     paragraph separators, bidi and zero-width controls, code points that are
//     not assigned, and bytes that are no UTF-8;
//   - "::" at its beginning and "##[" anywhere are broken up, because the
//     runners of GitHub and Azure take a line with them for a command.
//
// A backslash is left as it is: the result is for reading, not for decoding.
func Escape(s string) string {
	if !plain(s) {
		s = escapeRunes(s)
	}
	return guard(s)
}

// plain says whether s is printable ASCII all through, as nearly all text is.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func escapeRunes(s string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !graphic(r):
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// graphic says whether a character only shows itself. Format characters (bidi,
// zero-width, tags) are not graphic, whatever they would do to the text around.
func graphic(r rune) bool { return strconv.IsGraphic(r) }

// guard breaks up what a CI runner would take for a command. It is applied to
// every piece of foreign text and again to every finished line, because two
// harmless pieces can make a command together.
func guard(line string) string {
	if at := lineStart(line); strings.HasPrefix(line[at:], "::") {
		line = line[:at] + `\x3a:` + line[at+2:]
	}
	return strings.ReplaceAll(line, "##[", `#\x23[`)
}

// lineStart is where a line begins for a runner: after white space, and after
// our own colours, which a log viewer may take away first.
func lineStart(line string) int {
	at := 0
	for at < len(line) {
		rest := line[at:]
		r, size := utf8.DecodeRuneInString(rest)
		if strings.HasPrefix(rest, "\x1b[") {
			size = strings.IndexByte(rest, 'm') + 1
		} else if !unicode.IsSpace(r) {
			break
		}
		if size <= 0 {
			break
		}
		at += size
	}
	return at
}

// EscapeJSON makes a JSON document safe to print in the same places, without
// changing its value: every character that [Escape] would not print, and the
// second # of "##[", becomes a \u escape. Outside of strings, JSON has no such
// characters but its white space.
func EscapeJSON(doc []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(doc))
	for i := 0; i < len(doc); {
		r, size := utf8.DecodeRune(doc[i:])
		switch {
		case r < ' ':
			out.WriteByte(doc[i]) // the white space between the tokens
		case bytes.HasPrefix(doc[i:], []byte("##[")):
			out.WriteString(`#\u0023`)
			size = 2
		case graphic(r):
			out.Write(doc[i : i+size])
		case r > 0xffff:
			hi, lo := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		i += size
	}
	return out.Bytes()
}
