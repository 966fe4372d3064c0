package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
	Bot            bool   // the author is an App, not a person
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
		Number: got.GetNumber(), State: got.GetState(), Merged: got.GetMerged() || got.MergedAt != nil,
		Author: got.GetUser().GetLogin(), Bot: got.GetUser().GetType() == "Bot",
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

// dependabot is the login of GitHub's own. No person's can have brackets.
const dependabot = "dependabot[bot]"

// Dependabot says that GitHub's Dependabot opened the pull request. Whoever may push can
// give a branch a name of its kind; that is not looked at.
func (p PullRequest) Dependabot() bool { return p.Bot && p.Author == dependabot }

// Head is where a pull request comes from.
type Head struct {
	Repository string // owner/name
	Branch     string // without refs/heads/
	Commit     string
}

// PullRequestsFor gives the open pull requests to this repository whose head is a
// commit on a branch, of this repository or of a fork. (The pull requests "of a commit",
// which the API has too, are none for a commit that only a fork has.)
//
// Source: https://docs.github.com/en/rest/pulls/pulls#list-pull-requests
func (c *Client) PullRequestsFor(ctx context.Context, head Head) ([]PullRequest, error) {
	if err := commitIDs(head.Commit); err != nil {
		return nil, err
	}
	owner, _, ok := strings.Cut(head.Repository, "/")
	if !ok || owner == "" || head.Branch == "" {
		return nil, fault.New(fault.ActionInputInvalid, "", "%q of %q is no branch that a pull request could come from", head.Branch, head.Repository)
	}
	from := owner + ":" + head.Branch
	r := request{path: "pulls?state=open&head=" + url.QueryEscape(from), what: fmt.Sprintf("find the pull requests of %q", from), permission: "pull-requests: read"}
	var out []PullRequest
	var wrong error
	err := pages(ctx, c, r, func(list *[]*github.PullRequest) page {
		for _, got := range *list {
			// The branch can have gone on, and an owner can have a fork beside the repository.
			if got.GetState() != "open" || got.GetHead().GetSHA() != head.Commit || !strings.EqualFold(got.GetBase().GetRepo().GetFullName(), c.config.Repository) {
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

// OwnPullRequests gives the open pull requests whose head is a commit on a branch of this
// very repository.
//
// Source: https://docs.github.com/en/rest/commits/commits#list-pull-requests-associated-with-a-commit
func (c *Client) OwnPullRequests(ctx context.Context, commit string) ([]PullRequest, error) {
	if err := commitIDs(commit); err != nil {
		return nil, err
	}
	r := request{path: "commits/" + commit + "/pulls", what: "find the pull requests of " + commit, permission: "pull-requests: read"}
	var out []PullRequest
	var wrong error
	err := pages(ctx, c, r, func(list *[]*github.PullRequest) page {
		for _, got := range *list {
			// The API also names those that only hold the commit, and those of other repositories.
			if got.GetState() != "open" || got.GetHead().GetSHA() != commit || !strings.EqualFold(got.GetBase().GetRepo().GetFullName(), c.config.Repository) {
				continue
			}
			pr, err := c.pullRequest(got)
			if wrong = errors.Join(wrong, err); err == nil && !pr.Fork {
				out = append(out, pr)
			}
		}
		return page{understood: *list != nil, n: len(*list)}
	})
	if s := status(err); s == http.StatusNotFound || s == http.StatusUnprocessableEntity {
		return nil, nil // a fork alone has it
	}
	if err == nil && wrong != nil {
		err = misunderstood(r, wrong)
	}
	return out, err
}

// commit asks for a commit; what it is read for is in the request's own words.
func (c *Client) commit(ctx context.Context, id string) (*github.Commit, error) {
	if err := commitIDs(id); err != nil {
		return nil, err
	}
	if known, ok := recall[*github.Commit](&c.known, "commit "+id); ok {
		return known, nil
	}
	r := request{path: "git/commits/" + id, what: "read the commit " + id, permission: "contents: read"}
	got, err := read[github.Commit](ctx, c, r)
	if err != nil {
		return nil, err
	}
	if got.GetSHA() != id || !bundle.IsRevision(got.GetTree().GetSHA()) {
		return nil, misunderstood(r, errors.New("it is about another commit, or names no tree"))
	}
	c.known.keep("commit "+id, got, 0)
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

// unrelated is the status of two commits that have no ancestor in common. The API
// answers 404 for them.
const unrelated = "unrelated"

// comparison asks how two commits are related, and what lies between.
func (c *Client) comparison(ctx context.Context, base, head string) (*github.CommitsComparison, error) {
	if err := commitIDs(base, head); err != nil {
		return nil, err
	}
	if known, ok := recall[*github.CommitsComparison](&c.known, "compare "+base+" "+head); ok {
		return known, nil
	}
	r := request{path: "compare/" + base + "..." + head + "?per_page=1", what: "compare " + base + " with " + head, permission: "contents: read"}
	got, err := read[github.CommitsComparison](ctx, c, r)
	var a *answered
	if errors.As(err, &a) && a.status == http.StatusNotFound && strings.Contains(a.message, "No common ancestor") {
		got, err = &github.CommitsComparison{Status: github.String(unrelated)}, nil
	}
	if err != nil {
		return nil, err
	}
	switch got.GetStatus() {
	case "ahead", "behind", "identical", "diverged", unrelated:
		var size int64
		for _, f := range got.Files {
			size += int64(len(f.GetPatch()) + entryBytes)
		}
		c.known.keep("compare "+base+" "+head, got, size)
		return got, nil
	}
	return nil, misunderstood(r, fmt.Errorf("the status is %q", got.GetStatus()))
}

// IsAncestor says whether one commit can be reached from another, or is it. One that is
// not there any more cannot.
func (c *Client) IsAncestor(ctx context.Context, ancestor, descendant string) (bool, error) {
	if ancestor == descendant {
		return true, commitIDs(ancestor)
	}
	// Both ways are one question.
	if back, ok := recall[*github.CommitsComparison](&c.known, "compare "+descendant+" "+ancestor); ok {
		return back.GetStatus() == "behind", nil
	}
	got, err := c.comparison(ctx, ancestor, descendant)
	if status(err) == http.StatusNotFound {
		if _, e := c.commit(ctx, descendant); e != nil {
			return false, err
		}
		// So commits may be read.
		if _, e := c.commit(ctx, ancestor); status(e) == http.StatusNotFound {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	return got.GetStatus() == "ahead" || got.GetStatus() == "identical", nil
}
