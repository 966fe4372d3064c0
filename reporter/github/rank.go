package github

import (
	"fmt"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/verdict"
	"github.com/verdictgate/verdictgate/reporter"
)

// rank orders the checks: required before advisory, false before undecided before
// passed.
func rank(r *record.Result) int {
	at := slices.Index([]record.Status{record.Fail, record.Broken, record.Inconclusive, record.Pass}, r.Status)
	if at < 0 {
		at = 1 // no status that we know: as bad as a defective check
	}
	if !r.Required {
		at += 10
	}
	return at
}

func ranked(results []record.Result) []record.Result {
	slices.SortStableFunc(results, func(a, b record.Result) int { return rank(&a) - rank(&b) })
	return results
}

// level is how grave the trouble of a check is.
func level(r *record.Result) forge.Level {
	switch {
	case r.Required && r.Status == record.Fail:
		return forge.Grave
	case r.Required, r.Status == record.Fail:
		return forge.Warning
	}
	return forge.Notice
}

// lower gives the level that a tool's own word allows: its warning is no failure.
func lower(l forge.Level, said string) forge.Level {
	switch {
	case said == "note":
		return forge.Notice
	case said == "warning" && l == forge.Grave:
		return forge.Warning
	}
	return l
}

func status(r *record.Result) string {
	switch r.Status {
	case record.Pass:
		return "✅ pass"
	case record.Fail:
		return "❌ fail"
	case record.Inconclusive:
		return "❔ inconclusive"
	}
	return "⚠️ error"
}

func standing(r *record.Result) string {
	switch {
	case r.Proposed:
		return "proposed"
	case r.Required:
		return "required"
	}
	return "advisory"
}

// title says in one line what became of a run: the first check that decided
// against it, and how many did.
func title(s *reporter.Summary, results []record.Result) string {
	if s.Outcome == verdict.Error || len(results) == 0 || !results[0].Required || results[0].Status == record.Pass {
		return fmt.Sprintf("%s: %s", s.Verdict, reason(s, results))
	}
	bad, open := 0, 0
	for i := range results {
		switch r := &results[i]; {
		case !r.Required || r.Status == record.Pass:
		case r.Status == record.Fail:
			bad++
		default:
			open++
		}
	}
	var parts []string
	of := fmt.Sprintf(" of %d required", len(s.Required))
	if bad > 0 {
		parts, of = append(parts, fmt.Sprintf("%d%s false", bad, of)), ""
	}
	if open > 0 {
		parts = append(parts, fmt.Sprintf("%d%s undecided", open, of))
	}
	first := &results[0]
	return fmt.Sprintf("%s: %s: %s (%s)", s.Verdict, clipped(first.CheckID, maxTitlePart/2), clipped(first.Summary, maxTitlePart), strings.Join(parts, ", "))
}

// reason is what the verdict rests on.
func reason(s *reporter.Summary, results []record.Result) string {
	switch {
	case s.Outcome == verdict.Error && s.Bundle == "":
		return "the verifier itself failed and left no evidence"
	case s.Outcome == verdict.Error:
		return "the verifier itself failed before every check had answered"
	case s.Verdict == verdict.Unverified:
		return "the contract has no required check"
	}
	of := map[record.Status]int{}
	answered := 0
	for i := range results {
		if results[i].Required {
			answered++
			of[results[i].Status]++
		}
	}
	parts := []string{fmt.Sprintf("%d of %s passed", of[record.Pass], counted(len(s.Required), "required check"))}
	add := func(n int, one, many string) {
		if n == 1 {
			parts = append(parts, "1 "+one)
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(of[record.Fail], "is false", "are false")
	add(of[record.Inconclusive], "could not be examined", "could not be examined")
	add(of[record.Broken], "is defective", "are defective")
	add(len(s.Required)-answered, "has no answer", "have no answer")
	return strings.Join(parts, ", ")
}

// counted writes a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
