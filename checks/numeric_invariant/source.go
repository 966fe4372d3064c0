package numericinvariant

import (
	"context"
	"reflect"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/match"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/sqlread"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// maxRows bounds the answer of a query that should have one row: enough to
// count how far it is off.
const maxRows = 1000

// value is the number itself, or where it is read.
type value struct {
	literal strictjson.Literal
	from    *source
}

// DecodeStrict reads a number or {"from": …}.
func (v *value) DecodeStrict(n strictjson.Node) {
	switch {
	case n.Kind == strictjson.Number:
		v.literal.DecodeStrict(n)
		if len(v.literal) > maxDigits {
			n.Problemf("", `"value" has more than %d digits`, maxDigits)
		}
	case n.Kind != strictjson.Object:
		fix := ""
		if n.Kind == strictjson.String {
			fix = "Write the number without quotes."
		}
		n.Problemf(fix, `"value" must be a number, not %s`, n.Kind)
	case n.Report.Version < 2:
		n.Problemf(`Set "schema_version": 2, or write a number.`, `a "value" that is read from somewhere belongs to schema_version 2`)
	default:
		var w struct {
			From source `json:"from" need:"yes" doc:"where the number is read"`
		}
		strictjson.Decode(n, `"value"`, &w)
		v.from = &w.From
	}
}

// JSONSchemaOf describes a value of a schema version.
func (value) JSONSchemaOf(version int) strictjson.Value {
	number := strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("number")})
	if version < 2 {
		return number
	}
	var sources []strictjson.Value
	for _, t := range []reflect.Type{reflect.TypeFor[inFile](), reflect.TypeFor[inDatabase](), reflect.TypeFor[ofCommand]()} {
		sources = append(sources, strictjson.Schema(t, version))
	}
	one := strictjson.Obj(strictjson.Member{Name: "anyOf", Value: strictjson.Arr(sources...)})
	from := strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("object")},
		strictjson.Member{Name: "properties", Value: strictjson.Obj(strictjson.Member{Name: "from", Value: one})},
		strictjson.Member{Name: "required", Value: strictjson.Arr(strictjson.Str("from"))},
		strictjson.Member{Name: "additionalProperties", Value: strictjson.Boolean(false)})
	return strictjson.Obj(strictjson.Member{Name: "anyOf", Value: strictjson.Arr(number, from)})
}

// source is where a number is read; exactly one field is set.
type source struct {
	File     *inFile
	Database *inDatabase
	Command  *ofCommand
}

type inFile struct {
	Path    check.Path         `json:"path" need:"yes" doc:"JSON file, relative to the workspace or absolute"`
	Pointer strictjson.Pointer `json:"pointer" default:"" doc:"JSON Pointer (RFC 6901) of the number; the whole document when it is missing or empty"`
}

type inDatabase struct {
	Database   check.Path         `json:"database" need:"yes" doc:"SQLite database, relative to the workspace or absolute"`
	SQL        string             `json:"sql" need:"yes" doc:"one SELECT whose answer is one row of one column"`
	Parameters sqlread.Parameters `json:"parameters" doc:"values bound to the parameters of the statement, in order"`

	warnings []string
}

type ofCommand struct {
	Command  check.Argv     `json:"command" need:"yes" doc:"program and arguments, a list"`
	Cwd      check.Path     `json:"cwd" doc:"working directory; the workspace when it is missing"`
	Env      check.Env      `json:"env" doc:"variables with literal values, added to the environment"`
	Caches   check.Caches   `json:"caches" doc:"absolute folders outside the workspace that the command may write"`
	ExitCode check.ExitCode `json:"exit_code" default:"0" doc:"exit code that the command must have"`
	Pattern  match.Pattern  `json:"pattern" need:"yes" doc:"RE2 pattern with exactly one group, whose text is the number"`
}

// DecodeStrict reads the one source that the members name.
func (s *source) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Object, `"from"`) {
		return
	}
	var named []string
	for _, name := range []string{"path", "database", "command"} {
		if n.Get(name) != nil {
			named = append(named, name)
		}
	}
	if len(named) != 1 {
		n.Problemf(`Name one of "path", "database" and "command".`, `"from" names %d sources, not one`, len(named))
		return
	}
	what := `"from" with "` + named[0] + `"`
	switch named[0] {
	case "path":
		s.File = new(inFile)
		strictjson.Decode(n, what, s.File)
	case "database":
		s.Database = new(inDatabase)
		strictjson.Decode(n, what, s.Database)
		if n.HasSound("sql") {
			s.Database.warnings = sqlread.Lint(n.Member("sql"), s.Database.SQL, s.Database.Parameters)
		}
	case "command":
		s.Command = new(ofCommand)
		strictjson.Decode(n, what, s.Command)
		if re := s.Command.Pattern.Regexp; re != nil && re.NumSubexp() != 1 {
			n.Member("pattern").Problemf("Put ( ) around the number, and (?: ) around what else is grouped.", "the pattern has %d groups, not one", re.NumSubexp())
		}
	}
}

// reading is what a source gave: a number, or the outcome that says why there
// is none, and the evidence for either.
type reading struct {
	literal strictjson.Literal
	what    string // names the number in a summary
	instead *check.Outcome

	observed    map[string]any
	finding     *record.Finding // where the number stands
	blobs       []check.Blob
	tool        *record.Tool
	limitations []string
}

