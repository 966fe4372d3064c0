package sigstore_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/sigstore/cosign"
)

// plain is an unencrypted PKCS#8 key in a PEM file. hash is what cosign has to be
// told about it, and byCosign the algorithm that cosign itself signs with.
func plain(t *testing.T, name, hash, byCosign string, key crypto.Signer) signer {
	t.Helper()
	dir := t.TempDir()
	save := func(file, kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, file)
		write(t, path, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
		return path
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	private := save("key.pem", "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(key.Public())
	public := save("key.pub", "PUBLIC KEY", der, err)
	return signer{
		name: name, sign: []string{"--sign", "key", "--key", private}, status: "signed_key",
		trust: []string{"--key", public}, cosign: cosign.By{Key: public, Hash: hash}, byCosign: byCosign,
	}
}

func plainKeys(t *testing.T) []signer {
	t.Helper()
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return []signer{plain(t, "P-256", "", "ecdsa-p256-sha256", p256), plain(t, "P-384", "sha384", "ecdsa-p384-sha384", p384), plain(t, "Ed25519", "", "ed25519-ph", ed)}
}

// withPasswordFile is a key pair whose password lies in a file.
func withPasswordFile(t *testing.T) signer {
	t.Helper()
	s := pair(t)
	file := filepath.Join(t.TempDir(), "password")
	write(t, file, cosign.Password+"\n")
	s.name, s.env, s.sign = "cosign key pair, password file", nil, append(s.sign, "--password-file", file)
	return s
}

// TestSignedIsAccepted: what the gate signs is accepted by a verifier that knows
// nothing of it, and by itself.
func TestSignedIsAccepted(t *testing.T) {
	signers := append(plainKeys(t), pair(t), withPasswordFile(t), keyless(t, timestamped), keyless(t, logged))
	for _, by := range signers {
		t.Run(by.name, func(t *testing.T) {
			s := newShop(t, "")
			bundle := s.signed(t, by)
			accepted(t, s, bundle, by)

			// The same with a run that is signed later.
			a := must(t, 0, s.run(t, nil))
			if status := a.text("signature_status"); status != "unsigned_hash_bound" {
				t.Fatalf("unsigned, it says %q", status)
			}
			later := must(t, 0, gate(t, by.env, append([]string{"sign", a.text("run_id"), "--data-dir", s.data}, by.sign...)...))
			if status := later.text("signature_status"); status != by.status {
				t.Errorf("signed, it says %q: %s", status, later.said)
			}
			accepted(t, s, a.text("bundle"), by)
		})
	}
}

// accepted checks a signed bundle of a shop that is VERIFIED.
func accepted(t *testing.T, s shop, bundle string, by signer) {
	t.Helper()
	for file, predicateType := range map[string]string{
		signedFile:                          verdictType,
		"reports/vsa.sigstore.json":         vsaType,
		"reports/test-result.sigstore.json": testResultType,
		"reports/svr.sigstore.json":         svrType,
	} {
		if err := world.cli.Verify(t.Context(), filepath.Join(bundle, file), s.subject, predicateType, by.cosign); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if a := s.require(t, bundle, by); a.exit != 0 || a.text("verdict") != "VERIFIED" {
		t.Errorf("require: exit %d: %s", a.exit, a.said)
	}
	if a := gate(t, nil, append([]string{"show", bundle}, by.trust...)...); a.exit != 0 || a.text("signature_status") != by.status {
		t.Errorf("show: exit %d: %s", a.exit, a.said)
	}
	attestation := document(t, filepath.Join(bundle, attestationFile))
	for _, member := range []string{"signature", "signature_algorithm", "public_key", "sigstore_digest"} {
		if attestation[member] == nil || attestation[member] == "" {
			t.Errorf("attestation.json names no %s", member)
		}
	}
}

// TestFailedIsSignedToo: a verdict that is not VERIFIED is signed and is not
// accepted; and the public formats do not say that it passed.
func TestFailedIsSignedToo(t *testing.T) {
	s, by := newShop(t, ""), pair(t)
	if err := os.Remove(filepath.Join(s.dir, "ws", "app.txt")); err != nil {
		t.Fatal(err)
	}
	bundle := must(t, 1, s.run(t, by.env, by.sign...)).text("bundle")
	if err := world.cli.Verify(t.Context(), filepath.Join(bundle, signedFile), s.subject, verdictType, by.cosign); err != nil {
		t.Error(err)
	}
	if a := s.require(t, bundle, by); a.exit != 1 || a.text("verdict") != "FAILED" {
		t.Errorf("exit %d: %s", a.exit, a.said)
	}
	for file, member := range map[string]string{"vsa.sigstore.json": "verificationResult", "test-result.sigstore.json": "result"} {
		_, predicate := statementOf(t, filepath.Join(bundle, "reports", file))
		if predicate[member] != "FAILED" {
			t.Errorf("%s says %v", file, predicate[member])
		}
	}
	if _, err := os.Stat(filepath.Join(bundle, "reports", "svr.sigstore.json")); !os.IsNotExist(err) {
		t.Errorf("there are verified properties of a run that failed: %v", err)
	}
}

// statementOf gives the signed statement, and the predicate in it.
func statementOf(t *testing.T, path string) (text []byte, predicate map[string]any) {
	t.Helper()
	text = openEnvelope(t, path).DSSE.Payload
	var statement struct {
		Predicate map[string]any `json:"predicate"`
	}
	if err := json.Unmarshal(text, &statement); err != nil {
		t.Fatal(err)
	}
	return text, statement.Predicate
}

// TestCosignSignsWhatTheGateSaid: a bundle that the CLI made, with the predicate
// of the gate, is as good as one of the gate's.
func TestCosignSignsWhatTheGateSaid(t *testing.T) {
	s, other, own := newShop(t, ""), pair(t), pair(t)
	made := s.signed(t, other)
	text, predicate := statementOf(t, filepath.Join(made, signedFile))
	dir := t.TempDir()
	statementFile, predicateFile := filepath.Join(dir, "statement.json"), filepath.Join(dir, "predicate.json")
	write(t, statementFile, string(text))
	inner, err := json.Marshal(predicate)
	if err != nil {
		t.Fatal(err)
	}
	write(t, predicateFile, string(inner))

	job := keyless(t, timestamped)
	services := cosign.Job{Env: job.env, SigningConfig: job.with(), TrustedRoot: world.services.TrustedRoot}
	for name, what := range map[string]cosign.What{
		// From a predicate the CLI makes a Statement v0.1, which is what most of them are.
		"predicate": {Type: verdictType, Predicate: predicateFile},
		"statement": {Statement: statementFile},
	} {
		for _, own := range append(plainKeys(t), own) {
			t.Run(name+" with "+own.name, func(t *testing.T) {
				signed, bundle, private := filepath.Join(t.TempDir(), "signed.json"), copied(t, made), own.with()
				var err error
				if own.env == nil { // a plain key, which the CLI does not take as it is
					private, err = world.cli.Import(t.Context(), t.TempDir(), private)
				}
				if err == nil {
					err = world.cli.Attest(t.Context(), signed, s.subject, what, private)
				}
				if err != nil {
					t.Fatal(err)
				}
				adopt(t, bundle, signed, string(read(t, own.cosign.Key)))
				rehash(t, bundle, func(a map[string]any) { a["signature_algorithm"] = own.byCosign })
				if a := s.require(t, bundle, own); a.exit != 0 || a.text("verdict") != "VERIFIED" {
					t.Errorf("exit %d: %s", a.exit, a.said)
				}
				refused(t, s.require(t, bundle, other), "verify.signature_invalid", "key")
			})
		}
		t.Run(name+" keyless", func(t *testing.T) {
			signed, bundle := filepath.Join(t.TempDir(), "signed.json"), copied(t, made)
			if err := world.cli.AttestKeyless(t.Context(), signed, s.subject, what, services); err != nil {
				t.Fatal(err)
			}
			adopt(t, bundle, signed, job.cosign.Identity+" ("+job.cosign.Issuer+")")
			rehash(t, bundle, func(a map[string]any) { a["signature_status"] = "signed_keyless" })
			if a := s.require(t, bundle, job); a.exit != 0 || a.text("verdict") != "VERIFIED" {
				t.Errorf("exit %d: %s", a.exit, a.said)
			}
		})
	}
}
