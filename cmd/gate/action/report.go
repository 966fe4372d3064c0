package action

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
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

// telling is the report of a step while it is made.
type telling struct {
	*judging
	log      console
	checks   []forge.CheckRun // in the order of the summary
	results  []github.Result
	posted   bool // every check-run is there
	delivery github.Delivery
	statuses []int
	unshown  int // reasons that are only in the summary
}

// report tells of the runs wherever it is looked for: check-runs, the log, the summary and,
// when all of that is known, the outputs. It gives the exit status, which says what
// the check-runs say.
func (j *judging) report(ctx context.Context, runs []*run) int {
	t := &telling{judging: j, log: j.console(), posted: true}
	groups := byChange(runs)
	for _, of := range groups {
		t.change(ctx, of, len(groups) == 1)
	}
	if t.unshown > 0 {
		t.log.say(fmt.Sprintf("%d more reasons are in the groups above and in the summary of the job", t.unshown))
	}
	if !t.posted {
		t.annotate()
	}
	if err := github.WriteSummary(j.Env("GITHUB_STEP_SUMMARY"), github.JobSummary(t.checks, t.posted)); err != nil {
		t.undelivered("the summary of the job", fault.As(err))
	}
	outputs, err := github.Outputs(t.results, t.delivery)
	if err != nil {
		t.undelivered("the outputs of the step", fault.As(err))
		outputs, _ = github.Outputs(t.results, t.delivery) // without the JSON, which is what was too large
	}
	if err := github.WriteOutputs(j.Env("GITHUB_OUTPUT"), outputs); err != nil {
		t.undelivered("the outputs of the step", fault.As(err))
	}
	return gravest(t.statuses)
}

// byChange are the runs of each change: the second stage can have several.
func byChange(runs []*run) [][]*run {
	var out [][]*run
	for _, r := range runs {
		if n := len(out); n > 0 && out[n-1][0].change == r.change {
			out[n-1] = append(out[n-1], r)
		} else {
			out = append(out, []*run{r})
		}
	}
	return out
}

// change tells of one change: by each contract, and of all of them. alone says that
// there is no other change.
func (t *telling) change(ctx context.Context, runs []*run, alone bool) {
	var (
		checks  []forge.CheckRun
		results []github.Result
	)
	for _, r := range runs {
		r.refusal, r.failed = secret.Fault(r.refusal), secret.Fault(r.failed)
		check := t.tell(ctx, r)
		result := t.result(r)
		result.Name, result.Title = check.Name, check.Title
		t.posted = t.posted && r.posted != nil
		t.statuses = append(t.statuses, t.status(r))
		checks, results = append(checks, check), append(results, result)
	}
	t.results = append(t.results, results...)
	if runs[0].overall() {
		t.checks = append(t.checks, checks...) // its check-run is the overall one
		return
	}
	all := &run{change: runs[0].change}
	check := t.publish(ctx, all, func() forge.CheckRun { return github.RenderOverall(results, t.facts(all)) })
	if all.failed != nil {
		t.undelivered(check.Name, all.failed)
	}
	if t.posted = t.posted && all.posted != nil; all.posted != nil && alone {
		t.delivery.CheckRunURL = all.posted.URL
	}
	if len(runs) > 1 || all.failed != nil {
		t.checks = append(t.checks, check) // of one contract it says nothing that the next one does not say
	}
	t.checks = append(t.checks, checks...)
}

// undelivered is a report that did not arrive: nothing passes then.
func (t *telling) undelivered(what string, f *fault.Error) {
	f = secret.Fault(f)
	t.reason(string(f.Code), what, f)
	t.statuses = append(t.statuses, t.StatusOfFault(fault.BackendFailed))
	if t.delivery.Error == nil {
		t.delivery.Error = problem(f)
	}
}

// reason says in the log, where nobody has to unfold anything, why the step is red.
func (t *telling) reason(title, what string, f *fault.Error) {
	text := what + ": " + f.Message
	if f.Fix != "" {
		text += " To mend it: " + f.Fix
	}
	t.line(title, text)
}

func (t *telling) line(title, text string) {
	if shown, err := t.log.Reason(title, text); err == nil && !shown {
		t.unshown++
	}
}

