package worker

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// asInit is for a program that may be a container's entrypoint. The first
// process of a container becomes the parent of every orphan in it, and the
// orphans that nobody waits for stay as zombies; the kernel also does not end
// it by a signal that it has no handler for. A process that starts others and
// waits for them by number cannot at the same time wait for anybody, so the
// work is done by a child, and this process is nothing but its init: it passes
// signals on, waits for everything, and gives the child's status. It returns
// false at once in every process that is not the first.
func asInit(args []string) (status int, isInit bool) {
	if os.Getpid() != 1 {
		return 0, false
	}
	// Its environment is the gate's.
	if err := hideProcess(); err != nil {
		return complain("the first process cannot be hidden: %v", err), true
	}
	return supervise(args), true
}

// supervise runs this program again with the same arguments, environment and
// streams, and reaps whatever ends until it does.
func supervise(args []string) int {
	// From a terminal both processes would get each signal, and the child
	// would get it a second time from here; so it has a group of its own.
	sys := &syscall.SysProcAttr{Setpgid: true}
	if term.IsTerminal(0) {
		sys.Foreground, sys.Ctty = true, 0
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH)
	pid, err := syscall.ForkExec(selfExe, args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: sys})
	if err != nil {
		return complain("the gate could not be started: %v", err)
	}
	go func() {
		for s := range signals {
			// Until this process ends, nobody else can have the number: only
			// the loop below waits for it, and then returns.
			_ = unix.Kill(pid, s.(syscall.Signal))
		}
	}()
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return complain("waiting for the gate: %v", err)
		case got == pid && status.Exited():
			return status.ExitStatus()
		case got == pid && status.Signaled():
			return 128 + int(status.Signal()) // as shells and container engines say it
		}
	}
}
