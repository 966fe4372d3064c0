package strictjson

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// word gives the letters and digits that begin at the next byte.
func (p *parser) word() string {
	end := p.at
	for end < len(p.src) {
		c := p.src[end] | 0x20 // lower case
		if !isDigit(p.src[end]) && (c < 'a' || c > 'z') && p.src[end] != '_' {
			break
		}
		end++
	}
	return p.src[p.at:end]
}

// digits skips digits and says whether there was one.
func (p *parser) digits() bool {
	from := p.at
	for p.at < len(p.src) && isDigit(p.src[p.at]) {
		p.at++
	}
	return p.at > from
}

// accept skips the next byte when it is one of those given.
func (p *parser) accept(any string) bool {
	if p.at < len(p.src) && strings.IndexByte(any, p.src[p.at]) >= 0 {
		p.at++
		return true
	}
	return false
}

// number reads a literal. Mistakes inside it are placed where they are, those
// of the number as a whole where it begins.
func (p *parser) number() (string, error) {
	from := p.at
	minus := p.accept("-")
	first := p.at
	switch whole := p.digits(); {
	case !whole && minus && p.word() != "":
		return "", p.failf(from, "unexpected %s where a value is expected%s", clip("-"+p.word()), meant(p.word()))
	case !whole:
		return "", p.failf(p.at, "a digit is expected after the minus sign")
	case p.src[first] == '0' && p.at > first+1:
		return "", p.failf(from, "the number %s begins with a zero too many", clip(p.src[from:p.at]))
	}
	integer := true
	if p.accept(".") {
		integer = false
		if !p.digits() {
			return "", p.failf(p.at, "a digit is expected after the point of a number")
		}
	}
	if p.accept("eE") {
		integer = false
		p.accept("+-")
		if !p.digits() {
			return "", p.failf(p.at, "a digit is expected in the exponent of a number")
		}
	}
	lit := p.src[from:p.at]
	if word := p.word(); word != "" {
		return "", p.failf(p.at, "unexpected %s directly after the number %s", clip(word), clip(lit))
	}
	if !integer && overflows(lit) {
		return "", p.failf(from, "the number %s is too large for a binary64 number", clip(lit))
	}
	return lit, nil
}

// isNumber says whether a text is a number literal and nothing else.
func isNumber(text string) bool {
	doc, err := Parse([]byte(text), Limits{Bytes: int64(len(text))})
	return err == nil && doc.Root.Kind == Number && doc.Root.Text == text
}

// overflows says whether a literal with a point or an exponent is beyond every
// finite binary64 number. Without an exponent it takes 309 digits for that.
func overflows(lit string) bool {
	if len(lit) < 309 && !strings.ContainsAny(lit, "eE") {
		return false
	}
	_, err := strconv.ParseFloat(lit, 64)
	return err != nil
}

// text reads a string and gives its content.
func (p *parser) text() (string, error) {
	quote := p.at
	p.at++
	from := p.at // of what is not yet in p.content
	escaped := false
	p.content = p.content[:0]
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == '"':
			rest := p.src[from:p.at]
			p.at++
			if !escaped {
				return rest, nil
			}
			p.content = append(p.content, rest...)
			return string(p.content), nil
		case c == '\\':
			escaped = true
			p.content = append(p.content, p.src[from:p.at]...)
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			p.content = utf8.AppendRune(p.content, r)
			from = p.at
		case c < ' ':
			return "", p.control(c)
		case c < utf8.RuneSelf:
			p.at++
		default:
			r, size := utf8.DecodeRuneInString(p.src[p.at:])
			if r == utf8.RuneError && size == 1 {
				return "", p.invalidUTF8()
			}
			p.at += size
		}
	}
	return "", p.failf(quote, "the string that begins here is never closed")
}

func (p *parser) control(c byte) error {
	switch c {
	case '\n', '\r':
		return p.failf(p.at, `a line break in a string: write \n, or close the string before it`)
	case '\t':
		return p.failf(p.at, `a tab in a string: write \t`)
	}
	return p.failf(p.at, `the control character U+%04X in a string: write \u%04x`, c, c)
}

func (p *parser) invalidUTF8() error {
	return p.failf(p.at, "the byte 0x%02x is not valid UTF-8 there", p.src[p.at])
}

// escape reads the escape sequence at the next byte. Mistakes are placed at
// its backslash.
func (p *parser) escape() (rune, error) {
	const escapes, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	start := p.at
	p.at++
	if p.at == len(p.src) {
		return 0, p.failf(start, "the text ends in the middle of an escape sequence")
	}
	if i := strings.IndexByte(escapes, p.src[p.at]); i >= 0 {
		p.at++
		return rune(meanings[i]), nil
	}
	if p.src[p.at] != 'u' {
		r, size := utf8.DecodeRuneInString(p.src[p.at:])
		if r == utf8.RuneError && size == 1 {
			return 0, p.invalidUTF8()
		}
		return 0, p.failf(start, `\%s is no escape sequence; those are \" \\ \/ \b \f \n \r \t and \u with four hex digits (a backslash itself is \\)`, strings.Trim(clip(string(r)), `"`))
	}
	unit, ok := p.hex(start)
	switch {
	case !ok:
		return 0, p.failf(start, `\u must be followed by four hex digits`)
	case 0xDC00 <= unit && unit <= 0xDFFF:
		return 0, p.failf(start, `\u%04x is the second half of a surrogate pair, and the first does not stand before it`, unit)
	case unit < 0xD800 || unit > 0xDBFF:
		return unit, nil
	}
	if low, ok := p.hex(p.at); ok && 0xDC00 <= low && low <= 0xDFFF {
		return (unit-0xD800)<<10 | (low - 0xDC00) + 0x10000, nil
	}
	return 0, p.failf(start, `\u%04x is the first half of a surrogate pair, and the second does not follow it`, unit)
}

// hex reads \uXXXX at an offset and moves behind it.
func (p *parser) hex(start int) (rune, bool) {
	const length = len(`\uXXXX`)
	if len(p.src)-start < length || p.src[start:start+2] != `\u` {
		return 0, false
	}
	var unit rune
	for _, c := range []byte(p.src[start+2 : start+length]) {
		switch lower := c | 0x20; {
		case isDigit(c):
			unit = unit<<4 | rune(c-'0')
		case 'a' <= lower && lower <= 'f':
			unit = unit<<4 | rune(lower-'a'+10)
		default:
			return 0, false
		}
	}
	p.at = start + length
	return unit, true
}
