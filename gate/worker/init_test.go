package worker

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// initMain is a first process and what it supervises. A subreaper adopts
// orphans as the first process of a container does, and needs no container.
func initMain(args []string) int {
	switch args[0] {
	case "init":
		if err := becomeSubreaper(); err != nil {
			return complain("%v", err)
		}
		return supervise(append([]string{"attacker", "inited"}, args[1:]...))
	case "inited":
		return initMain(args[1:])
	case "orphans":
		return orphans()
	case "signal":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("ready")
		<-c
		return 9
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "short":
		return 0
	}
	return 1
}

// orphans leaves twenty short-lived processes behind, and ends well once its
// parent has no child but this one.
func orphans() int {
	for range 20 {
		if status := start("spawn", "between-short"); status != 0 {
			return status
		}
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", os.Getppid()))
		if err != nil {
			return complain("%v", err)
		}
		var all []string
		for _, l := range lists {
			if text, err := os.ReadFile(l); err == nil {
				all = append(all, strings.Fields(string(text))...)
			}
		}
		if len(all) == 1 && all[0] == strconv.Itoa(os.Getpid()) {
			return 7
		}
	}
	return complain("orphans are left")
}

func TestSupervise(t *testing.T) {
	run := func(what string, then func(*exec.Cmd, *bufio.Reader)) int {
		t.Helper()
		c := exec.Command(selfExe, "init", what)
		c.Args[0], c.Stderr = "attacker", os.Stderr
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if then != nil {
			then(c, bufio.NewReader(out))
		}
		_ = c.Wait() // the status is what counts
		return c.ProcessState.ExitCode()
	}
	if got := run("orphans", nil); got != 7 {
		t.Errorf("with orphans it ends with %d", got)
	}
	if got := run("die", nil); got != 128+int(syscall.SIGKILL) {
		t.Errorf("killed, it ends with %d", got)
	}
	if got := run("signal", func(c *exec.Cmd, out *bufio.Reader) {
		if _, err := out.ReadString('\n'); err != nil {
			t.Error(err)
		}
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}); got != 9 {
		t.Errorf("told to end, it ends with %d", got)
	}
	if _, is := asInit(os.Args); is {
		t.Error("this test is no first process")
	}
}
