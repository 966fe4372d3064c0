package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/record"
)

// The walls that a thread can raise around itself (no_new_privs, an empty
// bounding set, Landlock, a filter of calls) are inherited by what it forks.
// So the parent raises them on one thread of its own, starts the worker from
// that thread, and lets the thread end: one exec, no stub in between, and no
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
	layers = append(layers, raised(layerNoNewPrivs, nnp, "no program can gain privileges"), dropCapabilities())
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
func dropCapabilities() record.Layer {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // old kernels have none
	var first error
	for c := uintptr(0); c < 64; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
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
	if first != nil && os.Geteuid() != 0 {
		// An ordinary user has none, and no_new_privs keeps it so.
		return standing(layerCapabilities, "none to begin with")
	}
	return raised(layerCapabilities, first, "none, and none can be gained")
}

// ownerOf gives whom the worker runs as when the gate runs as root: the owner
// of the workspace, with the layer that says so.
func ownerOf(workspace string) (*syscall.Credential, record.Layer) {
	if uid := os.Geteuid(); uid != 0 {
		return nil, standing(layerUser, "uid %d and gid %d, as the gate itself", uid, os.Getegid())
	}
	var st unix.Stat_t
	err := unix.Stat(workspace, &st)
	if err == nil && st.Uid == 0 {
		return nil, missing(layerUser, "root, because the workspace belongs to root")
	}
	if err == nil {
		err = canBecome(st.Uid, st.Gid)
	}
	if err != nil {
		return nil, missing(layerUser, "root: the worker cannot become the owner of the workspace: %v", err)
	}
	return &syscall.Credential{Uid: st.Uid, Gid: st.Gid}, standing(layerUser, "uid %d and gid %d, the owner of the workspace", st.Uid, st.Gid)
}

// canBecome says beforehand whether root may change to a user: a container can
// take the capabilities away, and a user namespace may not know the id.
func canBecome(uid, gid uint32) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	if need := uint32(1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID); sets[0].Effective&need != need {
		return errors.New("the capabilities CAP_SETUID and CAP_SETGID were taken away")
	}
	if !mapped("/proc/self/uid_map", uid) || !mapped("/proc/self/gid_map", gid) {
		return fmt.Errorf("uid %d or gid %d is not known in this user namespace", uid, gid)
	}
	return nil
}

func mapped(file string, id uint32) bool {
	data, err := os.ReadFile(file)
	if err != nil {
		return true // no user namespaces: every id is what it is
	}
	for line := range strings.Lines(string(data)) {
		var inside, outside, count uint32
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err == nil && id >= inside && id-inside < count {
			return true
		}
	}
	return false
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

// program gives the path that executes this program, also when the worker's
// user may not execute the file itself: then it is run from memory.
func (c confinement) program() (path string, held *os.File, err error) {
	var st unix.Stat_t
	if c.owner == nil {
		return selfExe, nil, nil
	}
	if err := unix.Stat(selfExe, &st); err != nil {
		return "", nil, fmt.Errorf("the gate's own program cannot be found: %w", err)
	}
	need := uint32(unix.S_IXOTH)
	switch {
	case st.Uid == c.owner.Uid:
		need = unix.S_IXUSR
	case st.Gid == c.owner.Gid:
		need = unix.S_IXGRP
	}
	if st.Mode&need != 0 {
		return selfExe, nil, nil
	}
	self, err := os.Open(selfExe)
	if err != nil {
		return "", nil, err
	}
	defer self.Close()
	fd, err := unix.MemfdCreate("gate", unix.MFD_CLOEXEC)
	if err != nil {
		return "", nil, fmt.Errorf("uid %d may not execute the gate, and there is no memory file: %w", c.owner.Uid, err)
	}
	defer unix.Close(fd)
	// Above the descriptors that the child's own are laid over.
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, firstFree)
	if err != nil {
		return "", nil, err
	}
	held = os.NewFile(uintptr(high), "gate")
	if _, err = io.Copy(held, self); err == nil {
		err = held.Chmod(0o755)
	}
	return fmt.Sprintf("/proc/self/fd/%d", high), held, err
}

