package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/record"
)

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
		if s.Profile == check.Process && r.job.Reading {
			a := s.Unrun(fault.CheckRefused, "not run: this run starts no process of what it judges")
			if err := r.accept(s, &a); err != nil {
				return err
			}
			continue
		}
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
		// A worker that says that it has done everything and then dies is not
		// believed: it, or what writes in its name, may be lying.
		if state, err := l.conn.wait(killLimit); err != nil || state != nil && !state.Success() {
			return failed("the %s worker did not end well after its end record (%v%v)%s", l.profile, state, err, l.conn.quote())
		}
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
