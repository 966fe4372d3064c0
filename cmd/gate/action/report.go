package action

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/gate/verdict"
	"github.com/verdictgate/verdictgate/reporter/github"
	"github.com/verdictgate/verdictgate/reporter/text"
)

// report tells of the runs wherever it is looked for: check-runs, the log, the summary and
// the outputs. It gives the exit status, which says what the check-runs say.
func (j *judging) report(ctx context.Context, runs []*run) int {
	var (
		checks  []forge.CheckRun
		results []github.Result
		posted  = true
		url     string
	)
	for _, r := range runs {
		r.refusal, r.failed = secret.Fault(r.refusal), secret.Fault(r.failed)
		check := j.tell(ctx, r)
		posted = posted && r.posted != nil
		checks, results = append(checks, check), append(results, j.result(r))
	}
	statuses := j.statuses(runs)
	if len(runs) > 1 {
		overall := &run{change: runs[0].change}
		check := github.RenderOverall(results, j.facts(overall))
		j.publish(ctx, overall, &check)
		if posted = posted && overall.posted != nil; overall.posted != nil {
			url = overall.posted.URL
		}
		if overall.failed != nil {
			statuses = append(statuses, j.StatusOfFault(fault.BackendFailed))
		}
		checks = slices.Insert(checks, 0, check)
	}
	log := j.console()
	if !posted {
		j.annotate(checks)
	}
	if err := github.WriteSummary(j.Env("GITHUB_STEP_SUMMARY"), github.JobSummary(checks, posted)); err != nil {
		_ = log.Error(err.Error())
		statuses = append(statuses, j.StatusOfFault(fault.BackendFailed))
	}
	outputs, err := github.Outputs(results, url)
	if err != nil {
		_ = log.Error(err.Error()) // the others are whole
	}
	if err := github.WriteOutputs(j.Env("GITHUB_OUTPUT"), outputs); err != nil {
		_ = log.Error(err.Error())
		statuses = append(statuses, j.StatusOfFault(fault.BackendFailed))
	}
	return gravest(statuses)
}

// statuses are what the runs end the step with.
func (s *Step) statuses(runs []*run) []int {
	var out []int
	for _, r := range runs {
		v, o := r.verdict()
		switch {
		case r.failed != nil:
			out = append(out, s.StatusOfFault(fault.BackendFailed))
		case o != "":
			out = append(out, s.StatusOf(v, o))
		default:
			out = append(out, s.StatusOfFault(r.refusal.Code))
		}
	}
	return out
}

// tell shows one run: in the log and, where that may be, as a check-run.
func (j *judging) tell(ctx context.Context, r *run) forge.CheckRun {
	check := j.render(r)
	j.publish(ctx, r, &check)
	log := j.console()
	// A reader of the log who finds nothing there looks at the summary.
	_ = log.Group(check.Name, func() error {
		return log.Untrusted(func(w io.Writer) error {
			if r.view != nil {
				if err := (text.Reporter{To: w}).Report(ctx, *r.view); err != nil {
					return err
				}
			}
			for _, f := range []*fault.Error{r.refusal, r.failed} {
				if f != nil {
					fmt.Fprintf(w, "%s: %s\n  mend: %s\n", f.Code, f.Message, f.Fix)
				}
			}
			for _, n := range r.notes {
				fmt.Fprintf(w, "note: %s\n", n)
			}
			return nil
		})
	})
	return check
}

// render makes the check-run of a run.
func (j *judging) render(r *run) forge.CheckRun {
	f := j.facts(r)
	var check forge.CheckRun
	if r.view != nil {
		check = github.Render(*r.view, f)
	} else {
		check = github.RenderRefusal(r.refusal, f)
	}
	if !j.in.annotations {
		check.Annotations = nil
	}
	return check
}

// publish posts a check-run. One that the token may not post is no failure: the job says
// the same. Any other is, and what was found is then no pass.
func (j *judging) publish(ctx context.Context, r *run, check *forge.CheckRun) {
	if j.forge == nil || check.HeadSHA == "" || !j.in.checkRun {
		return
	}
	posted, err := j.post(ctx, *check)
	switch f := fault.As(err); {
	case err == nil:
		r.posted = posted
		return
	case f.Code == fault.ActionPermissionMissing:
		r.note("there is no check-run: %s", f.Message)
	default:
		if f.Code != fault.ActionNameTaken {
			f = fault.New(fault.ActionReportFailed, "", "the check-run could not be posted: %s", f.Message).Because(err)
		}
		r.failed = f
	}
	if r.view != nil || r.refusal != nil {
		*check = j.render(r)
	}
}

