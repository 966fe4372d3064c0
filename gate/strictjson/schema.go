package strictjson

import (
	"reflect"
	"strconv"
)

// Schema gives the JSON Schema (2020-12) of the object that struct type t is
// decoded from, from the same tags that [Decode] reads. Members of a later
// schema version than the given one are left out.
func Schema(t reflect.Type, version int) Value {
	var (
		properties []Member
		required   []Value
	)
	for _, f := range FieldsOf(t) {
		if f.Since > version {
			continue
		}
		s := typeSchema(f.Type, version)
		if f.Doc != "" {
			s.Set("description", Str(f.Doc))
		}
		if len(f.Enum) > 0 {
			var all []Value
			for _, e := range f.Enum {
				all = append(all, Str(e))
			}
			if items := s.Get("items"); items != nil {
				items.Set("enum", Arr(all...))
			} else {
				s.Set("enum", Arr(all...))
			}
		}
		if f.HasDefault {
			s.Set("default", f.DefaultValue())
		}
		properties = append(properties, Member{Name: f.Name, Value: s})
		if f.Need {
			required = append(required, Str(f.Name))
		}
	}
	out := Obj(Member{Name: "type", Value: Str("object")}, Member{Name: "additionalProperties", Value: Boolean(false)})
	out.Set("properties", Obj(properties...))
	if len(required) > 0 {
		out.Set("required", Arr(required...))
	}
	if r, ok := reflect.New(t).Interface().(SchemaRefiner); ok {
		r.RefineSchema(&out, version)
	}
	return out
}

// RequireOne says in the schema of an object that exactly one of the members
// must be there. Members that it does not have are left out.
func RequireOne(s *Value, names ...string) { s.Set("oneOf", alternatives(s, names)) }

// RequireAny says in the schema of an object that at least one of the members
// must be there.
func RequireAny(s *Value, names ...string) { s.Set("anyOf", alternatives(s, names)) }

func alternatives(s *Value, names []string) Value {
	var out []Value
	for _, name := range names {
		if s.Get("properties").Get(name) != nil {
			out = append(out, Obj(Member{Name: "required", Value: Arr(Str(name))}))
		}
	}
	return Arr(out...)
}

// DefaultValue is the default of a field that has one, as JSON.
func (f Field) DefaultValue() Value {
	switch {
	case f.Type.Kind() == reflect.Bool:
		return Boolean(f.Default == "true")
	case f.Type.Kind() == reflect.String && f.Type != literalType, f.Type == pointerType:
		return Str(f.Default)
	}
	return Num(f.Default)
}

// DigestSchema describes what [ParseDigest] reads.
func DigestSchema() Value {
	return Obj(Member{Name: "type", Value: Str("string")}, Member{Name: "pattern", Value: Str("^([sS][hH][aA]256:)?[0-9a-fA-F]{64}$")})
}

func typeSchema(t reflect.Type, version int) Value {
	named := func(s string) Value { return Obj(Member{Name: "type", Value: Str(s)}) }
	if t == valueType {
		return Obj()
	}
	if t == digestType {
		return DigestSchema()
	}
	if t.Kind() == reflect.Pointer {
		return typeSchema(t.Elem(), version)
	}
	switch s := reflect.New(t).Interface().(type) {
	case VersionedSchemer:
		return s.JSONSchemaOf(version)
	case Schemer:
		return s.JSONSchema()
	}
	switch t.Kind() {
	case reflect.String:
		return named("string")
	case reflect.Bool:
		return named("boolean")
	case reflect.Int, reflect.Int64:
		return named("integer")
	case reflect.Float64:
		return named("number")
	case reflect.Slice:
		s := named("array")
		s.Set("items", typeSchema(t.Elem(), version))
		return s
	case reflect.Map:
		s := named("object")
		s.Set("additionalProperties", typeSchema(t.Elem(), version))
		return s
	case reflect.Struct:
		return Schema(t, version)
	}
	panic("strictjson: no schema for " + strconv.Quote(t.String()))
}
