package secret

import "strings"

// What a byte can begin, or be. A byte that is 0 here costs one table look-up.
const (
	tokenStart = 1 << iota // the first byte of a prefix in tokens
	operator               // what stands between a name and its value
)

// starts and seconds must agree with tokens; a test holds them together.
var starts = [256]uint8{
	'=': operator, ':': operator, '>': operator,
	'-': tokenStart, '1': tokenStart, 'A': tokenStart, 'B': tokenStart, 'G': tokenStart, 'S': tokenStart,
	'b': tokenStart, 'd': tokenStart, 'e': tokenStart, 'g': tokenStart, 'h': tokenStart, 'm': tokenStart, 'n': tokenStart,
	'p': tokenStart, 'r': tokenStart, 's': tokenStart, 'w': tokenStart, 'x': tokenStart, 'y': tokenStart,
}

// seconds holds the second bytes of the prefixes in tokens, by the first. Most
// letters that begin a prefix begin an ordinary word, and end here.
var seconds = [256]string{
	'-': "-", '1': "/", 'A': "KSBCIG", 'B': "eEaA", 'G': "O", 'S': "G", 'b': "ea", 'd': "co", 'e': "y", 'g': "hil",
	'h': "fvo", 'm': "a", 'n': "p", 'p': "y", 'r': "k", 's': "k", 'w': "h", 'x': "oaw", 'y': "a",
}

// scanner is one pass over a text.
type scanner struct {
	text    string
	context bool // pairs, headers and URLs count too
	found   []Match

	// paired is the end of the last value that a pair claimed. Inside it only
	// tokens are looked for: they may reach further than the pair knew.
	paired int
	// noJWT is how far the text is known to hold no dot that a JWT would need,
	// so that a long run of look-alikes is read once and not once for each.
	noJWT int
	// noKey is the same for a run that begins like an sk- key and is none.
	noKey int
	// noCut is how far no run ends in an ellipsis.
	noCut int
	// ahead are matches beyond where the scan is, and looked is how far what
	// credentials' names hold was looked into.
	ahead  []Match
	looked int
	// noCookie is how far cookies were looked for.
	noCookie int
	// bare is where the last unquoted value stands.
	bare value
}

func (s *scanner) scan() {
	text := s.text
	for i := 0; i < len(text); {
		c := text[i]
		switch starts[c] {
		case 0:
			i++
			continue
		case tokenStart:
			if i+1 == len(text) || strings.IndexByte(seconds[c], text[i+1]) < 0 {
				break
			}
			if m, ok := s.tokenAt(i); ok {
				s.add(m)
				if m.Kind.contextual() {
					// What it is by its own shape is still to be seen.
					i = max(m.Start, i+1)
				} else {
					i = max(m.End, i+1)
				}
				continue
			}
			if c == '-' && s.context && i >= s.paired {
				s.flagAt(i)
			}
		case operator:
			if s.context && i >= s.paired {
				s.operatorAt(i)
			}
		}
		i++
	}
	s.addAhead(len(text))
}

// add appends a match, after those that stand before it or overlap it among the
// ones that were found ahead.
func (s *scanner) add(m Match) {
	s.addAhead(m.Start)
	s.unite(m)
	s.addAhead(m.End)
}

// addAhead appends what was found ahead and begins before end.
func (s *scanner) addAhead(end int) {
	for len(s.ahead) > 0 && s.ahead[0].Start < end {
		s.unite(s.ahead[0])
		s.ahead = s.ahead[1:]
	}
}

// unite appends a match, or unites it with those that it overlaps. The kind that
// was recognised by its own shape says more than what its surroundings call it.
func (s *scanner) unite(m Match) {
	for n := len(s.found); n > 0 && s.found[n-1].End > m.Start; n-- {
		last := s.found[n-1]
		if m.Kind.contextual() && !last.Kind.contextual() || m.Kind.contextual() == last.Kind.contextual() {
			m.Kind = last.Kind
		}
		m.Start, m.End = min(m.Start, last.Start), max(m.End, last.End)
		s.found = s.found[:n-1]
	}
	s.found = append(s.found, m)
}

// claim adds a match that a pair makes.
func (s *scanner) claim(kind Kind, start, end int) {
	s.add(Match{kind, start, end})
	s.paired = end
}

// operatorAt looks at a ':', '=' or '>' that may stand between a name and a
// value, or in a URL.
func (s *scanner) operatorAt(i int) {
	rest := s.text[i:]
	switch {
	case strings.HasPrefix(rest, "://"):
		s.userinfoAt(i + len("://"))
	case strings.HasPrefix(rest, ":/") && isWeb(s.text[:i+len(":/")]):
		s.userinfoAt(i + len(":/"))
	case rest[0] == '>':
		s.elementAt(i)
	case strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, "=="):
	default:
		s.pairAt(i)
	}
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isAlnum(c byte) bool  { return isLetter(c) || isDigit(c) }

// isURL64 and isB64 are the alphabets of base64url and base64.
func isURL64(c byte) bool { return isAlnum(c) || c == '_' || c == '-' }
func isB64(c byte) bool   { return isAlnum(c) || c == '+' || c == '/' || c == '=' }

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
func isSpace(c byte) bool { return isBlank(c) || c == '\n' || c == '\r' || c == '\v' || c == '\f' }
func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// run is the end of the longest run from i of bytes that are in.
func run(text string, i int, in func(byte) bool) int {
	for i < len(text) && in(text[i]) {
		i++
	}
	return i
}

// maxEscape bounds how far back an escape sequence is looked for: a colour has
// at most five short numbers.
const maxEscape = 24

// boundary says whether a token may begin at i: not in the middle of a word. A
// letter that ends an escape sequence (a colour, "\n" in a JSON text, %3D) is
// no part of the word before.
func boundary(text string, i int) bool {
	if i == 0 || !isAlnum(text[i-1]) {
		return true
	}
	before := text[:i]
	if n := len(before); n >= 2 && before[n-2] == '\\' && strings.IndexByte("nrtbfv0", before[n-1]) >= 0 {
		return true
	}
	if n := len(before); n >= 3 && before[n-3] == '%' && isHex(before[n-1]) && isHex(before[n-2]) {
		return true
	}
	if n := len(before); n >= 4 && before[n-4] == '\\' && before[n-3] == 'x' {
		return true
	}
	if n := len(before); n >= 6 && before[n-6] == '\\' && before[n-5] == 'u' {
		return true
	}
	if !isLetter(text[i-1]) {
		return false
	}
	j := i - 1
	for j > 0 && i-j < maxEscape && (isDigit(text[j-1]) || text[j-1] == ';') {
		j--
	}
	return j > 0 && text[j-1] == '['
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// colour is the end of the terminal sequences that begin at i, or i.
func colour(text string, i int) int {
	for i+1 < len(text) && text[i] == '\x1b' && text[i+1] == '[' {
		j := i + 2
		for j < len(text) && j-i < maxEscape && (isDigit(text[j]) || text[j] == ';') {
			j++
		}
		if j == len(text) || !isLetter(text[j]) {
			return i
		}
		i = j + 1
	}
	return i
}

// colourBefore is the start of the terminal sequences that end at i, or i.
func colourBefore(text string, i int) int {
	for i > 2 && isLetter(text[i-1]) {
		j := i - 1
		for j > 0 && i-j < maxEscape && (isDigit(text[j-1]) || text[j-1] == ';') {
			j--
		}
		if j < 2 || text[j-1] != '[' || text[j-2] != '\x1b' {
			return i
		}
		i = j - 2
	}
	return i
}
