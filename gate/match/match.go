package match

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Matcher is a predicate on a JSON value. Decoded from a contract it is
// complete and valid; the zero Matcher has no member and holds for everything,
// and is refused when it is decoded.
type Matcher struct {
	Type     *string             `json:"type" enum:"null boolean number integer string array object" doc:"JSON type of the value; 5.0 is an integer"`
	OneOf    values              `json:"one_of" doc:"values of which the value must equal one"`
	Matches  *Pattern            `json:"matches" doc:"RE2 pattern that must be found in the string, anywhere unless anchored"`
	Contains *strictjson.Value   `json:"contains" doc:"substring of the string, or element of the array"`
	Gt       *strictjson.Literal `json:"gt" doc:"the number is greater than this"`
	Ge       *strictjson.Literal `json:"ge" doc:"the number is greater than this or equal to it"`
	Lt       *strictjson.Literal `json:"lt" doc:"the number is less than this"`
	Le       *strictjson.Literal `json:"le" doc:"the number is less than this or equal to it"`
	Length   *Length             `json:"length" doc:"code points of a string, elements of an array, members of an object: an integer, or a matcher on it"`
	Not      *Matcher            `json:"not" doc:"a matcher that must not hold"`
	Each     *Matcher            `json:"each" doc:"a matcher that must hold for every element of the array"`
	Members  members             `json:"members" doc:"matchers for the values of named members, which must be there"`

	source *strictjson.Value
}

// MarshalJSON writes the matcher as the contract has it, for a result to say
// what was expected.
func (m *Matcher) MarshalJSON() ([]byte, error) {
	if m.source == nil {
		return []byte("{}"), nil
	}
	return strictjson.Canonical(m.source), nil
}

// Shown is the matcher as the contract has it, less what it says of a credential
// when member names and indices lead to one.
func (m *Matcher) Shown(at ...string) strictjson.Value {
	if m.source == nil {
		return strictjson.Obj()
	}
	if place := secret.At(at...); place.Named() {
		return place.Redact(m.source)
	}
	return *m.source
}

// DecodeStrict reads a matcher and reports everything that is wrong with it.
func (m *Matcher) DecodeStrict(n strictjson.Node) {
	before := len(n.Report.Problems)
	m.source = n.Value
	strictjson.Decode(n, "a matcher", m)
	if n.Kind != strictjson.Object {
		return
	}
	if len(n.Members) == 0 {
		n.Problemf(`Say what must hold, for instance {"type": "number"}.`, "a matcher without a member would decide nothing")
	}
	if len(n.Report.Problems) == before {
		m.contradictions(n)
	}
}

// contradictions reports bounds that no number satisfies: such a matcher could
// only fail, or inside "not" only pass, whatever the workspace holds.
func (m *Matcher) contradictions(n strictjson.Node) {
	for _, low := range []bound{{"gt", m.Gt}, {"ge", m.Ge}} {
		for _, high := range []bound{{"lt", m.Lt}, {"le", m.Le}} {
			if low.limit == nil || high.limit == nil {
				continue
			}
			c := strictjson.CompareNumbers(string(*low.limit), string(*high.limit))
			if c > 0 || c == 0 && (low.name == "gt" || high.name == "lt") {
				n.Problemf("", "no number satisfies both %q: %s and %q: %s", low.name, clip(string(*low.limit)), high.name, clip(string(*high.limit)))
			}
		}
	}
}

type bound struct {
	name  string
	limit *strictjson.Literal
}

// JSONSchema refers to the one definition of a matcher, which the schema of
// the whole document must hold under $defs: see [SchemaDefinition].
func (Matcher) JSONSchema() strictjson.Value { return reference() }

func reference() strictjson.Value {
	return strictjson.Obj(strictjson.Member{Name: "$ref", Value: strictjson.Str("#/$defs/matcher")})
}

// SchemaDefinition is the JSON Schema of a matcher, for "$defs": {"matcher": …}.
func SchemaDefinition() strictjson.Value {
	s := strictjson.Schema(reflect.TypeFor[Matcher](), 2)
	s.Set("description", strictjson.Str("An object, all of whose members must hold for the value."))
	s.Set("minProperties", strictjson.Num("1"))
	return s
}

// Pattern is a compiled RE2 regular expression.
type Pattern struct{ *regexp.Regexp }

// DecodeStrict compiles a pattern.
func (p *Pattern) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.String, "a pattern") {
		return
	}
	re, err := regexp.Compile(n.Text)
	if err != nil {
		n.Problemf("Patterns are RE2: they run in linear time, and so have no lookahead, lookbehind or backreference.",
			"%s is no RE2 pattern: %v", clip(strconv.Quote(n.Text)), err)
		return
	}
	p.Regexp = re
}

// JSONSchema describes a pattern.
func (Pattern) JSONSchema() strictjson.Value {
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("string")})
}

// Length is what "length" wants: an integer, or a matcher on the integer.
type Length struct{ Matcher }

// DecodeStrict reads an integer as the matcher that it abbreviates.
func (l *Length) DecodeStrict(n strictjson.Node) {
	if n.Kind != strictjson.Number {
		if n.Kind != strictjson.Object {
			n.Problemf("", `"length" must be an integer or a matcher, not %s`, n.Kind)
			return
		}
		l.Matcher.DecodeStrict(n)
		return
	}
	if i, ok := n.Int64(); !ok || i < 0 {
		n.Problemf("", `"length" must be a whole number from 0, not %s`, clip(n.Text))
	}
	l.OneOf = values{*n.Value}
}

// JSONSchema describes a length.
func (Length) JSONSchema() strictjson.Value {
	count := strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("integer")},
		strictjson.Member{Name: "minimum", Value: strictjson.Num("0")},
		strictjson.Member{Name: "maximum", Value: strictjson.Num("9223372036854775807")})
	return strictjson.Obj(strictjson.Member{Name: "anyOf", Value: strictjson.Arr(count, reference())})
}

type values []strictjson.Value

// DecodeStrict reads the values of "one_of".
func (v *values) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Array, `"one_of"`) {
		return
	}
	if len(n.Items) == 0 {
		n.Problemf("", `"one_of" must not be empty: no value would hold`)
	}
	*v = n.Items
}

// JSONSchema describes the values of "one_of".
func (values) JSONSchema() strictjson.Value {
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("array")},
		strictjson.Member{Name: "minItems", Value: strictjson.Num("1")})
}

// members are the matchers of "members", in the order of their names, so that
// the one that is reported does not depend on the order of a map.
type members []named

type named struct {
	name string
	Matcher
}

// DecodeStrict reads the matchers of "members".
func (m *members) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Object, `"members"`) {
		return
	}
	if len(n.Members) == 0 {
		n.Problemf(`To ask for an object write "type": "object".`, `"members" must name a member`)
	}
	byName := make(map[string]*Matcher, len(n.Members))
	for i, at := range n.Each() {
		one := new(Matcher)
		one.DecodeStrict(at)
		byName[n.Members[i].Name] = one
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		*m = append(*m, named{name, *byName[name]})
	}
}

// JSONSchema describes the matchers of "members".
func (members) JSONSchema() strictjson.Value {
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("object")},
		strictjson.Member{Name: "minProperties", Value: strictjson.Num("1")},
		strictjson.Member{Name: "additionalProperties", Value: reference()})
}

// isInteger says whether a number has an integral value, as JSON Schema counts
// integers. A literal without point and exponent is not looked at further.
func isInteger(literal string) bool {
	for i := range len(literal) {
		switch literal[i] {
		case '.', 'e', 'E':
			return strictjson.Exact(literal).IsInt()
		}
	}
	return true
}
