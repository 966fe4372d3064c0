package match

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// How much of a value, of a pattern and of a place is quoted in an
// explanation: enough to recognise it, little enough for one line.
const (
	maxQuoted = 120
	maxPlace  = 200
	maxWhy    = 600
)

// Holds says whether a matcher holds for a value, to which member names and
// indices lead. Where it does not, why names the first member that does not
// hold, and the place inside the value. What the names on the way call a
// credential is not quoted.
func (m *Matcher) Holds(v *strictjson.Value, at ...string) (ok bool, why string) {
	place := secret.At(at...)
	miss := m.try(v, place)
	if miss == nil {
		return true, ""
	}
	return false, miss.within(place)
}

// HoldsText says whether a matcher holds for text that may not be UTF-8, as
// the package comment describes.
func (m *Matcher) HoldsText(text []byte) (ok bool, why string) {
	return m.Holds(&strictjson.Value{Kind: strictjson.String, Text: string(text), Pos: -1})
}

// miss is one member that does not hold. Its place is gathered on the way up,
// innermost token first, so that a match that succeeds costs nothing for it.
type miss struct {
	place []string
	text  string
}

func missf(format string, args ...any) *miss { return &miss{text: fmt.Sprintf(format, args...)} }

func (m *miss) in(token string) *miss {
	m.place = append(m.place, token)
	return m
}

// within says it of a value that stands at a place.
func (m *miss) within(outer secret.Place) string {
	text := m.text
	if len(m.place) > 0 {
		path := slices.Clone(m.place)
		slices.Reverse(path)
		for _, name := range path {
			outer = outer.Member(name)
		}
		text = "at " + bounded(strictjson.Pointer(path).String(), maxPlace) + outer.Colon() + text
	}
	return bounded(text, maxWhy)
}

func (m *Matcher) try(v *strictjson.Value, p secret.Place) *miss {
	if m.Type != nil && !hasType(v, *m.Type) {
		return missf(`"type" wants %s, and it is %s`, *m.Type, show(v, p))
	}
	if m.OneOf != nil && !slices.ContainsFunc(m.OneOf, func(w strictjson.Value) bool { return strictjson.Equal(v, &w) }) {
		wanted := strictjson.Arr(m.OneOf...)
		return missf(`"one_of" wants one of %s, and it is %s`, show(&wanted, p), show(v, p))
	}
	if m.Matches != nil {
		if v.Kind != strictjson.String {
			return missf(`"matches" wants a string, and it is %s`, show(v, p))
		}
		if !m.Matches.MatchString(v.Text) {
			return missf(`"matches" %s is not found in %s`, m.pattern(p), show(v, p))
		}
	}
	if m.Contains != nil {
		if miss := contains(v, m.Contains, p); miss != nil {
			return miss
		}
	}
	if miss := m.bounds(v, p); miss != nil {
		return miss
	}
	return m.parts(v, p)
}

// pattern quotes the pattern; at the place of a credential it may spell it out.
func (m *Matcher) pattern(p secret.Place) string {
	if p.Named() {
		text := strictjson.Str(m.Matches.String())
		return show(&text, p)
	}
	return clip(strconv.Quote(m.Matches.String()))
}

func contains(v, want *strictjson.Value, p secret.Place) *miss {
	switch {
	case v.Kind == strictjson.Array:
		if !slices.ContainsFunc(v.Items, func(item strictjson.Value) bool { return strictjson.Equal(&item, want) }) {
			return missf(`"contains" wants the element %s, which is not in %s`, show(want, p), show(v, p))
		}
	case v.Kind == strictjson.String && want.Kind == strictjson.String:
		if !strings.Contains(v.Text, want.Text) {
			return missf(`"contains" wants the substring %s, which is not in %s`, show(want, p), show(v, p))
		}
	case v.Kind == strictjson.String:
		return missf(`"contains" looks for %s in a string, which holds only strings`, show(want, p))
	default:
		return missf(`"contains" wants a string or an array, and it is %s`, show(v, p))
	}
	return nil
}

