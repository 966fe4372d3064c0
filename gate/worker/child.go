package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/record"
)

// argv0 is how a process knows that it is a worker.
const argv0 = "gate-worker"

// Roles: argv[1].
const (
	roleReading = "reading"
	roleKeeper  = "keeper"
	roleCommand = "command"
)

// Descriptors that a worker is started with, beside the standard three.
const (
	fdOrders  = 3
	fdReplies = 4
	fdControl = 5 // the keeper's: it ends when the gate does
)

// exitBroken is a worker's exit status when it could not do its work. Nobody
// decides anything by it: what counts is the stream.
const exitBroken = 70

// Main is the whole life of a process that is not the gate itself: a worker, or
// the first process of a container, which runs the gate as its child. It
// returns false in every other process: call it before anything else. What
// this process was started with beside its standard streams is closed to what
// it will start.
func Main(ctx context.Context, types []check.Type, args []string) (status int, notGate bool) {
	keepDescriptors()
	if status, ok := asInit(args); ok {
		return status, true
	}
	if len(args) < 2 || args[0] != argv0 {
		return 0, false
	}
	// The first thing of all: what this process holds is nobody's business.
	hidden := hideProcess()
	switch role := args[1]; role {
	case roleKeeper:
		return keep(args[2:]), true
	case roleReading, roleCommand:
		p, err := parseParameters(args[2:])
		if err != nil {
			return complain("%v", err), true
		}
		if hidden != nil {
			return complain("the worker cannot be hidden from what it starts: %v", hidden), true
		}
		if err := work(ctx, types, role, p); err != nil {
			return complain("%v", err), true
		}
		return 0, true
	default:
		return complain("there is no role %q", role), true
	}
}

// keepDescriptors keeps what this process was started with from what it starts:
// the streams to the gate, and whatever the gate itself was started with. A
// command that held the stream of answers could write its own.
func keepDescriptors() {
	if unix.CloseRange(fdOrders, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	// Before Linux 5.11.
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		open = nil // then at least those that are known
	}
	for fd := fdOrders; fd <= fdControl; fd++ {
		unix.CloseOnExec(fd)
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > fdControl {
			unix.CloseOnExec(fd)
		}
	}
}

func complain(format string, args ...any) int {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	return exitBroken
}

// parameters are what a worker must know before its first order.
type parameters struct {
	gate  int    // process id of the gate
	width int    // how many reading steps at once
	wall  string // a file that the sandbox must keep it from writing
}

func (p parameters) args() []string {
	return []string{strconv.Itoa(p.gate), strconv.Itoa(p.width), p.wall}
}

func parseParameters(args []string) (p parameters, err error) {
	if len(args) != 3 {
		return p, fmt.Errorf("a worker takes three arguments, not %d: it is started by the gate alone", len(args))
	}
	var errs [2]error
	p.gate, errs[0] = strconv.Atoi(args[0])
	p.width, errs[1] = strconv.Atoi(args[1])
	p.wall = args[2]
	if p.width < 1 {
		errs[1] = fmt.Errorf("a worker of width %d", p.width)
	}
	return p, errors.Join(errs[:]...)
}

// work is a worker process: reading, or command.
func work(ctx context.Context, types []check.Type, role string, p parameters) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h := host{types: types, profile: check.Reading, width: p.width, usage: ownUsage}
	// The gate knows how many processors it may use; in here, the files that
	// say so are out of reach.
	runtime.GOMAXPROCS(p.width)
	if role == roleReading {
		h.layers = func(*record.Start) ([]record.Layer, error) {
			err := tryWall(p.wall)
			layers := append(observe(check.Reading, p.gate), raised(layerSealed, seal(), "no process can be started"))
			return append(layers, raised(layerLandlock, err, "")), nil
		}
		return h.serve(ctx, os.NewFile(fdOrders, "orders"), os.NewFile(fdReplies, "replies"))
	}
	if err := becomeSubreaper(); err != nil {
		return fmt.Errorf("the worker cannot adopt orphans: %w", err)
	}
	// Sent by the kernel when the keeper ends: then this worker is the last
	// who can end what it started.
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		cancel(errors.New("the keeper of the command worker has ended"))
	}()
	h.profile, h.width = check.Process, 1
	var commands *executor
	h.layers = func(s *record.Start) (layers []record.Layer, err error) {
		layers = observe(check.Process, p.gate)
		if commands, err = newExecutor(s, p.wall); err != nil {
			return nil, err
		}
		h.exec = commands
		around, err := commands.layers()
		return append(layers, around...), err
	}
	err := h.serve(ctx, os.NewFile(fdOrders, "orders"), os.NewFile(fdReplies, "replies"))
	cancel(err)
	if commands != nil {
		commands.stop()
	}
	return err
}
