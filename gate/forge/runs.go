package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// WorkflowRun is what the forge says of a run of a workflow.
type WorkflowRun struct {
	ID             int64
	Attempt        int // the latest one, from 1
	Event          string
	Status         string // such as completed
	Conclusion     string // such as success; "" before it is completed
	Path           string // of the workflow's file, such as .github/workflows/gate.yml
	Head           string // the commit that it ran for
	HeadBranch     string
	HeadRepository string // owner/name; "" when it is gone
	PullRequests   []int  // numbers, of this repository's own branches only: GitHub names none of forks
	Called         []CalledWorkflow
	URL            string
}

// CalledWorkflow is a reusable workflow that a run called.
type CalledWorkflow struct {
	Path   string // owner/name/.github/workflows/x.yml@ref
	Ref    string // as refs/…; "" for a commit
	Commit string
}

// WorkflowRun asks for a run of this repository.
func (c *Client) WorkflowRun(ctx context.Context, id int64) (WorkflowRun, error) {
	r := request{path: fmt.Sprintf("actions/runs/%d", id), what: fmt.Sprintf("read the workflow run %d", id), permission: "actions: read"}
	got, err := read[struct {
		github.WorkflowRun
		Path string `json:"path"`
	}](ctx, c, r)
	if err != nil {
		return WorkflowRun{}, err
	}
	out := WorkflowRun{
		ID: got.GetID(), Attempt: got.GetRunAttempt(), Event: got.GetEvent(), Status: got.GetStatus(), Conclusion: got.GetConclusion(), Path: got.Path,
		Head: got.GetHeadSHA(), HeadBranch: got.GetHeadBranch(), HeadRepository: got.GetHeadRepository().GetFullName(), URL: got.GetHTMLURL(),
	}
	for _, p := range got.PullRequests {
		out.PullRequests = append(out.PullRequests, p.GetNumber())
	}
	for _, w := range got.ReferencedWorkflows {
		out.Called = append(out.Called, CalledWorkflow{Path: w.GetPath(), Ref: w.GetRef(), Commit: w.GetSHA()})
	}
	if out.ID != id || out.Attempt < 1 || out.Event == "" || out.Status == "" || !bundle.IsRevision(out.Head) ||
		!strings.EqualFold(got.GetRepository().GetFullName(), c.config.Repository) {
		return WorkflowRun{}, misunderstood(r, errors.New("it is about another run, or lacks the attempt, the event, the status or the head"))
	}
	return out, nil
}

// Artifact is what the forge says of an artifact of a run.
type Artifact struct {
	ID      int64
	Name    string
	Size    int64  // bytes of the zip archive
	Digest  string // "sha256:…" of it; "" for one from before GitHub kept it
	Expired bool
	Created time.Time
}

// Artifacts gives all artifacts of a run, of all its attempts.
func (c *Client) Artifacts(ctx context.Context, run int64) ([]Artifact, error) {
	type list struct {
		Total     *int `json:"total_count"`
		Artifacts []struct {
			ID      int64     `json:"id"`
			Name    string    `json:"name"`
			Size    int64     `json:"size_in_bytes"`
			Digest  string    `json:"digest"`
			Expired bool      `json:"expired"`
			Created time.Time `json:"created_at"`
		} `json:"artifacts"`
	}
	r := request{path: fmt.Sprintf("actions/runs/%d/artifacts", run), what: fmt.Sprintf("list the artifacts of the workflow run %d", run), permission: "actions: read"}
	out := []Artifact{}
	err := pages(ctx, c, r, func(l *list) page {
		for _, a := range l.Artifacts {
			out = append(out, Artifact(a))
		}
		if l.Total == nil || l.Artifacts == nil {
			return page{}
		}
		return page{true, len(l.Artifacts), *l.Total}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Store is where a download goes: a file.
type Store interface {
	io.WriteSeeker
	Truncate(size int64) error
}

// DownloadArtifact writes an artifact's zip archive, of at most limit bytes, to the
// beginning of a store, as it arrives. The service that it lies in is not given the token.
//
// Of the faults, action.forge_unreachable says that nobody answered as he should,
// and may do so later; action.evidence_refused that it has expired or is too large, and
// verify.backend_failed that it could not be written.
func (c *Client) DownloadArtifact(ctx context.Context, id int64, to Store, limit int64) error {
	r := request{path: fmt.Sprintf("actions/artifacts/%d/zip", id), what: fmt.Sprintf("download the artifact %d", id), permission: "actions: read"}
	var err error
	for range downloadRounds {
		var address *url.URL
		if address, err = c.artifactAddress(ctx, r); err != nil {
			return err
		}
		unwritten := to.Truncate(0)
		if unwritten == nil {
			_, unwritten = to.Seek(0, io.SeekStart)
		}
		if unwritten != nil {
			return fault.New(fault.BackendFailed, "", "the artifact %d could not be written: %v", id, unwritten).Because(unwritten)
		}
		var again bool
		if again, err = c.download(ctx, r, address, to, limit); err == nil {
			return nil
		}
		if !again || ctx.Err() != nil {
			break
		}
	}
	return err
}

// artifactAddress asks where an artifact lies: the answer leads there.
func (c *Client) artifactAddress(ctx context.Context, r request) (*url.URL, error) {
	_, _, err := c.do(ctx, r)
	var a *answered
	switch {
	case err == nil:
		return nil, misunderstood(r, errors.New("it leads nowhere"))
	case !errors.As(err, &a):
		return nil, err
	case a.status == http.StatusGone:
		return nil, fault.New(fault.ActionEvidenceRefused, "Judge the change again.", "the gate could not %s: it has expired", r.what).Because(err)
	case a.status != http.StatusFound:
		return nil, err
	}
	address, parseErr := url.Parse(a.location)
	if parseErr != nil || address.Host == "" || address.User != nil || !c.permitted(address) {
		// Not shown: it would be a secret.
		return nil, misunderstood(r, errors.New("it leads to no address that is asked"))
	}
	return address, nil
}

// download gets what lies at an address that holds its own permission.
func (c *Client) download(ctx context.Context, r request, address *url.URL, to io.Writer, limit int64) (again bool, err error) {
	how := c.requests()
	how.MaxBody, how.AttemptTime, how.GitHub, how.Redirects, how.Stream = maxStoreError, downloadTime, false, false, true
	how.Secrets = append(how.Secrets, address.RawQuery, address.Query().Get("sig"))
	failed := func(err error) *fault.Error {
		return unreachable("the gate could not %s: %v", r.what, how.Secrets.Scrub(err))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return false, failed(err)
	}
	req.Header.Set("User-Agent", c.api.UserAgent)
	resp, err := how.HTTP(ctx).Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return true, failed(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return true, failed(errors.New("the store answered " + resp.Status))
	}
	// What was written is told from what was read by its own error.
	kept := &keeping{to: to}
	n, err := io.Copy(kept, io.LimitReader(resp.Body, limit+1))
	switch {
	case kept.err != nil:
		return false, fault.New(fault.BackendFailed, "", "what was downloaded could not be written: %v", kept.err).Because(kept.err)
	case err != nil:
		return true, failed(fmt.Errorf("the answer was cut short: %w", err))
	case n > limit:
		return false, fault.New(fault.ActionEvidenceRefused, "", "the gate could not %s: it has more than %d bytes", r.what, limit)
	}
	return false, nil
}

// keeping remembers that something could not be written.
type keeping struct {
	to  io.Writer
	err error
}

// Write implements io.Writer.
func (k *keeping) Write(data []byte) (n int, err error) {
	n, k.err = k.to.Write(data)
	return n, k.err
}