func (m *Matcher) bounds(v *strictjson.Value, p secret.Place) *miss {
	for _, b := range [...]struct {
		name, words string
		limit       *strictjson.Literal
		holds       func(c int) bool
	}{
		{"gt", "greater than", m.Gt, func(c int) bool { return c > 0 }},
		{"ge", "at least", m.Ge, func(c int) bool { return c >= 0 }},
		{"lt", "less than", m.Lt, func(c int) bool { return c < 0 }},
		{"le", "at most", m.Le, func(c int) bool { return c <= 0 }},
	} {
		if b.limit == nil {
			continue
		}
		if v.Kind != strictjson.Number {
			return missf("%q wants a number, and it is %s", b.name, show(v, p))
		}
		if !b.holds(strictjson.CompareNumbers(v.Text, string(*b.limit))) {
			return missf("%q wants a number %s %s, and it is %s", b.name, b.words, clip(string(*b.limit)), clip(v.Text))
		}
	}
	return nil
}

// parts tries the members that look inside the value.
func (m *Matcher) parts(v *strictjson.Value, p secret.Place) *miss {
	if m.Length != nil {
		n, ok := length(v)
		if !ok {
			return missf(`"length" wants a string, an array or an object, and it is %s`, show(v, p))
		}
		count := strictjson.Num(strconv.Itoa(n))
		if miss := m.Length.try(&count, secret.Place{}); miss != nil {
			return missf(`"length" is %d: %s`, n, miss.text)
		}
	}
	if m.Not != nil && m.Not.try(v, p) == nil {
		return missf(`"not" wants its matcher not to hold, and it holds for %s`, show(v, p))
	}
	if m.Each != nil {
		if v.Kind != strictjson.Array {
			return missf(`"each" wants an array, and it is %s`, show(v, p))
		}
		for i := range v.Items {
			if miss := m.Each.try(&v.Items[i], p); miss != nil {
				return miss.in(strconv.Itoa(i))
			}
		}
	}
	for i := range m.Members {
		want := &m.Members[i]
		if v.Kind != strictjson.Object {
			return missf(`"members" wants an object, and it is %s`, show(v, p))
		}
		member := v.Get(want.name)
		if member == nil {
			return missf(`"members" wants the member %s, which is missing`, clip(strconv.Quote(want.name)))
		}
		if miss := want.try(member, p.Member(want.name)); miss != nil {
			return miss.in(want.name)
		}
	}
	return nil
}

func hasType(v *strictjson.Value, name string) bool {
	switch name {
	case "null":
		return v.Kind == strictjson.Null
	case "boolean":
		return v.Kind == strictjson.Bool
	case "number":
		return v.Kind == strictjson.Number
	case "integer":
		return v.Kind == strictjson.Number && isInteger(v.Text)
	case "string":
		return v.Kind == strictjson.String
	case "array":
		return v.Kind == strictjson.Array
	}
	return v.Kind == strictjson.Object
}

func length(v *strictjson.Value) (int, bool) {
	switch v.Kind {
	case strictjson.String:
		return utf8.RuneCountInString(v.Text), true
	case strictjson.Array:
		return len(v.Items), true
	case strictjson.Object:
		return len(v.Members), true
	}
	return 0, false
}

// show names a value for an explanation: a scalar by itself, anything else, or
// anything long, by its kind and its beginning; a credential by its mark.
func show(v *strictjson.Value, p secret.Place) string {
	text, cut := p.Excerpt(v, maxQuoted)
	if cut || v.Kind == strictjson.Array || v.Kind == strictjson.Object {
		return v.Kind.String() + ", " + text
	}
	return text
}

func clip(s string) string { return bounded(s, maxQuoted) }

// bounded cuts a text at the boundary of a character.
func bounded(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