// annotate shows in the log what would stand on the check-runs.
func (j *judging) annotate(checks []forge.CheckRun) {
	var all []forge.Annotation
	for _, c := range checks {
		all = append(all, c.Annotations...)
	}
	log := j.console()
	if cut, err := log.Annotate(all); err == nil && cut > 0 {
		log.say(fmt.Sprintf("%d more annotations are in the summary of the job and in the evidence", cut))
	}
}

// facts are what a check-run says beside what stands in the evidence.
func (j *judging) facts(r *run) github.Facts {
	f := github.Facts{CheckName: j.in.checkName, RunURL: j.runURL(), Notes: r.notes, Undelivered: r.failed, ContractPath: r.path, ContractText: r.text}
	if f.CheckName == "" {
		f.CheckName = defaultCheckName
	}
	values, err := github.MatrixValues(j.in.matrix)
	if err != nil {
		values = j.in.matrix // what is no matrix still tells two jobs apart
	}
	f.Matrix = values
	id, digest := r.contract()
	f.ContractID, f.BundleDigest = id, r.bundleDigest()
	c := j.change
	if r.change != nil {
		c = r.change
	}
	if c != nil {
		f.BaseRef, f.BaseSHA, f.HeadSHA, f.ContractCommit = c.BaseRef, c.Base, c.Head, c.ContractCommit
		own := c.Change // the second stage's run is another than the one that it verifies
		own.RunID, own.RunAttempt, own.Job = j.Env("GITHUB_RUN_ID"), j.Env("GITHUB_RUN_ATTEMPT"), j.Env("GITHUB_JOB")
		f.ExternalID = externalID(own, j.in.matrix, digest)
	}
	if r.uploaded != nil {
		f.ArtifactURL, f.ArtifactDigest = r.uploaded.URL, r.uploaded.Digest.String()
	}
	for _, e := range j.edits {
		f.Edits = append(f.Edits, github.Edit{Path: e.Path, Line: e.Line})
	}
	f.Workspace = j.files(r)
	return f
}

// contract names the run's contract; "" when it is none.
func (r *run) contract() (id, digest string) {
	if r.view != nil {
		s := r.view.Summary()
		return s.ContractID, s.ContractDigest
	}
	if t, err := contract.ParseText(r.path, r.text); err == nil {
		return t.File().Contract.ID, t.Digest().String()
	}
	return r.path, ""
}

func (r *run) bundleDigest() string {
	if r.sealed == nil {
		return ""
	}
	return r.sealed.Attestation.BundleDigest
}

// result is a run in the shape of the outputs.
func (j *judging) result(r *run) github.Result {
	v, o := r.verdict()
	if o == "" {
		o = github.Refused
	}
	out := github.Result{ContractPath: r.path, Verdict: v, Outcome: o, BundleDigest: r.bundleDigest()}
	out.ContractID, out.ContractDigest = r.contract()
	if r.view != nil {
		s := r.view.Summary()
		out.Assurance, out.RunID, out.SignatureStatus = s.Assurance, s.RunID, s.SignatureStatus
	}
	if r.sealed != nil && r.data != "" {
		if path, err := filepath.Rel(j.temp(), r.sealed.Dir); err == nil {
			out.BundlePath = path
		}
	}
	if r.uploaded != nil {
		out.ArtifactID, out.ArtifactURL = strconv.FormatInt(r.uploaded.ID, 10), r.uploaded.URL
	}
	if r.posted != nil {
		out.CheckRunURL = r.posted.URL
	}
	for _, f := range []*fault.Error{r.failed, r.refusal} {
		if f != nil && out.Error == nil {
			out.Error = &record.Problem{Code: string(f.Code), Message: f.Message, Fix: f.Fix}
		}
	}
	if r.failed != nil && o == verdict.Pass {
		// What could not be delivered is no pass, whoever reads the output.
		out.Verdict, out.Outcome = verdict.Undecided, verdict.Error
	}
	return out
}

// clean gives a path of the repository as one of this system; ok is false when it
// leaves the repository.
func clean(path string) (string, bool) {
	local := filepath.FromSlash(path)
	return local, filepath.IsLocal(local) && !strings.ContainsRune(path, 0)
}
