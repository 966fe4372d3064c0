package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

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
		if !slices.Contains(profiles, s.Profile) {
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

// run is the state of one Run. Everything in it belongs to one goroutine.
type run struct {
	job      Job
	spawner  *spawner
	lanes    []*lane
	answers  []*record.Answer
	answered int
	report   Report
}

// failure is a defect of the verifier, as opposed to a cancelled run.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

func failed(format string, args ...any) error { return &failure{fmt.Sprintf(format, args...)} }

func (r *run) limit(format string, args ...any) {
	r.report.Limitations = append(r.report.Limitations, fmt.Sprintf(format, args...))
}

// all runs the whole plan.
func (r *run) all(ctx context.Context, profiles []check.Profile) error {
	reading, command, err := r.openLanes(ctx, profiles)
	if err != nil {
		return err
	}
	if r.job.Content {
		if err := r.digest(ctx, reading, &r.report.Before); err != nil {
			return err
		}
	}
	for i := range r.job.Plan.Steps {
		s := &r.job.Plan.Steps[i]
		here, other := reading, command
		if s.Profile == check.Process {
			here, other = command, reading
		}
		if err := r.evaluate(ctx, s, here, other); err != nil {
			return err
		}
	}
	if err := r.until(ctx, r.idle); err != nil {
		return err
	}
	if r.job.Content {
		if err := r.digest(ctx, reading, &r.report.After); err != nil {
			return err
		}
	}
	for _, l := range r.lanes {
		l.send(flight{order: record.Order{Finish: true}, limit: finishLimit})
	}
	return r.until(ctx, func() bool {
		for _, l := range r.lanes {
			if !l.done {
				return false
			}
		}
		return true
	})
}

// openLanes starts the workers, side by side.
func (r *run) openLanes(ctx context.Context, profiles []check.Profile) (reading, command *lane, err error) {
	for _, p := range profiles {
		l := &lane{profile: p, width: runtime.GOMAXPROCS(0)}
		l.spawn = func() (*conn, error) { return r.spawner.spawn(p) }
		switch {
		case p == check.Process:
			// Nothing is ordered ahead of a command: were its worker replaced,
			// nobody could say whether the next one had begun.
			command, l.width, l.ahead = l, 1, 1
		case r.job.InProcess:
			reading, l.ahead = l, max(window, 2*l.width)
			l.spawn = func() (*conn, error) { return r.spawner.host(ctx) }
		default:
			reading, l.ahead = l, max(window, 2*l.width)
		}
		r.lanes = append(r.lanes, l)
	}
	errs := make(chan error, len(r.lanes))
	for _, l := range r.lanes {
		go func() { errs <- l.open() }()
	}
	for range r.lanes {
		err = errors.Join(err, <-errs)
	}
	return reading, command, err
}

// evaluate orders a step, once the other lane is at rest and what the step
// depends on has been answered.
func (r *run) evaluate(ctx context.Context, s *plan.Step, here, other *lane) error {
	known := func() bool {
		for _, d := range s.DependsOn {
			if r.answers[d] == nil {
				return false
			}
		}
		return true
	}
	if err := r.until(ctx, func() bool { return other.idle() && known() && here.room() }); err != nil {
		return err
	}
	var unmet []string
	for _, d := range s.DependsOn {
		if a := r.answers[d]; a.Result.Status != record.Pass {
			unmet = append(unmet, fmt.Sprintf("%q (%s)", a.Result.CheckID, a.Result.Status))
		}
	}
	if len(unmet) > 0 {
		a := s.Unrun(fault.DependencyUnmet, "not run, because it depends on what did not pass: %s", strings.Join(unmet, ", "))
		return r.accept(s, &a)
	}
	r.progress(Event{Step: s})
	index := s.Index
	here.send(flight{step: s, order: record.Order{Run: &index}, limit: s.Longest() + grace})
	return nil
}

func (r *run) digest(ctx context.Context, l *lane, into **record.Content) error {
	var files record.Files
	if r.job.Listing != nil {
		var err error
		if files, err = r.job.Listing(ctx); err != nil {
			return err
		}
	}
	l.send(flight{order: record.Order{Content: &files}, limit: contentLimit, content: into})
	return r.until(ctx, l.idle)
}

func (r *run) idle() bool {
	for _, l := range r.lanes {
		if !l.idle() {
			return false
		}
	}
	return true
}

// until handles what the workers send until a condition holds.
func (r *run) until(ctx context.Context, holds func() bool) error {
	for !holds() {
		var first time.Time
		for _, l := range r.lanes {
			l.flush()
			if d := l.deadline(); !d.IsZero() && (first.IsZero() || d.Before(first)) {
				first = d
			}
		}
		if err := r.next(ctx, first); err != nil {
			return err
		}
	}
	return nil
}

// next waits for one event, or for a deadline.
func (r *run) next(ctx context.Context, deadline time.Time) error {
	var alarm <-chan time.Time
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		alarm = t.C
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case e := <-r.spawner.events:
		return r.handle(e)
	case now := <-alarm:
		for _, l := range r.lanes {
			if err := l.expire(now); err != nil {
				return err
			}
		}
		return nil
	}
}

