package github

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/verdict"
	"github.com/verdictgate/verdictgate/reporter"
)

// The places in the documentation that a check-run points at.
const (
	trustPage  = "trust.md#on-github-who-can-forge-what"
	errorsPage = "errors.md#refusals"
)

// Render gives the check-run of a run.
func Render(v reporter.View, f Facts) forge.CheckRun {
	s, results := v.Summary(), ranked(v.Results())
	if f.ContractID == "" && !f.Overall {
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
	page.undelivered()
	page.line("**%s** — %s.", s.Verdict, proseOf(reason(&s, results)))
	if name := v.Title(); name != "" {
		page.line("\n%s", escapeProse(name))
	}
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
	return refused(err, f, "Refused", "nothing was judged, so there is no verdict")
}

// RenderUndecided gives the check-run of a change for which the fault is the
// answer: INCONCLUSIVE.
func RenderUndecided(err *fault.Error, f Facts) forge.CheckRun {
	return refused(err, f, string(verdict.Undecided), "whether the contract is met could not be decided")
}

func refused(err *fault.Error, f Facts, word, means string) forge.CheckRun {
	run := begin(&f, Name(f))
	run.Conclusion, run.Title = forge.Failure, titled(fmt.Sprintf("%s: %s (%s)", word, clipped(err.Message, maxTitlePart), err.Code))
	if f.Undelivered != nil {
		run.Title = titled(fmt.Sprintf("Not delivered: %s (%s)", f.Undelivered.Code, run.Title))
	}
	page := page{facts: &f, document: document{most: maxSummary}}
	page.undelivered()
	page.line("**%s** — %s.\n", word, means)
	page.refusal(err)
	page.facing()
	var notes annotations
	notes.edits(&f)
	page.cutAnnotations(&notes)
	page.footer()
	run.Annotations, run.Summary = notes.all, page.finish()
	return run
}

// RenderOverall gives the check-run about all contracts: the one to require. With one
// contract it is short, for that contract's own check-run says the rest.
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
	reason := fmt.Sprintf("%d of %s VERIFIED", good, counted(len(all), "contract"))
	run.Title = titled(fmt.Sprintf("%s: %s", word, reason))
	if at := weightiest(all); at >= 0 && good < len(all) && all[at].Title != "" {
		run.Title = titled(fmt.Sprintf("%s: %s; %s", word, clipped(strings.TrimPrefix(all[at].Title, word+": "), 2*maxTitlePart), reason))
	}
	if len(all) == 1 && all[0].Title != "" {
		run.Title = titled(all[0].Title)
	}
	if f.Undelivered != nil {
		run.Conclusion, run.Title = forge.Failure, titled(fmt.Sprintf("Not delivered: %s (%s)", f.Undelivered.Code, run.Title))
	}
	page := page{facts: &f, document: document{most: maxSummary}}
	page.undelivered()
	if len(all) == 1 && all[0].Title != "" {
		page.single(word, &all[0])
	} else {
		page.line("**%s** — %s; the weightiest result stands for all.", word, reason)
		page.facing()
		page.contracts(all)
	}
	page.footer()
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
	p.line("%s: %s", link(codeSpan(string(err.Code)), p.facts.page(errorsPage)), sentence(err.Message, maxLong))
	if err.Fix != "" {
		p.line("\nHow to mend it: %s", sentence(err.Fix, maxLong))
	}
}

// undelivered says why a verdict is not good for anything.
func (p *page) undelivered() {
	if p.facts.Undelivered == nil {
		return
	}
	p.line("**Not delivered** — what was found could not be reported or kept whole, so this is no success.\n")
	p.refusal(p.facts.Undelivered)
	p.line("\nWhat was found:\n")
}

