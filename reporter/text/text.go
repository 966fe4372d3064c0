package text

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/verdict"
	"github.com/verdictgate/verdictgate/reporter"
)

// How much of a run is shown. The evidence has the rest; what cannot be shown
// is counted, never left out in silence.
const (
	maxTroubles = 100 // checks that did not pass, one line each
	maxDetails  = 20  // of these, how many are shown with what was expected and observed
	maxPassed   = 40
	maxFindings = 5 // of one check
	maxListed   = 40
	shortDigest = len("sha256:") + 12
)

// Reporter shows a run to a person.
type Reporter struct {
	To    io.Writer
	Style Style
	// Reread is set when the run was read back by `gate show` and not just made.
	Reread bool
	// DataDir is where the run was put, when that must be said to find it again.
	DataDir string
}

var _ reporter.Reporter = Reporter{}

// Report writes the verdict, then the checks with trouble first, what limits
// the verdict, where the evidence is, and what to do next.
func (r Reporter) Report(_ context.Context, v reporter.View) error {
	p := &page{Style: r.Style}
	s, results := v.Summary(), v.Results()
	p.verdict(s, v.Title(), results)
	p.checks(results, s.Outcome != verdict.Error)
	p.list("limitations", s.Limitations)
	p.list("not part of the bundle", v.Foreign())
	p.evidence(s, v.Signer())
	p.next(s, r, v.Signer() != "")
	return p.writeTo(r.To)
}

// mark is how a status looks.
type mark struct {
	symbol, ascii string
	tone          tone
	word          string
}

func markOf(s record.Status) mark {
	switch s {
	case record.Pass:
		return mark{"✓", "+", good, "pass"}
	case record.Fail:
		return mark{"✗", "x", bad, "fail"}
	case record.Inconclusive:
		return mark{"?", "?", unsure, "inconclusive"}
	}
	return mark{"!", "!", broken, "error"}
}

// verdict is the line that is read first, and the one below it that says why.
func (p *page) verdict(s reporter.Summary, title string, results []record.Result) {
	m, big := markOf(record.Inconclusive), unsureBig
	switch {
	case s.Outcome == verdict.Error:
		m, big = markOf(record.Broken), brokenBig
	case s.Verdict == verdict.Verified:
		m, big = markOf(record.Pass), goodBig
	case s.Verdict == verdict.Failed:
		m, big = markOf(record.Fail), badBig
	}
	badge := p.pick(m.symbol, m.ascii) + " " + string(s.Verdict)
	name := Escape(s.ContractID)
	if title != "" {
		name += ": " + Escape(title)
	}
	p.paragraph(p.paint(big, badge)+"  ", cells(badge)+2, strong, name)
	p.paragraph("  ", 2, plainTone, reason(s, results))
	p.line("")
}

// reason says in one sentence what the verdict rests on.
func reason(s reporter.Summary, results []record.Result) string {
	n := count(results)
	switch {
	case s.Bundle == "":
		return "The verifier itself failed and left no evidence, so nothing was concluded; the first limitation says why."
	case s.Outcome == verdict.Error:
		return "The verifier itself failed before every check had answered, so nothing was concluded."
	case s.Verdict == verdict.Verified && n.required == 1:
		return "The one required check passed."
	case s.Verdict == verdict.Verified:
		return fmt.Sprintf("All %d required checks passed.", n.required)
	case s.Verdict == verdict.Unverified:
		return "The contract has no required check, so there was nothing to verify."
	}
	var parts []string
	add := func(of int, one, many string) {
		switch {
		case of == 1:
			parts = append(parts, "1 "+one)
		case of > 1:
			parts = append(parts, fmt.Sprintf("%d %s", of, many))
		}
	}
	add(n.fail, "was examined and is false", "were examined and are false")
	add(n.inconclusive, "could not be examined", "could not be examined")
	add(n.broken, "is defective", "are defective")
	add(len(s.Required)-n.required, "has no answer", "have no answer")
	return fmt.Sprintf("Of %d required, %s.", len(s.Required), strings.Join(parts, ", "))
}

