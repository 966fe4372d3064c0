package secret

import "strings"

// value is what follows an operator: text[from:end], without its quotes.
type value struct {
	from, end int
	quoted    bool
	colon     bool // it follows a colon, as prose does too
	spaced    bool // white space stands before it
}

// valueAt reads the value that begins at or after i.
func (s *scanner) valueAt(i int, colon bool) value {
	text := s.text
	from := colour(text, run(text, i, isBlank))
	v := value{from: from, end: from, colon: colon, spaced: from > i}
	depth := from
	for depth < len(text) && depth-from < maxIndent && text[depth] == '\\' {
		depth++
	}
	switch {
	case strings.HasPrefix(text[from:], htmlQuote):
		v.from, v.quoted = from+len(htmlQuote), true
		v.end = run(text, v.from, func(c byte) bool { return c != '&' && c != '\n' })
	case depth < len(text) && isQuote(text[depth]):
		v.from, v.quoted = colour(text, depth+1), true
		v.end = closing(text, v.from, text[depth], depth-from)
	case bracketed(text, from) > from:
		v.end = bracketed(text, from)
	default:
		// Where a bare value ends does not depend on where it begins, so a
		// value inside the last one ends with it.
		start := from
		if name := run(text[:min(len(text), from+maxName)], min(from+1, len(text)), isNameByte) + 1; name < len(text) && hashed(text, from, name) {
			start = name
		}
		if start < s.bare.from || start > s.bare.end {
			s.bare = value{from: start, end: bare(text, start)}
		}
		v.end = s.bare.end
	}
	return v
}

// bracketed is the end of a name in brackets that begins at i, such as
// [FILTERED] or (sensitive value), or i.
func bracketed(text string, i int) int {
	const longest = 40
	if i == len(text) || strings.IndexByte("[(<{", text[i]) < 0 {
		return i
	}
	head := text[:min(len(text), i+longest)]
	end := run(head, i+1, func(c byte) bool { return isLetter(c) || c == ' ' || c == '_' || c == '-' })
	if end == i+1 || end == len(head) || strings.IndexByte("])>}", head[end]) < 0 {
		return i
	}
	if hashed(text, i, end+1) {
		return i
	}
	return end + 1
}

// hashed says whether text[i:end] is the {SHA} before the hash of a password.
func hashed(text string, i, end int) bool {
	return text[i] == '{' && end < len(text) && (isB64(text[end]) || text[end] == '$')
}

// closing is where a quoted value ends: before the quote that has as many
// backslashes before it as the opening one, given that each level of quoting
// doubles those that are part of the value; at the end of the line if there is
// no such quote.
func closing(text string, i int, quote byte, depth int) int {
	slashes := 0
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			slashes++
			continue
		case c == '\n' || c == '\r' || c == '\x1b':
			return i
		case c == quote && slashes%(2*(depth+1)) == depth:
			return i - depth
		}
		slashes = 0
	}
	return i
}

// bare is where an unquoted value that begins at i ends.
func bare(text string, i int) int {
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c <= ' ' || c == 0x7f || isQuote(c) || c == '<':
			return i
		case c == '\\' && i+1 < len(text) && strings.IndexByte("nrtu\"'\\", text[i+1]) >= 0:
			return i
		case strings.IndexByte(",;&|)]}>", c) >= 0 && ends(text, i+1):
			return i
		}
	}
	return i
}

// ends says whether a delimiter before i ends a value: nothing, white space, a
// quote, another delimiter or a further pair follows. In "p,w0rd" the comma is
// part of the password, in "p, user" and "p&x=1" it is not. What was redacted there
// may have been such a pair.
func ends(text string, i int) bool {
	if i == len(text) || strings.HasPrefix(text[i:], opening) || isSpace(text[i]) || isQuote(text[i]) || strings.IndexByte(",;&|)]}><\\", text[i]) >= 0 {
		return true
	}
	end := run(text[:min(len(text), i+maxName)], i, isNameByte)
	return end > i && end < len(text) && (text[end] == '=' || text[end] == ':')
}

// maxPlaceholder bounds what is examined for being no credential after all;
// what is longer is one. It also bounds what the same bytes can cost twice.
const maxPlaceholder = 256

// isCredential says whether a value of that name is worth hiding, and as what.
func (v value) isCredential(s *scanner, name string, n naming) (Kind, bool) {
	text := s.text[v.from:v.end]
	if len(text) > maxPlaceholder {
		return n.kind, !strings.HasPrefix(text, opening) && (n.weight != possible || drawn(text))
	}
	if placeholder(text) || !v.quoted && (lookUp(text) || v.spaced && call(text)) {
		return "", false
	}
	switch n.weight {
	case possible:
		return n.ofShape(text), drawn(text)
	case likely:
		return n.kind, !plain(text) && (v.quoted || v.stated(s, name))
	}
	if n.kind != Password && n.kind != AWSSecret {
		// A token is never "5" or "ok".
		if len(text) < 3 || len(text) <= 6 && run(text, 0, isDigit) == len(text) {
			return "", false
		}
		if n.kind == Key && isPath(text) {
			return "", false
		}
	}
	if strings.EqualFold(name, "pwd") || strings.EqualFold(name, "oldpwd") {
		if isPath(text) { // the variable of the shell
			return "", false
		}
	}
	return n.kind, v.quoted || !v.colon || !v.spaced || !isWord(text) && !prose(s.text, v)
}

