package sqlitequery

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/match"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/sqlread"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// How much of an answer is looked at and shown.
const (
	maxRows  = 10_000   // that a matcher is applied to
	maxShown = 20       // rows in a result
	maxBytes = 16 << 10 // of the rows in a result
	maxFound = 10       // findings
	maxCell  = 120      // of a value in a line
)

//go:embed doc.go
var doc string

// Type is the check type sqlite_query.
func Type() check.Type { return check.Define("sqlite_query", check.DocText(doc), run) }

// Params are the parameters of a check.
type Params struct {
	Database   check.Path         `json:"database" need:"yes" doc:"SQLite database, relative to the workspace or absolute"`
	SQL        string             `json:"sql" need:"yes" doc:"one SELECT, or WITH … SELECT"`
	Parameters sqlread.Parameters `json:"parameters" doc:"values bound to the parameters of the statement, in order"`
	Equals     *Rows              `json:"equals" doc:"rows that must come out, as objects, in order"`
	RowCount   *Count             `json:"row_count" doc:"how many rows must come out"`
	Satisfies  *match.Matcher     `json:"satisfies" since:"2" doc:"matcher that must hold for the array of rows"`

	warnings []string
}

// Warnings are those about the statement, and one about wanted rows that no
// answer equals.
func (p *Params) Warnings() []string {
	if p.Equals == nil {
		return p.warnings
	}
	for i, row := range *p.Equals {
		for j := range row.Members {
			if why := impossible(&row.Members[j].Value); why != "" {
				return append(p.warnings, fmt.Sprintf("a run can only fail: in equals, row %d, column %s: %s", i+1, column(row.Members[j].Name), why))
			}
		}
	}
	return p.warnings
}

// Rows is a parameter that lists rows as objects.
type Rows []strictjson.Value

// DecodeStrict reads the rows.
func (r *Rows) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Array, `"equals"`) {
		return
	}
	for i := range n.Items {
		item := n.Item(i)
		if item.Kind != strictjson.Object {
			item.Problemf(`Write the row as an object: {"column": value}.`, "a row must be an object, not %s", item.Kind)
		}
		*r = append(*r, asStored(*item.Value))
	}
}

// asStored writes the digests in a wanted row as an answer has them, so that
// they may be given as file_digest takes them: in any case, with or without
// their prefix. The contract's own value stays as it is.
func asStored(row strictjson.Value) strictjson.Value {
	row.Members = slices.Clone(row.Members)
	for i := range row.Members {
		cell := &row.Members[i].Value
		if name, digest, err := digested(cell); name != "" && err == nil {
			cell.Members = slices.Clone(cell.Members)
			cell.Set(name, strictjson.Str(digest.String()))
		}
	}
	return row
}

// digested reads a cell that is shown by its digest: {"blob", "bytes"}, or
// {"text", "bytes"}. The name is "" for any other.
func digested(cell *strictjson.Value) (name string, digest strictjson.Digest, err error) {
	for _, name := range []string{"blob", "text"} {
		v := cell.Get(name)
		if v != nil && v.Kind == strictjson.String && len(cell.Members) == 2 && cell.Get("bytes") != nil {
			digest, err = strictjson.ParseDigest(v.Text)
			return name, digest, err
		}
	}
	return "", digest, nil
}

// impossible says why no value of a database equals a wanted one; "" when one
// can.
func impossible(cell *strictjson.Value) string {
	switch cell.Kind {
	case strictjson.Bool:
		return "SQLite has no booleans: expect 1 or 0"
	case strictjson.Array:
		return "a value is never an array"
	case strictjson.Object:
		name, _, err := digested(cell)
		infinite := len(cell.Members) == 1 && cell.Get("real") != nil
		switch {
		case err != nil:
			return err.Error()
		case name == "" && !infinite:
			return `a value is an object only as {"blob", "bytes"}, {"text", "bytes"} or {"real"}`
		}
	}
	return ""
}

// JSONSchema describes the rows.
func (Rows) JSONSchema() strictjson.Value {
	row := strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("object")})
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("array")},
		strictjson.Member{Name: "items", Value: row})
}

// Count is a parameter that is a number of rows.
type Count int64

// DecodeStrict reads the number.
func (c *Count) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Number, "row_count") {
		return
	}
	i, ok := n.Int64()
	if !ok || i < 0 {
		n.Problemf("", "row_count must be a whole number from 0 on, not %s", check.Quote(n.Text))
	}
	*c = Count(i)
}

// JSONSchema describes the number.
func (Count) JSONSchema() strictjson.Value {
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("integer")},
		strictjson.Member{Name: "minimum", Value: strictjson.Num("0")})
}

// Validate compiles the statement and asks for exactly one expectation.
func (p *Params) Validate(n strictjson.Node) {
	if n.HasSound("sql") {
		p.warnings = sqlread.Lint(n.Member("sql"), p.SQL, p.Parameters)
	}
	var given []string
	for _, name := range []string{"equals", "row_count", "satisfies"} {
		if n.Get(name) != nil {
			given = append(given, name)
		}
	}
	switch {
	case len(given) > 1:
		n.Member(given[1]).Problemf("Leave one of them out, or write two checks.", "sqlite_query takes one expectation, not both %q and %q", given[0], given[1])
	case len(given) == 0 && n.Report.Version < 2:
		n.Problemf("Add the rows that must come out, or how many.", `params of sqlite_query need exactly one of "equals" and "row_count"`)
	case len(given) == 0:
		n.Problemf("Add the rows that must come out, how many, or a matcher for them.", `params of sqlite_query need exactly one of "equals", "row_count" and "satisfies"`)
	}
}

