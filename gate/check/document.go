package check

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// MaxDocument is the size of the largest file that is parsed as a whole. A
// parsed document takes a multiple of its text in memory, so the bound is on
// what is read; a larger file is not judged rather than judged in part.
const MaxDocument = 64 << 20

// ReadJSON reads a file as one JSON document. A document that could not be
// had gives the outcome that every type answers with: missing or malformed is
// false, with the place; unreadable or over a limit is inconclusive.
func ReadJSON(ctx context.Context, files Files, p Path) (*strictjson.Document, *Outcome) {
	data, err := files.Read(ctx, string(p), MaxDocument)
	if err != nil {
		o := From(err)
		return nil, &o
	}
	doc, err := strictjson.Parse(data, strictjson.DocumentLimits)
	if err == nil {
		return doc, nil
	}
	var syntax *strictjson.SyntaxError
	if !errors.As(err, &syntax) {
		o := From(err)
		return nil, &o
	}
	if syntax.Limit {
		o := Unable(fault.LimitExceeded, "", "%s: %v", Quote(string(p)), syntax)
		return nil, &o
	}
	o := Failed("%s is not valid JSON: %v", Quote(string(p)), syntax)
	o.Findings = []record.Finding{{Message: "not valid JSON: " + syntax.Reason, File: p.File(), Line: syntax.Line, Column: syntax.Column}}
	return nil, &o
}

// File is the path as a finding names it: without a leading "./", and the
// bytes of a name that is not UTF-8 made visible.
func (p Path) File() string { return Show(path.Clean(string(p))) }

// MaxValue is how much of a JSON value stands in a result. What is larger is
// shown by its beginning, for a result must stay readable.
const MaxValue = 4 << 10

// Observable is a JSON value as a result holds it: itself, or when it is large
// its kind and its beginning. Member names and indices lead from the root of its
// document to it; without them nobody could tell later that it is a password.
func Observable(v *strictjson.Value, at ...string) any {
	place := secret.At(at...)
	text, cut := place.Excerpt(v, MaxValue)
	if !cut {
		if place.Named() {
			return place.Redact(v)
		}
		return *v
	}
	return map[string]any{"type": v.Kind.String(), "excerpt": text, "note": fmt.Sprintf("larger than %d bytes; this is the beginning", MaxValue)}
}

// Excerpt is a JSON value as a message quotes it, within most bytes, and without
// what member names in it or on the way to it call a credential.
func Excerpt(v *strictjson.Value, most int, at ...string) string {
	text, _ := secret.At(at...).Excerpt(v, most)
	return text
}

// Withheld says, for the limitations of a result, that the value at a pointer is
// not in it; nil when it is.
func Withheld(v *strictjson.Value, at ...string) []string {
	place := secret.At(at...)
	if !place.Named() {
		return nil
	}
	if shown := place.Redact(v); strictjson.Equal(&shown, v) {
		return nil
	}
	return []string{fmt.Sprintf("redacted what stands at %s: its name says that it is a credential", Quote(strictjson.Pointer(at).String()))}
}

// Colon stands between a pointer and a message about its value. After the name
// of a credential the first word behind a colon would be taken for its value.
func Colon(at ...string) string { return secret.At(at...).Colon() }
