package jsonschema

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// How often a schema is looked at again without what is known to be wrong with
// it. Each round finds at least one more mistake, and costs a compilation, whose
// time grows with the square of the number of subschemas; what is left over
// shows when the rest is mended.
const (
	maxRounds = 32
	minRounds = 2
	// maxWork bounds the rounds by the sum of these squares: to about three
	// seconds.
	maxWork = 250_000_000
)

func rounds(subschemas int) int {
	return max(minRounds, min(maxRounds, maxWork/(subschemas*subschemas)))
}

// examine reports what is wrong with the schema at n, and says whether nothing
// is. The library ends at the first mistake of most kinds. So that an author
// learns of all at once, what was reported is cut out of a copy, and the copy
// is looked at again.
func examine(n strictjson.Node, loader jsonschema.URLLoader) (sound bool) {
	before := len(n.Report.Problems)
	if namesDrafts(n, loader); len(n.Report.Problems) > before {
		return false // the rest means something in some draft only
	}
	unsafeNumbers(n)
	left := clone(n.Value)
	rest := n.With(&left)
	known := before
	subschemas := 0
	positions(n.Value, nil, draft2020, func(*strictjson.Value, strictjson.Pointer) { subschemas++ })
	for range rounds(max(subschemas, 1)) {
		for _, p := range n.Report.Problems[known:] {
			if !cut(rest.Value, strings.TrimPrefix(p.Pointer, n.Pointer())) {
				return false
			}
		}
		n.Report.Problems = firstOfPlace(n.Report.Problems, known)
		known = len(n.Report.Problems)
		schemas, err := compileAll(rest, loader)
		if err == nil {
			if at := circle(schemas); at != "" {
				place(rest, at).Problemf("", "the schema refers to itself in a circle, at %s, without going into the document", shortURL(at))
			}
			break
		}
		explain(rest, err)
	}
	n.Report.Problems = firstOfPlace(n.Report.Problems, known)
	return len(n.Report.Problems) == before
}

// firstOfPlace drops what was found from the given problem on at a place where
// something was found before: it is about what was left there.
func firstOfPlace(problems []strictjson.Problem, from int) []strictjson.Problem {
	seen := map[string]bool{}
	for _, p := range problems[:from] {
		seen[p.Pointer] = true
	}
	return append(problems[:from:from], slices.DeleteFunc(problems[from:], func(p strictjson.Problem) bool { return seen[p.Pointer] })...)
}

// compileAll compiles a schema and every subschema of it. The library leaves
// alone what nothing refers to; a reference there that leads nowhere would be
// found only when somebody begins to use it.
func compileAll(n strictjson.Node, loader jsonschema.URLLoader) (schemas []*jsonschema.Schema, err error) {
	c, err := newCompiler(loader, instance(n.Value))
	if err != nil {
		return nil, err
	}
	positions(n.Value, nil, draft2020, func(_ *strictjson.Value, at strictjson.Pointer) {
		if err != nil {
			return
		}
		var s *jsonschema.Schema
		if s, err = c.Compile(base + "#" + (&url.URL{Fragment: at.String()}).EscapedFragment()); err == nil {
			schemas = append(schemas, s)
		}
	})
	return schemas, err
}

func clone(v *strictjson.Value) strictjson.Value {
	out := *v
	out.Items, out.Members = slices.Clone(v.Items), slices.Clone(v.Members)
	for i := range out.Items {
		out.Items[i] = clone(&out.Items[i])
	}
	for i := range out.Members {
		out.Members[i].Value = clone(&out.Members[i].Value)
	}
	return out
}

// cut takes the value at a pointer out of a schema: a keyword goes away, and a
// subschema in a list or below a name becomes one that allows everything, so
// that its neighbours keep their places and references to it still lead
// somewhere. What is that already takes the list with it. It gives false for
// the schema as a whole, and for a place that is not there.
func cut(root *strictjson.Value, pointer string) bool {
	at, err := strictjson.ParsePointer(pointer)
	if err != nil || len(at) == 0 {
		return false
	}
	value, _, why := at.Find(root)
	if why != "" {
		return false
	}
	last := len(at) - 1
	parent, _, _ := at[:last].Find(root)
	named := last > 0 && slices.ContainsFunc(keywords(), func(k keyword) bool { return k.name == at[last-1] && k.form == byName })
	if parent.Kind == strictjson.Array || named {
		if value.Kind == strictjson.Object && len(value.Members) == 0 {
			return cut(root, at[:last].String())
		}
		*value = strictjson.Value{Kind: strictjson.Object, Pos: value.Pos}
		return true
	}
	parent.Members = slices.DeleteFunc(parent.Members, func(m strictjson.Member) bool { return m.Name == at[last] })
	return true
}

// draft is a version of JSON Schema, by the numbers that order them.
type draft int

const (
	draft4    draft = 4
	draft6    draft = 6
	draft7    draft = 7
	draft2019 draft = 2019
	draft2020 draft = 2020
)

