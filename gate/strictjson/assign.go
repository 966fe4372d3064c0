package strictjson

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// Assign reads a value into what into points to, strictly: every member is known
// by its exact name, none is missing but those that are left out when empty, and
// null stands only for a nil pointer. What encoding/json would let pass (Verdict
// for verdict, a member too few) is an error, and the value, which was parsed
// already, is not parsed once more.
//
// Other than [Decode], which reads what people write and reports all that is
// wrong with it, this reads what a gate wrote.
func Assign(v *Value, into any) error {
	return assigner{}.to(v, reflect.ValueOf(into).Elem())
}

// AssignNil is Assign for what [Append] wrote of a value with nil lists in it,
// which are null then.
func AssignNil(v *Value, into any) error {
	return assigner{nilLists: true}.to(v, reflect.ValueOf(into).Elem())
}

type assigner struct{ nilLists bool }

var rawType = reflect.TypeFor[json.RawMessage]()

const wrongShape = "%s where %s was expected"

func (a assigner) to(v *Value, to reflect.Value) error {
	switch to.Type() {
	case rawType:
		to.SetBytes(Canonical(v))
		return nil
	case valueType:
		to.Set(reflect.ValueOf(*v))
		return nil
	}
	switch kind := to.Kind(); {
	case kind == reflect.Pointer && v.Kind == Null:
		to.SetZero()
	case kind == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return a.to(v, to.Elem())
	case kind == reflect.String && v.Kind == String:
		to.SetString(v.Text)
	case kind == reflect.Bool && v.Kind == Bool:
		to.SetBool(v.Bool)
	case (kind == reflect.Int || kind == reflect.Int64) && v.Kind == Number:
		i, ok := v.Int64()
		if !ok {
			return fmt.Errorf(wrongShape, v.Kind, "an integer")
		}
		to.SetInt(i)
	case kind == reflect.Float64 && v.Kind == Number:
		f, ok := v.Float64()
		if !ok {
			return fmt.Errorf(wrongShape, v.Kind, "a binary64 number")
		}
		to.SetFloat(f)
	case kind == reflect.Slice && v.Kind == Null && a.nilLists:
		to.SetZero()
	case kind == reflect.Slice && v.Kind == String && to.Type().Elem().Kind() == reflect.Uint8:
		data, err := base64.StdEncoding.DecodeString(v.Text)
		if err != nil {
			return errors.New("a text that is no base64")
		}
		to.SetBytes(data)
	case kind == reflect.Slice && v.Kind == Array:
		list := reflect.MakeSlice(to.Type(), len(v.Items), len(v.Items))
		for i := range v.Items {
			if err := a.to(&v.Items[i], list.Index(i)); err != nil {
				return err
			}
		}
		to.Set(list)
	case kind == reflect.Struct && v.Kind == Object:
		return a.toStruct(v, to)
	default:
		return fmt.Errorf(wrongShape, v.Kind, to.Type())
	}
	return nil
}

func (a assigner) toStruct(v *Value, to reflect.Value) error {
	members, err := membersOf(to.Type())
	if err != nil {
		return err
	}
	known := 0
	for _, m := range members.declared {
		value := v.Get(m.name)
		if value == nil {
			if m.optional {
				continue
			}
			return fmt.Errorf("%s lacks its member %q", to.Type(), m.name)
		}
		known++
		if err := a.to(value, to.Field(m.index)); err != nil {
			return err
		}
	}
	// Names are unique, so what was not counted is not known.
	if known != len(v.Members) {
		return fmt.Errorf("%s has a member too many", to.Type())
	}
	return nil
}
