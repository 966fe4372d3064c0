package secret

import (
	"encoding/base64"
	"strings"
)

// token is a credential that announces itself by a prefix.
type token struct {
	prefix string
	kind   Kind
	// first must hold for at least min bytes after the prefix; then rest goes
	// on for as long as it holds, so that no part of the token is left behind.
	first func(byte) bool
	min   int
	rest  func(byte) bool
	// dots: further parts may follow, each after a dot.
	dots bool
	// bounded: the prefix is short enough to occur inside a word or in base64,
	// so the token must begin where no word is going on.
	bounded bool
	// match replaces all of the above for what has a shape of its own.
	match func(s *scanner, i int) (start, end int)
}

// tokens lists the prefixes by their first byte. Lengths are lower bounds with
// some slack: providers lengthen their tokens without asking.
var tokens = [256][]token{
	'-': {{prefix: "-----BEGIN ", kind: PrivateKey, match: privateKey}, {prefix: "-----END ", kind: PrivateKey, match: privateKeyTail}},
	'1': {{prefix: "1//0", kind: Google, first: isURL64, min: 30, rest: isURL64, bounded: true}},
	'A': {
		{prefix: "AKIA", kind: AWSKeyID, match: awsKeyID}, {prefix: "ASIA", kind: AWSKeyID, match: awsKeyID},
		{prefix: "ABIA", kind: AWSKeyID, match: awsKeyID}, {prefix: "ACCA", kind: AWSKeyID, match: awsKeyID},
		{prefix: "AIza", kind: Google, first: isURL64, min: 35, rest: isURL64, bounded: true},
		{prefix: "AGE-SECRET-KEY-1", kind: Age, first: isAlnum, min: 50, rest: isAlnum},
	},
	'B': {
		{prefix: "Bearer", kind: Bearer, match: bearer}, {prefix: "Basic", kind: Basic, match: basic},
		{prefix: "BEARER", kind: Bearer, match: bearer}, {prefix: "BASIC", kind: Basic, match: basic},
	},
	'G': {{prefix: "GOCSPX-", kind: Google, first: isURL64, min: 20, rest: isURL64}},
	'S': {{prefix: "SG.", kind: SendGrid, match: sendGrid}},
	'b': {{prefix: "bearer", kind: Bearer, match: bearer}, {prefix: "basic", kind: Basic, match: basic}},
	'd': {
		{prefix: "dckr_pat_", kind: Docker, first: isURL64, min: 20, rest: isURL64},
		{prefix: "dckr_oat_", kind: Docker, first: isURL64, min: 20, rest: isURL64},
		{prefix: "dop_v1_", kind: DigitalOcean, first: isHex, min: 40, rest: isURL64},
		{prefix: "doo_v1_", kind: DigitalOcean, first: isHex, min: 40, rest: isURL64},
		{prefix: "dor_v1_", kind: DigitalOcean, first: isHex, min: 40, rest: isURL64},
	},
	'e': {{prefix: "eyJ", kind: JWT, match: jwt}},
	'g': {
		{prefix: "ghp_", kind: GitHub, first: isAlnum, min: 20, rest: isURL64, dots: true},
		{prefix: "gho_", kind: GitHub, first: isAlnum, min: 20, rest: isURL64, dots: true},
		{prefix: "ghu_", kind: GitHub, first: isAlnum, min: 20, rest: isURL64, dots: true},
		{prefix: "ghs_", kind: GitHub, first: isAlnum, min: 20, rest: isURL64, dots: true},
		{prefix: "ghs_", kind: GitHub, match: githubStateless},
		{prefix: "ghr_", kind: GitHub, first: isAlnum, min: 20, rest: isURL64, dots: true},
		{prefix: "github_pat_", kind: GitHub, first: isAlnum, min: 20, rest: isURL64},
		{prefix: "gl", kind: GitLab, match: gitLab},
	},
	'h': {
		{prefix: "hf_", kind: HuggingFace, first: isAlnum, min: 30, rest: isAlnum, bounded: true},
		{prefix: "hvs.", kind: Vault, first: isURL64, min: 24, rest: isURL64, bounded: true},
		{prefix: "hooks.slack", kind: SlackWebhook, match: slackWebhook},
	},
	'm': {{prefix: "machine", kind: Password, match: netrc}},
	'n': {{prefix: "npm_", kind: NPM, first: isAlnum, min: 30, rest: isURL64}},
	'p': {{prefix: "pypi-AgE", kind: PyPI, first: isURL64, min: 16, rest: isURL64}},
	'r': {
		{prefix: "rk_live_", kind: Stripe, first: isAlnum, min: 16, rest: isURL64},
		{prefix: "rk_test_", kind: Stripe, first: isAlnum, min: 16, rest: isURL64},
	},
	's': {
		{prefix: "sk-ant-", kind: Anthropic, first: isURL64, min: 20, rest: isURL64},
		{prefix: "sk-", kind: OpenAI, match: openAI},
		{prefix: "sk_live_", kind: Stripe, first: isAlnum, min: 16, rest: isURL64},
		{prefix: "sk_test_", kind: Stripe, first: isAlnum, min: 16, rest: isURL64},
	},
	'w': {{prefix: "whsec_", kind: Stripe, first: isB64, min: 20, rest: isB64}},
	'x': {
		{prefix: "xox", kind: Slack, match: slack},
		{prefix: "xapp-", kind: Slack, match: slack},
		{prefix: "xwfp-", kind: Slack, match: slack},
	},
	'y': {{prefix: "ya29.", kind: Google, first: isURL64, min: 20, rest: isURL64, dots: true, bounded: true}},
}

