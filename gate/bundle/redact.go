package bundle

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// wholeInBlob ends the limitation about a value that was cut.
const wholeInBlob = "; the whole is in a blob"

// redacted is what may be written of one answer.
type redacted struct {
	result      record.Result
	artifacts   []Artifact
	limitations []string // how often what was redacted where, and what was cut
}

// redact takes the credentials out of an answer, moves to blobs what is too
// large for evidence.json, and fills in what depends on the result:
// evidence_refs, passed, output_digest. The answer itself is not changed. Ids
// are left alone: they come from the contract, which is refused when it holds a
// token. Each blob goes to store as soon as it is redacted.
func redact(a *record.Answer, store func(strictjson.Digest, []byte) error) (redacted, error) {
	r := redaction{store: store, result: a.Result}
	if err := r.run(a.Blobs); err != nil {
		return redacted{}, fmt.Errorf("the result of check %s cannot be written: %w", r.result.CheckID, err)
	}
	return redacted{r.result, r.artifacts, r.limitations()}, nil
}

// RedactLines takes the credentials out of lines of text and bounds their length.
func RedactLines(lines []string) []string {
	out := []string{}
	for _, l := range lines {
		l, _ = secret.Redact(l)
		out = append(out, line(l))
	}
	return out
}

// redaction is the work on one result.
type redaction struct {
	store     func(strictjson.Digest, []byte) error
	result    record.Result
	artifacts []Artifact
	hits      []hit
	cut       []string
}

// hit is what was redacted in one place of a result.
type hit struct {
	place string
	hits  []secret.Hit
}

func (r *redaction) run(blobs []record.Blob) error {
	res := &r.result
	res.Passed = res.Status.Passed()
	res.EvidenceRefs = []record.Ref{}
	for _, b := range blobs {
		data, hits := secret.RedactBytes(b.Data)
		role := r.text("", b.Role)
		r.note(role, hits)
		if _, err := r.keep(role, r.text(role, b.Note), data); err != nil {
			return err
		}
	}
	res.Summary = r.text("summary", res.Summary)
	var err error
	if res.Expected, err = r.value("expected", &res.Expected); err != nil {
		return err
	}
	if res.Observed, err = r.value("observed", &res.Observed); err != nil {
		return err
	}
	if e := res.Error; e != nil {
		res.Error = &record.Problem{Code: e.Code, Message: r.text("error", e.Message), Fix: r.text("error", e.Fix)}
	}
	if t := res.Tool; t != nil {
		res.Tool = &record.Tool{Name: r.text("tool", t.Name), Path: r.text("tool", t.Path), Digest: t.Digest, Version: r.text("tool", t.Version)}
	}
	res.Attempts = slices.Clone(res.Attempts)
	for i := range res.Attempts {
		res.Attempts[i].Summary = r.text("attempts", res.Attempts[i].Summary)
	}
	if err := r.findings(); err != nil {
		return err
	}
	status, summary := strictjson.Str(string(res.Status)), strictjson.Str(res.Summary)
	problem, err := strictjson.FromGo(res.Error)
	res.OutputDigest = outputDigest(&status, &res.Expected, &res.Observed, &summary, &problem).String()
	return err
}

// text redacts one line of a result.
func (r *redaction) text(place, s string) string {
	s, hits := secret.Redact(s)
	r.note(place, hits)
	return line(s)
}

// value redacts a value of a result; one that is too large or too deep moves
// to a blob.
func (r *redaction) value(place string, seen *strictjson.Value) (strictjson.Value, error) {
	v, found := secret.RedactValue(seen)
	for _, f := range found {
		r.note(strings.TrimSpace(place+" "+f.Pointer), f.Hits)
	}
	data := strictjson.Canonical(&v)
	if len(data) <= maxInline && shallow(&v, maxInlineDepth) {
		return v, nil
	}
	// Redacted first and cut afterwards: half a credential would not be recognised.
	ref, err := r.keep(place, "the whole value, canonical JSON", data)
	if err != nil {
		return strictjson.Value{}, err
	}
	r.cut = append(r.cut, fmt.Sprintf("%s (%d bytes)", place, len(data)))
	return strictjson.FromGo(map[string]any{"cut": true, "bytes": len(data), "digest": ref.Digest, "head": head(string(data), maxHead)})
}

// findings redacts the findings. A document may be wrong in a million places;
// the first of them are what a reader looks at, and those beyond the bound are in a blob only.
func (r *redaction) findings() error {
	res := &r.result
	res.Findings = slices.Clone(res.Findings)
	size, fit := 0, len(res.Findings)
	for i := range res.Findings {
		f := &res.Findings[i]
		f.Message, f.File, f.Pointer = r.text("findings", f.Message), r.text("findings", f.File), r.text("findings", f.Pointer)
		if size += len(f.Message) + len(f.File) + len(f.Pointer) + 64; size > maxInline && fit > i {
			fit = i
		}
	}
	if fit == len(res.Findings) {
		return nil
	}
	data, err := strictjson.Marshal(res.Findings)
	if err != nil {
		return err
	}
	if _, err := r.keep("findings", "all findings, canonical JSON", data); err != nil {
		return err
	}
	r.cut = append(r.cut, fmt.Sprintf("findings (%d of %d)", fit, len(res.Findings)))
	res.Findings = res.Findings[:fit]
	return nil
}

