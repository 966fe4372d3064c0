package main

import (
	"encoding/json"
	"math"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// What is refused is quoted, and it may be a credential: in a contract that is
// refused for it, in a document with a typing error, on the command line. The
// log of a CI run must not get it from us, so whatever tells an error goes
// through here, and not each place that makes one.

// redactFault takes the credentials out of everything that an error says.
func redactFault(f *fault.Error) *fault.Error {
	out := &fault.Error{Code: f.Code, Message: redact(f.Message), Fix: redact(f.Fix), Details: make(map[string]any, len(f.Details))}
	for key, detail := range f.Details {
		out.Details[key] = redactDetail(detail)
	}
	return out
}

// redactLint does so for what lint found.
func redactLint(found gate.Lint) gate.Lint {
	found.File = redact(found.File)
	found.Problems, found.Warnings = redactProblems(found.Problems), redactProblems(found.Warnings)
	return found
}

func redactProblems(all []contract.Problem) []contract.Problem {
	out := make([]contract.Problem, 0, len(all))
	for _, p := range all {
		p.File, p.Pointer, p.Message, p.Fix = redact(p.File), redact(p.Pointer), redact(p.Message), redact(p.Fix)
		out = append(out, p)
	}
	return out
}

func redact(s string) string {
	s, _ = secret.Redact(s)
	return s
}

// redactDetail redacts one detail of a fault, of whatever type it is, and keeps
// the order of its members.
func redactDetail(detail any) any {
	v, err := strictjson.FromGo(detail)
	if err != nil {
		return "cannot be written as JSON"
	}
	v, _ = secret.RedactValue(&v)
	whole, _ := strictjson.Excerpt(&v, math.MaxInt32)
	return json.RawMessage(whole)
}