// tokenAt gives the longest token that begins at i. What only its surroundings
// make a credential is left out unless the scanner wants context.
func (s *scanner) tokenAt(i int) (Match, bool) {
	var best Match
	begun := false
	rules := tokens[s.text[i]]
	for r := range rules {
		t := &rules[r]
		if !strings.HasPrefix(s.text[i:], t.prefix) || !s.context && t.kind.contextual() {
			continue
		}
		begun = true
		start, end := i, 0
		if t.match != nil {
			start, end = t.match(s, i)
		} else {
			end = t.end(s.text, i)
		}
		if end > best.End {
			best = Match{t.kind, start, end}
		}
	}
	if best.End == 0 && begun {
		best = s.cutShortAt(i)
	}
	return best, best.End > 0
}

// cutShortAt gives the token that begins at i and was cut for an excerpt, which
// an ellipsis says: its first half is not to be shown either.
func (s *scanner) cutShortAt(i int) (m Match) {
	if i < s.noCut || !boundary(s.text, i) {
		return m
	}
	end := run(s.text, i, func(c byte) bool { return isURL64(c) || c == '.' || c == '/' })
	quotes := run(s.text, end, func(c byte) bool { return isQuote(c) || c == '\\' })
	if !strings.HasPrefix(s.text[quotes:], "…") {
		s.noCut = end
		return m
	}
	for _, t := range tokens[s.text[i]] {
		body, ok := strings.CutPrefix(s.text[i:end], t.prefix)
		// Two letters are no token yet; a digit is what ordinary names lack.
		if ok && t.kind != PrivateKey && !t.kind.contextual() && len(body) >= 4 && strings.ContainsAny(body, "0123456789") &&
			(len(t.prefix) > 2 || strings.Contains(body, "-")) {
			return Match{t.kind, i, end}
		}
	}
	return m
}

// end is where the token that begins at i ends, or 0 when there is none.
func (t *token) end(text string, i int) int {
	if t.bounded && !boundary(text, i) {
		return 0
	}
	from := i + len(t.prefix)
	end := run(text, from, t.first)
	if end-from < t.min {
		return 0
	}
	end = run(text, end, t.rest)
	if t.dots {
		end = parts(text, end)
	}
	return end
}

// parts is the end of the dot-separated base64url parts that follow at i.
func parts(text string, i int) int {
	for i+1 < len(text) && text[i] == '.' && isURL64(text[i+1]) {
		i = run(text, i+1, isURL64)
	}
	return i
}

// awsKeyID: twenty characters in all, upper case and digits, a word of its own.
func awsKeyID(s *scanner, i int) (int, int) {
	const length = 20
	end := i + length
	if end > len(s.text) || !boundary(s.text, i) || end < len(s.text) && isAlnum(s.text[end]) {
		return i, 0
	}
	for _, c := range []byte(s.text[i:end]) {
		if !isDigit(c) && (c < 'A' || c > 'Z') {
			return i, 0
		}
	}
	return i, end
}

// githubStateless: ghs_, the number of an app, and a JSON Web Token.
func githubStateless(s *scanner, i int) (int, int) {
	from := i + len("ghs_")
	j := run(s.text, from, isDigit)
	if j == from || !strings.HasPrefix(s.text[j:], "_eyJ") {
		return i, 0
	}
	return i, parts(s.text, run(s.text, j, isURL64))
}

// gitLab: gl, what the token is for, and twenty characters or more.
func gitLab(s *scanner, i int) (int, int) {
	const longest = len("glagent-")
	dash := strings.IndexByte(s.text[i:min(len(s.text), i+longest)], '-')
	if dash < 0 {
		return i, 0
	}
	switch s.text[i+len("gl") : i+dash] {
	case "pat", "dt", "rt", "rtr", "ptt", "ft", "imt", "agent", "soat", "cbt", "oas", "ffct", "wt":
	default:
		return i, 0
	}
	from := i + dash + 1
	end := run(s.text, from, isURL64)
	if end-from < 20 {
		return i, 0
	}
	return i, parts(s.text, end)
}