// handle takes one event of a lane's present worker.
func (r *run) handle(e event) error {
	var l *lane
	for _, candidate := range r.lanes {
		if candidate.conn == e.from {
			l = candidate
		}
	}
	switch {
	case l == nil:
		return nil // of a worker that was replaced
	case e.err != nil:
		return r.streamEnded(l, e.err)
	case e.reply.Hello != nil:
		return r.greet(l, e.reply.Hello)
	case !l.greeted:
		return failed("the %s worker answered before its Hello", l.profile)
	case e.reply.Result != nil:
		f, ok := l.take(func(f flight) bool { return f.step != nil && f.step.Index == e.reply.Result.Index })
		if !ok || f.step.ID != e.reply.Result.Result.CheckID {
			return failed("the %s worker answered what it was not asked", l.profile)
		}
		return r.accept(f.step, e.reply.Result)
	case e.reply.Content != nil:
		f, ok := l.take(func(f flight) bool { return f.content != nil })
		if !ok {
			return failed("the %s worker digested what it was not asked to", l.profile)
		}
		*f.content = e.reply.Content
		if l.replaced > 0 && r.report.Before != nil && r.report.After != nil && r.report.Before.Digest != r.report.After.Digest {
			r.limit("the workspace changed during the run; what changed is not known, because the worker that saw it before was ended at a timeout")
		}
		return nil
	}
	l.ended = e.reply.Done
	return nil
}

// streamEnded is the end of a worker: as ordered, by our own hand, or a failure.
func (r *run) streamEnded(l *lane, err error) error {
	switch {
	case err == io.EOF && l.finishing():
		l.done = true
		l.inflight = nil
		r.report.Hashed += l.ended.Hashed
		return nil
	case l.cut == nil:
		state, waitErr := l.conn.wait(killLimit)
		text := fmt.Sprintf("the %s worker ended early (%v", l.profile, err)
		if state != nil {
			text += "; " + state.String()
		}
		if waitErr != nil {
			text += "; " + waitErr.Error()
		}
		return failed("%s%s)", text, l.conn.quote())
	}
	r.reap(l.conn)
	cut := l.cut
	if _, waiting := l.take(func(f flight) bool { return f.step == cut }); waiting {
		a := cut.Unrun(fault.Timeout, "stopped with its worker: it did not end within its timeout, nor %s later", grace)
		if err := r.accept(cut, &a); err != nil {
			return err
		}
		r.limit("the %s worker was ended at the timeout of check %q and replaced", l.profile, cut.ID)
	}
	return l.reopen()
}

func (r *run) reap(c *conn) {
	if _, err := c.wait(killLimit); err != nil {
		r.limit("%v", err)
	}
}

// greet takes a worker's Hello: it must have bound the same plan.
func (r *run) greet(l *lane, h *record.Hello) error {
	switch {
	case l.greeted:
		return failed("the %s worker said Hello twice", l.profile)
	case h.Protocol != record.Protocol:
		return failed("the %s worker speaks protocol %d, this gate %d", l.profile, h.Protocol, record.Protocol)
	case len(r.job.Start.Contract) > 0 && h.PlanDigest != r.job.Plan.Digest.String():
		return failed("the %s worker bound another plan (%s) than the gate (%s)", l.profile, h.PlanDigest, r.job.Plan.Digest)
	}
	l.greet(time.Now())
	if l.replaced > 0 {
		return nil // in the same sandbox
	}
	l.isolation = &h.Isolation
	l.isolation.Layers = combine(l.conn.layers, h.Isolation.Layers)
	return nil
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

// accept keeps a step's answer.
func (r *run) accept(s *plan.Step, a *record.Answer) error {
	if r.job.Receive != nil {
		if err := r.job.Receive(a); err != nil {
			return failed("the answer of check %q could not be kept: %v", s.ID, err)
		}
	}
	r.answers[s.Index] = a
	r.answered++
	r.progress(Event{Step: s, Answer: a})
	return nil
}

func (r *run) progress(e Event) {
	if r.job.Progress != nil {
		e.Answered, e.Total = r.answered, len(r.answers)
		r.job.Progress(e)
	}
}

// end leaves no process behind, however the run went.
func (r *run) end() {
	for _, l := range r.lanes {
		if l.conn != nil && !l.done {
			l.conn.kill()
		}
	}
	close(r.spawner.over)
	for _, l := range r.lanes {
		if l.conn != nil {
			r.reap(l.conn)
		}
	}
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
