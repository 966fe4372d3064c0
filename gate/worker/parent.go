package worker

import (
	"context"
	"errors"
	"slices"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/record"
)

// Job is one run: a plan and all that a worker needs to make the same plan.
// Start.Scratch is set here, and Start.Path is cleaned here.
type Job struct {
	Start     record.Start
	Plan      *plan.Plan
	Types     []check.Type
	InProcess bool // reading steps run in this process
	Reading   bool // steps that start a process are not run
	Content   bool // digest the workspace before and after
	// Listing says which files that digest is about, each time anew: a command
	// may have made some. Nil is every file.
	Listing func(context.Context) (record.Files, error)
	// Progress is told of each step that is ordered and answered; may be nil.
	Progress func(Event)
	// Receive gets each answer as it arrives, before it is kept: whoever takes
	// its blobs to a disk keeps memory from growing with them. May be nil.
	Receive func(*record.Answer) error
}

// Event is progress. Answer is nil when the step was only ordered.
type Event struct {
	Step            *plan.Step
	Answer          *record.Answer
	Answered, Total int
}

// Report is what a run gave. When it is not Complete, the verifier failed:
// Failure says how, and what had arrived decides nothing.
type Report struct {
	Answers       []record.Answer // in the plan's order; one a step when Complete
	Before, After *record.Content
	Isolation     []record.Isolation
	Complete      bool
	Failure       string
	CPU           float64 // seconds, of this process, the workers and all that they started
	PeakBytes     int64   // resident memory of the largest process
	Hashed        int64
	Limitations   []string
}

// Run evaluates the plan's steps and gives their answers in the plan's order.
// Reading steps run side by side between commands; a command is a barrier. An
// error means that the run was given up: its context ended, or there was no
// place for a scratch folder. Nothing that was started is left when Run returns.
func Run(ctx context.Context, job Job) (Report, error) {
	var profiles []check.Profile
	if job.Content {
		profiles = append(profiles, check.Reading)
	}
	for _, s := range job.Plan.Steps {
		if !slices.Contains(profiles, s.Profile) && !(job.Reading && s.Profile == check.Process) {
			profiles = append(profiles, s.Profile)
		}
	}
	slices.Sort(profiles)
	slices.Reverse(profiles) // reading before command
	return execute(ctx, job, profiles...)
}

// execute is Run with a worker for each of the profiles, needed or not.
func execute(ctx context.Context, job Job, profiles ...check.Profile) (Report, error) {
	if err := hideProcess(); err != nil {
		return Report{}, fault.New(fault.BackendFailed, "", "this process cannot be hidden from the commands that it judges with: %v", err)
	}
	job.Start.Path = cleanPath(job.Start.Path, job.Start.Roots)
	job.Start.Protocol = record.Protocol
	owner, user := ownerOf(job.Start.Workspace)
	dirs, err := newScratch(job.Start.Roots, owner)
	if err != nil {
		return Report{}, fault.New(fault.BackendFailed, "Set TMPDIR to a folder outside the workspace that can be written.", "%v", err)
	}
	s := &spawner{start: job.Start, types: job.Types, scratch: dirs, owner: confinement{owner: owner}, user: user, events: make(chan event), over: make(chan struct{})}
	r := &run{job: job, spawner: s, answers: make([]*record.Answer, len(job.Plan.Steps))}
	err = r.all(ctx, profiles)
	r.end()
	if rest := dirs.remove(); rest != nil {
		r.limit("the scratch folder %s could not be removed: %v", dirs.base, rest)
	}
	return r.finish(ctx, err)
}

// combine joins what the gate raised and what the worker found: a layer stands
// when both say so.
func combine(raised, found []record.Layer) []record.Layer {
	out := append([]record.Layer(nil), raised...)
next:
	for _, f := range found {
		for i := range out {
			if out[i].Name == f.Name {
				if out[i].On && !f.On {
					out[i] = f
				}
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}

// finish makes the report.
func (r *run) finish(ctx context.Context, err error) (Report, error) {
	out := &r.report
	for _, a := range r.answers {
		if a != nil {
			out.Answers = append(out.Answers, *a)
		}
	}
	for _, l := range r.lanes {
		if l.isolation == nil {
			continue
		}
		out.Isolation = append(out.Isolation, *l.isolation)
		for _, layer := range l.isolation.Layers {
			if !layer.On {
				r.limit("isolation of %s checks: %s is not in force: %s", l.profile, layer.Name, layer.Detail)
			}
		}
	}
	out.CPU, out.PeakBytes = ownUsage() // the workers were waited for
	var f *failure
	switch {
	case err == nil:
		out.Complete = true
	case errors.As(err, &f):
		out.Failure = f.text
	case ctx.Err() != nil:
		return Report{}, context.Cause(ctx)
	default:
		out.Failure = err.Error()
	}
	return *out, nil
}
