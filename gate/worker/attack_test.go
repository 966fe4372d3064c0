package worker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/record"
)

// attackerMain is the test program as a judged command.
func attackerMain(args []string) int {
	switch args[0] {
	case "linger":
		return linger(args[1])
	case "spawn":
		if args[1] == "between-short" {
			return start("short")
		}
		return spawnLingering(args[1], args[2])
	case "init", "inited", "short":
		return initMain(args)
	case "gate":
		return gateMain(args[1])
	}
	if err := attack(args); err != nil {
		fmt.Println("held:", err)
		return 0
	}
	fmt.Println("it worked")
	return 1
}

// attack tries one thing that the sandbox forbids; nil says that it worked.
func attack(args []string) error {
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	pid, _ := strconv.Atoi(arg(1)) // not every attack names one
	switch args[0] {
	case "read":
		f, err := os.Open(arg(1))
		if err != nil {
			return err
		}
		_, err = f.Read(make([]byte, 1))
		return err
	case "list":
		entries, err := os.ReadDir(arg(1))
		if err == nil && len(entries) == 0 {
			err = errors.New("it is empty")
		}
		return err
	case "descriptors":
		// Their numbers can be listed by root; what they are must not be told.
		for fd := range 64 {
			name := fmt.Sprintf("%s/%d", arg(1), fd)
			if _, err := os.Readlink(name); err == nil {
				return nil
			}
			if f, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {
				f.Close()
				return nil
			}
		}
		return errors.New("no descriptor can be reached")
	case "create":
		return os.WriteFile(arg(1), []byte("x"), 0o600)
	case "open-rw":
		f, err := os.OpenFile(arg(1), os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		return err
	case "unlink":
		return os.Remove(arg(1))
	case "rename":
		return os.Rename(arg(1), arg(2))
	case "kill":
		return unix.Kill(pid, unix.SIGCONT)
	case "ptrace":
		return unix.PtraceAttach(pid)
	case "dial":
		return dial(arg(1), arg(2))
	case "chmod":
		return os.Chmod(arg(1), 0o777)
	case "utimes":
		return os.Chtimes(arg(1), longAgo, longAgo)
	case "setxattr":
		return unix.Setxattr(arg(1), "user.x", []byte("y"), 0)
	}
	return attackKernel(args[0], arg(1))
}

// attackRights tries what reaches beyond a command by other means than files.
func attackRights(what, arg string) error {
	switch what {
	case "limit":
		pid, err := strconv.Atoi(arg)
		if err != nil {
			return nil // a broken test is no wall
		}
		return unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: 1, Max: 1}, nil)
	case "set-id":
		errs := []error{unix.Chmod(arg, 0o4755), unix.Fchmodat(unix.AT_FDCWD, arg, 0o2755, 0)}
		for _, mode := range []uint32{0o4755, 0o2755} {
			_, err := unix.Openat(unix.AT_FDCWD, arg+"2", unix.O_CREAT|unix.O_WRONLY, mode)
			_, err2 := unix.Openat2(unix.AT_FDCWD, arg+"3", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: uint64(mode)})
			errs = append(errs, err, err2)
		}
		if slices.Contains(errs, error(nil)) {
			return nil
		}
		return errors.Join(errs...)
	case "inherited":
		// 0, 1 and 2 are the command's own; what it opens here is closed again.
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return nil
		}
		for _, e := range entries {
			if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
				if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !ownDescriptor(target) {
					fmt.Println(target)
					return nil
				}
			}
		}
		return errors.New("nothing but the standard streams")
	}
	return nil
}

