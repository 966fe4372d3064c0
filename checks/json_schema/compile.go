package jsonschema

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// negation is where a schema lies that holds where the contract's does not.
const negation = "contract:///negation.json"

// base is where the contract's schema lies for the resolution of references.
// It is hierarchical, so that a relative "$ref" resolves to something beside
// it, which there is not; and its scheme is one that nothing loads.
const base = "contract:///schema.json"

// nothing is the loader of the product: no reference is ever fetched, neither
// from the network nor from a file.
type nothing struct{}

func (nothing) Load(string) (any, error) {
	return nil, errors.New("nothing outside the contract is ever fetched")
}

// compiled is a schema that is ready to validate.
type compiled struct {
	schema   *jsonschema.Schema
	negation *jsonschema.Schema

	// The library knows no context. Its one hook that runs at every step of a
	// validation is an extension, and the extension belongs to the compiled
	// schema, so one validation at a time uses it.
	mu   sync.Mutex
	stop *stopper
}

// compile compiles the schema at n and reports what is wrong with it.
func compile(n strictjson.Node, loader jsonschema.URLLoader) *compiled {
	if !examine(n, loader) {
		return nil
	}
	// An extension makes the library hold a schema against a part of its
	// metaschema only. So the schema was compiled as it is first, to find what
	// is wrong with it, and is compiled once more for use.
	stop := new(stopper)
	c, err := newCompiler(loader, instance(n.Value))
	if err == nil {
		c.RegisterVocabulary(stop.vocabulary())
		c.AssertVocabs()
		out := &compiled{stop: stop}
		if out.schema, err = c.Compile(base); err == nil {
			if out.negation, err = negate(c); err == nil {
				return out
			}
		}
	}
	explain(n, err)
	return nil
}

// negate compiles the negation of the contract's schema.
func negate(c *jsonschema.Compiler) (*jsonschema.Schema, error) {
	if err := c.AddResource(negation, map[string]any{"not": map[string]any{"$ref": base}}); err != nil {
		return nil, err
	}
	return c.Compile(negation)
}

func newCompiler(loader jsonschema.URLLoader, doc any) (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	for _, f := range formats() {
		c.RegisterFormat(f)
	}
	c.UseLoader(loader)
	return c, c.AddResource(base, doc)
}

// validate gives what is wrong with a document, in the order of the places. It
// ends with the context's error when that ends first.
func (c *compiled) validate(ctx context.Context, doc any) ([]violation, error) {
	err := c.apply(ctx, c.schema, doc)
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return violations(invalid), nil
	}
	return nil, err
}

// valid says only whether a document is valid. Inside "not" the library notes
// no places, which in a deep document take memory with the square of its depth.
func (c *compiled) valid(ctx context.Context, doc any) (bool, error) {
	err := c.apply(ctx, c.negation, doc)
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return true, nil
	}
	return false, err
}

func (c *compiled) apply(ctx context.Context, s *jsonschema.Schema, doc any) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop.ctx = ctx
	defer func() {
		if r := recover(); r != nil {
			stop, ok := r.(stopped)
			if !ok {
				panic(r)
			}
			err = stop.err
		}
	}()
	if err := s.Validate(doc); err != nil {
		return err
	}
	return ctx.Err()
}

// stopper is an extension that asserts nothing and ends a validation whose
// context is over. The library returns no error of ours, so it ends by a panic
// that [compiled.apply] catches.
type stopper struct{ ctx context.Context }

type stopped struct{ err error }

func (s *stopper) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL:     "urn:verdictgate:stopper",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) { return s, nil },
	}
}

// Validate is called at every pair of a subschema and a value.
func (s *stopper) Validate(*jsonschema.ValidatorContext, any) {
	if err := s.ctx.Err(); err != nil {
		panic(stopped{err})
	}
}

