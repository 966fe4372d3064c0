package strictjson

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing that is wrong with a document, at a byte offset of its
// source.
type Problem struct {
	Pos     int
	Pointer string // RFC 6901, where in the document
	Message string
	Fix     string
}

// Report collects problems while a document is decoded.
type Report struct {
	Problems []Problem
	// Version is the schema version that the document declares: a field whose
	// tag says since:"2" is refused below 2.
	Version int
}

// Node is a value together with its pointer and the report that its problems
// go to: what a Decoder or a validation needs to say where something is wrong.
type Node struct {
	*Value
	Pointer string
	Report  *Report
}

// Root makes the node of a whole document.
func (r *Report) Root(v *Value) Node { return Node{Value: v, Report: r} }

// Problemf reports a problem at the node.
func (n Node) Problemf(fix, format string, args ...any) {
	n.Report.Problems = append(n.Report.Problems, Problem{Pos: n.Pos, Pointer: n.Pointer, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// Member gives the node of a member of an object; where it is missing, the
// node of the object itself, so that a problem still has a place.
func (n Node) Member(name string) Node {
	if v := n.Value.Get(name); v != nil {
		return Node{Value: v, Pointer: n.Pointer + Pointer{name}.String(), Report: n.Report}
	}
	return n
}

// Item gives the node of an element of an array.
func (n Node) Item(i int) Node {
	return Node{Value: &n.Items[i], Pointer: n.Pointer + "/" + strconv.Itoa(i), Report: n.Report}
}

// Is reports a problem unless the value is of the kind.
func (n Node) Is(k Kind, what string) bool {
	if n.Kind != k {
		n.Problemf("", "%s must be %s, not %s", what, k, n.Kind)
	}
	return n.Kind == k
}

// Decoder is a type that reads itself from a value. It reports to the node.
type Decoder interface{ DecodeStrict(n Node) }

// Schemer is a type that knows its own JSON Schema (2020-12).
type Schemer interface{ JSONSchema() Value }

// Field describes one member of an object that a struct is decoded from.
// It is read from the struct's tags:
//
//	json:"path"        the member's name
//	need:"yes"         it must be there
//	default:"true"     its value when it is not (bool, int and string fields)
//	doc:"…"            one line of documentation
//	since:"2"          the first schema_version that knows it
//	enum:"a b c"       the values that a string may have
type Field struct {
	Name    string
	Need    bool
	Default string
	Doc     string
	Since   int
	Enum    []string
	Type    reflect.Type
	index   []int
}

// FieldsOf lists the members that struct type t is decoded from, in order.
func FieldsOf(t reflect.Type) []Field {
	var out []Field
	for _, f := range reflect.VisibleFields(t) {
		name := f.Tag.Get("json")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		since, _ := strconv.Atoi(f.Tag.Get("since"))
		out = append(out, Field{Name: name, Need: f.Tag.Get("need") == "yes", Default: f.Tag.Get("default"),
			Doc: f.Tag.Get("doc"), Since: max(since, 1), Enum: strings.Fields(f.Tag.Get("enum")), Type: f.Type, index: f.Index})
	}
	return out
}

// Decode reads an object into the struct that into points to. What is wrong is
// reported, all of it; the struct is complete only when nothing was.
func Decode(n Node, what string, into any) {
	v := reflect.ValueOf(into).Elem()
	if !n.Is(Object, what) {
		return
	}
	fields := FieldsOf(v.Type())
	for _, m := range n.Members {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == m.Name })
		at := Node{Value: &Value{Pos: m.Pos}, Pointer: n.Pointer + Pointer{m.Name}.String(), Report: n.Report}
		if i < 0 {
			at.Problemf(nearest(m.Name, fields), "%s has no member %s", what, clip(m.Name))
		} else if n.Report.Version < fields[i].Since {
			at.Problemf(fmt.Sprintf(`Set "schema_version": %d, or remove it.`, fields[i].Since), "%s: %s belongs to schema_version %d", what, clip(m.Name), fields[i].Since)
		}
	}
	for _, f := range fields {
		member := n.Value.Get(f.Name)
		if member == nil {
			if f.Need {
				n.Problemf("", "%s lacks its member %q", what, f.Name)
			} else if f.Default != "" {
				setDefault(v.FieldByIndex(f.index), f.Default)
			}
			continue
		}
		decodeInto(Node{Value: member, Pointer: n.Pointer + Pointer{f.Name}.String(), Report: n.Report}, f, v.FieldByIndex(f.index))
	}
}

func nearest(name string, fields []Field) string {
	var all []string
	for _, f := range fields {
		all = append(all, f.Name)
	}
	return Nearest(name, all)
}

// Nearest says how to mend an unknown name: the known name that it was
// probably meant to be, or the list of all.
func Nearest(name string, all []string) string {
	best, at := "", 3
	for _, known := range all {
		if d := distance(name, known); d < at {
			best, at = known, d
		}
	}
	if best != "" {
		return fmt.Sprintf("Did you mean %q?", best)
	}
	if len(all) == 0 {
		return "Remove it: there are no members here."
	}
	return "The known names are " + strings.Join(all, ", ") + "."
}

// distance is the Levenshtein distance, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			above := row[j]
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			row[j] = min(cost, above+1, row[j-1]+1)
			diagonal = above
		}
	}
	return row[len(b)]
}

