package sigstore

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sigstore/cosign/v2/pkg/cosign"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// keyFile writes a private key in a form, and its public half, and gives
// their names.
func keyFile(t *testing.T, kind string, key any) (private, public string) {
	t.Helper()
	var raw []byte
	var err error
	if ec, ok := key.(*ecdsa.PrivateKey); ok && kind == blockSEC1 {
		raw, err = x509.MarshalECPrivateKey(ec)
	} else {
		raw, err = x509.MarshalPKCS8PrivateKey(key)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	private, public = filepath.Join(dir, "key.pem"), filepath.Join(dir, "key.pub")
	text, _, err := publicPEM(key.(crypto.Signer).Public())
	if err != nil {
		t.Fatal(err)
	}
	put(t, private, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
	put(t, public, []byte(text))
	return private, public
}

func put(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func generate(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func ed(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signWith signs a statement with a key file.
func signWith(t *testing.T, how seal.Signing, payload []byte) []byte {
	t.Helper()
	if how.Env == nil {
		how.Env = environment()
	}
	how.Mode = seal.ModeKey
	s, err := New().Prepare(context.Background(), how)
	if err != nil {
		t.Fatal(err)
	}
	if s.Claims() != nil {
		t.Error("a key has claims")
	}
	signed, err := bundleOf(s, context.Background(), payload)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name, kind, algorithm string
		key                   any
	}{
		{"PKCS#8 P-256", blockPKCS8, ecdsaP256SHA256, generate(t, elliptic.P256())},
		{"PKCS#8 P-384", blockPKCS8, ecdsaP384SHA384, generate(t, elliptic.P384())},
		{"PKCS#8 Ed25519", blockPKCS8, pureEd25519, ed(t)},
		{"SEC1 P-256", blockSEC1, ecdsaP256SHA256, generate(t, elliptic.P256())},
	} {
		t.Run(c.name, func(t *testing.T) {
			private, public := keyFile(t, c.kind, c.key)
			signed := signWith(t, seal.Signing{Key: private}, statement("a"))
			got, err := New().Verify(context.Background(), signed, seal.Trust{Key: public})
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(public)
			if err != nil {
				t.Fatal(err)
			}
			if got.Mode != seal.ModeKey || got.Algorithm != c.algorithm || got.KeyPEM != string(text) || got.Certificate != nil || got.Times != nil || got.Value == "" || !bytes.Equal(got.Payload, statement("a")) {
				t.Errorf("%+v", got)
			}
			if _, err := New().Verify(context.Background(), signed, seal.Trust{Unpinned: true, KeyPEM: string(text)}); err != nil {
				t.Errorf("unpinned: %v", err)
			}
			libraryAgrees(t, signed, text)
		})
	}
}

// libraryAgrees verifies a bundle as other clients of Sigstore do.
func libraryAgrees(t *testing.T, signed, publicPEM []byte) {
	t.Helper()
	block, _ := pem.Decode(publicPEM)
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := signature.LoadDefaultVerifier(key)
	if err != nil {
		t.Fatal(err)
	}
	var b bundle.Bundle
	if err := b.UnmarshalJSON(signed); err != nil {
		t.Fatal(err)
	}
	if b.MediaType != "application/vnd.dev.sigstore.bundle.v0.3+json" {
		t.Errorf("media type %s", b.MediaType)
	}
	m := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) { return &root.ExpiringKey{Verifier: verifier}, nil })
	v, err := verify.NewVerifier(m, verify.WithNoObserverTimestamps())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(&b, verify.NewPolicy(verify.WithoutArtifactUnsafe(), verify.WithKey())); err != nil {
		t.Errorf("the library refuses it: %v", err)
	}
}

func TestCosignKeyPair(t *testing.T) {
	const pass = "correct horse\n battery "
	pair, err := cosign.GenerateKeyPair(func(bool) ([]byte, error) { return []byte(pass), nil })
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put(t, at("cosign.key"), pair.PrivateBytes)
	put(t, at("old.key"), bytes.ReplaceAll(pair.PrivateBytes, []byte("SIGSTORE"), []byte("COSIGN")))
	put(t, at("cosign.pub"), pair.PublicBytes)
	put(t, at("password"), []byte(pass+"\n"))
	put(t, at("password.dos"), []byte(pass+"\r\n"))
	put(t, at("password.twice"), []byte(pass+"\n\n"))
	put(t, at("empty"), nil)

	for name, how := range map[string]seal.Signing{
		"environment":        {Key: at("cosign.key"), Env: environment(passwordVariable, pass)},
		"old block":          {Key: at("old.key"), Env: environment(passwordVariable, pass)},
		"file":               {Key: at("cosign.key"), PasswordFile: at("password")},
		"file wins":          {Key: at("cosign.key"), PasswordFile: at("password"), Env: environment(passwordVariable, "wrong")},
		"file with \\r\\n":   {Key: at("cosign.key"), PasswordFile: at("password.dos")},
		"readable by others": {Key: at("cosign.key"), PasswordFile: at("password")},
	} {
		t.Run(name, func(t *testing.T) {
			signed := signWith(t, how, statement("a"))
			if _, err := New().Verify(context.Background(), signed, seal.Trust{Key: at("cosign.pub")}); err != nil {
				t.Error(err)
			}
		})
	}

	// Standard input is open and silent, as under many CI runners: whoever asks
	// for a password there waits for ever.
	r, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	defer r.Close()
	stdin := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = stdin }()
	for _, c := range []struct {
		name, word string
		how        seal.Signing
	}{
		{"none", passwordVariable, seal.Signing{Key: at("cosign.key"), Env: environment()}},
		{"empty file", "--password-file", seal.Signing{Key: at("cosign.key"), PasswordFile: at("empty")}},
		{"wrong", "another one", seal.Signing{Key: at("cosign.key"), Env: environment(passwordVariable, "wrong")}},
		{"one line break too many", "another one", seal.Signing{Key: at("cosign.key"), PasswordFile: at("password.twice")}},
		{"no file", "cannot be read", seal.Signing{Key: at("cosign.key"), PasswordFile: at("none")}},
		{"a folder", "folder", seal.Signing{Key: at("cosign.key"), PasswordFile: dir}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.how.Mode = seal.ModeKey
			_, err := New().Prepare(context.Background(), c.how)
			refused(t, err, fault.SigningUnavailable, StepPassword, c.word)
			if strings.Contains(err.Error(), "correct horse") {
				t.Errorf("the password is shown: %v", err)
			}
		})
	}
}

