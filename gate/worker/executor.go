package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
)

// executor starts the commands of checks, one at a time, in a long-lived
// worker: a command costs one fork and one exec, nothing else is started
// around it. It implements check.Executor.
type executor struct {
	workspace string
	roots     []string
	scratch   string
	path      string
	protected []string // what no cache may reach
	env       []string
	wall      string // a file that no command may write: see domainLayer
	null      *os.File

	mu       sync.Mutex // one command at a time
	stopped  bool
	launcher *launcher
	digests  toolDigests
	starved  starvation
}

func newExecutor(s *record.Start, wall string) (*executor, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	return &executor{
		workspace: s.Workspace, roots: s.Roots, scratch: s.Scratch, path: s.Path, protected: s.Protected,
		env: environment(s.Path, s.Scratch), wall: wall, null: null, digests: toolDigests{},
	}, nil
}

// Run starts a command and waits for the end of its whole process tree. When
// the context ends first, the tree is killed, and what the command wrote until
// then comes with the context's error.
func (x *executor) Run(ctx context.Context, c check.Command) (check.Exit, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var exit check.Exit
	if x.stopped {
		return exit, context.Canceled
	}
	if len(c.Argv) == 0 {
		return exit, &check.ExecError{Code: fault.CheckMalformed, Reason: "the command is empty"}
	}
	dir, err := x.folder(c.Dir)
	if err != nil {
		return exit, err
	}
	if err := x.prepareFolders(c.Caches); err != nil {
		return exit, err
	}
	t, err := x.lookup(c.Argv[0], dir, c.Caches)
	if err != nil {
		return exit, err
	}
	if exit.Tool, err = x.digests.record(ctx, c.Argv[0], t); err != nil {
		return exit, err
	}
	l, err := x.launcherFor(c.Caches)
	if err != nil {
		return exit, err
	}
	return x.launch(ctx, l, launch{path: t.path, argv: c.Argv, dir: dir, env: overlay(x.env, c.Env)}, exit)
}

// stop waits for the end of the command that runs, whose context must have
// ended, and lets no other start.
func (x *executor) stop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stopped = true
}

// launch runs the command with its two streams collected.
func (x *executor) launch(ctx context.Context, l *launcher, start launch, exit check.Exit) (check.Exit, error) {
	stdout, err := newStream()
	if err != nil {
		return exit, cannotStart(start.path, err)
	}
	stderr, err := newStream()
	if err != nil {
		stdout.abandon()
		return exit, cannotStart(start.path, err)
	}
	start.files = []uintptr{x.null.Fd(), uintptr(stdout.write), uintptr(stderr.write)}
	start.started = func() {
		stdout.collect()
		stderr.collect()
	}
	starved := x.starved.count()
	end := l.run(ctx, start)
	if end.startErr != nil {
		stdout.abandon()
		stderr.abandon()
		if end.cancelled {
			return exit, context.Cause(ctx)
		}
		return exit, cannotStart(start.path, end.startErr)
	}
	exit.Stdout, exit.Stderr = stdout.finish(), stderr.finish()
	exit.Leftovers = end.leftovers
	describeEnd(&exit, end.status, x.starved.count() > starved)
	if end.cancelled {
		return exit, context.Cause(ctx)
	}
	if end.treeErr != nil {
		return exit, &check.ExecError{Code: fault.BackendFailed, Reason: fmt.Sprintf("what %s started could not be ended: %v", check.Quote(start.path), end.treeErr)}
	}
	return exit, nil
}

// describeEnd says how a command ended. Only a death that this gate's limits, or
// want of memory, brought about is told as such; a program that merely exits
// with the number of one, or sends itself the signal, has decided that itself.
func describeEnd(exit *check.Exit, status syscall.WaitStatus, starved bool) {
	killed := status.Signaled() && status.Signal() == syscall.SIGKILL
	if status.Signaled() {
		exit.Signal = signalName(status.Signal())
	} else {
		exit.Code = status.ExitStatus()
		// A shell passes the death of a child on in this way.
		killed = exit.Code == 128+int(syscall.SIGKILL)
	}
	if killed && starved {
		exit.LimitHit = "memory ran out while it ran, and the kernel killed for it"
	}
}

// firstRealTime is the lowest signal of those without a name of their own.
const firstRealTime = 34

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	if s > firstRealTime {
		return fmt.Sprintf("SIGRTMIN+%d", s-firstRealTime)
	}
	return "SIGRTMIN"
}

// folder resolves the folder to run in: inside the roots, links followed.
func (x *executor) folder(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(x.workspace, dir)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", &check.ExecError{Code: fault.TargetUnreadable, Reason: fmt.Sprintf("the folder to run in, %s, cannot be used: %v", check.Quote(dir), cause(err))}
	}
	if !within(x.roots, resolved) {
		return "", &check.ExecError{Code: fault.CheckRefused, Reason: fmt.Sprintf("the folder to run in, %s, lies outside the allowed roots", check.Quote(resolved))}
	}
	if info, err := os.Stat(resolved); err != nil || !info.IsDir() {
		return "", &check.ExecError{Code: fault.TargetUnreadable, Reason: fmt.Sprintf("%s is no folder to run in", check.Quote(dir))}
	}
	return resolved, nil
}

