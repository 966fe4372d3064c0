package github

import (
	"fmt"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/verdict"
	"github.com/verdictgate/verdictgate/reporter"
)

// Where the documentation stands that a check-run points at.
const (
	trustPage  = "https://github.com/verdictgate/verdictgate/blob/main/docs/trust.md"
	errorsPage = "https://github.com/verdictgate/verdictgate/blob/main/docs/errors.md"
)

// Render gives the check-run of a run.
func Render(v reporter.View, f Facts) forge.CheckRun {
	s, results := v.Summary(), ranked(v.Results())
	if f.ContractID == "" {
		f.ContractID = s.ContractID
	}
	notes := annotate(&f, results)
	run := begin(&f, Name(f))
	run.Conclusion, run.Title = Conclusion(s.Verdict, s.Outcome), titled(title(&s, results))
	if f.Undelivered != nil {
		run.Conclusion, run.Title = forge.Failure, titled(fmt.Sprintf("Not delivered: %s (%s)", f.Undelivered.Code, title(&s, results)))
	}
	run.Annotations = notes.all
	page := page{facts: &f, document: document{most: maxSummary}}
	tail := page.tail(&s, v.Signer())
	page.line("**%s** — %s.", s.Verdict, proseOf(reason(&s, results)))
	if name := v.Title(); name != "" {
		page.line("\n%s", escapeProse(name))
	}
	page.undelivered()
	page.facing()
	page.cutAnnotations(&notes)
	page.checks(&s, results, len(tail))
	page.limitations(&s, v.Foreign(), len(tail))
	page.WriteString(tail)
	run.Summary = page.finish()
	run.Text = details(&f, results)
	return run
}

// RenderRefusal gives the check-run of a contract by which nothing was judged.
func RenderRefusal(err *fault.Error, f Facts) forge.CheckRun {
	run := begin(&f, Name(f))
	run.Conclusion, run.Title = forge.Failure, titled(fmt.Sprintf("Refused: %s", err.Code))
	page := page{facts: &f, document: document{most: maxSummary}}
	page.line("**Refused** — nothing was judged, so there is no verdict.\n")
	page.refusal(err)
	page.undelivered()
	page.facing()
	var notes annotations
	notes.edits(&f)
	page.cutAnnotations(&notes)
	page.line("\n### Where this comes from\n")
	page.origin()
	run.Annotations, run.Summary = notes.all, page.finish()
	return run
}

// RenderOverall gives the check-run about several contracts.
func RenderOverall(all []Result, f Facts) forge.CheckRun {
	v, o := Overall(all)
	run := begin(&f, OverallName(f))
	run.Conclusion = Conclusion(v, o)
	good := 0
	for i := range all {
		if weight(&all[i]) == maxWeight {
			good++
		}
	}
	word := string(v)
	if o == Refused {
		word = "Refused"
	}
	run.Title = titled(fmt.Sprintf("%s: %d of %s VERIFIED", word, good, counted(len(all), "contract")))
	if f.Undelivered != nil {
		run.Conclusion, run.Title = forge.Failure, titled(fmt.Sprintf("Not delivered: %s (%s)", f.Undelivered.Code, run.Title))
	}
	page := page{facts: &f, document: document{most: maxSummary}}
	page.line("**%s** — %d of %s VERIFIED; the weightiest result stands for all.", word, good, counted(len(all), "contract"))
	page.undelivered()
	page.facing()
	page.contracts(all)
	page.line("\n### Where this comes from\n")
	page.origin()
	run.Summary = page.finish()
	return run
}

func begin(f *Facts, name string) forge.CheckRun {
	return forge.CheckRun{Name: name, HeadSHA: f.HeadSHA, ExternalID: f.ExternalID, DetailsURL: f.RunURL}
}

// page is the summary of a check-run.
type page struct {
	document
	facts *Facts
}

