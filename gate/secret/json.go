package secret

import (
	"fmt"
	"strconv"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Located is where in a JSON value something was replaced, and what.
type Located struct {
	Pointer string // RFC 6901
	Hits    []Hit
}

// RedactValue redacts every string of a JSON value, member names too. A string
// goes whole when the member that it stands in is named like a credential, be
// it directly or deeper inside; numbers, booleans and null stay. The value
// itself is not changed.
func RedactValue(v *strictjson.Value) (strictjson.Value, []Located) {
	var r valueRedactor
	return r.value(v, "", Place{}), r.found
}

type valueRedactor struct{ found []Located }

func (r *valueRedactor) note(pointer string, hits []Hit) {
	if len(hits) > 0 {
		r.found = append(r.found, Located{pointer, hits})
	}
}

// value redacts v, which stands at the place p.
func (r *valueRedactor) value(v *strictjson.Value, pointer string, p Place) strictjson.Value {
	out := *v
	switch v.Kind {
	case strictjson.String:
		var hits []Hit
		out.Text, hits = p.text(v.Text)
		r.note(pointer, hits)
	case strictjson.Array:
		out.Items = make([]strictjson.Value, len(v.Items))
		for i := range v.Items {
			out.Items[i] = r.value(&v.Items[i], pointer+"/"+strconv.Itoa(i), p)
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
			out.Members[i] = strictjson.Member{Name: name, Pos: m.Pos, Value: r.value(&m.Value, at, p.Member(name))}
		}
	}
	return out
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
