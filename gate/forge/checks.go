package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/google/go-github/v62/github"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/retry"
)

// Posted is a check-run as GitHub has it.
type Posted struct {
	ID          int64
	Name        string
	ExternalID  string
	Status      string // such as completed
	Conclusion  string // "" before it is completed
	URL         string // its page
	App         string // the slug of the App whose token posted it; github-actions for a job's own
	Annotations int    // how many it has
}

func posted(got *github.CheckRun) Posted {
	return Posted{ID: got.GetID(), Name: got.GetName(), ExternalID: got.GetExternalID(), Status: got.GetStatus(), Conclusion: got.GetConclusion(),
		URL: got.GetHTMLURL(), App: got.GetApp().GetSlug(), Annotations: got.GetOutput().GetAnnotationsCount()}
}

// CheckRuns gives the check-runs of a name for a commit: of all Apps, and those
// too that later ones of the name hide.
func (c *Client) CheckRuns(ctx context.Context, commit, name string) ([]Posted, error) {
	if err := commitIDs(commit); err != nil {
		return nil, err
	}
	r := request{path: "commits/" + commit + "/check-runs?filter=all&check_name=" + url.QueryEscape(name),
		what: fmt.Sprintf("list the check-runs %q of %s", name, commit), permission: "checks: read"}
	out := []Posted{}
	var wrong error
	err := pages(ctx, c, r, func(list *github.ListCheckRunsResults) page {
		for _, got := range list.CheckRuns {
			if got.GetID() == 0 || got.GetName() == "" {
				wrong = errors.New("a check-run has no id or no name")
			}
			if got.GetName() == name {
				out = append(out, posted(got))
			}
		}
		return page{list.Total != nil && list.CheckRuns != nil, len(list.CheckRuns), list.GetTotal()}
	})
	if err == nil && wrong != nil {
		err = misunderstood(r, wrong)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// CreateCheckRun posts a completed check-run with its conclusion and all of its
// annotations, fifty at a time. The conclusion stands from the first request on.
// Where an error comes with a Posted that has an ID, the check-run is there and
// lacks annotations.
func (c *Client) CreateCheckRun(ctx context.Context, run CheckRun) (Posted, error) {
	if err := run.validate(); err != nil {
		return Posted{}, err
	}
	first := min(len(run.Annotations), annotationBatch)
	out, err := c.post(ctx, run, run.Annotations[:first])
	if err != nil {
		return Posted{}, err
	}
	for from := first; from < len(run.Annotations); from += annotationBatch {
		if err := c.patch(ctx, out.ID, run, from, from); err != nil {
			return out, err
		}
		out.Annotations = min(from+annotationBatch, len(run.Annotations))
	}
	return out, nil
}

// post makes the check-run, once.
func (c *Client) post(ctx context.Context, run CheckRun, annotations []Annotation) (Posted, error) {
	body := github.CreateCheckRunOptions{
		Name: run.Name, HeadSHA: run.HeadSHA, ExternalID: &run.ExternalID, Status: github.String("completed"),
		Conclusion: github.String(string(run.Conclusion)), Output: run.output(annotations),
	}
	if run.DetailsURL != "" {
		body.DetailsURL = &run.DetailsURL
	}
	r := request{method: http.MethodPost, path: "check-runs", body: body, what: fmt.Sprintf("post the check-run %q", run.Name), permission: "checks: write"}
	for n := 1; ; n++ {
		got, err := read[github.CheckRun](ctx, c, r)
		if err == nil {
			if got.GetID() == 0 || got.GetExternalID() != run.ExternalID || got.GetName() != run.Name || got.GetConclusion() != string(run.Conclusion) {
				return Posted{}, misunderstood(r, errors.New("it is about another check-run, or another conclusion"))
			}
			return posted(got), nil
		}
		var unsure *retry.UnsureError
		if !errors.As(err, &unsure) || ctx.Err() != nil {
			return Posted{}, err
		}
		c.config.Warn(fmt.Sprintf("%s; looking whether it is there", fault.As(err).Message))
		if waitErr := c.config.Wait(ctx, lookPause); waitErr != nil {
			return Posted{}, err
		}
		there, lookErr := c.CheckRuns(ctx, run.HeadSHA, run.Name)
		if lookErr != nil {
			return Posted{}, unreachable("%s; and whether it is there could not be learned: %s", fault.As(err).Message, fault.As(lookErr).Message).Because(err)
		}
		if i := slices.IndexFunc(there, func(p Posted) bool { return p.ExternalID == run.ExternalID && p.Conclusion == string(run.Conclusion) }); i >= 0 {
			return there[i], nil
		}
		if n == maxPosts {
			return Posted{}, err
		}
	}
}

// UpdateOutput replaces title, summary and text of a check-run, and adds
// annotations to it. The conclusion stays.
func (c *Client) UpdateOutput(ctx context.Context, id int64, run CheckRun) error {
	if err := run.validate(); err != nil {
		return err
	}
	if len(run.Annotations) == 0 {
		return c.patch(ctx, id, run, 0, 0)
	}
	got, err := c.checkRun(ctx, id)
	if err != nil {
		return err
	}
	for from := 0; from < len(run.Annotations); from += annotationBatch {
		if err := c.patch(ctx, id, run, from, got.Annotations+from); err != nil {
			return err
		}
	}
	return nil
}

// Owns says whether a check-run is of the token's own App: GitHub lets no other App
// change it. So its external id is set to what it is.
func (c *Client) Owns(ctx context.Context, run Posted) (bool, error) {
	r := request{method: http.MethodPatch, path: fmt.Sprintf("check-runs/%d", run.ID), body: map[string]any{"external_id": run.ExternalID},
		what: fmt.Sprintf("see whose the check-run %q is", run.Name), permission: "checks: write"}
	_, err := read[github.CheckRun](ctx, c, r)
	if status(err) == http.StatusForbidden {
		return false, nil
	}
	return err == nil, err
}

// checkRun asks for one check-run.
func (c *Client) checkRun(ctx context.Context, id int64) (Posted, error) {
	r := request{path: fmt.Sprintf("check-runs/%d", id), what: fmt.Sprintf("read the check-run %d", id), permission: "checks: read"}
	got, err := read[github.CheckRun](ctx, c, r)
	if err != nil {
		return Posted{}, err
	}
	if got.GetID() != id || got.GetOutput() == nil || got.Output.AnnotationsCount == nil {
		return Posted{}, misunderstood(r, errors.New("it is about another one, or counts no annotations"))
	}
	return posted(got), nil
}

// patch sends the output with one batch of annotations, to a check-run that has
// some. It changes nothing else of it: a job's token may not.
func (c *Client) patch(ctx context.Context, id int64, run CheckRun, from, has int) error {
	batch := run.Annotations[from:min(from+annotationBatch, len(run.Annotations))]
	r := request{method: http.MethodPatch, path: fmt.Sprintf("check-runs/%d", id), body: map[string]any{"output": run.output(batch)},
		what: fmt.Sprintf("add annotations %d to %d to the check-run %q", from+1, from+len(batch), run.Name), permission: "checks: write"}
	if len(batch) == 0 {
		r.what = fmt.Sprintf("update the check-run %q", run.Name)
	}
	for n := 1; ; n++ {
		_, err := read[github.CheckRun](ctx, c, r)
		var unsure *retry.UnsureError
		if err == nil || !errors.As(err, &unsure) || n == maxPosts || ctx.Err() != nil {
			return err
		}
		if len(batch) == 0 {
			continue // to replace a text twice does no harm
		}
		c.config.Warn(fmt.Sprintf("%s; looking whether they are there", fault.As(err).Message))
		if waitErr := c.config.Wait(ctx, lookPause); waitErr != nil {
			return err
		}
		got, lookErr := c.checkRun(ctx, id)
		if lookErr != nil {
			return unreachable("%s; and whether they are there could not be learned: %s", fault.As(err).Message, fault.As(lookErr).Message).Because(err)
		}
		if got.Annotations >= has+len(batch) {
			return nil
		}
	}
}

// output is the part that is shown.
func (run CheckRun) output(annotations []Annotation) *github.CheckRunOutput {
	out := &github.CheckRunOutput{Title: &run.Title, Summary: &run.Summary}
	if run.Text != "" {
		out.Text = &run.Text
	}
	for _, a := range annotations {
		one := &github.CheckRunAnnotation{Path: &a.Path, StartLine: &a.StartLine, EndLine: &a.EndLine, AnnotationLevel: github.String(string(a.Level)), Message: &a.Message}
		if a.StartColumn > 0 {
			one.StartColumn, one.EndColumn = &a.StartColumn, &a.EndColumn
		}
		if a.Title != "" {
			one.Title = &a.Title
		}
		if a.RawDetails != "" {
			one.RawDetails = &a.RawDetails
		}
		out.Annotations = append(out.Annotations, one)
	}
	return out
}

// validate holds what the API would refuse, or cut without a word. Who renders a
// check-run has cut it already, and has said what is missing.
func (run CheckRun) validate() error {
	if err := commitIDs(run.HeadSHA); err != nil {
		return err
	}
	for _, wrong := range []struct {
		is   bool
		what string
	}{
		{run.Name == "", "it has no name"},
		{run.ExternalID == "", "it has no external id, by which it is found again"},
		{run.Conclusion != Success && run.Conclusion != Failure && run.Conclusion != ActionRequired, fmt.Sprintf("its conclusion is %q", run.Conclusion)},
		{run.Title == "" || utf8.RuneCountInString(run.Title) > maxTitle, fmt.Sprintf("its title has none, or more than %d characters", maxTitle)},
		{run.Summary == "" || len(run.Summary) > maxText, fmt.Sprintf("its summary has none, or more than %d bytes", maxText)},
		{len(run.Text) > maxText, fmt.Sprintf("its text has more than %d bytes", maxText)},
		{!utf8.ValidString(run.Name + run.Title + run.Summary + run.Text + run.ExternalID), "its text is not UTF-8"},
	} {
		if wrong.is {
			return fault.New(fault.ActionReportFailed, "", "the check-run %q cannot be posted: %s", run.Name, wrong.what)
		}
	}
	for i, a := range run.Annotations {
		if wrong := a.wrong(); wrong != "" {
			return fault.New(fault.ActionReportFailed, "", "the check-run %q cannot be posted: %s of its annotation %d", run.Name, wrong, i+1)
		}
	}
	return nil
}

// wrong names what the API would refuse of an annotation; "" for nothing.
func (a Annotation) wrong() string {
	switch {
	case a.Path == "":
		return "there is no path"
	case a.StartLine < 1 || a.EndLine < a.StartLine:
		return "the lines are none"
	case (a.StartColumn != 0 || a.EndColumn != 0) && (a.StartLine != a.EndLine || a.StartColumn < 1 || a.EndColumn < a.StartColumn):
		return "the columns are none, or belong to several lines,"
	case a.Level != Notice && a.Level != Warning && a.Level != Grave:
		return "there is no level"
	case a.Message == "" || len(a.Message) > maxMessage || len(a.RawDetails) > maxMessage:
		return fmt.Sprintf("there is no message, or it or the details have more than %d bytes,", maxMessage)
	case utf8.RuneCountInString(a.Title) > maxTitle:
		return fmt.Sprintf("the title has more than %d characters,", maxTitle)
	case !utf8.ValidString(a.Path + a.Message + a.Title + a.RawDetails):
		return "the text is not UTF-8"
	}
	return ""
}

// StoreAttestation stores a Sigstore bundle with GitHub, and gives its id there.
//
// Source: https://docs.github.com/en/rest/repos/attestations#create-an-attestation
func (c *Client) StoreAttestation(ctx context.Context, bundle []byte) (int64, error) {
	if !json.Valid(bundle) {
		return 0, fault.New(fault.ActionReportFailed, "", "the attestation cannot be stored: it is not JSON")
	}
	r := request{method: http.MethodPost, path: "attestations", body: map[string]json.RawMessage{"bundle": bundle}, what: "store the attestation", permission: "attestations: write"}
	got, err := read[struct {
		ID int64 `json:"id"`
	}](ctx, c, r)
	if err != nil {
		return 0, err
	}
	if got.ID == 0 {
		return 0, misunderstood(r, errors.New("it names no id"))
	}
	return got.ID, nil
}
