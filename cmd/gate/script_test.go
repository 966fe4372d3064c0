package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	_ "github.com/mattn/go-sqlite3"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/verdictgate/verdictgate/checks"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/worker"
)

var update = flag.Bool("update", false, "write the golden texts inside the scripts")

// TestMain lets the test binary be the program: as the worker that a run
// starts, which is this same file again, and as the command "gate" of a script.
func TestMain(m *testing.M) {
	if status, ok := worker.Main(context.Background(), checks.All(), os.Args); ok {
		os.Exit(status)
	}
	testscript.Main(m, map[string]func(){"gate": main})
}

const scripts = "../../testdata/script"

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 scripts,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"sqlite":    makeDatabase,
			"fifo":      makeFIFO,
			"edit":      edit,
			"jsonget":   jsonGet,
			"jsonenv":   jsonEnv,
			"tidy":      tidy,
			"lines":     countLines,
			"size":      makeSized,
			"nothing":   nothingIn,
			"seal":      sealContract,
			"reattest":  reattest,
			"readfifo":  readFIFO,
			"noprocess": noProcess,
			"killwork":  killWorkers,
			"withhold":  withhold,
			"token":     putToken,
			"keypair":   makeKeyPair,
		},
	})
}

// setup gives every script a data folder beside its work folder and an
// environment in which nothing of the machine shows.
func setup(e *testscript.Env) error {
	for _, dir := range []string{"ws", "home"} {
		if err := os.MkdirAll(filepath.Join(e.WorkDir, dir), 0o755); err != nil {
			return err
		}
	}
	// A worker may run as another user than the test; it must reach its scratch
	// folder, which lies below TMPDIR and so below these.
	for _, dir := range []string{filepath.Dir(e.WorkDir), e.WorkDir} {
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	e.Setenv("GATE_DATA_DIR", filepath.Join(e.WorkDir, "data"))
	e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
	e.Setenv("XDG_DATA_HOME", "")
	e.Setenv("LC_ALL", "C.UTF-8")
	e.Setenv("GITHUB_ACTIONS", "")
	return nil
}

// exits N PROGRAM ARGS…: runs a program and wants exactly that exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		got = ended.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d\n[stdout]\n%s[stderr]\n%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// sqlite FILE SQLFILE: makes a database.
func makeDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sqlite FILE SQLFILE")
	}
	file := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	db, err := sql.Open("sqlite3", "file:"+file)
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(ts.ReadFile(args[1]))
	ts.Check(err)
}

// fifo FILE: makes a FIFO.
func makeFIFO(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fifo FILE")
	}
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o644))
}

// readfifo FILE: waits until something writes to a FIFO.
func readFIFO(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: readfifo FILE")
	}
	_, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
}

// noprocess WORD: no process has the word among its arguments.
func noProcess(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: noprocess WORD")
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ts.Check(err)
	for _, f := range files {
		if line := readProc(f); strings.Contains(line, args[0]) {
			ts.Fatalf("%s is alive: %q", filepath.Dir(f), line)
		}
	}
}

// killwork PIDFILE: kills the workers of the gate whose process id is in the file.
func killWorkers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: killwork PIDFILE")
	}
	parent := strings.TrimSpace(ts.ReadFile(args[0]))
	killed := 0
	var children strings.Builder
	tasks, err := filepath.Glob("/proc/" + parent + "/task/*/children")
	ts.Check(err)
	for _, task := range tasks {
		children.WriteString(readProc(task))
	}
	for _, pid := range strings.Fields(children.String()) {
		if strings.HasPrefix(readProc("/proc/"+pid+"/cmdline"), "gate-worker") {
			n, err := strconv.Atoi(pid)
			ts.Check(err)
			ts.Check(syscall.Kill(n, syscall.SIGKILL))
			killed++
		}
	}
	if killed == 0 {
		ts.Fatalf("process %s has no workers", parent)
	}
}

// readProc reads a file of /proc; "" when the process has gone.
func readProc(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(data)
}

// withhold FILE: makes a file that its check cannot read. Root may read every
// file, so for root the folder is given to nobody, as whose owner the check runs.
func withhold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: withhold FILE")
	}
	file := ts.MkAbs(args[0])
	ts.Check(os.Chmod(file, 0))
	if os.Geteuid() == 0 {
		const nobody = 65534
		ts.Check(os.Chown(filepath.Dir(file), nobody, nobody))
	}
}

