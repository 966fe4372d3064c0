package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
	mb  = 1_000_000
)

// A contender is one way to get a case's work done.
type contender struct {
	name   string
	argv   []string
	limit  float64 // the gate may take at most this times its time; 0: it is shown, and no bar
	strict bool    // the gate must take less, not at most as much
	memory float64 // the gate's process tree may hold at most this times as much as this one's
}

// A benchCase is one piece of work. The gate is its first contender.
type benchCase struct {
	name  string
	title string
	long  bool // seconds rather than milliseconds: fewer runs
	// Bars of the gate alone; 0: none.
	memory  int64         // what its process tree may hold
	cpu     time.Duration // what its processes may take together
	program int64         // how large its file may be
	setup   func(l *lab, dir string) ([]contender, error)
	note    string
}

// lab is what the cases are set up with.
type lab struct{ gate, goss, self, top string }

func cases() []benchCase {
	return []benchCase{
		{name: "startup", title: "start-up: one check on one file", memory: 60 * mib, setup: startup,
			note: "The gate starts a second process, puts it in its sandbox, digests the workspace and writes the evidence; goss does none of that."},
		{name: "files", title: "1,000 file_exists and 1,000 file_digest over 1,000 files of 64 KiB", setup: files,
			note: "openssl and sha256sum hash only; they compare nothing."},
		{name: "large", title: "file_digest of one file of 1 GiB", long: true, memory: 60 * mib, setup: large,
			note: "The loop is crypto/sha256 with a buffer of 1 MiB, built by the same toolchain."},
		{name: "manifest", title: "directory_manifest of 100,000 small files, and the workspace's content digest", long: true, memory: 80 * mib, setup: manifest,
			note: "sha256sum digests every file and compares no names."},
		{name: "commands", title: "1,000 command_exit of true", long: true, setup: commands,
			note: "goss runs each through sh -c; the gate runs the program itself, each in a sandbox and under a process of its own that ends its whole tree."},
		{name: "output", title: "command_exit of a command that writes 1 GiB", long: true, setup: output,
			note: "The gate keeps the beginning, the end and the digest of what a command writes, so its memory does not grow with it."},
		{name: "require", title: "require: one signed bundle and one artifact of 1 MiB", cpu: 300 * time.Millisecond, program: 60 * mb, setup: requirement,
			note: "Both verify the same signature by the same key over the same artifact; the gate also re-checks every binding of the evidence, and judges it again. The gate's program is one file, which carries Sigstore's libraries."},
		{name: "sign", title: "sign: one run, with a cosign key pair", setup: signature,
			note: "cosign signs one statement. The gate signs four, its own and the three in public formats, and verifies each. Most of the time of both goes into the key's password."},
	}
}

func startup(l *lab, dir string) ([]contender, error) {
	ws := filepath.Join(dir, "ws")
	if err := writeFiles(ws, 1, kib, kib); err != nil {
		return nil, err
	}
	name := fileName(0)
	gate, err := l.gateRun(dir, ws, []any{check("there", "file_exists", map[string]any{"path": name})})
	if err != nil {
		return nil, err
	}
	goss, err := l.gossRun(dir, map[string]any{"file": map[string]any{filepath.Join(ws, name): map[string]any{"exists": true}}})
	return []contender{gate, {name: "goss validate", argv: goss, limit: 3}}, err
}

func files(l *lab, dir string) ([]contender, error) {
	const count = 1000
	ws := filepath.Join(dir, "ws")
	if err := writeFiles(ws, count, 64*kib, 64*kib); err != nil {
		return nil, err
	}
	var checks []any
	gossFiles := map[string]any{}
	for i := range count {
		name := fileName(i)
		digest, err := digestOf(filepath.Join(ws, name))
		if err != nil {
			return nil, err
		}
		checks = append(checks, check(fmt.Sprintf("exists_%d", i), "file_exists", map[string]any{"path": name}),
			check(fmt.Sprintf("digest_%d", i), "file_digest", map[string]any{"path": name, "sha256": digest}))
		gossFiles[filepath.Join(ws, name)] = map[string]any{"exists": true, "sha256": digest}
	}
	gate, err := l.gateRun(dir, ws, checks)
	if err != nil {
		return nil, err
	}
	goss, err := l.gossRun(dir, map[string]any{"file": gossFiles})
	// xargs takes as many names as fit on one command line, which would leave the
	// second process without work.
	two := func(tool string) []string {
		return []string{"sh", "-c", `find "$0" -type f -print0 | xargs -0 -P2 -n250 ` + tool + ` >/dev/null`, ws}
	}
	return []contender{gate,
		{name: "goss validate", argv: goss, limit: 1, strict: true},
		{name: "openssl, two processes", argv: two("openssl dgst -sha256"), limit: 1},
		{name: "sha256sum, two processes", argv: two("sha256sum")}}, err
}

func large(l *lab, dir string) ([]contender, error) {
	ws := filepath.Join(dir, "ws")
	if err := writeFiles(ws, 1, gib, gib); err != nil {
		return nil, err
	}
	file := filepath.Join(ws, fileName(0))
	digest, err := digestOf(file)
	if err != nil {
		return nil, err
	}
	gate, err := l.gateRun(dir, ws, []any{check("whole", "file_digest", map[string]any{"path": fileName(0), "sha256": digest})})
	if err != nil {
		return nil, err
	}
	goss, err := l.gossRun(dir, map[string]any{"file": map[string]any{file: map[string]any{"exists": true, "sha256": digest}}})
	return []contender{gate,
		{name: "a plain Go loop", argv: []string{l.self, hashArgument, file}, limit: 1.05},
		{name: "openssl", argv: []string{"openssl", "dgst", "-sha256", file}},
		{name: "goss validate", argv: goss}}, err
}

