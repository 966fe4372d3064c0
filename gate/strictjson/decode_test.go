package strictjson

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// even is a type that reads itself and knows its schema.
type even int64

func (e *even) DecodeStrict(n Node) {
	if !n.Is(Number, "an even number") {
		return
	}
	i, ok := n.Int64()
	if !ok || i%2 != 0 {
		n.Problemf("Double it.", "%s is not even", clip(n.Text))
	}
	*e = even(i)
}

func (even) JSONSchema() Value {
	return Obj(Member{Name: "type", Value: Str("integer")}, Member{Name: "multipleOf", Value: Num("2")})
}

type inner struct {
	ID   string `json:"id" need:"yes"`
	Size int    `json:"size" default:"3"`
}

type shared struct {
	Note string `json:"note" doc:"A remark."`
}

// sample has a field of every kind.
type sample struct {
	shared
	Name     string            `json:"name" need:"yes" doc:"Its name."`
	Mode     string            `json:"mode" default:"exact" enum:"exact contains regex"`
	On       bool              `json:"on" default:"true"`
	Off      bool              `json:"off"`
	Count    int               `json:"count" default:"7"`
	Big      int64             `json:"big"`
	Ratio    float64           `json:"ratio" default:"0.5"`
	Maybe    *int              `json:"maybe"`
	MaybeOn  *bool             `json:"maybe_on"`
	Tags     []string          `json:"tags" enum:"a b"`
	Numbers  map[string]int    `json:"numbers"`
	Digest   Digest            `json:"digest"`
	Digests  map[string]Digest `json:"digests"`
	Any      Value             `json:"any"`
	MaybeAny *Value            `json:"maybe_any"`
	Exact    Literal           `json:"exact" default:"1.50"`
	At       Pointer           `json:"at"`
	Even     even              `json:"even"`
	Inner    inner             `json:"inner"`
	Inners   []inner           `json:"inners"`
	MaybeIn  *inner            `json:"maybe_in"`
	Later    string            `json:"later" since:"2"`
	Hidden   string            `json:"-"`
	Computed string
}

// decoded decodes a text and gives what was wrong as "line:column pointer: message [mend]".
func decoded(t *testing.T, src string, version int) (sample, []string) {
	t.Helper()
	doc, err := Parse([]byte(src), ContractLimits)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	var s sample
	report := Report{Version: version}
	Decode(report.Root(&doc.Root), "a sample", &s)
	var problems []string
	for _, p := range report.Problems {
		at := doc.Position(p.Pos)
		text := fmt.Sprintf("%d:%d %s: %s", at.Line, at.Column, p.Pointer, p.Message)
		if p.Fix != "" {
			text += " [" + p.Fix + "]"
		}
		problems = append(problems, text)
	}
	return s, problems
}

func TestDecodeComplete(t *testing.T) {
	digest := Sum(nil)
	s, problems := decoded(t, `{"name":"n","note":"x","mode":"regex","on":false,"off":true,"count":-5,"big":9223372036854775807,"ratio":2,"maybe":0,"maybe_on":false,
		"tags":["a","b","a"],"numbers":{"x":1,"":2},"digest":"`+strings.ToUpper(digest.Hex())+`","digests":{"f":"`+digest.String()+`"},"any":{"b":[1.50],"a":null},"maybe_any":null,
		"exact":9007199254740993,"at":"/a~1b/0","even":4.0,"inner":{"id":"i"},"inners":[{"id":"j","size":0},{"id":"k"}],"maybe_in":{"id":"l"},"later":"z"}`, 2)
	if len(problems) > 0 {
		t.Fatalf("problems: %q", problems)
	}
	zero, no := 0, false
	if got := string(Canonical(&s.Any)); got != `{"a":null,"b":[1.5]}` {
		t.Errorf("any is %s", got)
	}
	if s.MaybeAny == nil || s.MaybeAny.Kind != Null {
		t.Errorf("maybe_any is %v, want a null that was there", s.MaybeAny)
	}
	s.Any, s.MaybeAny = Value{}, nil
	want := sample{shared: shared{Note: "x"}, Name: "n", Mode: "regex", On: false, Off: true, Count: -5, Big: 9223372036854775807, Ratio: 2, Maybe: &zero, MaybeOn: &no,
		Tags: []string{"a", "b", "a"}, Numbers: map[string]int{"x": 1, "": 2}, Digest: digest, Digests: map[string]Digest{"f": digest}, Exact: "9007199254740993",
		At: Pointer{"a/b", "0"}, Even: 4, Inner: inner{"i", 3}, Inners: []inner{{"j", 0}, {"k", 3}}, MaybeIn: &inner{"l", 3}, Later: "z"}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

func TestDecodeDefaults(t *testing.T) {
	s, problems := decoded(t, `{"name":"n"}`, 1)
	want := sample{Name: "n", Mode: "exact", On: true, Count: 7, Ratio: 0.5, Exact: "1.50"}
	if len(problems) > 0 || !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v (%q)\nwant %+v", s, problems, want)
	}
	// An empty list is there; no list is not.
	if s, _ := decoded(t, `{"name":"n","tags":[],"numbers":{}}`, 1); s.Tags == nil || s.Numbers == nil {
		t.Errorf("empty lists are taken for none: %+v", s)
	}
}