func setDefault(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(text == "true")
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic("strictjson: default " + text + " of an integer field: " + err.Error())
		}
		v.SetInt(i)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic("strictjson: default " + text + " of a number field: " + err.Error())
		}
		v.SetFloat(f)
	default:
		panic("strictjson: no default for a field of type " + v.Type().String())
	}
}

var (
	valueType   = reflect.TypeFor[Value]()
	digestType  = reflect.TypeFor[Digest]()
	decoderType = reflect.TypeFor[Decoder]()
)

// decodeInto reads a member into a field. A pointer field says whether the
// member was there; null is a value only where any JSON value is.
func decodeInto(n Node, f Field, v reflect.Value) {
	what := strconv.Quote(f.Name)
	switch {
	case v.Type() == valueType:
		v.Set(reflect.ValueOf(*n.Value))
		return
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		decodeInto(n, f, v.Elem())
		return
	case v.Addr().Type().Implements(decoderType):
		v.Addr().Interface().(Decoder).DecodeStrict(n)
		return
	case v.Type() == digestType:
		if n.Is(String, what) {
			d, err := ParseDigest(n.Text)
			if err != nil {
				n.Problemf("", "%s: %v", what, err)
			}
			v.Set(reflect.ValueOf(d))
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		if n.Is(String, what) {
			v.SetString(n.Text)
			if len(f.Enum) > 0 && !slices.Contains(f.Enum, n.Text) {
				n.Problemf("", "%s must be one of %s, not %s", what, strings.Join(f.Enum, ", "), clip(n.Text))
			}
		}
	case reflect.Bool:
		if n.Is(Bool, what) {
			v.SetBool(n.Value.Bool)
		}
	case reflect.Int, reflect.Int64:
		if n.Is(Number, what) {
			i, ok := n.Int64()
			if !ok {
				n.Problemf("", "%s must be an integer, not %s", what, clip(n.Text))
			}
			v.SetInt(i)
		}
	case reflect.Float64:
		if n.Is(Number, what) {
			x, _ := n.Float64()
			v.SetFloat(x)
		}
	case reflect.Slice:
		if n.Is(Array, what) {
			v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
			for i := range n.Items {
				decodeInto(n.Item(i), Field{Name: fmt.Sprintf("%s[%d]", f.Name, i)}, v.Index(i))
			}
		}
	case reflect.Map:
		if n.Is(Object, what) {
			v.Set(reflect.MakeMap(v.Type()))
			for _, m := range n.Members {
				item := reflect.New(v.Type().Elem()).Elem()
				decodeInto(n.Member(m.Name), Field{Name: f.Name + "." + m.Name}, item)
				v.SetMapIndex(reflect.ValueOf(m.Name), item)
			}
		}
	case reflect.Struct:
		Decode(n, what, v.Addr().Interface())
	default:
		panic("strictjson: a field of type " + v.Type().String() + " cannot be decoded")
	}
}
