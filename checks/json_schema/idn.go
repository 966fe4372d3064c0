package jsonschema

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Internationalised names are those of IDNA 2008. The library for them follows
// UTS 46, which a browser wants and which takes more: symbols, for instance.
// So the characters are held against RFC 5892 as well, and those that RFC 5892
// allows in some neighbourhoods only are looked at in theirs.

// hostnames makes the test of a hostname: its labels are letters, digits and
// hyphens, and with international also words of other scripts.
func hostnames(international bool) test {
	ascii := regexp.MustCompile(`^` + label + `$`)
	profile := idna.New(idna.ValidateForRegistration(), idna.VerifyDNSLength(true))
	holds := func(s string) (length int, ok bool) {
		encoded, err := profile.ToASCII(s)
		if err != nil {
			return 0, false
		}
		decoded, err := profile.ToUnicode(s)
		return len(encoded), err == nil && registrable([]rune(decoded))
	}
	return func(s string) bool {
		if international {
			// The full stops of East Asian keyboards separate labels too.
			s = strings.NewReplacer("\u3002", ".", "\uff0e", ".", "\uff61", ".").Replace(s)
		}
		s = lower(s)
		total := -1
		for _, l := range strings.Split(s, ".") {
			total += 1 + len(l)
			tagged := len(l) >= 4 && l[2:4] == "--" // reserved; xn-- is the one tag that there is
			encoded := tagged && l[:2] == "xn"
			switch {
			case ascii.MatchString(l) && (!tagged || !international && !encoded):
				continue
			case !international && !encoded:
				return false
			}
			length, ok := holds(l)
			if !ok {
				return false
			}
			total += length - len(l)
		}
		if total > longestHost {
			return false
		}
		// One label that is written from right to left changes what the others
		// may be (RFC 5893), so they are looked at together as well.
		if international {
			_, err := profile.ToASCII(s)
			return err == nil
		}
		return true
	}
}

// lower makes the letters of ASCII small, which are equal to them in a name.
// Other letters have to be small as they are written.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// registrable says whether the characters of a label are allowed by RFC 5892.
func registrable(label []rune) bool {
	for i, r := range label {
		if !allowed(r) && !allowedThere(label, i) {
			return false
		}
	}
	return true
}

// allowed says whether a character is PVALID: a letter that has no other form,
// a mark or a digit. That it is in normal form and in lower case is known when
// this is asked.
func allowed(r rune) bool {
	switch {
	case r == '-', r == 0x06FD, r == 0x06FE, r == 0x0F0B, r == 0x3007: // exceptions: signs that words are written with
		return true
	case r == 0x0640, r == 0x07FA, r == 0x302E, r == 0x302F, r >= 0x3031 && r <= 0x3035, r == 0x303B: // and letters that are none
		return false
	case r >= 0x0660 && r <= 0x0669, r >= 0x06F0 && r <= 0x06F9:
		return false // not beside one another: see allowedThere
	case r >= 0x1100 && r <= 0x11FF, r >= 0xA960 && r <= 0xA97F, r >= 0xD7B0 && r <= 0xD7FF:
		return false // conjoining jamo: hangul is written with whole syllables
	}
	return unicode.In(r, unicode.Ll, unicode.Lo, unicode.Lm, unicode.Mn, unicode.Mc, unicode.Nd)
}

// allowedThere says whether a character that the rules of appendix A of RFC
// 5892 are about stands where they allow it. The joiners are the library's.
func allowedThere(label []rune, i int) bool {
	beside := func(j int, in *unicode.RangeTable) bool {
		return j >= 0 && j < len(label) && unicode.Is(in, label[j])
	}
	has := func(from, to rune) bool {
		for _, r := range label {
			if r >= from && r <= to {
				return true
			}
		}
		return false
	}
	switch r := label[i]; {
	case r == 0x200C, r == 0x200D:
		return true
	case r == 0x00B7: // the Catalan l·l
		return i > 0 && i+1 < len(label) && label[i-1] == 'l' && label[i+1] == 'l'
	case r == 0x0375:
		return beside(i+1, unicode.Greek)
	case r == 0x05F3, r == 0x05F4:
		return beside(i-1, unicode.Hebrew)
	case r == 0x30FB:
		for j := range label {
			if j != i && (beside(j, unicode.Hiragana) || beside(j, unicode.Katakana) || beside(j, unicode.Han)) {
				return true
			}
		}
		return false
	case r >= 0x0660 && r <= 0x0669:
		return !has(0x06F0, 0x06F9)
	case r >= 0x06F0 && r <= 0x06F9:
		return !has(0x0660, 0x0669)
	}
	return false
}

// mailboxes makes the test of an address of RFC 5321, or with international of
// RFC 6531, whose local part may hold any letter beyond ASCII.
func mailboxes(international bool) test {
	more := ""
	if international {
		more = `\x{80}-\x{10FFFF}`
	}
	atom := "[A-Za-z0-9!#$%&'*+/=?^_`{|}~" + more + "-]+"
	quoted := `"(?:[ !#-\[\]-~` + more + `]|\\[ -~])*"`
	local := regexp.MustCompile(`^(?:` + quoted + `|` + atom + `(?:\.` + atom + `)*)$`)
	host := hostnames(international)
	return func(s string) bool {
		at := strings.LastIndexByte(s, '@')
		if at < 0 || len(s) > longestAddress || at > longestLocal || !local.MatchString(s[:at]) {
			return false
		}
		domain := s[at+1:]
		if inner, ok := strings.CutPrefix(domain, "["); ok {
			literal, closed := strings.CutSuffix(inner, "]")
			return closed && mailAddress(literal)
		}
		if international {
			domain = norm.NFC.String(domain) // RFC 6531 leaves it to whoever looks the name up
		}
		return host(domain)
	}
}
