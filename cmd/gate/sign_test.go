package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
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