// tally counts the answers of the required checks.
type tally struct{ required, pass, fail, inconclusive, broken int }

func count(results []record.Result) tally {
	var n tally
	for i := range results {
		if !results[i].Required {
			continue
		}
		n.required++
		switch results[i].Status {
		case record.Pass:
			n.pass++
		case record.Fail:
			n.fail++
		case record.Inconclusive:
			n.inconclusive++
		default:
			n.broken++
		}
	}
	return n
}

// rank orders the checks: required trouble, advisory trouble, then what passed.
func rank(r *record.Result) int {
	at := slices.Index([]record.Status{record.Fail, record.Broken, record.Inconclusive}, r.Status)
	switch {
	case r.Status == record.Pass && r.Required:
		return 20
	case r.Status == record.Pass:
		return 21
	case r.Required:
		return at
	}
	return 10 + at
}

// checks lists the answers. In a run that broke off none is counted, so none is
// shown as if it were.
func (p *page) checks(results []record.Result, counted bool) {
	slices.SortStableFunc(results, func(a, b record.Result) int { return rank(&a) - rank(&b) })
	cols := columnsOf(results, p.Width)
	troubles, passed := 0, 0
	for i := range results {
		r := &results[i]
		if r.Status == record.Pass {
			if passed++; passed <= maxPassed {
				p.check(r, cols, counted)
			}
			continue
		}
		if troubles++; troubles <= maxTroubles {
			p.check(r, cols, counted)
		}
		if troubles <= maxDetails {
			p.detail(r)
		}
	}
	if n := troubles - maxTroubles; n > 0 {
		p.paragraph("  ", 2, faint, fmt.Sprintf("… and %d more that did not pass; the evidence lists them.", n))
	}
	if n := passed - maxPassed; n > 0 {
		p.paragraph("  ", 2, faint, fmt.Sprintf("… and %d more that passed.", n))
	}
	if len(results) > 0 {
		p.line("")
	}
}

// columns are the widths of a check's id and type.
type columns struct{ id, kind int }

func columnsOf(results []record.Result, width int) columns {
	c := columns{}
	for i := range results {
		c.id, c.kind = max(c.id, cells(Escape(results[i].CheckID))), max(c.kind, cells(Escape(results[i].Type)))
	}
	if width > 0 {
		// At least a third of the line is for what was found.
		c.id = min(c.id, max(width/4, 10))
		c.kind = min(c.kind, 18)
		if width < 72 {
			c.kind = 0
		}
	}
	return c
}

// check is one line: symbol, id, type, what was found. A narrow terminal has no
// room for the type.
func (p *page) check(r *record.Result, c columns, counted bool) {
	m := markOf(r.Status)
	symbol, t := p.paint(m.tone, p.pick(m.symbol, m.ascii)), plainTone
	summary := Escape(r.Summary)
	if !r.Required || !counted {
		symbol, t = p.paint(faint, p.pick("·", "-")), faint
		kind := "advisory"
		switch {
		case !counted:
			kind = "not counted"
		case r.Proposed:
			kind = "proposed"
		}
		summary = kind + ", " + m.word + ": " + summary
	}
	lead := symbol + " " + p.column(r.CheckID, c.id) + "  "
	leadCells := 2 + c.id + 2
	if c.kind > 0 {
		lead += p.paint(faint, p.column(r.Type, c.kind)) + "  "
		leadCells += c.kind + 2
	}
	p.paragraph(lead, leadCells, t, summary)
}

// column is a text of the world in a column of a table.
func (p *page) column(text string, width int) string {
	return pad(p.fit(clip(Escape(text), width)), width)
}

