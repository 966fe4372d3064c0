package worker

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/record"
)

// The walls that a thread can raise around itself (no_new_privs, an empty
// bounding set, Landlock, a filter of calls) are inherited by what it forks.
// So the parent raises them on one thread of its own, starts the worker from
// that thread, and lets the thread end: one exec, no program in between, and no
// other thread of the parent is touched. What belongs to a whole process
// (resource limits, the seal against further processes) the worker adds itself.

// selfExe is this program whatever became of its path, also for a user who
// may not walk the folders that lead to it.
const selfExe = "/proc/self/exe"

// Names of the layers.
const (
	layerProcess      = "process"
	layerNoNewPrivs   = "no_new_privs"
	layerCapabilities = "capabilities"
	layerUser         = "user"
	layerGroups       = "groups"
	layerLandlock     = "landlock"
	layerSeccomp      = "seccomp"
	layerSealed       = "no_processes"
	layerLimits       = "resource_limits"
	layerParent       = "parent_unreadable"
	layerTree         = "process_tree"
	layerSignals      = "signals"
	layerMetadata     = "metadata"
	layerSockets      = "unix_sockets"
	layerNetwork      = "network"
)

func standing(name, format string, args ...any) record.Layer {
	return record.Layer{Name: name, On: true, Detail: fmt.Sprintf(format, args...)}
}

func missing(name, format string, args ...any) record.Layer {
	return record.Layer{Name: name, Detail: fmt.Sprintf(format, args...)}
}

// raised is a layer that stands unless there was an error.
func raised(name string, err error, format string, args ...any) record.Layer {
	if err != nil {
		return missing(name, "%v", err)
	}
	return standing(name, format, args...)
}

// confinement is what the parent raises around a worker.
type confinement struct {
	profile check.Profile
	roots   []string
	scratch string
	owner   *syscall.Credential // nil: the gate's own user
}

// hideProcess makes this process unreadable through /proc for everybody
// without CAP_SYS_PTRACE, whatever their user: its environment holds secrets,
// its descriptors the stream of answers.
func hideProcess() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// confine raises the walls on the calling thread, which must be locked.
func (c confinement) confine() []record.Layer {
	layers := []record.Layer{standing(layerProcess, "a process and a session of its own")}
	nnp := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	layers = append(layers, raised(layerNoNewPrivs, nnp, "no program can gain privileges"), c.dropCapabilities())
	landlocked := c.profile == check.Process // there, around each command: see launcher
	if c.profile == check.Reading {
		_, detail, err := readingDomain(c.roots, c.scratch).enforce()
		layers = append(layers, raised(layerLandlock, err, "%s: roots read-only, scratch writable, no TCP", detail))
	} else {
		_, err := landlockABI()
		landlocked = err == nil
	}
	f, what := readingFilter(), "no sockets, no change of modes, owners or times, no debugging"
	if c.profile == check.Process {
		f, what = commandFilter(landlocked), "no namespaces, mounts, keys, io_uring or exotic sockets"
	}
	return append(layers, raised(layerSeccomp, f.install(0), "%s", what))
}

// dropCapabilities empties the bounding set of this thread, so that nothing
// that it starts can hold a capability, not even as root.
func (c confinement) dropCapabilities() record.Layer {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // old kernels have none
	var first error
	for capability := range uintptr(64) {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if err == unix.EINVAL {
			break // past the last one that this kernel knows
		}
		if first == nil {
			first = err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err == nil {
		sets[0].Inheritable, sets[1].Inheritable = 0, 0
		if err := unix.Capset(&header, &sets[0]); err != nil && first == nil {
			first = err
		}
	}
	switch {
	case first == nil || boundingSetEmpty():
		return standing(layerCapabilities, "none, and none can be gained")
	case os.Geteuid() != 0 || c.owner != nil:
		// An ordinary user has none, and no_new_privs keeps it so.
		return standing(layerCapabilities, "none to begin with, and none can be gained")
	}
	return missing(layerCapabilities, "root keeps those that it was started with: without CAP_SETPCAP they cannot be dropped (%v)", first)
}

func boundingSetEmpty() bool {
	for c := range uintptr(64) {
		held, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err == unix.EINVAL {
			return true // past the last one that this kernel knows
		}
		if err != nil || held != 0 {
			return false
		}
	}
	return true
}

// started is a worker process, or a keeper.
type started struct {
	process *os.Process
	layers  []record.Layer
	exited  chan *os.ProcessState // receives once
}

// start runs this program in a role inside the confinement.
func (c confinement) start(argv, env []string, dir string, files []*os.File) (*started, error) {
	path, held, err := c.program()
	if err != nil {
		return nil, err
	}
	attr := &os.ProcAttr{Dir: dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true, Credential: c.owner}}
	if c.profile == check.Reading {
		attr.Sys.Pdeathsig = syscall.SIGKILL
	}
	type result struct {
		*started
		err error
	}
	out := make(chan result, 1)
	onOwnThread(func() {
		layers := c.confine()
		p, err := os.StartProcess(path, argv, attr)
		if held != nil {
			_ = held.Close() // only read
		}
		if err != nil {
			out <- result{err: fmt.Errorf("the worker process could not be started: %w", err)}
			return
		}
		s := &started{process: p, layers: layers, exited: make(chan *os.ProcessState, 1)}
		out <- result{started: s}
		// The kernel ties the worker's life to this thread, so it stays.
		state, _ := p.Wait()
		s.exited <- state
	})
	r := <-out
	return r.started, r.err
}

// onOwnThread runs f on a thread that ends with it. The main thread of the
// process cannot end, and what is read in /proc about a process is read from
// it, so it is never used.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f() // and no unlock: the thread ends with the goroutine
			return
		}
		done := make(chan struct{})
		onOwnThread(func() {
			defer close(done)
			f()
		})
		<-done
		runtime.UnlockOSThread()
	}()
}
