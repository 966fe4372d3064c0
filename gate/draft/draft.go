// Package draft writes a first contract by looking at a repository: `gate init`.
//
// It only reads. What it finds becomes checks that hold now, so the draft can be
// frozen and run at once, and then be made into what its author means:
//
//   - files that matter are there (file_exists), and what package.json states is
//     what it states now (json_value);
//   - each table of a SQLite database has as many rows as now (sqlite_query);
//   - commands that scripts name for testing and linting (command_exit), each
//     marked REVIEW and advisory. The gate cannot know what a script does, so it
//     lets none of them decide before a person has read it, and takes only names
//     whose purpose is to look, never one that builds, installs, cleans or
//     publishes.
//
// The same repository gives the same draft, byte by byte.
package draft

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// What a look at a repository may cost. A draft is a beginning: it is better
// short, and better made in a second, than complete.
const (
	maxEntries   = 20_000  // files and folders that are looked at
	maxDepth     = 5       // folders below the top
	maxText      = 1 << 20 // bytes of a manifest, a script or a page that are read
	maxDatabases = 5
	maxTables    = 8 // of one database
	maxAssets    = 10
	maxQuote     = 60 // characters of a script that are quoted
)

// Source is what a draft is made from.
type Source struct {
	Name  string     // what the repository is called
	Files fs.FS      // its files; nothing outside may be reachable through it
	Rows  check.Rows // its databases
}

// Draft is a first contract.
type Draft struct {
	Contract []byte   // a draft contract, for people to edit
	Checks   int      // how many checks it holds
	Review   []string // ids of the checks that start a process, to be reviewed
	Notes    []string // what was seen and not taken, and why
}

// example is the smallest contract there is, for whom nothing was found.
const example = `{"contract_id": "mine", "checks": [{"id": "readme", "type": "file_exists", "params": {"path": "README.md"}}]}`

// Make writes a draft. A repository in which nothing was found is a
// contract_empty fault.
func Make(ctx context.Context, src Source) (Draft, error) {
	s := &survey{ctx: ctx, Source: src, ids: map[string]bool{}, there: map[string]bool{}}
	if err := s.walk(); err != nil {
		return Draft{}, fault.New(fault.Usage, "Pass --dir with a folder that can be read.", "the folder cannot be read: %v", err).Because(err)
	}
	for _, look := range []func(*survey){documents, goModule, nodePackage, pythonProject, staticSite, databases, makefile} {
		look(s)
	}
	if err := ctx.Err(); err != nil {
		return Draft{}, err
	}
	if len(s.facts)+len(s.commands) == 0 {
		why := ""
		if len(s.notes) > 0 {
			why = ": " + strings.Join(s.notes, "; ")
		}
		return Draft{}, fault.New(fault.ContractEmpty, "Write the first check by hand, such as "+example+": `gate checks` lists the types, `gate lint --schema` helps an editor.",
			"nothing was found in %s that a first check could be about%s", check.Show(src.Name), why).With("notes", append([]string{}, s.notes...))
	}
	return s.draft(), nil
}

// survey is one look at a repository and the checks that it led to.
type survey struct {
	Source
	ctx      context.Context
	files    []string // regular files, sorted, '/'-separated
	facts    []strictjson.Value
	commands []strictjson.Value
	review   []string
	notes    []string
	ids      map[string]bool // taken
	there    map[string]bool // files that have their file_exists
}

// skipped are folders that hold what a tool made or fetched: nothing that a
// contract should be about.
var skipped = []string{".git", ".hg", ".svn", ".venv", "venv", "node_modules", "bower_components", "vendor", "dist", "build", "target",
	"__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".next", ".nuxt", ".cache", "coverage", "testdata"}

func (s *survey) walk() error {
	seen := 0
	err := fs.WalkDir(s.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == "." {
				return err
			}
			return nil // what cannot be read is left out of a draft
		}
		if seen++; seen > maxEntries {
			s.note("only the first %d files and folders were looked at", maxEntries)
			return fs.SkipAll
		}
		if d.IsDir() {
			if name != "." && (slices.Contains(skipped, d.Name()) || strings.Count(name, "/") >= maxDepth) {
				return fs.SkipDir
			}
			return s.ctx.Err()
		}
		if d.Type().IsRegular() && utf8.ValidString(name) {
			s.files = append(s.files, name)
		}
		return nil
	})
	slices.Sort(s.files)
	return err
}

