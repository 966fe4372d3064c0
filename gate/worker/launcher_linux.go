package worker

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/record"
)

// launcher forks commands from one thread that stands in a Landlock domain of
// its own, nested in the worker's. What it starts can write where commands may
// and cannot signal or trace anything outside that domain: not the worker, not
// its keeper. A thread cannot leave its domain, so other caches need another
// launcher.
type launcher struct {
	caches []string
	layers []record.Layer
	work   chan func()
	scoped bool // signals from the thread reach its domain alone: proven, not assumed
}

// launch is one command to start.
type launch struct {
	path    string
	argv    []string
	dir     string
	env     []string
	files   []uintptr
	started func() // called once, as soon as the command has its descriptors
}

// ending is how a command, and its tree, ended.
type ending struct {
	status    syscall.WaitStatus
	leftovers int
	cancelled bool
	startErr  error
	treeErr   error
}

func newLauncher(workspace, scratch, wall string, caches []string) (*launcher, error) {
	l := &launcher{caches: slices.Clone(caches), work: make(chan func())}
	up := make(chan struct{})
	onOwnThread(func() {
		l.confine(commandDomain(workspace, scratch, caches), wall)
		close(up)
		for f := range l.work {
			f()
		}
	})
	<-up
	return l, nil
}

// confine raises the domain and tests that it holds.
func (l *launcher) confine(d domain, wall string) {
	_, detail, err := d.enforce()
	if err == nil {
		err = tryWall(wall)
	}
	l.layers = []record.Layer{raised(layerLandlock, err, "%s: everything readable; workspace, scratch, caches and /dev/shm writable", detail)}
	// The keeper runs as the same user, so only the domain can forbid this.
	l.scoped = err == nil && unix.Kill(os.Getppid(), 0) == unix.EPERM
	signals := standing(layerSignals, "commands can signal nothing but one another")
	if !l.scoped {
		signals = missing(layerSignals, "commands can signal the other processes of their user, the worker too: one that does ends the run as an error")
	}
	l.layers = append(l.layers, signals, standing(layerTree, "killed by a subreaper, also what left its session"),
		missing(layerMetadata, "commands may change the modes and times of files outside that belong to their user: Landlock does not restrict it, and builds need it inside"),
		missing(layerSockets, "commands may connect to the unix sockets that their user may"),
		missing(layerNetwork, "commands may reach the network: builds need it, and the kernel bounds ports, not hosts"))
}

// tryWall writes, or tries to, where the domain forbids it.
func tryWall(wall string) error {
	if wall == "" {
		return nil
	}
	f, err := os.OpenFile(wall, os.O_WRONLY, 0)
	if err == nil {
		_ = f.Close() // nothing was written
		return errors.New("Landlock was accepted by the kernel, but a file outside can be written")
	}
	return nil
}

func (l *launcher) close() { close(l.work) }

// run starts the command on the launcher's thread and waits for its whole tree.
func (l *launcher) run(ctx context.Context, c launch) ending {
	out := make(chan ending, 1)
	j := &job{pidfd: -1}
	stop := context.AfterFunc(ctx, j.cancel)
	l.work <- func() { out <- l.supervise(j, c) }
	end := <-out
	stop()
	end.cancelled = j.close()
	return end
}

// job is a running command as its canceller sees it. The pidfd names this
// process and never another that got its number.
type job struct {
	mu        sync.Mutex
	pid       int
	pidfd     int
	ended     bool
	cancelled bool
}

func (j *job) cancel() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancelled = true
	if j.pid == 0 || j.ended {
		return
	}
	// The launcher waits for it, and then ends what it started.
	if j.pidfd < 0 || unix.PidfdSendSignal(j.pidfd, unix.SIGKILL, nil, 0) != nil {
		_ = unix.Kill(j.pid, unix.SIGKILL) // already ended is as good
	}
}

func (j *job) close() (cancelled bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pidfd >= 0 {
		unix.Close(j.pidfd)
		j.pidfd = -1
	}
	return j.cancelled
}

// start forks, unless the job was cancelled before.
func (j *job) start(c launch) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cancelled {
		return context.Canceled
	}
	pid, err := syscall.ForkExec(c.path, c.argv, &syscall.ProcAttr{Dir: c.dir, Env: c.env, Files: c.files,
		// A session of its own: no controlling terminal. Its death with the
		// thread is only the fast way; the keeper does not rely on it.
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: &j.pidfd}})
	if err != nil {
		return err
	}
	j.pid = pid
	return nil
}

func (l *launcher) supervise(j *job, c launch) ending {
	var end ending
	if end.startErr = j.start(c); end.startErr != nil {
		return end
	}
	c.started()
	end.status, end.treeErr = j.wait()
	if end.treeErr == nil && anyChild() {
		end.leftovers, end.treeErr = killChildren(l.sweep)
	}
	return end
}

// wait waits for the command, and meanwhile for the orphans that it leaves.
func (j *job) wait() (syscall.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid == j.pid {
			j.mu.Lock()
			j.ended = true
			j.mu.Unlock()
			return syscall.WaitStatus(status), err
		}
	}
}

// anyChild reaps what has ended and says whether anything still runs. For a
// command that leaves nothing it is one system call.
func anyChild() bool {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WALL|unix.WNOHANG, nil)
		if err == unix.EINTR || pid > 0 {
			continue
		}
		return err == nil
	}
}

// sweep kills everything below the worker. Inside a proven domain one signal
// to everybody does it, in one step that no chain of forks can outrun.
func (l *launcher) sweep() (int, error) {
	if l.scoped && unix.Kill(-1, unix.SIGKILL) == nil {
		return 1, nil
	}
	return killDirect()
}

func pipe(fds []int) error { return unix.Pipe2(fds, unix.O_CLOEXEC) }