func manifest(l *lab, dir string) ([]contender, error) {
	const count = 100_000
	ws := filepath.Join(dir, "ws")
	tree := filepath.Join(ws, "tree")
	if err := writeFiles(tree, count, 100, 900); err != nil {
		return nil, err
	}
	names := make([]string, count)
	for i := range names {
		names[i] = fileName(i)
	}
	gate, err := l.gateRun(dir, ws, []any{check("tree", "directory_manifest", map[string]any{"path": "tree", "expected_files": names})})
	shell := []string{"sh", "-c", `find "$0" -type f -print0 | xargs -0 -P2 sha256sum >/dev/null`, ws}
	return []contender{gate, {name: "find | xargs -P2 sha256sum", argv: shell, limit: 1, strict: true}}, err
}

func commands(l *lab, dir string) ([]contender, error) {
	const count = 1000
	ws := filepath.Join(dir, "ws")
	if err := writeFiles(ws, 1, kib, kib); err != nil {
		return nil, err
	}
	program, err := exec.LookPath("true")
	if err != nil {
		return nil, err
	}
	var checks []any
	gossCommands := map[string]any{}
	for i := range count {
		id := fmt.Sprintf("true_%d", i)
		checks = append(checks, check(id, "command_exit", map[string]any{"command": []string{program}}))
		gossCommands[id] = map[string]any{"exec": program, "exit-status": 0}
	}
	gate, err := l.gateRun(dir, ws, checks)
	if err != nil {
		return nil, err
	}
	goss, err := l.gossRun(dir, map[string]any{"command": gossCommands})
	loop := []string{"sh", "-c", fmt.Sprintf(`i=0; while [ $i -lt %d ]; do %s; i=$((i+1)); done`, count, program)}
	return []contender{gate, {name: "goss validate", argv: goss, limit: 2}, {name: "a shell loop", argv: loop}}, err
}

func output(l *lab, dir string) ([]contender, error) {
	ws := filepath.Join(dir, "ws")
	if err := writeFiles(ws, 1, kib, kib); err != nil {
		return nil, err
	}
	writes := func(bytes int) (contender, error) {
		sub := filepath.Join(dir, fmt.Sprint(bytes))
		if err := os.Mkdir(sub, 0o755); err != nil {
			return contender{}, err
		}
		command := []string{"head", "-c", fmt.Sprint(bytes), "/dev/zero"}
		return l.gateRun(sub, ws, []any{check("loud", "command_exit", map[string]any{"command": command})})
	}
	whole, err := writes(gib)
	if err != nil {
		return nil, err
	}
	part, err := writes(32 * mib)
	part.name, part.memory = "gate run, of 32 MiB", 1.1
	shell := []string{"sh", "-c", fmt.Sprintf("head -c %d /dev/zero | openssl dgst -sha256", gib)}
	return []contender{whole, part, {name: "head | openssl dgst -sha256", argv: shell}}, err
}

func check(id, kind string, params map[string]any) any {
	return map[string]any{"id": id, "type": kind, "timeout_seconds": 600, "params": params}
}

// gateRun freezes a contract of these checks and gives the run of it. Freezing
// is done once and beforehand, in use as here, and is not timed.
func (l *lab) gateRun(dir, ws string, checks []any) (contender, error) {
	frozen, err := l.freeze(dir, checks)
	argv := []string{l.gate, "run", frozen, "--dir", ws, "--data-dir", filepath.Join(dir, "data"), "--format", "json"}
	return contender{name: "gate run", argv: argv}, err
}

func (l *lab) freeze(dir string, checks []any) (string, error) {
	draft, frozen := filepath.Join(dir, "draft.json"), filepath.Join(dir, "frozen.json")
	if err := writeJSON(draft, map[string]any{"contract_id": "bench", "checks": checks}); err != nil {
		return "", err
	}
	if out, err := exec.Command(l.gate, "freeze", draft, "-o", frozen).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gate freeze: %w\n%s", err, out)
	}
	return frozen, nil
}

// gossRun writes a goss file (JSON is YAML) and gives the validation of it.
func (l *lab) gossRun(dir string, spec map[string]any) ([]string, error) {
	file := filepath.Join(dir, "goss.json")
	return []string{l.goss, "--gossfile", file, "validate", "--no-color"}, writeJSON(file, spec)
}

func writeJSON(file string, x any) error {
	text, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// fileName spreads the files over folders of a hundred.
func fileName(i int) string { return fmt.Sprintf("d%04d/f%02d", i/100, i%100) }

// writeFiles makes files of random bytes with sizes between least and most.
// The seed is fixed: every run of the benchmark hashes the same bytes.
func writeFiles(dir string, count int, least, most int64) error {
	source := rand.NewChaCha8([32]byte{})
	sizes := rand.New(rand.NewPCG(1, 2))
	for i := range count {
		name := filepath.Join(dir, fileName(i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		if _, err := io.CopyN(f, source, least+sizes.Int64N(most-least+1)); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

func digestOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashLoop is the least that hashing a file can cost in Go.
func hashLoop(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	h, buffer := sha256.New(), make([]byte, mib)
	for {
		n, err := f.Read(buffer)
		h.Write(buffer[:n])
		if err == io.EOF {
			fmt.Printf("%x\n", h.Sum(nil))
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// buildGoss builds the peer that has a version of its own, from peers/go.mod.
func buildGoss(top string) (string, error) {
	out := filepath.Join(top, "goss")
	build := exec.Command("go", "build", "-C", "scripts/bench/peers", "-trimpath", "-ldflags", "-s -w", "-o", out, "github.com/goss-org/goss/cmd/goss")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building goss: %w\n%s", err, text)
	}
	return out, nil
}
