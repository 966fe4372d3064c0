package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/roots"
	"github.com/verdictgate/verdictgate/gate/sqlread"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// host evaluates steps for whoever is at the other end of its two streams. It
// runs in a worker process, and for --in-process in the gate's own.
type host struct {
	types   []check.Type
	profile check.Profile
	width   int // steps at once
	layers  func(*record.Start) ([]record.Layer, error)
	usage   func() (cpu float64, peak int64)
	exec    check.Executor

	running sync.WaitGroup
	start   record.Start
	plan    *plan.Plan
	files   *roots.Files
	rows    *sqlread.Reader
	out     *replyWriter
	last    int // the step that was ordered last
}

var errOrdersEnded = errors.New("the gate ended without finishing the worker")

// serve answers orders until it is told to finish, or the stream of orders or
// the context ends.
func (h *host) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	orders := make(chan record.Order, window)
	go func() {
		defer close(orders)
		for {
			o, err := nextOrder(in)
			if err != nil {
				cancel(err)
				return
			}
			select {
			case orders <- o:
			case <-ctx.Done():
				return
			}
		}
	}()
	h.out = newReplyWriter(out)
	first, ok := <-orders
	if !ok || first.Start == nil {
		return errors.Join(context.Cause(ctx), errors.New("the first order was no Start"))
	}
	h.out.tally.key(first.Start.Nonce)
	if err := h.prepare(first.Start); err != nil {
		return err
	}
	// A check that does not mind its context may still be reading.
	defer func() { go h.close() }()
	return h.obey(ctx, orders)
}

func nextOrder(in io.Reader) (record.Order, error) {
	frame, err := readFrame(in, maxFrame)
	if err == io.EOF {
		return record.Order{}, errOrdersEnded
	}
	if err != nil {
		return record.Order{}, fmt.Errorf("the stream of orders: %w", err)
	}
	return decodeOrder(frame)
}

// afterCommand says whether a command has run since the last step that was
// ordered. What this worker keeps in its scratch folder is then not trusted
// any more: where Landlock is missing, the command could have changed it.
func (h *host) afterCommand(index int) bool {
	from := h.last
	h.last = max(h.last, index)
	for i := from; i < index; i++ {
		if h.plan.Steps[i].Profile == check.Process {
			return true
		}
	}
	return false
}

// obey carries out orders. Steps run side by side; content and the end are
// ordered only when nothing runs.
func (h *host) obey(ctx context.Context, orders <-chan record.Order) error {
	slots := make(chan struct{}, h.width)
	pass := &check.Pass{Files: h.files, Rows: h.rows, Exec: h.exec}
	failed := make(chan error, 1)
	for {
		var o record.Order
		var ok bool
		select {
		case o, ok = <-orders:
		case err := <-failed:
			return err
		case <-ctx.Done():
		}
		switch {
		case !ok:
			<-ctx.Done()
			return context.Cause(ctx)
		case o.Run != nil:
			if *o.Run < 0 || *o.Run >= len(h.plan.Steps) {
				return fmt.Errorf("there is no step %d", *o.Run)
			}
			if h.afterCommand(*o.Run) {
				h.running.Wait() // it has: a command is a barrier
				if err := h.rows.Close(); err != nil {
					return fmt.Errorf("copies of databases could not be removed: %w", err)
				}
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			h.running.Add(1)
			go func(s *plan.Step) {
				defer h.running.Done()
				a := s.Evaluate(ctx, pass)
				// Before the answer is sent: whoever reads it may order the next.
				<-slots
				if err := h.out.send(record.Reply{Result: &a}); err != nil {
					select {
					case failed <- err:
					default: // one error is enough
					}
				}
			}(&h.plan.Steps[*o.Run])
		case o.Content != nil:
			h.running.Wait()
			c, err := h.files.Content(ctx, names(o.Content.Tracked), o.Content.UseGit)
			if err != nil {
				return fmt.Errorf("the workspace could not be digested: %w", err)
			}
			if err := h.out.send(record.Reply{Content: &c}); err != nil {
				return err
			}
		case o.Finish:
			h.running.Wait()
			d := record.Done{Hashed: h.files.Hashed()}
			if h.usage != nil {
				d.CPU, d.PeakBytes = h.usage()
			}
			return h.out.done(d)
		default:
			return errors.New("a second Start")
		}
	}
}

// prepare raises what is left of the sandbox, binds the plan and says Hello.
func (h *host) prepare(s *record.Start) (err error) {
	h.start = *s
	if s.Protocol != record.Protocol {
		return fmt.Errorf("the gate speaks protocol %d, this worker %d", s.Protocol, record.Protocol)
	}
	hello := record.Hello{Protocol: record.Protocol, Isolation: record.Isolation{Profile: string(h.profile), UID: os.Getuid(), GID: os.Getgid(), Env: variableNames(os.Environ())}}
	if hello.Isolation.Layers, err = h.layers(s); err != nil {
		return err
	}
	if h.plan, err = bind(s, h.types); err != nil {
		return err
	}
	if len(s.Contract) > 0 {
		hello.PlanDigest = h.plan.Digest.String()
	}
	var extra []string
	if len(s.Roots) > 1 {
		extra = s.Roots[1:]
	}
	if h.files, err = roots.Open(s.Workspace, extra); err != nil {
		return err
	}
	h.rows = sqlread.New(h.files, s.Scratch)
	return h.out.send(record.Reply{Hello: &hello})
}

// bind makes the plan again from what the gate sent. Without a contract (a
// probe of the machine) it is empty.
func bind(s *record.Start, types []check.Type) (*plan.Plan, error) {
	if len(s.Contract) == 0 {
		return &plan.Plan{}, nil
	}
	f, err := contract.Parse("the contract", s.Contract)
	if err != nil {
		return nil, err
	}
	p := plan.Bind(f, types)
	if err := f.Err(); err != nil {
		return nil, err
	}
	if len(s.Proposed) > 0 {
		doc, err := strictjson.Parse(s.Proposed, strictjson.ContractLimits)
		if err != nil {
			return nil, fmt.Errorf("the proposed checks: %w", err)
		}
		// What was dropped, the gate has dropped before: the digests tell.
		p.Propose(f, &doc.Root, types)
	}
	return p, nil
}

func (h *host) close() {
	h.running.Wait()
	// Only read from, or below the scratch folder that the gate removes.
	_ = h.rows.Close()
	_ = h.files.Close()
}

// ownUsage is what this process used, with everything that it waited for.
func ownUsage() (cpu float64, peak int64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			continue // the numbers are information, and decide nothing
		}
		cpu += (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
		peak = max(peak, maxRSS(&u))
	}
	return cpu, peak
}

func names(raw [][]byte) []string {
	out := make([]string, len(raw))
	for i, n := range raw {
		out[i] = string(n)
	}
	return out
}