// status is what a run ends the step with.
func (s *Step) status(r *run) int {
	v, o := r.verdict()
	switch {
	case r.failed != nil:
		return s.StatusOfFault(fault.BackendFailed)
	case o != "":
		return s.StatusOf(v, o)
	}
	return s.StatusOfFault(r.refusal.Code)
}

// tell shows one run: in the log and, where that may be, as a check-run.
func (t *telling) tell(ctx context.Context, r *run) forge.CheckRun {
	check := t.publish(ctx, r, func() forge.CheckRun { return t.render(r) })
	// A reader of the log who finds nothing there looks at the summary.
	_ = t.log.Group(check.Name, func() error {
		return t.log.Untrusted(func(w io.Writer) error {
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
	for _, f := range []*fault.Error{r.failed, r.refusal} {
		if f != nil {
			t.reason(string(f.Code), check.Name, f)
			return check
		}
	}
	if v, o := r.verdict(); t.StatusOf(v, o) != 0 {
		t.line(string(v), check.Name+": "+strings.TrimPrefix(check.Title, string(v)+": "))
	}
	return check
}

// render makes the check-run of a run.
func (j *judging) render(r *run) forge.CheckRun {
	f := j.facts(r)
	var check forge.CheckRun
	switch {
	case r.view != nil:
		check = github.Render(*r.view, f)
	case r.undecided:
		check = github.RenderUndecided(r.refusal, f)
	default:
		check = github.RenderRefusal(r.refusal, f)
	}
	if !j.in.annotations {
		check.Annotations = nil
	}
	return check
}

// annotate shows in the log what would stand on the check-runs.
func (t *telling) annotate() {
	var all []forge.Annotation
	for _, c := range t.checks {
		all = append(all, c.Annotations...)
	}
	if cut, err := t.log.Annotate(all); err == nil && cut > 0 {
		t.log.say(fmt.Sprintf("%d more annotations are in the summary of the job and in the evidence", cut))
	}
}

// facts are what a check-run says beside what stands in the evidence.
func (j *judging) facts(r *run) github.Facts {
	f := github.Facts{CheckName: j.in.checkName, RunURL: j.runURL(), Notes: r.notes, Undelivered: r.failed, ContractPath: r.path, ContractText: r.text, Docs: j.Commit, Overall: r.overall()}
	if f.CheckName == "" {
		f.CheckName = defaultCheckName
	}
	values, err := github.MatrixValues(j.in.matrix)
	if err != nil {
		values = j.in.matrix // what is no matrix still tells two jobs apart
	}
	f.Matrix = values
	var digest string
	if !f.Overall {
		f.ContractID, digest = r.contract()
	}
	f.BundleDigest = r.bundleDigest()
	c := j.change
	if r.change != nil {
		c = r.change
	}
	if c != nil {
		f.BaseRef, f.BaseSHA, f.HeadSHA, f.ContractCommit = c.BaseRef, c.Base, c.Head, c.ContractCommit
		own := c.Change // the second stage's run is another than the one that it verifies
		own.RunID, own.RunAttempt, own.Job = j.Env("GITHUB_RUN_ID"), j.Env("GITHUB_RUN_ATTEMPT"), j.Env("GITHUB_JOB")
		own.Directory = j.in.prefix
		f.ExternalID = externalID(own, j.in.matrix, j.in.contracts, digest)
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

// overall says whether the run is all that there is: its check-run is then the overall one.
func (r *run) overall() bool { return r.path == "" }

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
			out.Error = problem(f)
		}
	}
	if r.failed != nil && o == verdict.Pass {
		// What could not be delivered is no pass, whoever reads the output.
		out.Verdict, out.Outcome = verdict.Undecided, verdict.Error
	}
	return out
}

// problem is a fault in the shape of the outputs.
func problem(f *fault.Error) *record.Problem {
	return &record.Problem{Code: string(f.Code), Message: f.Message, Fix: f.Fix}
}

// clean gives a path of the repository as one of this system; ok is false when it
// leaves the repository.
func clean(path string) (string, bool) {
	local := filepath.FromSlash(path)
	return local, filepath.IsLocal(local) && !strings.ContainsRune(path, 0)
}
