package worker

import (
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The keeper stands between the gate and its command worker, and does one
// thing: when either of them ends, however it ends, the keeper ends everything
// below itself. It is a subreaper, so whatever loses its parent down there
// becomes its child; the gate's own process never is one, for it would adopt
// processes that are none of its business.
//
// It keeps the worker's end of the reply stream open until nothing is left:
// when the gate reads the end of the stream, the tree is gone.

// keep is the keeper's whole life; args are for the worker.
func keep(args []string) int {
	if err := becomeSubreaper(); err != nil {
		return complain("the keeper cannot adopt orphans: %v", err)
	}
	runtime.LockOSThread() // the worker is told when this thread ends
	control := os.NewFile(fdControl, "control")
	pid, err := syscall.ForkExec(selfExe, append([]string{argv0, roleCommand}, args...), &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, fdOrders, fdReplies},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM},
	})
	if err != nil {
		return complain("the command worker could not be started: %v", err)
	}
	// With the keeper holding it, an order to a dead worker would be written
	// and never read.
	unix.Close(fdOrders)
	var (
		mu    sync.Mutex
		ended bool
	)
	go func() {
		// The gate never writes here: this is how its end is noticed.
		_, _ = control.Read(make([]byte, 1))
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended just now
		}
	}()
	status := awaitWorker(pid, func() {
		mu.Lock()
		ended = true
		mu.Unlock()
	})
	if _, err := killChildren(nil); err != nil {
		return complain("%v", err)
	}
	if status.Exited() {
		return status.ExitStatus()
	}
	return exitBroken
}

// awaitWorker waits until the worker has ended, but leaves it a zombie, whose
// number nobody else can get, until told has returned.
func awaitWorker(pid int, told func()) unix.WaitStatus {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		told()
		var status unix.WaitStatus
		for {
			if _, err := unix.Wait4(pid, &status, 0, nil); err != unix.EINTR {
				return status
			}
		}
	}
}
