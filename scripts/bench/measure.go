package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sample is what one contender took.
type sample struct {
	name    string
	wall    []time.Duration
	cpu     []time.Duration // of the whole tree
	largest int64           // bytes: the largest single process of the tree
	tree    int64           // bytes: all processes of the tree at once
}

func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// measure runs the contenders of a case in turn.
func (l *lab) measure(c benchCase, runs int) (table, error) {
	dir := filepath.Join(l.top, c.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return table{}, err
	}
	defer os.RemoveAll(dir)
	contenders, err := c.setup(l, dir)
	if err != nil {
		return table{}, err
	}
	if c.long {
		runs = max(3, runs/3)
	}
	// What the set-up wrote is still on its way to the disk; that is nobody's work.
	syscall.Sync()
	samples := make([]sample, len(contenders))
	for round := -1; round < runs; round++ {
		for i, k := range contenders {
			u, err := run(k.argv, nil)
			if err != nil {
				return table{}, fmt.Errorf("%s: %w", k.name, err)
			}
			s := &samples[i]
			s.name, s.largest = k.name, max(s.largest, u.largest)
			if round >= 0 { // the first round fills the page cache
				s.wall, s.cpu = append(s.wall, u.wall), append(s.cpu, u.cpu)
			}
		}
	}
	for i, k := range contenders {
		if _, err := run(k.argv, &samples[i].tree); err != nil {
			return table{}, fmt.Errorf("%s: %w", k.name, err)
		}
	}
	program, err := os.Stat(l.gate)
	if err != nil {
		return table{}, err
	}
	return table{of: c, contenders: contenders, samples: samples, program: program.Size()}, nil
}

// usage is what one run of a program took.
type usage struct {
	wall, cpu time.Duration
	largest   int64 // bytes
}

// run runs a program to its end. With tree it samples the memory of the whole
// process tree, which costs time, so that the wall time is then no measurement.
func run(argv []string, tree *int64) (usage, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return usage{}, err
	}
	ended := make(chan struct{})
	sampled := make(chan int64, 1)
	if tree != nil {
		go func() { sampled <- watch(cmd.Process.Pid, ended) }()
	}
	err := cmd.Wait()
	wall := time.Since(started)
	close(ended)
	if tree != nil {
		*tree = <-sampled
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
		}
		return usage{}, err
	}
	// The kernel's figures cover the program and the children that it waited for.
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	kernel := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return usage{wall: wall, cpu: cpu, largest: kernel.Maxrss * kib}, nil
}

// watch gives the most memory that the tree below pid was seen to hold.
func watch(pid int, ended <-chan struct{}) int64 {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	var most int64
	for {
		most = max(most, treeMemory(pid))
		select {
		case <-ended:
			return most
		case <-tick.C:
		}
	}
}

// treeMemory is the private memory of every process of the tree, and the
// largest shared part once: the processes are mostly the same program, whose
// text is in memory once.
func treeMemory(pid int) int64 {
	var private, shared int64
	waiting := []int{pid}
	for len(waiting) > 0 {
		p := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		resident, common := statm(p)
		private += resident - common
		shared = max(shared, common)
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p))
		for _, list := range lists {
			text, err := os.ReadFile(list)
			if err != nil {
				continue // the thread has ended
			}
			for _, field := range strings.Fields(string(text)) {
				if child, err := strconv.Atoi(field); err == nil {
					waiting = append(waiting, child)
				}
			}
		}
	}
	return private + shared
}

// statm gives the resident bytes of a process and how many of them are shared;
// zeros when it has ended.
func statm(pid int) (resident, shared int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return 0, 0
	}
	pages := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0
		}
		return n * int64(os.Getpagesize())
	}
	return pages(fields[1]), pages(fields[2])
}