// stated says whether an unquoted value of a likely name is one, rather than
// what a sentence, a test or a piece of code goes on with: pass=hunter2, or
// "pass: hunter2" alone on its line.
func (v value) stated(s *scanner, name string) bool {
	text := s.text[v.from:v.end]
	if !v.spaced {
		return !v.colon || mixed(text)
	}
	last := run(s.text, v.end, isBlank)
	alone := last == len(s.text) || strings.IndexByte("\r\n,;}", s.text[last]) >= 0
	return mixed(text) && alone && name != "PASS"
}

// placeholder says whether a value stands for a credential and is none: empty,
// a mask, a reference to a variable, a word for "nothing".
func placeholder(v string) bool {
	t := strings.TrimSpace(v)
	switch {
	case t == "" || strings.HasPrefix(t, opening):
		return true
	case masked(t):
		return true
	case hasAnyPrefix(t, "${", "{{", "#{", "$(", "<%"):
		return true
	case enclosed(t, "<", ">"), enclosed(t, "[", "]"), enclosed(t, "{", "}"), enclosed(t, "%", "%"), enclosed(t, "(", ")"), enclosed(t, "@", "@"), enclosed(t, "__", "__"):
		return true
	case len(t) == 2 && t[0] == '%' && isLetter(t[1]):
		return true
	case t[0] == '$':
		rest := t[1:]
		upper := func(c byte) bool { return c >= 'A' && c <= 'Z' || c == '_' || isDigit(c) }
		lower := func(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' }
		return rest != "" && !isDigit(rest[0]) && (run(rest, 0, upper) == len(rest) || run(rest, 0, lower) == len(rest))
	}
	switch strings.ToLower(strings.TrimRight(t, ",;.)]}")) {
	case "", "null", "nil", "none", "undefined", "true", "false", "n/a", "<nil>", "redacted", "unset", "nullptr":
		return true
	}
	return false
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// enclosed says whether a text is a name in brackets: <password>, [FILTERED],
// (sensitive value), %TOKEN%.
func enclosed(t, open, close string) bool {
	if len(t) < len(open)+len(close) || !strings.HasPrefix(t, open) || !strings.HasSuffix(t, close) {
		return false
	}
	inner := t[len(open) : len(t)-len(close)]
	return run(inner, 0, func(c byte) bool { return isLetter(c) || c == ' ' || c == '_' || c == '-' || c == '.' || c == '*' }) == len(inner)
}

// masked says whether a value was made unreadable already: ***, xxxx, ••••, "...".
func masked(t string) bool {
	for _, r := range t {
		if !strings.ContainsRune("*•●xX._-#?…", r) {
			return false
		}
	}
	return len(t) > 2 || strings.IndexByte("xX", t[0]) < 0
}

// isPath says whether a value is the path of a file that may hold a credential.
func isPath(v string) bool {
	return hasAnyPrefix(v, "/", "./", "../", "~/") && run(v, 0, func(c byte) bool { return isNameByte(c) || c == '/' || c == '~' }) == len(v) ||
		strings.HasSuffix(v, ".pem") || strings.HasSuffix(v, ".key")
}

// lookUp says whether unquoted code gets a value from elsewhere.
func lookUp(v string) bool {
	return hasAnyPrefix(v, "os.", "process.env", "env.", "ENV[", "getenv(", "System.getenv", "secrets.", "vars.", "var.", "config.", "settings.", "options.", "self.", "this.", "args.", "params.", "req.", "request.")
}

// call says whether an unquoted value is a call in code: name(…
func call(v string) bool {
	end := run(v, 0, func(c byte) bool { return isAlnum(c) || c == '_' || c == '.' })
	return end > 0 && end < len(v) && v[end] == '(' && !isDigit(v[0])
}

// isWord says whether a value after a colon is what is said about a credential
// rather than one.
func isWord(v string) bool {
	switch strings.ToLower(strings.TrimRight(v, ",;.!?)]}")) {
	case "string", "str", "text", "int", "integer", "bool", "boolean", "number", "object", "any", "bytes", "secretstr",
		"required", "optional", "missing", "invalid", "expired", "valid", "empty", "hidden", "provided", "set", "present",
		"identifier", "ok", "yes", "no", "on", "off", "enabled", "disabled", "unknown", "unexpected", "expected", "header",
		"failed", "passed", "pass", "fail", "error", "denied", "forbidden", "granted", "authorized", "unauthorized", "done",
		"bearer", "basic", "write", "read", "inherit", "include", "omit", "same-origin":
		return true
	}
	return false
}

// prose says whether an unquoted value after a colon is the first word of a
// sentence: letters only, and another word follows.
func prose(text string, v value) bool {
	word := strings.TrimRight(text[v.from:v.end], ",")
	if run(word, 0, func(c byte) bool { return isLetter(c) || c == '\'' || c == '-' }) != len(word) {
		return false
	}
	next := v.end
	if next < len(text) && text[next] == ',' {
		next++
	}
	after := run(text, next, isBlank)
	return after > next && after < len(text) && (isLetter(text[after]) || strings.HasPrefix(text[after:], opening))
}
