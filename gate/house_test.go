package gate_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/verdictgate/verdictgate/checks"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// The walls of the house. Each one says why it stands; a change that must
// move a wall moves it here, in the open.

const module = "github.com/verdictgate/verdictgate"

// floors are the rooms from the lowest up. A room may import rooms of lower
// floors only: so there is one direction to read the code in, and no room can
// come to depend on what uses it.
var floors = [][]string{
	{"gate/fault"},
	{"gate/strictjson"},
	{"gate/secret"},
	{"gate/record", "gate/contract"},
	{"gate/check", "gate/match", "gate/verdict"},
	{"gate/roots", "gate/sqlread", "gate/source", "gate/draft"},
	{"gate/plan", "gate/bundle", "gate/unpack"},
	{"gate/seal"},
	{"gate/worker", "gate/carry", "gate/retry", "gate/policy"},
	{"gate/seal/sigstore", "gate/change"},
	{"gate/forge"},
	{"gate"},
}

// beside are the rooms that are no floor of the spine, with what each may
// import of the module.
var beside = map[string][]string{
	// A check reaches the world through its Pass alone; match and sqlread are
	// there for their vocabulary, to validate parameters with.
	"checks/*": {"gate/fault", "gate/strictjson", "gate/record", "gate/check", "gate/match", "gate/sqlread"},
	"checks":   {"gate/check", "checks/*"},
	// The harness of check authors is built from the real rooms, so that a case
	// meets what a run meets.
	"gate/check/checktest": {"gate/fault", "gate/strictjson", "gate/record", "gate/check", "gate/roots", "gate/sqlread", "gate/contract", "gate/plan", "gate/worker"},
	// Bundles for the tests of those who read them.
	"gate/bundle/bundletest": {"gate/strictjson", "gate/record", "gate/contract", "gate/bundle"},
	// A reporter shows what was read back. It can reach nothing that judges.
	"reporter": {"gate/fault", "gate/strictjson", "gate/record", "gate/contract", "gate/check", "gate/verdict", "gate/bundle", "gate/plan", "gate", "reporter/*"},
	// What it posts, it hands to the forge in the forge's own words.
	"reporter/github":   {"gate/fault", "gate/strictjson", "gate/record", "gate/contract", "gate/verdict", "gate/bundle", "gate/forge", "reporter"},
	"reporter/artifact": {"gate/fault", "gate/strictjson", "gate/unpack", "gate/retry"},
	"reporter/*":        {"gate/fault", "gate/strictjson", "gate/record", "gate/contract", "gate/check", "gate/verdict", "gate/bundle", "gate/plan", "gate", "reporter", "reporter/*"},
	"cmd/gate":          {"gate", "gate/*", "gate/seal/sigstore", "checks", "reporter", "reporter/*", "cmd/gate/action"},
	"cmd/gate/*":        {"gate", "gate/*", "gate/seal/sigstore", "reporter", "reporter/*"},
	"cmd/*":             {"gate", "gate/*", "gate/seal/sigstore", "checks", "reporter", "reporter/*"},
	"scripts/*":         {},
}

func TestHouseFloors(t *testing.T) {
	for _, p := range packages(t) {
		room := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		may, ok := allowed(room)
		if !ok {
			t.Errorf("%s is a new room: give it a floor in this file", room)
			continue
		}
		for _, imported := range p.Imports {
			inner, ours := strings.CutPrefix(imported, module+"/")
			if ours && !slices.ContainsFunc(may, func(pattern string) bool { return matches(pattern, inner) }) {
				t.Errorf("%s imports %s, which is not below it", room, inner)
			}
		}
	}
}

// allowed gives the patterns of the rooms that a room may import.
func allowed(room string) ([]string, bool) {
	var below []string
	for _, floor := range floors {
		if slices.Contains(floor, room) {
			return below, true
		}
		below = append(below, floor...)
	}
	if may, ok := beside[room]; ok {
		return may, true
	}
	may, ok := beside[path.Dir(room)+"/*"]
	return may, ok
}

func matches(pattern, room string) bool {
	ok, err := path.Match(pattern, room)
	return err == nil && ok
}

// worldly are packages through which a check could reach the world past its
// Pass, and so past the roots, the sandbox and the evidence.
var worldly = []string{"os", "os/*", "io/ioutil", "net", "net/*", "syscall", "unsafe", "plugin", "path/filepath", "database/*", "golang.org/x/sys/*"}

// pure are packages among them that only parse text.
var pure = []string{"net/url", "net/netip"}

