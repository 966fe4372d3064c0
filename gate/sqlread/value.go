package sqlread

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// errDistorted is a value that the driver made out of a column's declared type:
// true of a BOOLEAN that holds 2, the year 1 of a DATE that holds "soon". No
// storage class gives a Go bool or time, so this is how it shows.
var errDistorted = errors.New("a value was changed by the declared type of its column")

// fromStorage gives the JSON of a value by its storage class.
func fromStorage(v driver.Value) (strictjson.Value, error) {
	switch v := v.(type) {
	case nil:
		return strictjson.Value{Pos: -1}, nil
	case int64:
		return strictjson.Num(strconv.FormatInt(v, 10)), nil
	case float64:
		return fromReal(v), nil
	case string:
		if !utf8.ValidString(v) {
			return digested("text", []byte(v)), nil
		}
		return strictjson.Str(v), nil
	case []byte:
		return digested("blob", v), nil
	}
	return strictjson.Value{}, errDistorted
}

// fromReal writes a REAL so that it never looks like an INTEGER.
func fromReal(f float64) strictjson.Value {
	if math.IsInf(f, 0) {
		name := "Infinity"
		if f < 0 {
			name = "-Infinity"
		}
		return strictjson.Obj(strictjson.Member{Name: "real", Pos: -1, Value: strictjson.Str(name)})
	}
	literal := strictjson.Num(strconv.FormatFloat(f, 'e', -1, 64))
	return strictjson.Num(string(strictjson.Canonical(&literal)))
}

// digested stands for bytes that JSON cannot hold.
func digested(class string, data []byte) strictjson.Value {
	return strictjson.Obj(
		strictjson.Member{Name: class, Pos: -1, Value: strictjson.Str(strictjson.Sum(data).String())},
		strictjson.Member{Name: "bytes", Pos: -1, Value: strictjson.Num(strconv.Itoa(len(data)))})
}

// cost is about what a value takes in memory.
func cost(v *strictjson.Value) int {
	n := cellCost + len(v.Text)
	for i := range v.Members {
		n += cellCost + cost(&v.Members[i].Value)
	}
	return n
}

// toStorage gives the value that a parameter binds: a number without a point or
// an exponent as INTEGER, another as REAL, true and false as 1 and 0, for
// SQLite has no booleans.
func toStorage(v *strictjson.Value) (driver.Value, error) {
	switch v.Kind {
	case strictjson.Null:
		return nil, nil
	case strictjson.Bool:
		if v.Bool {
			return int64(1), nil
		}
		return int64(0), nil
	case strictjson.String:
		return v.Text, nil
	case strictjson.Number:
		if strings.ContainsAny(v.Text, ".eE") {
			f, ok := v.Float64()
			if !ok {
				return nil, fmt.Errorf("%s is beyond what a REAL of SQLite holds", clip(v.Text))
			}
			return f, nil
		}
		n, ok := v.Int64()
		if !ok {
			return nil, fmt.Errorf("%s is beyond the 64 bits of an INTEGER of SQLite", clip(v.Text))
		}
		return n, nil
	}
	return nil, fmt.Errorf("%s cannot be bound; only null, booleans, numbers and strings can", v.Kind)
}

// bind gives the parameters of a query as the driver wants them.
func bind(parameters []strictjson.Value) ([]driver.NamedValue, error) {
	out := make([]driver.NamedValue, len(parameters))
	for i := range parameters {
		v, err := toStorage(&parameters[i])
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i+1, err)
		}
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out, nil
}
