package bundle

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// files reads a bundle into memory: relative path to content.
func files(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func copyBundle(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// same says whether two JSON texts have the same canonical form: white space,
// and how a character is escaped, are no tampering.
func same(a, b []byte) bool {
	x, err1 := strictjson.Parse(a, strictjson.DocumentLimits)
	y, err2 := strictjson.Parse(b, strictjson.DocumentLimits)
	return err1 == nil && err2 == nil && bytes.Equal(strictjson.Canonical(&x.Root), strictjson.Canonical(&y.Root))
}

var tampering = map[fault.Code]bool{
	fault.AttestationInvalid: true, fault.AttestationTampered: true, fault.AttestationMismatch: true,
	fault.ContractTampered: true, fault.BlobTampered: true, fault.SignatureInvalid: true,
}

// TestEveryByteIsBound flips each byte of each file of a bundle, in two ways,
// cuts each file, and wants a refusal that tells no verdict every time. What
// reports hold is bound by nothing.
func TestEveryByteIsBound(t *testing.T) {
	unsigned := copyBundle(t, write(t, t.TempDir(), content(t)))
	signed := copyBundle(t, unsigned)
	sign(t, signed)
	for what, dir := range map[string]string{"unsigned": unsigned, "signed": signed} {
		flips := 0
		for name, whole := range files(t, dir) {
			path := filepath.Join(dir, name)
			for i := range whole {
				for _, mask := range []byte{0x01, 0x20} {
					changed := bytes.Clone(whole)
					changed[i] ^= mask
					if strings.HasSuffix(name, ".json") && name != sigstoreName && same(changed, whole) {
						continue
					}
					flips++
					wantRefusal(t, dir, path, changed)
				}
			}
			wantRefusal(t, dir, path, whole[:len(whole)-1])
			wantRefusal(t, dir, path, append(bytes.Clone(whole), 'x'))
			wantRefusal(t, dir, path, []byte{})
			if err := os.WriteFile(path, whole, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(dir); err != nil {
				t.Fatalf("%s: %s restored: %v", what, name, err)
			}
		}
		if flips < 5000 {
			t.Errorf("%s: only %d bytes were flipped", what, flips)
		}
		if err := (Signed{Public: map[string][]byte{"vsa.sigstore.json": []byte("{}")}}).writePublic(dir); err != nil {
			t.Fatal(err)
		}
		edit(t, filepath.Join(dir, "reports", "vsa.sigstore.json"), "{}", "[]")
		if s, err := Read(dir); err != nil || len(s.Unknown) > 0 {
			t.Errorf("%s: a report binds the bundle: %v", what, err)
		}
	}
}

func wantRefusal(t *testing.T, dir, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir)
	f := fault.As(err)
	if err == nil || !tampering[f.Code] {
		t.Fatalf("%s changed: %v", path, err)
	}
	if details, e := json.Marshal(f.Details); e != nil || strings.Contains(f.Message+f.Fix+string(details), "VERIFIED") {
		t.Fatalf("the refusal tells a verdict: %s %s", f.Message, details)
	}
}

func TestWhiteSpaceIsNoTampering(t *testing.T) {
	dir := copyBundle(t, write(t, t.TempDir(), content(t)))
	for _, name := range []string{"evidence.json", "attestation.json", "contract.json"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := json.Indent(&out, raw, "", "   "); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), append(out.Bytes(), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Read(dir); err != nil {
		t.Error(err)
	}
}

// TestAnotherSpellingIsTampering: what leaves the values as they are is a change
// all the same, but for white space.
func TestAnotherSpellingIsTampering(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		code           fault.Code
	}{
		{"evidence.json", `"duration_seconds":0.25,`, `"duration_seconds":0.250,`, fault.AttestationTampered},
		{"evidence.json", `"duration_seconds":0.25,`, `"duration_seconds":25e-2,`, fault.AttestationTampered},
		{"evidence.json", `"verdict"`, `"\u0076erdict"`, fault.AttestationTampered},
		{"evidence.json", `{"advisory_findings":[],`, "\ufeff{\"advisory_findings\":[],", fault.AttestationTampered},
		{"attestation.json", `"schema_version":1`, `"schema_version":1.0`, fault.AttestationTampered},
		{"attestation.json", `"VERIFIED"`, `"\u0056ERIFIED"`, fault.AttestationTampered},
		{"contract.json", `"checks"`, `"\u0063hecks"`, fault.ContractTampered},
	} {
		dir := copyBundle(t, write(t, t.TempDir(), content(t)))
		edit(t, filepath.Join(dir, c.name), c.old, c.new)
		if _, err := Read(dir); codeOf(err) != c.code {
			t.Errorf("%s, %s for %s: %v", c.name, c.new, c.old, err)
		}
	}
}

// reseal writes evidence that somebody edited and gives it fresh digests, as
// an editor who knows the format would: only what the parts say about each
// other can tell then.
func reseal(t *testing.T, dir string, change func(e *strictjson.Value)) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "evidence.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := strictjson.Parse(raw, strictjson.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	change(&doc.Root)
	evidence := strictjson.Canonical(&doc.Root)
	raw, err = os.ReadFile(filepath.Join(dir, "attestation.json"))
	if err != nil {
		t.Fatal(err)
	}
	att, err := strictjson.Parse(raw, strictjson.ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	att.Root.Set("bundle_digest", strictjson.Str(strictjson.Sum(evidence).String()))
	for _, name := range []string{"verdict", "assurance", "contract_digest"} {
		att.Root.Set(name, *doc.Root.Get(name))
	}
	att.Root.Set("attestation_digest", strictjson.Str(attestationDigest(&att.Root).String()))
	for name, data := range map[string][]byte{"evidence.json": evidence, "attestation.json": strictjson.Canonical(&att.Root)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestResealedEvidenceMustStillAgree(t *testing.T) {
	failed := content(t)
	failed.Answers[0].Result.Status = record.Fail
	original := write(t, t.TempDir(), failed)
	result := func(e *strictjson.Value, i int) *strictjson.Value { return &e.Get("check_results").Items[i] }
	setStatus := func(r *strictjson.Value) {
		r.Set("status", strictjson.Str("pass"))
		r.Set("passed", strictjson.Boolean(true))
	}
	for _, c := range []struct {
		name   string
		change func(e *strictjson.Value)
		want   fault.Code
	}{
		{"nothing", func(*strictjson.Value) {}, ""},
		{"verdict", func(e *strictjson.Value) { e.Set("verdict", strictjson.Str("VERIFIED")) }, fault.AttestationMismatch},
		{"outcome", func(e *strictjson.Value) { e.Set("outcome", strictjson.Str("pass")) }, fault.AttestationMismatch},
		{"assurance", func(e *strictjson.Value) { e.Set("assurance", strictjson.Str("remote_attested")) }, fault.AttestationMismatch},
		{"status", func(e *strictjson.Value) { setStatus(result(e, 0)) }, fault.AttestationMismatch},
		{"incomplete", func(e *strictjson.Value) {
			e.Get("isolation").Set("complete", strictjson.Boolean(false))
			e.Get("isolation").Set("failure", strictjson.Str("died"))
		}, fault.AttestationMismatch},
		{"a result less", func(e *strictjson.Value) {
			list := e.Get("check_results")
			list.Items = list.Items[1:]
		}, fault.AttestationMismatch},
		{"a result twice", func(e *strictjson.Value) {
			list := e.Get("check_results")
			list.Items = append(list.Items, list.Items[2])
		}, fault.AttestationMismatch},
		{"not required", func(e *strictjson.Value) { result(e, 0).Set("required", strictjson.Boolean(false)) }, fault.AttestationMismatch},
		{"unknown check", func(e *strictjson.Value) { result(e, 0).Set("check_id", strictjson.Str("zz")) }, fault.AttestationMismatch},
		{"other type", func(e *strictjson.Value) { result(e, 0).Set("type", strictjson.Str("json_value")) }, fault.AttestationMismatch},
		{"called proposed", func(e *strictjson.Value) { result(e, 0).Set("proposed", strictjson.Boolean(true)) }, fault.AttestationMismatch},
		{"observed", func(e *strictjson.Value) { result(e, 0).Set("observed", strictjson.Str("x")) }, fault.AttestationMismatch},
		{"run id", func(e *strictjson.Value) { e.Set("run_id", strictjson.Str("vr_20260101T000000_0123456789ab")) }, fault.AttestationMismatch},
		{"contract digest", func(e *strictjson.Value) { e.Set("contract_digest", strictjson.Str(strictjson.Sum(nil).String())) }, fault.AttestationMismatch},
		{"contract id", func(e *strictjson.Value) { e.Set("contract_id", strictjson.Str("x")) }, fault.AttestationMismatch},
		{"created", func(e *strictjson.Value) { e.Set("created_at", strictjson.Str("2026-01-01T00:00:00.000000Z")) }, fault.AttestationMismatch},
		{"a member more", func(e *strictjson.Value) { e.Set("proof", strictjson.Boolean(true)) }, fault.AttestationInvalid},
		{"a member less", func(e *strictjson.Value) { *e = e.Without("cost") }, fault.AttestationInvalid},
		{"another version", func(e *strictjson.Value) { e.Set("schema_version", strictjson.Num("2")) }, fault.AttestationInvalid},
		{"another blob", func(e *strictjson.Value) {
			d := strictjson.Sum([]byte("z"))
			result(e, 1).Get("evidence_refs").Items[0].Set("digest", strictjson.Str(d.String()))
			e.Get("artifacts").Items[0].Set("digest", strictjson.Str(d.String()))
			e.Get("artifacts").Items[0].Set("path", strictjson.Str(blobPath(d)))
		}, fault.BlobTampered},
		{"a blob that is no artifact", func(e *strictjson.Value) { e.Get("artifacts").Items = e.Get("artifacts").Items[1:] }, fault.AttestationMismatch},
		{"a result of an advisory check less", func(e *strictjson.Value) {
			list := e.Get("check_results")
			list.Items = list.Items[:2]
		}, fault.AttestationMismatch},
		{"another order", func(e *strictjson.Value) { slices.Reverse(e.Get("check_results").Items) }, fault.AttestationMismatch},
		{"a proposed check first", func(e *strictjson.Value) {
			list := e.Get("check_results")
			p := list.Items[2].Without()
			p.Set("check_id", strictjson.Str("p"))
			p.Set("proposed", strictjson.Boolean(true))
			list.Items = slices.Insert(list.Items, 0, p)
			e.Get("policy_snapshot").Set("proposed_checks", strictjson.Arr(strictjson.Str("p")))
		}, fault.AttestationMismatch},
		{"a proposed check that is not told", func(e *strictjson.Value) {
			list := e.Get("check_results")
			p := list.Items[2].Without()
			p.Set("check_id", strictjson.Str("p"))
			p.Set("proposed", strictjson.Boolean(true))
			list.Items = append(list.Items, p)
		}, fault.AttestationMismatch},
		{"another input digest", func(e *strictjson.Value) { result(e, 0).Set("input_digest", *result(e, 1).Get("input_digest")) }, fault.AttestationMismatch},
		{"more origins", func(e *strictjson.Value) {
			e.Get("policy_snapshot").Set("allowed_origins", strictjson.Arr(strictjson.Str("https://a.example")))
		}, fault.AttestationMismatch},
		{"more assurance required", func(e *strictjson.Value) {
			e.Get("policy_snapshot").Set("required_assurance", strictjson.Str("isolated_local"))
		}, fault.AttestationMismatch},
		{"a tool more", func(e *strictjson.Value) { e.Set("tools", strictjson.Arr()) }, fault.AttestationMismatch},
		{"another moment", func(e *strictjson.Value) {
			e.Set("run_id", strictjson.Str("vr_20260101T000000_0123456789ab"))
			*e.Get("created_at") = strictjson.Str("2026-01-01T00:00:01.000000Z")
		}, fault.AttestationMismatch},
		{"a blob out of the folder", func(e *strictjson.Value) {
			e.Get("artifacts").Items[0].Set("path", strictjson.Str("../../../etc/passwd"))
		}, fault.AttestationMismatch},
		{"a digest that is a path", func(e *strictjson.Value) {
			result(e, 1).Get("evidence_refs").Items[0].Set("digest", strictjson.Str("sha256:../../x"))
		}, fault.AttestationMismatch},
	} {
		dir := filepath.Join(t.TempDir(), filepath.Base(original))
		if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
			t.Fatal(err)
		}
		reseal(t, dir, c.change)
		if _, err := Read(dir); codeOf(err) != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestImpossibleMembers writes into resealed evidence what no gate writes.
func TestImpossibleMembers(t *testing.T) {
	original := write(t, t.TempDir(), content(t))
	subject := func(name, digest, bytes string) strictjson.Value {
		return strictjson.Obj(strictjson.Member{Name: "name", Value: strictjson.Str(name)}, strictjson.Member{Name: "digest", Value: strictjson.Str(digest)},
			strictjson.Member{Name: "bytes", Value: strictjson.Num(bytes)})
	}
	sum := strictjson.Sum(nil)
	good := subject("a", sum.String(), "1")
	for name, bad := range map[string][]strictjson.Value{
		"/started_at":                       {strictjson.Str(""), strictjson.Str("yesterday"), strictjson.Str("2026-01-01T00:00:00Z"), strictjson.Str("2026-01-01T00:00:00.000000+01:00")},
		"/ended_at":                         {strictjson.Str("x")},
		"/source_revision":                  {strictjson.Str(""), strictjson.Str("main"), strictjson.Str(strings.Repeat("AB", 20))},
		"/content_digest":                   {strictjson.Str(""), strictjson.Str("x"), strictjson.Str(sum.Hex()), strictjson.Str("sha256:" + strings.ToUpper(sum.Hex()))},
		"/capture_digest":                   {strictjson.Str("x")},
		"/method":                           {strictjson.Str("model")},
		"/verifier/digest":                  {strictjson.Str(""), strictjson.Str("x")},
		"/cost/wall_seconds":                {strictjson.Num("-1")},
		"/cost/requests":                    {strictjson.Num("-1")},
		"/subjects":                         {strictjson.Arr(good, good), strictjson.Arr(subject("", sum.String(), "1")), strictjson.Arr(subject("a", "x", "1")), strictjson.Arr(subject("a", sum.String(), "-1"))},
		"/advisory_findings":                {strictjson.Arr(strictjson.Str("x"))},
		"/exceptions":                       {strictjson.Arr(strictjson.Str("x"))},
		"/isolation/failure":                {strictjson.Str("died")},
		"/isolation/profiles":               {strictjson.Arr()},
		"/isolation/profiles/0/profile":     {strictjson.Str("none")},
		"/check_results/0/status":           {strictjson.Str("ok")},
		"/check_results/0/passed":           {strictjson.Boolean(false), strictjson.Value{}},
		"/check_results/2/passed":           {strictjson.Boolean(true), strictjson.Value{}},
		"/check_results/0/started_at":       {strictjson.Str("x")},
		"/check_results/0/ended_at":         {strictjson.Str("x")},
		"/check_results/0/duration_seconds": {strictjson.Num("-0.5")},
		"/check_results/0/input_digest":     {strictjson.Str("x")},
		"/check_results/0/method":           {strictjson.Str("human")},
	} {
		pointer, err := strictjson.ParsePointer(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range bad {
			dir := filepath.Join(t.TempDir(), filepath.Base(original))
			if err := os.CopyFS(dir, os.DirFS(original)); err != nil {
				t.Fatal(err)
			}
			reseal(t, dir, func(e *strictjson.Value) {
				at, _, why := pointer.Find(e)
				if why != "" {
					t.Fatalf("%s: %s", name, why)
				}
				*at = value
			})
			if _, err := Read(dir); codeOf(err) != fault.AttestationInvalid {
				t.Errorf("%s = %s: %v", name, strictjson.Canonical(&value), err)
			}
		}
	}
}

func TestPartsOfOtherRuns(t *testing.T) {
	data := t.TempDir()
	one, two := write(t, data, content(t)), write(t, data, content(t))
	other := content(t)
	other.Contract = frozen(t, "other")
	third := write(t, data, other)
	for _, c := range []struct {
		name, from string
		want       fault.Code
	}{
		{"evidence.json", two, fault.AttestationMismatch},
		{"attestation.json", two, fault.AttestationMismatch},
		{"contract.json", third, fault.AttestationMismatch},
	} {
		dir := copyBundle(t, one)
		raw, err := os.ReadFile(filepath.Join(c.from, c.name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, c.name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); codeOf(err) != c.want {
			t.Errorf("%s of another run: %v", c.name, err)
		}
	}
	// A whole bundle under the name of another run is another run's bundle.
	moved := filepath.Join(t.TempDir(), filepath.Base(two))
	if err := os.CopyFS(moved, os.DirFS(one)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(moved); codeOf(err) != fault.AttestationMismatch {
		t.Errorf("a bundle in the folder of another run: %v", err)
	}
}

// TestHostileFolders puts into a bundle what must neither hang nor be followed.
func TestHostileFolders(t *testing.T) {
	original := write(t, t.TempDir(), content(t))
	blob := ""
	for name := range files(t, original) {
		if strings.HasPrefix(name, "blobs") {
			blob = name
		}
	}
	replace := func(name string, with func(path string) error) func(dir string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return with(path)
		}
	}
	fifo := func(path string) error { return syscall.Mkfifo(path, 0o644) }
	gone := func(string) error { return nil }
	folder := func(path string) error { return os.Mkdir(path, 0o755) }
	link := func(name string) func(string) error {
		return func(path string) error { return os.Symlink(filepath.Join(original, name), path) }
	}
	huge := func(path string) error {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
		return os.Truncate(path, 1<<40)
	}
	for _, c := range []struct {
		what   string
		change func(dir string) error
		want   fault.Code
	}{
		{"attestation missing", replace("attestation.json", gone), fault.AttestationInvalid},
		{"evidence missing", replace("evidence.json", gone), fault.AttestationInvalid},
		{"contract missing", replace("contract.json", gone), fault.ContractTampered},
		{"blob missing", replace(blob, gone), fault.BlobTampered},
		{"blobs missing", replace("blobs", gone), fault.BlobTampered},
		{"attestation is a FIFO", replace("attestation.json", fifo), fault.AttestationInvalid},
		{"evidence is a FIFO", replace("evidence.json", fifo), fault.AttestationInvalid},
		{"contract is a FIFO", replace("contract.json", fifo), fault.ContractTampered},
		{"blob is a FIFO", replace(blob, fifo), fault.BlobTampered},
		{"attestation is a link", replace("attestation.json", link("attestation.json")), fault.AttestationInvalid},
		{"evidence is a link", replace("evidence.json", link("evidence.json")), fault.AttestationInvalid},
		{"contract is a link", replace("contract.json", link("contract.json")), fault.ContractTampered},
		{"blob is a link", replace(blob, link(blob)), fault.BlobTampered},
		{"blobs is a link", replace("blobs", link("blobs")), fault.BlobTampered},
		{"sha256 is a link", replace("blobs/sha256", link("blobs/sha256")), fault.BlobTampered},
		{"evidence is a folder", replace("evidence.json", folder), fault.AttestationInvalid},
		{"attestation is huge", replace("attestation.json", huge), fault.AttestationInvalid},
		{"evidence is huge", replace("evidence.json", huge), fault.AttestationInvalid},
		{"contract is huge", replace("contract.json", huge), fault.ContractTampered},
		{"blob is huge", replace(blob, huge), fault.BlobTampered},
	} {
		dir := copyBundle(t, original)
		if err := c.change(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); codeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", c.what, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(original, "nothing")); codeOf(err) != fault.RunNotFound {
		t.Errorf("%v", err)
	}
}

func TestUnknownFilesAreTold(t *testing.T) {
	dir := copyBundle(t, write(t, t.TempDir(), content(t)))
	stray := "blobs/sha256/" + strictjson.Sum([]byte("stray")).Hex()
	for name, data := range map[string]string{"note.txt": "x", stray: "stray", "reports/r.html": "x", "deep/er": "x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Unknown, " "); got != stray+" deep note.txt" {
		t.Errorf("unknown: %s", got)
	}
}

// TestOnlyBlobsLieBelowBlobs: what is there counts as evidence to whoever looks.
func TestOnlyBlobsLieBelowBlobs(t *testing.T) {
	original := write(t, t.TempDir(), content(t))
	sum := strictjson.Sum([]byte("stray"))
	file := func(data string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(data), 0o644) }
	}
	for name, make := range map[string]func(path string) error{
		"blobs/note":                                 file("x"),
		"blobs/sha256/note":                          file("x"),
		"blobs/sha256/" + sum.Hex():                  file("other bytes"),
		"blobs/sha256/" + strings.ToUpper(sum.Hex()): file("stray"),
		"blobs/" + sum.Hex():                         file("stray"),
		"blobs/sha256/folder":                        func(path string) error { return os.Mkdir(path, 0o755) },
		"blobs/md5":                                  func(path string) error { return os.Mkdir(path, 0o755) },
		"blobs/sha256/fifo":                          func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"blobs/sha256/" + strings.Repeat("0", 64): func(path string) error {
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		},
	} {
		dir := copyBundle(t, original)
		if err := make(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); codeOf(err) != fault.BlobTampered {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBlobIsDigestedAtEveryRead(t *testing.T) {
	dir := copyBundle(t, write(t, t.TempDir(), content(t)))
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	ref := s.Evidence.CheckResults[1].EvidenceRefs[0]
	edit(t, filepath.Join(dir, s.Evidence.Artifacts[0].Path), "hello", "jello")
	if _, err := s.Blob(ref); codeOf(err) != fault.BlobTampered {
		t.Errorf("%v", err)
	}
	if _, err := s.Blob(record.Ref{Digest: "sha256:../../../etc/passwd"}); codeOf(err) != fault.BlobTampered {
		t.Errorf("%v", err)
	}
}