// attackKernel tries what has to do with neither files nor other processes.
func attackKernel(what, arg string) error {
	switch what {
	case "io_uring":
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 8, uintptr(unsafe.Pointer(new([120]byte))), 0)
		return asError(errno)
	case "fork":
		// A process that does nothing, without the Go runtime's knowledge.
		pid, _, errno := syscall.RawSyscall(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0)
		if pid == 0 && errno == 0 {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return asError(errno)
	case "dumpable":
		if prctlGet(unix.PR_GET_DUMPABLE) == 0 {
			return errors.New("this process cannot be read")
		}
		return nil
	case "exec":
		return exec.Command("/bin/true").Run()
	case "unshare":
		return unix.Unshare(unix.CLONE_NEWUSER)
	case "clone-newuser":
		c := exec.Command("/bin/true")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return c.Run()
	case "socket":
		family, err := strconv.Atoi(arg)
		if err != nil {
			return nil // a broken test is no wall
		}
		fd, err := unix.Socket(family, unix.SOCK_DGRAM, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	case "capabilities":
		if l := heldCapabilities(); l.On {
			return errors.New(l.Detail)
		}
		return nil
	case "parent":
		return attackParent(arg)
	}
	return attackRights(what, arg)
}

// ownDescriptor says whether a descriptor is one that a Go program opens itself.
func ownDescriptor(target string) bool {
	return strings.HasPrefix(target, "anon_inode:") || strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/sys/")
}

// terminal opens a pseudo-terminal of the gate's user and gives its path.
func terminal(t *testing.T) string {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ptmx.Close() })
	n, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/dev/pts/%d", n)
}

// attackParent attacks the worker that started this process, and its keeper.
func attackParent(how string) error {
	found := 0
	for pid := os.Getppid(); pid > 1; pid = parentOf(pid) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.HasPrefix(string(line), argv0) {
			break
		}
		var args []string
		switch how {
		case "kill", "ptrace", "limit":
			args = []string{how, strconv.Itoa(pid)}
		case "fd":
			args = []string{"descriptors", fmt.Sprintf("/proc/%d/fd", pid)}
		default:
			args = []string{"open-rw", fmt.Sprintf("/proc/%d/%s", pid, how)}
		}
		if attack(args) == nil {
			return nil
		}
		found++
	}
	if found != 2 {
		return nil // a test that attacks nobody proves nothing
	}
	return errors.New("neither the worker nor its keeper")
}

func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ppid, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return ppid
}

func dial(network, address string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("x"))
	return err
}