// single is what the overall check-run says of the only contract.
func (p *page) single(word string, r *Result) {
	at := codeSpan(r.Name)
	if r.CheckRunURL != "" {
		at = link(at, r.CheckRunURL)
	}
	p.line("**%s** by the only contract: see %s.\n", word, at)
	p.line("This check-run stands for every contract of the trusted commit, however many there are, so it is the one to require.")
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
	p.line("| result | check | type | standing | what was found |\n|---|---|---|---|---|")
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
// to. Nobody who only wants the verdict has to scroll past it.
func (p *page) tail(s *reporter.Summary, signer string) string {
	t := page{facts: p.facts, document: document{most: maxSummary}}
	evidence := "evidence not uploaded"
	switch {
	case p.facts.ArtifactURL != "":
		evidence = link("evidence", p.facts.ArtifactURL)
	case s.Bundle == "":
		evidence = "no evidence could be written"
	}
	signed := "signature not verified here"
	switch {
	case signer != "":
		signed = "signed and verified"
	case s.SignatureStatus == "" || s.SignatureStatus == bundle.Unsigned:
		signed = "unsigned"
	}
	t.footer(codeOf(string(s.Assurance)), signed, evidence)
	t.fold("What this does not prove")
	t.line("- That the contract asks the right questions: nothing is said about what no required check looks at.")
	if signer == "" {
		t.line("- Who made this evidence: it is not signed here, and hashes alone only show a later edit.")
	}
	t.line("- That nobody else posted this: whoever may push a branch can edit its workflows and post a check-run of any name.")
	t.line("- That the machine and the steps of the job before this one were honest.")
	t.line("\n%s\n\n</details>", link("Who can forge what, and what stops it", p.facts.page(trustPage)))
	t.fold("Evidence")
	t.line("| what | value |\n|---|---|")
	row := func(name, value string) {
		if value != "" {
			t.line("| %s | %s |", name, value)
		}
	}
	row("assurance", codeOf(string(s.Assurance)))
	row("signature", signature(s.SignatureStatus, signer))
	row("run", codeOf(s.RunID))
	row("bundle", codeOf(p.facts.BundleDigest))
	row("contract", codeOf(s.ContractDigest))
	row("archive", codeOf(p.facts.ArtifactDigest))
	t.origin(row)
	t.line("\n</details>")
	return t.String()
}

// fold begins a part that is shown on demand.
func (p *page) fold(title string) { p.line("\n<details><summary>%s</summary>\n", title) }

// footer is one line about what was judged by what, for people: the digests are shortened.
// More parts follow those about the change.
func (p *page) footer(more ...string) {
	f := p.facts
	var parts []string
	if f.HeadSHA != "" {
		parts = append(parts, "commit "+codeSpan(brief(f.HeadSHA)))
	}
	by := codeOf(f.ContractPath)
	if f.BaseRef != "" {
		by += " of " + codeSpan(f.BaseRef)
	}
	if f.ContractCommit != "" {
		by += " at " + codeSpan(brief(f.ContractCommit))
	}
	switch {
	case f.ContractPath != "":
		parts = append(parts, "contract "+by)
	case by != "":
		parts = append(parts, "contracts"+by)
	}
	parts = append(parts, more...)
	if f.RunURL != "" {
		parts = append(parts, link("log of the job", f.RunURL))
	}
	if len(parts) > 0 {
		p.line("\n%s", strings.Join(parts, " · "))
	}
}

// origin is which contract at which commit judged which commit, in full.
func (p *page) origin(row func(name, value string)) {
	f := p.facts
	if f.ContractPath != "" {
		at := f.ContractPath
		if f.ContractCommit != "" {
			at += "@" + f.ContractCommit
		}
		row("contract read at", codeSpan(at))
	}
	row("base", strings.TrimSpace(codeOf(f.BaseRef)+" "+codeOf(f.BaseSHA)))
	row("judged for", codeOf(f.HeadSHA))
}

// brief is the beginning of a digest or commit; what is neither stays whole.
func brief(s string) string {
	const digits = 12
	if kind, hex, ok := strings.Cut(s, ":"); ok && hexadecimal.MatchString(hex) {
		return kind + ":" + hex[:digits] + "…"
	}
	if hexadecimal.MatchString(s) {
		return s[:digits]
	}
	return s
}

var hexadecimal = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

// contracts is the table of several contracts, the weightiest first.
func (p *page) contracts(all []Result) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Result) int { return weight(&a) - weight(&b) })
	p.line("\n### Contracts\n")
	p.line("| result | contract | read from | digest | details |\n|---|---|---|---|---|")
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
			more = strings.TrimSpace(link("open", r.CheckRunURL) + " " + more)
		}
		return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", codeOf(word), codeOf(r.ContractID), codeOf(r.ContractPath), codeOf(brief(r.ContractDigest)), more)
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
		return "unsigned, bound by hashes only"
	}
	return codeSpan(claim) + ", not verified here"
}
