package sqlitequery

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// maxReordered is how many rows are searched for in another order: each is
// compared with each.
const maxReordered = 200

// differences says how an answer differs from the wanted rows, up to one more
// than are shown.
func differences(a answer, want []strictjson.Value) []string {
	var out []string
	if n := int64(len(want)); a.set.Total != n {
		out = append(out, counted(a.set.Total)+", expected "+number(n))
	}
	for i := range min(len(a.rows), len(want)) {
		for _, d := range rowDifferences(a.set.Columns, &a.rows[i], &want[i]) {
			if len(out) > maxFound {
				return out
			}
			out = append(out, fmt.Sprintf("row %d%s", i+1, d))
		}
	}
	return out
}

// rowDifferences compares a row with the wanted one, first column by column in
// the order of the query, then what is wanted and not there.
func rowDifferences(columns []string, got, want *strictjson.Value) []string {
	wanted := make(map[string]*strictjson.Value, len(want.Members))
	for i := range want.Members {
		wanted[want.Members[i].Name] = &want.Members[i].Value
	}
	var out []string
	for i, name := range columns {
		v, w := &got.Members[i].Value, wanted[name]
		delete(wanted, name)
		switch {
		case w == nil:
			out = append(out, fmt.Sprintf(" has the column %s, which is not expected", column(name)))
		case !strictjson.Equal(v, w):
			out = append(out, fmt.Sprintf(", column %s: %s, expected %s%s", column(name), show(name, v), show(name, w), hint(v, w)))
		}
	}
	for i := range want.Members {
		if name := want.Members[i].Name; wanted[name] != nil {
			out = append(out, fmt.Sprintf(" has no column %s; its columns are %s", column(name), list(columns)))
		}
	}
	return out
}

// hint explains a difference that no data can mend.
func hint(got, want *strictjson.Value) string {
	if want.Kind == strictjson.Bool && got.Kind == strictjson.Number {
		return " (SQLite has no booleans: expect 1 or 0)"
	}
	return ""
}

// reordered says whether the answer holds the wanted rows in another order.
func reordered(a answer, want []strictjson.Value) bool {
	if a.set.Total != int64(len(want)) || len(a.rows) != len(want) || len(want) > maxReordered {
		return false
	}
	used := make([]bool, len(want))
next:
	for i := range a.rows {
		for j := range want {
			if !used[j] && strictjson.Equal(&a.rows[i], &want[j]) {
				used[j] = true
				continue next
			}
		}
		return false
	}
	return true
}

// column writes a column's name, bare where it is plain.
func column(name string) string {
	if len(name) > maxCell {
		name = strings.ToValidUTF8(name[:maxCell], "") + "…"
	}
	if name == "" || strings.ContainsAny(name, " ,:") {
		return strconv.Quote(name)
	}
	return check.Show(name)
}

// list names the first columns of a row.
func list(columns []string) string {
	const most = 10
	var out []string
	for _, name := range columns[:min(len(columns), most)] {
		out = append(out, column(name))
	}
	if left := len(columns) - most; left > 0 {
		out = append(out, fmt.Sprintf("and %d more", left))
	}
	return strings.Join(out, ", ")
}

// show quotes a value of a column.
func show(name string, v *strictjson.Value) string { return check.Excerpt(v, maxCell, name) }

func counted(n int64) string { return counts(n, "row") }

func counts(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