func asError(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// attacker puts the attacking program into a workspace.
func attacker(t testing.TB, ws string) string {
	t.Helper()
	self, err := os.ReadFile(selfExe)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(ws, "attacker")
	if err := os.WriteFile(path, self, 0o755); err != nil {
		t.Fatal(err)
	}
	own(t, path)
	return path
}

// target is a world around a workspace that an attack must not reach.
type target struct {
	ws, outside, shared, file, inside string
	unix, abstract, tcp, udp          string
}

func newTarget(t *testing.T) target {
	t.Helper()
	w := target{ws: workspace(t), outside: workspace(t), abstract: fmt.Sprintf("@gate-test-%d-%s", os.Getpid(), t.Name())}
	w.shared = filepath.Join(w.outside, "shared")
	if err := os.Mkdir(w.shared, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.shared, 0o777); err != nil {
		t.Fatal(err)
	}
	w.file, w.inside = filepath.Join(w.shared, "file"), filepath.Join(w.ws, "file")
	for _, f := range []string{w.file, w.inside} {
		if err := os.WriteFile(f, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
		own(t, f)
	}
	w.unix = filepath.Join(w.shared, "socket")
	listen := func(network, address string) string {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l.Addr().String()
	}
	listen("unix", w.unix)
	listen("unix", w.abstract)
	w.tcp = listen("tcp", "127.0.0.1:0")
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	w.udp = u.LocalAddr().String()
	return w
}

// onGate are attacks on the process that started everything.
func onGate() [][]string {
	proc := func(name string) string { return fmt.Sprintf("/proc/%d/%s", os.Getpid(), name) }
	return [][]string{
		{"read", proc("environ")}, {"open-rw", proc("mem")}, {"read", proc("mem")}, {"descriptors", proc("fd")}, {"read", proc("maps")},
		{"kill", strconv.Itoa(os.Getpid())}, {"ptrace", strconv.Itoa(os.Getpid())},
	}
}

func TestAttacksFromReading(t *testing.T) {
	w := newTarget(t)
	attacks := append(onGate(),
		[]string{"read", w.file}, []string{"create", filepath.Join(w.shared, "new")}, []string{"create", filepath.Join(w.ws, "new")},
		[]string{"open-rw", w.inside}, []string{"unlink", w.inside}, []string{"rename", w.inside, w.inside + "2"},
		[]string{"chmod", w.inside}, []string{"utimes", w.inside}, []string{"setxattr", w.inside},
		[]string{"dial", "unix", w.unix}, []string{"dial", "unix", w.abstract}, []string{"dial", "tcp", w.tcp}, []string{"dial", "udp", w.udp},
		[]string{"socket", strconv.Itoa(unix.AF_NETLINK)}, []string{"exec"}, []string{"fork"}, []string{"dumpable"}, []string{"io_uring"}, []string{"unshare"}, []string{"capabilities"},
		[]string{"list", "/etc"}, []string{"list", "/proc"}, []string{"read", "/etc/passwd"})
	var steps []step
	for i, a := range attacks {
		steps = append(steps, step{ID: fmt.Sprintf("a%d", i), Type: "attack", Params: map[string]any{"attack": a}})
	}
	held(t, attacks, mustRun(t, jobOf(t, w.ws, steps...)))
}

// Its environment holds what no command may see, so the gate is unreadable by
// itself, not only where Landlock stands before it.
func TestTheGateHidesItself(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	mustRun(t, jobOf(t, workspace(t), does("a", "ok")))
	if prctlGet(unix.PR_GET_DUMPABLE) != 0 {
		t.Error("the gate can be read by the processes of its user")
	}
}

func TestAttacksFromCommand(t *testing.T) {
	w := newTarget(t)
	program := attacker(t, w.ws)
	attacks := append(onGate(), []string{"inherited"}, []string{"set-id", filepath.Join(w.ws, "attacker")}, []string{"open-rw", terminal(t)},
		[]string{"parent", "limit"}, []string{"limit", strconv.Itoa(os.Getpid())},
		[]string{"parent", "kill"}, []string{"parent", "ptrace"}, []string{"parent", "fd"}, []string{"parent", "mem"}, []string{"parent", "environ"},
		[]string{"create", filepath.Join(w.shared, "new")}, []string{"open-rw", w.file}, []string{"unlink", w.file}, []string{"rename", w.inside, w.file},
		[]string{"dial", "unix", w.abstract}, []string{"socket", strconv.Itoa(unix.AF_VSOCK)}, []string{"socket", strconv.Itoa(unix.AF_ALG)},
		[]string{"io_uring"}, []string{"unshare"}, []string{"clone-newuser"}, []string{"capabilities"})
	if os.Geteuid() == 0 {
		// As the owner of the workspace, what only root may use is out of reach.
		if err := os.Chmod(w.unix, 0o600); err != nil {
			t.Fatal(err)
		}
		attacks = append(attacks, []string{"dial", "unix", w.unix})
	}
	var steps []step
	for i, a := range attacks {
		steps = append(steps, cmd(fmt.Sprintf("a%d", i), append([]string{program}, a...)...))
	}
	held(t, attacks, mustRun(t, jobOf(t, w.ws, steps...)))
	if _, err := os.Stat(w.file); err != nil {
		t.Errorf("a file outside: %v", err)
	}
}

func held(t *testing.T, attacks [][]string, r Report) {
	t.Helper()
	// These are told as missing on every machine, or depend on who runs the test.
	told := []string{layerNetwork, layerMetadata, layerSockets, layerUser, layerGroups}
	for _, i := range r.Isolation {
		for _, l := range i.Layers {
			if !l.On && !slices.Contains(told, l.Name) {
				t.Errorf("%s: the layer %s is missing here: %s", i.Profile, l.Name, l.Detail)
			}
		}
	}
	for i, a := range r.Answers {
		if a.Result.Status != record.Pass {
			t.Errorf("%q was not held: %s %s %s", attacks[i], a.Result.Status, a.Result.Summary, a.Result.Observed)
		}
		t.Logf("%q: %s %s", attacks[i], a.Result.Summary, a.Result.Observed)
	}
}

// When the workspace belongs to whoever runs the gate, commands run as that
// user; if that is root, as a root without any capability.
func TestWorkspaceOfTheGatesOwnUser(t *testing.T) {
	ws, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o000); err != nil {
		t.Fatal(err)
	}
	own(t, secret)
	program := filepath.Join(ws, "attacker")
	if err := os.Link(attacker(t, ws), program+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(program, os.Geteuid(), os.Getegid()); err != nil {
		t.Fatal(err)
	}
	attacks := append(onGate(), []string{"inherited"}, []string{"capabilities"}, []string{"parent", "limit"}, []string{"limit", strconv.Itoa(os.Getpid())}, []string{"open-rw", terminal(t)}, []string{"parent", "kill"}, []string{"parent", "mem"}, []string{"create", filepath.Join(outside, "new")},
		[]string{"read", secret}, []string{"unshare"})
	steps := []step{does("reading", "ok")}
	for i, a := range attacks {
		steps = append(steps, cmd(fmt.Sprintf("a%d", i), append([]string{program}, a...)...))
	}
	r := mustRun(t, jobOf(t, ws, steps...))
	r.Answers = r.Answers[1:]
	held(t, attacks, r)
	for _, i := range r.Isolation {
		for _, l := range i.Layers {
			if l.Name == layerUser && l.On != (os.Geteuid() != 0) {
				t.Errorf("%s: %+v", i.Profile, l)
			}
		}
		if i.UID != os.Geteuid() {
			t.Errorf("%s: uid %d", i.Profile, i.UID)
		}
	}
}

// The same attacks must work without the sandbox, or the tests above prove nothing.
func TestAttacksWorkOutside(t *testing.T) {
	w := newTarget(t)
	neighbour := exec.Command("cat") // waits for its input
	if _, err := neighbour.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := neighbour.Start(); err != nil {
		t.Fatal(err)
	}
	defer neighbour.Wait()
	defer neighbour.Process.Kill()
	for _, a := range [][]string{
		{"read", w.file}, {"create", filepath.Join(w.shared, "new")}, {"open-rw", w.inside}, {"chmod", w.inside}, {"utimes", w.inside},
		{"dial", "unix", w.unix}, {"dial", "unix", w.abstract}, {"dial", "tcp", w.tcp}, {"dial", "udp", w.udp}, {"exec"}, {"list", "/etc"},
		{"read", fmt.Sprintf("/proc/%d/environ", neighbour.Process.Pid)}, {"descriptors", "/proc/self/fd"}, {"kill", strconv.Itoa(os.Getpid())}, {"socket", strconv.Itoa(unix.AF_NETLINK)},
		{"unlink", w.inside},
	} {
		if err := attack(a); err != nil {
			t.Errorf("%q does not work even outside: %v", a, err)
		}
	}
}

// What builds need must work inside.
func TestCommandsCanBuild(t *testing.T) {
	w := newTarget(t)
	for name, script := range map[string]string{
		"write":     "mkdir -p d/e && echo x > d/e/f && mv d/e/f d/g && ln d/g d/h && ln -s g d/i && rm -r d",
		"chmod":     "echo x > m && chmod 755 m && touch -d 2020-01-01 m && rm m",
		"scratch":   "echo x > $TMPDIR/t && echo y > $HOME/h && mkfifo $TMPDIR/p",
		"devices":   "echo x > /dev/null && head -c 4 /dev/urandom > /dev/zero && echo y > /dev/stderr",
		"shm":       "echo x > /dev/shm/gate-test-$$ && rm /dev/shm/gate-test-$$",
		"read":      "cat /etc/passwd > /dev/null && ls / > /dev/null",
		"signals":   "sleep 100 & kill $! && ! wait $!",
		"groups":    "trap '' TERM; kill -TERM 0; true",
		"pipelines": "yes | head -c 100000 | wc -c",
	} {
		r := mustRun(t, jobOf(t, w.ws, cmd("c", "sh", "-c", script)))
		if a := r.Answers[0]; a.Result.Status != record.Pass {
			t.Errorf("%s: %s %s", name, a.Result.Summary, a.Result.Observed)
		}
	}
}
