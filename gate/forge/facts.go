package forge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// Repository is what the forge says of the repository.
type Repository struct {
	ID            int64
	FullName      string // owner/name, in the case that GitHub has
	DefaultBranch string // without refs/heads/
	Private       bool
}

// Repository asks for the repository itself.
func (c *Client) Repository(ctx context.Context) (Repository, error) {
	r := request{what: "read the repository " + c.config.Repository, permission: "metadata: read"}
	got, err := read[github.Repository](ctx, c, r)
	if err != nil {
		return Repository{}, err
	}
	out := Repository{ID: got.GetID(), FullName: got.GetFullName(), DefaultBranch: got.GetDefaultBranch(), Private: got.GetPrivate()}
	if out.ID == 0 || out.DefaultBranch == "" || !strings.EqualFold(out.FullName, c.config.Repository) {
		return Repository{}, misunderstood(r, errors.New("it is not about this repository, or names no default branch"))
	}
	return out, nil
}

// DefaultBranch asks for the branch, without refs/heads/.
func (c *Client) DefaultBranch(ctx context.Context) (string, error) {
	r, err := c.Repository(ctx)
	return r.DefaultBranch, err
}

// PullRequest is what the forge says of a pull request.
type PullRequest struct {
	Number         int
	State          string // open or closed
	Merged         bool
	Author         string // login; "" when the account is gone
	Head           string // the commit
	HeadRef        string // the branch, without refs/heads/
	HeadRepository string // owner/name; "" when it is gone
	Fork           bool   // the head is not this repository's
	Base           string // the commit
	BaseRef        string // the branch, without refs/heads/
}

// PullRequest asks for a pull request to this repository.
func (c *Client) PullRequest(ctx context.Context, number int) (PullRequest, error) {
	if number < 1 {
		return PullRequest{}, fault.New(fault.ActionInputInvalid, "", "%d is no number of a pull request", number)
	}
	r := request{path: fmt.Sprintf("pulls/%d", number), what: fmt.Sprintf("read the pull request %d", number), permission: "pull-requests: read"}
	got, err := read[github.PullRequest](ctx, c, r)
	if err != nil {
		return PullRequest{}, err
	}
	out, err := c.pullRequest(got)
	if err == nil && out.Number != number {
		err = errors.New("it is about another one")
	}
	if err != nil {
		return PullRequest{}, misunderstood(r, err)
	}
	return out, nil
}

func (c *Client) pullRequest(got *github.PullRequest) (PullRequest, error) {
	out := PullRequest{
		Number: got.GetNumber(), State: got.GetState(), Merged: got.GetMerged() || got.MergedAt != nil, Author: got.GetUser().GetLogin(),
		Head: got.GetHead().GetSHA(), HeadRef: got.GetHead().GetRef(), HeadRepository: got.GetHead().GetRepo().GetFullName(),
		Base: got.GetBase().GetSHA(), BaseRef: got.GetBase().GetRef(),
	}
	base := got.GetBase().GetRepo().GetFullName()
	out.Fork = !strings.EqualFold(out.HeadRepository, base)
	switch {
	case out.Number < 1 || !bundle.IsRevision(out.Head) || !bundle.IsRevision(out.Base) || out.BaseRef == "" || out.State == "":
		return out, errors.New("it lacks the number, the state, the head or the base")
	case !strings.EqualFold(base, c.config.Repository):
		return out, fmt.Errorf("its base is in %q", base)
	}
	return out, nil
}

