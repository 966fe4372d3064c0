package jsonschema

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The library takes more than the standards do for some formats: a space in a
// uri, an email without a local part, P1Y2D. Where it does, the grammar of the
// standard stands here instead, written as it is there: small named parts put
// together. The expressions are compiled when a schema first asks for one.

const (
	unreserved = `A-Za-z0-9._~\-`
	subDelims  = `!$&'()*+,;=`
	percent    = `%[0-9A-Fa-f]{2}`
	// What RFC 3987 adds to the unreserved characters, and to a query alone.
	ucs       = `\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}\x{10000}-\x{EFFFD}`
	private   = `\x{E000}-\x{F8FF}\x{F0000}-\x{10FFFD}`
	label     = `[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
	clockSpan = `(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)`
	daySpan   = `(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)`
	span      = `^P(?:[0-9]+W|` + daySpan + `(?:T` + clockSpan + `)?|T` + clockSpan + `)$`
	varChar   = `(?:[A-Za-z0-9_]|` + percent + `)`
	variable  = varChar + `(?:\.?` + varChar + `)*(?::[1-9][0-9]{0,3}|\*)?`
	template  = `^(?:[!#$&-;=?-\[\]_a-z~` + ucs + private + `]|` + percent + `|\{[+#./;?&]?` + variable + `(?:,` + variable + `)*\})*$`
)

// Longest are the bounds of RFC 5321 and RFC 1035.
const (
	longestHost    = 253
	longestAddress = 254
	longestLocal   = 64
)

// reference is the grammar of RFC 3986, with other letters that of RFC 3987:
// of an absolute one, or also of one that is relative.
func reference(letters, inQuery string, relative bool) string {
	plain := unreserved + letters + subDelims
	segment := `(?:[` + plain + `:@]|` + percent + `)`
	noColon := `(?:[` + plain + `@]|` + percent + `)`
	authority := `(?:(?:[` + plain + `:]|` + percent + `)*@)?(?:\[([^\]]*)\]|(?:[` + plain + `]|` + percent + `)*)(?::[0-9]*)?`
	more := `(?:/` + segment + `*)*`
	rooted := `//` + authority + more + `|/(?:` + segment + `+` + more + `)?`
	hier := `(?:[A-Za-z][A-Za-z0-9+.-]*:(?:` + rooted + `|` + segment + `+` + more + `|)`
	if relative {
		hier += `|` + rooted + `|` + noColon + `+` + more + `|`
	}
	rest := `(?:[` + plain + `:@/?]|` + percent + `)*`
	query := `(?:[` + plain + inQuery + `:@/?]|` + percent + `)*`
	return `^` + hier + `)(?:\?` + query + `)?(?:#` + rest + `)?$`
}

// formats gives the formats that replace the library's.
var formats = sync.OnceValue(func() []*jsonschema.Format {
	return []*jsonschema.Format{
		format("hostname", "RFC 1123", func() test { return hostnames(false) }),
		format("idn-hostname", "RFC 5890", func() test { return hostnames(true) }),
		format("email", "RFC 5321", func() test { return mailboxes(false) }),
		format("idn-email", "RFC 6531", func() test { return mailboxes(true) }),
		format("ipv4", "RFC 2673", func() test { return ipv4 }),
		format("duration", "RFC 3339", func() test { return regexp.MustCompile(span).MatchString }),
		format("uri-template", "RFC 6570", func() test { return regexp.MustCompile(template).MatchString }),
		format("uri", "RFC 3986", func() test { return located(reference("", "", false)) }),
		format("uri-reference", "RFC 3986", func() test { return located(reference("", "", true)) }),
		format("iri", "RFC 3987", func() test { return located(reference(ucs, private, false)) }),
		format("iri-reference", "RFC 3987", func() test { return located(reference(ucs, private, true)) }),
	}
})

type test func(string) bool

// format makes a format whose test is built when it is first needed.
func format(name, standard string, build func() test) *jsonschema.Format {
	holds, wrong := sync.OnceValue(build), errors.New("see "+standard)
	return &jsonschema.Format{Name: name, Validate: func(v any) error {
		if s, ok := v.(string); ok && !holds()(s) {
			return wrong
		}
		return nil // a format says nothing about other kinds of values
	}}
}

// located makes a test of a reference whose host may stand in brackets. An
// authority occurs in several alternatives, so one of several groups has it.
func located(grammar string) test {
	re := regexp.MustCompile(grammar)
	future := regexp.MustCompile(`^[vV][0-9A-Fa-f]+\.[` + unreserved + subDelims + `:]+$`)
	return func(s string) bool {
		m := re.FindStringSubmatchIndex(s)
		if m == nil {
			return false
		}
		for i := 2; i < len(m); i += 2 {
			if m[i] < 0 {
				continue
			}
			if inside := s[m[i]:m[i+1]]; !ipv6(inside) && !future.MatchString(inside) {
				return false
			}
		}
		return true
	}
}

func ipv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

func ipv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}

// mailAddress says whether an address literal of a mailbox is one.
func mailAddress(s string) bool {
	if six, ok := strings.CutPrefix(s, "IPv6:"); ok {
		return ipv6(six)
	}
	return ipv4(s)
}
