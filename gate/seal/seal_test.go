package seal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/bundle/bundletest"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

func statement(t *testing.T, s *bundle.Sealed) []byte {
	t.Helper()
	out, err := seal.Statement(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// parsed reads a statement as any consumer would.
func parsed(t *testing.T, text []byte) *strictjson.Value {
	t.Helper()
	doc, err := strictjson.Parse(text, strictjson.ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	return &doc.Root
}

func at(t *testing.T, v *strictjson.Value, pointer string) string {
	t.Helper()
	p, err := strictjson.ParsePointer(pointer)
	if err != nil {
		t.Fatal(err)
	}
	found, _, why := p.Find(v)
	if why != "" {
		return "absent"
	}
	return string(strictjson.Canonical(found))
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema := seal.PredicateSchema()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(strictjson.Canonical(&schema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("predicate.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile("predicate.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func valid(t *testing.T, predicate *strictjson.Value) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(strictjson.Canonical(predicate)))
	if err != nil {
		t.Fatal(err)
	}
	return compile(t).Validate(v)
}

func TestStatement(t *testing.T) {
	c := bundletest.Content(t)
	s := bundletest.Write(t, c)
	text := statement(t, s)
	v := parsed(t, text)
	if !bytes.Equal(text, strictjson.Canonical(v)) {
		t.Error("the statement is not in canonical form")
	}
	quoted := func(s string) string { return `"` + s + `"` }
	for pointer, want := range map[string]string{
		"/_type":                       `"https://in-toto.io/Statement/v1"`,
		"/predicateType":               `"https://github.com/verdictgate/verdictgate/verdict/v1"`,
		"/subject":                     `[{"digest":{"sha256":"` + strictjson.Sum([]byte("app")).Hex() + `"},"name":"dist/app.tgz"}]`,
		"/predicate/run_id":            quoted(s.Evidence.RunID),
		"/predicate/verdict":           `"VERIFIED"`,
		"/predicate/outcome":           `"pass"`,
		"/predicate/assurance":         `"isolated_local"`,
		"/predicate/method":            `"deterministic"`,
		"/predicate/limitations":       `["check hint is advisory, not verified"]`,
		"/predicate/contract":          `{"digest":` + quoted(c.Contract.Digest().String()) + `,"id":"release of the app"}`,
		"/predicate/evidence":          `{"digest":` + quoted(s.Attestation.BundleDigest) + `}`,
		"/predicate/content_digest":    quoted(strictjson.Sum([]byte("content")).String()),
		"/predicate/capture_digest":    "absent",
		"/predicate/source_revision":   quoted(bundletest.Revision),
		"/predicate/verifier/digest":   quoted(strictjson.Sum([]byte("gate")).String()),
		"/predicate/verifier/version":  `"v1.2.3"`,
		"/predicate/verifier/platform": `"linux/amd64"`,
		"/predicate/verifier/tools":    `[{"digest":` + quoted(strictjson.Sum([]byte("true")).String()) + `,"name":"true","version":"9.1"}]`,
		"/predicate/required":          `["a","build"]`,
		"/predicate/passed":            `["a","build"]`,
		"/predicate/excepted":          `[]`,
		"/predicate/attempted":         `["a","build","hint"]`,
		"/predicate/created_at":        quoted(s.Evidence.CreatedAt),
		"/predicate/started_at":        quoted(s.Evidence.StartedAt),
		"/predicate/ended_at":          `"2026-11-30T12:00:00.000000Z"`,
	} {
		if got := at(t, v, pointer); got != want {
			t.Errorf("%s is %s, want %s", pointer, got, want)
		}
	}
	if err := valid(t, v.Get("predicate")); err != nil {
		t.Error(err)
	}
	if err := seal.Matches(text, s); err != nil {
		t.Error(err)
	}
}

func TestSubjectsWithoutArtifacts(t *testing.T) {
	c := bundletest.Content(t)
	c.Subjects = nil
	s := bundletest.Write(t, c)
	evidence := `{"digest":{"sha256":"` + strings.TrimPrefix(s.Attestation.BundleDigest, "sha256:") + `"},"name":"evidence.json"}`
	if got, want := at(t, parsed(t, statement(t, s)), "/subject"), `[`+evidence+`,{"digest":{"gitCommit":"`+bundletest.Revision+`"},"name":"git commit"}]`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	c.SourceRevision, c.ContentDigest = "", ""
	s = bundletest.Write(t, c)
	v := parsed(t, statement(t, s))
	if got := at(t, v, "/subject"); strings.Contains(got, "git commit") || at(t, v, "/predicate/source_revision") != "absent" || at(t, v, "/predicate/content_digest") != "absent" {
		t.Errorf("%s", strictjson.Canonical(v))
	}
	if err := valid(t, v.Get("predicate")); err != nil {
		t.Error(err)
	}
	if err := seal.Matches(statement(t, s), s); err != nil {
		t.Error(err)
	}
}

func TestNoStatementGrantsRemoteAttestation(t *testing.T) {
	s := bundletest.Write(t, bundletest.Content(t))
	s.Evidence.Assurance = "remote_attested"
	if _, err := seal.Statement(s); err == nil {
		t.Error("a statement grants itself remote_attested")
	}
	v := parsed(t, statement(t, bundletest.Write(t, bundletest.Content(t))))
	v.Get("predicate").Set("assurance", strictjson.Str("remote_attested"))
	if valid(t, v.Get("predicate")) == nil {
		t.Error("the schema takes remote_attested")
	}
}

func TestStatementIsBounded(t *testing.T) {
	c := bundletest.Content(t)
	for range seal.MaxStatement >> 12 {
		c.Limitations = append(c.Limitations, strings.Repeat("limited ", 600))
	}
	s := bundletest.Write(t, c)
	if _, err := seal.Statement(s); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("%v", err)
	}
	c = bundletest.Content(t)
	for i := range seal.MaxStatement >> 10 {
		c.Subjects = append(c.Subjects, bundle.Subject{Name: fmt.Sprint(i, "/", strings.Repeat("n", 1<<10)), Digest: strictjson.Sum(nil).String()})
	}
	if _, err := seal.PublicStatements(bundletest.Write(t, c)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("%v", err)
	}
	if err := seal.Matches(make([]byte, seal.MaxStatement+1), s); err == nil {
		t.Error("a statement over the limit was read")
	}
}

// TestEveryFactIsCompared changes each value of a statement, removes each
// member, and adds one everywhere: none of it is about the bundle any more.
func TestEveryFactIsCompared(t *testing.T) {
	s := bundletest.Write(t, bundletest.Content(t))
	v := parsed(t, statement(t, s))
	changes := 0
	try := func(pointer string) {
		changes++
		err := seal.Matches(strictjson.Canonical(v), s)
		if err == nil {
			t.Errorf("%s changed, and it still matches", pointer)
			return
		}
		if f := fault.As(err); f.Code != fault.AttestationMismatch && f.Code != fault.SignatureInvalid || strings.Contains(f.Message, "VERIFIED") {
			t.Errorf("%s changed: %v", pointer, err)
		}
	}
	var walk func(pointer string, v *strictjson.Value)
	walk = func(pointer string, v *strictjson.Value) {
		kept := *v
		for _, other := range []strictjson.Value{{}, strictjson.Str("x"), strictjson.Num("1"), strictjson.Arr(), strictjson.Obj()} {
			if !bytes.Equal(strictjson.Canonical(&other), strictjson.Canonical(&kept)) {
				*v = other
				try(pointer)
			}
		}
		*v = kept
		for i := range kept.Members {
			v.Members = slices.Delete(slices.Clone(kept.Members), i, i+1)
			try(pointer + " less " + kept.Members[i].Name)
		}
		if *v = kept; v.Kind == strictjson.Object {
			v.Members = append(slices.Clone(kept.Members), strictjson.Member{Name: "more", Value: strictjson.Str("x")})
			try(pointer + " with a member more")
		}
		*v = kept
		for i := range v.Members {
			walk(pointer+"/"+v.Members[i].Name, &v.Members[i].Value)
		}
		for i := range v.Items {
			walk(pointer+"/[]", &v.Items[i])
		}
	}
	walk("", v)
	if changes < 150 {
		t.Errorf("only %d changes were tried", changes)
	}
	if err := seal.Matches(strictjson.Canonical(v), s); err != nil {
		t.Error(err)
	}
}

func TestMatchesNamesWhatDiffers(t *testing.T) {
	s := bundletest.Write(t, bundletest.Content(t))
	other := bundletest.Content(t)
	other.Contract = bundletest.Contract(t, `"contract_id":"another",`)
	public, err := seal.PublicStatements(s)
	if err != nil {
		t.Fatal(err)
	}
	set := func(pointer, value string) []byte {
		v := parsed(t, statement(t, s))
		p, err := strictjson.ParsePointer(pointer)
		if err != nil {
			t.Fatal(err)
		}
		found, _, why := p.Find(v)
		if why != "" {
			t.Fatal(why)
		}
		*found = strictjson.Str(value)
		return strictjson.Canonical(v)
	}
	for what, c := range map[string]struct {
		payload []byte
		code    fault.Code
		want    string
	}{
		"another verdict":         {set("/predicate/verdict", "FAILED"), fault.AttestationMismatch, "/predicate/verdict"},
		"other evidence":          {set("/predicate/evidence/digest", strictjson.Sum(nil).String()), fault.AttestationMismatch, "/predicate/evidence/digest"},
		"another contract":        {statement(t, bundletest.Write(t, other)), fault.AttestationMismatch, "/predicate/contract/digest"},
		"other bytes":             {set("/subject/0/digest/sha256", strictjson.Sum(nil).Hex()), fault.AttestationMismatch, "/subject/0"},
		"another name":            {set("/subject/0/name", "app.zip"), fault.AttestationMismatch, "/subject/0"},
		"a digest in upper case":  {set("/predicate/evidence/digest", strings.ToUpper(s.Attestation.BundleDigest)), fault.AttestationMismatch, "/predicate/evidence/digest"},
		"another type":            {set("/_type", "https://in-toto.io/Statement/v2"), fault.SignatureInvalid, "its _type is"},
		"another predicate":       {set("/predicateType", seal.VSAType), fault.SignatureInvalid, "its predicateType is"},
		"a public statement":      {public[0].Statement, fault.SignatureInvalid, "its predicateType is"},
		"a word that is none":     {set("/predicate/verdict", "OK"), fault.SignatureInvalid, "/predicate/verdict is not as the format has it"},
		"no JSON":                 {[]byte("{"), fault.SignatureInvalid, "no JSON"},
		"a list":                  {[]byte("[]"), fault.SignatureInvalid, "states no"},
		"nothing":                 {nil, fault.SignatureInvalid, "no JSON"},
		"a member twice":          {bytes.Replace(statement(t, s), []byte(`{"_type"`), []byte(`{"_type":"x","_type"`), 1), fault.SignatureInvalid, "no JSON"},
		"something after the end": {append(statement(t, s), '1'), fault.SignatureInvalid, "no JSON"},
		"a text for a predicate":  {set("/predicate", "x"), fault.SignatureInvalid, "/predicate is not"},
	} {
		err := seal.Matches(c.payload, s)
		if f := fault.As(err); err == nil || f.Code != c.code || !strings.Contains(f.Message, c.want) {
			t.Errorf("%s: %v, want %s with %q", what, err, c.code, c.want)
		}
	}
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, statement(t, s), "", "  "); err != nil {
		t.Fatal(err)
	}
	if err := seal.Matches(spaced.Bytes(), s); err != nil {
		t.Errorf("white space is no other statement: %v", err)
	}
}

// TestAttests holds what attestation.json tells of a signature against what was
// verified.
func TestAttests(t *testing.T) {
	s := bundletest.Write(t, bundletest.Content(t))
	proven := func() *seal.Signature {
		return &seal.Signature{Mode: seal.ModeKey, Algorithm: "ed25519", KeyPEM: "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n", Value: "c2ln", Payload: statement(t, s)}
	}
	identity := proven()
	identity.Mode, identity.Certificate = seal.ModeKeyless, &seal.Certificate{Subject: "https://github.com/o/r/.github/workflows/w.yml@refs/heads/main", Issuer: "https://issuer"}
	for _, sig := range []*seal.Signature{proven(), identity} {
		signed, err := bundle.AddSignature(s, bundle.Signed{Signature: seal.Describe(sig), Sigstore: []byte("{}")}, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := seal.Attests(sig, signed); err != nil {
			t.Error(err)
		}
		for member, change := range map[string]func(sig *seal.Signature){
			"signature":           func(sig *seal.Signature) { sig.Value = "b3RoZXI=" },
			"signature_algorithm": func(sig *seal.Signature) { sig.Algorithm = "ecdsa-p256-sha256" },
			"/predicate/run_id": func(sig *seal.Signature) {
				sig.Payload = bytes.Replace(sig.Payload, []byte("vr_"), []byte("VR_"), 1)
			},
			"public_key": func(sig *seal.Signature) {
				sig.KeyPEM = "other"
				if sig.Certificate != nil {
					sig.Certificate = &seal.Certificate{Subject: "https://github.com/o/other"}
				}
			},
		} {
			other := *sig
			change(&other)
			if f := fault.As(seal.Attests(&other, signed)); f.Code != fault.AttestationMismatch || f.Details["member"] != member {
				t.Errorf("%s: %v", member, f)
			}
		}
	}
	if want := "https://github.com/o/r/.github/workflows/w.yml@refs/heads/main (https://issuer)"; seal.Describe(identity).PublicKey != want {
		t.Errorf("%+v", seal.Describe(identity))
	}
	if f := fault.As(seal.Attests(identity, s)); f.Details["member"] != "signature_status" {
		t.Errorf("a key's signature for an identity's: %v", f)
	}
}

// TestPublicStatements says of each verdict what each format says of it.
func TestPublicStatements(t *testing.T) {
	for _, c := range []struct {
		what                         string
		change                       func(c *bundle.Content)
		result, levels               string
		passed, warned, failed, fact string
		files                        int
	}{
		{"verified", func(*bundle.Content) {}, "PASSED", `["VERDICTGATE_VERIFIED","VERDICTGATE_ISOLATED_LOCAL"]`, `["a","build"]`, `["hint"]`, `[]`, "VERIFIED", 3},
		{"failed", func(c *bundle.Content) { c.Answers[0].Result.Status = record.Fail }, "FAILED", `["FAILED"]`, `["build"]`, `["hint"]`, `["a"]`, "FAILED", 2},
		{"inconclusive", func(c *bundle.Content) {
			c.Answers[0].Result.Status, c.Answers[2].Result.Status = record.Inconclusive, record.Pass
		}, "FAILED", `["FAILED"]`, `["build","hint"]`, `[]`, `[]`, "INCONCLUSIVE", 2},
		{"cut short", func(c *bundle.Content) { c.Isolation.Complete, c.Isolation.Failure = false, "died" }, "FAILED", `["FAILED"]`, `[]`, `[]`, `[]`, "INCONCLUSIVE", 2},
	} {
		content := bundletest.Content(t)
		c.change(&content)
		s := bundletest.Write(t, content)
		if string(s.Evidence.Verdict) != c.fact {
			t.Fatalf("%s: the run is %s", c.what, s.Evidence.Verdict)
		}
		public, err := seal.PublicStatements(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(public) != c.files {
			t.Fatalf("%s: %d statements", c.what, len(public))
		}
		contractHex := content.Contract.Digest().Hex()
		for i, file := range []string{"vsa.sigstore.json", "test-result.sigstore.json", "svr.sigstore.json"}[:c.files] {
			v := parsed(t, public[i].Statement)
			want := map[string]string{"/_type": `"https://in-toto.io/Statement/v1"`, "/subject/0/name": `"dist/app.tgz"`}
			switch file {
			case "vsa.sigstore.json":
				want["/predicateType"] = `"https://slsa.dev/verification_summary/v1"`
				want["/predicate/verificationResult"], want["/predicate/verifiedLevels"] = `"`+c.result+`"`, c.levels
				want["/predicate/policy/digest/sha256"] = `"` + contractHex + `"`
				want["/predicate/resourceUri"] = `"pkg:generic/release%20of%20the%20app"`
				want["/predicate/inputAttestations/0/digest/sha256"] = `"` + strings.TrimPrefix(s.Attestation.BundleDigest, "sha256:") + `"`
				want["/predicate/timeVerified"] = `"2026-11-30T12:00:00.000000Z"`
				want["/predicate/verifier"] = `{"id":"https://github.com/verdictgate/verdictgate/verifier/v1"}`
			case "test-result.sigstore.json":
				want["/predicateType"] = `"https://in-toto.io/attestation/test-result/v0.1"`
				want["/predicate/result"] = `"` + c.result + `"`
				want["/predicate/configuration/0/digest/sha256"] = `"` + contractHex + `"`
				want["/predicate/passedTests"], want["/predicate/warnedTests"], want["/predicate/failedTests"] = c.passed, c.warned, c.failed
			default:
				want["/predicateType"] = `"https://in-toto.io/attestation/svr/v0.2"`
				want["/predicate/properties"] = c.levels
				want["/predicate/verifier/policies/0/digest/sha256"] = `"` + contractHex + `"`
				want["/predicate/timeCreated"] = `"2026-11-30T12:00:00.000000Z"`
			}
			for pointer, w := range want {
				if got := at(t, v, pointer); got != w {
					t.Errorf("%s, %s: %s is %s, want %s", c.what, file, pointer, got, w)
				}
			}
			if public[i].File != file || strings.Contains(string(public[i].Statement), "SLSA_") {
				t.Errorf("%s: %s\n%s", c.what, public[i].File, public[i].Statement)
			}
		}
	}
}

// TestPage holds docs/predicate.md, the struct and the schema together.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/predicate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []reflect.Type{reflect.TypeFor[seal.Predicate](), reflect.TypeFor[seal.ContractRef](), reflect.TypeFor[seal.EvidenceRef](), reflect.TypeFor[seal.Verifier](), reflect.TypeFor[seal.Tool]()} {
		if err := strictjson.CheckStruct(kind); err != nil {
			t.Error(err)
		}
		for _, f := range strictjson.FieldsOf(kind) {
			if f.Doc == "" || !strings.Contains(string(page), "`"+f.Name+"`") {
				t.Errorf("docs/predicate.md or the doc tag says nothing of %s of %s", f.Name, kind)
			}
			if kind == reflect.TypeFor[seal.Predicate]() && !regexp.MustCompile("(?m)^\\| `"+f.Name+"` \\|").Match(page) {
				t.Errorf("docs/predicate.md has no row for %s", f.Name)
			}
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllSubmatch(page, -1) {
		if !slices.ContainsFunc(strictjson.FieldsOf(reflect.TypeFor[seal.Predicate]()), func(f strictjson.Field) bool { return f.Name == string(m[1]) }) {
			t.Errorf("docs/predicate.md has a row for %s, which is no member", m[1])
		}
	}
	example := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("docs/predicate.md shows no example")
	}
	v := parsed(t, example[1])
	if v.Get("_type").Text != seal.StatementType || v.Get("predicateType").Text != seal.PredicateType {
		t.Error("the example is of another type")
	}
	if err := valid(t, v.Get("predicate")); err != nil {
		t.Error(err)
	}
	v.Get("predicate").Set("more", strictjson.Boolean(true))
	if valid(t, v.Get("predicate")) == nil {
		t.Error("the schema takes any member")
	}
}

func FuzzMatches(f *testing.F) {
	s := bundletest.Write(f, bundletest.Content(f))
	good, err := seal.Statement(s)
	if err != nil {
		f.Fatal(err)
	}
	want, err := strictjson.Parse(good, strictjson.ContractLimits)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://github.com/verdictgate/verdictgate/verdict/v1","subject":[],"predicate":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if seal.Matches(data, s) != nil {
			return
		}
		// Whatever matches says the same, however it is spelled.
		got, err := strictjson.Parse(data, strictjson.ContractLimits)
		if err != nil || !bytes.Equal(strictjson.Canonical(&got.Root), strictjson.Canonical(&want.Root)) {
			t.Errorf("taken: %s", data)
		}
	})
}