func (s *survey) has(name string) bool {
	_, found := slices.BinarySearch(s.files, name)
	return found
}

// text reads a file of the repository; "" when it is not there or too large.
func (s *survey) text(name string) string {
	if !s.has(name) {
		return ""
	}
	f, err := s.Files.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil || len(data) > maxText {
		s.note("%s was not read: it is too large, or cannot be read", check.Show(name))
		return ""
	}
	return string(data)
}

func (s *survey) note(format string, args ...any) {
	// A name in a repository may be a credential by mistake.
	note, _ := secret.Redact(fmt.Sprintf(format, args...))
	s.notes = append(s.notes, note)
}

// exists adds that a file is there, once.
func (s *survey) exists(name string) {
	if s.there[name] {
		return
	}
	s.there[name] = true
	s.fact("file_exists", name, check.Show(name)+" is there", member("path", strictjson.Str(name)))
}

// fact adds a required check that only reads, and says whether it could.
func (s *survey) fact(checkType, about, description string, params ...strictjson.Member) bool {
	c, ok := s.check(checkType, about, description, true, params)
	if ok {
		s.facts = append(s.facts, c)
	}
	return ok
}

// command adds an advisory check that starts a process.
func (s *survey) command(about, where, script string, argv ...string) {
	description := "REVIEW: found in " + where
	if script != "" {
		description += " (" + quoted(script) + ")"
	}
	description += `. Read what it does, then set "required": true or remove it.`
	var args []strictjson.Value
	for _, a := range argv {
		args = append(args, strictjson.Str(a))
	}
	c, ok := s.check("command_exit", about, description, false, []strictjson.Member{member("command", strictjson.Arr(args...))})
	if ok {
		c.Set("timeout_seconds", strictjson.Num("300"))
		s.commands = append(s.commands, c)
		s.review = append(s.review, c.Get("id").Text)
	}
}

func (s *survey) check(checkType, about, description string, required bool, params []strictjson.Member) (strictjson.Value, bool) {
	c := strictjson.Obj(
		member("id", strictjson.Str(s.id(about))),
		member("type", strictjson.Str(checkType)),
		member("required", strictjson.Boolean(required)),
		member("description", strictjson.Str(description)),
		member("params", strictjson.Obj(params...)),
	)
	if _, found := secret.Credential(string(strictjson.Canonical(&c))); found {
		// A contract that holds a credential is refused.
		s.note("a check about %s was left out: it would hold what looks like a credential", check.Show(about))
		return c, false
	}
	return c, true
}

// id makes an id that is free from the words that it is about.
func (s *survey) id(about string) string {
	const most = 56 // of the 64 that an id may have: room for a number
	clean := strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("_.:-", r)) {
			return r
		}
		return '_'
	}, about), "_")
	clean = clean[:min(len(clean), most)]
	if clean == "" {
		clean = "check"
	}
	id := clean
	for n := 2; s.ids[id]; n++ {
		id = fmt.Sprintf("%s_%d", clean, n)
	}
	s.ids[id] = true
	return id
}

// quoted is the beginning of a script on one line.
func quoted(script string) string {
	script = strings.Join(strings.Fields(script), " ")
	if r := []rune(script); len(r) > maxQuote {
		script = string(r[:maxQuote]) + "…"
	}
	return strictjson.Printable(script)
}

func (s *survey) draft() Draft {
	id := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '_'
		}
		return r
	}, path.Base(s.Name))
	if r := []rune(id); len(r) > 200 {
		id = string(r[:200])
	}
	if _, found := secret.Credential(id); found || id == "." || id == "/" || id == "" {
		id = "repository"
	}
	checks := append(slices.Clone(s.facts), s.commands...) // commands last: each one is a barrier
	c := strictjson.Obj(
		member("schema_version", strictjson.Num("1")),
		member("contract_id", strictjson.Str(id+"-v1")),
		member("title", strictjson.Str("First draft for "+id)),
		member("created_by", strictjson.Str("gate init")),
		member("source_prompt", strictjson.Str("")),
		member("required_assurance", strictjson.Str("isolated_local")),
		member("allowed_origins", strictjson.Arr()),
		member("checks", strictjson.Arr(checks...)),
	)
	return Draft{Contract: strictjson.Indent(&c), Checks: len(checks), Review: s.review, Notes: s.notes}
}

func member(name string, v strictjson.Value) strictjson.Member {
	return strictjson.Member{Name: name, Pos: -1, Value: v}
}
