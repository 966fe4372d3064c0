package change_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/change"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// hub is a forge with a few commits: each has its parents, each branch a tip.
type hub struct {
	pulls    map[int]change.PullRequest
	branches map[string]string
	parents  map[string][]string
	down     error
}

func (h hub) DefaultBranch(context.Context) (string, error) { return "main", h.down }

func (h hub) PullRequest(_ context.Context, n int) (change.PullRequest, error) {
	pr, ok := h.pulls[n]
	if !ok {
		return pr, errors.New("no such pull request")
	}
	return pr, nil
}

func (h hub) Parents(_ context.Context, commit string) ([]string, error) {
	return h.parents[commit], nil
}

func (h hub) Tip(_ context.Context, branch string) (string, bool, error) {
	tip, ok := h.branches[branch]
	return tip, ok, nil
}

func (h hub) IsAncestor(ctx context.Context, ancestor, descendant string) (bool, error) {
	if ancestor == descendant {
		return true, nil
	}
	return slices.ContainsFunc(h.parents[descendant], func(p string) bool {
		ok, _ := h.IsAncestor(ctx, ancestor, p)
		return ok
	}), nil
}

// c makes a commit's name out of a letter.
func c(letter string) string { return strings.Repeat(letter, 40) }

// world: main is a-f-b, release d on a, evil e on a; the head 1 stands on a. 2
// merges it into b, 3 merges it into evil's e, 5 into a and 6 into f. 4 is a group of the
// merge queue on b, and 7 one on 4. main had 9, before that was taken back.
func world() hub {
	return hub{
		branches: map[string]string{"main": c("b"), "release/1": c("d"), "evil": c("e"), "work": c("1"),
			"gh-readonly-queue/main/pr-9-" + c("b"): c("e")},
		parents: map[string][]string{
			c("f"): {c("a")}, c("b"): {c("f")}, c("d"): {c("a")}, c("e"): {c("a")}, c("1"): {c("a")}, c("9"): {c("f")},
			c("2"): {c("b"), c("1")}, c("3"): {c("e"), c("1")}, c("4"): {c("b"), c("1")}, c("5"): {c("a"), c("1")}, c("6"): {c("f"), c("1")},
			c("7"): {c("4"), c("d")}, c("8"): {c("9"), c("1")},
		},
		pulls: map[int]change.PullRequest{
			7: {Number: 7, Head: c("1"), BaseRef: "main", Base: c("b")},
			8: {Number: 8, Head: c("1"), BaseRef: "evil", Base: c("e")},
			9: {Number: 9, Head: c("1"), BaseRef: "release/1", Base: c("d"), Fork: true},
			// Its base was older when it was last updated.
			10: {Number: 10, Head: c("1"), BaseRef: "main", Base: c("a")},
			11: {Number: 11, Head: c("1"), BaseRef: "main", Base: c("f"), Dependabot: true},
			12: {Number: 12, Head: c("1"), BaseRef: "main", Base: c("9")},
			13: {Number: 13, Head: c("1"), BaseRef: "gh-readonly-queue/main/pr-9-" + c("b"), Base: c("e")},
			14: {Number: 14, Head: c("1"), BaseRef: "gone", Base: c("a")},
		},
	}
}

