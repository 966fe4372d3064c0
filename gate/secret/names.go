package secret

import "strings"

// weight is how much the name of a value says about it.
type weight uint8

const (
	// unnamed: the value is judged by its own shape.
	unnamed weight = iota
	// possible: session, auth, tokens. Only what looks drawn is a credential.
	possible
	// likely: pass, credentials. A word, a number or a sentence is none.
	likely
	// certain: password, api_key. Whatever is no placeholder is one.
	certain
	// authorization and cookies name headers, whose values have a syntax.
	authorization
	cookies
)

// naming is what a name stands for; the zero naming says nothing.
type naming struct {
	kind   Kind
	weight weight
}

// holds says whether the name also speaks of what stands inside its value.
func (n naming) holds() bool { return n.weight == certain || n.weight == likely }

// nameOf reads a name: "DB_PASSWORD", "clientSecret", "x-api-key",
// "newPassword2". The last words decide: password_hash, token_type and
// secret_name name no credential.
func nameOf(name string) naming {
	// This runs for every colon of a text; a few letters rule nearly all out.
	last := len(name)
	for last > 0 && !isLetter(name[last-1]) {
		last--
	}
	if last < 3 || !nameEnd(name[last-3]|0x20, name[last-2]|0x20, name[last-1]|0x20) {
		return naming{}
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
	for i := range credentialNames {
		if n := &credentialNames[i]; strings.HasSuffix(w, n.suffix) {
			return n.naming
		}
	}
	switch {
	case wordPass(name[:last]):
		return naming{Password, likely}
	case name == "auth" || name == "_auth": // of .npmrc and Docker's config.json
		return naming{Basic, possible}
	}
	return naming{}
}

// nameEnd says whether a name that ends in these letters can be in the table.
func nameEnd(a, b, c byte) bool {
	switch [2]byte{b, c} {
	case [2]byte{'r', 'd'}, [2]byte{'w', 'd'}, [2]byte{'s', 'e'}, [2]byte{'s', 's'}, [2]byte{'e', 'n'}, [2]byte{'e', 't'}, [2]byte{'e', 'y'},
		[2]byte{'o', 'n'}, [2]byte{'r', 'm'}, [2]byte{'a', 't'}, [2]byte{'i', 'n'}:
		return true
	case [2]byte{'d', 's'}: // passwords
		return a == 'r'
	case [2]byte{'e', 's'}: // passphrases, cookies
		return a == 's' || a == 'i'
	case [2]byte{'n', 's'}, [2]byte{'t', 's'}, [2]byte{'y', 's'}: // tokens, secrets, keys
		return a == 'e'
	case [2]byte{'a', 'l'}, [2]byte{'l', 's'}: // credential, credentials
		return a == 'i' || a == 'a'
	case [2]byte{'t', 'h'}: // auth
		return a == 'u'
	case [2]byte{'i', 'd'}: // session_id, PHPSESSID
		return a == 'n' || a == 's' || !isLetter(a)
	case [2]byte{'i', 'e'}: // cookie
		return a == 'k'
	}
	return false
}

var credentialNames = [...]struct {
	suffix string
	naming
}{
	{"secretaccesskey", naming{AWSSecret, certain}},
	{"password", naming{Password, certain}}, {"passwd", naming{Password, certain}}, {"passphrase", naming{Password, certain}},
	{"pwd", naming{Password, certain}}, {"dbpass", naming{Password, certain}}, {"userpass", naming{Password, certain}},
	{"adminpass", naming{Password, certain}}, {"rootpass", naming{Password, certain}}, {"smtppass", naming{Password, certain}},
	{"mailpass", naming{Password, certain}}, {"mysqlpass", naming{Password, certain}}, {"postgrespass", naming{Password, certain}},
	{"pgpass", naming{Password, certain}}, {"redispass", naming{Password, certain}}, {"ftppass", naming{Password, certain}},
	{"sshpass", naming{Password, certain}}, {"proxypass", naming{Password, certain}}, {"authpass", naming{Password, certain}},
	{"loginpass", naming{Password, certain}},
	{"token", naming{Token, certain}},
	{"secret", naming{Secret, certain}}, {"secretkeybase", naming{Secret, certain}},
	{"apikey", naming{Key, certain}}, {"secretkey", naming{Key, certain}}, {"accesskey", naming{Key, certain}},
	{"privatekey", naming{Key, certain}}, {"signingkey", naming{Key, certain}}, {"encryptionkey", naming{Key, certain}},
	{"authkey", naming{Key, certain}}, {"masterkey", naming{Key, certain}}, {"accountkey", naming{Key, certain}},
	{"adminkey", naming{Key, certain}}, {"sharedkey", naming{Key, certain}}, {"licensekey", naming{Key, certain}},
	{"passwords", naming{Password, likely}}, {"passphrases", naming{Password, likely}},
	{"credential", naming{Secret, likely}}, {"credentials", naming{Secret, likely}},
	{"tokens", naming{Token, possible}}, {"secrets", naming{Secret, possible}}, {"session", naming{Token, possible}},
	{"sessionid", naming{Token, possible}}, {"sessid", naming{Token, possible}},
	{"apikeys", naming{Key, possible}}, {"accesskeys", naming{Key, possible}}, {"secretkeys", naming{Key, possible}},
	{"authorization", naming{Token, authorization}},
	{"cookie", naming{Cookie, cookies}}, {"cookies", naming{Cookie, cookies}},
}

// wordPass says whether a name ends in the word "pass", which bypass and
// compass do not.
func wordPass(name string) bool {
	rest := len(name) - len("pass")
	if rest < 0 || !strings.EqualFold(name[rest:], "pass") {
		return false
	}
	return rest == 0 || !isLetter(name[rest-1]) || name[rest] == 'P' && name[rest-1] >= 'a'
}

// describes says whether a member that stands inside a credential's object says
// something about the credential: {"password": {"type": "string", "format": …}}.
func describes(name string) bool {
	switch strings.ToLower(name) {
	case "type", "format", "title", "description", "pattern", "$ref", "kind", "scheme", "algorithm", "alg":
		return true
	}
	return false
}

// drawn says whether a text has no white space and a stretch that looks drawn
// and not named.
func drawn(text string) bool {
	const least = 12
	text = text[:min(len(text), maxPlaceholder)]
	if strings.Contains(text, opening) || run(text, 0, func(c byte) bool { return c > ' ' }) < len(text) || strings.Contains(text, "://") || isPath(text) {
		return false
	}
	for from := 0; from < len(text); {
		end := run(text, from, isAlnum)
		if end-from >= least && mixed(text[from:end]) {
			return true
		}
		from = end + 1
	}
	return false
}

// plain says whether the value of a likely name is none after all: a word about
// it, a number, a sentence, the path of a file.
func plain(text string) bool {
	letter, space, digit := false, false, false
	for i := 0; i < len(text) && i < maxPlaceholder; i++ {
		letter = letter || isLetter(text[i]) || text[i] >= 0x80
		space = space || isSpace(text[i])
		digit = digit || isDigit(text[i])
	}
	return len(text) < 4 || isWord(text) || !letter || space && !digit || isPath(text)
}