// keep makes a blob of the result.
func (r *redaction) keep(role, note string, data []byte) (record.Ref, error) {
	d := strictjson.Sum(data)
	ref := record.Ref{Role: role, Digest: d.String(), Bytes: int64(len(data)), Note: note}
	r.result.EvidenceRefs = append(r.result.EvidenceRefs, ref)
	r.artifacts = append(r.artifacts, Artifact{Role: role, Path: blobPath(d), Digest: ref.Digest, Bytes: ref.Bytes})
	return ref, r.store(d, data)
}

func (r *redaction) note(place string, hits []secret.Hit) {
	if len(hits) > 0 {
		r.hits = append(r.hits, hit{place, hits})
	}
}

// limitations says in words what was redacted and cut: a line for each kind.
func (r *redaction) limitations() []string {
	out := told(r.hits, " in check "+r.result.CheckID)
	if len(r.cut) > 0 {
		out = append(out, fmt.Sprintf("check %s: only a part of %s is in evidence.json; the whole is in a blob", r.result.CheckID, strings.Join(r.cut, ", ")))
	}
	return out
}

// told says in words what was redacted: a line for each kind.
func told(hits []hit, of string) []string {
	var total []secret.Hit
	places := map[secret.Kind][]string{}
	for _, h := range hits {
		total = secret.Merge(total, h.hits)
		for _, k := range h.hits {
			if !slices.Contains(places[k.Kind], h.place) {
				places[k.Kind] = append(places[k.Kind], h.place)
			}
		}
	}
	var out []string
	for _, t := range total {
		where := places[t.Kind]
		more := ""
		if n := len(where) - maxPlaces; n > 0 {
			where, more = where[:maxPlaces], fmt.Sprintf(" and %d more places", n)
		}
		out = append(out, line(fmt.Sprintf("redacted %d %s%s: %s%s", t.Count, t.Kind.Words(t.Count), of, strings.Join(where, ", "), more)))
	}
	return out
}

// settled are the members of evidence.json that stay as they are. Some were
// redacted as they came, before their digests were taken; the others are compared
// with another part of the bundle when it is read back, and come from the
// contract, which is refused when it holds a token.
var settled = []string{
	"artifacts", "check_results", "tools", "limitations", "contract_id", "contract_digest", "content_digest", "capture_digest", "run_id",
	"policy_snapshot/required_assurance", "policy_snapshot/allowed_origins", "policy_snapshot/proposed_checks",
}

// redactEvidence takes the credentials out of the whole evidence: paths, names
// of files and what the machine says of itself come from outside as well. It
// goes by what is settled, so that a new member is redacted without a word here.
func redactEvidence(e *Evidence) error {
	rest := *e
	rest.CheckResults = []record.Result{} // settled, and by far the largest part
	v, err := strictjson.FromGo(rest)
	if err != nil {
		return err
	}
	var hits []hit
	redactMembers(&v, "", &hits)
	if len(hits) == 0 {
		return nil
	}
	var out Evidence
	if err := strictjson.Assign(&v, &out); err != nil {
		return fmt.Errorf("the redacted evidence: %w", err)
	}
	out.CheckResults = e.CheckResults
	out.Limitations = append(out.Limitations, told(hits, "")...)
	// Two names may have become one, and a subject is known by its name.
	times := map[string]int{}
	for i := range out.Subjects {
		s := &out.Subjects[i]
		if times[s.Name]++; times[s.Name] > 1 {
			s.Name = fmt.Sprintf("%s (%d)", s.Name, times[s.Name])
		}
	}
	*e = out
	return nil
}

func redactMembers(v *strictjson.Value, prefix string, hits *[]hit) {
	for i := range v.Members {
		m := &v.Members[i]
		name := prefix + m.Name
		switch {
		case slices.Contains(settled, name):
		case slices.ContainsFunc(settled, func(s string) bool { return strings.HasPrefix(s, name+"/") }):
			redactMembers(&m.Value, name+"/", hits)
		default:
			out, found := secret.RedactValue(&m.Value)
			m.Value = out
			for _, f := range found {
				*hits = append(*hits, hit{name + f.Pointer, f.Hits})
			}
		}
	}
}

// line bounds a line of text and makes it valid UTF-8, as JSON has it.
func line(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxLine {
		return s
	}
	return head(s, maxLine) + "…"
}

// head is the beginning of a text, at most n bytes, cut between characters.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// shallow says whether a value nests at most so many levels.
func shallow(v *strictjson.Value, levels int) bool {
	if levels < 0 {
		return false
	}
	for i := range v.Items {
		if !shallow(&v.Items[i], levels-1) {
			return false
		}
	}
	for i := range v.Members {
		if !shallow(&v.Members[i].Value, levels-1) {
			return false
		}
	}
	return true
}