func TestDecodeProblems(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want []string
	}{
		{`[]`, []string{`1:1 : a sample must be an object, not an array`}},
		{`null`, []string{`1:1 : a sample must be an object, not null`}},
		{`{}`, []string{`1:1 : a sample lacks its member "name"`}},
		{"{\"name\":\"n\",\n \"nmae\":1}", []string{`2:2 /nmae: a sample has no member "nmae" [Did you mean "name"?]`}},
		{`{"name":"n","NAME":1}`, []string{`1:13 /NAME: a sample has no member "NAME" [Did you mean "name"?]`}},
		{`{"name":"n","entirely":1}`, []string{`1:13 /entirely: a sample has no member "entirely" [The known names are note, name, mode, on, off, count, big, ratio, maybe, maybe_on, tags, numbers, digest, digests, any, maybe_any, exact, at, even, inner, inners, maybe_in, later.]`}},
		{`{"name":"n","Hidden":1,"Computed":2,"-":3}`, nil}, // three problems; checked below
		{`{"name":"n","later":"z"}`, []string{`1:13 /later: a sample: "later" belongs to schema_version 2 [Set "schema_version": 2, or remove it.]`}},
		{`{"name":7}`, []string{`1:9 /name: "name" must be a string, not a number`}},
		{`{"name":null}`, []string{`1:9 /name: "name" must be a string, not null`}},
		{`{"name":"n","mode":"exat"}`, []string{`1:20 /mode: "mode" must be one of exact, contains, regex, not "exat" [Did you mean "exact"?]`}},
		{`{"name":"n","on":1}`, []string{`1:18 /on: "on" must be a boolean, not a number`}},
		{`{"name":"n","on":"true"}`, []string{`1:18 /on: "on" must be a boolean, not a string`}},
		{`{"name":"n","count":1.5}`, []string{`1:21 /count: "count" must be an integer of at most 64 bits, not "1.5"`}},
		{`{"name":"n","count":9223372036854775808}`, []string{`1:21 /count: "count" must be an integer of at most 64 bits, not "9223372036854775808"`}},
		{`{"name":"n","ratio":1` + strings.Repeat("0", 400) + `}`, []string{`1:21 /ratio: "ratio" is too large for a binary64 number`}},
		{`{"name":"n","maybe":null}`, []string{`1:21 /maybe: "maybe" must be a number, not null`}},
		{`{"name":"n","tags":"a"}`, []string{`1:20 /tags: "tags" must be an array, not a string`}},
		{`{"name":"n","tags":["a","c",1]}`, []string{`1:25 /tags/1: an element of "tags" must be one of a, b, not "c" [The known names are a, b.]`, `1:29 /tags/2: an element of "tags" must be a string, not a number`}},
		{`{"name":"n","numbers":{"a/b":"x","":[]}}`, []string{`1:30 /numbers/a~1b: the member "a/b" of "numbers" must be a number, not a string`, `1:37 /numbers/: "numbers" must be a number, not an array`}},
		{`{"name":"n","digest":"sha256:00"}`, []string{`1:22 /digest: "digest": "sha256:00" is no SHA-256: 64 hex digits are wanted, with or without sha256: before them`}},
		{`{"name":"n","exact":"1"}`, []string{`1:21 /exact: a number must be a number, not a string`}},
		{`{"name":"n","even":3}`, []string{`1:20 /even: "3" is not even [Double it.]`}},
		{`{"name":"n","inner":{}}`, []string{`1:21 /inner: "inner" lacks its member "id"`}},
		{`{"name":"n","inners":[{"id":"x"},{"id":1,"sise":2},3]}`, []string{
			`1:42 /inners/1/sise: an element of "inners" has no member "sise" [Did you mean "size"?]`,
			`1:40 /inners/1/id: "id" must be a string, not a number`,
			`1:52 /inners/2: an element of "inners" must be an object, not a number`}},
		{`{"at":"x","even":"y"}`, []string{`1:1 : a sample lacks its member "name"`,
			`1:7 /at: "x" is no JSON Pointer: it must be "" or begin with "/" (RFC 6901) [Write "" for the whole document, or "/" before each step: "/orders/0/total".]`,
			`1:18 /even: an even number must be a number, not a string`}},
	} {
		_, got := decoded(t, tt.src, 1)
		if tt.want == nil {
			if len(got) != 3 {
				t.Errorf("%s: %q, want three problems: none of these is a member", tt.src, got)
			}
			continue
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s\n got %q\nwant %q", tt.src, got, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"path", "pointer", "equals"}
	for name, want := range map[string]string{
		"paht":                     `Did you mean "path"?`,
		"pth":                      `Did you mean "path"?`,
		"PATH":                     `Did you mean "path"?`,
		"EQUAL":                    `Did you mean "equals"?`,
		"equal":                    `Did you mean "equals"?`,
		"equalss":                  `Did you mean "equals"?`,
		"expect":                   "The known names are path, pointer, equals.",
		"":                         "The known names are path, pointer, equals.",
		strings.Repeat("x", 1<<20): "The known names are path, pointer, equals.",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("Nearest(%s) = %s, want %s", clip(name), got, want)
		}
	}
	if got := Nearest("x", nil); got != "Remove it: there are no members here." {
		t.Errorf("with no known name: %s", got)
	}
}

