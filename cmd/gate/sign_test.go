package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sigstore/cosign/v2/pkg/cosign"
)

// makeKeyPair (keypair NAME [PASSWORD]) writes NAME.key and NAME.pub: a plain
// PEM key, or one of cosign's that a password protects.
func makeKeyPair(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: keypair NAME [PASSWORD]")
	}
	var private, public []byte
	if len(args) == 2 {
		keys, err := cosign.GenerateKeyPair(func(bool) ([]byte, error) { return []byte(args[1]), nil })
		ts.Check(err)
		private, public = keys.PrivateBytes, keys.PublicBytes
	} else {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		ts.Check(err)
		inner, err := x509.MarshalPKCS8PrivateKey(key)
		ts.Check(err)
		outer, err := x509.MarshalPKIXPublicKey(key.Public())
		ts.Check(err)
		private = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: inner})
		public = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: outer})
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".key"), private, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".pub"), public, 0o644))
}
