package action

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
)

// externalID names what a check-run is about: what this step of this job judges, by this
// contract ("" for all of them), at this base, in this attempt. A check-run with the same
// one is the same.
func externalID(c bundle.Change, matrix string, contracts []string, contractDigest string) string {
	what := strings.Join(append([]string{c.Job, matrix, c.Directory}, contracts...), "\n")
	return strings.Join([]string{"vg1", c.RunID, c.RunAttempt, short(what), short(contractDigest), c.Base}, ":")
}

// short tells texts apart in few characters.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// identity reads an external id: the attempt that posted it, and what it is about in
// there. Both are "" for what is none of the gate's.
func identity(externalID string) (attempt, about string) {
	parts := strings.Split(externalID, ":")
	if len(parts) != 6 || parts[0] != "vg1" {
		return "", ""
	}
	return strings.Join(parts[:3], ":"), strings.Join(parts[3:5], ":")
}

// post posts a check-run, or updates what this attempt has posted already. GitHub lets
// no job change a conclusion later, and shows the newest of a name: one that ends
// otherwise than before is posted anew.
//
// What of this attempt has the name and is about something else would be hidden: it is
// looked for before, and after, as two jobs can be at it at the same time. GitHub has nothing
// that would keep two jobs from posting one name, so this is the best that can be
// done, and no more.
//
// An error that comes with what was posted says that it must not stand.
func (j *judging) post(ctx context.Context, check forge.CheckRun) (*forge.Posted, error) {
	existing, err := j.forge.CheckRuns(ctx, check.HeadSHA, check.Name)
	if err != nil {
		return nil, err
	}
	if err := taken(j.owned(ctx, existing, check), check); err != nil {
		return nil, err
	}
	if e := newest(existing, check.ExternalID); e != nil && e.Conclusion == string(check.Conclusion) {
		// What it has already would be added again.
		again := check
		again.Annotations = check.Annotations[min(e.Annotations, len(check.Annotations)):]
		err := j.forge.UpdateOutput(ctx, e.ID, again)
		if err == nil || fault.As(err).Code != fault.ActionPermissionMissing {
			return e, err
		}
		// It is another App's, whatever it calls itself.
	}
	posted, err := j.forge.CreateCheckRun(ctx, check)
	j.app = cmp.Or(posted.App, j.app)
	switch {
	case err != nil && posted.ID == 0:
		return nil, err
	case err != nil:
		return &posted, err
	}
	if existing, err = j.forge.CheckRuns(ctx, check.HeadSHA, check.Name); err != nil {
		j.warn(fmt.Sprintf("whether another job posted %q at the same time could not be seen: %s", check.Name, fault.As(err).Message))
		return &posted, nil
	}
	return &posted, taken(j.owned(ctx, existing, check), check)
}

// owned are the check-runs of the token's own App, of those that would matter. A rule can ask for
// that App, so that what any other posts hides nothing of it, and must not keep
// it from being posted. Whose one is that cannot be seen counts as another's: to post is
// what hides an older success.
func (j *judging) owned(ctx context.Context, all []forge.Posted, check forge.CheckRun) []forge.Posted {
	var out []forge.Posted
	theirs := map[string]bool{}
	for _, e := range all {
		if taken([]forge.Posted{e}, check) == nil || theirs[e.App] {
			continue
		}
		if j.app == "" {
			if ours, err := j.forge.Owns(ctx, e); err != nil || !ours {
				theirs[e.App] = true
				continue
			}
			j.app = e.App
		}
		if e.App == j.app {
			out = append(out, e)
		}
	}
	return out
}

// newest is the check-run that was posted last with this external id; nil for none.
func newest(all []forge.Posted, externalID string) *forge.Posted {
	var out *forge.Posted
	for i := range all {
		if e := &all[i]; e.ExternalID == externalID && (out == nil || e.ID > out.ID) {
			out = e
		}
	}
	return out
}

// publish posts a check-run, and gives what it says in the end. One that the token
// may not post is no failure: the job says the same. Any other is, and what was found is
// then no pass; a success that is there already is hidden by a failure.
func (j *judging) publish(ctx context.Context, r *run, render func() forge.CheckRun) forge.CheckRun {
	check := render()
	if j.forge == nil || check.HeadSHA == "" || !j.in.checkRun {
		return check
	}
	posted, err := j.post(ctx, check)
	switch f := fault.As(err); {
	case err == nil:
		r.posted = posted
		return check
	case f.Code == fault.ActionPermissionMissing:
		r.note("there is no check-run: %s", f.Message)
	case f.Code == fault.ActionNameTaken:
		r.failed = f
	default:
		r.failed = fault.New(fault.ActionReportFailed, "", "the check-run could not be posted: %s", f.Message).Because(err)
	}
	again := render()
	if posted != nil && check.Conclusion == forge.Success && r.failed != nil {
		if _, err := j.forge.CreateCheckRun(ctx, again); err != nil {
			j.warn(fmt.Sprintf("the success of %q could not be hidden by a failure: %s", check.Name, fault.As(err).Message))
		}
	}
	return again
}

// taken is the fault that something else of this attempt has the check-run's name.
func taken(existing []forge.Posted, check forge.CheckRun) error {
	attempt, about := identity(check.ExternalID)
	for _, e := range existing {
		if a, other := identity(e.ExternalID); a == attempt && other != about {
			return fault.New(fault.ActionNameTaken, "Give this step its own check-name, or the job's matrix.",
				"another job or step of this run, which judges something else, has posted %q for %s, and this one would hide it", check.Name, check.HeadSHA).With("url", e.URL)
		}
	}
	return nil
}

// runURL is the page of the workflow run.
func (j *judging) runURL() string {
	return fmt.Sprintf("%s/%s/actions/runs/%s", j.Env("GITHUB_SERVER_URL"), j.Env("GITHUB_REPOSITORY"), j.Env("GITHUB_RUN_ID"))
}
