// Package change says what a change on GitHub is: which commit the verdict is
// for, where it would go, and which commit's contract judges it.
//
// It believes what the workflow's runner says (the variables that no step of the
// job can set) and what the forge says, and nothing else. The event's file lies
// where an earlier step can write, so of it only one number is taken, where there
// is no other, and that is checked.
//
//	event                  judged for          by the contract at
//	pull_request           the head commit     the base commit, if the base branch is trusted
//	pull_request_target    the head commit     the same
//	merge_group            the group's head    the group's base, if its branch is trusted
//	others, on a trusted   that commit         that commit
//	branch or a tag of it
//	others                 that commit         the tip of the default branch
//
// Which contracts lie there, and what they find, is not known here.
package change

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// Runner is what the workflow's runner says of the job.
type Runner struct {
	Event      string // GITHUB_EVENT_NAME
	Repository string // GITHUB_REPOSITORY: owner/name
	Ref        string // GITHUB_REF: such as refs/pull/7/merge
	SHA        string // GITHUB_SHA: for a pull request a commit that merges it
	Number     int    // of the pull request, by the event's file; 0 for none. It is checked.
	RunID      string // GITHUB_RUN_ID
	RunAttempt string // GITHUB_RUN_ATTEMPT
	Job        string // GITHUB_JOB
}

// PullRequest is what the forge says of a pull request.
type PullRequest struct {
	Number  int
	Head    string // the commit
	Fork    bool   // the head lies in another repository
	BaseRef string // the branch, without refs/heads/
	Base    string // its commit
}

// Forge answers questions about the repository. What it cannot answer is an
// error, never an empty answer.
type Forge interface {
	DefaultBranch(ctx context.Context) (string, error)
	PullRequest(ctx context.Context, number int) (PullRequest, error)
	Parents(ctx context.Context, commit string) ([]string, error)
	// Tip gives the commit of a branch; ok is false when there is no such branch.
	Tip(ctx context.Context, branch string) (commit string, ok bool, err error)
	// IsAncestor says whether one commit can be reached from another, or is it.
	IsAncestor(ctx context.Context, ancestor, descendant string) (bool, error)
}

// Change is what is judged, by what.
type Change struct {
	bundle.Change // Contract* name where contracts are looked for; the path is open

	// Workspace are the commits that the workspace may be at, for the verdict to
	// be about this change.
	Workspace []string
	// Untrusted says why no contract may judge; nil when one may. The code is
	// action.base_untrusted.
	Untrusted *fault.Error
	// Privileged says that the job has the secrets of the repository although the
	// change may be anybody's (pull_request_target).
	Privileged bool
}

// Trusted is which branches' contracts judge.
type Trusted struct {
	Patterns []string // of branches, as globs; none is the default branch alone
}

// The events that are known, other than those of pull requests.
const (
	pullRequest       = "pull_request"
	pullRequestTarget = "pull_request_target"
	mergeGroup        = "merge_group"
)

var commitEvents = []string{"push", "workflow_dispatch", "schedule", "release", "repository_dispatch"}

// Decide says what the change is. Its error is a fault: nothing can be judged.
func Decide(ctx context.Context, r Runner, forge Forge, trusted Trusted) (*Change, error) {
	d, err := begin(ctx, r, forge, trusted)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Event == pullRequest, r.Event == pullRequestTarget:
		err = d.pullRequest(ctx)
	case r.Event == mergeGroup:
		err = d.mergeGroup(ctx)
	case slices.Contains(commitEvents, r.Event):
		err = d.commit(ctx)
	default:
		err = fault.New(fault.ActionEventUnsupported, "", "the event %q names no change that could be judged", r.Event)
	}
	if err != nil {
		return nil, err
	}
	return &d.change, nil
}

// Of is the change that a pull request is now, as another job than its own sees it.
// No workspace can be known to hold it.
func Of(ctx context.Context, r Runner, forge Forge, trusted Trusted, pr PullRequest) (*Change, error) {
	d, err := begin(ctx, r, forge, trusted)
	if err != nil {
		return nil, err
	}
	d.change.Number, d.change.Fork, d.change.Head = pr.Number, pr.Fork, pr.Head
	if err := d.judgedAt(pr.BaseRef, pr.Base); err != nil {
		return nil, err
	}
	return &d.change, nil
}

