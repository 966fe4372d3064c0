package strictjson

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Field describes one member of an object that a struct is decoded from.
// It is read from the struct's tags:
//
//	json:"path"        the member's name
//	need:"yes"         it must be there
//	default:"true"     its value when it is not (bool, number, string and Pointer fields)
//	doc:"…"            one line of documentation
//	since:"2"          the first schema_version that knows it
//	enum:"a b c"       the values that a string may have
type Field struct {
	Name       string
	Need       bool
	HasDefault bool
	Default    string // as the tag has it; "" is a default like any other
	Doc        string
	Since      int
	Enum       []string
	Type       reflect.Type
	index      []int
}

// FieldsOf lists the members that struct type t is decoded from, in order. The
// list is shared: it must not be changed.
func FieldsOf(t reflect.Type) []Field {
	if known, ok := fieldsOf.Load(t); ok {
		return known.([]Field)
	}
	var out []Field
	for _, f := range reflect.VisibleFields(t) {
		name := f.Tag.Get("json")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		field := Field{Name: name, Need: f.Tag.Get("need") == "yes", Doc: f.Tag.Get("doc"), Since: 1, Enum: strings.Fields(f.Tag.Get("enum")), Type: f.Type, index: f.Index}
		field.Default, field.HasDefault = f.Tag.Lookup("default")
		if since, ok := f.Tag.Lookup("since"); ok {
			var err error
			if field.Since, err = strconv.Atoi(since); err != nil {
				panic(fmt.Sprintf("strictjson: the since tag of %s.%s is no number", t, f.Name))
			}
		}
		out = append(out, field)
	}
	fieldsOf.Store(t, out)
	return out
}

// fieldsOf remembers the fields of a struct type: reading its tags again for
// each element of a long list would cost more than reading the element.
var fieldsOf sync.Map

// CheckStruct says what is wrong with a struct that is to be decoded into: a
// tag that means nothing, or a type that cannot be read. It is a mistake of the
// programmer, found when a check type is defined rather than by a contract that
// happens to have the member.
func CheckStruct(t reflect.Type) error { return checkStruct(t, nil) }

func checkStruct(t reflect.Type, within []reflect.Type) error {
	if slices.Contains(within, t) {
		return fmt.Errorf("%s contains itself, so it has no finite schema", t)
	}
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("%s is no struct", t)
	}
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name := f.Tag.Get("json")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		if err := checkField(f, name, append(within, t)); err != nil {
			return fmt.Errorf("field %s.%s: %w", t, f.Name, err)
		}
		if names[name] {
			return fmt.Errorf("field %s.%s: the name %q is taken", t, f.Name, name)
		}
		names[name] = true
	}
	return nil
}

func checkField(f reflect.StructField, name string, within []reflect.Type) error {
	need, needed := f.Tag.Lookup("need")
	fallback, hasDefault := f.Tag.Lookup("default")
	since, hasSince := f.Tag.Lookup("since")
	enum := strings.Fields(f.Tag.Get("enum"))
	switch {
	case !f.IsExported():
		return fmt.Errorf("it is not exported")
	case strings.Contains(name, ","):
		return fmt.Errorf("the json tag has options, and here it has none")
	case needed && need != "yes":
		return fmt.Errorf("the need tag is %q; it can only be yes", need)
	case needed && hasDefault:
		return fmt.Errorf("it is needed, so its default is never used")
	case len(enum) > 0 && !holdsText(f.Type):
		return fmt.Errorf("an enum is for text")
	case len(enum) > 0 && hasDefault && !slices.Contains(enum, fallback):
		return fmt.Errorf("the default %q is not in the enum", fallback)
	}
	if n, err := strconv.Atoi(since); hasSince && (err != nil || n < 1) {
		return fmt.Errorf("the since tag %q is no version", since)
	}
	if hasDefault {
		if err := setDefault(reflect.New(f.Type).Elem(), fallback); err != nil {
			return err
		}
	}
	return checkType(f.Type, within)
}

// holdsText says whether a field is text, or a list of it.
func holdsText(t reflect.Type) bool {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.String && !reflect.PointerTo(t).Implements(decoderType)
}

// checkType says whether a value of the type can be read.
func checkType(t reflect.Type, within []reflect.Type) error {
	if t == valueType || t == digestType || reflect.PointerTo(t).Implements(decoderType) {
		return nil
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return nil
	case reflect.Pointer, reflect.Slice:
		return checkType(t.Elem(), within)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return fmt.Errorf("the names of an object are text, not %s", t.Key())
		}
		return checkType(t.Elem(), within)
	case reflect.Struct:
		return checkStruct(t, within)
	}
	return fmt.Errorf("a field of type %s cannot be decoded", t)
}

// setDefault gives a field its default.
func setDefault(v reflect.Value, text string) error {
	if v.Type() == literalType && !isNumber(text) {
		return fmt.Errorf("the default %q is no number", text)
	}
	if v.Type() == pointerType {
		p, err := ParsePointer(text)
		v.Set(reflect.ValueOf(p))
		return err
	}
	switch v.Kind() {
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("the default %q is no boolean", text)
		}
		v.SetBool(text == "true")
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("the default %q is no integer", text)
		}
		v.SetInt(i)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("the default %q is no number", text)
		}
		v.SetFloat(f)
	default:
		return fmt.Errorf("a field of type %s has no default", v.Type())
	}
	return nil
}

var (
	valueType   = reflect.TypeFor[Value]()
	literalType = reflect.TypeFor[Literal]()
	pointerType = reflect.TypeFor[Pointer]()
	digestType  = reflect.TypeFor[Digest]()
	decoderType = reflect.TypeFor[Decoder]()
)
