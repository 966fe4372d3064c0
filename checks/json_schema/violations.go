package jsonschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// How long a message, a quoted value and a pointer may be. Names and values of
// the document can have any length.
const (
	maxMessage = 300
	maxQuoted  = 80
	maxPointer = 1 << 10
)

// maxReasons is how many alternatives of anyOf or oneOf are quoted.
const maxReasons = 3

// violation is one thing that the library found wrong with the document.
type violation struct {
	at     strictjson.Pointer
	cause  *jsonschema.ValidationError
	member bool // at is a member that is not allowed; the cause is about its object
}

// violations flattens the library's tree into what a person can mend, in an
// order that does not depend on the order of Go's maps. There may be a million,
// of which a hundred are shown, so the words are found when they are needed.
func violations(err *jsonschema.ValidationError) []violation {
	out := collect(err, nil)
	slices.SortFunc(out, func(a, b violation) int {
		if c := slices.CompareFunc(a.at, b.at, compareTokens); c != 0 {
			return c
		}
		return strings.Compare(a.message(), b.message())
	})
	// One place can be reached on several ways through the schema.
	return slices.CompactFunc(out, func(a, b violation) bool { return slices.Equal(a.at, b.at) && a.message() == b.message() })
}

// message says in words what is wrong.
func (v violation) message() string {
	if v.member {
		return "the member is not allowed"
	}
	text := words(v.cause.ErrorKind, v.cause.InstanceLocation)
	if reasons := alternatives(v.cause); reasons != "" {
		text += ": " + reasons
	}
	return clip(text, maxMessage)
}

// circular says that the schema's references go round in a circle: that is not
// the document's fault.
func (v violation) circular() bool {
	_, is := v.cause.ErrorKind.(*kind.RefCycle)
	return is
}

// compareTokens orders indices as numbers and everything else as text.
func compareTokens(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return strings.Compare(a, b)
}

func collect(err *jsonschema.ValidationError, out []violation) []violation {
	switch k := err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range err.Causes {
			out = collect(cause, out)
		}
		return out
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			out = append(out, violation{at: append(slices.Clone(err.InstanceLocation), name), cause: err, member: true})
		}
		return out
	}
	return append(out, violation{at: err.InstanceLocation, cause: err})
}

// alternatives quotes why the first alternatives below a violation do not hold.
func alternatives(err *jsonschema.ValidationError) string {
	var reasons []string
	for _, cause := range err.Causes {
		if len(reasons) == maxReasons {
			reasons = append(reasons, "…")
			break
		}
		below := violations(cause)
		if len(below) == 0 {
			continue
		}
		reason := below[0].message()
		if inner := below[0].at; len(inner) > len(err.InstanceLocation) {
			reason = strictjson.Pointer(inner).String() + " " + reason
		}
		reasons = append(reasons, reason)
	}
	return strings.Join(reasons, "; ")
}

