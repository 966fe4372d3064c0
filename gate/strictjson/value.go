package strictjson

// Kind is the JSON type of a value.
type Kind uint8

// The kinds of JSON values. The zero Value is null.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}

// String names the kind with its article, for messages.
func (k Kind) String() string { return kindNames[k] }

// Value is one JSON value with the place where it was read.
type Value struct {
	Kind    Kind
	Bool    bool
	Pos     int      // byte offset in the source; -1 when it was not read from one
	Text    string   // String: its content; Number: its literal
	Items   []Value  // Array
	Members []Member // Object, in the order of the source
}

// Member is one name and value of an object.
type Member struct {
	Name  string
	Pos   int // byte offset of the name
	Value Value
}

// Get gives the member of that name, or nil.
func (v *Value) Get(name string) *Value {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return &v.Members[i].Value
		}
	}
	return nil
}

// Set replaces the member of that name, or adds it at the end.
func (v *Value) Set(name string, to Value) {
	if old := v.Get(name); old != nil {
		*old = to
		return
	}
	v.Members = append(v.Members, Member{Name: name, Pos: -1, Value: to})
}

// Without gives a copy of an object that lacks the named members.
func (v *Value) Without(names ...string) Value {
	out := *v
	out.Members = nil
next:
	for _, m := range v.Members {
		for _, n := range names {
			if m.Name == n {
				continue next
			}
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// Str makes a string that was not read from a source, as do the others below.
func Str(s string) Value { return Value{Kind: String, Text: s, Pos: -1} }

// Num makes a number from its literal, which must be valid JSON.
func Num(literal string) Value { return Value{Kind: Number, Text: literal, Pos: -1} }

// Boolean makes a boolean.
func Boolean(b bool) Value { return Value{Kind: Bool, Bool: b, Pos: -1} }

// Arr makes an array.
func Arr(items ...Value) Value { return Value{Kind: Array, Items: items, Pos: -1} }

// Obj makes an object.
func Obj(members ...Member) Value { return Value{Kind: Object, Members: members, Pos: -1} }

// String is the canonical form.
func (v Value) String() string { return string(Canonical(&v)) }

// MarshalJSON writes the canonical form, so a Value can be a member of what
// encoding/json encodes.
func (v Value) MarshalJSON() ([]byte, error) { return Canonical(&v), nil }

// UnmarshalJSON reads a value strictly, so a Value can be a field of a wire message.
func (v *Value) UnmarshalJSON(data []byte) error {
	doc, err := Parse(data, DocumentLimits)
	if err != nil {
		return err
	}
	*v = doc.Root
	return nil
}