func TestHouseChecksReachTheWorldOnlyThroughThePass(t *testing.T) {
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.ImportPath, module+"/checks/") {
			continue
		}
		for _, imported := range p.Imports {
			if !slices.Contains(pure, imported) && slices.ContainsFunc(worldly, func(pattern string) bool { return matches(pattern, imported) }) {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

// processCalls start or signal processes. They stand in three rooms: worker,
// which contains what it starts; source, which starts git; and carry, which
// becomes another program.
var processCalls = []string{
	"os.StartProcess", "os.FindProcess",
	"syscall.Exec", "syscall.ForkExec", "syscall.StartProcess", "syscall.Kill", "syscall.Wait4", "syscall.Syscall", "syscall.RawSyscall",
	"unix.Exec", "unix.Kill", "unix.Wait4", "unix.Waitid", "unix.Prctl", "unix.Setrlimit", "unix.PidfdOpen", "unix.PidfdSendSignal", "unix.Unshare",
	"unix.Syscall", "unix.RawSyscall",
}

func TestHouseProcessesAreStartedInFewRooms(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || f.in("gate/worker", "gate/source", "gate/carry", "gate/check/checktest", "scripts/bench") {
			continue
		}
		for _, spec := range f.syntax.Imports {
			if spec.Path.Value == `"os/exec"` {
				t.Errorf("%s imports os/exec", f.at(spec))
			}
		}
		f.calls(func(at ast.Node, name string) {
			if slices.Contains(processCalls, name) {
				t.Errorf("%s calls %s", f.at(at), name)
			}
		})
	}
}

// sealing are the libraries of signing, with everything that they bring.
var sealing = []string{"github.com/sigstore/", "github.com/theupdateframework/", "github.com/secure-systems-lab/", "google.golang.org/protobuf", "github.com/go-openapi/"}

// TestHouseOnlyOneRoomKnowsSigstore: these libraries cost every process that
// links them some milliseconds before main, and they change often. One room
// stands between them and the rest.
func TestHouseOnlyOneRoomKnowsSigstore(t *testing.T) {
	known := false
	for _, f := range sources(t) {
		for _, spec := range f.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(sealing, func(prefix string) bool { return strings.HasPrefix(imported, prefix) }) {
				continue
			}
			// A test may make a key as cosign makes it.
			if !f.in("gate/seal/sigstore") && !(f.test && f.in("cmd/gate")) {
				t.Errorf("%s imports %s", f.at(spec), imported)
			}
			known = true
		}
	}
	if !known {
		t.Error("no room imports any of them: the wall has lost its subject")
	}
}

// TestHouseOnlyOneRoomKnowsGitHub: its client takes an empty answer for an empty
// list, keeps a book of its own about limits, and follows redirects. One room
// knows that.
func TestHouseOnlyOneRoomKnowsGitHub(t *testing.T) {
	known := false
	for _, f := range sources(t) {
		for _, spec := range f.syntax.Imports {
			if !strings.HasPrefix(spec.Path.Value, `"github.com/google/go-github/`) {
				continue
			}
			if !f.in("gate/forge") {
				t.Errorf("%s imports %s", f.at(spec), spec.Path.Value)
			}
			known = true
		}
	}
	if !known {
		t.Error("no room imports it: the wall has lost its subject")
	}
}

// TestHouseSource holds what each file must not do.
func TestHouseSource(t *testing.T) {
	for _, f := range sources(t) {
		f.calls(func(at ast.Node, name string) {
			// A sleep is a guess about a machine that is busy today.
			if name == "time.Sleep" {
				t.Errorf("%s calls time.Sleep: wait for an event, not for a time", f.at(at))
			}
			// A test that can skip itself is green where it should be red.
			if _, method, _ := strings.Cut(name, "."); f.test && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method) {
				t.Errorf("%s calls %s: install what is missing", f.at(at), name)
			}
			// Only main knows that it is a program; anything else may be run in a test.
			if name == "os.Exit" && f.name != "cmd/gate/main.go" && !f.test && !f.in("scripts/bench") {
				t.Errorf("%s calls os.Exit", f.at(at))
			}
		})
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			// What init does is done in every process, the worker's too, and in an
			// order that nobody sees.
			if fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s is an init function", f.at(fn))
			}
			most := maxFunctionLines
			if f.test {
				most = maxTestLines
			}
			if n := f.lines(fn); n > most {
				t.Errorf("%s: %s has %d lines, at most %d fit a reader", f.at(fn), fn.Name.Name, n, most)
			}
			if n := fn.Type.Params.NumFields(); n > maxParameters && !f.test {
				t.Errorf("%s: %s has %d parameters; more than %d are a struct", f.at(fn), fn.Name.Name, n, maxParameters)
			}
		}
	}
}

