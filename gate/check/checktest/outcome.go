package checktest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// seen is what came of a case, as text: it also travels from the re-executed
// test binary of a case that runs without privileges.
type seen struct {
	Status      string   `json:"status"`
	Code        string   `json:"code"`
	Summary     string   `json:"summary"`
	Problem     string   `json:"problem"`
	Expected    string   `json:"expected"`
	Observed    string   `json:"observed"`
	Findings    []string `json:"findings"`
	Limitations []string `json:"limitations"`
	Problems    []string `json:"problems"` // of the params
	Warnings    []string `json:"warnings"` // of the params
	Whole       string   `json:"whole"`
	Broken      []string `json:"broken"` // rules of the grammar that were broken
}

// look reads an outcome as the evidence would hold it, and lists what in it
// breaks the grammar.
func look(o check.Outcome) seen {
	s := seen{Status: string(o.Status), Summary: o.Summary, Limitations: o.Limitations}
	broken := func(format string, args ...any) { s.Broken = append(s.Broken, fmt.Sprintf(format, args...)) }
	canonical := func(what string, v any) string {
		data, err := strictjson.Marshal(v)
		if err != nil {
			broken("%s cannot be written as JSON: %v", what, err)
		}
		return string(data)
	}
	s.Expected, s.Observed = canonical("what was expected", o.Expected), canonical("what was observed", o.Observed)
	for _, f := range o.Findings {
		s.Findings = append(s.Findings, canonical("a finding", f))
		if f.Message == "" {
			broken("a finding has no message")
		}
	}
	if o.Problem != nil {
		s.Code, s.Problem = o.Problem.Code, o.Problem.Message+" "+o.Problem.Fix
	}
	s.Whole = whole(o)

	if o.Summary == "" || strings.ContainsAny(o.Summary, "\n\r") {
		broken("the summary must be one line, not %q", o.Summary)
	}
	// encoding/json writes a byte that is no UTF-8 as this escape, and U+FFFD itself raw.
	text := s.Whole[:len(s.Whole)-len(blobs(o))]
	if !utf8.ValidString(text) || strings.Contains(strings.ReplaceAll(text, `\\`, ""), `\ufffd`) {
		broken("something in the outcome is no valid UTF-8: %q", text)
	}
	switch o.Status {
	case record.Pass, record.Fail:
		if o.Problem != nil {
			broken("status %s carries the problem %s: an answer is no problem", o.Status, o.Problem.Code)
		}
		if o.Status == record.Pass && len(o.Findings) > 0 {
			broken("status pass carries findings")
		}
	case record.Inconclusive, record.Broken:
		if o.Problem == nil {
			broken("status %s carries no problem that says why", o.Status)
			break
		}
		known := slices.ContainsFunc(fault.Codes(), func(i fault.Info) bool { return string(i.Code) == o.Problem.Code })
		if !known || o.Problem.Message == "" || o.Problem.Fix == "" {
			broken("the problem needs a known code, a message and a mend: %+v", *o.Problem)
		}
	default:
		broken("%q is no status", o.Status)
	}
	if slices.Contains(o.Limitations, "") {
		broken("a limitation is empty")
	}
	return s
}

// whole is the JSON of an outcome, then its blobs as text.
func whole(o check.Outcome) string {
	data, err := json.Marshal(o)
	if err != nil {
		return err.Error() + blobs(o)
	}
	return string(data) + blobs(o)
}

func blobs(o check.Outcome) string {
	var b strings.Builder
	for _, blob := range o.Blobs {
		b.WriteString("\n" + blob.Role + ": " + string(blob.Data))
	}
	return b.String()
}

// complaints compares what came of a case with what it wants.
func (w *want) complaints(s seen) []string {
	out := slices.Clone(s.Broken)
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.Status != w.status {
		add("status is %s, want %s", s.Status, w.status)
	}
	if w.code != "" && s.Code != w.code {
		add("error is %q, want %q", s.Code, w.code)
	}
	for _, e := range w.contains {
		switch e.key {
		case "summary":
			out = append(out, missing(e, s.Summary)...)
		case "observed":
			out = append(out, missing(e, s.Observed)...)
		case "expected":
			out = append(out, missing(e, s.Expected)...)
		case "finding":
			out = append(out, missing(e, s.Findings...)...)
		case "limitation":
			out = append(out, missing(e, s.Limitations...)...)
		case "warning":
			out = append(out, missing(e, s.Warnings...)...)
		case "problem":
			if w.status == invalid {
				out = append(out, missing(e, s.Problems...)...)
			} else {
				out = append(out, missing(e, s.Problem)...)
			}
		case "lacks":
			if strings.Contains(s.Whole, e.text) {
				add("the outcome holds %q, which it must not", e.text)
			}
		default:
			add("nothing compares %s", e.key)
		}
	}
	if len(out) > 0 {
		add("the outcome was: %s", s.describe())
	}
	return out
}

// missing complains unless one of the texts holds what is expected.
func missing(e expectation, texts ...string) []string {
	for _, t := range texts {
		if strings.Contains(t, e.text) {
			return nil
		}
	}
	return []string{fmt.Sprintf("no %s holds %q; there is %q", e.key, e.text, texts)}
}

func (s seen) describe() string {
	const most = 2000
	text := s.Whole
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}