func TestDecide(t *testing.T) {
	for name, tt := range map[string]struct {
		event, ref, sha string
		number          int
		trusted         []string
		head, base, by  string // letters; by is the contract's commit
		baseRef         string
		workspace       string // letters
		untrusted       string // part of the message
		stacked         string // a letter
		review          string // the contract's commit for a job that reviews; "" is by
	}{
		"a pull request":                       {event: "pull_request", ref: "refs/pull/7/merge", sha: "2", head: "1", base: "b", by: "b", baseRef: "main", workspace: "21"},
		"an old base by the forge":             {event: "pull_request", ref: "refs/pull/10/merge", sha: "2", head: "1", base: "b", by: "b", baseRef: "main", workspace: "21"},
		"an old base, and an old merge":        {event: "pull_request", ref: "refs/pull/10/merge", sha: "6", head: "1", base: "f", by: "f", baseRef: "main", workspace: "61", review: "b"},
		"a merge with an older base":           {event: "pull_request", ref: "refs/pull/11/merge", sha: "5", head: "1", base: "f", by: "f", baseRef: "main", workspace: "51", review: "b"},
		"a merge with an older base, the tip":  {event: "pull_request", ref: "refs/pull/7/merge", sha: "6", head: "1", base: "b", by: "b", baseRef: "main", workspace: "61"},
		"a base that was taken back":           {event: "pull_request", ref: "refs/pull/12/merge", sha: "8", head: "1", base: "9", baseRef: "main", workspace: "81", untrusted: "a merge with " + c("9") + ", which is not on the base branch main"},
		"the same, and a merge with the tip":   {event: "pull_request", ref: "refs/pull/12/merge", sha: "2", head: "1", base: "b", by: "b", baseRef: "main", workspace: "21"},
		"the same, and an old merge":           {event: "pull_request", ref: "refs/pull/12/merge", sha: "5", head: "1", base: "a", by: "a", baseRef: "main", workspace: "51", review: "b"},
		"no merge, a base that was taken back": {event: "pull_request", ref: "refs/pull/12/merge", sha: "1", head: "1", base: "9", baseRef: "main", workspace: "1", untrusted: "the base " + c("9") + " is not on the base branch main", review: "b"},
		"no merge, an old base":                {event: "pull_request", ref: "refs/pull/10/merge", sha: "1", head: "1", base: "a", by: "a", baseRef: "main", workspace: "1", review: "b"},
		"to a branch that is gone":             {event: "pull_request", ref: "refs/pull/14/merge", sha: "5", trusted: []string{"gone"}, head: "1", base: "a", baseRef: "gone", workspace: "51", untrusted: "the base branch gone is gone"},
		"to a branch that is called a queue's": {event: "pull_request", ref: "refs/pull/13/merge", sha: "3", trusted: []string{"**"}, head: "1", base: "e", baseRef: "gh-readonly-queue/main/pr-9-" + c("b"), workspace: "31", untrusted: "is not trusted"},
		"target, from the default branch":      {event: "pull_request_target", ref: "refs/heads/main", sha: "b", number: 9, trusted: []string{"release/*"}, head: "1", base: "d", by: "d", baseRef: "release/1", workspace: "1"},
		"target, to an attacker's":             {event: "pull_request_target", ref: "refs/heads/main", sha: "b", number: 8, head: "1", base: "e", baseRef: "evil", workspace: "1", untrusted: "the base branch evil is not trusted"},
		"target, a base that was taken back":   {event: "pull_request_target", ref: "refs/heads/main", sha: "b", number: 12, head: "1", base: "9", baseRef: "main", workspace: "1", untrusted: "the base " + c("9") + " is not on the base branch main", review: "b"},
		"a merge group on an older base":       {event: "merge_group", ref: "refs/heads/gh-readonly-queue/main/pr-7-" + c("f"), sha: "4", head: "4", base: "f", by: "f", baseRef: "main", workspace: "4", review: "b"},
		"a merge group on another one":         {event: "merge_group", ref: "refs/heads/gh-readonly-queue/main/pr-8-" + c("4"), sha: "7", head: "7", base: "b", by: "b", baseRef: "main", workspace: "7", stacked: "4"},
		"a merge group on what is not the tip": {event: "merge_group", ref: "refs/heads/gh-readonly-queue/main/pr-8-" + c("9"), sha: "8", head: "8", base: "9", baseRef: "main", workspace: "8", untrusted: "the merge group stands on " + c("9") + ", which is not on the base branch main"},
		"a push to what is called a queue's":   {event: "push", ref: "refs/heads/gh-readonly-queue/main/pr-9-" + c("b"), sha: "e", trusted: []string{"**"}, head: "e", base: "b", by: "b", baseRef: "main", workspace: "e"},
		"by hand, on one":                      {event: "workflow_dispatch", ref: "refs/heads/gh-readonly-queue/main/pr-9-" + c("b"), sha: "e", head: "e", base: "b", by: "b", baseRef: "main", workspace: "e"},
		"the event's number does not count":    {event: "pull_request", ref: "refs/pull/7/merge", sha: "2", number: 8, head: "1", base: "b", by: "b", baseRef: "main", workspace: "21"},
		"to a branch of an attacker's":         {event: "pull_request", ref: "refs/pull/8/merge", sha: "3", head: "1", base: "e", baseRef: "evil", workspace: "31", untrusted: "the base branch evil is not trusted; trusted are: main"},
		"sent to main after it was merged":     {event: "pull_request", ref: "refs/pull/7/merge", sha: "3", head: "1", base: "b", baseRef: "main", workspace: "31", untrusted: "which is not on the base branch main"},
		"to a branch that a pattern trusts":    {event: "pull_request", ref: "refs/pull/9/merge", sha: "1", trusted: []string{"release/*"}, head: "1", base: "d", by: "d", baseRef: "release/1", workspace: "1"},
		"to main, which nobody named":          {event: "pull_request", ref: "refs/pull/7/merge", sha: "2", trusted: []string{"release/*"}, head: "1", base: "b", baseRef: "main", workspace: "21", untrusted: "trusted are: release/*"},
		"pull_request_target":                  {event: "pull_request_target", ref: "refs/heads/main", sha: "b", number: 7, head: "1", base: "b", by: "b", baseRef: "main", workspace: "1"},
		"a merge group":                        {event: "merge_group", ref: "refs/heads/gh-readonly-queue/main/pr-7-" + c("b"), sha: "4", head: "4", base: "b", by: "b", baseRef: "main", workspace: "4"},
		"a merge group of a branch with parts": {event: "merge_group", ref: "refs/heads/gh-readonly-queue/release/1/pr-7-" + c("b"), sha: "4", head: "4", base: "b", baseRef: "release/1", workspace: "4", untrusted: "release/1"},
		"a push to main":                       {event: "push", ref: "refs/heads/main", sha: "b", head: "b", base: "b", by: "b", baseRef: "main", workspace: "b"},
		"a tag with the name of main":          {event: "push", ref: "refs/heads/main", sha: "1", head: "1", base: "b", by: "b", baseRef: "main", workspace: "1"},
		"a push elsewhere":                     {event: "push", ref: "refs/heads/work", sha: "1", head: "1", base: "b", by: "b", baseRef: "main", workspace: "1"},
		"a push elsewhere, others trusted":     {event: "push", ref: "refs/heads/work", sha: "1", trusted: []string{"release/*"}, head: "1", base: "b", by: "b", baseRef: "main", workspace: "1"},
		"a tag on main":                        {event: "push", ref: "refs/tags/v1", sha: "a", head: "a", base: "a", by: "a", baseRef: "main", workspace: "a"},
		"a tag on a named branch":              {event: "push", ref: "refs/tags/v1", sha: "d", trusted: []string{"release/1"}, head: "d", base: "d", by: "d", baseRef: "release/1", workspace: "d"},
		"a tag elsewhere":                      {event: "push", ref: "refs/tags/v1", sha: "1", head: "1", base: "b", by: "b", baseRef: "main", workspace: "1"},
		"by hand, on main":                     {event: "workflow_dispatch", ref: "refs/heads/main", sha: "b", head: "b", base: "b", by: "b", baseRef: "main", workspace: "b"},
		"by hand, elsewhere":                   {event: "workflow_dispatch", ref: "refs/heads/evil", sha: "e", head: "e", base: "b", by: "b", baseRef: "main", workspace: "e"},
	} {
		t.Run(name, func(t *testing.T) {
			runner, trusted := change.Runner{Event: tt.event, Repository: "acme/shop", Ref: tt.ref, SHA: c(tt.sha), Number: tt.number, RunID: "5"}, change.Trusted{Patterns: tt.trusted}
			got, err := change.Decide(t.Context(), runner, world(), trusted)
			if err != nil {
				t.Fatal(err)
			}
			by := ""
			if tt.by != "" {
				by = c(tt.by)
			}
			stacked := ""
			if tt.stacked != "" {
				stacked = c(tt.stacked)
			}
			if got.Stacked != stacked {
				t.Errorf("stacked on %.1s", got.Stacked)
			}
			later := by
			if tt.review != "" {
				later = c(tt.review)
			}
			if again, err := change.Review(t.Context(), runner, world(), trusted); err != nil || again.ContractCommit != later || again.Head != got.Head || (again.Untrusted == nil) != (later != "") {
				t.Errorf("reviewed by %.1s: %+v, %v", later, again, err)
			}
			if got.Head != c(tt.head) || got.Base != c(tt.base) || got.BaseRef != tt.baseRef || got.ContractCommit != by {
				t.Errorf("head %.1s base %.1s (%s) contract %.1s", got.Head, got.Base, got.BaseRef, got.ContractCommit)
			}
			var workspace string
			for _, w := range got.Workspace {
				workspace += w[:1]
			}
			if workspace != tt.workspace {
				t.Errorf("the workspace may be at %q", workspace)
			}
			if (got.Untrusted != nil) != (tt.untrusted != "") || got.Untrusted != nil && !strings.Contains(got.Untrusted.Message, tt.untrusted) {
				t.Errorf("untrusted: %v", got.Untrusted)
			}
			if got.Privileged != (tt.event == "pull_request_target") {
				t.Errorf("privileged: %v", got.Privileged)
			}
		})
	}
}

func TestDecideRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		runner change.Runner
		says   string
	}{
		"no ref":                         {change.Runner{Event: "push", SHA: c("b")}, "GITHUB_REF is not set"},
		"no commit":                      {change.Runner{Event: "push", Ref: "refs/heads/main", SHA: "main"}, "which is no commit"},
		"an event about no change":       {change.Runner{Event: "issue_comment", Ref: "refs/heads/main", SHA: c("b")}, `the event "issue_comment"`},
		"a pull request without number":  {change.Runner{Event: "pull_request", Ref: "refs/heads/main", SHA: c("b"), Number: 7}, "names no pull request"},
		"a target without number":        {change.Runner{Event: "pull_request_target", Ref: "refs/heads/main", SHA: c("b")}, "names no pull request"},
		"a target with another's number": {change.Runner{Event: "pull_request_target", Ref: "refs/heads/work", SHA: c("b"), Number: 8}, "goes to refs/heads/evil and the job runs for refs/heads/work"},
		"a commit that merges nothing":   {change.Runner{Event: "pull_request", Ref: "refs/pull/7/merge", SHA: c("a")}, "does not merge pull request #7"},
		"no branch of a queue":           {change.Runner{Event: "merge_group", Ref: "refs/heads/main", SHA: c("b")}, "which is no branch of a merge queue"},
		"a group beside its base":        {change.Runner{Event: "merge_group", Ref: "refs/heads/gh-readonly-queue/main/pr-7-" + c("b"), SHA: c("e")}, "does not stand on its base"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.runner.RunID, tt.runner.Repository = "5", "acme/shop"; name == "no ref" {
				tt.runner.Ref = ""
			}
			_, err := change.Decide(t.Context(), tt.runner, world(), change.Trusted{})
			if f := fault.As(err); err == nil || f.Code != fault.ActionEventUnsupported || !strings.Contains(f.Message, tt.says) {
				t.Errorf("%v", err)
			}
		})
	}
	pr := world().pulls[8]
	got, err := change.Of(t.Context(), change.Runner{Event: "pull_request", Repository: "a/b", Ref: "x", SHA: c("1"), RunID: "5"}, world(), change.Trusted{}, pr)
	if err != nil || got.Untrusted == nil || got.ContractCommit != "" || len(got.Workspace) != 0 {
		t.Errorf("a pull request to a branch of an attacker's: %+v, %v", got, err)
	}
	// Whatever base the forge names, the tip of its branch judges.
	for number, unsignable := range map[int]bool{7: false, 10: false, 11: true, 12: false} {
		got, err = change.Of(t.Context(), change.Runner{Event: "pull_request", Repository: "a/b", Ref: "x", SHA: c("1"), RunID: "5"}, world(), change.Trusted{}, world().pulls[number])
		if err != nil || got.Untrusted != nil || got.ContractCommit != c("b") || got.Base != c("b") || got.Head != c("1") || got.Number != number || got.Unsignable != unsignable || got.Fork {
			t.Errorf("pull request %d: %+v, %v", number, got, err)
		}
	}
	got, err = change.Of(t.Context(), change.Runner{Event: "pull_request", Repository: "a/b", Ref: "x", SHA: c("1"), RunID: "5"}, world(), change.Trusted{Patterns: []string{"release/*"}}, world().pulls[9])
	if err != nil || got.ContractCommit != c("d") || !got.Fork || !got.Unsignable {
		t.Errorf("a fork's: %+v, %v", got, err)
	}
	h := world()
	h.down = errors.New("no answer")
	if _, err := change.Decide(t.Context(), change.Runner{Event: "push", Repository: "a/b", Ref: "refs/heads/main", SHA: c("b"), RunID: "5"}, h, change.Trusted{}); !errors.Is(err, h.down) {
		t.Errorf("a forge that does not answer: %v", err)
	}
	_, err = change.Decide(t.Context(), change.Runner{Event: "push", Repository: "a/b", Ref: "refs/heads/main", SHA: c("b"), RunID: "5"}, world(), change.Trusted{Patterns: []string{"[", "x"}})
	if f := fault.As(err); f.Code != fault.ActionInputInvalid {
		t.Errorf("a pattern that is none: %v", err)
	}
}
