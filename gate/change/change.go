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
//
// # The base of a pull request
//
// GitHub names one that may be old: it is written down when the pull request is
// opened or pushed to, and not when its base branch goes on. The commit that
// the job runs on merges the head into a newer one. The newer of both judges, and
// each counts only while it is on the base branch: what was force-pushed away, a
// person may have taken back because of its contract.
//
// # Judging, and looking again
//
// [Decide] is for a job that judges. Where evidence is looked at later ([Review],
// [Of]), the tip of the base branch judges: a contract that was replaced since must
// not let anything through. What else was merged since does not matter there.
//
// # A merge queue
//
// Only GitHub starts jobs on merge_group, for a branch that it makes, and whose name ends
// in the commit that the group stands on. Anybody who may push can make a branch of such a name,
// too: with any other event it is a branch like others, and no pattern trusts it.
//
// While an earlier group is not merged, a later one stands on a commit that no
// trusted branch has. It may hold contracts that nobody has merged. Then the
// tip judges, if the group stands on that as well, and Stacked names the commit
// whose contracts must be the same: what is in force when the group is merged.
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
	Base    string // a commit that the branch had
	// Dependabot says that it is GitHub's own Dependabot that opened it.
	Dependabot bool
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
	// Stacked is a commit whose contracts must be those of ContractCommit, as they
	// are in force when the change is merged; "" for none.
	Stacked string
	// Unsignable says that the change's own jobs have no identity to sign with: they
	// are a fork's, or Dependabot's.
	Unsignable bool
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

// Decide says what the change is, for the job that judges it. Its error is a fault:
// nothing can be judged.
func Decide(ctx context.Context, r Runner, forge Forge, trusted Trusted) (*Change, error) {
	return decide(ctx, r, forge, trusted, false)
}

// Review says what the change is for a job that looks at evidence of another one: the
// tip of the base branch judges, whatever the base was when the evidence was made.
func Review(ctx context.Context, r Runner, forge Forge, trusted Trusted) (*Change, error) {
	return decide(ctx, r, forge, trusted, true)
}

func decide(ctx context.Context, r Runner, forge Forge, trusted Trusted, review bool) (*Change, error) {
	d, err := begin(ctx, r, forge, trusted)
	if err != nil {
		return nil, err
	}
	d.review = review
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

// Of is the change that a pull request is now, as another job than its own reviews
// it. No workspace can be known to hold it.
func Of(ctx context.Context, r Runner, forge Forge, trusted Trusted, pr PullRequest) (*Change, error) {
	d, err := begin(ctx, r, forge, trusted)
	if err != nil {
		return nil, err
	}
	d.review = true
	d.of(pr)
	d.change.Head = pr.Head
	if err := d.judgedFor(ctx, pr, ""); err != nil {
		return nil, err
	}
	return &d.change, nil
}

// of takes what the forge says of a pull request.
func (d *decision) of(pr PullRequest) {
	d.change.Number, d.change.Fork, d.change.Unsignable = pr.Number, pr.Fork, pr.Fork || pr.Dependabot
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
	review        bool // evidence is looked at, and nothing judged
	change        Change
}

// queue is what GitHub's names of a merge queue's branches begin with. What is on
// them is not merged yet.
const queue = "gh-readonly-queue/"

// trusts says whether a branch's contracts judge.
func (t Trusted) trusts(branch, defaultBranch string) (bool, error) {
	if strings.HasPrefix(branch, queue) {
		return false, nil
	}
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

// judgedAt names the commit whose contracts judge, if its branch is trusted. The commit must
// be known to be on it, or be seen to be afterwards.
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
	d.change.ContractCommit = ""
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
	d.of(pr)
	if d.runner.Event == pullRequest {
		return d.merged(ctx, pr)
	}
	// The runner's commit is the default branch's, or, before December 2025 and on older
	// servers, the base's. What the change is, the forge alone says; that it lies in the
	// workspace is seen there.
	//
	// Source: https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request_target
	c := &d.change
	c.Privileged, c.Head, c.Workspace = true, pr.Head, []string{pr.Head}
	if got := "refs/heads/" + pr.BaseRef; got != d.runner.Ref && d.runner.Ref != "refs/heads/"+d.defaultBranch {
		return fault.New(fault.ActionEventUnsupported, "Run the job again.", "pull request #%d goes to %s and the job runs for %s", number, got, d.runner.Ref)
	}
	return d.judgedFor(ctx, pr, "")
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
		return d.judgedFor(ctx, pr, "")
	}
	c.Head, c.Workspace = parents[1], []string{d.runner.SHA, parents[1]}
	return d.judgedFor(ctx, pr, parents[0])
}

