package secret

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Located is where in a JSON value something was replaced, and what.
type Located struct {
	Pointer string // RFC 6901
	Hits    []Hit
}

// RedactValue redacts every string of a JSON value, member names too. The
// string of a member that is named like a credential goes whole; its numbers,
// booleans and null stay. The value itself is not changed.
func RedactValue(v *strictjson.Value) (strictjson.Value, []Located) {
	var r valueRedactor
	return r.value(v, "", ""), r.found
}

type valueRedactor struct{ found []Located }

func (r *valueRedactor) note(pointer string, hits []Hit) {
	if len(hits) > 0 {
		r.found = append(r.found, Located{pointer, hits})
	}
}

// value redacts v; kind is what the name of its member stands for, "" for none.
func (r *valueRedactor) value(v *strictjson.Value, pointer string, kind Kind) strictjson.Value {
	out := *v
	switch v.Kind {
	case strictjson.String:
		var hits []Hit
		out.Text, hits = redactMember(v.Text, kind)
		r.note(pointer, hits)
	case strictjson.Array:
		out.Items = make([]strictjson.Value, len(v.Items))
		for i := range v.Items {
			out.Items[i] = r.value(&v.Items[i], pointer+"/"+strconv.Itoa(i), kind)
		}
	case strictjson.Object:
		out.Members = make([]strictjson.Member, len(v.Members))
		var taken names
		for i := range v.Members {
			m := v.Members[i]
			name, hits := Redact(m.Name)
			if hits != nil {
				if taken.used == nil {
					taken = newNames(v.Members)
				}
				name = taken.free(name)
			}
			at := pointer + strictjson.Pointer{name}.String()
			r.note(at, hits)
			out.Members[i] = strictjson.Member{Name: name, Pos: m.Pos, Value: r.value(&m.Value, at, memberKind(name))}
		}
	}
	return out
}

// authorizationMember marks the string of a member that is named like the header.
const authorizationMember Kind = "authorization"

// memberKind gives what a member of that name holds. The name is read as it is
// written, so one that was itself redacted says nothing, now and the next time.
func memberKind(name string) Kind {
	if strings.Contains(name, opening) {
		return ""
	}
	if kind, ok := credentialName(name); ok {
		return kind
	}
	if isAuthorization(name) {
		return authorizationMember
	}
	return ""
}

// redactMember redacts the string of a member.
func redactMember(text string, kind Kind) (string, []Hit) {
	switch {
	case kind == "":
		return Redact(text)
	case kind == authorizationMember:
		s := scanner{text: text, context: true}
		s.authorization(value{end: len(text), quoted: true})
		if s.found == nil {
			return Redact(text)
		}
		m := s.found[0]
		out, more := Redact(text[:m.Start] + m.Kind.Replacement() + text[m.End:])
		return out, count(more, m.Kind, 1)
	case strings.HasPrefix(text, opening) || len(text) <= maxPlaceholder && placeholder(text):
		return Redact(text)
	}
	// What the string is by its own shape says more than its member's name.
	if found := Find(text); len(found) == 1 && !found[0].Kind.contextual() {
		kind = found[0].Kind
	}
	return kind.Replacement(), []Hit{{kind, 1}}
}

// names keeps the names of an object apart when redaction makes them equal.
type names struct {
	used map[string]bool
	last map[string]int // the number given last, by name
}

func newNames(members []strictjson.Member) names {
	n := names{used: make(map[string]bool, len(members)), last: map[string]int{}}
	for i := range members {
		n.used[members[i].Name] = true
	}
	return n
}

// free gives the name, or the name with a number when another member has it.
func (n names) free(name string) string {
	out := name
	for n.used[out] {
		n.last[name] = max(n.last[name], 1) + 1
		out = fmt.Sprintf("%s (%d)", name, n.last[name])
	}
	n.used[out] = true
	return out
}
