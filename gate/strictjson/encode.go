package strictjson

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Append adds the canonical form of anything that encoding/json can write: what
// parsing its output would give. It goes by the same tags (names and omitempty),
// and writes the form directly, because a run writes two thousand results and
// writing, parsing and writing each again would take longer than its checks.
func Append(dst []byte, x any) ([]byte, error) {
	w := writer{buf: dst}
	err := w.goValue(reflect.ValueOf(x))
	return w.buf, err
}

// Marshal writes anything that encoding/json can write in canonical form.
func Marshal(x any) ([]byte, error) { return Append(nil, x) }

// FromGo gives the Value of anything that encoding/json can write.
func FromGo(x any) (Value, error) {
	switch v := x.(type) {
	case Value:
		return v, nil
	case *Value:
		if v != nil {
			return *v, nil
		}
	}
	w := writer{declared: true} // a Value keeps its members in their order
	if err := w.goValue(reflect.ValueOf(x)); err != nil {
		return Value{}, err
	}
	doc, err := Parse(w.buf, DocumentLimits)
	if err != nil {
		return Value{}, err
	}
	return doc.Root, nil
}

var (
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	numberType        = reflect.TypeFor[json.Number]()
)

func (w *writer) goValue(v reflect.Value) error {
	if !v.IsValid() {
		w.buf = append(w.buf, "null"...)
		return nil
	}
	t := v.Type()
	switch kind := t.Kind(); {
	case t == valueType:
		value := v.Interface().(Value)
		w.value(&value)
		return nil
	case (kind == reflect.Pointer || kind == reflect.Interface || kind == reflect.Map || kind == reflect.Slice) && v.IsNil():
		w.buf = append(w.buf, "null"...)
		return nil
	case kind == reflect.Pointer && t.Elem() == valueType:
		w.value(v.Interface().(*Value))
		return nil
	case t.Implements(jsonMarshalerType):
		return w.marshaler(v)
	case t.Implements(textMarshalerType):
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		w.text(valid(string(text)))
		return err
	case kind == reflect.Pointer || kind == reflect.Interface:
		return w.goValue(v.Elem())
	case kind == reflect.Struct:
		return w.goStruct(v)
	case kind == reflect.Map:
		return w.goMap(v)
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		w.buf = append(w.buf, '"')
		w.buf = base64.StdEncoding.AppendEncode(w.buf, v.Bytes())
		w.buf = append(w.buf, '"')
		return nil
	case kind == reflect.Slice || kind == reflect.Array:
		w.buf = append(w.buf, '[')
		for i := range v.Len() {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			if err := w.goValue(v.Index(i)); err != nil {
				return err
			}
		}
		w.buf = append(w.buf, ']')
		return nil
	}
	return w.goScalar(v)
}

// marshaler writes what a type writes of itself.
func (w *writer) marshaler(v reflect.Value) error {
	text, err := v.Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		return err
	}
	doc, err := Parse(text, DocumentLimits)
	if err != nil {
		return fmt.Errorf("strictjson: what %s writes is no JSON: %w", v.Type(), err)
	}
	w.value(&doc.Root)
	return nil
}

func (w *writer) goStruct(v reflect.Value) error {
	all, err := membersOf(v.Type())
	if err != nil {
		return err
	}
	fields := all.sorted
	if w.declared {
		fields = all.declared
	}
	w.buf = append(w.buf, '{')
	first := true
	for i := range fields {
		f := &fields[i]
		member := v.Field(f.index)
		if f.optional && empty(member) {
			continue
		}
		if !first {
			w.buf = append(w.buf, ',')
		}
		first = false
		w.text(f.name)
		w.buf = append(w.buf, ':')
		if err := w.goValue(member); err != nil {
			return err
		}
	}
	w.buf = append(w.buf, '}')
	return nil
}

// empty is what omitempty leaves out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func (w *writer) goMap(v reflect.Value) error {
	if v.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("strictjson: the names of an object are text, not %s", v.Type().Key())
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	w.buf = append(w.buf, '{')
	for i, key := range keys {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		// Two names that are no UTF-8 could become one.
		if !utf8.ValidString(key.String()) {
			return fmt.Errorf("strictjson: the name %q is no UTF-8", key.String())
		}
		w.text(key.String())
		w.buf = append(w.buf, ':')
		if err := w.goValue(v.MapIndex(key)); err != nil {
			return err
		}
	}
	w.buf = append(w.buf, '}')
	return nil
}

func (w *writer) goScalar(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == numberType {
			if !isNumber(v.String()) {
				return fmt.Errorf("strictjson: %q is no number", v.String())
			}
			w.buf = appendNumber(w.buf, v.String())
			return nil
		}
		w.text(valid(v.String()))
	case reflect.Bool:
		w.buf = strconv.AppendBool(w.buf, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.buf = strconv.AppendInt(w.buf, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.buf = strconv.AppendUint(w.buf, v.Uint(), 10)
	case reflect.Float64:
		return w.goFloat(v.Float())
	default:
		return fmt.Errorf("strictjson: a %s cannot be written", v.Type())
	}
	return nil
}

// valid has U+FFFD for each byte that is no UTF-8, as encoding/json has.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// integral is from where on encoding/json writes a whole number with an
// exponent. Below, it writes digits alone, which are an integer.
const integral = 1e21

func (w *writer) goFloat(f float64) error {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return fmt.Errorf("strictjson: JSON has no number %v", f)
	case f == 0:
		w.buf = append(w.buf, '0') // also for -0
	case f == math.Trunc(f) && math.Abs(f) < integral:
		w.buf = strconv.AppendFloat(w.buf, f, 'f', -1, 64)
	default:
		w.buf = appendFloat(w.buf, f)
	}
	return nil
}