// judgedFor names the commit whose contracts judge a pull request: of the one that the forge
// names, and the one that the job's commit merges into ("" for none), the newer.
func (d *decision) judgedFor(ctx context.Context, pr PullRequest, into string) error {
	if err := d.judgedAt(pr.BaseRef, pr.Base); err != nil || d.change.Untrusted != nil {
		return err
	}
	tip, ok, err := d.forge.Tip(ctx, pr.BaseRef)
	if err != nil {
		return err
	}
	on := func(commit string) (bool, error) {
		if commit == tip {
			return true, nil
		}
		return d.forge.IsAncestor(ctx, commit, tip)
	}
	switch {
	case !ok:
		d.distrust("the base branch %s is gone", pr.BaseRef)
		return nil
	case into == "" && d.review:
		return d.judgedAt(pr.BaseRef, tip)
	case into == "":
		if ok, err = on(pr.Base); err == nil && !ok {
			d.distrust("the base %s is not on the base branch %s", pr.Base, pr.BaseRef)
		}
		return err
	}
	// A pull request can be opened against one branch, and sent to another one while
	// the job runs: its commit then holds what no trusted branch has.
	if ok, err = on(into); err != nil {
		return err
	}
	if !ok {
		d.distrust("the job runs on a merge with %s, which is not on the base branch %s", into, pr.BaseRef)
		return nil
	}
	base := tip
	if !d.review {
		if base, err = d.newer(ctx, into, pr.Base, tip); err != nil {
			return err
		}
	}
	return d.judgedAt(pr.BaseRef, base)
}

// newer is the later one of a commit that is on a branch and one that may be, given
// the branch's tip.
func (d *decision) newer(ctx context.Context, known, other, tip string) (string, error) {
	if known == other || known == tip || other == tip {
		if other == tip {
			return other, nil
		}
		return known, nil
	}
	if older, err := d.forge.IsAncestor(ctx, other, known); err != nil || older {
		return known, err
	}
	if on, err := d.forge.IsAncestor(ctx, other, tip); err != nil || !on {
		return known, err
	}
	return other, nil
}

// queued is the branch that a merge queue makes for a group.
var queued = regexp.MustCompile(`^refs/heads/` + queue + `(.+)/pr-[0-9]+-([0-9a-f]{40}|[0-9a-f]{64})$`)

func (d *decision) mergeGroup(ctx context.Context) error {
	m := queued.FindStringSubmatch(d.runner.Ref)
	if m == nil {
		return fault.New(fault.ActionEventUnsupported, "", "GITHUB_REF is %q, which is no branch of a merge queue", d.runner.Ref)
	}
	d.change.Head, d.change.Workspace = d.runner.SHA, []string{d.runner.SHA}
	branch, base := m[1], m[2]
	if err := d.judgedAt(branch, base); err != nil || d.change.Untrusted != nil {
		return err
	}
	if ok, err := d.forge.IsAncestor(ctx, base, d.runner.SHA); err != nil {
		return err
	} else if !ok {
		return fault.New(fault.ActionEventUnsupported, "", "the merge group's head %s does not stand on its base %s", d.runner.SHA, base)
	}
	tip, ok, err := d.forge.Tip(ctx, branch)
	switch {
	case err != nil:
		return err
	case !ok:
		d.distrust("the base branch %s is gone", branch)
		return nil
	case tip == base:
		return nil
	}
	if on, err := d.forge.IsAncestor(ctx, base, tip); err != nil {
		return err
	} else if on {
		if d.review {
			return d.judgedAt(branch, tip)
		}
		return nil
	}
	// An earlier group is not merged yet, or never will be.
	if stands, err := d.forge.IsAncestor(ctx, tip, base); err != nil {
		return err
	} else if !stands {
		d.distrust("the merge group stands on %s, which is not on the base branch %s, and does not stand on that branch as it is now", base, branch)
		return nil
	}
	d.change.Stacked = base
	return d.judgedAt(branch, tip)
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
	if commit == tip {
		return true, nil
	}
	return d.forge.IsAncestor(ctx, commit, tip)
}