// openAI: sk- is also what a good many style sheets and package names begin
// with, so what follows must look drawn at random, unless it says what the key
// is for. Keys of other providers that follow the fashion are taken too.
func openAI(s *scanner, i int) (int, int) {
	if !boundary(s.text, i) {
		return i, 0
	}
	from := i + len("sk-")
	for _, p := range []string{"proj-", "svcacct-", "admin-", "None-", "or-v1-"} {
		if strings.HasPrefix(s.text[from:], p) {
			from += len(p)
			end := run(s.text, from, isURL64)
			if end-from < 20 {
				return i, 0
			}
			return i, end
		}
	}
	if i < s.noKey {
		return i, 0
	}
	end := run(s.text, from, isURL64)
	if end-from < 20 || !random(s.text[from:end]) {
		s.noKey = end
		return i, 0
	}
	return i, end
}

// random says whether a run looks drawn and not named: a stretch without
// separator of 16 bytes that has letters and digits, or one of 40.
func random(body string) bool {
	for from := 0; from < len(body); {
		end := run(body, from, isAlnum)
		stretch := body[from:end]
		if len(stretch) >= 40 || len(stretch) >= 16 && mixed(stretch) {
			return true
		}
		from = end + 1
	}
	return false
}

func mixed(s string) bool {
	var digit, letter bool
	for i := 0; i < len(s); i++ {
		digit = digit || isDigit(s[i])
		letter = letter || isLetter(s[i])
	}
	return digit && letter
}

// slack: xoxb-, xoxp- and the like, xapp-, xwfp-, then numbers and letters with hyphens.
func slack(s *scanner, i int) (int, int) {
	const prefix = len("xoxb-")
	if len(s.text) < i+prefix || s.text[i+prefix-1] != '-' {
		return i, 0
	}
	from := i + prefix
	// Every form begins with a number, or has one soon.
	head := run(s.text[:min(len(s.text), from+16)], from, isURL64)
	if head-from < 10 || !strings.ContainsAny(s.text[from:head], "0123456789") {
		return i, 0
	}
	return i, run(s.text, head, isURL64)
}

// slackWebhook: the path is the credential; the host stays, to say what it was.
func slackWebhook(s *scanner, i int) (int, int) {
	for _, host := range []string{"hooks.slack.com/", "hooks.slack-gov.com/"} {
		for _, kind := range []string{"services/", "workflows/", "triggers/"} {
			if rest, ok := strings.CutPrefix(s.text[i:], host); ok && strings.HasPrefix(rest, kind) {
				from := i + len(host) + len(kind)
				end := run(s.text, from, func(c byte) bool { return isURL64(c) || c == '/' })
				if end-from >= 12 {
					return from, end
				}
			}
		}
	}
	return i, 0
}

// sendGrid: two parts after SG.
func sendGrid(s *scanner, i int) (int, int) {
	if !boundary(s.text, i) {
		return i, 0
	}
	from := i + len("SG.")
	dot := run(s.text, from, isURL64)
	if dot-from < 16 {
		return i, 0
	}
	end := parts(s.text, dot)
	if end-dot < 20 {
		return i, 0
	}
	return i, end
}

// jwt: a header and a payload in base64url, a signature that may be empty; or
// the five parts of an encrypted one. A header is never shorter than {"alg":"x"}.
func jwt(s *scanner, i int) (int, int) {
	if i < s.noJWT || !boundary(s.text, i) {
		return i, 0
	}
	dot := run(s.text, i, isURL64)
	if dot-i < 12 || dot == len(s.text) || s.text[dot] != '.' {
		s.noJWT = dot
		return i, 0
	}
	end := run(s.text, dot+1, isURL64)
	if end == len(s.text) || s.text[end] != '.' {
		s.noJWT = dot
		return i, 0
	}
	for n := 0; n < 3 && end < len(s.text) && s.text[end] == '.'; n++ {
		end = run(s.text, end+1, isURL64)
	}
	if end-dot < 12 {
		return i, 0
	}
	return i, end
}

// schemeValue gives the run after a scheme's name and white space, at a word's
// beginning; from is 0 when there is none.
func schemeValue(text string, i int, name string, in func(byte) bool) (from, end int) {
	from = run(text, i+len(name), isBlank)
	if from == i+len(name) || !boundary(text, i) {
		return 0, 0
	}
	return from, run(text, from, in)
}

// isToken68 is the alphabet that RFC 9110 gives the credentials of a scheme.
func isToken68(c byte) bool { return isB64(c) || c == '_' || c == '-' || c == '.' || c == '~' }

