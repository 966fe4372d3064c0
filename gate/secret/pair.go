package secret

import (
	"strconv"
	"strings"
)

const (
	// maxName bounds how far back from an operator a name is read. What makes
	// a name a credential's stands at its end.
	maxName = 48
	// maxIndent bounds the white space and backslashes between the two.
	maxIndent = 32
)

func isNameByte(c byte) bool { return isAlnum(c) || c == '_' || c == '-' || c == '.' }

// nameBefore gives the name that ends at the operator at i: bare, quoted,
// quoted inside a quoted text, coloured, or as the last index of env["NAME"].
func (s *scanner) nameBefore(i int) string {
	text, stop := s.text, max(0, i-maxIndent)
	for i > stop && isBlank(text[i-1]) {
		i--
	}
	i = colourBefore(text, i)
	if i > 1 && text[i-1] == ']' && isQuote(text[i-2]) {
		i--
	}
	switch {
	case i > 0 && isQuote(text[i-1]):
		i--
		for i > stop && text[i-1] == '\\' {
			i--
		}
	case strings.HasSuffix(text[:i], htmlQuote):
		i -= len(htmlQuote)
	}
	i = colourBefore(text, i)
	start := nameStart(text, i)
	if first := escapedStart(text, start, i); first < start {
		return unescape(text[first:i])
	}
	// "API key: …" is one name in two words.
	if strings.EqualFold(text[start:i], "key") && start > 1 && text[start-1] == ' ' {
		first := start - 1
		for first > 0 && i-first < maxName && isLetter(text[first-1]) {
			first--
		}
		start = first
	}
	return text[start:i]
}

// escapedStart is where the name that ends at i begins when it is written with
// escapes, as "pass\u0077ord" is in a JSON text; start is where its last
// stretch without one begins.
func escapedStart(text string, start, i int) int {
	for start > 0 && i-start < maxName && text[start-1] == '\\' && escaped(text[start:]) {
		start = nameStart(text, start-1)
	}
	return start
}

// escaped says whether a text goes on with uXXXX for an ASCII character.
func escaped(text string) bool {
	return len(text) >= len("u0077") && strings.HasPrefix(text, "u00") && isHex(text[3]) && isHex(text[4])
}

// unescape replaces the \uXXXX of ASCII characters in a name.
func unescape(name string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(name, `\u00`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if c, err := strconv.ParseUint(after[:min(2, len(after))], 16, 8); err == nil && len(after) >= 2 {
			b.WriteByte(byte(c))
			after = after[2:]
		}
		name = after
	}
}

const htmlQuote = "&quot;"

// pairAt looks at the operator at i: ':', '=', ':=' or '=>'.
func (s *scanner) pairAt(i int) {
	name := s.nameBefore(i)
	if name == "" {
		return
	}
	n := nameOf(name)
	if n.weight == unnamed {
		return
	}
	from := i + 1
	if next := s.text[from:]; s.text[i] == ':' && strings.HasPrefix(next, "=") || s.text[i] == '=' && strings.HasPrefix(next, ">") {
		from++
	}
	colon := s.text[i] == ':' && from == i+1
	if n.weight == likely && colon && midSentence(s.text, i, name) {
		return
	}
	if n.holds() && s.insideAt(from, n) {
		return
	}
	if colon && n.weight == certain && s.blockAt(i, from, n) {
		return
	}
	if n.weight > certain {
		// Headers are often written as lists: Authorization:[Bearer …].
		if at := run(s.text, from, isBlank); at < len(s.text) && s.text[at] == '[' && !strings.HasPrefix(s.text[at:], opening) {
			from = at + 1
		}
	}
	v := s.valueAt(from, colon)
	switch n.weight {
	case authorization:
		s.authorization(v)
	case cookies:
		s.cookieAt(i, name, v)
	default:
		if kind, ok := v.isCredential(s, name, n); ok {
			s.claim(kind, v.from, v.end)
		}
	}
}

// midSentence says whether the bare name before the colon at i follows a word, as
// in "what did not pass: …".
func midSentence(text string, i int, name string) bool {
	before, bare := strings.CutSuffix(strings.TrimRight(text[max(0, i-2*maxName):i], " \t"), name)
	if !bare {
		return false
	}
	word := strings.TrimRight(before, " \t")
	return len(word) < len(before) && word != "" && isLetter(word[len(word)-1])
}

// flagAt looks at "--password VALUE" in a command line; --password=VALUE is a
// pair like any other.
func (s *scanner) flagAt(i int) {
	text := s.text
	if !strings.HasPrefix(text[i:], "--") || i > 0 && !isSpace(text[i-1]) && !isQuote(text[i-1]) {
		return
	}
	end := run(text[:min(len(text), i+maxName)], i, isNameByte)
	// More than one space is the column of a help text.
	if end+1 >= len(text) || text[end] != ' ' || isBlank(text[end+1]) {
		return
	}
	name := text[i:end]
	n := nameOf(name)
	if n.weight != certain {
		return
	}
	v := s.valueAt(end, true)
	if kind, ok := v.isCredential(s, name, n); ok && s.text[v.from] != '-' {
		s.claim(kind, v.from, v.end)
	}
}

