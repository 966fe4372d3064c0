// Command bench measures the gate beside what a person would use in its place,
// in one run, on the same files.
//
//	go run ./scripts/bench -gate bin/gate [-only startup,files] [-runs 7] [-markdown docs/performance.md]
//
// Each case has several contenders. They are run in turn, A B C A B C …, so that
// whatever else the machine does falls on all of them alike, and the medians are
// compared. A contender that does not do its work (an exit status other than
// expected) ends the benchmark: the time of a failure is no time. One more run of
// each, untimed, samples the memory of its whole process tree.
//
// A case may have a bar, the ratio to a peer or a number of bytes that the gate
// has set itself. A missed bar is printed as such and does not change the exit
// status: a benchmark on a busy machine is a measurement, not a test.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// hashArgument makes this program the plain SHA-256 loop that a case compares
// with, so that both are compiled by the same toolchain.
const hashArgument = "-sha256-loop"

func main() {
	if len(os.Args) == 3 && os.Args[1] == hashArgument {
		exitOn(hashLoop(os.Args[2]))
		return
	}
	gate := flag.String("gate", "bin/gate", "the gate to measure")
	only := flag.String("only", "", "comma-separated names of the cases to run; all by default")
	runs := flag.Int("runs", 7, "timed runs of each contender (a third of them, at least 3, for the long cases)")
	markdown := flag.String("markdown", "", "write the table to this file too, as Markdown")
	flag.Parse()
	exitOn(bench(*gate, *only, *runs, *markdown))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(gate, only string, runs int, markdown string) error {
	gate, err := filepath.Abs(gate)
	if err != nil {
		return err
	}
	top, err := os.MkdirTemp("", "gate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(top)
	l := &lab{gate: gate, top: top}
	if l.self, err = os.Executable(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "bench: building goss")
	if l.goss, err = buildGoss(top); err != nil {
		return err
	}
	var wanted []string
	if only != "" {
		wanted = strings.Split(only, ",")
	}
	var measured []table
	for _, c := range cases() {
		if wanted != nil && !slices.Contains(wanted, c.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s\n", c.title)
		t, err := l.measure(c, runs)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		t.text(os.Stdout)
		measured = append(measured, t)
	}
	if len(measured) == 0 {
		return fmt.Errorf("no case is called %q", only)
	}
	if markdown == "" {
		return nil
	}
	return os.WriteFile(markdown, []byte(page(measured, machine(), runs)), 0o644)
}

// machine says what the numbers were measured on. Whether the processor hashes
// in hardware decides how much of a case is hashing.
func machine() string {
	model, hardware := "unknown processor", "without SHA instructions"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			name, value, _ := strings.Cut(line, ":")
			switch name = strings.TrimSpace(name); {
			case name == "model name":
				model = strings.TrimSpace(value)
			case name == "flags" && slices.Contains(strings.Fields(value), "sha_ni"):
				hardware = "with SHA instructions"
			}
		}
	}
	return fmt.Sprintf("%d × %s %s, %s/%s, %s", runtime.NumCPU(), model, hardware, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