// whole says where what was cut is.
func (p *page) whole() string {
	if p.facts.ArtifactURL != "" {
		return link("the evidence", p.facts.ArtifactURL) + " has all of it"
	}
	return "`evidence.json` of the run has all of it"
}

func (p *page) refusal(err *fault.Error) {
	p.line("%s: %s", link(codeSpan(string(err.Code)), errorsPage), sentence(err.Message, maxLong))
	if err.Fix != "" {
		p.line("\nHow to mend it: %s", sentence(err.Fix, maxLong))
	}
}

// undelivered says why a verdict is not good for anything.
func (p *page) undelivered() {
	if p.facts.Undelivered == nil {
		return
	}
	p.line("\n> **What was found could not be delivered whole, so this is no success.**\n")
	p.refusal(p.facts.Undelivered)
}

// facing is what concerns the reader before any check: notes, and edits of what
// judges.
func (p *page) facing() {
	f := p.facts
	if len(f.Notes) > 0 {
		p.line("")
		n := p.items(len(f.Notes), maxNotes, maxSummary/8, func(i int) string { return "- " + sentence(f.Notes[i], maxLong) + "\n" })
		if n < len(f.Notes) {
			p.line("- … %s cut; the log of the job has them all", counted(len(f.Notes)-n, "note"))
		}
	}
	if len(f.Edits) == 0 {
		return
	}
	p.line("\n**The change edits what judges it.** It was judged against the base version; these edits were not used:\n")
	n := p.items(len(f.Edits), maxNotes, maxSummary/8, func(i int) string {
		e := &f.Edits[i]
		at := e.Path
		if e.Line > 0 {
			at = fmt.Sprintf("%s:%d", e.Path, e.Line)
		}
		text := "- " + codeSpan(at)
		if e.Message != "" {
			text += ": " + escapeProse(e.Message)
		}
		return text + "\n"
	})
	if n < len(f.Edits) {
		p.line("- … %s cut; the change itself has them all", counted(len(f.Edits)-n, "edit"))
	}
}

func (p *page) cutAnnotations(a *annotations) {
	if a.cut > 0 {
		p.line("\n%d annotations are shown, %d more were cut: %s.", len(a.all), a.cut, p.whole())
	}
	if a.without > 0 {
		p.line("\n%s that did not pass, without a line in the files of the change to annotate: see the table.", counted(a.without, "check"))
	}
}

// checks is the table of answers. It may take two thirds of what the fixed parts
// leave.
func (p *page) checks(s *reporter.Summary, results []record.Result, tail int) {
	if len(results) == 0 {
		return
	}
	p.line("\n### Checks\n")
	if s.Outcome == verdict.Error {
		p.line("The run broke off, so none of these answers is counted.\n")
	}
	p.line("| result | check | type | | what was found |\n|---|---|---|---|---|")
	n := p.items(len(results), maxRows, (p.left()-tail)*2/3, func(i int) string {
		r := &results[i]
		return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", status(r), codeSpan(r.CheckID), codeSpan(r.Type), standing(r), escapeProse(r.Summary))
	})
	if n == len(results) {
		return
	}
	trouble := 0
	for i := n; i < len(results); i++ {
		if results[i].Status != record.Pass {
			trouble++
		}
	}
	p.line("\n**%s cut** for GitHub's limits, %d of which did not pass: %s.", counted(len(results)-n, "row"), trouble, p.whole())
}

// limitations are part of the answer: a verdict without them says too much.
func (p *page) limitations(s *reporter.Summary, foreign []string, tail int) {
	all := slices.Clone(s.Limitations)
	for _, name := range foreign {
		all = append(all, "not part of the bundle: "+name)
	}
	if len(all) == 0 {
		return
	}
	p.line("\n### Limitations\n")
	n := p.items(len(all), len(all), p.left()-tail, func(i int) string { return "- " + escapeProse(all[i]) + "\n" })
	if n < len(all) {
		p.line("- … **%s cut** for GitHub's limits: %s", counted(len(all)-n, "limitation"), p.whole())
	}
}