// elementAt looks at <password>VALUE</password>, with a namespace or without.
func (s *scanner) elementAt(i int) {
	text := s.text
	start := nameStart(text, i)
	name := text[start:i]
	if start > 0 && text[start-1] == ':' {
		start = nameStart(text, start-1)
	}
	if start == 0 || text[start-1] != '<' {
		return
	}
	n := nameOf(name)
	if n.weight == unnamed || n.weight > certain {
		return
	}
	end := run(text, i+1, func(c byte) bool { return c != '<' && c != '\n' })
	v := value{from: i + 1, end: end, quoted: true}
	if kind, ok := v.isCredential(s, name, n); ok && strings.HasPrefix(text[end:], "</") {
		s.claim(kind, v.from, v.end)
	}
}

// nameStart is where the name that ends at i begins.
func nameStart(text string, i int) int {
	start := i
	for start > 0 && i-start < maxName && isNameByte(text[start-1]) {
		start--
	}
	return start
}

// userinfoAt looks at the authority of a URL, which begins at i: what stands
// before the last @ is user information, and with a colon in it a password.
func (s *scanner) userinfoAt(i int) {
	text := s.text
	end := run(text, i, func(c byte) bool { return c > ' ' && c < 0x7f && strings.IndexByte("/?#\"'`<>\\{}|^", c) < 0 })
	at := strings.LastIndexByte(text[i:end], '@')
	if at < 0 {
		// A password may hold a slash that nobody encoded: then what seems to
		// be a port is no number.
		colon := colonIn(text[i:end])
		if colon < 0 || i+colon+1 == end || run(text, i+colon+1, isDigit) == end || text[i] == '[' {
			return
		}
		const far = 128
		end = run(text[:min(len(text), i+far)], i, func(c byte) bool { return c > ' ' && c < 0x7f && !isQuote(c) && c != '<' && c != '>' && c != '\\' })
		if at = strings.LastIndexByte(text[i:end], '@'); at < colon {
			return
		}
	}
	info := text[i : i+at]
	user, password, ok := info, "", false
	if colon := colonIn(info); colon >= 0 {
		user, password, ok = info[:colon], info[colon+1:], true
	}
	web := isWeb(text[:i])
	switch {
	case strings.HasPrefix(info, opening) || strings.HasPrefix(password, opening):
	case ok && !placeholder(password), tokenUser(user, web):
		s.claim(URLUserinfo, i, i+at)
	}
}

// colonIn is where the first colon stands that is not one of our own, or -1.
func colonIn(info string) int {
	for i := range len(info) {
		if info[i] == ':' && !strings.HasSuffix(info[:i+1], opening) {
			return i
		}
	}
	return -1
}

// isWeb says whether a text ends in http:// or https://, or in what is left of
// that when it was taken for a path and cleaned.
func isWeb(text string) bool {
	for _, scheme := range [...]string{"http://", "https://", "http:/", "https:/"} {
		if n := len(text) - len(scheme); n >= 0 && strings.EqualFold(text[n:], scheme) {
			return true
		}
	}
	return false
}

// tokenUser says whether what stands in the place of a user is a token. On the
// web that place is hardly used for anything else, so there only what looks
// like the name of a person or a program stays; elsewhere, as in ssh://git@host,
// a user is a user.
func tokenUser(user string, web bool) bool {
	const longName, shortNumbered = 20, 8
	if !web {
		return len(user) >= 20 && random(user)
	}
	if placeholder(user) || strings.Contains(user, opening) {
		return false
	}
	name := run(user, 0, isNameByte) == len(user) && len(user) < longName
	return !name || len(user) >= shortNumbered && mixed(user)
}

// authorization takes the credentials out of the value of an Authorization
// header and leaves the name of the scheme.
func (s *scanner) authorization(v value) {
	text := s.text
	if v.quoted {
		text = text[:v.end]
	}
	scheme := run(text, v.from, func(c byte) bool { return isAlnum(c) || c == '-' })
	from := run(text, scheme, isBlank)
	if from == scheme || from == len(text) || isSpace(text[from]) || isQuote(text[from]) {
		if word := text[v.from:v.end]; len(word) >= 8 && (len(word) > maxPlaceholder || !placeholder(word) && !isWord(word)) {
			s.claim(Token, v.from, v.end)
		}
		return
	}
	kind, end := Token, from
	switch strings.ToLower(text[v.from:scheme]) {
	case "bearer":
		kind, end = Bearer, run(text, from, isToken68)
	case "basic":
		kind, end = Basic, run(text, from, isToken68)
	case "token", "apikey", "negotiate", "ntlm", "key":
		end = run(text, from, isToken68)
	case "digest", "aws4-hmac-sha256", "hawk", "oauth", "signature", "sharedkey", "splunk", "dpop":
		// Several parameters: the rest of the line.
		end = run(text, from, func(c byte) bool { return c >= ' ' || c == '\t' })
	default:
		return // a sentence about authorization
	}
	if end == from { // not of the alphabet: all of it, unless it is a reference
		end = run(text, from, func(c byte) bool { return !isSpace(c) && !isQuote(c) })
	}
	if got := text[from:end]; len(got) > maxPlaceholder && !strings.HasPrefix(got, opening) || !placeholder(got) && !isWord(got) {
		s.claim(kind, from, end)
	}
	s.paired = max(s.paired, end)
}
