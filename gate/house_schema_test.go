package gate_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verdictgate/verdictgate/checks"
	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// An editor that completes a contract by docs/contract.schema.json must never
// call a contract wrong that the gate takes, and must see every mistake of form
// that the gate refuses. Both are tested over the contracts under
// testdata/contracts, over the params of every check type's cases, and over
// what becomes of all of these when one thing in them is changed.

// beyondForm are the refusals that no JSON Schema can express, by their words.
var beyondForm = []string{
	// relations between values
	"stands twice", "which is no check earlier in the contract", "no number satisfies both",
	"for a check that starts no process",
	// the grammar of a string, and what stands in it
	"must hold no credential", "NUL", "is no JSON Pointer", "is no RE2 pattern", "~ must be followed by 0 or 1",
	"the pattern has", "is no origin", "is no glob",
	"parameters",
}

func TestHouseSchemaAgreesWithTheParser(t *testing.T) {
	schema := compileSchema(t)
	seen := map[string]int{}
	tried := map[string]bool{} // many cases differ in their files alone
	for _, seed := range seeds(t) {
		for _, text := range seed.mutants() {
			if tried[string(text)] {
				continue
			}
			tried[string(text)] = true
			formErr := validate(t, schema, text)
			problems := parserProblems(t, text)
			switch {
			case formErr != nil && len(problems) == 0:
				t.Errorf("%s: the parser takes it and the schema does not: %v\n%s", seed.name, formErr, text)
			case formErr == nil && len(problems) > 0:
				if i := slices.IndexFunc(problems, isForm); i >= 0 {
					t.Errorf("%s: the schema takes it and the parser does not: %s\n%s", seed.name, problems[i], text)
				}
				seen["beyond form"]++
			case formErr != nil:
				seen["refused by both"]++
			default:
				seen["taken by both"]++
			}
		}
		if t.Failed() {
			break // one document shows it; its mutants would only repeat it
		}
	}
	for _, kind := range []string{"taken by both", "refused by both", "beyond form"} {
		if seen[kind] < 20 {
			t.Errorf("only %d documents are %s: the test has lost its subject", seen[kind], kind)
		}
	}
	t.Log(seen)
}