// words says what is wrong. The library's own words would quote values of any
// length, group digits and list the members of a map in its random order;
// what the names on the way to a value call a credential is not quoted.
func words(k jsonschema.ErrorKind, at []string) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("is %s, not %s", k.Got, strings.Join(k.Want, " or "))
	case *kind.Enum:
		return "is none of " + quoteAll(k.Want, at)
	case *kind.Const:
		return "is not " + quote(k.Want, at...)
	case *kind.Format:
		shown := quote(k.Got, at...)
		if shown != quote(k.Got) {
			return fmt.Sprintf("%s is no %s", shown, k.Want) // the reason may quote it
		}
		return fmt.Sprintf("%s is no %s: %v", shown, k.Want, k.Err)
	case *kind.Pattern:
		return fmt.Sprintf("%s does not match the pattern %s", quote(k.Got, at...), quote(k.Want, at...))
	case *kind.Required:
		return "lacks " + members(k.Missing)
	case *kind.Dependency:
		return fmt.Sprintf("lacks %s, which %s asks for", members(k.Missing), quote(k.Prop))
	case *kind.DependentRequired:
		return fmt.Sprintf("lacks %s, which %s asks for", members(k.Missing), quote(k.Prop))
	case *kind.PropertyNames:
		return fmt.Sprintf("the name %s is not allowed", quote(k.Property))
	case *kind.FalseSchema:
		return "nothing is allowed here"
	case *kind.Not:
		return "is what not forbids"
	case *kind.AnyOf:
		return "no alternative of anyOf holds"
	case *kind.OneOf:
		if len(k.Subschemas) == 2 {
			return fmt.Sprintf("more than one alternative of oneOf holds: %d and %d", k.Subschemas[0], k.Subschemas[1])
		}
		return "no alternative of oneOf holds"
	case *kind.Contains:
		return "no element is as contains wants"
	case *kind.MinContains:
		return fmt.Sprintf("%d elements are as contains wants, fewer than minContains %d", len(k.Got), k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("%d elements are as contains wants, more than maxContains %d", len(k.Got), k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("the elements %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.AdditionalItems:
		return fmt.Sprintf("the last %d elements are not allowed", k.Count)
	}
	return measured(k)
}

// measured says what is wrong with a size.
func measured(k jsonschema.ErrorKind) string {
	count := func(got, want int, what, keyword string) string {
		return fmt.Sprintf("has %d %s, against %s %d", got, what, keyword, want)
	}
	number := func(got, want *big.Rat, keyword string) string {
		return fmt.Sprintf("is %s, against %s %s", decimal(got), keyword, decimal(want))
	}
	switch k := k.(type) {
	case *kind.MinLength:
		return count(k.Got, k.Want, "characters", "minLength")
	case *kind.MaxLength:
		return count(k.Got, k.Want, "characters", "maxLength")
	case *kind.MinItems:
		return count(k.Got, k.Want, "elements", "minItems")
	case *kind.MaxItems:
		return count(k.Got, k.Want, "elements", "maxItems")
	case *kind.MinProperties:
		return count(k.Got, k.Want, "members", "minProperties")
	case *kind.MaxProperties:
		return count(k.Got, k.Want, "members", "maxProperties")
	case *kind.Minimum:
		return number(k.Got, k.Want, "minimum")
	case *kind.Maximum:
		return number(k.Got, k.Want, "maximum")
	case *kind.ExclusiveMinimum:
		return number(k.Got, k.Want, "exclusiveMinimum")
	case *kind.ExclusiveMaximum:
		return number(k.Got, k.Want, "exclusiveMaximum")
	case *kind.MultipleOf:
		return number(k.Got, k.Want, "multipleOf")
	}
	return k.LocalizedString(message.NewPrinter(language.English))
}

// decimal writes a number in as few digits as tell it.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String(), maxQuoted)
	}
	f, _ := r.Float64() // exact is a claim that nobody needs here
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// members lists missing members; the library has them in the schema's order.
func members(names []string) string {
	quoted := make([]string, 0, len(names))
	for _, n := range names {
		quoted = append(quoted, quote(n))
	}
	if len(quoted) == 1 {
		return "the member " + quoted[0]
	}
	return "the members " + strings.Join(quoted, ", ")
}

func quoteAll(values []any, at []string) string {
	quoted := make([]string, 0, len(values))
	for _, v := range values {
		quoted = append(quoted, quote(v, at...))
	}
	return strings.Join(quoted, ", ")
}

// quote writes a value of a schema or a document as JSON, cut to what a message
// can hold. Names and indices lead to the place that it is about.
func quote(v any, at ...string) string {
	switch v := v.(type) {
	case string:
		s := strictjson.Str(v)
		return check.Excerpt(&s, maxQuoted, at...)
	case json.Number:
		return clip(v.String(), maxQuoted)
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	if v == nil {
		return "null"
	}
	return fmt.Sprint(v)
}

// clip cuts a text at the boundary of a character.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