// draftOf reads a "$schema". The undated http://json-schema.org/schema names
// whatever is newest, and a frozen contract must mean the same for ever.
func draftOf(name string) (draft, bool) {
	scheme, name, _ := strings.Cut(strings.TrimSuffix(name, "#"), "://")
	if scheme != "http" && scheme != "https" {
		return 0, false
	}
	d, known := map[string]draft{
		"json-schema.org/draft-04/schema":      draft4,
		"json-schema.org/draft-06/schema":      draft6,
		"json-schema.org/draft-07/schema":      draft7,
		"json-schema.org/draft/2019-09/schema": draft2019,
		"json-schema.org/draft/2020-12/schema": draft2020,
	}[name]
	return d, known
}

// namesDrafts reports every "$schema" that counts and names neither a known
// draft nor something that the loader has.
func namesDrafts(n strictjson.Node, loader jsonschema.URLLoader) {
	positions(n.Value, nil, draft2020, func(v *strictjson.Value, at strictjson.Pointer) {
		name := v.Get("$schema")
		if name == nil || len(at) > 0 && v.Get("$id") == nil && v.Get("id") == nil {
			return // below the root only a schema with a name of its own has a draft
		}
		if _, known := draftOf(name.Text); known || name.Kind != strictjson.String {
			return
		}
		if _, err := loader.Load(strings.TrimSuffix(name.Text, "#")); err != nil {
			n.At(slices.Concat(at, strictjson.Pointer{"$schema"})).Problemf("Name http://json-schema.org/draft-07/schema#, https://json-schema.org/draft/2020-12/schema or another dated draft, or leave it out for 2020-12.",
				"$schema %q is no known draft", clip(name.Text, maxMessage))
		}
	})
}

// form is how subschemas stand in the value of a keyword.
type form int

const (
	itself form = iota
	inList
	byName
	itselfOrInList
)

// keyword is one whose value holds subschemas, from a draft on.
type keyword struct {
	name  string
	form  form
	since draft
}

func keywords() []keyword {
	return []keyword{
		{"definitions", byName, draft4}, {"properties", byName, draft4}, {"patternProperties", byName, draft4}, {"dependencies", byName, draft4},
		{"additionalProperties", itself, draft4}, {"items", itselfOrInList, draft4}, {"additionalItems", itself, draft4},
		{"allOf", inList, draft4}, {"anyOf", inList, draft4}, {"oneOf", inList, draft4}, {"not", itself, draft4},
		{"propertyNames", itself, draft6}, {"contains", itself, draft6},
		{"if", itself, draft7}, {"then", itself, draft7}, {"else", itself, draft7},
		{"$defs", byName, draft2019}, {"dependentSchemas", byName, draft2019}, {"contentSchema", itself, draft2019},
		{"unevaluatedProperties", itself, draft2019}, {"unevaluatedItems", itself, draft2019},
		{"prefixItems", inList, draft2020},
	}
}

// positions visits a schema and every subschema of it, by the keywords of its
// draft. What stands in const, enum, default, examples or a keyword that the
// draft does not know is no schema, whatever it looks like.
func positions(v *strictjson.Value, at strictjson.Pointer, d draft, visit func(v *strictjson.Value, at strictjson.Pointer)) {
	if v.Kind != strictjson.Object && v.Kind != strictjson.Bool {
		return // an array of names below dependencies, or a mistake that the metaschema finds
	}
	if name := v.Get("$schema"); name != nil && (len(at) == 0 || v.Get("$id") != nil || v.Get("id") != nil) {
		if own, known := draftOf(name.Text); known {
			d = own
		}
	}
	visit(v, at)
	below := func(child *strictjson.Value, tokens ...string) {
		positions(child, slices.Concat(at, tokens), d, visit)
	}
	for _, k := range keywords() {
		value := v.Get(k.name)
		if value == nil || d < k.since || d < draft2019 && v.Get("$ref") != nil && k.name != "definitions" {
			continue // before 2019-09 what stands beside a reference is ignored
		}
		switch {
		case k.form == byName:
			for i := range value.Members {
				below(&value.Members[i].Value, k.name, value.Members[i].Name)
			}
		case k.form != itself && value.Kind == strictjson.Array:
			for i := range value.Items {
				below(&value.Items[i], k.name, fmt.Sprint(i))
			}
		case k.form != inList:
			below(value, k.name)
		}
	}
}

// referring finds the references that resolved to an address: the library
// reports addresses, a person looks for places. Without any, it is n.
func referring(n strictjson.Node, address string) []strictjson.Node {
	var out []strictjson.Node
	positions(n.Value, nil, draft2020, func(v *strictjson.Value, at strictjson.Pointer) {
		for _, name := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if ref := v.Get(name); ref != nil && ref.Kind == strictjson.String && refersTo(ref.Text, address) {
				out = append(out, n.At(slices.Concat(at, strictjson.Pointer{name})))
			}
		}
	})
	if len(out) == 0 {
		out = append(out, n)
	}
	return out
}
