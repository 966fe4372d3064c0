package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A process that leaves its session and loses its parent is no longer found by
// process group or session. But it becomes a child of the nearest ancestor
// that is a subreaper, so a subreaper that kills its direct children until it
// has none has ended everything below it. Direct children only: their ids
// cannot be reused before this process has waited for them, so nobody else is
// ever hit.

// becomeSubreaper makes this process the parent of every orphan below it.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// pollInterval is between two looks when there is nothing to wait on.
const pollInterval = time.Millisecond

// killChildren ends everything below this subreaper and reaps it. It gives how
// many processes it had to kill. sweep sends SIGKILL to at least all direct
// children and says how many; nil is killDirect. Nobody else in this process
// may be waiting for a child.
func killChildren(sweep func() (int, error)) (killed int, err error) {
	if sweep == nil {
		sweep = killDirect
	}
	deadline := time.Now().Add(killLimit)
	for {
		hit, sweepErr := sweep()
		// When nothing was hit, no list shows the child, or it may not be
		// killed: do not wait for it, look again.
		for options := waitFor(hit); ; options = unix.WALL | unix.WNOHANG {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, options, nil)
			if err == unix.ECHILD {
				return killed, nil
			}
			if err != nil && err != unix.EINTR {
				return killed, err
			}
			if pid <= 0 {
				break
			}
			if status.Signaled() {
				killed++
			}
		}
		if hit > 0 {
			continue
		}
		if time.Now().After(deadline) {
			return killed, fmt.Errorf("processes are left that cannot be ended: %w", errors.Join(sweepErr, unix.EAGAIN))
		}
		pause(pollInterval)
	}
}

func waitFor(hit int) int {
	if hit > 0 {
		return unix.WALL
	}
	return unix.WALL | unix.WNOHANG
}

func pause(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // cut short by a signal is as good
}

// killDirect sends SIGKILL to every direct child.
func killDirect() (int, error) {
	pids, err := children()
	hit := 0
	for _, pid := range pids {
		if killErr := unix.Kill(pid, unix.SIGKILL); killErr == nil {
			hit++
		} else if killErr != unix.ESRCH {
			err = errors.Join(err, killErr)
		}
	}
	return hit, err
}

// children lists the direct children of this process, those that have ended
// but were not waited for among them.
func children() ([]int, error) {
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil, err
	}
	if len(tasks) == 0 {
		return childrenByScan()
	}
	var pids []int
	for _, t := range tasks {
		list, err := os.ReadFile(t)
		if err != nil {
			continue // the thread has ended; its children went to another
		}
		for _, f := range strings.Fields(string(list)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids, nil
}

// childrenByScan is for kernels that keep no lists of children.
func childrenByScan() ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	if len(stats) == 0 {
		return nil, errors.New("/proc is not mounted")
	}
	var pids []int
	self := strconv.Itoa(os.Getpid())
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid …; the name may hold anything, ')' too.
		end := strings.LastIndexByte(string(stat), ')')
		fields := strings.Fields(string(stat[end+1:]))
		if len(fields) < 2 || fields[1] != self {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