// netrc: the password of "machine HOST login USER password VALUE", on one line
// or several.
func netrc(s *scanner, i int) (int, int) {
	const entry = 512 // a host, a user and a password
	text := s.text[:min(len(s.text), i+entry)]
	word := func(i int) (from, end int) {
		from = run(text, i, isSpace)
		return from, run(text, from, func(c byte) bool { return c > ' ' })
	}
	if !boundary(text, i) {
		return i, 0
	}
	end := i + len("machine")
	if end == len(text) || !isSpace(text[end]) {
		return i, 0
	}
	_, end = word(end)
	for range 3 {
		key, keyEnd := word(end)
		from, stop := word(keyEnd)
		switch text[key:keyEnd] {
		case "login", "account":
		case "password":
			stop = run(s.text, stop, func(c byte) bool { return c > ' ' })
			if got := s.text[from:stop]; from == keyEnd || len(got) <= maxPlaceholder && placeholder(got) || strings.HasPrefix(got, opening) {
				return i, 0
			}
			return from, stop
		default:
			return i, 0
		}
		end = stop
	}
	return i, 0
}

// bearer without its header: "Bearer" and a run that no sentence goes on with.
func bearer(s *scanner, i int) (int, int) {
	from, end := schemeValue(s.text, i, "bearer", isToken68)
	if end-from < 16 || !mixed(s.text[from:end]) {
		return i, 0
	}
	return from, end
}

// basic without its header: base64 of a text with a colon in it.
func basic(s *scanner, i int) (int, int) {
	from, end := schemeValue(s.text, i, "basic", isB64)
	// A user name and password are short; what is longer is cut for the look
	// inside, and redacted whole all the same.
	head := strings.TrimRight(s.text[from:min(end, from+400)], "=")
	head = head[:len(head)-len(head)%4]
	plain, err := base64.StdEncoding.DecodeString(head)
	if len(head) < 4 || err != nil || strings.IndexByte(string(plain), ':') < 0 {
		return i, 0
	}
	for _, c := range plain {
		if c < 0x20 {
			return i, 0
		}
	}
	return from, end
}

// privateKey: from BEGIN to END, whatever stands between (line breaks may be
// written as \n), or as far as it looks like a key when the END was cut off.
func privateKey(s *scanner, i int) (int, int) {
	const dashes = "-----"
	label := i + len(dashes+"BEGIN ")
	close := strings.Index(s.text[label:min(len(s.text), label+maxLabel)], dashes)
	if close < 0 || !strings.Contains(s.text[label:label+close], "PRIVATE KEY") {
		return i, 0
	}
	body := label + close + len(dashes)
	end := strings.Index(s.text[body:], dashes)
	if end >= 0 && end <= maxKey && strings.HasPrefix(s.text[body+end+len(dashes):], "END ") {
		if enoughKey(s.text[body : body+end]) {
			from := body + end + len(dashes+"END ")
			if close := strings.Index(s.text[from:min(len(s.text), from+maxLabel)], dashes); close >= 0 {
				return i, from + close + len(dashes)
			}
			return i, from
		}
		return i, 0
	}
	end = run(s.text, body, inKey)
	if !enoughKey(s.text[body:end]) {
		return i, 0
	}
	return i, end
}

// privateKeyTail: the END of a key whose BEGIN was cut off, with what stands
// before it.
func privateKeyTail(s *scanner, i int) (int, int) {
	const dashes = "-----"
	label := i + len(dashes+"END ")
	close := strings.Index(s.text[label:min(len(s.text), label+maxLabel)], dashes)
	if close < 0 || !strings.Contains(s.text[label:label+close], "PRIVATE KEY") {
		return i, 0
	}
	start := i
	for start > 0 && i-start < maxKey && inKey(s.text[start-1]) && !isBlank(s.text[start-1]) {
		start--
	}
	if !enoughKey(s.text[start:i]) {
		return i, 0
	}
	return start, label + close + len(dashes)
}

const (
	maxLabel = 64       // "ENCRYPTED PRIVATE KEY" and the like
	maxKey   = 64 << 10 // an RSA key of 16384 bits in PEM has 13 KiB
	minKey   = 16       // bytes of base64 that are worth hiding
)

// inKey is what the body of a PEM block consists of, escaped line breaks included.
func inKey(c byte) bool { return isB64(c) || isSpace(c) || c == '\\' }

// enoughKey says whether a body holds key material and is not just a mention of
// the markers. One that was redacted before holds none.
func enoughKey(body string) bool {
	n := 0
	for i := 0; i < len(body) && n < minKey; i++ {
		if isB64(body[i]) {
			n++
		}
	}
	return n == minKey
}
