package bundle

import (
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// statement stands for a Sigstore bundle: this package does not look inside.
var statement = []byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","dsseEnvelope":{"payload":"e30="}}`)

func signature() Signature {
	return Signature{Status: SignedKey, Value: base64.StdEncoding.EncodeToString([]byte("sig")), Algorithm: "ed25519", PublicKey: "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n"}
}

// add signs the bundle in a folder.
func add(dir string, sigstore []byte, with Signature, replace bool) (*Sealed, error) {
	s, err := Read(dir)
	if err != nil {
		s = &Sealed{Dir: dir}
	}
	return AddSignature(s, Signed{Signature: with, Sigstore: sigstore}, replace)
}

// addAll signs the bundle in a folder anew, in public formats too.
func addAll(dir string, sigstore []byte) (*Sealed, error) {
	s, err := Read(dir)
	if err != nil {
		return nil, err
	}
	return AddSignature(s, Signed{signature(), sigstore, map[string][]byte{"svr.sigstore.json": sigstore, "vsa.sigstore.json": sigstore}}, true)
}

func sign(t testing.TB, dir string) *Sealed {
	t.Helper()
	s, err := add(dir, statement, signature(), false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSigning(t *testing.T) {
	dir := write(t, t.TempDir(), content(t))
	before, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	s := sign(t, link)
	a := s.Attestation
	if a.SignatureStatus != SignedKey || *a.Signature != "c2ln" || *a.SignatureAlgorithm != "ed25519" || !strings.Contains(*a.PublicKey, "MCow") ||
		*a.SigstoreDigest != strictjson.Sum(statement).String() || string(s.Sigstore) != string(statement) || len(s.Unknown) > 0 {
		t.Errorf("%+v unknown %v", a, s.Unknown)
	}
	if a.AttestationDigest == before.Attestation.AttestationDigest || a.BundleDigest != before.Attestation.BundleDigest || a.CreatedAt != before.Attestation.CreatedAt || a.Host != before.Attestation.Host {
		t.Errorf("before %+v\nafter %+v", before.Attestation, a)
	}
	if _, err := add(dir, statement, signature(), false); codeOf(err) != fault.Usage {
		t.Errorf("signed twice: %v", err)
	}
	other := signature()
	other.Status, other.PublicKey = SignedKeyless, "https://github.com/o/r (https://issuer)"
	s, err = add(dir, append(statement, '\n'), other, true)
	if err != nil || s.Attestation.SignatureStatus != SignedKeyless || *s.Attestation.PublicKey != other.PublicKey || len(s.Sigstore) != len(statement)+1 {
		t.Errorf("replaced: %+v %v", s, err)
	}
}

func TestWhatCannotBeASignature(t *testing.T) {
	dir := write(t, t.TempDir(), content(t))
	untouched := files(t, dir)
	for name, c := range map[string]struct {
		statement []byte
		change    func(s *Signature)
	}{
		"no statement":     {nil, func(*Signature) {}},
		"a huge statement": {make([]byte, MaxSigstore+1), func(*Signature) {}},
		"called unsigned":  {statement, func(s *Signature) { s.Status = Unsigned }},
		"no value":         {statement, func(s *Signature) { s.Value = "" }},
		"a value in hex":   {statement, func(s *Signature) { s.Value = "c2l" }},
		"no algorithm":     {statement, func(s *Signature) { s.Algorithm = "" }},
		"no key":           {statement, func(s *Signature) { s.PublicKey = "" }},
		"a huge key":       {statement, func(s *Signature) { s.PublicKey = strings.Repeat("x", maxSignature+1) }},
		"a private key": {statement, func(s *Signature) {
			s.PublicKey = "-----BEGIN PRIVATE " + "KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----"
		}},
		"a token for a name": {statement, func(s *Signature) { s.Algorithm = ghp }},
	} {
		s := signature()
		c.change(&s)
		_, err := add(dir, c.statement, s, false)
		if codeOf(err) != fault.BackendFailed || strings.Contains(err.Error(), ghp) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := files(t, dir); len(after) != len(untouched) {
		t.Errorf("left behind: %d files, before %d", len(after), len(untouched))
	}
	if _, err := add(filepath.Join(dir, "nothing"), statement, signature(), false); codeOf(err) != fault.RunNotFound {
		t.Errorf("%v", err)
	}
	edit(t, filepath.Join(dir, "evidence.json"), "VERIFIED", "FAILED")
	if _, err := add(dir, statement, signature(), false); codeOf(err) != fault.AttestationTampered {
		t.Errorf("a bundle that does not hold was signed: %v", err)
	}
}

// TestOneSignerAtATime holds the lock that a signer takes.
func TestOneSignerAtATime(t *testing.T) {
	dir := write(t, t.TempDir(), content(t))
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := add(dir, statement, signature(), false); codeOf(err) != fault.BackendFailed || !strings.Contains(err.Error(), "locked") {
		t.Errorf("%v", err)
	}
	unlock()
	sign(t, dir)
}

// TestClaimedSignatures edits attestation.json as somebody would who knows the
// format, and computes its digest anew.
func TestClaimedSignatures(t *testing.T) {
	original := write(t, t.TempDir(), content(t))
	sign(t, original)
	null, text := strictjson.Value{}, strictjson.Str
	remove := func(dir string) error { return os.Remove(filepath.Join(dir, sigstoreName)) }
	for _, c := range []struct {
		what   string
		member string
		value  strictjson.Value
		change func(dir string) error
		want   string // part of the message; "" for a bundle that reads back
	}{
		{"nothing", "signature_status", text(SignedKey), nil, ""},
		{"another kind", "signature_status", text("signed"), nil, "of a kind that this build does not know"},
		{"called unsigned", "signature_status", text(Unsigned), nil, "by halves"},
		{"no signature", "signature", null, nil, "by halves"},
		{"no algorithm", "signature_algorithm", null, nil, "by halves"},
		{"no key", "public_key", null, nil, "by halves"},
		{"no digest", "sigstore_digest", null, nil, "by halves"},
		{"an empty key", "public_key", text(""), nil, "what no gate writes"},
		{"a huge key", "public_key", text(strings.Repeat("x", maxSignature+1)), nil, "what no gate writes"},
		{"no base64", "signature", text("!"), nil, "no base64"},
		{"another digest", "sigstore_digest", text(strictjson.Sum(nil).String()), nil, "not the one that attestation.json names"},
		{"stripped", "", null, remove, "stripped"},
		{"a FIFO", "", null, func(dir string) error {
			return errors.Join(remove(dir), syscall.Mkfifo(filepath.Join(dir, sigstoreName), 0o644))
		}, "no regular file"},
		{"a link", "", null, func(dir string) error {
			return errors.Join(remove(dir), os.Symlink(filepath.Join(original, sigstoreName), filepath.Join(dir, sigstoreName)))
		}, "no regular file"},
		{"huge", "", null, func(dir string) error { return os.Truncate(filepath.Join(dir, sigstoreName), MaxSigstore+1) }, "at most"},
	} {
		dir := copyBundle(t, original)
		if c.member != "" {
			restate(t, dir, c.member, c.value)
		}
		if c.change != nil {
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Read(dir)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		} else if codeOf(err) != fault.SignatureInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// restate changes one member of attestation.json and its own digest.
func restate(t *testing.T, dir, member string, value strictjson.Value) {
	t.Helper()
	path := filepath.Join(dir, attestationName)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := strictjson.Parse(raw, strictjson.ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	doc.Root.Set(member, value)
	doc.Root.Set("attestation_digest", strictjson.Str(attestationDigest(&doc.Root).String()))
	if err := os.WriteFile(path, strictjson.Canonical(&doc.Root), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestStraySignature: a statement that attestation.json does not name binds
// nothing, and is told as unknown.
func TestStraySignature(t *testing.T) {
	dir := write(t, t.TempDir(), content(t))
	if err := os.WriteFile(filepath.Join(dir, sigstoreName), statement, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Read(dir)
	if err != nil || s.Sigstore != nil || strings.Join(s.Unknown, " ") != sigstoreName {
		t.Fatalf("%+v %v", s, err)
	}
	if s = sign(t, dir); len(s.Unknown) > 0 {
		t.Errorf("unknown: %v", s.Unknown)
	}
}

func TestPublicStatements(t *testing.T) {
	dir := write(t, t.TempDir(), content(t))
	put := func(public map[string][]byte) error {
		s, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = AddSignature(s, Signed{signature(), statement, public}, true)
		return err
	}
	for _, data := range []string{"one", "two"} {
		if err := put(map[string][]byte{"vsa.sigstore.json": []byte(data), "svr.sigstore.json": []byte(data)}); err != nil {
			t.Fatal(err)
		}
		if got := files(t, filepath.Join(dir, "reports")); len(got) != 2 || string(got["vsa.sigstore.json"]) != data {
			t.Errorf("%q", got)
		}
	}
	for _, name := range []string{"../evidence.json", "a/b", "", ".."} {
		if err := put(map[string][]byte{name: nil}); codeOf(err) != fault.BackendFailed {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := put(map[string][]byte{"huge": make([]byte, MaxSigstore+1)}); codeOf(err) != fault.BackendFailed {
		t.Errorf("a huge statement: %v", err)
	}
	outside := t.TempDir()
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "reports")), os.Symlink(outside, filepath.Join(dir, "reports"))); err != nil {
		t.Fatal(err)
	}
	if err := put(map[string][]byte{"vsa.sigstore.json": nil}); codeOf(err) != fault.BackendFailed {
		t.Errorf("written through a link: %v", err)
	}
}

// TestAnotherBundleMeanwhile: a signature over one run is not put beside another.
func TestAnotherBundleMeanwhile(t *testing.T) {
	dir := write(t, t.TempDir(), content(t))
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	other := write(t, t.TempDir(), content(t))
	if err := errors.Join(os.RemoveAll(dir), os.Rename(other, dir+"x")); err != nil {
		t.Fatal(err)
	}
	moved := *s
	moved.Dir = dir + "x"
	if _, err := AddSignature(&moved, Signed{signature(), statement, nil}, true); codeOf(err) == "" {
		t.Error("it was signed")
	}
	now, err := Read(copyBundle(t, dir+"x"))
	if err != nil || now.Sigstore != nil {
		t.Errorf("%+v %v", now, err)
	}
}

// TestSignatureThatCannotBeWritten leaves the bundle as it was: unsigned.
func TestSignatureThatCannotBeWritten(t *testing.T) {
	dir := write(t, t.TempDir(), content(t))
	if err := os.Mkdir(filepath.Join(dir, sigstoreName), 0o755); err != nil { // in the place of the file
		t.Fatal(err)
	}
	if _, err := add(dir, statement, signature(), false); codeOf(err) != fault.BackendFailed || !strings.Contains(err.Error(), "could not be kept") {
		t.Errorf("%v", err)
	}
	if s, err := Read(dir); err != nil || s.Attestation.SignatureStatus != Unsigned || strings.Join(s.Unknown, " ") != sigstoreName {
		t.Errorf("%+v %v", s, err)
	}
}

const crashSign = "GATE_TEST_CRASH_SIGN" // the folder of the bundle to sign

// TestSignerProcess is the other process of the test below. Run by itself it
// does nothing.
func TestSignerProcess(t *testing.T) {
	dir := os.Getenv(crashSign)
	if dir == "" {
		return
	}
	dieAtStep(t)
	if _, err := addAll(dir, append(statement, '\n')); err != nil {
		t.Fatal(err)
	}
}

// TestSignerKilledAtEveryStep kills a signer before each of its steps, with and
// without a signature to replace: there is a valid bundle at every moment, and
// it can be signed afterwards.
func TestSignerKilledAtEveryStep(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unsigned := write(t, t.TempDir(), content(t))
	signed := copyBundle(t, unsigned)
	sign(t, signed)
	for what, original := range map[string]string{"unsigned": unsigned, "signed": signed} {
		steps, counting := 0, step
		step = func(string) { steps++ }
		if _, err := addAll(copyBundle(t, original), statement); err != nil {
			t.Fatal(err)
		}
		step = counting
		if steps < 8 {
			t.Fatalf("%s: a signing has only %d steps", what, steps)
		}
		for n := 1; n <= steps; n++ {
			dir := copyBundle(t, original)
			cmd := exec.Command(self, "-test.run=^TestSignerProcess$")
			cmd.Env = append(os.Environ(), crashSign+"="+dir, crashStep+"="+strconv.Itoa(n))
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("%s, step %d: the signer was not killed: %v\n%s", what, n, err, out)
			}
			s, err := Read(dir)
			if err != nil {
				t.Errorf("%s, killed before step %d: %v", what, n, err)
				continue
			}
			if len(s.Unknown) > 0 && !s.Interrupted() {
				t.Errorf("%s, killed before step %d: %v is not said to be of a signing", what, n, s.Unknown)
			}
			if s.Sigstore == nil && s.Attestation.SignatureStatus != Unsigned {
				t.Errorf("%s, killed before step %d: %+v", what, n, s.Attestation)
			}
			again, err := addAll(dir, statement)
			if err != nil || again.Sigstore == nil || len(again.Unknown) > 0 {
				t.Errorf("%s, signed again after a kill before step %d: %+v %v", what, n, again, err)
			}
		}
	}
}
