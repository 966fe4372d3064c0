package jsonvalue

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/match"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// maxQuoted is how much of a value stands in one line.
const maxQuoted = 200

//go:embed doc.go
var doc string

// Type is the check type json_value.
func Type() check.Type { return check.Define("json_value", check.DocText(doc), run) }

// Params are the parameters of a check.
type Params struct {
	Path      check.Path         `json:"path" need:"yes" doc:"JSON file, relative to the workspace or absolute"`
	Pointer   strictjson.Pointer `json:"pointer" default:"" doc:"JSON Pointer (RFC 6901) of the value; the whole document when it is missing or empty"`
	Equals    *strictjson.Value  `json:"equals" doc:"value that must be there"`
	Satisfies *match.Matcher     `json:"satisfies" since:"2" doc:"matcher that must hold for the value, in place of equals"`
}

// Validate asks for exactly one statement about the value.
func (p *Params) Validate(n strictjson.Node) {
	switch equals, satisfies := n.Get("equals") != nil, n.Get("satisfies") != nil; {
	case equals && satisfies:
		n.Member("satisfies").Problemf("Leave one of them out.", `json_value takes "equals" or "satisfies", not both`)
	case !equals && !satisfies && n.Report.Version < 2:
		n.Problemf("Add the value that must be there.", `params of json_value lacks its member "equals"`)
	case !equals && !satisfies:
		n.Problemf("Add the value that must be there, or a matcher for it.", `params of json_value need "equals" or "satisfies"`)
	}
}

// RefineSchema asks for exactly one statement about the value, as Validate does.
func (*Params) RefineSchema(s *strictjson.Value, _ int) {
	strictjson.RequireOne(s, "equals", "satisfies")
}

func run(ctx context.Context, p *Params, pass *check.Pass) check.Outcome {
	doc, unread := check.ReadJSON(ctx, pass.Files, p.Path)
	if unread != nil {
		return unread.Expecting(p.expected())
	}
	found, deepest, why := p.Pointer.Find(&doc.Root)
	if why != "" {
		return nowhere(p, doc, place{found, deepest}, why)
	}
	if p.Equals != nil {
		return p.compare(doc, found)
	}
	ok, reason := p.Satisfies.Holds(found, p.Pointer...)
	if !ok {
		o := check.Failed("%s%s%s", p.where(), check.Colon(p.Pointer...), reason)
		o.Findings = []record.Finding{p.finding(doc, place{found, p.Pointer}, reason)}
		return p.saw(o, found)
	}
	return p.saw(check.Passed("%s satisfies the matcher", p.where()), found)
}

// saw adds the value to an outcome, as far as it may be shown.
func (p *Params) saw(o check.Outcome, found *strictjson.Value) check.Outcome {
	o.Limitations = check.Withheld(found, p.Pointer...)
	return o.Expecting(p.expected()).Observing(check.Observable(found, p.Pointer...))
}

// place is a value in the document and the pointer that leads to it.
type place struct {
	value *strictjson.Value
	at    strictjson.Pointer
}

// nowhere is the outcome of a pointer that leads nowhere: how far it led is
// what a person needs to mend the document or the contract.
func nowhere(p *Params, doc *strictjson.Document, last place, why string) check.Outcome {
	led := "at the root"
	if len(last.at) > 0 {
		led = "at " + quote(last.at.String())
	}
	o := check.Failed("%s leads nowhere: %s, %s", p.where(), led, why)
	o.Findings = []record.Finding{p.finding(doc, last, fmt.Sprintf("%s leads nowhere: %s", quote(p.Pointer.String()), why))}
	return o.Expecting(p.expected()).Observing(map[string]any{"led_to": last.at.String(), "why": why, "value_there": check.Observable(last.value, last.at...)})
}

func (p *Params) compare(doc *strictjson.Document, found *strictjson.Value) check.Outcome {
	if strictjson.Equal(found, p.Equals) {
		return p.saw(check.Passed("%s is %s", p.where(), check.Excerpt(found, maxQuoted, p.Pointer...)), found)
	}
	at, reason := difference(place{found, p.Pointer}, p.Equals)
	o := check.Failed("%s: %s", p.Path.File(), reason)
	o.Findings = []record.Finding{p.finding(doc, at, reason)}
	return p.saw(o, found)
}

// difference finds the first place, in the order of the document, where a
// value is not the wanted one.
func difference(got place, want *strictjson.Value) (place, string) {
	v := got.value
	inside := func(child *strictjson.Value, token string) place {
		return place{child, append(got.at[:len(got.at):len(got.at)], token)}
	}
	switch {
	case v.Kind == strictjson.Array && want.Kind == strictjson.Array:
		for i := range min(len(v.Items), len(want.Items)) {
			if !strictjson.Equal(&v.Items[i], &want.Items[i]) {
				return difference(inside(&v.Items[i], strconv.Itoa(i)), &want.Items[i])
			}
		}
		return got, fmt.Sprintf("%s has %d elements, not %d", at(got), len(v.Items), len(want.Items))
	case v.Kind == strictjson.Object && want.Kind == strictjson.Object:
		wanted := make(map[string]*strictjson.Value, len(want.Members))
		for i := range want.Members {
			wanted[want.Members[i].Name] = &want.Members[i].Value
		}
		for i := range v.Members {
			m := &v.Members[i]
			w := wanted[m.Name]
			if w == nil {
				return inside(&m.Value, m.Name), fmt.Sprintf("%s has the member %s, which is not wanted", at(got), quote(m.Name))
			}
			if !strictjson.Equal(&m.Value, w) {
				return difference(inside(&m.Value, m.Name), w)
			}
			delete(wanted, m.Name)
		}
		for i := range want.Members {
			if name := want.Members[i].Name; wanted[name] != nil {
				return got, fmt.Sprintf("%s lacks the member %s", at(got), quote(name))
			}
		}
	}
	is, not := check.Excerpt(v, maxQuoted, got.at...), check.Excerpt(want, maxQuoted, got.at...)
	if is == not {
		return got, fmt.Sprintf("%s is %s, and not the wanted one", at(got), is)
	}
	return got, fmt.Sprintf("%s is %s, not %s", at(got), is, not)
}

func at(p place) string {
	if len(p.at) == 0 {
		return "the document"
	}
	return quote(p.at.String())
}

// where names the statement's subject in one line.
func (p *Params) where() string {
	if len(p.Pointer) == 0 {
		return p.Path.File()
	}
	return p.Path.File() + ": " + quote(p.Pointer.String())
}

func (p *Params) finding(doc *strictjson.Document, at place, message string) record.Finding {
	pos := doc.Position(at.value.Pos)
	return record.Finding{Message: message, File: p.Path.File(), Line: pos.Line, Column: pos.Column, Pointer: at.at.String()}
}

func (p *Params) expected() any {
	out := map[string]any{"pointer": p.Pointer.String()}
	if p.Equals != nil {
		out["equals"] = check.Observable(p.Equals, p.Pointer...)
	} else {
		out["satisfies"] = p.Satisfies.Shown(p.Pointer...)
	}
	return out
}

// quote writes a name or a pointer of the document, which may be of any length.
func quote(s string) string {
	v := strictjson.Str(s)
	return check.Excerpt(&v, maxQuoted)
}