// first is the node of an object's first member.
func first(n Node) Node {
	for _, member := range n.Each() {
		return member
	}
	return n
}

func TestNodes(t *testing.T) {
	doc, err := Parse([]byte(`{"a":[1,{"b/c":2}]}`), ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	root := r.Root(&doc.Root)
	for want, n := range map[string]Node{
		"":             root,
		"/a":           root.Member("a"),
		"/a/1":         root.Member("a").Item(1),
		"/a/1/b~1c":    root.Member("a").Item(1).Member("b/c"),
		"/a/1/b~1c ":   first(first(root).Item(1)),
		" (no member)": root.Member("none"),
	} {
		want, _, _ = strings.Cut(want, " ")
		p, err := ParsePointer(n.Pointer())
		if err != nil {
			t.Fatal(err)
		}
		if at, _, why := p.Find(&doc.Root); n.Pointer() != want || at != n.Value || why != "" {
			t.Errorf("node at %q leads elsewhere, want %q (%s)", n.Pointer(), want, why)
		}
	}
}

// A name of a megabyte above many values must not be copied for each of them.
func TestPointersStayShort(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	doc, err := Parse([]byte(`{"`+long+`":{"x":{"y":[1]}}}`), ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	n := first(r.Root(&doc.Root))
	for n.Kind == Object {
		n = first(n)
	}
	if n = n.Item(0); n.Pointer() != "/…/x/y/0" || doc.Position(n.Pos) != (Position{1, len(long) + 16}) {
		t.Errorf("pointer %s at %v", clip(n.Pointer()), doc.Position(n.Pos))
	}
}

// Large objects and lists are read in linear time; a search per member would
// take minutes here.
func TestDecodeLarge(t *testing.T) {
	const n = 200_000
	var b strings.Builder
	b.WriteString(`{"name":"n","numbers":{`)
	for i := range n {
		fmt.Fprintf(&b, `"m%d":%d,`, i, i)
	}
	b.WriteString(`"last":0},"tags":[`)
	b.WriteString(strings.Repeat(`"a",`, n) + `"c"]`)
	for i := range 1000 {
		fmt.Fprintf(&b, `,"unknown%d":0`, i)
	}
	s, problems := decoded(t, b.String()+"}", 1)
	if len(s.Numbers) != n+1 || len(s.Tags) != n+1 || len(problems) != 1001 {
		t.Errorf("%d numbers, %d tags, %d problems", len(s.Numbers), len(s.Tags), len(problems))
	}
}

func TestCheckStruct(t *testing.T) {
	type recursive struct {
		Below []struct {
			Self *recursive `json:"self"`
		} `json:"below"`
	}
	if err := CheckStruct(reflect.TypeFor[sample]()); err != nil {
		t.Errorf("sample: %v", err)
	}
	// Made at run time, because vet refuses some of these tags where they stand in source.
	field := func(x any, tag string) reflect.StructField {
		return reflect.StructField{Name: "A", Type: reflect.TypeOf(x), Tag: reflect.StructTag(tag)}
	}
	of := func(x any, tag string) reflect.Type { return reflect.StructOf([]reflect.StructField{field(x, tag)}) }
	second := field("", `json:"a"`)
	second.Name = "B"
	hidden := field("", `json:"a"`)
	hidden.Name, hidden.PkgPath = "a", "strictjson"
	for want, typ := range map[string]reflect.Type{
		"is no struct":            reflect.TypeFor[int](),
		"has options":             of("", `json:"a,omitempty"`),
		"it can only be yes":      of("", `json:"a" need:"true"`),
		"its default is never":    of("", `json:"a" need:"yes" default:"x"`),
		"not exported":            reflect.StructOf([]reflect.StructField{hidden}),
		`the name "a" is taken`:   reflect.StructOf([]reflect.StructField{field("", `json:"a"`), second}),
		`"two" is no version`:     of("", `json:"a" since:"two"`),
		`"0" is no version`:       of("", `json:"a" since:"0"`),
		"no integer":              of(0, `json:"a" default:"many"`),
		"no boolean":              of(false, `json:"a" default:"yes"`),
		`"x" is no number`:        of(0.5, `json:"a" default:"x"`),
		`"1." is no number`:       of(Literal(""), `json:"a" default:"1."`),
		"has no default":          of(new(int), `json:"a" default:"1"`),
		"an enum is for text":     of(0, `json:"a" enum:"1 2"`),
		"is not in the enum":      of("", `json:"a" enum:"x y" default:"z"`),
		"int32 cannot be decoded": of([]int32{}, `json:"a"`),
		"names of an object are":  of(map[int]int{}, `json:"a"`),
		"func() cannot be decoded": of(struct {
			B map[string]func() `json:"b"`
		}{}, `json:"a"`),
		"contains itself": reflect.TypeFor[recursive](),
	} {
		if err := CheckStruct(typ); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", typ, err, want)
		}
	}
}

// sampleSchema compiles the schema of a sample with an independent validator.
func sampleSchema(t testing.TB, version int) *jsonschema.Schema {
	t.Helper()
	text := Schema(reflect.TypeFor[sample](), version)
	x, err := jsonschema.UnmarshalJSON(bytes.NewReader(Canonical(&text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("sample.json", x); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sample.json")
	if err != nil {
		t.Fatalf("the schema is not valid: %v\n%s", err, Indent(&text))
	}
	return s
}

func TestSchema(t *testing.T) {
	type small struct {
		Path string   `json:"path" need:"yes" doc:"A path."`
		Mode []string `json:"mode" enum:"a b"`
		N    int      `json:"n" default:"3"`
		Tol  Literal  `json:"tol" default:"0.50"`
		New  bool     `json:"new" since:"2" default:"false"`
	}
	one := Schema(reflect.TypeFor[small](), 1)
	want := `{"additionalProperties":false,"properties":{"mode":{"items":{"enum":["a","b"],"type":"string"},"type":"array"},"n":{"default":3,"type":"integer"},` +
		`"path":{"description":"A path.","type":"string"},"tol":{"default":0.5,"type":"number"}},"required":["path"],"type":"object"}`
	if got := string(Canonical(&one)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	two := Schema(reflect.TypeFor[small](), 2)
	if v := two.Get("properties").Get("new"); v == nil || string(Canonical(v)) != `{"default":false,"type":"boolean"}` {
		t.Errorf("the member of version 2 is missing: %s", Canonical(&two))
	}
}

// agree says what the decoder and the schema made from the same tags think of a text.
func agree(t *testing.T, schema *jsonschema.Schema, doc *Document, version int) {
	t.Helper()
	var s sample
	report := Report{Version: version}
	Decode(report.Root(&doc.Root), "a sample", &s)
	for _, p := range report.Problems {
		if doc.Position(p.Pos).Line == 0 || p.Message == "" {
			t.Errorf("a problem without place or words: %+v", p)
		}
	}
	x, err := jsonschema.UnmarshalJSON(bytes.NewReader(Canonical(&doc.Root)))
	if err != nil {
		t.Fatal(err)
	}
	invalid := schema.Validate(x)
	tooLarge := slices.ContainsFunc(report.Problems, func(p Problem) bool {
		return strings.Contains(p.Message, "64 bits") || strings.Contains(p.Message, "binary64")
	})
	// JSON Schema knows numbers of any size; that alone is no disagreement.
	if (len(report.Problems) == 0) != (invalid == nil) && !tooLarge {
		t.Errorf("version %d: the decoder says %+v, the schema %v\n%s", version, report.Problems, invalid, Canonical(&doc.Root))
	}
}

// sampleTexts are valid and invalid texts for a sample.
var sampleTexts = []string{
	`{"name":"n"}`, `{}`, `[]`, `null`, `{"name":1}`, `{"name":"n","nmae":1}`, `{"name":"n","later":"x"}`, `{"name":"n","later":1}`,
	`{"name":"n","mode":"exact"}`, `{"name":"n","mode":"x"}`, `{"name":"n","on":true,"off":0}`, `{"name":"n","count":5.0}`, `{"name":"n","count":5.5}`, `{"name":"n","count":1e2}`,
	`{"name":"n","count":9223372036854775808}`, `{"name":"n","ratio":-1.5e-7}`, `{"name":"n","maybe":null}`, `{"name":"n","maybe":3,"maybe_on":true}`, `{"name":"n","tags":["a","b"]}`,
	`{"name":"n","tags":["x"]}`, `{"name":"n","tags":[1]}`, `{"name":"n","numbers":{"x":1}}`, `{"name":"n","numbers":{"x":"1"}}`, `{"name":"n","any":[null]}`, `{"name":"n","maybe_any":null}`,
	`{"name":"n","digest":"E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"}`, `{"name":"n","digest":"sHa256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`,
	`{"name":"n","digest":"e3"}`, `{"name":"n","digests":{"f":"e3"}}`, `{"name":"n","exact":1.5}`, `{"name":"n","exact":"1.5"}`, `{"name":"n","at":"/a/b~0"}`, `{"name":"n","at":"/~2"}`, `{"name":"n","at":"a"}`,
	`{"name":"n","at":"/\n"}`, `{"name":"n","even":4}`, `{"name":"n","even":3}`, `{"name":"n","even":4.0}`, `{"name":"n","even":4.5}`, `{"name":"n","inner":{"id":"x"}}`, `{"name":"n","inner":{}}`, `{"name":"n","inner":{"id":"x","x":1}}`,
	`{"name":"n","inners":[{"id":"x"},{"id":"y","size":1}]}`, `{"name":"n","inners":[{}]}`, `{"name":"n","maybe_in":{"id":"x"}}`, `{"name":"n","maybe_in":null}`, `{"name":"n","note":"x"}`, `{"name":"n","note":null}`,
}

func TestSchemaAgreesWithDecode(t *testing.T) {
	for _, version := range []int{1, 2} {
		schema := sampleSchema(t, version)
		for _, src := range sampleTexts {
			doc, err := Parse([]byte(src), ContractLimits)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, schema, doc, version)
		}
	}
}

// FuzzDecode decodes anything: it never panics, every problem has its place,
// and the schema that is made from the same tags agrees.
func FuzzDecode(f *testing.F) {
	for _, src := range sampleTexts {
		f.Add([]byte(src))
	}
	schemas := map[int]*jsonschema.Schema{1: sampleSchema(f, 1), 2: sampleSchema(f, 2)}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, err := Parse(src, fuzzLimits)
		if err != nil {
			return
		}
		for version, schema := range schemas {
			agree(t, schema, doc, version)
		}
	})
}

func TestSound(t *testing.T) {
	doc, err := Parse([]byte(`{"a": {"b": 1, "bc": 2}, "ab": 3, "a/b": [4, 5]}`), ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	n := r.Root(&doc.Root)
	if !n.Sound() || !n.HasSound("a") || n.HasSound("none") {
		t.Error("nothing was found wrong, and nothing is where nothing stands")
	}
	n.Member("a").Member("b").Problemf("", "wrong")
	n.Member("a/b").Item(1).Problemf("", "wrong")
	for name, sound := range map[string]bool{"a": false, "ab": true, "a/b": false} {
		if n.HasSound(name) != sound {
			t.Errorf("%s: sound is %v", name, !sound)
		}
	}
	if n.Sound() || n.Member("a").HasSound("b") || !n.Member("a").HasSound("bc") || !n.Member("a/b").Item(0).Sound() || n.Member("a/b").Item(1).Sound() {
		t.Error("what is beside a problem is sound, and what holds one is not")
	}
}
