package numericinvariant

import (
	"context"
	_ "embed"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

const (
	// maxDigits bounds a number that is computed with: the cost grows with the
	// square of its digits.
	maxDigits = 10_000
	// maxQuoted is how much of a value stands in one line.
	maxQuoted = 120
)

//go:embed doc.go
var doc string

// Type is the check type numeric_invariant.
func Type() check.Type { return check.Define("numeric_invariant", check.DocText(doc), run) }

// Params are the parameters of a check.
type Params struct {
	Value     value               `json:"value" need:"yes" doc:"number, or (schema_version 2) {\"from\": …}: where it is read"`
	Min       *strictjson.Literal `json:"min" doc:"the number is at least this"`
	Max       *strictjson.Literal `json:"max" doc:"the number is at most this"`
	Equals    *strictjson.Literal `json:"equals" doc:"the number is this, within the tolerance"`
	Tolerance strictjson.Literal  `json:"tolerance" default:"0" doc:"how far the number may lie from equals"`
}

// Validate looks for statements that say nothing.
func (p *Params) Validate(n strictjson.Node) {
	if n.Get("min") == nil && n.Get("max") == nil && n.Get("equals") == nil {
		n.Problemf("Add at least one of them.", `params of numeric_invariant need "min", "max" or "equals"`)
	}
	for _, l := range p.bounds() {
		if n.HasSound(l.name) && len(*l.limit) > maxDigits {
			n.Member(l.name).Problemf("", "%q has more than %d digits", l.name, maxDigits)
		}
	}
	if !n.HasSound("tolerance") {
		return
	}
	// Version 1 takes a tolerance that nothing is compared with, as the tool
	// whose contracts it reads does.
	switch c := strictjson.CompareNumbers(string(p.Tolerance), "0"); {
	case c < 0:
		n.Member("tolerance").Problemf("", `"tolerance" must not be negative, and is %s`, clip(string(p.Tolerance)))
	case c > 0 && n.Get("equals") == nil && n.Report.Version >= 2:
		n.Member("tolerance").Problemf(`Widen "min" and "max" instead.`, `"tolerance" belongs to "equals", which is missing`)
	}
}

// Warnings tells of bounds that no number satisfies, which is well formed and
// false, and of a query that cannot be run.
func (p *Params) Warnings() []string {
	var out []string
	if p.Min != nil && p.Max != nil && strictjson.CompareNumbers(string(*p.Min), string(*p.Max)) > 0 {
		out = append(out, fmt.Sprintf(`a run can only fail: "min" is greater than "max", and no number lies between %s and %s`, clip(string(*p.Min)), clip(string(*p.Max))))
	}
	if from := p.Value.from; from != nil && from.Database != nil {
		out = append(out, from.Database.warnings...)
	}
	return out
}

// RefineSchema asks for a bound, as Validate does.
func (*Params) RefineSchema(s *strictjson.Value, version int) {
	strictjson.RequireAny(s, "min", "max", "equals")
	s.Get("properties").Get("tolerance").Set("minimum", strictjson.Num("0"))
	if version >= 2 {
		// A tolerance of nothing is as good as none.
		given := strictjson.Obj(strictjson.Member{Name: "exclusiveMinimum", Value: strictjson.Num("0")})
		s.Set("if", strictjson.Obj(
			strictjson.Member{Name: "properties", Value: strictjson.Obj(strictjson.Member{Name: "tolerance", Value: given})},
			strictjson.Member{Name: "required", Value: strictjson.Arr(strictjson.Str("tolerance"))}))
		s.Set("then", strictjson.Obj(strictjson.Member{Name: "required", Value: strictjson.Arr(strictjson.Str("equals"))}))
	}
}

type bound struct {
	name  string
	limit *strictjson.Literal
}

// bounds gives the numbers that were given to compare with.
func (p *Params) bounds() []bound {
	all := []bound{{"min", p.Min}, {"max", p.Max}, {"equals", p.Equals}, {"tolerance", &p.Tolerance}}
	return slices.DeleteFunc(all, func(b bound) bool { return b.limit == nil })
}

// Profile is that of a command where the number is a command's.
func (p *Params) Profile() check.Profile {
	if p.Value.from != nil && p.Value.from.Command != nil {
		return check.Process
	}
	return check.Reading
}

// Tools is the program of the command that the number comes from, if any.
func (p *Params) Tools() []string {
	if p.Profile() == check.Process {
		return p.Value.from.Command.Command[:1]
	}
	return nil
}

func run(ctx context.Context, p *Params, pass *check.Pass) check.Outcome {
	return judge(ctx, p, pass).Expecting(p.expected())
}

func judge(ctx context.Context, p *Params, pass *check.Pass) check.Outcome {
	if p.Value.from == nil {
		return p.compare(p.Value.literal, "").Observing(p.Value.literal.Value())
	}
	r := p.Value.from.read(ctx, pass)
	switch {
	case r.instead != nil:
		return r.finish(*r.instead)
	case len(r.literal) > maxDigits:
		return r.finish(check.Unable(fault.LimitExceeded, "", "%s: the number has more than %d digits", r.what, maxDigits))
	}
	return r.finish(p.compare(r.literal, r.what))
}

// compare holds the number against every bound and names the first that it
// violates.
func (p *Params) compare(literal strictjson.Literal, what string) check.Outcome {
	number := what
	if number != "" {
		number += " is "
	}
	number += clip(string(literal))
	switch {
	case p.Min != nil && strictjson.CompareNumbers(string(literal), string(*p.Min)) < 0:
		return check.Failed("%s, less than min %s", number, clip(string(*p.Min)))
	case p.Max != nil && strictjson.CompareNumbers(string(literal), string(*p.Max)) > 0:
		return check.Failed("%s, more than max %s", number, clip(string(*p.Max)))
	case p.Equals != nil:
		apart := new(big.Rat).Sub(strictjson.Exact(string(literal)), strictjson.Exact(string(*p.Equals)))
		if t := strictjson.Exact(string(p.Tolerance)); apart.Abs(apart).Cmp(t) > 0 {
			if t.Sign() == 0 {
				return check.Failed("%s, not %s", number, clip(string(*p.Equals)))
			}
			return check.Failed("%s, further than %s from %s", number, clip(string(p.Tolerance)), clip(string(*p.Equals)))
		}
	}
	return check.Passed("%s, as wanted", number)
}

func (p *Params) expected() any {
	out := map[string]any{}
	for _, b := range p.bounds() {
		out[b.name] = b.limit.Value()
	}
	if p.Equals == nil {
		delete(out, "tolerance")
	}
	return out
}

func clip(s string) string {
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "…"
	}
	return s
}

// asNumber reads text as a JSON number: nothing before it, nothing after it.
func asNumber(text string) (strictjson.Literal, error) {
	doc, err := strictjson.Parse([]byte(text), strictjson.DocumentLimits)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s is no JSON number: %w", quote(text), err)
	case doc.Root.Kind != strictjson.Number || strings.TrimSpace(text) != text || doc.Root.Text != text:
		return "", fmt.Errorf("%s is no JSON number", quote(text))
	}
	return strictjson.Literal(text), nil
}

func quote(text string) string {
	s := strictjson.Str(text)
	shown, _ := strictjson.Excerpt(&s, maxQuoted)
	return shown
}
