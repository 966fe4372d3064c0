package jsonschema

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

const (
	// maxViolations is how many violations are reported one by one: more than
	// anybody mends at once.
	maxViolations = 100
	// maxDigits bounds the length of a number. The library computes with exact
	// rationals, whose cost grows with the square of the digits: 10,000 take
	// half a millisecond, a million a second, ten million minutes.
	maxDigits = 10_000
	// maxValues bounds the document: the library notes every violation, and
	// each value may be one.
	maxValues = 2_000_000
	// maxPlaces bounds values times levels. The library notes with every
	// violation the way to its place, so that is what its notes may take, at 16
	// bytes a step; a document over it is judged without noting places.
	maxPlaces = 16 << 20
	// placeCost is the fixed part of such a note, in steps.
	placeCost = 16
)

//go:embed doc.go
var doc string

// Type is the check type json_schema.
func Type() check.Type { return check.Define("json_schema", check.DocText(doc), run) }

// Params are the parameters of a check.
type Params struct {
	Path   check.Path `json:"path" need:"yes" doc:"JSON file, relative to the workspace or absolute"`
	Schema schema     `json:"schema" need:"yes" doc:"JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12, named by $schema; 2020-12 without it"`

	compiled *compiled
}

// Validate compiles the schema, once for every run of the check.
func (p *Params) Validate(n strictjson.Node) {
	if n.HasSound("schema") {
		p.compiled = compile(n.Member("schema"), nothing{})
	}
}

// schema is the schema as the contract has it.
type schema struct{ *strictjson.Value }

// DecodeStrict takes an object or a boolean.
func (s *schema) DecodeStrict(n strictjson.Node) {
	if n.Kind != strictjson.Object && n.Kind != strictjson.Bool {
		n.Problemf("", "a schema must be an object, true or false, not %s", n.Kind)
	}
	s.Value = n.Value
}

// JSONSchema describes a schema by its form only: its draft is its own affair.
func (schema) JSONSchema() strictjson.Value {
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Arr(strictjson.Str("object"), strictjson.Str("boolean"))})
}

func run(ctx context.Context, p *Params, pass *check.Pass) check.Outcome {
	return judge(ctx, p, pass).Expecting(map[string]any{"schema": check.Observable(p.Schema.Value)})
}

func judge(ctx context.Context, p *Params, pass *check.Pass) check.Outcome {
	doc, unread := check.ReadJSON(ctx, pass.Files, p.Path)
	if unread != nil {
		return *unread
	}
	if long := longNumber(&doc.Root); long != nil {
		return check.Unable(fault.LimitExceeded, "", "%s: %v: a number of more than %d digits", p.Path.File(), doc.Position(long.Pos), maxDigits)
	}
	values, levels := extent(&doc.Root)
	if values > maxValues {
		return check.Unable(fault.LimitExceeded, "", "%s has %d values; at most %d are held against a schema", p.Path.File(), values, maxValues)
	}
	if values*(levels+placeCost) > maxPlaces {
		return judgeWhole(ctx, p, doc)
	}
	violations, err := p.compiled.validate(ctx, instance(&doc.Root))
	if err != nil {
		return check.From(err)
	}
	if len(violations) == 0 {
		return check.Passed("%s is valid", p.Path.File()).Observing(map[string]any{"total": 0, "violations": []any{}})
	}
	if i := slices.IndexFunc(violations, violation.circular); i >= 0 {
		return check.Defective(fault.CheckMalformed, "", "the schema refers to itself in a circle: %s", violations[i].message())
	}
	return report(p, doc, violations)
}

// judgeWhole judges a document that is too large and too deep for the places of
// its violations.
func judgeWhole(ctx context.Context, p *Params, doc *strictjson.Document) check.Outcome {
	valid, err := p.compiled.valid(ctx, instance(&doc.Root))
	switch {
	case err != nil:
		return check.From(err)
	case valid:
		return check.Passed("%s is valid", p.Path.File()).Observing(map[string]any{"total": 0, "violations": []any{}})
	}
	o := check.Failed("%s violates the schema; it is too deep and too large for the places to be listed", p.Path.File())
	o.Findings = []record.Finding{{Message: "violates the schema", File: p.Path.File(), Line: 1, Column: 1}}
	return o.Observing(map[string]any{"total": nil, "violations": []any{}, "note": "the document is too deep and too large for the places to be listed"})
}

// extent counts the values of a document and its levels.
func extent(v *strictjson.Value) (values, levels int) {
	values = 1
	below := func(child *strictjson.Value) {
		n, d := extent(child)
		values += n
		levels = max(levels, d+1)
	}
	for i := range v.Items {
		below(&v.Items[i])
	}
	for i := range v.Members {
		below(&v.Members[i].Value)
	}
	return values, levels
}

func report(p *Params, doc *strictjson.Document, violations []violation) check.Outcome {
	total := len(violations)
	violations = violations[:min(total, maxViolations)]
	var shown []map[string]string
	findings := make([]record.Finding, 0, len(violations))
	for _, v := range violations {
		value, at, _ := v.at.Find(&doc.Root)
		pos := doc.Position(value.Pos)
		pointer := clip(at.String(), maxPointer)
		message := v.message()
		findings = append(findings, record.Finding{Message: message, File: p.Path.File(), Line: pos.Line, Column: pos.Column, Pointer: pointer})
		shown = append(shown, map[string]string{"pointer": pointer, "message": message})
	}
	first := "the document"
	if findings[0].Pointer != "" {
		first = clip(findings[0].Pointer, maxMessage)
	}
	o := check.Failed("%s violates the schema in %s, first %s%s%s", p.Path.File(), places(total), first, check.Colon(violations[0].at...), findings[0].Message)
	observed := map[string]any{"total": total, "violations": shown}
	if total > len(shown) {
		observed["note"] = fmt.Sprintf("these are the first %d", len(shown))
	}
	o.Findings = findings
	return o.Observing(observed)
}

func places(n int) string {
	if n == 1 {
		return "1 place"
	}
	return fmt.Sprintf("%d places", n)
}

// instance converts a value to what the library takes, without losing a digit
// of an integer. Other numbers become their canonical form: the literal
// 1e-999999999 would have the library compute a power of ten of a billion
// digits.
func instance(v *strictjson.Value) any {
	switch v.Kind {
	case strictjson.Bool:
		return v.Bool
	case strictjson.Number:
		return json.Number(strictjson.Canonical(v))
	case strictjson.String:
		return v.Text
	case strictjson.Array:
		out := make([]any, len(v.Items))
		for i := range v.Items {
			out[i] = instance(&v.Items[i])
		}
		return out
	case strictjson.Object:
		out := make(map[string]any, len(v.Members))
		for i := range v.Members {
			out[v.Members[i].Name] = instance(&v.Members[i].Value)
		}
		return out
	}
	return nil
}

// longNumber finds an integer whose digits are over the limit.
func longNumber(v *strictjson.Value) *strictjson.Value {
	if v.Kind == strictjson.Number && len(v.Text) > maxDigits && !strings.ContainsAny(v.Text, ".eE") {
		return v
	}
	for i := range v.Items {
		if long := longNumber(&v.Items[i]); long != nil {
			return long
		}
	}
	for i := range v.Members {
		if long := longNumber(&v.Members[i].Value); long != nil {
			return long
		}
	}
	return nil
}
