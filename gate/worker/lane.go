package worker

import (
	"slices"
	"time"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/record"
)

// lane is the way to one worker and, when a step outlives its timeout and the
// worker must be killed for it, to the worker that takes its place. A worker
// takes orders as they come and evaluates width of them at once, so the first
// width that are not answered are the ones that run: their clocks run too.
type lane struct {
	profile check.Profile
	width   int // steps that run at once
	ahead   int // steps that may be ordered and not answered
	spawn   func() (*conn, error)
	filled  bool // see room

	conn      *conn
	greeted   bool
	isolation *record.Isolation // of its first worker; the others stand in the same
	inflight  []flight          // in the order in which they were sent
	opened    time.Time         // when the present worker was started
	cut       *plan.Step
	killed    time.Time // when the present worker was killed for cut
	replaced  int
	ended     *record.Done
	done      bool
}

// flight is an order that was not answered yet.
type flight struct {
	order   record.Order
	step    *plan.Step       // of a Run
	content **record.Content // where a Content goes
	limit   time.Duration    // how long it may run
	since   time.Time        // when it began to; zero while it waits in the worker
}

func (l *lane) open() (err error) {
	l.opened = time.Now()
	l.conn, err = l.spawn()
	return err
}

// idle says whether nothing is ordered; a lane that a plan does not need is.
func (l *lane) idle() bool { return l == nil || len(l.inflight) == 0 }

// room says whether a further step may be ordered. A lane that was filled up is
// left to run half empty first: then many orders leave in one write. While a
// worker is being replaced, there is no room.
func (l *lane) room() bool {
	switch n := len(l.inflight); {
	case n >= l.ahead:
		l.filled = true
	case n <= l.ahead/2:
		l.filled = false
	}
	return !l.filled && l.cut == nil
}

func (l *lane) send(f flight) {
	l.inflight = append(l.inflight, f)
	l.tick(time.Now())
	l.written(l.conn.order(f.order))
}

func (l *lane) flush() {
	if l.cut == nil && l.conn.orders.Buffered() > 0 {
		l.written(l.conn.orders.Flush())
	}
}

// written takes the outcome of a write. A failed one decides nothing: the
// worker has ended, and the end of its stream, which is on its way, tells more.
func (l *lane) written(err error) {
	if err != nil {
		l.conn.kill()
	}
}

func (l *lane) greet(now time.Time) {
	l.greeted = true
	l.tick(now)
}

// tick starts the clocks of the orders that run.
func (l *lane) tick(now time.Time) {
	for i := range min(l.width, len(l.inflight)) {
		if l.greeted && l.inflight[i].since.IsZero() {
			l.inflight[i].since = now
		}
	}
}

// take removes the first order of a kind.
func (l *lane) take(is func(flight) bool) (flight, bool) {
	i := slices.IndexFunc(l.inflight, is)
	if i < 0 {
		return flight{}, false
	}
	f := l.inflight[i]
	l.inflight = slices.Delete(l.inflight, i, i+1)
	l.tick(time.Now())
	return f, true
}

// finishing says whether the worker was told to finish, and has.
func (l *lane) finishing() bool {
	return l.ended != nil && len(l.inflight) == 1 && l.inflight[0].order.Finish
}

// deadline is when something must have happened; zero when nothing must.
func (l *lane) deadline() time.Time {
	switch {
	case l.done:
		return time.Time{}
	case l.cut != nil:
		return l.killed.Add(killLimit)
	case !l.greeted:
		return l.opened.Add(startLimit)
	}
	var first time.Time
	for _, f := range l.inflight {
		if d := f.since.Add(f.limit); !f.since.IsZero() && (first.IsZero() || d.Before(first)) {
			first = d
		}
	}
	return first
}

// expire acts on a deadline that is over.
func (l *lane) expire(now time.Time) error {
	if d := l.deadline(); d.IsZero() || d.After(now) {
		return nil
	}
	switch {
	case l.cut != nil:
		return failed("the %s worker could not be ended after the timeout of check %q", l.profile, l.cut.ID)
	case !l.greeted:
		return failed("the %s worker was not ready within %s%s", l.profile, startLimit, l.conn.quote())
	}
	for _, f := range l.inflight {
		if f.since.IsZero() || f.since.Add(f.limit).After(now) {
			continue
		}
		if f.step == nil {
			return failed("the %s worker did not digest the workspace or finish within %s", l.profile, f.limit)
		}
		if l.replaced++; l.replaced > maxReplacements {
			return failed("more than %d steps had to be stopped with their worker", maxReplacements)
		}
		l.cut, l.killed = f.step, now
		l.conn.kill()
		return nil
	}
	return nil
}

// reopen starts a worker in place of a killed one, and orders again what the
// killed one had not answered.
func (l *lane) reopen() error {
	l.cut, l.greeted, l.ended = nil, false, nil
	if err := l.open(); err != nil {
		return err
	}
	for i := range l.inflight {
		l.inflight[i].since = time.Time{}
		l.written(l.conn.order(l.inflight[i].order))
	}
	return nil
}