// counts are the keywords whose value the library keeps in an int.
var counts = []string{"maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "maxContains", "minContains"}

// maxCount is the largest value of such a keyword that is taken: far more than
// any document has, and far from where an int wraps around.
const maxCount = 1 << 53

// unsafeNumbers reports numbers that the library would compute wrongly or not
// in time: very long ones, and counts that an int does not hold.
func unsafeNumbers(n strictjson.Node) {
	if n.Kind == strictjson.Number && longNumber(n.Value) != nil {
		n.Problemf("", "a number of a schema has at most %d digits", maxDigits)
	}
	for i, at := range n.Each() {
		if at.Kind == strictjson.Number && n.Kind == strictjson.Object {
			if name := n.Members[i].Name; slices.Contains(counts, name) && strictjson.CompareNumbers(at.Text, fmt.Sprint(maxCount)) > 0 {
				at.Problemf("", "%s is at most %d", name, maxCount)
			}
		}
		unsafeNumbers(at)
	}
}

// explain reports why a schema does not compile, at its place in the contract.
func explain(n strictjson.Node, err error) {
	var (
		invalid *jsonschema.SchemaValidationError
		load    *jsonschema.LoadURLError
		regex   *jsonschema.InvalidRegexError
	)
	switch {
	case errors.As(err, &invalid):
		var detail *jsonschema.ValidationError
		var found []violation
		if errors.As(invalid.Err, &detail) {
			found = violations(detail)
		}
		if len(found) == 0 {
			n.Problemf("", "no valid schema: %v", invalid.Err)
		}
		root := place(n, invalid.URL)
		for _, v := range found {
			_, at, _ := v.at.Find(root.Value)
			fix := ""
			if aboutPattern(v.cause) {
				fix = linearTime
			}
			root.At(at).Problemf(fix, "no valid schema: %s", v.message())
		}
	case errors.As(err, &load):
		for _, at := range referring(n, load.URL) {
			at.Problemf("Copy what is referred to into $defs (definitions before 2019-09) and refer to it there.",
				"the reference to %s leads out of the schema; nothing is ever fetched", shortURL(load.URL))
		}
	case errors.As(err, &regex):
		place(n, regex.URL).Problemf(linearTime, "%q is no RE2 pattern: %v", clip(regex.Regex, maxMessage), regex.Err)
	default:
		explainReference(n, err)
	}
}

// aboutPattern says whether the metaschema wants a pattern that is none.
func aboutPattern(err *jsonschema.ValidationError) bool {
	f, ok := err.ErrorKind.(*kind.Format)
	return ok && f.Want == "regex" || slices.ContainsFunc(err.Causes, aboutPattern)
}

const linearTime = "Patterns are RE2: they run in linear time, and so have no lookahead, lookbehind or backreference."

func explainReference(n strictjson.Node, err error) {
	var (
		nowhere  *jsonschema.JSONPointerNotFoundError
		noAnchor *jsonschema.AnchorNotFoundError
		anchor   *jsonschema.DuplicateAnchorError
		id       *jsonschema.DuplicateIDError
		target   string
	)
	switch {
	case errors.As(err, &anchor):
		place(n, base+"#"+later(anchor.Ptr1, anchor.Ptr2)).Problemf("", "the anchor %q stands twice in one schema", clip(anchor.Anchor, maxMessage))
		return
	case errors.As(err, &id):
		place(n, base+"#"+later(id.Ptr1, id.Ptr2)).Problemf("", "the id %s stands twice", shortURL(id.ID))
		return
	case errors.As(err, &nowhere):
		target = nowhere.URL
	case errors.As(err, &noAnchor):
		target = noAnchor.Reference
	default:
		n.Problemf("", "the schema does not compile: %s", clip(strings.ReplaceAll(err.Error(), base, ""), maxMessage))
		return
	}
	for _, at := range referring(n, target) {
		at.Problemf("", "the reference to %s leads nowhere", shortURL(target))
	}
}

// later gives the second of two pointers, in an order that does not depend on
// that of Go's maps, as a fragment of an address.
func later(a, b string) string { return (&url.URL{Fragment: max(a, b)}).EscapedFragment() }

// refersTo says whether a reference can have resolved to an address: it is its
// end, as it is written or without its fragment or escapes.
func refersTo(ref, address string) bool {
	whole, err := url.PathUnescape(address)
	if err != nil {
		whole = address
	}
	bare, _, _ := strings.Cut(ref, "#")
	return ref != "" && (strings.HasSuffix(address, ref) || strings.HasSuffix(whole, ref)) ||
		bare != "" && strings.HasSuffix(address, bare)
}

// place gives the node of a part of the schema that the library names by its
// address, as far as it leads.
func place(n strictjson.Node, address string) strictjson.Node {
	_, fragment, _ := strings.Cut(address, "#")
	if text, err := url.PathUnescape(fragment); err == nil {
		if at, err := strictjson.ParsePointer(text); err == nil && strings.HasPrefix(address, base) {
			return n.At(at)
		}
	}
	return n
}

// shortURL writes an address as the contract would.
func shortURL(address string) string {
	short := strings.TrimPrefix(strings.TrimPrefix(address, base), "contract:///")
	return fmt.Sprintf("%q", clip(short, maxMessage))
}

// circle finds a subschema that leads back to itself without going into the
// document: validating with it would never end.
func circle(roots []*jsonschema.Schema) string {
	const open, done = 1, 2
	state := map[*jsonschema.Schema]int{}
	anchors := countAnchors(roots)
	var visit func(s *jsonschema.Schema) string
	visit = func(s *jsonschema.Schema) string {
		switch {
		case s == nil || state[s] == done:
			return ""
		case state[s] == open:
			return s.Location
		}
		state[s] = open
		for _, next := range append(inPlace(s), anchors.surely(s)...) {
			if at := visit(next); at != "" {
				return at
			}
		}
		state[s] = done
		return ""
	}
	var at string
	walk(roots, func(s *jsonschema.Schema) {
		if at == "" {
			at = visit(s)
		}
	})
	return at
}

// anchors counts the subschemas that a dynamic reference can lead to, by name.
type anchors struct {
	dynamic   map[string]int
	recursive int
}

func countAnchors(roots []*jsonschema.Schema) anchors {
	a := anchors{dynamic: map[string]int{}}
	walk(roots, func(s *jsonschema.Schema) {
		a.dynamic[s.DynamicAnchor]++
		if s.RecursiveAnchor {
			a.recursive++
		}
	})
	return a
}

// surely gives where the dynamic references of a subschema lead, if they can
// lead nowhere else. Where there are several anchors of a name it depends on
// the way there; the library stops at a circle of that kind while validating.
func (a anchors) surely(s *jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	if d := s.DynamicRef; d != nil && (d.Anchor == "" || a.dynamic[d.Anchor] <= 1) {
		out = append(out, d.Ref)
	}
	if r := s.RecursiveRef; r != nil && (!r.RecursiveAnchor || a.recursive <= 1) {
		out = append(out, r)
	}
	return out
}

// inPlace gives the subschemas that are applied to the same value.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	out := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	for _, d := range s.DependentSchemas {
		out = append(out, d)
	}
	for _, d := range s.Dependencies {
		if d, ok := d.(*jsonschema.Schema); ok {
			out = append(out, d)
		}
	}
	return out
}

// inside gives the subschemas that are applied to parts of the value.
func inside(s *jsonschema.Schema) []*jsonschema.Schema {
	out := slices.Concat([]*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema}, s.PrefixItems)
	for _, p := range s.Properties {
		out = append(out, p)
	}
	for _, p := range s.PatternProperties {
		out = append(out, p)
	}
	for _, x := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch x := x.(type) {
		case *jsonschema.Schema:
			out = append(out, x)
		case []*jsonschema.Schema:
			out = append(out, x...)
		}
	}
	if s.DynamicRef != nil {
		out = append(out, s.DynamicRef.Ref)
	}
	return append(out, s.RecursiveRef)
}

// walk visits every subschema once.
func walk(roots []*jsonschema.Schema, visit func(*jsonschema.Schema)) {
	seen := map[*jsonschema.Schema]bool{nil: true}
	for pending := slices.Clone(roots); len(pending) > 0; {
		s := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		visit(s)
		pending = append(append(pending, inPlace(s)...), inside(s)...)
	}
}
