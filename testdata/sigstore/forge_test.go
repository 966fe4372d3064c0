package sigstore_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Everything that somebody without the key can do to a bundle: change files and
// make every hash right again. It is written without the gate's own code, which
// would make the same mistake twice.

// copied gives a copy of a bundle, to be spoiled.
func copied(t *testing.T, bundle string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(bundle))
	if err := os.CopyFS(to, os.DirFS(bundle)); err != nil {
		t.Fatal(err)
	}
	return to
}

// document reads a JSON object and keeps its numbers as they are written.
func document(t *testing.T, path string) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(read(t, path)))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// canonical writes an object as the gate does: members sorted, no white space.
// The objects that were read have their numbers in that form already.
func canonical(t *testing.T, object map[string]any) []byte {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(object); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// rehash makes the hashes of a bundle right after its evidence was changed, and
// its attestation after change was made to it.
func rehash(t *testing.T, bundle string, change func(attestation map[string]any)) {
	t.Helper()
	path := filepath.Join(bundle, attestationFile)
	a := document(t, path)
	a["bundle_digest"] = digest(read(t, filepath.Join(bundle, evidenceFile)))
	change(a)
	delete(a, "attestation_digest")
	a["attestation_digest"] = digest(canonical(t, a))
	write(t, path, string(canonical(t, a)))
}

// TestTheForgeWritesAsTheGateDoes: a forgery that is refused for a hash which this
// file got wrong would prove nothing.
func TestTheForgeWritesAsTheGateDoes(t *testing.T) {
	s := newShop(t, "")
	bundle := must(t, 0, s.run(t, nil)).text("bundle")
	before := read(t, filepath.Join(bundle, attestationFile))
	rehash(t, bundle, func(map[string]any) {})
	if after := read(t, filepath.Join(bundle, attestationFile)); !bytes.Equal(before, after) {
		t.Errorf("the gate wrote\n%s\nthe forge\n%s", before, after)
	}
	// A change that nothing contradicts is taken, because hashes are no signatures.
	rehash(t, bundle, func(a map[string]any) { a["host"] = "elsewhere" })
	must(t, 0, gate(t, nil, "show", bundle))
}

// envelope is what the tests read of a Sigstore bundle.
type envelope struct {
	DSSE struct {
		Payload    []byte `json:"payload"`
		Signatures []struct {
			Sig []byte `json:"sig"`
		} `json:"signatures"`
	} `json:"dsseEnvelope"`
}

func openEnvelope(t *testing.T, path string) envelope {
	t.Helper()
	var e envelope
	if err := json.Unmarshal(read(t, path), &e); err != nil {
		t.Fatal(err)
	}
	if len(e.DSSE.Signatures) != 1 {
		t.Fatalf("%s has %d signatures", path, len(e.DSSE.Signatures))
	}
	return e
}

// adopt puts another Sigstore bundle into a bundle folder and makes the
// attestation say so. by is what it names as the signer; "" leaves it.
func adopt(t *testing.T, bundle, signed, by string) {
	t.Helper()
	content := read(t, signed)
	write(t, filepath.Join(bundle, signedFile), string(content))
	signature := openEnvelope(t, signed).DSSE.Signatures[0].Sig
	rehash(t, bundle, func(a map[string]any) {
		a["signature"] = base64.StdEncoding.EncodeToString(signature)
		a["sigstore_digest"] = digest(content)
		if by != "" {
			a["public_key"] = by
		}
	})
}

// strip takes the signature away and leaves a consistent unsigned bundle.
func strip(t *testing.T, bundle string) {
	t.Helper()
	if err := os.Remove(filepath.Join(bundle, signedFile)); err != nil {
		t.Fatal(err)
	}
	rehash(t, bundle, func(a map[string]any) {
		for _, member := range []string{"signature", "signature_algorithm", "public_key", "sigstore_digest"} {
			a[member] = nil
		}
		a["signature_status"] = "unsigned_hash_bound"
	})
}

// files lists the files of a bundle that are bound, relative to it.
func files(t *testing.T, bundle string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS(bundle), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name == "reports" {
			return fs.SkipDir // bound by nothing, and said to be so
		}
		if err == nil && d.Type().IsRegular() {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// zipped gives a zip of a folder's files, below a prefix, and of further entries.
func zipped(t *testing.T, folder, prefix string, more map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "evidence.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	add := func(name string, content []byte) {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.Copy(w, bytes.NewReader(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range files(t, folder) {
		add(prefix+name, read(t, filepath.Join(folder, name)))
	}
	for name, content := range more {
		add(name, []byte(content))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
