package strictjson

import (
	"fmt"
	"iter"
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

// Node is a value together with its place and the report that its problems go
// to: what a Decoder or a validation needs to say where something is wrong. The
// place is a chain of nodes, and written as a pointer only when somebody asks: a
// contract of a hundred thousand names has as many nodes, and rarely a problem.
type Node struct {
	*Value
	Report *Report
	above  *Node  // what it lies directly in; nil for a root
	token  string // the member's name in an object
	index  int    // or its place in an array
}

// Root makes the node of a whole document.
func (r *Report) Root(v *Value) Node { return Node{Value: v, Report: r} }

// With gives the node of another value at the same place.
func (n Node) With(v *Value) Node {
	n.Value = v
	return n
}

// Problemf reports a problem at the node.
func (n Node) Problemf(fix, format string, args ...any) {
	n.problemAt(n.Pos, fix, format, args...)
}

// problemAt is Problemf at an offset near the value, such as that of its name.
func (n Node) problemAt(pos int, fix, format string, args ...any) {
	n.Report.Problems = append(n.Report.Problems, Problem{Pos: pos, Pointer: n.Pointer(), Message: fmt.Sprintf(format, args...), Fix: fix})
}

// Member gives the node of a member of an object; where it is missing, the
// node of the object itself, so that a problem still has a place. It searches
// the object: to visit all members use [Node.Each].
func (n Node) Member(name string) Node {
	if v := n.Value.Get(name); v != nil {
		return Node{Value: v, Report: n.Report, above: &n, token: name}
	}
	return n
}

// Item gives the node of an element of an array; to visit all use [Node.Each].
func (n Node) Item(i int) Node {
	return Node{Value: &n.Items[i], Report: n.Report, above: &n, index: i}
}

// Each visits the elements of an array, or the members of an object, with
// their places in it.
func (n Node) Each() iter.Seq2[int, Node] {
	return func(yield func(int, Node) bool) {
		for i := range n.Items {
			if !yield(i, Node{Value: &n.Items[i], Report: n.Report, above: &n, index: i}) {
				return
			}
		}
		for i := range n.Members {
			m := &n.Members[i]
			if !yield(i, Node{Value: &m.Value, Report: n.Report, above: &n, token: m.Name}) {
				return
			}
		}
	}
}

// At gives the node at a pointer below this one, as far as it leads.
func (n Node) At(p Pointer) Node {
	for _, token := range p {
		next := n
		switch n.Kind {
		case Object:
			next = n.Member(token)
		case Array:
			if i, ok := index(token); ok && i < len(n.Items) {
				next = n.Item(i)
			}
		}
		if next.Value == n.Value {
			return n
		}
		n = next
	}
	return n
}

// Sound says whether nothing was found wrong with the node, or with anything
// below it, so far: what was decoded from it can be relied on.
func (n Node) Sound() bool {
	if len(n.Report.Problems) == 0 {
		return true
	}
	place := n.Pointer()
	return !slices.ContainsFunc(n.Report.Problems, func(p Problem) bool {
		rest, at := strings.CutPrefix(p.Pointer, place)
		return at && (rest == "" || rest[0] == '/')
	})
}

// HasSound says whether an object has a member of that name, and it is sound.
func (n Node) HasSound(name string) bool {
	return n.Value.Get(name) != nil && n.Member(name).Sound()
}

// maxPointer is how long a node's pointer grows: a document may have a problem
// at each of its values, below a single long name. The line and column of a
// problem stay exact.
const maxPointer = 1024

// Pointer is the node's place in the document (RFC 6901). What would make it
// longer than maxPointer is left out.
func (n Node) Pointer() string {
	var tokens []string
	for at := &n; at.above != nil; at = at.above {
		token := at.token
		if at.above.Kind == Array {
			token = strconv.Itoa(at.index)
		}
		tokens = append(tokens, token)
	}
	const more = "/…"
	out := ""
	for _, token := range slices.Backward(tokens) {
		switch {
		case len(out)+len(token) < maxPointer:
			out += "/" + escapeToken(token)
		case !strings.HasSuffix(out, more):
			out += more
		}
	}
	return out
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

// SchemaRefiner is a struct whose members depend on one another: it adds what
// its tags do not say to the schema that was made from them.
type SchemaRefiner interface{ RefineSchema(s *Value, version int) }

// VersionedSchemer is a type that takes more in a later schema version.
type VersionedSchemer interface{ JSONSchemaOf(version int) Value }

// Decode reads an object into the struct that into points to. What is wrong is
// reported, all of it; the struct is complete only when nothing was.
func Decode(n Node, what string, into any) {
	v := reflect.ValueOf(into).Elem()
	if !n.Is(Object, what) {
		return
	}
	fields := FieldsOf(v.Type())
	for at, member := range n.Each() {
		m := &n.Members[at]
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == m.Name })
		if i < 0 {
			member.problemAt(m.Pos, nearest(m.Name, fields), "%s has no member %s", what, clip(m.Name))
		} else if n.Report.Version < fields[i].Since {
			member.problemAt(m.Pos, fmt.Sprintf(`Set "schema_version": %d, or remove it.`, fields[i].Since), "%s: %s belongs to schema_version %d", what, clip(m.Name), fields[i].Since)
		}
	}
	for i := range fields {
		f := &fields[i]
		member := n.Value.Get(f.Name)
		if member == nil {
			if f.Need {
				n.Problemf("", "%s lacks its member %q", what, f.Name)
			} else if f.HasDefault {
				if err := setDefault(v.FieldByIndex(f.index), f.Default); err != nil {
					panic(fmt.Sprintf("strictjson: %s.%s: %v", v.Type(), f.Name, err))
				}
			}
			continue
		}
		at := Node{Value: member, Report: n.Report, above: &n, token: f.Name}
		decodeInto(at, label{field: f.Name}, f.Enum, v.FieldByIndex(f.index))
	}
}

