package check

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Profile is the kernel-enforced sandbox that a check runs in.
type Profile string

const (
	Reading Profile = "reading" // read-only roots, no process, no network
	Process Profile = "command" // starts processes: workspace and scratch writable
)

// Type is a check type: what a contract's "type" names.
type Type struct {
	Name   string
	Doc    string // the package comment: the docs page, Markdown
	Since  int    // first schema_version that knows it
	Params reflect.Type
	// Carried says that the type is not linked into this program but into the
	// one that it carries: see package carry. It has a name, and nothing else.
	Carried bool
	bind    func(n strictjson.Node) (any, func(context.Context, *Pass) Outcome)
}

// Elsewhere declares a type that the carried program has.
func Elsewhere(name string) Type { return Type{Name: name, Since: 1, Carried: true} }

// Summary is the first sentence of the type's documentation. A package comment
// begins as Go wants it, "Package NAME decides"; the sentence with the verb.
func (t Type) Summary() string {
	words := strings.Fields(t.Doc)
	if len(words) > 2 && words[0] == "Package" {
		words = words[2:]
		words[0] = strings.ToUpper(words[0][:1]) + words[0][1:]
	}
	text := strings.Join(words, " ")
	if i := strings.Index(text, ". "); i >= 0 {
		return text[:i+1]
	}
	return text
}

// Validator is a struct of parameters that has more to say than its tags: it
// reports what is wrong to the node of its params object. It is asked as well
// when a member could not be decoded, so that lint says everything at once; so
// it looks only at what it knows to be sound: see [strictjson.Node.HasSound].
type Validator interface{ Validate(n strictjson.Node) }

// Warner is a struct of parameters that are well formed, and yet let a check
// end in one way only: as an error, or false whatever it finds. Each warning
// is a sentence for lint. They are no problems: the contract can be frozen.
type Warner interface{ Warnings() []string }

// Profiler is a struct of parameters that decides whether its check starts a
// process; without it a type is a reading one.
type Profiler interface{ Profile() Profile }

// ToolUser is a struct of parameters whose check needs programs of the
// machine: their names as PATH finds them, or paths. Lint warns of those that
// are missing.
type ToolUser interface{ Tools() []string }

// Step is a check with its parameters bound: nothing more can be wrong with them.
type Step struct {
	Run     func(context.Context, *Pass) Outcome
	Profile Profile
	Tools   []string
	// Warnings are those of a [Warner], nil for others. Only lint asks: they may
	// cost more than binding the parameters.
	Warnings func() []string
}

// Define makes a type from a run function. P is a struct with the tags of
// [strictjson.Field]; *P may implement [Validator], [Warner],
// [Profiler] and [ToolUser].
// It panics when that struct cannot be decoded: a mistake of the programmer,
// which must not wait for a contract that has the member.
func Define[P any](name, doc string, run func(ctx context.Context, p *P, pass *Pass) Outcome) Type {
	params := reflect.TypeFor[P]()
	if err := definable(name, params); err != nil {
		panic(fmt.Sprintf("check: type %q: %v", name, err))
	}
	return Type{
		Name: name, Doc: doc, Since: 1, Params: params,
		bind: func(n strictjson.Node) (any, func(context.Context, *Pass) Outcome) {
			p := new(P)
			strictjson.Decode(n, "params of "+name, p)
			if v, ok := any(p).(Validator); ok && n.Kind == strictjson.Object {
				v.Validate(n)
			}
			return p, func(ctx context.Context, pass *Pass) Outcome { return run(ctx, p, pass) }
		},
	}
}

// definable says what is wrong with the name or the params of a type.
func definable(name string, params reflect.Type) error {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return errors.New("a name is lower-case letters, digits and _")
	}
	return strictjson.CheckStruct(params)
}

// Bind decodes and validates a check's params. What is wrong goes to the
// node's report; the step may be run only when nothing was.
func (t Type) Bind(n strictjson.Node) Step {
	before := len(n.Report.Problems)
	p, run := t.bind(n)
	s := Step{Run: run, Profile: Reading}
	if len(n.Report.Problems) > before {
		return s // incomplete parameters are asked nothing more
	}
	if pr, ok := p.(Profiler); ok {
		s.Profile = pr.Profile()
	}
	if u, ok := p.(ToolUser); ok {
		s.Tools = u.Tools()
	}
	if w, ok := p.(Warner); ok {
		s.Warnings = w.Warnings
	}
	return s
}

// Path is a parameter that names a file or folder: not empty, without NUL.
type Path string

// DecodeStrict reads a path.
func (p *Path) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.String, "a path") {
		return
	}
	switch {
	case n.Text == "":
		n.Problemf(`Name a file; "." is the workspace itself.`, "a path must not be empty")
	case strings.IndexByte(n.Text, 0) >= 0:
		n.Problemf("", "a path must not hold a NUL character")
	}
	*p = Path(n.Text)
}

// JSONSchema describes a path.
func (Path) JSONSchema() strictjson.Value {
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("string")},
		strictjson.Member{Name: "pattern", Value: strictjson.Str(`^[^\x00]+$`)})
}

// Quote writes a name found in the world for people and for JSON: in quotes,
// with everything escaped that is no printable character, so that a name that
// is not UTF-8 stays distinct and a control character stays text.
func Quote(name string) string { return strconv.Quote(name) }

// Show writes a name as it is when it is clean UTF-8, else as [Quote] does.
func Show(name string) string {
	if q := strconv.Quote(name); q[1:len(q)-1] != name || !utf8.ValidString(name) {
		return q
	}
	return name
}