// PullRequestsFor gives the open pull requests whose head is a commit.
func (c *Client) PullRequestsFor(ctx context.Context, commit string) ([]PullRequest, error) {
	if err := commitIDs(commit); err != nil {
		return nil, err
	}
	r := request{path: "commits/" + commit + "/pulls", what: "find the pull requests of " + commit, permission: "pull-requests: read"}
	var out []PullRequest
	var wrong error
	err := pages(ctx, c, r, func(list *[]*github.PullRequest) page {
		for _, got := range *list {
			// Of a commit that is in a pull request, but not its head, they are listed too;
			// and those of forks among themselves.
			if got.GetState() != "open" || got.GetHead().GetSHA() != commit || !strings.EqualFold(got.GetBase().GetRepo().GetFullName(), c.config.Repository) {
				continue
			}
			pr, err := c.pullRequest(got)
			wrong = errors.Join(wrong, err)
			out = append(out, pr)
		}
		return page{understood: *list != nil, n: len(*list)}
	})
	if err == nil && wrong != nil {
		err = misunderstood(r, wrong)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// commit asks for a commit; what it is read for is in the request's own words.
func (c *Client) commit(ctx context.Context, id string) (*github.Commit, error) {
	if err := commitIDs(id); err != nil {
		return nil, err
	}
	r := request{path: "git/commits/" + id, what: "read the commit " + id, permission: "contents: read"}
	got, err := read[github.Commit](ctx, c, r)
	if err != nil {
		return nil, err
	}
	if got.GetSHA() != id || !bundle.IsRevision(got.GetTree().GetSHA()) {
		return nil, misunderstood(r, errors.New("it is about another commit, or names no tree"))
	}
	return got, nil
}

// Parents gives the parents of a commit, in their order. Of the commit that GitHub
// makes to test a pull request the second one is the head.
func (c *Client) Parents(ctx context.Context, commit string) ([]string, error) {
	got, err := c.commit(ctx, commit)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, p := range got.Parents {
		if !bundle.IsRevision(p.GetSHA()) {
			return nil, unreachable("the gate could not read the parents of %s: GitHub's answer is not understood", commit)
		}
		out = append(out, p.GetSHA())
	}
	return out, nil
}

// Tip gives the commit of a branch (without refs/heads/); ok is false when there
// is no such branch.
func (c *Client) Tip(ctx context.Context, branch string) (commit string, ok bool, err error) {
	if branch == "" || strings.Contains(branch, "..") || strings.HasPrefix(branch, "/") || strings.HasSuffix(branch, "/") || strings.Contains(branch, "//") || strings.Contains("/"+branch+"/", "/./") {
		return "", false, fault.New(fault.ActionInputInvalid, "", "%q is no name of a branch", branch)
	}
	r := request{path: "git/ref/heads/" + escape(branch), what: fmt.Sprintf("read the branch %q", branch), permission: "contents: read"}
	got, err := read[github.Reference](ctx, c, r)
	if status(err) == 404 {
		return c.tipMissing(ctx, branch)
	}
	if err != nil {
		return "", false, err
	}
	return c.tip(r, branch, got)
}

func (c *Client) tip(r request, branch string, got *github.Reference) (string, bool, error) {
	if got.GetRef() != "refs/heads/"+branch || got.GetObject().GetType() != "commit" || !bundle.IsRevision(got.GetObject().GetSHA()) {
		return "", false, misunderstood(r, errors.New("it is about another ref, or names no commit"))
	}
	return got.GetObject().GetSHA(), true, nil
}

// tipMissing tells a branch that is not there from one that may not be seen: the
// list of refs is answered with 200, also when it is empty.
func (c *Client) tipMissing(ctx context.Context, branch string) (string, bool, error) {
	r := request{path: "git/matching-refs/heads/" + escape(branch), what: fmt.Sprintf("see whether there is a branch %q", branch), permission: "contents: read"}
	list, err := read[[]*github.Reference](ctx, c, r)
	if err != nil {
		return "", false, err
	}
	if *list == nil {
		return "", false, misunderstood(r, errors.New("it lacks the list"))
	}
	for _, got := range *list {
		if got.GetRef() == "refs/heads/"+branch {
			return c.tip(r, branch, got)
		}
	}
	return "", false, nil
}

// comparison asks how two commits are related, and what lies between.
func (c *Client) comparison(ctx context.Context, base, head string) (*github.CommitsComparison, error) {
	if err := commitIDs(base, head); err != nil {
		return nil, err
	}
	r := request{path: "compare/" + base + "..." + head + "?per_page=1", what: "compare " + base + " with " + head, permission: "contents: read"}
	got, err := read[github.CommitsComparison](ctx, c, r)
	if err != nil {
		return nil, err
	}
	switch got.GetStatus() {
	case "ahead", "behind", "identical", "diverged":
		return got, nil
	}
	return nil, misunderstood(r, fmt.Errorf("the status is %q", got.GetStatus()))
}

// IsAncestor says whether one commit can be reached from another, or is it.
func (c *Client) IsAncestor(ctx context.Context, ancestor, descendant string) (bool, error) {
	got, err := c.comparison(ctx, ancestor, descendant)
	if err != nil {
		return false, err
	}
	return got.GetStatus() == "ahead" || got.GetStatus() == "identical", nil
}