const (
	maxFunctionLines = 80
	maxTestLines     = 100 // much of a test is its table
	maxParameters    = 5
)

// TestHousePackagesSayWhatTheyAre: the package comment is where a reader
// starts, and a name that says nothing gathers everything.
func TestHousePackagesSayWhatTheyAre(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.Doc) < 20 {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
		if slices.Contains([]string{"util", "utils", "helper", "helpers", "common", "base", "misc"}, p.Name) {
			t.Errorf("%s: the name says nothing", p.ImportPath)
		}
	}
}

func TestHouseCheckTypesAreSortedAndWhole(t *testing.T) {
	var names []string
	for _, c := range checks.All() {
		names = append(names, c.Name)
		if c.Doc == "" || c.Since < 1 {
			t.Errorf("%s lacks its documentation or its version", c.Name)
		}
		for _, section := range []string{"# Parameters", "# Fails", "# Inconclusive", "# Example"} {
			if !strings.Contains(c.Doc, "\n"+section+"\n") {
				t.Errorf("%s: its package comment has no section %q", c.Name, section)
			}
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("checks.All is not sorted by name, without doubles: %q", names)
	}
	var folders []string
	for _, p := range packages(t) {
		if folder, ok := strings.CutPrefix(p.ImportPath, module+"/checks/"); ok {
			folders = append(folders, folder)
		}
	}
	if slices.Sort(folders); !slices.Equal(folders, names) {
		t.Errorf("checks.All lists %q, the folders are %q", names, folders)
	}
}

// TestHouseCodesAreComplete: a code that stands in no table is a code that
// nobody can look up.
func TestHouseCodesAreComplete(t *testing.T) {
	var declared []string
	for _, f := range sources(t) {
		if f.name != "gate/fault/fault.go" {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if ident, typed := specType(spec, ok); typed && ident.Name == "Code" {
				value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, value)
			}
			return true
		})
	}
	var listed []string
	for _, i := range fault.Codes() {
		listed = append(listed, string(i.Code))
		if i.Meaning == "" || i.Mend == "" {
			t.Errorf("%s has no meaning or no mend", i.Code)
		}
	}
	if len(declared) == 0 || !slices.Equal(declared, listed) {
		t.Errorf("declared are %q\nfault.Codes lists %q", declared, listed)
	}
}

func specType(spec *ast.ValueSpec, ok bool) (*ast.Ident, bool) {
	if !ok || len(spec.Values) != 1 {
		return nil, false
	}
	ident, ok := spec.Type.(*ast.Ident)
	return ident, ok
}

// packageInfo is what `go list` says of a package.
type packageInfo struct {
	ImportPath, Name, Doc string
	Imports               []string
}

// packages lists the packages of the module, once.
func packages(t *testing.T) []packageInfo {
	t.Helper()
	all, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var listPackages = sync.OnceValues(func() ([]packageInfo, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Doc,Imports", "./...")
	cmd.Dir = ".."
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []packageInfo
	for d := json.NewDecoder(strings.NewReader(string(text))); d.More(); {
		var p packageInfo
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
})

// sourceFile is a parsed Go file of the module.
type sourceFile struct {
	name   string // relative to the root, '/'-separated
	test   bool
	syntax *ast.File
	set    *token.FileSet
}

func sources(t *testing.T) []sourceFile {
	t.Helper()
	all, err := parseSources()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parseSources = sync.OnceValues(func() ([]sourceFile, error) {
	var all []sourceFile
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && (base == "testdata" || base == "bin" || base == "peers" || (strings.HasPrefix(base, ".") && base != "..")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(base, ".go") {
			return nil
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		relative := strings.TrimPrefix(filepath.ToSlash(name), "../")
		all = append(all, sourceFile{name: relative, test: strings.HasSuffix(base, "_test.go"), syntax: syntax, set: set})
		return nil
	})
	return all, err
})

func (f sourceFile) in(rooms ...string) bool { return slices.Contains(rooms, path.Dir(f.name)) }

func (f sourceFile) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.name, f.set.Position(n.Pos()).Line)
}

func (f sourceFile) lines(n ast.Node) int {
	return f.set.Position(n.End()).Line - f.set.Position(n.Pos()).Line + 1
}

// calls visits every call of the form name.name.
func (f sourceFile) calls(visit func(at ast.Node, name string)) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if left, ok := selector.X.(*ast.Ident); ok {
			visit(call, left.Name+"."+selector.Sel.Name)
		}
		return true
	})
}