// firstFree is above every descriptor that a worker is given.
const firstFree = 16

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

// observe is what a worker finds around itself, once it is up.
func observe(profile check.Profile, gate int) []record.Layer {
	layers := []record.Layer{
		parentUnreadable(gate),
		raised(layerNoNewPrivs, demand(prctlGet(unix.PR_GET_NO_NEW_PRIVS) == 1, "the kernel does not report it"), "no program can gain privileges"),
		raised(layerSeccomp, demand(prctlGet(unix.PR_GET_SECCOMP) == 2, "the kernel reports no filter"), "filters are in force"),
		heldCapabilities(),
		raised(layerLimits, limitResources(profile), "no core files, files of at most %d GiB, %d descriptors", maxFileSize>>30, maxOpenFiles),
	}
	groups, err := os.Getgroups()
	groups = without(groups, os.Getegid())
	if err == nil && len(groups) > 0 {
		err = fmt.Errorf("only root can drop supplementary groups: those with the ids %s stay", strings.Trim(fmt.Sprint(groups), "[]"))
	}
	return append(layers, raised(layerGroups, err, "no supplementary group"))
}

func without(list []int, x int) []int {
	var out []int
	for _, e := range list {
		if e != x {
			out = append(out, e)
		}
	}
	return out
}

func demand(ok bool, otherwise string) error {
	if ok {
		return nil
	}
	return errors.New(otherwise)
}

func prctlGet(option int) int {
	v, err := unix.PrctlRetInt(option, 0, 0, 0, 0)
	if err != nil {
		return -1
	}
	return v
}

// parentUnreadable tries what an attacker would: to read the environment of
// the gate's own process.
func parentUnreadable(gate int) record.Layer {
	f, err := os.Open(fmt.Sprintf("/proc/%d/environ", gate))
	if err == nil {
		defer f.Close()
		_, err = f.Read(make([]byte, 1))
	}
	if err == nil || err == io.EOF {
		return missing(layerParent, "the gate's own process can be read through /proc")
	}
	return standing(layerParent, "the gate's own process cannot be read through /proc")
}

func heldCapabilities() record.Layer {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return missing(layerCapabilities, "they cannot be read: %v", err)
	}
	if sets[0].Permitted|sets[0].Effective|sets[1].Permitted|sets[1].Effective != 0 {
		return missing(layerCapabilities, "the worker still holds capabilities: %08x%08x", sets[1].Permitted, sets[0].Permitted)
	}
	return standing(layerCapabilities, "none, and none can be gained")
}

// limitResources sets the limits of this process and of what it starts. They
// can only become lower than they are.
func limitResources(profile check.Profile) error {
	limits := []struct {
		resource int
		name     string
		most     uint64
	}{{unix.RLIMIT_CORE, "core files", 0}, {unix.RLIMIT_FSIZE, "file size", maxFileSize}, {unix.RLIMIT_NOFILE, "open files", maxOpenFiles}}
	if profile == check.Reading {
		limits = append(limits, struct {
			resource int
			name     string
			most     uint64
		}{unix.RLIMIT_DATA, "data", maxReadingMemory})
	}
	var errs []error
	for _, l := range limits {
		var now unix.Rlimit
		err := unix.Getrlimit(l.resource, &now)
		if err == nil {
			most := min(now.Max, l.most)
			err = unix.Setrlimit(l.resource, &unix.Rlimit{Cur: most, Max: most})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("no limit on %s: %w", l.name, err))
		}
	}
	return errors.Join(errs...)
}

// seal ends the starting of processes in this one.
func seal() error { return sealFilter().install(unix.SECCOMP_FILTER_FLAG_TSYNC) }
