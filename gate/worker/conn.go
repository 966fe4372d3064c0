package worker

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/record"
)

// conn is a running worker as the gate sees it.
type conn struct {
	orders *bufio.Writer
	pipe   *os.File // under orders
	layers []record.Layer
	// kill ends the worker and everything below it, as far as it can without
	// waiting.
	kill func()
	// wait waits for the end of the process, at most so long.
	wait func(time.Duration) (*os.ProcessState, error)
	said func() string // its diagnostics
}

// event is something that a worker sent, or how its stream ended: io.EOF only
// after a valid end record.
type event struct {
	from  *conn
	reply record.Reply
	err   error
}

// order writes an order; it leaves with the next flush.
func (c *conn) order(o record.Order) error {
	frame, err := appendFrame(nil, o)
	if err != nil {
		return err
	}
	// A worker that reads no orders is no reason to wait for ever.
	if err := c.pipe.SetWriteDeadline(time.Now().Add(startLimit)); err != nil {
		return err
	}
	_, err = c.orders.Write(frame)
	return err
}

// listen passes on what the worker sends, until its stream ends or the run does.
func (c *conn) listen(replies io.ReadCloser, nonce string, to chan<- event, over <-chan struct{}) {
	defer replies.Close()
	r := newReplyReader(replies)
	r.tally.key(nonce)
	for {
		reply, err := r.next()
		select {
		case to <- event{c, reply, err}:
		case <-over:
			return
		}
		if err != nil {
			return
		}
	}
}

// spawner starts the workers of one run.
type spawner struct {
	start   record.Start
	types   []check.Type
	scratch *scratch
	owner   confinement // its owner is the worker's user
	user    record.Layer
	events  chan event
	over    chan struct{}
}

// spawn starts a worker process and gives it its Start.
func (s *spawner) spawn(profile check.Profile) (*conn, error) {
	conf := s.owner
	conf.profile, conf.roots, conf.scratch = profile, s.start.Roots, s.scratch.reading
	role := roleReading
	if profile == check.Process {
		conf.scratch, role = s.scratch.command, roleOfCommands
	}
	start := s.start
	start.Scratch, start.Nonce = conf.scratch, rand.Text()
	p, err := newPipes(role == roleKeeper)
	if err != nil {
		return nil, err
	}
	argv := append([]string{argv0, role}, parameters{gate: os.Getpid(), width: runtime.GOMAXPROCS(0), wall: s.scratch.wall}.args()...)
	child, err := conf.start(argv, environment(start.Path, start.Scratch), conf.scratch, p.child)
	p.closeChild()
	if err != nil {
		p.abandon()
		return nil, err
	}
	said := new(bounded)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer p.said.Close()
		_, _ = io.Copy(said, p.said) // ends with the last holder of the other end
	}()
	c := &conn{orders: bufio.NewWriterSize(p.orders, 64<<10), pipe: p.orders, layers: append(child.layers, s.user)}
	c.kill = func() {
		p.orders.Close()
		if p.control != nil {
			// The keeper takes this for the end of the gate, and ends its tree.
			p.control.Close()
			return
		}
		_ = child.process.Kill() // it may have ended
	}
	c.wait = func(limit time.Duration) (*os.ProcessState, error) {
		t := time.NewTimer(limit)
		defer t.Stop()
		select {
		case state := <-child.exited:
			child.exited <- state
			p.closeParent()
			return state, nil
		case <-t.C:
			_ = child.process.Kill() // a keeper that does not come to an end
			p.closeParent()
			return nil, fmt.Errorf("the %s worker did not end within %s", profile, limit)
		}
	}
	c.said = func() string {
		select {
		case <-heard:
		case <-time.After(drainLimit):
		}
		return strings.TrimSpace(said.String())
	}
	go c.listen(p.replies, start.Nonce, s.events, s.over)
	return c, c.order(record.Order{Start: &start})
}

// host runs the reading worker's loop in this process, for --in-process: the
// same loop over the same frames, without a process around it.
func (s *spawner) host(ctx context.Context) (*conn, error) {
	orders, toOrders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	replies, toReplies := io.Pipe()
	start := s.start
	start.Scratch, start.Nonce = s.scratch.reading, rand.Text()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	h := host{types: s.types, profile: check.Reading, width: runtime.GOMAXPROCS(0), layers: func(*record.Start) ([]record.Layer, error) {
		return []record.Layer{missing(layerProcess, "the checks ran in the gate's own process, as was asked: nothing bounded them")}, nil
	}}
	go func() {
		err := h.serve(ctx, orders, toReplies)
		orders.Close()
		toReplies.CloseWithError(err)
		ended <- err
	}()
	c := &conn{orders: bufio.NewWriterSize(toOrders, 64<<10), pipe: toOrders}
	c.kill = func() { cancel(); toOrders.Close(); toReplies.CloseWithError(context.Canceled) }
	c.wait = func(time.Duration) (*os.ProcessState, error) { c.kill(); return nil, nil }
	c.said = func() string {
		select {
		case err := <-ended:
			ended <- err
			if err != nil {
				return err.Error()
			}
		default:
		}
		return ""
	}
	go c.listen(replies, start.Nonce, s.events, s.over)
	return c, c.order(record.Order{Start: &start})
}

// pipes are the streams between the gate and one worker.
type pipes struct {
	orders, replies, said, control *os.File // the gate's ends
	child                          []*os.File
}

func newPipes(keeper bool) (*pipes, error) {
	p := &pipes{}
	var errs []error
	open := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		errs = append(errs, err)
		return r, w
	}
	null, err := os.Open(os.DevNull)
	errs = append(errs, err)
	said, toSaid := open()
	orders, toOrders := open()
	replies, toReplies := open()
	p.said, p.orders, p.replies = said, toOrders, replies
	p.child = []*os.File{null, toSaid, toSaid, orders, toReplies}
	if keeper {
		control, held := open()
		p.control = held
		p.child = append(p.child, control)
	}
	if err := errors.Join(errs...); err != nil {
		p.closeChild()
		p.abandon()
		return nil, err
	}
	return p, nil
}

func (p *pipes) closeChild() {
	for _, f := range p.child {
		_ = f.Close() // twice for one of them, and not at all for one that was never opened
	}
}

// closeParent closes what only the gate writes to. What it reads from, its
// readers close.
func (p *pipes) closeParent() {
	_ = p.orders.Close()
	_ = p.control.Close()
}

// abandon closes all of the gate's ends, when there is nobody at the others.
func (p *pipes) abandon() {
	p.closeParent()
	_ = p.replies.Close()
	_ = p.said.Close()
}

// quote adds the diagnostics to a message.
func (c *conn) quote() string {
	if said := c.said(); said != "" {
		return "; it said: " + said
	}
	return ""
}
