package action

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
)

// externalID names what a check-run is about: this job's judgement, by this
// contract, at this base, in this attempt. A check-run with the same one is the same.
func externalID(c bundle.Change, matrix, contractDigest string) string {
	return strings.Join([]string{"vg1", c.RunID, c.RunAttempt, short(c.Job + "\n" + matrix), short(contractDigest), c.Base}, ":")
}

// short tells texts apart in few characters.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// post posts a check-run, or updates what this attempt has posted already. GitHub lets
// no job change a conclusion later, and shows the newest of a name: one that ends
// otherwise than before is posted anew.
func (j *judging) post(ctx context.Context, check forge.CheckRun) (*forge.Posted, error) {
	existing, err := j.forge.CheckRuns(ctx, check.HeadSHA, check.Name)
	if err != nil {
		return nil, err
	}
	attempt := strings.Join(strings.SplitN(check.ExternalID, ":", 4)[:3], ":") + ":"
	for _, e := range existing {
		switch {
		case e.ExternalID == check.ExternalID:
			if e.Conclusion != string(check.Conclusion) {
				continue
			}
			// What it has already would be added again.
			again := check
			again.Annotations = check.Annotations[min(e.Annotations, len(check.Annotations)):]
			err := j.forge.UpdateOutput(ctx, e.ID, again)
			if err != nil && fault.As(err).Code == fault.ActionPermissionMissing {
				continue // it is another App's, whatever it calls itself
			}
			return &e, err
		case strings.HasPrefix(e.ExternalID, attempt) && jobOf(e.ExternalID) != jobOf(check.ExternalID):
			return nil, fault.New(fault.ActionNameTaken, "", "another job of this run has posted %q for %s, which this one would hide", check.Name, check.HeadSHA).With("url", e.URL)
		}
	}
	posted, err := j.forge.CreateCheckRun(ctx, check)
	if err != nil {
		return nil, err
	}
	return &posted, nil
}

func jobOf(externalID string) string {
	parts := strings.Split(externalID, ":")
	if len(parts) < 4 {
		return ""
	}
	return parts[3]
}

// runURL is the page of the workflow run.
func (j *judging) runURL() string {
	return fmt.Sprintf("%s/%s/actions/runs/%s", j.Env("GITHUB_SERVER_URL"), j.Env("GITHUB_REPOSITORY"), j.Env("GITHUB_RUN_ID"))
}