func TestKeysRefused(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	x, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	xder, err := x509.MarshalPKCS8PrivateKey(x)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, body []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: body})
	}
	rsaFile, _ := keyFile(t, blockPKCS8, weak)
	p521, _ := keyFile(t, blockPKCS8, generate(t, elliptic.P521()))
	good, public := keyFile(t, blockPKCS8, generate(t, elliptic.P256()))
	goodText, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		put(t, filepath.Join(dir, name), data)
		return filepath.Join(dir, name)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, key, word string }{
		{"RSA in PKCS#8", rsaFile, "RSA key of 2048 bits"},
		{"RSA in PKCS#1", file("rsa1", block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(weak))), "RSA"},
		{"P-521", p521, "P-521"},
		{"X25519", file("x", block(blockPKCS8, xder)), "another kind"},
		{"public half", public, "public key"},
		{"OpenSSL's encryption", file("enc", block("ENCRYPTED PRIVATE KEY", []byte{1})), "cosign import-key-pair"},
		{"OpenSSL's old encryption", file("dek", pem.EncodeToMemory(&pem.Block{Type: blockSEC1, Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: []byte{1}})), "old way"},
		{"OpenSSH", file("ssh", block("OPENSSH PRIVATE KEY", []byte{1})), "OpenSSH"},
		{"unheard of", file("odd", block("ODD", []byte{1})), `"ODD"`},
		{"no PEM", file("text", []byte("hello")), "no PEM"},
		{"damaged", file("damaged", block(blockPKCS8, []byte{1, 2})), "cannot be parsed"},
		{"damaged SEC1", file("damaged1", block(blockSEC1, []byte{1, 2})), "cannot be parsed"},
		{"two keys", file("two", append(bytes.Clone(goodText), goodText...)), "follows"},
		{"too large", file("large", bytes.Repeat([]byte("x"), maxKeyFile+1)), "at most"},
		{"FIFO", fifo, "no regular file"},
		{"device", "/dev/zero", "no regular file"},
		{"folder", dir, "folder"},
		{"missing", filepath.Join(dir, "none"), "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New().Prepare(context.Background(), seal.Signing{Mode: seal.ModeKey, Key: c.key})
			refused(t, err, fault.SigningUnavailable, StepKey, c.word, c.key)
		})
	}
	_, err = New().Prepare(context.Background(), seal.Signing{Mode: seal.ModeKey})
	refused(t, err, fault.Usage, "", "--key")
	_, err = New().Prepare(context.Background(), seal.Signing{Mode: seal.ModeNone})
	refused(t, err, fault.Usage, "", "none")
}

