package forge

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/verdictgate/verdictgate/gate/bundle"
)

// EditStatus is what a change does to a file.
type EditStatus string

// The statuses, as the API spells them.
const (
	Added    EditStatus = "added"
	Modified EditStatus = "modified"
	Removed  EditStatus = "removed"
	Renamed  EditStatus = "renamed"
)

// Edit is what a change does to a file that patterns match.
type Edit struct {
	Path     string // after the change; of a removed file, before it
	Previous string // of a renamed file; the patterns may match it, the path or both
	Status   EditStatus
	Line     int // the first changed line of the new file; 1 when it is not known
}

// Edits gives what a change does to the files that patterns match, in the order
// of their paths: between the commit where the change left the base (the base itself,
// when it never was on it), and its head. Which files differ is read from the two commits, for GitHub's comparison ends at
// 300 files; the comparison adds the lines and the renames that it shows.
func (c *Client) Edits(ctx context.Context, base, head string, patterns []string) ([]Edit, error) {
	parsed, err := parsePatterns(patterns)
	if err != nil {
		return nil, err
	}
	compared, err := c.comparison(ctx, base, head)
	if err != nil {
		return nil, err
	}
	fork := compared.GetMergeBaseCommit().GetSHA()
	if compared.GetStatus() == unrelated {
		fork = base
	}
	if !bundle.IsRevision(fork) {
		return nil, unreachable("the gate could not compare %s with %s: GitHub's answer is not understood: %v", base, head, errors.New("it names no merge base"))
	}
	before, err := lookup(ctx, &objects{client: c, commit: fork}, parsed, false)
	if err != nil {
		return nil, err
	}
	after, err := lookup(ctx, &objects{client: c, commit: head}, parsed, false)
	if err != nil {
		return nil, err
	}
	edits := map[string]Edit{}
	for name, f := range after {
		old, was := before[name]
		switch {
		case !was:
			edits[name] = Edit{Path: name, Status: Added, Line: 1}
		case old.ID != f.ID || old.Kind != f.Kind:
			edits[name] = Edit{Path: name, Status: Modified, Line: 1}
		}
	}
	for name := range before {
		if _, is := after[name]; !is {
			edits[name] = Edit{Path: name, Status: Removed, Line: 1}
		}
	}
	for _, f := range compared.Files {
		refine(edits, f)
	}
	out := []Edit{}
	for _, e := range edits {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Edit) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// refine adds what the comparison says of a file: the line, and that it was
// another one before.
func refine(edits map[string]Edit, f *github.CommitFile) {
	name, previous := f.GetFilename(), f.GetPreviousFilename()
	e, known := edits[name]
	if f.GetStatus() == string(Renamed) && previous != "" {
		if old, removed := edits[previous]; removed && old.Status == Removed {
			delete(edits, previous)
			e, known = Edit{Path: name}, true
		}
		if known {
			e.Status, e.Previous = Renamed, previous
		}
	}
	if !known {
		return
	}
	e.Line = firstLine(f.GetPatch())
	edits[name] = e
}

var hunk = regexp.MustCompile(`^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// firstLine is the line of the new file at which a patch first differs; 1 when
// it does not tell.
func firstLine(patch string) int {
	line := 0
	for text := range strings.Lines(patch) {
		if line == 0 {
			m := hunk.FindStringSubmatch(text)
			if m == nil {
				return 1
			}
			n, err := strconv.Atoi(m[1])
			if err != nil {
				return 1
			}
			line = max(n, 1)
			continue
		}
		if text[0] != ' ' {
			return line
		}
		line++
	}
	return max(line, 1)
}
