package match_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verdictgate/verdictgate/gate/match"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

func parse(t testing.TB, src string) *strictjson.Value {
	t.Helper()
	doc, err := strictjson.Parse([]byte(src), strictjson.DocumentLimits)
	if err != nil {
		t.Fatalf("%.100s: %v", src, err)
	}
	return &doc.Root
}

func decode(v *strictjson.Value) (*match.Matcher, []strictjson.Problem) {
	r := strictjson.Report{Version: 2}
	m := new(match.Matcher)
	m.DecodeStrict(r.Root(v))
	return m, r.Problems
}

func TestHolds(t *testing.T) {
	const yes = ""
	for _, c := range []struct{ matcher, value, why string }{
		{`{"type":"null"}`, `null`, yes},
		{`{"type":"boolean"}`, `false`, yes},
		{`{"type":"integer"}`, `5.0`, yes},
		{`{"type":"integer"}`, `5e2`, yes},
		{`{"type":"integer"}`, `5e-1`, `"type" wants integer, and it is 5e-1`},
		{`{"type":"integer"}`, `9007199254740993`, yes},
		{`{"type":"number"}`, `"5"`, `"type" wants number, and it is "5"`},
		{`{"type":"number"}`, `true`, `"type" wants number, and it is true`},
		{`{"type":"object"}`, `[1]`, `"type" wants object, and it is an array, [1]`},
		{`{"one_of":[1,"a",null]}`, `1.0`, yes},
		{`{"one_of":[1,"a",null]}`, `null`, yes},
		{`{"one_of":[1]}`, `true`, `"one_of" wants one of an array, [1], and it is true`},
		{`{"matches":"b+"}`, `"abbc"`, yes},
		{`{"matches":"^b"}`, `"ab"`, `"matches" "^b" is not found in "ab"`},
		{`{"matches":"5"}`, `5`, `"matches" wants a string, and it is 5`},
		{`{"contains":"ell"}`, `"hello"`, yes},
		{`{"contains":"x"}`, `"hello"`, `"contains" wants the substring "x", which is not in "hello"`},
		{`{"contains":5}`, `"5"`, `"contains" looks for 5 in a string, which holds only strings`},
		{`{"contains":{"a":1}}`, `[2,{"a":1.0}]`, yes},
		{`{"contains":1}`, `[true]`, `"contains" wants the element 1, which is not in an array, [true]`},
		{`{"contains":"a"}`, `{"a":1}`, `"contains" wants a string or an array, and it is an object, {"a":1}`},
		{`{"gt":5}`, `5.0000000000000001`, `"gt" wants a number greater than 5, and it is 5.0000000000000001`},
		{`{"gt":9007199254740992}`, `9007199254740993`, yes},
		{`{"ge":5}`, `5`, yes},
		{`{"ge":5}`, `4`, `"ge" wants a number at least 5, and it is 4`},
		{`{"lt":5}`, `5`, `"lt" wants a number less than 5, and it is 5`},
		{`{"le":0.3}`, `0.30000000000000004`, `"le" wants a number at most 0.3, and it is 0.30000000000000004`},
		{`{"le":5}`, `"4"`, `"le" wants a number, and it is "4"`},
		{`{"le":5}`, `null`, `"le" wants a number, and it is null`},
		{`{"length":3}`, `"äöü"`, yes},
		{`{"length":3}`, `[1,2]`, `"length" is 2: "one_of" wants one of an array, [3], and it is 2`},
		{`{"length":{"ge":1}}`, `{}`, `"length" is 0: "ge" wants a number at least 1, and it is 0`},
		{`{"length":2.0}`, `{"a":1,"b":2}`, yes},
		{`{"length":1}`, `1`, `"length" wants a string, an array or an object, and it is 1`},
		{`{"not":{"type":"string"}}`, `1`, yes},
		{`{"not":{"type":"string"}}`, `"a"`, `"not" wants its matcher not to hold, and it holds for "a"`},
		{`{"each":{"gt":0}}`, `[]`, yes},
		{`{"each":{"gt":0}}`, `[1,2,-3]`, `at /2: "gt" wants a number greater than 0, and it is -3`},
		{`{"each":{"gt":0}}`, `{"a":1}`, `"each" wants an array, and it is an object, {"a":1}`},
		{`{"members":{"a":{"type":"null"}}}`, `{"a":null,"b":1}`, yes},
		{`{"members":{"a":{"type":"null"}}}`, `{}`, `"members" wants the member "a", which is missing`},
		{`{"members":{"a":{"type":"null"}}}`, `"a"`, `"members" wants an object, and it is "a"`},
		{`{"members":{"a/b":{"each":{"members":{"x":{"lt":1}}}}}}`, `{"a/b":[{"x":0},{"x":1}]}`, `at /a~1b/1/x: "lt" wants a number less than 1, and it is 1`},
		{`{"members":{"password":{"type":"integer"}}}`, `{"password":"hunter2sekrit"}`, `at /password, "type" wants integer, and it is "[redacted:password]"`},
		{`{"members":{"a":{"members":{"token":{"each":{"one_of":["x1y"]}}}}}}`, `{"a":{"token":["abc"]}}`, `at /a/token/0, "one_of" wants one of an array, ["[redacted:token]"], and it is "[redacted:token]"`},
		{`{"members":{"password":{"matches":"^sekrit$"}}}`, `{"password":"hunter2"}`, `at /password, "matches" "[redacted:password]" is not found in "[redacted:password]"`},
		{`{"type":"array"}`, `{"user":"u","password":{"value":"hunter2"}}`, `"type" wants array, and it is an object, {"user":"u","password":{"value":"[redacted:password]"}}`},
		{`{"members":{"z":{"gt":1},"b":{"gt":1}}}`, `{"z":0,"b":0}`, `at /b: "gt" wants a number greater than 1, and it is 0`},
		{`{"gt":1,"type":"string"}`, `"a"`, `"gt" wants a number, and it is "a"`},
		{`{"gt":1,"lt":3,"type":"integer","not":{"one_of":[2]}}`, `2`, `"not" wants its matcher not to hold, and it holds for 2`},
	} {
		m, problems := decode(parse(t, c.matcher))
		if len(problems) > 0 {
			t.Errorf("%s is refused: %v", c.matcher, problems)
			continue
		}
		ok, why := m.Holds(parse(t, c.value))
		if ok != (c.why == yes) || why != c.why {
			t.Errorf("%s on %s: %v, %q; want %q", c.matcher, c.value, ok, why, c.why)
		}
	}
}