// nearest says how to mend the name of an unknown member.
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
		// Names whose lengths differ by more are further apart than that; an
		// unknown name may be as long as the document.
		if apart := len(name) - len(known); apart >= at || -apart >= at {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(known)); d < at && d < len(known) {
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

// distance counts, in bytes, the insertions, deletions, changes and exchanges
// of neighbours that lead from one name to the other.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// label names what is decoded. It is written only when there is a problem: a
// list may be long.
type label struct {
	field   string
	element bool   // an element of the field's array
	member  string // a member of the field's object
}

func (l label) String() string {
	switch {
	case l.element:
		return "an element of " + clip(l.field)
	case l.member != "":
		return "the member " + clip(l.member) + " of " + clip(l.field)
	}
	return clip(l.field)
}

// is reports a problem unless the value is of the kind.
func (n Node) is(k Kind, l label) bool { return n.Kind == k || n.Is(k, l.String()) }

// decodeInto reads a member into a field. A pointer field says whether the
// member was there; null is a value only where any JSON value is.
func decodeInto(n Node, l label, enum []string, v reflect.Value) {
	switch {
	case v.Type() == valueType:
		v.Set(reflect.ValueOf(*n.Value))
		return
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		decodeInto(n, l, enum, v.Elem())
		return
	case v.Addr().Type().Implements(decoderType):
		v.Addr().Interface().(Decoder).DecodeStrict(n)
		return
	case v.Type() == digestType:
		if n.is(String, l) {
			d, err := ParseDigest(n.Text)
			if err != nil {
				n.Problemf("", "%s: %v", l, err)
			}
			v.Set(reflect.ValueOf(d))
		}
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		if n.is(Array, l) {
			v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
			for i, item := range n.Each() {
				decodeInto(item, label{field: l.field, element: true}, enum, v.Index(i))
			}
		}
	case reflect.Map:
		if n.is(Object, l) {
			decodeMap(n, l, v)
		}
	case reflect.Struct:
		Decode(n, l.String(), v.Addr().Interface())
	default:
		decodeScalar(n, l, enum, v)
	}
}

func decodeMap(n Node, l label, v reflect.Value) {
	t := v.Type()
	v.Set(reflect.MakeMapWithSize(t, len(n.Members)))
	for i, at := range n.Each() {
		name := n.Members[i].Name
		item := reflect.New(t.Elem()).Elem()
		decodeInto(at, label{field: l.field, member: name}, nil, item)
		v.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), item)
	}
}

func decodeScalar(n Node, l label, enum []string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if n.is(String, l) {
			v.SetString(n.Text)
			if len(enum) > 0 && !slices.Contains(enum, n.Text) {
				n.Problemf(Nearest(n.Text, enum), "%s must be one of %s, not %s", l, strings.Join(enum, ", "), clip(n.Text))
			}
		}
	case reflect.Bool:
		if n.is(Bool, l) {
			v.SetBool(n.Value.Bool)
		}
	case reflect.Int, reflect.Int64:
		if n.is(Number, l) {
			i, ok := n.Int64()
			if !ok {
				n.Problemf("", "%s must be an integer of at most 64 bits, not %s", l, clip(n.Text))
			}
			v.SetInt(i)
		}
	case reflect.Float64:
		if n.is(Number, l) {
			x, ok := n.Float64()
			if !ok {
				n.Problemf("", "%s is too large for a binary64 number", l)
				return
			}
			v.SetFloat(x)
		}
	default:
		panic("strictjson: a field of type " + v.Type().String() + " cannot be decoded")
	}
}
