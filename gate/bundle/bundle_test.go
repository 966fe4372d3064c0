package bundle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// ghp is made up, and put together here so that no scanner takes it for a leak.
var ghp = "ghp_" + strings.Repeat("a1B2c3D4e", 4)

// frozen makes a frozen contract with one required check "a", a required
// command "build" and an advisory check "hint".
func frozen(t testing.TB, id string) *contract.File {
	t.Helper()
	doc, err := strictjson.Parse([]byte(`{"schema_version":1,"contract_id":"`+id+`","title":"t","frozen_at":"2026-11-30T00:00:00.000000Z","checks":[
		{"id":"a","type":"file_exists","params":{"path":"a"}},
		{"id":"build","type":"command_exit","params":{"command":["true"]}},
		{"id":"hint","type":"file_exists","required":false,"params":{"path":"h"}}]}`), strictjson.ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	doc.Root.Set("digest", strictjson.Str(strictjson.DigestOf(&doc.Root).String()))
	k, err := contract.ReadFrozen("contract.json", strictjson.Canonical(&doc.Root))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func answer(i int, id, kind string, required bool, status record.Status) record.Answer {
	return record.Answer{Index: i, Result: record.Result{
		CheckID: id, Type: kind, Required: required, Status: status, Summary: "seen", Method: "deterministic",
		Expected: value(`{"x": 29.0}`), Observed: value(`{"out":"plain"}`),
		StartedAt: record.Time(time.Unix(1, 0)), EndedAt: record.Time(time.Unix(2, 0)), DurationSeconds: 0.25,
	}}
}

func content(t testing.TB) Content {
	k := frozen(t, "case")
	build := answer(1, "build", "command_exit", true, record.Pass)
	build.Blobs = []record.Blob{{Role: "stdout", Data: []byte("hello\n")}, {Role: "stderr", Data: []byte{0xff, 0, 1}}}
	build.Result.Tool = &record.Tool{Name: "true", Path: "/bin/true"}
	answers := []record.Answer{answer(0, "a", "file_exists", true, record.Pass), build, answer(2, "hint", "file_exists", false, record.Fail)}
	for i := range answers {
		answers[i].Result.InputDigest = k.Contract.Checks[i].Input().String()
	}
	return Content{
		Contract: k, Started: time.Unix(1, 0), Ended: time.Unix(2, 0),
		Answers:        answers,
		Isolation:      Isolation{Complete: true, Profiles: []record.Isolation{{Profile: "reading"}}},
		Roots:          []string{"/ws"},
		SourceRevision: strings.Repeat("ab", 20), ContentDigest: strictjson.Sum([]byte("c")).String(),
		Limitations: []string{"check hint is advisory"},
		Verifier:    Verifier{Name: "verdictgate", Version: "test", Digest: strictjson.Sum(nil).String(), Go: "go", Platform: "p"},
	}
}

func write(t testing.TB, data string, c Content) string {
	t.Helper()
	s, err := Write(data, c)
	if err != nil {
		t.Fatal(err)
	}
	sameAsRead(t, s)
	return s.Dir
}

// text is a value as JSON.
func text(t testing.TB, x any) string {
	t.Helper()
	out, err := strictjson.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// sameAsRead holds what a writer was given against what a reader finds.
func sameAsRead(t testing.TB, written *Sealed) {
	t.Helper()
	read, err := Read(written.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ written, read any }{
		{text(t, written.Evidence), text(t, read.Evidence)}, {written.Attestation, read.Attestation}, {written.Judgement, read.Judgement},
		{written.Unknown, read.Unknown}, {string(written.Contract.Canonical()), string(read.Contract.Canonical())},
	} {
		if !reflect.DeepEqual(c.written, c.read) {
			t.Errorf("the writer was given\n%+v\nand a reader finds\n%+v", c.written, c.read)
		}
	}
}

func codeOf(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.As(err).Code
}

func TestWhatIsWrittenReadsBack(t *testing.T) {
	data := t.TempDir()
	dir := write(t, data, content(t))
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(dir) != filepath.Join(data, "verifications") || filepath.Base(dir) != s.Evidence.RunID {
		t.Errorf("the bundle of %s lies in %s", s.Evidence.RunID, dir)
	}
	if s.Evidence.Verdict != verdict.Verified || s.Judgement.Verdict != verdict.Verified || fmt.Sprint(s.Judgement.Passed) != "[a build]" || len(s.Unknown) != 0 {
		t.Errorf("%+v unknown %v", s.Judgement, s.Unknown)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "evidence.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strictjson.Sum(raw).String(); got != s.Attestation.BundleDigest {
		t.Errorf("sha256sum evidence.json is %s, the bundle digest %s", got, s.Attestation.BundleDigest)
	}
	if s.Attestation.SignatureStatus != "unsigned_hash_bound" || s.Attestation.Signature != nil {
		t.Errorf("%+v", s.Attestation)
	}
	out, err := s.Blob(s.Evidence.CheckResults[1].EvidenceRefs[0])
	if err != nil || string(out) != "hello\n" {
		t.Errorf("blob %q %v", out, err)
	}
	if left, _ := filepath.Glob(filepath.Join(data, "verifications", ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	for name, want := range map[string]os.FileMode{".": 0o755, "evidence.json": 0o644, "blobs/sha256": 0o755} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm()&^want != 0 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

// TestNoListIsNull looks at every member of a bundle with nothing in it.
func TestNoListIsNull(t *testing.T) {
	c := Content{Contract: frozen(t, "case"), Isolation: Isolation{Failure: "died", Profiles: []record.Isolation{{Profile: "reading"}}}, Verifier: content(t).Verifier}
	dir := write(t, t.TempDir(), c)
	raw, err := os.ReadFile(filepath.Join(dir, "evidence.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := strictjson.Parse(raw, strictjson.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	var nulls []string
	for _, m := range doc.Root.Members {
		if m.Value.Kind == strictjson.Null {
			nulls = append(nulls, m.Name)
		}
	}
	if got := fmt.Sprint(nulls); got != "[capture_digest content_digest source_revision]" {
		t.Errorf("null members: %s", got)
	}
	if strings.Contains(string(raw), `"layers":null`) || strings.Contains(string(raw), `"env":null`) {
		t.Errorf("%s", raw)
	}
	s, err := Read(dir)
	if err != nil || s.Evidence.Outcome != verdict.Error {
		t.Errorf("a run without a complete answer: %+v %v", s, err)
	}
}

// TestDocsNameEveryMember holds docs/evidence.md and the structs together.
func TestDocsNameEveryMember(t *testing.T) {
	page, err := os.ReadFile("../../docs/evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := write(t, t.TempDir(), content(t))
	for _, name := range []string{"evidence.json", "attestation.json"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := strictjson.Parse(raw, strictjson.DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range doc.Root.Members {
			if !strings.Contains(string(page), "| `"+m.Name+"`") {
				t.Errorf("docs/evidence.md has no row for %s of %s", m.Name, name)
			}
		}
		if name == "evidence.json" {
			for _, m := range doc.Root.Get("check_results").Items[0].Members {
				if !strings.Contains(string(page), "| `"+m.Name+"`") {
					t.Errorf("docs/evidence.md has no row for %s of a check result", m.Name)
				}
			}
		}
	}
}

func TestNothingSecretIsWritten(t *testing.T) {
	c := content(t)
	c.Limitations = append(c.Limitations, "saw "+ghp)
	c.Isolation.Complete, c.Isolation.Failure = false, "died with "+ghp
	r := &c.Answers[1].Result
	r.Summary = "exit 1: " + ghp
	r.Expected = value(`{"headers":{"Authorization":"Bearer ` + ghp + `"}}`)
	r.Observed = value(`{"stdout":"token ` + ghp + ` and ` + ghp + `","` + ghp + `":1,"password":"hunter2","n":[1,"x"]}`)
	r.Error = &record.Problem{Code: "verify.timeout", Message: "at " + ghp, Fix: ghp}
	r.Findings = []record.Finding{{Message: ghp, File: ghp, Pointer: "/" + ghp}}
	r.Attempts = []record.Attempt{{Status: record.Fail, Summary: ghp}}
	r.Tool = &record.Tool{Name: "t", Path: "/x/" + ghp}
	c.Answers[1].Blobs = []record.Blob{{Role: "stdout", Data: []byte("a\xff " + ghp + "\nDB_PASSWORD=hunter2\n"), Note: ghp}}
	c.Roots = append(c.Roots, "/x/https:/user:hunter2@host", "/"+ghp)
	c.Subjects = []Subject{{Name: "dist/" + ghp, Digest: strictjson.Sum(nil).String()}, {Name: "dist/" + ghp + "x", Digest: strictjson.Sum(nil).String()}}
	c.Isolation.Profiles = []record.Isolation{{Profile: "reading", Layers: []record.Layer{{Name: ghp, Detail: "https://user:hunter2@host"}}, Env: []string{ghp}}}
	c.Verifier.Version, c.Verifier.Platform = ghp, ghp
	data := t.TempDir()
	dir := write(t, data, c)
	err := filepath.WalkDir(data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, bad := range []string{ghp, "a1B2c3", "hunter2"} {
			if strings.Contains(string(raw), bad) || strings.Contains(path, bad) {
				t.Errorf("%s holds %q", path, bad)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(s.Evidence.Limitations, "\n")
	for _, want := range []string{"redacted 2 passwords in check build: stdout, observed /password", "github tokens in check build: ", "saw " + secret.GitHub.Replacement(),
		"redacted 2 url userinfo: policy_snapshot/roots/1, isolation/profiles/0/layers/0/detail", "subjects/0/name"} {
		if !strings.Contains(said, want) {
			t.Errorf("no limitation says %q:\n%s", want, said)
		}
	}
	if r.Findings[0].Message != ghp || r.Attempts[0].Summary != ghp {
		t.Error("the answer itself was changed")
	}
}

func TestLargeAndDeepValuesMoveToBlobs(t *testing.T) {
	c := content(t)
	large := strings.Repeat("é", maxInline)
	c.Answers[0].Result.Observed = value(`"` + large + `"`)
	c.Answers[0].Result.Expected = value(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))
	c.Answers[0].Result.Summary = large
	for range 2000 {
		c.Answers[0].Result.Findings = append(c.Answers[0].Result.Findings, record.Finding{Message: "x is wrong"})
	}
	s, err := Read(write(t, t.TempDir(), c))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Evidence.CheckResults[0]
	var cut struct {
		Cut    bool
		Bytes  int64
		Digest string
		Head   string
	}
	if err := json.Unmarshal(strictjson.Canonical(&r.Observed), &cut); err != nil || !cut.Cut || cut.Bytes != int64(len(large))+2 || !strings.HasPrefix(cut.Head, `"é`) || len(cut.Head) > maxHead {
		t.Errorf("%.100s %v", r.Observed, err)
	}
	i := slices.IndexFunc(r.EvidenceRefs, func(ref record.Ref) bool { return ref.Role == "observed" })
	whole, err := s.Blob(r.EvidenceRefs[i])
	if err != nil || string(whole) != `"`+large+`"` || r.EvidenceRefs[i].Digest != cut.Digest {
		t.Errorf("the whole value is not in its blob: %v", err)
	}
	if r.Expected.Get("cut") == nil || len(r.Summary) > maxLine+4 || len(r.Findings) >= 2000 || len(r.Findings) == 0 {
		t.Errorf("expected %.60s, summary of %d bytes, %d findings", r.Expected, len(r.Summary), len(r.Findings))
	}
	if said := strings.Join(s.Evidence.Limitations, "\n"); !strings.Contains(said, "check a: only a part of expected (18000 bytes), observed (131074 bytes), findings (") {
		t.Errorf("no limitation tells: %s", said)
	}
}

func TestTextThatIsNoUTF8(t *testing.T) {
	c := content(t)
	r := &c.Answers[0].Result
	r.Summary, r.Error, r.Findings = "a\xff\xfeb", &record.Problem{Code: "x", Message: "\xff", Fix: "\xff"}, []record.Finding{{Message: "\xff", File: "\xff"}}
	r.Tool = &record.Tool{Name: "\xff", Path: "/\xff"}
	c.Limitations = append(c.Limitations, "\xff")
	c.Answers[0].Blobs = []record.Blob{{Role: "stdout", Note: "\xff", Data: []byte("\xff")}}
	s, err := Read(write(t, t.TempDir(), c))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Evidence.CheckResults[0].Summary; got != "a\uFFFDb" {
		t.Errorf("summary %q", got)
	}
}

func TestUnwritableDataFolder(t *testing.T) {
	data := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(data, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(data, content(t)); codeOf(err) != fault.BackendFailed {
		t.Errorf("%v", err)
	}
}

func TestIDs(t *testing.T) {
	now := time.Date(2026, 11, 30, 22, 43, 1, 5, time.FixedZone("x", 3600))
	id := newID(now)
	if !strings.HasPrefix(id, "vr_20261130T214301_") || len(id) != idLength {
		t.Errorf("id %s", id)
	}
	if moment, ok := idMoment(id); !ok || !moment.Equal(now.Truncate(time.Second)) {
		t.Errorf("%v %v", moment, ok)
	}
	for _, bad := range []string{"", "vr_", "vr_unknown", "../" + id, id + "/", id[:len(id)-1], id + "0", strings.ToUpper(id), "vr_20261330T214301_0123456789ab", "vr_20261130T214301_0123456789/.", "VR_20261130T214301_0123456789ab", "vr_20261130T214301-0123456789ab", "vr_20261130T214301_0123456789_b"} {
		if _, ok := idMoment(bad); ok {
			t.Errorf("%q is taken for an id", bad)
		}
	}
	if newID(now) == id {
		t.Error("two ids are equal")
	}
}

func TestFind(t *testing.T) {
	data := t.TempDir()
	dir := write(t, data, content(t))
	for _, name := range []string{filepath.Base(dir), dir, dir + "/"} {
		if got, err := Find(data, name); err != nil || filepath.Clean(got) != dir {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	unfinished := filepath.Join(data, "verifications", partialName+newID(time.Now()))
	if err := os.Mkdir(unfinished, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "vr_unknown", newID(time.Now()), "../../etc", "a\x00b", filepath.Join(dir, "evidence.json"), unfinished, unfinished + "/"} {
		if got, err := Find(data, name); codeOf(err) != fault.RunNotFound {
			t.Errorf("%q: %s %v", name, got, err)
		}
	}
}

func TestList(t *testing.T) {
	data := t.TempDir()
	if got, err := List(filepath.Join(data, "nothing")); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
	var dirs []string
	for range 3 {
		dirs = append(dirs, write(t, data, content(t)))
	}
	failed := content(t)
	failed.Answers[0].Result.Status = record.Fail
	dirs = append(dirs, write(t, data, failed))
	edit(t, filepath.Join(dirs[1], "evidence.json"), "VERIFIED", "FAILED")
	if err := os.Mkdir(filepath.Join(data, "verifications", "other"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dirs[0], filepath.Join(data, "verifications", newID(time.Now()))); err != nil {
		t.Fatal(err)
	}
	list, err := List(data)
	if err != nil || len(list) != 4 {
		t.Fatalf("%v %v", list, err)
	}
	for _, e := range list {
		switch e.Bundle {
		case dirs[1]:
			if e.Status != "unreadable: verify.attestation_tampered" || e.Verdict != "" || e.Outcome != "" {
				t.Errorf("%+v", e)
			}
		case dirs[3]:
			if e.Verdict != verdict.Failed || e.Status != Rechecked || e.ContractID != "case" {
				t.Errorf("%+v", e)
			}
		default:
			if e.Verdict != verdict.Verified || e.Status != Rechecked {
				t.Errorf("%+v", e)
			}
		}
	}
	if list[0].Bundle != dirs[3] && list[1].Bundle != dirs[3] { // the broken one tells seconds only
		t.Errorf("the newest is not first: %+v", list)
	}
}

func edit(t testing.TB, path, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), from) {
		t.Fatalf("%s holds no %q", path, from)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(raw), from, to, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Blobs leave memory as their answers arrive, and an abandoned bundle leaves
// nothing behind.
func TestBlobsAreWrittenAsTheyArrive(t *testing.T) {
	data, c := t.TempDir(), content(t)
	p, err := Begin(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Answers {
		c.Answers[i].Index = i
		if err := p.Receive(&c.Answers[i]); err != nil {
			t.Fatal(err)
		}
		if c.Answers[i].Blobs != nil {
			t.Errorf("answer %d still holds its blobs", i)
		}
	}
	written, err := os.ReadDir(p.blobs())
	if err != nil || len(written) == 0 {
		t.Fatalf("no blob was written before the end: %v", err)
	}
	sealed, err := p.Seal(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(sealed.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Evidence.Artifacts) == 0 {
		t.Error("the evidence names no blob")
	}
	if p, err = Begin(data); err != nil {
		t.Fatal(err)
	}
	if err := p.Receive(&record.Answer{Blobs: []record.Blob{{Role: "stdout", Data: []byte("x")}}}); err != nil {
		t.Fatal(err)
	}
	p.Discard()
	if left, err := os.ReadDir(filepath.Dir(sealed.Dir)); err != nil || len(left) != 1 {
		t.Errorf("a discarded bundle left something: %v %v", left, err)
	}
}

// value is the JSON value of a text.
func value(text string) strictjson.Value {
	doc, err := strictjson.Parse([]byte(text), strictjson.DocumentLimits)
	if err != nil {
		panic(err)
	}
	return doc.Root
}