func isForm(problem string) bool {
	switch { // languages of their own: of them a schema can say no more than the type
	case strings.Contains(problem, "/sql: "):
		return strings.Contains(problem, "must be a string")
	case strings.Contains(problem, "/params/schema: "):
		return strings.Contains(problem, "must be an object, true or false")
	case strings.Contains(problem, "/params/schema/"):
		return false
	}
	return !slices.ContainsFunc(beyondForm, func(words string) bool { return strings.Contains(problem, words) })
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc := plan.ContractSchema(checks.All())
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(strictjson.Canonical(&doc)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is fetched
	if err := c.AddResource("contract.schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("contract.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(instance)
}

// parserProblems is what the gate finds wrong, as lint would say it.
func parserProblems(t *testing.T, text []byte) []string {
	t.Helper()
	f, err := contract.Parse("contract.json", text)
	if err != nil {
		t.Fatal(err)
	}
	plan.Bind(f, checks.All())
	var out []string
	for _, p := range append(f.Problems(), gate.Undecided(f)...) {
		out = append(out, p.Pointer+": "+p.Message)
	}
	return out
}

// What an editor must see, as a person writes it.
func TestHouseSchemaRefuses(t *testing.T) {
	schema := compileSchema(t)
	manifest := func(files string) string {
		return `"contract_id": "c", "checks": [{"id": "a", "type": "directory_manifest", "params": {"path": "d", "expected_files": ` + files + `}}]`
	}
	for _, text := range []string{
		`"contract_id": "a\u0007b", "expectations": ["x"]`,
		`"contract_id": "a\u0085", "expectations": ["x"]`,
		`"contract_id": "c"`,
		`"contract_id": "c", "checks": []`,
		`"contract_id": "c", "checks": [], "expectations": [], "digest": null, "frozen_at": "x"`,
		`"contract_id": "c", "expectations": [""]`,
		`"contract_id": "c", "expectations": [" \t\u3000"]`,
		`"contract_id": "c", "expectations": ["x"], "subjects": ["a/../b"]`,
		`"contract_id": "c", "expectations": ["x"], "subjects": ["/a"]`,
		`"contract_id": "c", "expectations": ["x"], "revises": "x"`,
		manifest(`["/a"]`), manifest(`["../a"]`), manifest(`["a/.."]`), manifest(`["a/./b"]`), manifest(`["a//b"]`), manifest(`["a/"]`), manifest(`["."]`), manifest(`[""]`), manifest(`["a", "a"]`),
		`"contract_id": "c", "checks": [{"id": "a", "type": "directory_manifest", "params": {"path": "d", "expected_files": [], "expected_digests": {"../a": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}}]`,
	} {
		text = `{"schema_version": 2, ` + text + `}`
		if err := validate(t, schema, []byte(text)); err == nil {
			t.Errorf("the schema takes %s", text)
		}
		if len(parserProblems(t, []byte(text))) == 0 {
			t.Errorf("the parser takes %s", text)
		}
	}
	for _, text := range []string{
		manifest(`["a", "..a", "a..", ".hidden", "a/b c/…"]`),
		`"contract_id": "c\u00e9 \u2028", "expectations": ["x\n"]`,
		`"contract_id": "c", "expectations": ["x"], "subjects": ["a/..b/*", "**"]`,
		`"contract_id": "c", "digest": "sha256:x", "frozen_at": "x"`, // frozen elsewhere, and taken as it stands
	} {
		text = `{"schema_version": 2, ` + text + `}`
		if err := validate(t, schema, []byte(text)); err != nil {
			t.Errorf("the schema refuses %s: %v", text, err)
		}
		if p := parserProblems(t, []byte(text)); len(p) > 0 {
			t.Errorf("the parser refuses %s: %v", text, p)
		}
	}
}

// seed is a document, and the pointer to the part of it that is varied.
type seed struct {
	name string
	doc  strictjson.Value
	part string
}

// seeds are the documents that the test begins with.
func seeds(t *testing.T) []seed {
	t.Helper()
	var out []seed
	add := func(name, part string, text []byte) {
		if doc, err := strictjson.Parse(text, strictjson.ContractLimits); err == nil && doc.Root.Kind == strictjson.Object {
			out = append(out, seed{name, doc.Root, part})
		}
	}
	for _, pattern := range []string{"../testdata/contracts/*/*.json", "../examples/*/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no contracts match %s (%v)", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			add(file, "", text)
		}
	}
	cases, err := filepath.Glob("../checks/*/testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases of check types (%v)", err)
	}
	for _, file := range cases {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range archive.Files {
			if section.Name == "params.json" {
				kind := filepath.Base(filepath.Dir(filepath.Dir(file)))
				for version := 1; version <= 2; version++ {
					add(fmt.Sprintf("%s, version %d", file, version), "/checks/0/params", fmt.Appendf(nil,
						`{"schema_version": %d, "contract_id": "c", "checks": [{"id": "a", "type": %q, "params": %s}]}`, version, kind, section.Data))
				}
			}
		}
	}
	return out
}

// replacements are what a member is changed into: one value of each kind, and
// the edges that the format has.
var replacements = []strictjson.Value{
	{Kind: strictjson.Null}, strictjson.Boolean(true), strictjson.Num("0"), strictjson.Num("-1"), strictjson.Num("1.5"), strictjson.Num("100000"),
	strictjson.Str(""), strictjson.Str("x"), strictjson.Arr(), strictjson.Obj(),
}

// levels is how many levels of objects and arrays below the varied part are
// entered: the contract, its checks, each check, its params.
const levels = 4

// mutants gives the document as it is, and with one thing changed, for every
// thing in the varied part: removed, added, another value.
func (s *seed) mutants() [][]byte {
	var out [][]byte
	emit := func() { out = append(out, strictjson.Canonical(&s.doc)) }
	emit()
	part := &s.doc
	for _, name := range strings.Split(s.part, "/")[1:] {
		if part.Kind == strictjson.Array {
			part = &part.Items[0] // the one check of a case
		} else {
			part = part.Get(name)
		}
	}
	change(part, levels, emit)
	return out
}

// change makes each change in place, calls emit, and takes it back. Depth is
// how many levels of objects and arrays are entered.
func change(v *strictjson.Value, depth int, emit func()) {
	if depth == 0 {
		return
	}
	if v.Kind == strictjson.Object {
		before := v.Members
		v.Members = append(slices.Clone(before), strictjson.Member{Name: "unheard_of", Value: strictjson.Str("x")})
		emit()
		for i := range before {
			v.Members = slices.Delete(slices.Clone(before), i, i+1)
			emit()
		}
		v.Members = before
	}
	children := childrenOf(v)
	for _, child := range children {
		kept := *child
		for _, r := range replacements {
			*child = r
			emit()
		}
		*child = kept
		change(child, depth-1, emit)
	}
}

func childrenOf(v *strictjson.Value) []*strictjson.Value {
	var out []*strictjson.Value
	for i := range v.Members {
		out = append(out, &v.Members[i].Value)
	}
	for i := range v.Items {
		out = append(out, &v.Items[i])
	}
	return out
}
