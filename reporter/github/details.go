package github

import (
	"fmt"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// details is the text of a check-run: each check that did not pass with what it
// expected and what was there, those that decide first.
func details(f *Facts, results []record.Result) string {
	var trouble []record.Result
	for i := range results {
		if results[i].Status != record.Pass {
			trouble = append(trouble, results[i])
		}
	}
	if len(trouble) == 0 {
		return ""
	}
	p := page{facts: f, document: document{most: maxSummary}}
	n := p.items(len(trouble), len(trouble), maxSummary, func(i int) string { return detail(&trouble[i]) })
	if n < len(trouble) {
		p.line("\n**The details of %s were cut** for GitHub's limits: %s.", counted(len(trouble)-n, "check"), p.whole())
	}
	return p.finish()
}

func detail(r *record.Result) string {
	var b strings.Builder
	describe(&b, r)
	return strings.TrimRight(b.String(), "\n") + "\n\n"
}

func describe(b *strings.Builder, r *record.Result) {
	fmt.Fprintf(b, "### %s %s\n\n%s, %s. %s\n", status(r), codeSpan(r.CheckID), codeSpan(r.Type), standing(r), escapeProse(r.Summary))
	if r.Error != nil {
		fmt.Fprintf(b, "\n%s %s\n", codeSpan(r.Error.Code), escapeProse(r.Error.Message))
		if r.Error.Fix != "" {
			fmt.Fprintf(b, "\nHow to mend it: %s\n", escapeProse(r.Error.Fix))
		}
	}
	b.WriteByte('\n')
	for i := range r.Findings {
		if i == maxPlaces {
			fmt.Fprintf(b, "- … %s cut\n", counted(len(r.Findings)-i, "place"))
			break
		}
		finding := &r.Findings[i]
		at := strings.TrimSuffix(place(finding), ": ")
		switch {
		case at != "" && len(r.Findings) == 1 && strings.Contains(r.Summary, finding.Message):
			fmt.Fprintf(b, "- at %s\n", codeSpan(at)) // the rest was said above
			continue
		case at != "":
			at = codeSpan(at) + ": "
		}
		fmt.Fprintf(b, "- %s%s\n", at, escapeProse(finding.Message))
	}
	if r.Status != record.Fail || restated(r) {
		return
	}
	observed := r.Observed
	if r.Expected.Kind != strictjson.Null {
		b.WriteString(shownValue("expected", &r.Expected))
	}
	streams := ""
	for _, role := range []string{"stdout", "stderr"} {
		if v := observed.Get(role); v != nil && v.Kind == strictjson.String && len(v.Text) > 0 {
			text, cut := tailOf(visibleLines(v.Text), maxValueShown)
			streams += "\n**" + role + "**"
			if cut > 0 {
				streams += fmt.Sprintf(" (the end; %d bytes before it were cut)", cut)
			}
			streams += "\n\n" + fence(text, "text")
		}
	}
	if streams != "" {
		observed = without(&observed, "stdout", "stderr")
	}
	b.WriteString(shownValue("observed", &observed))
	b.WriteString(streams)
}

// restated says whether the summary says all that the values would: whether something
// exists is said in a word.
func restated(r *record.Result) bool {
	m := r.Expected.Members
	return r.Expected.Kind == strictjson.Object && len(m) == 1 && m[0].Name == "exists" && m[0].Value.Kind == strictjson.Bool
}

// without leaves out members; an object of a result is small by then.
func without(v *strictjson.Value, names ...string) strictjson.Value {
	out := *v
	out.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m strictjson.Member) bool { return slices.Contains(names, m.Name) })
	return out
}

// shownValue writes a value: in a line when it is short, else in a fence, its beginning
// when it is large.
func shownValue(name string, v *strictjson.Value) string {
	text, cut := strictjson.Excerpt(v, maxValueShown)
	if line := visible(text); !cut && len(line) <= maxInline && !strings.Contains(line, "|") { // which code in a line cannot show outside of a table
		return fmt.Sprintf("- %s: %s\n", name, codeSpan(line))
	}
	if !cut {
		text = string(strictjson.Indent(v))
	}
	text, note := visibleLines(text), ""
	if cut {
		full, more := strictjson.Excerpt(v, maxMeasured)
		note = fmt.Sprintf(" (the beginning; %d bytes were cut)", len(full)-len(text))
		if more {
			note = fmt.Sprintf(" (the beginning; more than %d bytes were cut)", maxMeasured-len(text))
		}
	}
	if len(text) > 4*maxValueShown { // made longer by what had to be made visible
		note, text = fmt.Sprintf("%s (%d bytes cut)", note, len(text)-4*maxValueShown), text[:runeEnd(text, 4*maxValueShown)]
	}
	return "\n" + name + note + "\n\n" + fence(text, "json")
}
