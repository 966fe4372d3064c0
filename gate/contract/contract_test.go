package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

var noon = time.Date(2026, 9, 8, 12, 0, 0, 0, time.UTC)

func keep(string, int, *strictjson.Value) {}

func parse(t *testing.T, text string) *contract.File {
	t.Helper()
	f, err := contract.Parse("c.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func freeze(t *testing.T, text string) []byte {
	t.Helper()
	f := parse(t, text)
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	out, err := contract.Freeze(f, keep, noon)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func code(err error) fault.Code {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Code
	}
	return ""
}

// token has the shape of a GitHub token and opens nothing. It is put together
// here so that scanners of this repository do not take it for one.
const token = "gh" + "p_16C7e42F292c6912E7710c838347Ae178B4a"

const draft = `{"contract_id":"c","checks":[{"id":"a","type":"file_exists","params":{"path":"a"},"timeout_seconds":5}]}`

func TestFreezeWritesEveryKeyOfVersion1(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(freeze(t, draft), &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"schema_version", "contract_id", "title", "created_by", "created_at", "source_prompt", "required_assurance", "allowed_origins", "checks", "frozen_at", "digest"} {
		if _, ok := doc[key]; !ok {
			t.Errorf("a frozen contract lacks %q", key)
		}
	}
	check := doc["checks"].([]any)[0].(map[string]any)
	for _, key := range []string{"id", "type", "required", "description", "params", "timeout_seconds"} {
		if _, ok := check[key]; !ok {
			t.Errorf("a frozen check lacks %q", key)
		}
	}
	if text := string(freeze(t, draft)); !strings.Contains(text, `"timeout_seconds": 5.0`) {
		t.Errorf("timeouts are floats in the other tool's form; got\n%s", text)
	}
}

func TestFreezeIsDeterministicAndReadsBack(t *testing.T) {
	once, again := freeze(t, draft), freeze(t, draft)
	if string(once) != string(again) {
		t.Error("freezing the same draft at the same moment gave two documents")
	}
	f, err := contract.ReadFrozen("c.json", once)
	if err != nil {
		t.Fatal(err)
	}
	if f.Contract.DigestText() != f.Digest().String() || f.Contract.Checks[0].TimeoutSeconds != 5 {
		t.Errorf("read back: %+v", f.Contract)
	}
	if _, err := contract.Freeze(parse(t, string(once)), keep, noon); code(err) != fault.ContractAlreadyFrozen {
		t.Errorf("freezing twice: %v", err)
	}
}

// What a reader does with a frozen document must not depend on how it is
// written, and must notice every change of what it says.
func TestEveryEditOfAFrozenContractIsFound(t *testing.T) {
	frozen := string(freeze(t, `{"schema_version":2,"contract_id":"c","title":"t","expectations":["e"],"allowed_origins":["https://a.example"],
		"checks":[{"id":"a","type":"file_exists","params":{"path":"a","n":[1,2.5,null,true]}},{"id":"b","type":"file_exists","params":{"path":"b"},"depends_on":["a"]}]}`))
	doc := parse(t, frozen).Doc.Root
	edits := 0
	var visit func(v *strictjson.Value)
	try := func() {
		edits++
		text := strictjson.Canonical(&doc)
		if _, err := contract.ReadFrozen("c.json", text); err == nil {
			t.Errorf("an edited contract was taken: %s", text)
		}
	}
	visit = func(v *strictjson.Value) {
		old := *v
		*v = strictjson.Str(old.Text + "x")
		try()
		*v = old
		for i := range v.Items {
			visit(&v.Items[i])
		}
		if len(v.Items) > 0 {
			v.Items = v.Items[1:]
			try()
			*v = old
		}
		for i := range v.Members {
			visit(&v.Members[i].Value)
			*v = old.Without(old.Members[i].Name)
			try()
			*v = old
		}
		if v.Kind == strictjson.Object {
			v.Set("note", strictjson.Str("x"))
			try()
			*v = old
			v.Members = old.Members[:len(old.Members):len(old.Members)]
		}
	}
	visit(&doc)
	if edits < 50 {
		t.Fatalf("only %d edits were tried", edits)
	}
	indented := strictjson.Indent(&doc)
	if _, err := contract.ReadFrozen("c.json", indented); err != nil {
		t.Errorf("white space alone is no edit: %v", err)
	}
}

// These two digests come from the Watch Skill tool's own canonical form.
func TestAContractOfTheOtherToolIsReadAsItStands(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "watch-skill-frozen.json"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := contract.ReadFrozen("w.json", text)
	if err != nil {
		t.Fatal(err)
	}
	if f.Contract.Checks[1].TimeoutSeconds != 2.5 || f.Contract.RequiredAssurance != contract.IsolatedLocal {
		t.Errorf("%+v", f.Contract)
	}
	edited := strings.Replace(string(text), "29.0", "28.0", 1)
	if _, err := contract.ReadFrozen("w.json", []byte(edited)); code(err) != fault.ContractTampered {
		t.Errorf("edited: %v", err)
	}
	null := strings.NewReplacer(`"frozen_at":"2026-09-08T10:00:01+00:00"`, `"frozen_at":null`).Replace(string(text))
	if i := strings.Index(null, `"digest":"`); i >= 0 {
		null = null[:i] + `"digest":null` + null[i+len(`"digest":"`)+71+1:]
	}
	if _, err := contract.ReadFrozen("w.json", []byte(null)); code(err) != fault.ContractNotFrozen {
		t.Errorf("a draft as that tool writes it, with nulls: %v", err)
	}
}

// A frozen document has one spelling of its digest and both its stamps; what
// comes close is an edit, and is told before anything runs.
func TestAStampIsWrittenInOneWay(t *testing.T) {
	frozen := string(freeze(t, draft))
	digest := parse(t, frozen).Contract.DigestText()
	for name, edited := range map[string]string{
		"upper case":        strings.Replace(frozen, digest, strings.ToUpper(digest), 1),
		"without sha256:":   strings.Replace(frozen, digest, digest[len("sha256:"):], 1),
		"no digest at all":  strings.Replace(frozen, digest, "x", 1),
		"without frozen_at": strings.Replace(frozen, `"frozen_at"`, `"source"`, 1),
	} {
		if _, err := contract.ReadFrozen("c.json", []byte(edited)); code(err) != fault.ContractTampered {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReviseRecordsTheOldDigest(t *testing.T) {
	old := parse(t, string(freeze(t, draft)))
	for _, version := range []int{1, 2} {
		next := parse(t, strings.Replace(draft, `{"contract_id"`, fmt.Sprintf(`{"schema_version":%d,"contract_id"`, version), 1))
		out, err := contract.Revise(old, next, keep, noon)
		if err != nil {
			t.Fatal(err)
		}
		f, err := contract.ReadFrozen("r.json", out)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), old.Contract.DigestText()) || f.Digest() == old.Digest() {
			t.Errorf("version %d: the revision does not name the old digest:\n%s", version, out)
		}
	}
}

// Each line is one fault: a document, where it is, and a word of what is said.
func TestProblemsHaveTheirPlace(t *testing.T) {
	for _, c := range []struct{ text, at, says string }{
		{`[]`, "1:1", "must be an object"},
		{`{}`, "1:1", "contract_id"},
		{"{\"contract_id\":\n \"\"}", "2:2", "1 to 256"},
		{`{"contract_id":"c` + strings.Repeat("x", 256) + `"}`, "1:16", "1 to 256"},
		{`{"contract_id":"a\u0007"}`, "1:16", "control"},
		{`{"contract_id":5}`, "1:16", "must be a string, not a number"},
		{`{"contract_id":"c","titel":"x"}`, "1:20", `no member "titel"`},
		{`{"schema_version":3,"contract_id":"c"}`, "1:19", "1 or 2"},
		{`{"schema_version":true,"contract_id":"c"}`, "1:19", "1 or 2"},
		{`{"contract_id":"c","expectations":["x"]}`, "1:20", "schema_version 2"},
		{`{"schema_version":2,"contract_id":"c","expectations":[" "]}`, "1:55", "say something"},
		{`{"schema_version":2,"contract_id":"c","serve":{}}`, "1:47", "not available in this build"},
		{`{"schema_version":2,"contract_id":"c","approvers":[]}`, "1:51", "not available in this build"},
		{`{"schema_version":2,"contract_id":"c","subjects":["../x"]}`, "1:51", "without .."},
		{`{"schema_version":2,"contract_id":"c","subjects":["["]}`, "1:51", "no glob"},
		{`{"schema_version":2,"contract_id":"c","revises":"sha256:` + strings.Repeat("1", 64) + `"}`, "1:49", "set by gate revise"},
		{`{"contract_id":"c","required_assurance":"best"}`, "1:41", `"best"`},
		{`{"contract_id":"c","allowed_origins":["file:///etc"]}`, "1:39", "http or https"},
		{`{"contract_id":"c","allowed_origins":["http://u:p@h"]}`, "1:39", "user name"},
		{`{"contract_id":"c","allowed_origins":["http://h/"]}`, "1:39", "no path"},
		{`{"contract_id":"c","allowed_origins":["http://h:0"]}`, "1:39", "port"},
		{`{"contract_id":"c","allowed_origins":["http://h:99999"]}`, "1:39", "port"},
		{`{"contract_id":"c","allowed_origins":["http://"]}`, "1:39", "no host"},
		{`{"contract_id":"c","allowed_origins":["http://[::zz]"]}`, "1:39", "origin"},
		{`{"contract_id":"c","allowed_origins":["http://h?x"]}`, "1:39", "no path"},
		{`{"contract_id":"c","checks":{}}`, "1:29", "must be an array"},
		{`{"contract_id":"c","checks":[5]}`, "1:30", "must be an object"},
		{`{"contract_id":"c","checks":[{"type":"file_exists"}]}`, "1:30", `"id"`},
		{`{"contract_id":"c","checks":[{"id":"a b","type":"t"}]}`, "1:36", "A-Z"},
		{`{"contract_id":"c","checks":[{"id":"a","type":"t"},{"id":"a","type":"t"}]}`, "1:58", "twice"},
		{`{"contract_id":"c","checks":[{"id":"a","type":"t","timeout_seconds":0}]}`, "1:69", "at most 600"},
		{`{"contract_id":"c","checks":[{"id":"a","type":"t","timeout_seconds":600.5}]}`, "1:69", "at most 600"},
		{`{"schema_version":2,"contract_id":"c","checks":[{"id":"a","type":"t","timeout_seconds":3601}]}`, "1:88", "at most 3600"},
		{`{"contract_id":"c","checks":[{"id":"a","type":"t","retry":{"attempts":2}}]}`, "1:51", "schema_version 2"},
		{`{"schema_version":2,"contract_id":"c","checks":[{"id":"a","type":"t","retry":{"attempts":11}}]}`, "1:90", "1 to 10"},
		{`{"schema_version":2,"contract_id":"c","checks":[{"id":"a","type":"t","retry":{"attempts":2,"interval_seconds":-1}}]}`, "1:111", "0 to 600"},
		{`{"schema_version":2,"contract_id":"c","checks":[{"id":"a","type":"t","depends_on":["a"]}]}`, "1:84", "earlier"},
		{`{"schema_version":2,"contract_id":"c","checks":[{"id":"a","type":"t","depends_on":["b"]},{"id":"b","type":"t"}]}`, "1:84", "earlier"},
		{`{"schema_version":2,"contract_id":"c","checks":[{"id":"a","type":"t","security":true}]}`, "1:81", "not available"},
		{`{"contract_id":"c","title":"` + token + `"}`, "1:28", "credential"},
		{`{"contract_id":"c","checks":[{"id":"a","type":"t","params":{"` + token + `":1}}]}`, "1:104", "credential"},
		{`{"contract_id":"c","source_prompt":"-----BEGIN ` + `PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----"}`, "1:36", "credential"},
	} {
		f, err := contract.Parse("c.json", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		found := false
		for _, p := range f.Problems() {
			found = found || fmt.Sprintf("%d:%d", p.Line, p.Column) == c.at && strings.Contains(p.Message, c.says)
		}
		if !found {
			t.Errorf("%s\n  want %s … %s\n  got  %v", c.text, c.at, c.says, f.Problems())
		}
		if code(f.Err()) != fault.ContractInvalid {
			t.Errorf("%s: %v", c.text, f.Err())
		}
	}
}

func TestGoodOrigins(t *testing.T) {
	for _, o := range []string{"http://h", "https://h:443", "http://127.0.0.1:8080", "http://[::1]:3000", "http://localhost", "https://bücher.example"} {
		f := parse(t, fmt.Sprintf(`{"contract_id":"c","allowed_origins":[%q]}`, o))
		if err := f.Err(); err != nil {
			t.Errorf("%s: %v", o, err)
		}
	}
}

func TestNoJSONIsUnreadable(t *testing.T) {
	for text, at := range map[string]string{"": "c.json:1:1", "{\n x}": "c.json:2:2", `{"a":1,"a":2}`: "c.json:1:8", `{"contract_id":"c"} {}`: "c.json:1:"} {
		_, err := contract.Parse("c.json", []byte(text))
		if code(err) != fault.ContractUnreadable || !strings.Contains(err.Error(), at) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := contract.Load(t.TempDir()); code(err) != fault.ContractUnreadable {
		t.Errorf("a folder: %v", err)
	}
	if _, err := contract.Load("no-such-file.json"); code(err) != fault.ContractUnreadable {
		t.Errorf("no file: %v", err)
	}
}

func TestAssuranceLadder(t *testing.T) {
	if !contract.IsolatedLocal.AtLeast(contract.DeterministicLocal) || contract.IsolatedLocal.AtLeast(contract.ExternalReadOnly) || contract.DeterministicLocal.AtLeast(contract.RemoteAttested) {
		t.Error("the ladder is wrong")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(draft))
	f.Add([]byte(`{"schema_version":2,"contract_id":"c","checks":[{"id":"a","type":"t","retry":{"attempts":2},"depends_on":["x"]}],"subjects":["*"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := contract.Parse("c.json", text)
		if err != nil || file.Err() != nil {
			return
		}
		frozen, err := contract.Freeze(file, keep, noon)
		if err != nil {
			return
		}
		back, err := contract.ReadFrozen("c.json", frozen)
		if err != nil {
			t.Fatalf("a valid draft froze into a document that is refused: %v\n%s", err, frozen)
		}
		if back.Digest().String() != back.Contract.DigestText() {
			t.Fatal("the digest does not hold")
		}
	})
}
