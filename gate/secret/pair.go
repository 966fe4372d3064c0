package secret

import "strings"

const (
	// maxName bounds how far back from an operator a name is read. What makes
	// a name a credential's stands at its end.
	maxName = 48
	// maxIndent bounds the white space and backslashes between the two.
	maxIndent = 32
)

// credentialName gives the kind that a name stands for: "DB_PASSWORD",
// "clientSecret", "x-api-key", "newPassword2". The last words decide:
// password_hash, token_type and secret_name name no credential.
func credentialName(name string) (Kind, bool) {
	// This runs for every colon of a text; two letters rule nearly all out.
	last := len(name)
	for last > 0 && !isLetter(name[last-1]) {
		last--
	}
	if last < 2 {
		return "", false
	}
	switch string([]byte{name[last-2] | 0x20, name[last-1] | 0x20}) {
	case "rd", "wd", "se", "ss", "en", "et", "ey", "on", "rm", "at", "in":
	default:
		return "", false
	}
	var buf [maxName]byte
	word := buf[:0]
	for i := max(0, len(name)-maxName); i < len(name); i++ {
		if c := name[i]; isLetter(c) {
			word = append(word, c|0x20)
		} else if c >= 0x80 {
			word = append(word, c)
		} else if isDigit(c) && i+1 < len(name) {
			word = append(word, c)
		}
	}
	w := string(word)
	for _, suffix := range [...]string{"confirmation", "confirm", "repeat", "again"} {
		w = strings.TrimSuffix(w, suffix)
	}
	if strings.HasSuffix(w, "secretaccesskey") {
		return AWSSecret, true
	}
	for _, n := range &credentialNames {
		if strings.HasSuffix(w, n.suffix) {
			return n.kind, true
		}
	}
	return "", false
}

var credentialNames = [...]struct {
	suffix string
	kind   Kind
}{
	{"password", Password}, {"passwd", Password}, {"passphrase", Password}, {"pwd", Password},
	{"dbpass", Password}, {"userpass", Password}, {"adminpass", Password}, {"rootpass", Password},
	{"smtppass", Password}, {"mailpass", Password}, {"mysqlpass", Password}, {"postgrespass", Password},
	{"pgpass", Password}, {"redispass", Password}, {"ftppass", Password}, {"sshpass", Password},
	{"proxypass", Password}, {"authpass", Password}, {"loginpass", Password},
	{"token", Token},
	{"secret", Secret}, {"secretkeybase", Secret},
	{"apikey", Key}, {"secretkey", Key}, {"accesskey", Key}, {"privatekey", Key}, {"signingkey", Key},
	{"encryptionkey", Key}, {"authkey", Key}, {"masterkey", Key}, {"accountkey", Key}, {"adminkey", Key},
	{"sharedkey", Key}, {"licensekey", Key},
}

// isAuthorization says whether a name is the header whose value is a scheme and
// credentials.
func isAuthorization(name string) bool {
	const header = "authorization"
	return len(name) >= len(header) && strings.EqualFold(name[len(name)-len(header):], header)
}

// isAuth says whether a name is what .npmrc and Docker's config.json call
// base64 of a user name and a password.
func isAuth(name string) bool { return name == "_auth" || name == "auth" }

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

const htmlQuote = "&quot;"

// pairAt looks at the operator at i: ':', '=', ':=' or '=>'.
func (s *scanner) pairAt(i int) {
	name := s.nameBefore(i)
	if name == "" {
		return
	}
	kind, ok := credentialName(name)
	header := !ok && isAuthorization(name)
	auth := !ok && isAuth(name)
	if !ok && !header && !auth {
		return
	}
	from := i + 1
	if next := s.text[from:]; s.text[i] == ':' && strings.HasPrefix(next, "=") || s.text[i] == '=' && strings.HasPrefix(next, ">") {
		from++
	}
	v := s.valueAt(from, s.text[i] == ':' && from == i+1)
	text := s.text[v.from:v.end]
	switch {
	case header:
		s.authorization(v)
	case auth:
		if len(text) >= 12 && len(text) <= maxPlaceholder && mixed(text) && run(text, 0, isB64) == len(text) {
			s.claim(Basic, v.from, v.end)
		}
	case v.isCredential(s, name, kind):
		s.claim(kind, v.from, v.end)
	}
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
	kind, ok := credentialName(name)
	if !ok {
		return
	}
	if v := s.valueAt(end, true); v.isCredential(s, name, kind) && s.text[v.from] != '-' {
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
	kind, ok := credentialName(name)
	if !ok {
		return
	}
	end := run(text, i+1, func(c byte) bool { return c != '<' && c != '\n' })
	v := value{from: i + 1, end: end, quoted: true}
	if strings.HasPrefix(text[end:], "</") && v.isCredential(s, name, kind) {
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
		colon := strings.IndexByte(text[i:end], ':')
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
	user, password, ok := strings.Cut(info, ":")
	switch {
	case strings.HasPrefix(info, opening) || strings.HasPrefix(password, opening):
	case ok && !placeholder(password):
		s.claim(URLUserinfo, i, i+at)
	case !ok && len(user) >= 20 && random(user): // a token in the place of a user
		s.claim(URLUserinfo, i, i+at)
	}
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