// begin checks what the runner says, and asks for the default branch.
func begin(ctx context.Context, r Runner, forge Forge, trusted Trusted) (*decision, error) {
	d := decision{runner: r, forge: forge, trusted: trusted}
	d.change.Change = bundle.Change{Event: r.Event, Repository: r.Repository, RunID: r.RunID, RunAttempt: r.RunAttempt, Job: r.Job}
	for name, v := range map[string]string{"GITHUB_REPOSITORY": r.Repository, "GITHUB_REF": r.Ref, "GITHUB_SHA": r.SHA, "GITHUB_RUN_ID": r.RunID} {
		if v == "" {
			return nil, fault.New(fault.ActionEventUnsupported, "", "%s is not set: this is no step of a workflow on GitHub", name)
		}
	}
	if !bundle.IsRevision(r.SHA) {
		return nil, fault.New(fault.ActionEventUnsupported, "", "GITHUB_SHA is %q, which is no commit", r.SHA)
	}
	var err error
	d.defaultBranch, err = forge.DefaultBranch(ctx)
	return &d, err
}

type decision struct {
	runner        Runner
	forge         Forge
	trusted       Trusted
	defaultBranch string
	change        Change
}

// trusts says whether a branch's contracts judge.
func (t Trusted) trusts(branch, defaultBranch string) (bool, error) {
	if len(t.Patterns) == 0 {
		return branch == defaultBranch, nil
	}
	for _, p := range t.Patterns {
		ok, err := doublestar.Match(strings.TrimPrefix(p, "refs/heads/"), branch)
		if err != nil {
			return false, fault.New(fault.ActionInputInvalid, "Write a branch, or a glob of branches, a line.", "the input trusted-refs: %q is no pattern", p)
		}
		if ok {
			return true, nil
		}
	}
	return false, nil
}

// describe gives the trusted branches as a person reads them.
func (d *decision) describe() string {
	if len(d.trusted.Patterns) == 0 {
		return d.defaultBranch
	}
	return strings.Join(d.trusted.Patterns, ", ")
}

// judgedAt names the commit whose contracts judge, if its branch is trusted.
func (d *decision) judgedAt(branch, commit string) error {
	d.change.BaseRef, d.change.Base = branch, commit
	ok, err := d.trusted.trusts(branch, d.defaultBranch)
	if err != nil {
		return err
	}
	if !ok {
		d.distrust("the base branch %s is not trusted; trusted are: %s", branch, d.describe())
		return nil
	}
	d.change.ContractCommit = commit
	return nil
}

func (d *decision) distrust(format string, args ...any) {
	d.change.Untrusted = fault.New(fault.ActionBaseUntrusted, "", format, args...).With("base_ref", d.change.BaseRef).With("base", d.change.Base)
}

var pullRef = regexp.MustCompile(`^refs/pull/([1-9][0-9]*)/merge$`)

func (d *decision) pullRequest(ctx context.Context) error {
	number := d.runner.Number
	if m := pullRef.FindStringSubmatch(d.runner.Ref); m != nil {
		number, _ = strconv.Atoi(m[1]) // one that is too long is no pull request, and not found
	} else if d.runner.Event == pullRequest {
		return fault.New(fault.ActionEventUnsupported, "", "GITHUB_REF is %q, which names no pull request", d.runner.Ref)
	}
	if number <= 0 {
		return fault.New(fault.ActionEventUnsupported, "", "the event names no pull request")
	}
	pr, err := d.forge.PullRequest(ctx, number)
	if err != nil {
		return err
	}
	c := &d.change
	c.Number, c.Fork = number, pr.Fork
	if err := d.judgedAt(pr.BaseRef, pr.Base); err != nil {
		return err
	}
	if d.runner.Event == pullRequestTarget {
		// The runner's commit is the base's. What the change is, the forge alone says;
		// that it lies in the workspace is seen there.
		c.Privileged, c.Head, c.Workspace = true, pr.Head, []string{pr.Head}
		if got := "refs/heads/" + pr.BaseRef; got != d.runner.Ref {
			return fault.New(fault.ActionEventUnsupported, "Run the job again.", "pull request #%d goes to %s and the job runs for %s", number, got, d.runner.Ref)
		}
		return nil
	}
	return d.merged(ctx, pr)
}

