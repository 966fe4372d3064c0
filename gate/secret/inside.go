package secret

import "strings"

const (
	// maxInside bounds how far what a credential's name holds is looked into:
	// so many brackets, operators and separators. What is longer is a document
	// of its own. Bytes are not counted, for redaction changes their number.
	maxInside = 512
	// maxBlock bounds a block of lines.
	maxBlock = maxKey
)

// insideAt looks into the object or list that begins at or after i as the value
// of a credential's name: {"password": {"value": "hunter2"}}. The bracket itself
// is never the credential there, though it may begin one: password={a!b. It says
// whether nothing else is to be looked for.
func (s *scanner) insideAt(i int, n naming) bool {
	text := s.text
	from := run(text, i, isSpace)
	if from == len(text) || text[from] != '{' && text[from] != '[' || bracketed(text, from) > from || strings.HasPrefix(text[from:], "{{") || strings.HasPrefix(text[from:], opening) {
		return false
	}
	if from < s.looked {
		return true
	}
	if !holdsValues(text, from) {
		return from+1 == len(text) || isSpace(text[from+1])
	}
	w := inside{s: s, outer: Place{n, true}, member: Place{n, true}}
	for i = from; i < len(text) && w.seen < maxInside; {
		i = w.next(i)
		if w.depth == 0 {
			break
		}
	}
	s.looked = i
	return true
}

// holdsValues says whether what begins with the bracket at i goes on like an
// object or a list, and not like the sentence in "unexpected token: {".
func holdsValues(text string, i int) bool {
	first := run(text, i+1, isSpace)
	if first == len(text) {
		return false
	}
	if c := text[first]; isQuote(c) || strings.IndexByte("\\{[}]", c) >= 0 {
		return true
	}
	word := run(text[:min(len(text), first+maxName)], first, isNameByte)
	if text[i] == '{' {
		return follows(text, word)
	}
	return first == i+1 && word > first && word < len(text) && (text[word] == ',' || text[word] == ']')
}

// inside is the walk through an object or a list.
type inside struct {
	s      *scanner
	outer  Place // of everything inside, unless its own name says more
	member Place // of what comes next
	depth  int
	seen   int
}

// next takes what stands at i and gives where it ends.
func (w *inside) next(i int) int {
	text := w.s.text
	switch c := text[i]; {
	case strings.HasPrefix(text[i:], opening), c == '<':
		if end := bracketed(text, i); end > i {
			return end
		}
		return run(text, i+1, func(c byte) bool { return c != ']' && c != '>' && !isSpace(c) && !isQuote(c) })
	case c == '{' || c == '[':
		w.depth++
		w.seen++
	case c == '}' || c == ']':
		w.depth--
		w.seen++
	case strings.IndexByte(":=,;()\n", c) >= 0:
		w.seen++
	case isQuote(c) || c == '\\':
		return w.quoted(i)
	case isAlnum(c) || strings.IndexByte("_-+/.$%~@!#^&*", c) >= 0 || c >= 0x80:
		return w.word(i)
	}
	return i + 1
}

// quoted takes the text in quotes that begins at i.
func (w *inside) quoted(i int) int {
	text := w.s.text
	quote := run(text, i, func(c byte) bool { return c == '\\' })
	if quote == len(text) || !isQuote(text[quote]) {
		return min(len(text), max(quote, i+1)+1)
	}
	from := quote + 1
	end := closing(text, from, text[quote], quote-i)
	after := end
	if end < len(text) && text[end] != '\n' && text[end] != '\r' && text[end] != '\x1b' {
		after = min(len(text), end+quote-i+1)
	}
	w.take(from, end, after)
	return max(after, i+1)
}

// word takes the run without quotes that begins at i.
func (w *inside) word(i int) int {
	text := w.s.text
	end := run(text, i, func(c byte) bool {
		return c > ' ' && c != 0x7f && !isQuote(c) && strings.IndexByte("{}[](),;:=<>\\", c) < 0
	})
	word := text[i:end]
	if before := lastSolid(text, i); before == ':' || before == '=' || before == '[' || len(word) >= 6 && mixed(word) {
		if !lookUp(word) && (end == len(text) || text[end] != '(') {
			w.take(i, end, end)
			return max(end, i+1)
		}
	}
	if follows(text, end) {
		w.take(i, end, end)
	}
	return max(end, i+1)
}

// take looks at one text inside, which ends for what follows at after: a name
// when an operator follows, else a value.
func (w *inside) take(from, end, after int) {
	text := w.s.text[from:end]
	if follows(w.s.text, after) {
		if w.member = w.outer.Member(text); w.member.weight > certain {
			w.member = w.outer
		}
		return
	}
	p := w.member
	w.member = w.outer
	if strings.Contains(text, opening) || run(text, 0, func(c byte) bool { return isDigit(c) || c == '.' || c == '-' }) == len(text) {
		return
	}
	if kind, ok := p.whole(text); ok {
		w.s.ahead = append(w.s.ahead, Match{kind, from, end})
	}
}

// follows says whether an operator follows at i.
func follows(text string, i int) bool {
	i = run(text[:min(len(text), i+maxIndent)], i, isBlank)
	return i < len(text) && (text[i] == ':' || text[i] == '=')
}

// lastSolid is the last byte before i that is no white space, or 0.
func lastSolid(text string, i int) byte {
	for j := i - 1; j >= 0 && i-j <= maxIndent; j-- {
		if !isSpace(text[j]) {
			return text[j]
		}
	}
	return 0
}

// blockAt takes the lines of a YAML block: "password: |" and what is indented
// deeper. The name's operator is at i; from is where the value may begin.
func (s *scanner) blockAt(i, from int, n naming) bool {
	text := s.text
	at := run(text, from, isBlank)
	if at == from || at == len(text) || text[at] != '|' && text[at] != '>' {
		return false
	}
	line := run(text[:min(len(text), at+4)], at+1, func(c byte) bool { return isDigit(c) || c == '-' || c == '+' })
	line = run(text[:min(len(text), line+maxIndent)], line, isBlank)
	if line < len(text) && text[line] == '\r' {
		line++
	}
	if line == len(text) || text[line] != '\n' {
		return false
	}
	start, ok := lineStart(text, i)
	if !ok {
		return false
	}
	indent := run(text, start, isBlank) - start
	first, end := 0, line
	for next := line + 1; next < len(text) && next-line < maxBlock; {
		stop := run(text, next, func(c byte) bool { return c != '\n' })
		solid := run(text[:stop], next, isSpace)
		if solid < stop {
			if solid-next <= indent {
				break
			}
			if first == 0 {
				first = solid
			}
			end = stop
		}
		next = stop + 1
	}
	for end > first && isSpace(text[end-1]) {
		end--
	}
	s.paired = max(s.paired, end)
	if first > 0 && end > first && !strings.HasPrefix(text[first:], opening) && (end-first > maxPlaceholder || !placeholder(text[first:end])) {
		s.claim(n.kind, first, end)
	}
	return true
}

// lineStart is where the line of i begins, when it is near.
func lineStart(text string, i int) (int, bool) {
	const near = 2 * maxName
	for j := i; i-j <= near; j-- {
		if j == 0 || text[j-1] == '\n' {
			return j, true
		}
	}
	return 0, false
}