// What openssl ecparam writes begins with a block that is no key.
func TestKeyAfterItsCurve(t *testing.T) {
	name, public := keyFile(t, blockSEC1, generate(t, elliptic.P256()))
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	put(t, name, append(pem.EncodeToMemory(&pem.Block{Type: blockCurve, Bytes: []byte{6, 8}}), text...))
	if _, err := New().Verify(context.Background(), signWith(t, seal.Signing{Key: name}, statement("a")), seal.Trust{Key: public}); err != nil {
		t.Error(err)
	}
}

// Other clients sign with these keys in other ways, and are verified too.
func TestAlgorithmsOfOtherClients(t *testing.T) {
	edKey, ecKey := ed(t), generate(t, elliptic.P384())
	for _, c := range []struct {
		algorithm string
		key       crypto.Signer
		hash      crypto.Hash
		prehash   crypto.SignerOpts
	}{
		{prehashEd25519, edKey, crypto.SHA512, &ed25519.Options{Hash: crypto.SHA512}},
		{ecdsaP384SHA256, ecKey, crypto.SHA256, crypto.SHA256},
	} {
		t.Run(c.algorithm, func(t *testing.T) {
			_, public := keyFile(t, blockPKCS8, c.key)
			k, err := describe(c.key.Public())
			if err != nil {
				t.Fatal(err)
			}
			k.sign = func(_ context.Context, data []byte) ([]byte, error) {
				return c.key.Sign(rand.Reader, digest(c.hash, data), c.prehash)
			}
			s := &signer{backend: New().(*backend), services: &services{}, key: k}
			signed, err := bundleOf(s, context.Background(), statement("a"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := New().Verify(context.Background(), signed, seal.Trust{Key: public})
			if err != nil || got.Algorithm != c.algorithm {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestPublicKeysRefused(t *testing.T) {
	private, public := keyFile(t, blockPKCS8, generate(t, elliptic.P256()))
	signed := signWith(t, seal.Signing{Key: private}, statement("a"))
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, rsaFile := keyFile(t, blockPKCS8, weak)
	publicText, err := os.ReadFile(public)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		put(t, filepath.Join(dir, name), data)
		return filepath.Join(dir, name)
	}
	for _, c := range []struct{ name, key, word string }{
		{"private half", private, "private key"},
		{"RSA", rsaFile, "RSA"},
		{"certificate", file("c", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}})), "certificate"},
		{"damaged", file("d", pem.EncodeToMemory(&pem.Block{Type: blockPublic, Bytes: []byte{1}})), "parsed"},
		{"two", file("two", append(bytes.Clone(publicText), publicText...)), "follows"},
		{"no PEM", file("t", []byte("hello")), "no PEM"},
		{"device", "/dev/zero", "no regular file"},
		{"missing", filepath.Join(dir, "none"), "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New().Verify(context.Background(), signed, seal.Trust{Key: c.key})
			refused(t, err, fault.TrustUnavailable, "", c.word, c.key)
		})
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ed25519Zero is the public key of a seed of zeros.
func ed25519Zero() crypto.PublicKey {
	return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public()
}
