package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/verdictgate/verdictgate/checks"
	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// makeKeyPair (keypair NAME [PASSWORD]) writes NAME.key and NAME.pub: a plain
// PEM key, or one of cosign's that a password protects.
func makeKeyPair(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: keypair NAME [PASSWORD]")
	}
	private, public, err := plainKeyPair()
	if len(args) == 2 && err == nil {
		// As cosign does it.
		block, _ := pem.Decode(private)
		block.Type = "ENCRYPTED SIGSTORE PRIVATE KEY"
		block.Bytes, err = encrypted.Encrypt(block.Bytes, []byte(args[1]))
		private = pem.EncodeToMemory(block)
	}
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".key"), private, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".pub"), public, 0o644))
}

// plainKeyPair makes a key pair in PEM.
func plainKeyPair() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	inner, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	outer, err := x509.MarshalPKIXPublicKey(key.Public())
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: inner}), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: outer}), err
}

// newKeyPair writes a key pair into a folder, and gives the names of its files.
func newKeyPair(t *testing.T, dir string) (private, public string) {
	t.Helper()
	inner, outer, err := plainKeyPair()
	if err != nil {
		t.Fatal(err)
	}
	private, public = filepath.Join(dir, "gate.key"), filepath.Join(dir, "gate.pub")
	for name, data := range map[string][]byte{private: inner, public: outer} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return private, public
}

// TestEveryByteOfASignedBundle changes each byte of a bundle with a real
// signature, one at a time, and nobody may rely on it or be shown it.
func TestEveryByteOfASignedBundle(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	g := gate.Gate{Types: checks.All(), Version: "test", Seal: backend()}
	draft := write("draft.json", `{"contract_id":"c","checks":[{"id":"a","type":"command_exit","params":{"command":["echo","made"]}}]}`)
	frozen, err := g.Freeze(draft, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	subject := write("ws/app.txt", "app")
	contract := write("frozen.json", string(frozen))
	private, public := newKeyPair(t, dir)
	s, err := g.Run(t.Context(), gate.Request{
		Contract: contract, Dir: filepath.Dir(subject), Subjects: []string{subject}, DataDir: filepath.Join(dir, "data"), Env: os.Getenv,
		Signing: seal.Signing{Mode: seal.ModeKey, Key: private, Env: os.Getenv},
	})
	if err != nil {
		t.Fatal(err)
	}
	require := func() error {
		_, err := g.Require(t.Context(), gate.Requirement{
			Bundle: s.Dir, Subjects: []string{subject}, Contract: contract, Env: os.Getenv, Policy: policy.Policy{Trust: seal.Trust{Key: public}},
		})
		return err
	}
	if err := require(); err != nil {
		t.Fatal(err)
	}
	changed := 0
	err = filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "reports":
			return fs.SkipDir // each statement there binds itself
		case d.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i := range text {
			text[i] ^= 1
			if err := os.WriteFile(path, text, 0o644); err != nil {
				return err
			}
			if err := require(); err == nil || fault.As(err).Code == fault.BackendFailed {
				t.Errorf("%s: byte %d changed, and require says %v", d.Name(), i, err)
			}
			if _, err := g.Show(t.Context(), "", s.Dir, seal.Trust{Key: public}); err == nil {
				t.Errorf("%s: byte %d changed, and it is shown", d.Name(), i)
			}
			text[i] ^= 1
			changed++
		}
		return os.WriteFile(path, text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := require(); err != nil || changed < 5000 {
		t.Errorf("%d bytes were changed, and at the end: %v", changed, err)
	}
}