// detail shows what was expected and observed, where, and how to mend it.
func (p *page) detail(r *record.Result) {
	const indent = "    "
	if r.Status == record.Fail {
		p.diff(indent, &r.Expected, &r.Observed)
	}
	for i := range r.Findings {
		if i == maxFindings {
			p.line(indent + p.paint(faint, p.fit(fmt.Sprintf("… and %d more places", len(r.Findings)-maxFindings))))
			break
		}
		f := &r.Findings[i]
		switch at := place(f); {
		case !strings.HasSuffix(r.Summary, f.Message):
			p.paragraph(indent, len(indent), plainTone, at+Escape(f.Message))
		case f.Line > 0: // the summary says it already, all but the place
			p.paragraph(indent, len(indent), plainTone, "at "+strings.TrimSuffix(at, ": "))
		}
	}
	if r.Error != nil {
		p.paragraph(indent, len(indent), unsure, Escape(r.Error.Code))
		p.paragraph(indent+"fix: ", len(indent)+5, plainTone, Escape(r.Error.Fix))
	}
}

// place is where a finding is, in the form that editors and terminals link.
func place(f *record.Finding) string {
	if f.File == "" {
		return ""
	}
	out := Escape(f.File)
	if f.Line > 0 {
		out += fmt.Sprintf(":%d", f.Line)
		if f.Column > 0 {
			out += fmt.Sprintf(":%d", f.Column)
		}
	}
	return out + ": "
}

// list shows what is part of the answer: a verdict without its limitations
// says too much.
func (p *page) list(title string, all []string) {
	if len(all) == 0 {
		return
	}
	p.line(p.paint(strong, title))
	for i, l := range all {
		if i == maxListed {
			p.paragraph("  ", 2, faint, fmt.Sprintf("… and %d more.", len(all)-maxListed))
			break
		}
		p.paragraph("  "+p.pick("·", "-")+" ", 4, plainTone, Escape(l))
	}
	p.line("")
}

func (p *page) evidence(s reporter.Summary, signer string) {
	row := func(name, value string) {
		p.paragraph(p.paint(faint, pad(name, 9))+"  ", 11, plainTone, Escape(value))
	}
	row("run", s.RunID)
	row("contract", s.ContractDigest[:min(len(s.ContractDigest), shortDigest)])
	if s.Bundle == "" {
		row("assurance", string(s.Assurance))
		row("evidence", "none: it could not be written")
		return
	}
	row("assurance", string(s.Assurance)+", "+strings.ReplaceAll(s.SignatureStatus, "_", " "))
	if signer != "" {
		row("signed by", signer)
	}
	// A path is for copying, so it is not broken.
	p.line(p.paint(faint, pad("evidence", 9)) + "  " + p.fit(Escape(s.Bundle)))
}

// word writes a text so that a shell takes it for one word.
func word(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// next says what to do now.
func (p *page) next(s reporter.Summary, r Reporter, signed bool) {
	again := "gate show " + s.RunID
	if r.DataDir != "" {
		again += " --data-dir " + word(r.DataDir)
	}
	var text string
	switch {
	case s.Bundle == "":
		text = "mend what the first limitation names, and run it again."
	case s.Outcome == verdict.Error:
		text = "run it again; if it happens again, report it with the evidence."
	case s.Verdict == verdict.Failed:
		text = "mend what is false, and run the same contract again."
	case s.Verdict == verdict.Unverified:
		text = "add a required check to the draft and freeze it: gate checks lists the types."
	case s.Verdict != verdict.Verified:
		text = "make what could not be examined reachable, as each fix says, and run it again."
	case r.Reread:
		text = "every binding of this bundle holds; nothing was changed since it was written."
	case signed:
		text = "gate require lets a release depend on it; " + again + " re-checks it at any time."
	default:
		text = again + " re-checks this evidence at any time."
	}
	p.line("")
	p.paragraph(p.paint(strong, "next")+"       ", 11, plainTone, Escape(text))
}
