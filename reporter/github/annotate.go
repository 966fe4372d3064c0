package github

import (
	"fmt"
	"strings"

	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// annotations are what a check-run says at lines of files, and what it could not say
// there.
type annotations struct {
	all     []forge.Annotation
	cut     int // how many more there were
	without int // checks in trouble that have no line in the change's files
}

// annotate finds the places of everything that did not pass. Each check in trouble gets its
// first annotation before any gets its second one, those that decide first, so
// that one noisy check does not take the places of all others.
func annotate(f *Facts, results []record.Result) annotations {
	var out annotations
	p := placesOf(f)
	out.edits(f)
	var queues [][]forge.Annotation
	for i := range results {
		r := &results[i]
		if r.Status == record.Pass {
			continue
		}
		own, more := p.annotate(r)
		if out.cut += more; len(own) == 0 {
			out.without++
		}
		queues = append(queues, own)
	}
	for round := 0; len(queues) > 0; round++ {
		rest := queues[:0]
		for _, q := range queues {
			if round >= len(q) {
				continue
			}
			rest = append(rest, q)
			if len(out.all) == maxAnnotations {
				out.cut++
				continue
			}
			out.all = append(out.all, q[round])
		}
		queues = rest
	}
	return out
}

// edits says at the lines of the change that it was not judged by them.
func (out *annotations) edits(f *Facts) {
	w := f.Workspace
	w.Prefix = ""
	for _, e := range f.Edits {
		file := w.repositoryPath("", e.Path)
		switch {
		case file == "": // removed by the change; the summary lists it all the same
			continue
		case len(out.all) == maxEdits:
			out.cut++
			continue
		}
		out.all = append(out.all, forge.Annotation{Path: file, StartLine: max(e.Line, 1), EndLine: max(e.Line, 1), Level: forge.Warning,
			Title: "judged against the base version", Message: messageText(editText(f, &e))})
	}
}

func editText(f *Facts, e *Edit) string {
	if e.Message != "" {
		return e.Message
	}
	at := ""
	if f.ContractCommit != "" {
		at = " (" + f.ContractCommit + ")"
	}
	return "This edit was not used: the change is judged against the base version" + at + ". It counts for changes after it is merged."
}

// annotate gives the annotations of one check, and how many more it would have.
func (p *places) annotate(r *record.Result) (out []forge.Annotation, more int) {
	var homeless []string // findings whose file is not there
	add := func(a forge.Annotation) {
		if len(out) == maxOfOneCheck-1 {
			more++
			return
		}
		a.EndLine = a.StartLine
		a.EndColumn = a.StartColumn
		a.Title = titled(r.CheckID + ": " + string(r.Status) + " (" + standing(r) + ")")
		a.Message = messageText(a.Message)
		out = append(out, a)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		file := p.repositoryPath("", f.File)
		if file == "" {
			homeless = append(homeless, place(f)+f.Message)
			continue
		}
		line, col := f.Line, f.Column
		if line < 1 {
			line, col = 1, 0
			if f.Pointer != "" {
				line, col = p.pointer(file, f.Pointer)
			}
		}
		message := f.Message
		if len(r.Findings) == 1 {
			message = lead(r, f.Message) + sides(r)
		}
		add(forge.Annotation{Path: file, StartLine: line, StartColumn: max(col, 0), Level: level(r), Message: message})
	}
	grave := len(out) > 0
	if r.Status == record.Fail {
		found, cut := locations(p.output(r))
		if cut {
			more++
		}
		for i := range found {
			l := &found[i]
			file := p.located(p.trusted[r.CheckID].folder, l)
			if file == "" {
				continue
			}
			a := forge.Annotation{Path: file, StartLine: l.line, StartColumn: l.col, Level: lower(level(r), l.said), Message: l.message}
			grave = grave || a.Level == level(r)
			add(a)
		}
	}
	if p.contractPath != "" && (!grave || len(homeless) > 0) {
		out = append([]forge.Annotation{p.own(r, homeless)}, out...)
	}
	return out, more
}

// own is the annotation at the check's line in the contract: for what has no better
// place.
func (p *places) own(r *record.Result, homeless []string) forge.Annotation {
	message := r.Summary
	if n := len(homeless); n > 1 || n == 1 && !strings.HasSuffix(r.Summary, homeless[0]) {
		message += "\n" + strings.Join(homeless[:min(n, maxMerged)], "\n")
		if n > maxMerged {
			message += fmt.Sprintf("\n… and %d more; the evidence lists them", n-maxMerged)
		}
	}
	if r.Error != nil {
		message += "\n" + r.Error.Code
		if r.Error.Fix != "" {
			message += "\nfix: " + r.Error.Fix
		}
	}
	line := p.ofCheck(r.CheckID)
	return forge.Annotation{Path: p.contractPath, StartLine: line, EndLine: line, Level: level(r),
		Title: titled(r.CheckID + ": " + string(r.Status) + " (" + standing(r) + ")"), Message: messageText(message + sides(r))}
}

// lead is a check's summary with its one finding, which it mostly holds.
func lead(r *record.Result, finding string) string {
	if r.Summary == "" || strings.Contains(finding, r.Summary) {
		return finding
	}
	if strings.Contains(r.Summary, finding) {
		return r.Summary
	}
	return r.Summary + "\n" + finding
}

// sides shows what a false check expected and what was there.
func sides(r *record.Result) string {
	if r.Status != record.Fail || restated(r) {
		return ""
	}
	out := ""
	for _, side := range []struct {
		name  string
		value *strictjson.Value
	}{{"expected", &r.Expected}, {"observed", &r.Observed}} {
		if side.value.Kind == strictjson.Null && side.name == "expected" {
			continue
		}
		text, cut := strictjson.Excerpt(side.value, maxSide)
		if cut {
			text += " … [cut; the evidence has it whole]"
		}
		out += "\n" + side.name + ": " + text
	}
	return out
}

// place is where a finding is, as text.
func place(f *record.Finding) string {
	switch {
	case f.File == "":
		return ""
	case f.Line > 0 && f.Column > 0:
		return fmt.Sprintf("%s:%d:%d: ", f.File, f.Line, f.Column)
	case f.Line > 0:
		return fmt.Sprintf("%s:%d: ", f.File, f.Line)
	}
	return f.File + ": "
}

// messageText makes the message of an annotation; GitHub refuses an empty one.
func messageText(s string) string {
	if s = strings.TrimSpace(annotationText(s)); s == "" {
		return "(no message)"
	}
	return cutTo(s, maxMessage)
}