func TestHoldsTextLooksAtBytes(t *testing.T) {
	text := []byte("ok \xff\xfe caf\xc3\xa9\n")
	for matcher, want := range map[string]bool{
		`{"contains":"café"}`:            true,
		`{"contains":"\ufffd"}`:          false, // the bytes are not that character
		`{"matches":"ok .. caf"}`:        true,
		`{"matches":"ok \\x{FFFD}{2} "}`: true,
		`{"matches":"^caf"}`:             false,
		`{"matches":"(?m)é$"}`:           true,
		`{"length":11}`:                  true,
		`{"type":"string"}`:              true,
		`{"gt":1}`:                       false,
	} {
		m, problems := decode(parse(t, matcher))
		if len(problems) > 0 {
			t.Fatalf("%s: %v", matcher, problems)
		}
		if got, why := m.HoldsText(text); got != want || !utf8.ValidString(why) {
			t.Errorf("%s: %v %q, want %v", matcher, got, why, want)
		}
	}
}

func TestWhyIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"members":{"`+strings.Repeat("é", 100)+`":`, 50) + `{"matches":"` + strings.Repeat("x", 5000) + `"}` + strings.Repeat("}}", 50)
	value := strings.Repeat(`{"`+strings.Repeat("é", 100)+`":`, 50) + `"` + strings.Repeat("é", 5000) + `"` + strings.Repeat("}", 50)
	m, problems := decode(parse(t, deep))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	ok, why := m.Holds(parse(t, value))
	if ok || len(why) > 700 || !utf8.ValidString(why) || !strings.Contains(why, `"matches"`) {
		t.Errorf("%v, %d bytes: %q", ok, len(why), why)
	}
}

func TestDecodeReportsEverything(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string // "pointer: message fix" substrings, in order
	}{
		{`{}`, []string{`: a matcher without a member`}},
		{`[]`, []string{`: a matcher must be an object, not an array`}},
		{`null`, []string{`: a matcher must be an object, not null`}},
		{`{"contain":"a"}`, []string{`/contain: a matcher has no member "contain" Did you mean "contains"?`}},
		{`{"matches":"(?=a)","gt":"1"}`, []string{`/matches: "(?=a)" is no RE2 pattern`, `/gt: a number must be a number, not a string`}},
		{`{"matches":"a{2000}"}`, []string{`/matches: "a{2000}" is no RE2 pattern`}},
		{`{"type":"int"}`, []string{`/type: "type" must be one of null, boolean`}},
		{`{"type":["null"]}`, []string{`/type: "type" must be a string, not an array`}},
		{`{"one_of":[]}`, []string{`/one_of: "one_of" must not be empty`}},
		{`{"length":-1}`, []string{`/length: "length" must be a whole number from 0, not -1`}},
		{`{"length":1.5}`, []string{`/length: "length" must be a whole number`}},
		{`{"length":"3"}`, []string{`/length: "length" must be an integer or a matcher, not a string`}},
		{`{"length":{}}`, []string{`/length: a matcher without a member`}},
		{`{"not":{},"each":{"gt":null},"members":{"a/b":{"le":[]},"c":3}}`, []string{
			`/not: a matcher without`, `/each/gt: a number must be`, `/members/a~1b/le: a number must be`, `/members/c: a matcher must be an object`}},
		{`{"members":{}}`, []string{`/members: "members" must name a member`}},
		{`{"gt":5,"lt":5}`, []string{`: no number satisfies both "gt": 5 and "lt": 5`}},
		{`{"ge":5,"le":4.9}`, []string{`: no number satisfies both "ge": 5 and "le": 4.9`}},
		{`{"ge":5,"le":5}`, nil},
		{`{"contains":null}`, nil},
	} {
		doc, err := strictjson.Parse([]byte(c.src), strictjson.ContractLimits)
		if err != nil {
			t.Fatal(err)
		}
		_, problems := decode(&doc.Root)
		if len(problems) != len(c.want) {
			t.Errorf("%s: %d problems, want %d: %v", c.src, len(problems), len(c.want), problems)
			continue
		}
		for i, p := range problems {
			got := p.Pointer + ": " + p.Message + " " + p.Fix
			if !strings.HasPrefix(got, c.want[i]) || doc.Position(p.Pos).Line == 0 {
				t.Errorf("%s: problem %d is %q at %d, want %q", c.src, i, got, p.Pos, c.want[i])
			}
		}
	}
}

func TestDeepestMatcherIsDecoded(t *testing.T) {
	levels := strictjson.ContractLimits.Depth - 1
	src := strings.Repeat(`{"not":`, levels) + `{"type":"null"}` + strings.Repeat("}", levels)
	doc, err := strictjson.Parse([]byte(src), strictjson.ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	m, problems := decode(&doc.Root)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if ok, _ := m.Holds(parse(t, `null`)); ok != (levels%2 == 0) {
		t.Errorf("%d negations of true: %v", levels, ok)
	}
}

// definition compiles the published schema of a matcher.
func definition(t testing.TB) *jsonschema.Schema {
	t.Helper()
	v := strictjson.Obj(strictjson.Member{Name: "$defs", Value: strictjson.Obj(strictjson.Member{Name: "matcher", Value: match.SchemaDefinition()})},
		strictjson.Member{Name: "$ref", Value: strictjson.Str("#/$defs/matcher")})
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(strictjson.Canonical(&v))))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///matcher.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///matcher.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// FuzzDecode feeds the decoder any JSON: it must not panic, what it accepts
// must be applicable to anything, and it must agree with the published schema:
// what the schema refuses the decoder refuses, and what only the decoder
// refuses is one of the things that a schema cannot say.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"gt":1,"lt":3}`, `{"matches":"a|b"}`, `{"matches":"("}`, `{"not":{"each":{"members":{"a":{"length":{"le":4}}}}}}`,
		`{"one_of":[1,null,{"a":[]}]}`, `{"contains":"x","type":"string"}`, `{"length":3}`, `{"lenght":3}`, `{"type":"integer"}`, `[]`, `"x"`,
		`{"members":{"":{"type":"null"}}}`, `{"ge":9007199254740993}`, `{"length":1e400}`, `{"length":18446744073709551616}`,
	} {
		f.Add(seed, `{"a":[1,"x",null],"b":"caf\u00e9"}`)
	}
	schema := definition(f)
	f.Fuzz(func(t *testing.T, matcher, value string) {
		doc, err := strictjson.Parse([]byte(matcher), strictjson.ContractLimits)
		if err != nil {
			return
		}
		m, problems := decode(&doc.Root)
		for _, p := range problems {
			if p.Message == "" || doc.Position(p.Pos).Line == 0 {
				t.Fatalf("%s: a problem without words or place: %+v", matcher, p)
			}
		}
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(strictjson.Canonical(&doc.Root))))
		if err != nil {
			t.Fatalf("%s: %v", strconv.Quote(matcher), err)
		}
		invalid := schema.Validate(instance)
		if invalid != nil && len(problems) == 0 {
			t.Fatalf("%s: the schema refuses what the decoder takes: %v", matcher, invalid)
		}
		if invalid == nil {
			for _, p := range problems {
				if !strings.Contains(p.Message, "no RE2 pattern") && !strings.Contains(p.Message, "no number satisfies") {
					t.Fatalf("%s: the decoder refuses what the schema takes: %s", matcher, p.Message)
				}
			}
		}
		if len(problems) > 0 {
			return
		}
		if v, err := strictjson.Parse([]byte(value), strictjson.DocumentLimits); err == nil {
			if ok, why := m.Holds(&v.Root); ok != (why == "") || !utf8.ValidString(why) {
				t.Fatalf("%s on %s: %v, %q", matcher, value, ok, why)
			}
		}
		if ok, why := m.HoldsText([]byte(value)); ok != (why == "") || !utf8.ValidString(why) {
			t.Fatalf("%s on text %q: %v, %q", matcher, value, ok, why)
		}
	})
}

// The place of a value tells what its messages must not quote.
func TestHoldsAtACredential(t *testing.T) {
	m, problems := decode(parse(t, `{"contains":"sekrit-x"}`))
	if problems != nil {
		t.Fatal(problems)
	}
	v := strictjson.Str("hunter2sekrit")
	if _, why := m.Holds(&v, "db", "password"); strings.Contains(why, "sekrit") {
		t.Errorf("the message is %s", why)
	}
	shown := m.Shown("db", "password")
	if text, _ := strictjson.Excerpt(&shown, 100); text != `{"contains":"[redacted:password]"}` {
		t.Errorf("the matcher is shown as %s", text)
	}
}