// merged finds the head of a pull request: what the commit that the job runs on
// merges. By now the pull request may have another one, or another base.
func (d *decision) merged(ctx context.Context, pr PullRequest) error {
	parents, err := d.forge.Parents(ctx, d.runner.SHA)
	if err != nil {
		return err
	}
	c := &d.change
	if len(parents) != 2 {
		if d.runner.SHA != pr.Head {
			return fault.New(fault.ActionEventUnsupported, "Run the job again; a pull request that conflicts with its base has nothing to judge.",
				"the commit %s does not merge pull request #%d into its base", d.runner.SHA, pr.Number)
		}
		c.Head, c.Workspace = pr.Head, []string{pr.Head}
		return nil
	}
	into, head := parents[0], parents[1]
	c.Head, c.Workspace = head, []string{d.runner.SHA, head}
	// A pull request can be opened against one branch, and sent to another one while
	// the job runs: its commit then holds what no trusted branch has.
	ok := into == pr.Base
	if !ok {
		if ok, err = d.on(ctx, into, pr.BaseRef); err != nil {
			return err
		}
	}
	if !ok {
		c.ContractCommit = ""
		d.distrust("the job runs on a merge with %s, which is not on the base branch %s", into, pr.BaseRef)
	}
	return nil
}

// queued is the branch that a merge queue makes for a group.
var queued = regexp.MustCompile(`^refs/heads/gh-readonly-queue/(.+)/pr-[0-9]+-([0-9a-f]{40}|[0-9a-f]{64})$`)

func (d *decision) mergeGroup(ctx context.Context) error {
	m := queued.FindStringSubmatch(d.runner.Ref)
	if m == nil {
		return fault.New(fault.ActionEventUnsupported, "", "GITHUB_REF is %q, which is no branch of a merge queue", d.runner.Ref)
	}
	d.change.Head, d.change.Workspace = d.runner.SHA, []string{d.runner.SHA}
	if err := d.judgedAt(m[1], m[2]); err != nil || d.change.Untrusted != nil {
		return err
	}
	ok, err := d.forge.IsAncestor(ctx, m[2], d.runner.SHA)
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.ActionEventUnsupported, "", "the merge group's head %s does not stand on its base %s", d.runner.SHA, m[2])
	}
	return nil
}

// commit is for events that are about one commit.
func (d *decision) commit(ctx context.Context) error {
	d.change.Head, d.change.Workspace = d.runner.SHA, []string{d.runner.SHA}
	if branch, ok := strings.CutPrefix(d.runner.Ref, "refs/heads/"); ok {
		trusts, err := d.trusted.trusts(branch, d.defaultBranch)
		if err != nil {
			return err
		}
		if trusts {
			// A tag can have a branch's name, and what was pushed can be gone by now.
			if on, err := d.on(ctx, d.runner.SHA, branch); err != nil {
				return err
			} else if on {
				return d.judgedAt(branch, d.runner.SHA)
			}
		}
	}
	if strings.HasPrefix(d.runner.Ref, "refs/tags/") {
		if branch, ok, err := d.branchOf(ctx, d.runner.SHA); err != nil {
			return err
		} else if ok {
			return d.judgedAt(branch, d.runner.SHA)
		}
	}
	tip, ok, err := d.forge.Tip(ctx, d.defaultBranch)
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.ActionEventUnsupported, "Push a first commit to it.", "the default branch %s has no commit", d.defaultBranch)
	}
	if err := d.judgedAt(d.defaultBranch, tip); err != nil {
		return err
	}
	// The default branch's contract may judge what is pushed elsewhere, whatever
	// other branches are trusted.
	d.change.Untrusted, d.change.ContractCommit = nil, tip
	return nil
}

// branchOf finds a trusted branch that a tagged commit is on: the default
// branch, and those that are named without a pattern.
func (d *decision) branchOf(ctx context.Context, commit string) (string, bool, error) {
	branches := []string{d.defaultBranch}
	for _, p := range d.trusted.Patterns {
		if p = strings.TrimPrefix(p, "refs/heads/"); !strings.ContainsAny(p, `*?[{\`) {
			branches = append(branches, p)
		}
	}
	for _, branch := range branches {
		if ok, err := d.trusted.trusts(branch, d.defaultBranch); err != nil {
			return "", false, err
		} else if !ok {
			continue
		}
		if on, err := d.on(ctx, commit, branch); err != nil || on {
			return branch, on, err
		}
	}
	return "", false, nil
}

// on says whether a commit is on a branch.
func (d *decision) on(ctx context.Context, commit, branch string) (bool, error) {
	tip, ok, err := d.forge.Tip(ctx, branch)
	if err != nil || !ok {
		return false, err
	}
	return d.forge.IsAncestor(ctx, commit, tip)
}
