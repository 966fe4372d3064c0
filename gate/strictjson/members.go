package strictjson

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// member is a field of a Go struct as [Append] writes it and [Assign] reads it:
// by the tags of encoding/json. What people write is read by other tags: see
// [Field].
type member struct {
	name     string
	optional bool // left out when it is empty
	index    int
}

// structMembers are the members of a struct as they are declared, and by name.
type structMembers struct{ declared, sorted []member }

var knownMembers sync.Map // reflect.Type -> structMembers

// membersOf lists the members of a struct type. A type that encoding/json would
// treat in a way that is not known here (embedded structs, the string option) is
// an error: it is better refused than written another way.
func membersOf(t reflect.Type) (structMembers, error) {
	if known, ok := knownMembers.Load(t); ok {
		return known.(structMembers), nil
	}
	var out structMembers
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous || options != "" && options != "omitempty":
			return out, fmt.Errorf("strictjson: the field %s.%s is of no form that is known", t, f.Name)
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		out.declared = append(out.declared, member{name, options == "omitempty", i})
	}
	out.sorted = slices.SortedFunc(slices.Values(out.declared), func(a, b member) int { return strings.Compare(a.name, b.name) })
	knownMembers.Store(t, out)
	return out, nil
}