// tail is what never gives way: what the verdict does not prove, and what it is bound
// to.
func (p *page) tail(s *reporter.Summary, signer string) string {
	t := page{facts: p.facts, document: document{most: maxSummary}}
	t.line("\n### What this does not prove\n")
	t.line("- That the contract asks the right questions: nothing is said about what no required check looks at.")
	if signer == "" {
		t.line("- Who made this evidence: it is not signed here, and hashes alone only show a later edit.")
	}
	t.line("- That nobody else posted this: whoever may push a branch can edit its workflows and post a check-run of any name.")
	t.line("- That the machine and the steps of the job before this one were honest.")
	t.line("\n%s", link("Who can forge what, and what stops it", trustPage))
	t.line("\n### Evidence\n")
	row := func(name, value string) {
		if value != "" {
			t.line("- %s: %s", name, value)
		}
	}
	row("assurance", codeOf(string(s.Assurance)))
	row("signature", signature(s.SignatureStatus, signer))
	row("run", codeOf(s.RunID))
	row("bundle", codeOf(p.facts.BundleDigest))
	row("contract", codeOf(s.ContractDigest))
	switch {
	case p.facts.ArtifactURL != "":
		text := link("the whole evidence", p.facts.ArtifactURL)
		if p.facts.ArtifactDigest != "" {
			text += " " + codeSpan(p.facts.ArtifactDigest)
		}
		row("artifact", text)
	case s.Bundle == "":
		row("artifact", "none: no evidence could be written")
	default:
		row("artifact", "none was uploaded")
	}
	t.origin()
	return t.String()
}

// origin is which contract at which commit judged which commit.
func (p *page) origin() {
	f := p.facts
	if f.ContractPath != "" {
		at := f.ContractPath
		if f.ContractCommit != "" {
			at += "@" + f.ContractCommit
		}
		p.line("- contract read at: %s", codeSpan(at))
	}
	if f.BaseRef != "" || f.BaseSHA != "" {
		p.line("- base: %s", strings.TrimSpace(codeOf(f.BaseRef)+" "+codeOf(f.BaseSHA)))
	}
	if f.HeadSHA != "" {
		p.line("- judged for: %s", codeSpan(f.HeadSHA))
	}
	if f.RunURL != "" {
		p.line("- %s", link("log of the job", f.RunURL))
	}
}

// contracts is the table of several contracts, the weightiest first.
func (p *page) contracts(all []Result) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Result) int { return weight(&a) - weight(&b) })
	p.line("\n### Contracts\n")
	p.line("| result | contract | read from | digest | |\n|---|---|---|---|---|")
	n := p.items(len(all), maxRows, p.left()-maxSummary/16, func(i int) string {
		r := &all[i]
		word, more := string(r.Verdict), ""
		if r.Outcome == Refused || word == "" {
			word = string(r.Outcome)
		}
		if r.Error != nil {
			more = codeSpan(r.Error.Code) + " " + escapeProse(r.Error.Message)
		}
		if r.CheckRunURL != "" {
			more = strings.TrimSpace(link("check-run", r.CheckRunURL) + " " + more)
		}
		return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", codeOf(word), codeOf(r.ContractID), codeOf(r.ContractPath), codeOf(r.ContractDigest), more)
	})
	if n < len(all) {
		p.line("\n**%s cut** for GitHub's limits: the log of the job lists them all.", counted(len(all)-n, "contract"))
	}
}

// codeOf is codeSpan, and nothing for nothing.
func codeOf(s string) string {
	if s == "" {
		return ""
	}
	return codeSpan(s)
}

// signature says who signed. That a file claims a signature says nothing before
// somebody verified it.
func signature(claim, signer string) string {
	switch {
	case signer != "":
		return "signed and verified: " + codeSpan(signer)
	case claim == "" || claim == bundle.Unsigned:
		return "unsigned: hash-bound only"
	}
	return codeSpan(claim) + ", not verified here"
}
