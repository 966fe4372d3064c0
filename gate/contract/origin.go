package contract

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Origin is scheme://host[:port], http or https.
type Origin string

// DecodeStrict reads an origin.
func (o *Origin) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.String, "an origin") {
		return
	}
	*o = Origin(n.Text)
	if why := o.fault(); why != "" {
		n.Problemf(`Write it like "https://example.com" or "http://127.0.0.1:8080".`, "%q is no origin: %s", n.Text, why)
	}
}

// JSONSchema describes an origin.
func (*Origin) JSONSchema() strictjson.Value {
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("string")},
		strictjson.Member{Name: "pattern", Value: strictjson.Str(`^[hH][tT][tT][pP][sS]?://[^/?#@\\\s]+$`)})
}

func (o Origin) fault() string {
	u, err := url.Parse(string(o))
	if err != nil {
		return "it does not parse as a URL"
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "the scheme must be http or https"
	case u.User != nil:
		return "it must hold no user name or password"
	case u.Hostname() == "":
		return "it has no host"
	case u.Path != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(string(o), "#"):
		return "it must end after the host and port: no path, query or fragment"
	case strings.HasSuffix(u.Host, ":") || u.Port() != "" && !validPort(u.Port()):
		return "the port must be 1 to 65535"
	case strings.ContainsAny(u.Host, " \\") || strings.Contains(u.Hostname(), "%"):
		return "the host holds a character that no host has"
	case strings.HasPrefix(u.Host, "["):
		if _, err := netip.ParseAddr(u.Hostname()); err != nil {
			return "what stands in [ ] is no IPv6 address"
		}
	}
	return ""
}

func validPort(s string) bool {
	n := 0
	for _, c := range s {
		if n = n*10 + int(c-'0'); c < '0' || c > '9' || n > 65535 {
			return false
		}
	}
	return n > 0
}