func (r *reading) none(o check.Outcome) *reading {
	r.instead = &o
	return r
}

// finish adds the evidence of the reading to an outcome.
func (r *reading) finish(o check.Outcome) check.Outcome {
	if o.Status == record.Fail && r.finding != nil {
		r.finding.Message = o.Summary
		o.Findings = []record.Finding{*r.finding}
	}
	if r.literal != "" {
		v := r.literal.Value()
		r.observed["value"] = check.Observable(&v)
	}
	o.Blobs, o.Tool, o.Limitations = r.blobs, r.tool, r.limitations
	if len(r.observed) > 0 {
		o.Observed = r.observed
	}
	return o
}

func (s *source) read(ctx context.Context, pass *check.Pass) *reading {
	switch {
	case s.File != nil:
		return s.File.read(ctx, pass.Files)
	case s.Database != nil:
		return s.Database.read(ctx, pass.Rows)
	}
	return s.Command.read(ctx, pass.Exec)
}

func (f *inFile) read(ctx context.Context, files check.Files) *reading {
	r := &reading{what: f.Path.File(), observed: map[string]any{}}
	if len(f.Pointer) > 0 {
		r.what += ": " + quote(f.Pointer.String())
	}
	doc, unread := check.ReadJSON(ctx, files, f.Path)
	if unread != nil {
		r.none(*unread)
		if len(unread.Findings) > 0 {
			r.finding = &unread.Findings[0]
		}
		return r
	}
	v, deepest, why := f.Pointer.Find(&doc.Root)
	pos := doc.Position(v.Pos)
	r.finding = &record.Finding{File: f.Path.File(), Line: pos.Line, Column: pos.Column, Pointer: deepest.String()}
	switch {
	case why != "":
		r.observed["led_to"], r.observed["why"] = deepest.String(), why
		return r.none(check.Failed("%s leads nowhere: at %s, %s", r.what, quote(deepest.String()), why))
	case v.Kind != strictjson.Number:
		r.observed["value"] = check.Observable(v, f.Pointer...)
		r.limitations = check.Withheld(v, f.Pointer...)
		return r.none(check.Failed("%s is %s, not a number", r.what, v.Kind))
	}
	r.literal = strictjson.Literal(v.Text)
	return r
}

func (d *inDatabase) read(ctx context.Context, rows check.Rows) *reading {
	r := &reading{what: d.Database.File() + ": the query's answer", observed: map[string]any{}}
	set, err := rows.Query(ctx, check.Query{Database: string(d.Database), SQL: d.SQL, Parameters: d.Parameters, MaxRows: maxRows})
	if err != nil {
		return r.none(check.From(err))
	}
	if len(set.Rows) != 1 || len(set.Columns) != 1 {
		r.observed["rows"], r.observed["columns"] = len(set.Rows), len(set.Columns)
		return r.none(check.Failed("%s has %d rows and %d columns, not a single cell", r.what, len(set.Rows), len(set.Columns)))
	}
	cell := &set.Rows[0][0]
	if cell.Kind != strictjson.Number {
		r.observed["value"] = check.Observable(cell, set.Columns...)
		r.limitations = check.Withheld(cell, set.Columns...)
		return r.none(check.Failed("%s is %s, not a number", r.what, cell.Kind))
	}
	r.literal = strictjson.Literal(cell.Text)
	return r
}

func (c *ofCommand) read(ctx context.Context, exec check.Executor) *reading {
	r := &reading{what: "the number that " + check.Quote(c.Command[0]) + " prints"}
	exit, unable := check.RunCommand(ctx, exec, check.Command{Argv: c.Command, Dir: string(c.Cwd), Env: c.Env, Caches: c.Caches})
	r.observed, r.blobs, r.tool, r.limitations = exit.Observed(), exit.Blobs(), exit.ToolUsed(), exit.Limitations()
	switch {
	case unable != nil:
		return r.none(*unable)
	case exit.Signal != "":
		return r.none(check.Failed("%s was killed by the signal %s", check.Quote(c.Command[0]), exit.Signal))
	case exit.Code != int(c.ExitCode):
		return r.none(check.Failed("%s ended with exit code %d, not %d", check.Quote(c.Command[0]), exit.Code, int(c.ExitCode)))
	case exit.Stdout.Truncated:
		return r.none(check.Unable(fault.LimitExceeded, "Let the command print less.",
			"%s printed %d bytes, more than are kept: the pattern may match what is not", check.Quote(c.Command[0]), exit.Stdout.Total))
	}
	found := c.Pattern.FindSubmatchIndex(exit.Stdout.Data)
	if found == nil {
		return r.none(check.Failed("the pattern is not found in what %s prints", check.Quote(c.Command[0])))
	}
	if found[2] < 0 {
		return r.none(check.Failed("the pattern is found in what %s prints, but its group took no part", check.Quote(c.Command[0])))
	}
	text := string(exit.Stdout.Data[found[2]:found[3]])
	literal, err := asNumber(text)
	if err != nil {
		r.observed["matched"] = strictjson.Printable(clip(text))
		return r.none(check.Failed("what %s prints holds no number: %v", check.Quote(c.Command[0]), err))
	}
	r.literal = literal
	return r
}
