package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/record"
)

var longAgo = time.Unix(1e9, 0)

// A lingering process holds a FIFO of the workspace open: while any is alive,
// the reader of the FIFO does not see its end. That is how these tests wait
// for the disappearance of processes whose ids they do not know.

const patience = 20 * time.Second // for what must happen; a test that needs it all has failed

// linger is a process that means to stay: it minds no signal that it can
// ignore, and says on the FIFO that it is there.
func linger(fifo string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("x")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		if unix.Pause() != unix.EINTR {
			return 0
		}
	}
}

// spawnLingering starts n lingering processes, each by a go-between that ends
// at once, each in a session of its own. "-1" starts one after the other for
// ever, "1+" one more in this very process.
func spawnLingering(n, fifo string) int {
	if n == "between" {
		return start("linger", fifo)
	}
	count, stay := strings.CutSuffix(n, "+")
	for i, err := 0, error(nil); ; i++ {
		var total int
		if total, err = strconv.Atoi(count); err != nil || i == total {
			break
		}
		if status := start("spawn", "between", fifo); status != 0 {
			return status
		}
	}
	if stay {
		return linger(fifo)
	}
	return 0
}

func start(args ...string) int {
	c := exec.Command(selfExe, args...)
	c.Args[0] = "attacker"
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err := c.Start()
	if err == nil && args[0] == "spawn" {
		err = c.Wait()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// aliveness is the reader of a FIFO.
type aliveness struct {
	path string
	file *os.File
}

func newAliveness(t testing.TB, ws string) *aliveness {
	t.Helper()
	a := &aliveness{path: filepath.Join(ws, "alive")}
	if err := unix.Mkfifo(a.path, 0o666); err != nil {
		t.Fatal(err)
	}
	own(t, a.path)
	var err error
	if a.file, err = os.OpenFile(a.path, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.file.Close() })
	return a
}

// arrivals waits until n processes have said that they are there.
func (a *aliveness) arrivals(n int) error {
	// Before the first writer, a FIFO looks ended; so wait for it by poll.
	for have := 0; have < n; {
		poll := []unix.PollFd{{Fd: int32(a.file.Fd()), Events: unix.POLLIN}}
		switch got, err := unix.Poll(poll, int(patience.Milliseconds())); {
		case err == unix.EINTR:
			continue
		case err != nil || got == 0:
			return fmt.Errorf("%d of %d processes came up (%v)", have, n, err)
		}
		got, err := unix.Read(int(a.file.Fd()), make([]byte, n-have))
		if err != nil && err != unix.EAGAIN {
			return err
		}
		if got > 0 {
			have += got
		}
	}
	return nil
}

// gone waits until no process holds the FIFO.
func (a *aliveness) gone(t testing.TB) {
	t.Helper()
	// A FIFO that never had a writer has no end either: be one.
	w, err := os.OpenFile(a.path, os.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	deadline := time.Now().Add(patience)
	for buf := make([]byte, 4096); ; {
		poll := []unix.PollFd{{Fd: int32(a.file.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, int(time.Until(deadline).Milliseconds()))
		if n == 0 || (err != nil && err != unix.EINTR) {
			t.Fatalf("processes are left (%v)", err)
		}
		got, err := unix.Read(int(a.file.Fd()), buf)
		if got == 0 && err == nil {
			return
		}
	}
}

func TestLeftoversOfACommandAreEnded(t *testing.T) {
	ws := workspace(t)
	program, alive := attacker(t, ws), newAliveness(t, ws)
	job := jobOf(t, ws, cmd("leaves", program, "spawn", "7", alive.path), cmd("clean", "/bin/true"),
		cmd("daemon", "sh", "-c", "sleep 1000 & exit 3"))
	r := mustRun(t, job)
	want(t, r.Answers[0], record.Pass, "exit 0")
	if n := observed(t, r.Answers[0]).Leftovers; n != 7 {
		t.Errorf("%d processes outlived the command; want 7", n)
	}
	want(t, r.Answers[2], record.Fail, "exit 3")
	if n := observed(t, r.Answers[2]).Leftovers; n != 1 {
		t.Errorf("%d processes outlived the shell; want 1", n)
	}
	if n := observed(t, r.Answers[1]).Leftovers; n != 0 {
		t.Errorf("%d processes outlived /bin/true", n)
	}
	alive.gone(t)
}

func TestTimeoutEndsTheWholeTree(t *testing.T) {
	ws := workspace(t)
	program, alive := attacker(t, ws), newAliveness(t, ws)
	slow := cmd("slow", program, "spawn", "5+", alive.path)
	slow.Timeout = 4
	r := mustRun(t, jobOf(t, ws, slow, cmd("next", "echo", "on")))
	want(t, r.Answers[0], record.Inconclusive, "verify.timeout")
	if n := observed(t, r.Answers[0]).Leftovers; n == 0 {
		t.Error("the command had started nothing when its time was over")
	}
	want(t, r.Answers[1], record.Pass, "exit 0")
	alive.gone(t)
}

// Processes that fork faster than one can look are ended too.
func TestForkChainIsEnded(t *testing.T) {
	ws := workspace(t)
	chain := cmd("chain", "sh", "-c", `f() { f & }; trap "" TERM; (while :; do (sleep 0 &) ; done) & (f) & while :; do (:&) ; done`)
	chain.Timeout = 1
	r := mustRun(t, jobOf(t, ws, chain, cmd("next", "echo", "on")))
	want(t, r.Answers[0], record.Inconclusive, "verify.timeout")
	want(t, r.Answers[1], record.Pass, "exit 0")
}

func TestCancelledRunLeavesNothing(t *testing.T) {
	ws := workspace(t)
	program, alive := attacker(t, ws), newAliveness(t, ws)
	job := jobOf(t, ws, does("reading", "ok"), cmd("long", program, "spawn", "3+", alive.path))
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	go func() {
		if err := alive.arrivals(4); err != nil {
			t.Error(err)
		}
		cancel(stop)
	}()
	if _, err := Run(ctx, job); !errors.Is(err, stop) {
		t.Errorf("a cancelled run gives %v", err)
	}
	alive.gone(t)
	if kids, err := children(); err != nil || len(kids) > 0 {
		t.Errorf("children are left: %v, %v", kids, err)
	}
}

// gateMain is a gate in a process of its own: the victim of the next test.
func gateMain(ws string) int {
	self := filepath.Join(ws, "attacker")
	alive := filepath.Join(ws, "alive")
	job := jobOf(&failing{}, ws, does("first", "ok"), cmd("some", self, "spawn", "3", alive), does("between", "exists attacker"), cmd("forever", self, "spawn", "-1", alive))
	job.Content = true
	job.Progress = func(e Event) { fmt.Println(e.Step.ID, e.Answer != nil) }
	r, err := Run(context.Background(), job)
	fmt.Println("ended:", r.Failure, err)
	return 0
}

// failing stands for a test in the process of gateMain.
type failing struct{ testing.TB }

func (failing) Helper()           {}
func (failing) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Whatever is killed at whatever moment, nothing stays behind.
func TestKilledAtAnyMoment(t *testing.T) {
	const rounds = 24
	random := rand.New(rand.NewPCG(2, 7))
	for round := range rounds {
		victim := []string{"gate", roleReading, roleKeeper, roleCommand}[round%4]
		processes := random.IntN(20) // after so many have come up
		if round < 4 {
			processes = 0
		}
		t.Run(fmt.Sprintf("%s-%d-%d", victim, round, processes), func(t *testing.T) { killOne(t, victim, processes) })
	}
}

func killOne(t *testing.T, victim string, after int) {
	ws := workspace(t)
	attacker(t, ws)
	alive := newAliveness(t, ws)
	gate := exec.Command(selfExe, "gate", ws)
	gate.Args[0] = "attacker"
	// Its scratch folder stays when it is killed; here it goes with the test.
	gate.Env = append(os.Environ(), "TMPDIR="+workspace(t))
	out, err := gate.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil { // the first step was ordered
		t.Fatal(err)
	}
	go io.Copy(io.Discard, lines)
	if err := alive.arrivals(after); err != nil {
		t.Fatal(err)
	}
	handles := descendants(t, gate.Process.Pid)
	hit := false
	for _, h := range handles {
		if h.role == victim {
			if err := unix.PidfdSendSignal(h.fd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
				t.Fatal(err)
			}
			hit = true
		}
	}
	if victim == "gate" || !hit { // it has not been started yet: then the gate dies instead
		if err := gate.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	err = gate.Wait()
	if victim != "gate" && hit && err != nil {
		t.Errorf("the gate did not survive the death of its %s: %v", victim, err)
	}
	for _, h := range handles {
		poll := []unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, int(patience.Milliseconds())); n != 1 {
			t.Errorf("%s (%d) is left: %v", h.role, h.pid, err)
		}
		unix.Close(h.fd)
	}
	alive.gone(t)
	// Those that were started after the look around are gone as well.
	for deadline := time.Now().Add(patience); ; {
		left := workersOf(t, gate.Process.Pid)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("workers are left: %q", left)
		}
	}
}

// workersOf finds worker processes by the gate that they were started by.
func workersOf(t *testing.T, gate int) (found []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		if parts := strings.Split(string(text), "\x00"); parts[0] == argv0 && len(parts) > 2 && parts[2] == strconv.Itoa(gate) {
			found = append(found, name+" "+parts[1])
		}
	}
	return found
}

type handle struct {
	pid, fd int
	role    string
}

// descendants finds everything below a process, and holds on to it by pidfds:
// those cannot be mistaken for a later process of the same number.
func descendants(t *testing.T, pid int) []handle {
	t.Helper()
	var out []handle
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lists {
		text, err := os.ReadFile(l)
		if err != nil {
			continue // the thread has ended
		}
		for _, f := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			fd, err := unix.PidfdOpen(child, 0)
			if err != nil {
				continue // it has ended
			}
			h := handle{pid: child, fd: fd}
			if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); err == nil {
				if parts := strings.Split(string(line), "\x00"); parts[0] == argv0 {
					h.role = parts[1]
				}
			}
			out = append(append(out, h), descendants(t, child)...)
		}
	}
	return out
}
