package sqlread

import (
	"strings"
	"unicode/utf8"
)

// kind is what a token of SQL is.
type kind uint8

const (
	illegal   kind = iota
	word           // a keyword or a bare name: SELECT, orders
	quoted         // a name in "…", `…` or […]
	text           // '…'
	blob           // x'…'
	number         // 29, 0x1F, 1e5
	variable       // ?, ?3, :name, @name, $name
	semicolon      // ;
	mark           // every other punctuation
)

// token is a piece of SQL between two byte offsets.
type token struct {
	kind       kind
	start, end int
}

// lex splits SQL into tokens exactly where SQLite does. White space and
// comments are left out; a comment without an end reaches to the end of the
// text. The text must hold no NUL, for SQLite would stop reading there.
//
// It is a transcription of the rules and not a looser reading of SQL: a screen
// that saw a comment or a literal where SQLite sees code would let code pass.
// A fuzz test holds it against SQLite itself.
func lex(sql string) []token {
	var out []token
	for i := 0; i < len(sql); {
		k, n, blank := next(sql[i:])
		if !blank {
			out = append(out, token{k, i, i + n})
		}
		i += n
	}
	return out
}

// next measures the token that s begins with; blank says that it is white
// space or a comment.
func next(s string) (k kind, n int, blank bool) {
	switch c := s[0]; {
	case c == ' ', c == '\t', c == '\n', c == '\f', c == '\r':
		return 0, span(s, 1, isSpace), true
	case strings.HasPrefix(s, "\uFEFF"):
		return 0, len("\uFEFF"), true
	case strings.HasPrefix(s, "--"):
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			return 0, i, true
		}
		return 0, len(s), true
	case strings.HasPrefix(s, "/*") && len(s) > 2:
		if i := strings.Index(s[2:], "*/"); i >= 0 {
			return 0, 2 + i + 2, true
		}
		return 0, len(s), true
	case c == '\'':
		k, n = delimited(s, text)
	case c == '"', c == '`':
		k, n = delimited(s, quoted)
	case c == '[':
		if i := strings.IndexByte(s, ']'); i >= 0 {
			return quoted, i + 1, false
		}
		return illegal, len(s), false
	case (c == 'x' || c == 'X') && len(s) > 1 && s[1] == '\'':
		k, n = blobLiteral(s)
	case isNameByte(c) && !isDigit(c) && c != '$':
		return word, span(s, 1, isNameByte), false
	case isDigit(c), c == '.' && len(s) > 1 && isDigit(s[1]):
		k, n = numberLiteral(s)
	case c == '?':
		return variable, span(s, 1, isDigit), false
	case c == '$', c == '@', c == ':', c == '#':
		k, n = namedVariable(s)
	case c == ';':
		return semicolon, 1, false
	default:
		k, n = punctuation(s)
	}
	return k, n, false
}

// delimited measures a literal whose delimiter stands for itself when doubled.
func delimited(s string, k kind) (kind, int) {
	for i := 1; i < len(s); i++ {
		if s[i] != s[0] {
			continue
		}
		if i+1 == len(s) || s[i+1] != s[0] {
			return k, i + 1
		}
		i++
	}
	return illegal, len(s)
}

// blobLiteral measures x'…': an even number of hexadecimal digits.
func blobLiteral(s string) (kind, int) {
	i := span(s, 2, isHex)
	if i < len(s) && s[i] == '\'' && i%2 == 0 {
		return blob, i + 1
	}
	if j := strings.IndexByte(s[i:], '\''); j >= 0 {
		return illegal, i + j + 1
	}
	return illegal, len(s)
}

// numberLiteral measures a number. Digits may be separated by '_', and a
// number that runs into a name is no number.
func numberLiteral(s string) (kind, int) {
	digits := func(i int) int { return span(s, i, func(c byte) bool { return isDigit(c) || c == '_' }) }
	at := func(i int) byte {
		if i < len(s) {
			return s[i]
		}
		return 0
	}
	var i int
	if s[0] == '0' && (at(1) == 'x' || at(1) == 'X') && isHex(at(2)) {
		i = span(s, 3, func(c byte) bool { return isHex(c) || c == '_' })
	} else {
		i = digits(0)
		if at(i) == '.' {
			i = digits(i + 1)
		}
		if at(i) == 'e' || at(i) == 'E' {
			switch {
			case isDigit(at(i + 1)):
				i = digits(i + 1)
			case (at(i+1) == '+' || at(i+1) == '-') && isDigit(at(i+2)):
				i = digits(i + 2)
			}
		}
	}
	if end := span(s, i, isNameByte); end > i {
		return illegal, end
	}
	return number, i
}

// namedVariable measures :name, @name, $name and #name, with the two forms
// that Tcl adds: $space::name and $array(index).
func namedVariable(s string) (kind, int) {
	names := 0
	for i := 1; ; i++ {
		switch {
		case i < len(s) && isNameByte(s[i]):
			names++
			continue
		case i+1 < len(s) && s[i] == ':' && s[i+1] == ':':
			i++
			continue
		case i < len(s) && s[i] == '(' && names > 0:
			end := span(s, i+1, func(c byte) bool { return !isSpace(c) && c != ')' })
			if end < len(s) && s[end] == ')' {
				return variable, end + 1
			}
			return illegal, end
		}
		if names == 0 {
			return illegal, i
		}
		return variable, i
	}
}

// punctuation measures an operator or a separator.
func punctuation(s string) (kind, int) {
	for _, long := range [...]string{"->>", "->", "==", "<=", "<>", "<<", ">=", ">>", "!=", "||"} {
		if strings.HasPrefix(s, long) {
			return mark, len(long)
		}
	}
	if strings.IndexByte("-()+*/%=<>|,&~.", s[0]) >= 0 {
		return mark, 1
	}
	return illegal, 1
}

// span gives the end of the run of bytes that fit, from i on.
func span(s string, i int, fits func(byte) bool) int {
	for i < len(s) && fits(s[i]) {
		i++
	}
	return i
}

// isSpace continues white space. A vertical tab does, but begins none.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// isNameByte is a byte that can continue a name; every byte of a character
// beyond ASCII can.
func isNameByte(c byte) bool {
	return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c >= utf8.RuneSelf
}

// place gives the line and the column, both from 1, of a byte offset; columns
// count characters.
func place(sql string, offset int) (line, column int) {
	before := sql[:offset]
	line = 1 + strings.Count(before, "\n")
	return line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}
