package sqlread

import (
	"errors"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Parameters is a parameter of a check that lists the values bound to a
// statement, in order.
type Parameters []strictjson.Value

// DecodeStrict reads the values.
func (p *Parameters) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Array, "parameters") {
		return
	}
	if len(n.Items) > maxParameters {
		n.Problemf("", "parameters lists %d values; at most %d are bound", len(n.Items), maxParameters)
	}
	for i := range n.Items {
		item := n.Item(i)
		if _, err := toStorage(item.Value); err != nil {
			item.Problemf("", "a parameter: %v", err)
		}
		*p = append(*p, *item.Value)
	}
}

// JSONSchema describes the values.
func (Parameters) JSONSchema() strictjson.Value {
	types := strictjson.Arr(strictjson.Str("null"), strictjson.Str("boolean"), strictjson.Str("number"), strictjson.Str("string"))
	item := strictjson.Obj(strictjson.Member{Name: "type", Value: types})
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("array")},
		strictjson.Member{Name: "items", Value: item},
		strictjson.Member{Name: "maxItems", Value: strictjson.Num("250")})
}

// Lint reports what is wrong with a statement to the node that holds its text,
// and gives the warnings of [Validate].
func Lint(n strictjson.Node, sql string, parameters Parameters) (warnings []string) {
	warnings, err := Validate(sql, len(parameters))
	if err == nil {
		return warnings
	}
	var fix string
	var wrong *SQLError
	if errors.As(err, &wrong) {
		fix = wrong.Fix
	}
	n.Problemf(fix, "%v", err)
	return nil
}
