package bundle

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// assign reads a JSON value into a struct of this package or of package record,
// strictly: every member is known by its exact name, none is missing but those
// that are left out when empty, and null stands only for a nil pointer. What
// encoding/json would let pass (Verdict for verdict, a member too few) is an
// error, and the value, which was parsed already, is not parsed once more.
func assign(v *strictjson.Value, into any) error {
	return assignTo(v, reflect.ValueOf(into).Elem())
}

// member is a field of a struct as JSON knows it.
type member struct {
	name     string
	optional bool
	index    int
}

var (
	membersOf  sync.Map // reflect.Type -> []member
	rawType    = reflect.TypeFor[json.RawMessage]()
	valueType  = reflect.TypeFor[strictjson.Value]()
	wrongShape = "%s where %s was expected"
)

func members(t reflect.Type) []member {
	if known, ok := membersOf.Load(t); ok {
		return known.([]member)
	}
	var out []member
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out = append(out, member{name, strings.Contains(options, "omitempty"), i})
	}
	membersOf.Store(t, out)
	return out
}

func assignTo(v *strictjson.Value, to reflect.Value) error {
	switch to.Type() {
	case rawType:
		to.SetBytes(strictjson.Canonical(v))
		return nil
	case valueType:
		to.Set(reflect.ValueOf(*v))
		return nil
	}
	switch kind := to.Kind(); {
	case kind == reflect.Pointer && v.Kind == strictjson.Null:
		to.SetZero()
	case kind == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return assignTo(v, to.Elem())
	case kind == reflect.String && v.Kind == strictjson.String:
		to.SetString(v.Text)
	case kind == reflect.Bool && v.Kind == strictjson.Bool:
		to.SetBool(v.Bool)
	case (kind == reflect.Int || kind == reflect.Int64) && v.Kind == strictjson.Number:
		i, ok := v.Int64()
		if !ok {
			return fmt.Errorf(wrongShape, v.Kind, "an integer")
		}
		to.SetInt(i)
	case kind == reflect.Float64 && v.Kind == strictjson.Number:
		f, ok := v.Float64()
		if !ok {
			return fmt.Errorf(wrongShape, v.Kind, "a binary64 number")
		}
		to.SetFloat(f)
	case kind == reflect.Slice && v.Kind == strictjson.Array:
		list := reflect.MakeSlice(to.Type(), len(v.Items), len(v.Items))
		for i := range v.Items {
			if err := assignTo(&v.Items[i], list.Index(i)); err != nil {
				return err
			}
		}
		to.Set(list)
	case kind == reflect.Struct && v.Kind == strictjson.Object:
		return assignStruct(v, to)
	default:
		return fmt.Errorf(wrongShape, v.Kind, to.Type())
	}
	return nil
}

func assignStruct(v *strictjson.Value, to reflect.Value) error {
	known := 0
	for _, m := range members(to.Type()) {
		value := v.Get(m.name)
		if value == nil {
			if m.optional {
				continue
			}
			return fmt.Errorf("%s lacks its member %q", to.Type(), m.name)
		}
		known++
		if err := assignTo(value, to.Field(m.index)); err != nil {
			return err
		}
	}
	// Names are unique, so what was not counted is not known.
	if known != len(v.Members) {
		return fmt.Errorf("%s has a member too many", to.Type())
	}
	return nil
}
