package secret

import (
	"encoding/json"
	"math"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Fault takes the credentials out of everything that an error says, for whoever is about
// to tell it: what is refused is quoted there, and it may be one.
func Fault(f *fault.Error) *fault.Error {
	if f == nil {
		return nil
	}
	redact := func(s string) string {
		s, _ = Redact(s)
		return s
	}
	out := &fault.Error{Code: f.Code, Message: redact(f.Message), Fix: redact(f.Fix), Details: make(map[string]any, len(f.Details))}
	for key, detail := range f.Details {
		out.Details[key] = redactDetail(detail)
	}
	return out
}

// redactDetail redacts one detail of a fault, of whatever type it is, and keeps
// the order of its members.
func redactDetail(detail any) any {
	v, err := strictjson.FromGo(detail)
	if err != nil {
		return "cannot be written as JSON"
	}
	v, _ = RedactValue(&v)
	whole, _ := strictjson.Excerpt(&v, math.MaxInt32)
	return json.RawMessage(whole)
}