// prepareFolders makes what a command may rely on: its home and temporary
// folder, which the last one may have removed, and the folders of its caches,
// which at the first run are not there yet.
func (x *executor) prepareFolders(caches []string) error {
	for _, c := range caches {
		if !filepath.IsAbs(c) || filepath.Clean(c) == "/" {
			return &check.ExecError{Code: fault.CheckRefused, Reason: fmt.Sprintf("the cache %s is not the absolute path of a folder below /", check.Quote(c))}
		}
		// Before anything is made there.
		if err := x.reaches(c); err != nil {
			return err
		}
	}
	own := []string{filepath.Join(x.scratch, scratchHome), filepath.Join(x.scratch, scratchTmp)}
	for _, folder := range append(own, caches...) {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return &check.ExecError{Code: fault.TargetUnreadable, Reason: fmt.Sprintf("the folder %s cannot be made: %v", check.Quote(folder), cause(err))}
		}
	}
	for _, c := range caches {
		// A command that writes one cache could make a link there, and another
		// check's cache inside it would be any folder at all.
		if resolved, err := filepath.EvalSymlinks(c); err != nil || resolved != filepath.Clean(c) {
			return &check.ExecError{Code: fault.CheckRefused, Reason: fmt.Sprintf("the cache %s leads through a link: name the folder itself", check.Quote(c))}
		}
	}
	return nil
}

// reaches refuses a cache that holds, or lies in, what no command may write: the
// evidence, and what whoever started the gate reads when it has ended.
func (x *executor) reaches(cache string) error {
	for _, p := range x.protected {
		if holds(p, cache) || holds(cache, p) {
			return &check.ExecError{Code: fault.CheckRefused, Reason: fmt.Sprintf("the cache %s would let commands write %s, which is the gate's: name a folder of its own", check.Quote(cache), check.Quote(p))}
		}
	}
	return nil
}

// holds says whether a path is a folder or lies below it: by name, and by identity,
// which sees through bind mounts. What is not there yet has its name alone.
func holds(folder, path string) bool {
	want, err := os.Stat(folder)
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		if path == filepath.Clean(folder) {
			return true
		}
		if info, e := os.Stat(path); err == nil && e == nil && os.SameFile(info, want) {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
}

// launcherFor gives the launcher in whose domain these caches, and no others,
// can be written.
func (x *executor) launcherFor(caches []string) (*launcher, error) {
	if x.launcher != nil && slices.Equal(x.launcher.caches, caches) {
		return x.launcher, nil
	}
	if x.launcher != nil {
		x.launcher.close()
		x.launcher = nil
	}
	l, err := newLauncher(x.workspace, x.scratch, x.wall, caches)
	if err != nil {
		return nil, &check.ExecError{Code: fault.BackendFailed, Reason: fmt.Sprintf("no command can be started: %v", err)}
	}
	x.launcher = l
	return l, nil
}

// layers tells what stands around commands, by raising it.
func (x *executor) layers() ([]record.Layer, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	l, err := x.launcherFor(nil)
	if err != nil {
		return nil, err
	}
	return l.layers, nil
}

// cannotStart says why the system would not start a program that is there.
func cannotStart(path string, err error) error {
	code, reason := fault.TargetUnreadable, err.Error()
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		code, reason = fault.ToolMissing, "it is in no format that this machine can execute"
	case errors.Is(err, syscall.ENOENT):
		code, reason = fault.ToolMissing, "the interpreter or loader that it names is not there"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		code, reason = fault.ToolMissing, "the user of the check may not execute it, or it lies where nothing may be executed"
	case errors.Is(err, syscall.E2BIG):
		code, reason = fault.LimitExceeded, "its arguments and environment are larger than the system takes"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		code, reason = fault.LimitExceeded, "the machine has no room for another process: "+err.Error()
	}
	return &check.ExecError{Code: code, Reason: fmt.Sprintf("%s could not be started: %s", check.Quote(path), reason)}
}

// stream is one output pipe of a command.
type stream struct {
	read  *os.File
	write int // the raw descriptor: it goes to the child alone, and must block
	done  chan struct{}
	into  *collector
}

func newStream() (*stream, error) {
	var fds [2]int
	if err := pipe(fds[:]); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, err
	}
	return &stream{read: os.NewFile(uintptr(fds[0]), "output"), write: fds[1], done: make(chan struct{}), into: newCollector()}, nil
}

// collect reads the stream from now on; the child has its end.
func (s *stream) collect() {
	unix.Close(s.write)
	go func() {
		defer close(s.done)
		drain(s.read, s.into)
	}()
}

func (s *stream) abandon() {
	s.read.Close()
	unix.Close(s.write)
}

// finish gives what was collected, after the whole tree has ended. If somebody
// outside the tree was passed the pipe, it is not waited for.
func (s *stream) finish() check.Output {
	// A failure means that the pipe is at its end already.
	_ = s.read.SetReadDeadline(time.Now().Add(drainLimit))
	<-s.done
	s.read.Close()
	return s.into.output()
}

// starvation reads how often the kernel has killed for want of memory.
type starvation struct {
	counters []*os.File
	opened   bool
}

func (s *starvation) count() int64 {
	if !s.opened {
		s.opened = true
		for _, name := range [...]string{"/proc/vmstat", "/sys/fs/cgroup/memory.events"} {
			if f, err := os.Open(name); err == nil {
				s.counters = append(s.counters, f)
			}
		}
	}
	var sum int64
	var buf [16 << 10]byte
	for _, f := range s.counters {
		n, _ := f.ReadAt(buf[:], 0) // what was read is looked at; the end is no error
		sum += counter(string(buf[:n]), "oom_kill")
	}
	return sum
}

// counter finds "name value" in a file of counters.
func counter(text, name string) int64 {
	for line := range strings.Lines(text) {
		var value int64
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if _, err := fmt.Sscan(rest, &value); err == nil {
				return value
			}
		}
	}
	return 0
}