// size FILE BYTES: makes a file of that size without writing it.
func makeSized(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: size FILE BYTES")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(f.Truncate(n))
	ts.Check(f.Close())
}

// edit FILE OLD NEW: replaces the first occurrence, which must be there.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s holds no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o644))
}

// find reads a file (or stdout) that must be exactly one JSON document, and
// gives what is at a pointer.
func find(ts *testscript.TestScript, file, pointer string) (*strictjson.Value, bool) {
	doc, err := strictjson.Parse([]byte(ts.ReadFile(file)), strictjson.DocumentLimits)
	if err != nil {
		ts.Fatalf("%s is not one JSON document: %v\n%s", file, err, ts.ReadFile(file))
	}
	p, err := strictjson.ParsePointer(pointer)
	ts.Check(err)
	v, _, why := p.Find(&doc.Root)
	return v, why == ""
}

// jsonget FILE POINTER VALUE: the document holds that JSON value at the
// pointer. With ! it does not. A VALUE that begins with ~ is a regular
// expression for a string.
func jsonGet(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] jsonget FILE POINTER VALUE")
	}
	v, found := find(ts, args[0], args[1])
	ok := false
	if pattern, isPattern := strings.CutPrefix(args[2], "~"); isPattern {
		ok = found && regexp.MustCompile(pattern).MatchString(v.Text)
	} else {
		want, err := strictjson.Parse([]byte(args[2]), strictjson.DocumentLimits)
		ts.Check(err)
		ok = found && strictjson.Equal(v, &want.Root)
	}
	if ok == neg {
		got := "nothing"
		if found {
			got = string(strictjson.Canonical(v))
		}
		ts.Fatalf("%s has %s at %q", args[0], got, args[1])
	}
}

// jsonenv NAME FILE POINTER: sets a variable to a string of a document.
func jsonEnv(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: jsonenv NAME FILE POINTER")
	}
	v, found := find(ts, args[1], args[2])
	if !found || v.Kind != strictjson.String {
		ts.Fatalf("%s has no string at %q", args[1], args[2])
	}
	ts.Setenv(args[0], v.Text)
}

// tidy FILE TO: copies a text (or stdout, stderr) with what differs between two
// runs replaced by words, so that it can be compared with a golden text.
func tidy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tidy FILE TO")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "$WORK")
	for _, r := range []struct{ pattern, to string }{
		// Which walls stand is the machine's; other scripts look at that.
		{`(?m)^  · isolation of .*\n`, ""},
		{`limitations\n\n`, ""},
		{`"limitations": \[[^\]]*\]`, `"limitations": []`},
		{`vr_\d{8}T\d{6}_[0-9a-f]{12}`, "RUN"},
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`, "TIME"},
		{`sha256:[0-9a-f]{12,64}`, "sha256:DIGEST"},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.to)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// lines FILE N: the text has so many lines.
func countLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	text := ts.ReadFile(args[0])
	if got := strings.Count(text, "\n"); strconv.Itoa(got) != args[1] {
		ts.Fatalf("%s has %d lines, want %s:\n%s", args[0], got, args[1], text)
	}
}

// sealContract (seal FILE) stamps a contract as frozen whatever stands in it, as another tool
// or build may have done.
func sealContract(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: seal FILE")
	}
	doc, err := strictjson.Parse([]byte(ts.ReadFile(args[0])), strictjson.ContractLimits)
	ts.Check(err)
	bare := doc.Root.Without("digest")
	bare.Set("frozen_at", strictjson.Str("2026-01-02T03:04:05+00:00"))
	bare.Set("digest", strictjson.Str(strictjson.DigestOf(&bare).String()))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), strictjson.Indent(&bare), 0o644))
}

// reattest FILE: gives an attestation the digest that it now has, as a forger
// would.
func reattest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: reattest FILE")
	}
	doc, err := strictjson.Parse([]byte(ts.ReadFile(args[0])), strictjson.ContractLimits)
	ts.Check(err)
	bare := doc.Root.Without("attestation_digest")
	doc.Root.Set("attestation_digest", strictjson.Str(strictjson.DigestOf(&bare).String()))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), strictjson.Canonical(&doc.Root), 0o644))
}

// nothing DIR: the folder holds no file, or is not there.
func nothingIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nothing DIR")
	}
	err := filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			return fmt.Errorf("%s is there", path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		ts.Fatalf("%v", err)
	}
}