// RefineSchema asks for exactly one statement about the rows, as Validate does.
func (*Params) RefineSchema(s *strictjson.Value, _ int) {
	strictjson.RequireOne(s, "equals", "row_count", "satisfies")
}

func run(ctx context.Context, p *Params, pass *check.Pass) check.Outcome {
	q := check.Query{Database: string(p.Database), SQL: p.SQL, Parameters: p.Parameters, MaxRows: maxShown, Count: true}
	switch {
	case p.Equals != nil:
		q.MaxRows = max(len(*p.Equals), maxShown)
	case p.Satisfies != nil:
		q.MaxRows, q.Count = maxRows, false
	}
	set, err := pass.Rows.Query(ctx, q)
	if err != nil {
		o := check.From(err)
		if o.Status == record.Fail {
			o.Findings = []record.Finding{p.finding(o.Summary)}
		}
		return o.Expecting(p.expected())
	}
	a := answer{set: set, rows: objects(set)}
	switch {
	case p.RowCount != nil:
		return p.count(a)
	case p.Equals != nil:
		return p.compare(a)
	}
	rows := strictjson.Arr(a.rows...)
	if ok, why := p.Satisfies.Holds(&rows); !ok {
		return p.failed(a, "the rows do not satisfy the matcher: "+why)
	}
	return p.passed(a, "%s: the rows satisfy the matcher", p.Database.File())
}

// answer is what the query gave: the rows as objects, and how many there were.
type answer struct {
	set  check.RowSet
	rows []strictjson.Value
}

func objects(set check.RowSet) []strictjson.Value {
	out := make([]strictjson.Value, len(set.Rows))
	for i, row := range set.Rows {
		members := make([]strictjson.Member, len(row))
		for j, v := range row {
			members[j] = strictjson.Member{Name: set.Columns[j], Pos: -1, Value: v}
		}
		out[i] = strictjson.Obj(members...)
	}
	return out
}

func (p *Params) count(a answer) check.Outcome {
	if a.set.Total != int64(*p.RowCount) {
		return p.failed(a, counted(a.set.Total)+", expected "+number(int64(*p.RowCount)))
	}
	// The rows themselves were not asked about.
	return p.passed(answer{set: check.RowSet{Total: a.set.Total}}, "%s: %s, as expected", p.Database.File(), counted(a.set.Total))
}

func (p *Params) compare(a answer) check.Outcome {
	want := *p.Equals
	different := differences(a, want)
	switch {
	case len(different) == 0 && len(a.rows) < len(want):
		return check.Unable(fault.LimitExceeded, "Narrow the query with WHERE, or compare fewer columns.",
			"%s: the rows are too large to be compared: only the first %d of %d were kept", p.Database.File(), len(a.rows), a.set.Total).Expecting(p.expected())
	case len(different) == 0:
		return p.passed(a, "%s: %s, as expected", p.Database.File(), counted(a.set.Total))
	}
	if reordered(a, want) {
		different = append([]string{"the expected rows come out in another order; ORDER BY settles it"}, different...)
	}
	return p.failed(a, different...)
}

func (p *Params) passed(a answer, format string, args ...any) check.Outcome {
	return check.Passed(format, args...).Expecting(p.expected()).Observing(a.observed())
}

// failed is the outcome of an answer that is not the wanted one; the first
// difference makes the summary.
func (p *Params) failed(a answer, differences ...string) check.Outcome {
	more := ""
	if n := len(differences) - 1; n > 0 {
		more = " (and " + counts(int64(n), "more difference") + ")"
		if n >= maxFound {
			more = " (and more differences)"
		}
	}
	o := check.Failed("%s: %s%s", p.Database.File(), differences[0], more)
	for _, d := range differences[:min(len(differences), maxFound)] {
		o.Findings = append(o.Findings, p.finding(d))
	}
	return o.Expecting(p.expected()).Observing(a.observed())
}

func (p *Params) finding(message string) record.Finding {
	return record.Finding{Message: message, File: p.Database.File()}
}

func (p *Params) expected() any {
	switch {
	case p.RowCount != nil:
		return map[string]any{"row_count": *p.RowCount}
	case p.Satisfies != nil:
		return map[string]any{"satisfies": p.Satisfies}
	}
	shown, left := bounded(*p.Equals)
	out := map[string]any{"equals": shown}
	if left > 0 {
		out["rows_not_shown"] = left
	}
	return out
}

// observed shows the first rows, within bounds, and how many there were.
func (a answer) observed() any {
	out := map[string]any{"row_count": a.set.Total}
	if a.set.Columns == nil {
		return out
	}
	shown, _ := bounded(a.rows)
	out["rows"] = shown
	if left := a.set.Total - int64(len(shown)); left > 0 {
		out["rows_not_shown"] = left
	}
	return out
}

// bounded gives the first rows as a result shows them, and how many it leaves
// out.
func bounded(rows []strictjson.Value) (shown []any, left int) {
	shown = []any{}
	size := 0
	for i := range rows {
		text, _ := strictjson.Excerpt(&rows[i], check.MaxValue)
		if size += len(text); len(shown) == maxShown || size > maxBytes {
			return shown, len(rows) - i
		}
		shown = append(shown, check.Observable(&rows[i]))
	}
	return shown, 0
}
