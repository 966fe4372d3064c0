package sigstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// unconfirmed signs in a world without verifying: what a client that does not
// look makes on a bad day.
func (w *world) unconfirmed(payload []byte) []byte {
	w.t.Helper()
	b, _ := patient()
	prepared, err := b.Prepare(context.Background(), w.keyless())
	if err != nil {
		w.t.Fatal(err)
	}
	made, err := prepared.(*signer).make(context.Background(), payload)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := encode(made)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

func TestVerifyIdentity(t *testing.T) {
	w := newWorld(t)
	signed := w.unconfirmed(statement("a"))
	verify := func(change func(*seal.Trust)) (*seal.Signature, error) {
		trust := w.trust()
		change(&trust)
		return New().Verify(context.Background(), signed, trust)
	}
	got, err := verify(func(*seal.Trust) {})
	if err != nil {
		t.Fatal(err)
	}
	c := *got.Certificate
	if c.NotAfter.Sub(c.NotBefore) != 11*time.Minute {
		t.Errorf("valid from %s to %s", c.NotBefore, c.NotAfter)
	}
	c.NotBefore, c.NotAfter = time.Time{}, time.Time{}
	if c != (seal.Certificate{
		Subject: workflow, Issuer: w.server.URL, BuildSignerURI: workflow, BuildSignerDigest: strings.Repeat("89", 20), RunnerEnvironment: "github-hosted",
		SourceRepositoryURI: "https://github.com/acme/app", SourceRepositoryDigest: commit, SourceRepositoryRef: "refs/heads/main",
		BuildTrigger: "push", RunInvocationURI: "https://github.com/acme/app/actions/runs/42/attempts/1",
	}) {
		t.Errorf("certificate %+v", c)
	}
	if !hasTime(got, fromAuthority) || !strings.HasPrefix(got.KeyPEM, "-----BEGIN PUBLIC KEY-----") {
		t.Errorf("%+v", got)
	}
	if _, err := base64.StdEncoding.DecodeString(got.Value); err != nil || got.Value == "" {
		t.Errorf("signature %q: %v", got.Value, err)
	}

	for name, identity := range map[string]seal.Identity{
		"subject pattern":     {SubjectPattern: `https://github\.com/acme/gate/.+`, Issuer: w.server.URL},
		"issuer pattern":      {Subject: workflow, IssuerPattern: `http://127\.0\.0\.1:\d+`},
		"alternative":         {SubjectPattern: `x|https://github\.com/.*`, Issuer: w.server.URL},
		"multi-line mode":     {SubjectPattern: `(?m)https://github\.com/.*`, Issuer: w.server.URL},
		"anchored by oneself": {SubjectPattern: `^https://github\.com/.*$`, Issuer: w.server.URL},
	} {
		if _, err := verify(func(t *seal.Trust) { t.Identity = identity }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := verify(func(t *seal.Trust) { t.Identity, t.Unpinned = seal.Identity{}, true }); err != nil {
		t.Errorf("unpinned: %v", err)
	}

	for _, c := range []struct {
		name     string
		identity seal.Identity
		reason   string
		words    []string
	}{
		{"other subject", seal.Identity{Subject: workflow + "x", Issuer: w.server.URL}, WrongIdentity, []string{workflow}},
		{"beginning of the subject", seal.Identity{SubjectPattern: `https://github\.com/acme`, Issuer: w.server.URL}, WrongIdentity, nil},
		{"end of the subject", seal.Identity{SubjectPattern: `refs/tags/v1`, Issuer: w.server.URL}, WrongIdentity, nil},
		{"parts in alternatives", seal.Identity{SubjectPattern: `https://github|tags/v1`, Issuer: w.server.URL}, WrongIdentity, nil},
		{"other issuer", seal.Identity{Subject: workflow, Issuer: "https://token.actions.githubusercontent.com"}, WrongIssuer, []string{w.server.URL}},
		{"part of the issuer", seal.Identity{Subject: workflow, IssuerPattern: `127\.0\.0\.1`}, WrongIssuer, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := verify(func(t *seal.Trust) { t.Identity = c.identity })
			refused(t, err, fault.SignatureInvalid, c.reason, c.words...)
		})
	}
}

func TestPolicyThatDecidesNothing(t *testing.T) {
	for name, trust := range map[string]seal.Trust{
		"nothing":            {},
		"a root alone":       {TrustedRoot: "x"},
		"no issuer":          {Identity: seal.Identity{Subject: "s"}},
		"no subject":         {Identity: seal.Identity{Issuer: "i"}},
		"patterns of nobody": {Identity: seal.Identity{SubjectPattern: ".*", Issuer: "i"}},
		"any issuer":         {Identity: seal.Identity{Subject: "s", IssuerPattern: ".*"}},
		"empty alternative":  {Identity: seal.Identity{SubjectPattern: "a|", Issuer: "i"}},
		"subject twice":      {Identity: seal.Identity{Subject: "s", SubjectPattern: "s", Issuer: "i"}},
		"issuer twice":       {Identity: seal.Identity{Subject: "s", Issuer: "i", IssuerPattern: "i"}},
		"no pattern":         {Identity: seal.Identity{SubjectPattern: "(", Issuer: "i"}},
		"out of its group":   {Identity: seal.Identity{SubjectPattern: "a)|(?:b", Issuer: "i"}},
		"key and identity":   {Key: "k", Identity: seal.Identity{Subject: "s", Issuer: "i"}},
		"key and unpinned":   {Key: "k", Unpinned: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New().Verify(context.Background(), []byte("{}"), trust)
			refused(t, err, fault.Usage, "")
		})
	}
}

func TestVerifyCertificateRefused(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, reason string
		words        []string
		world        func(*world)
		trust        func(*testing.T, *world, *seal.Trust)
	}{
		{name: "another deployment's root", reason: Untrusted, trust: func(t *testing.T, _ *world, trust *seal.Trust) {
			trust.TrustedRoot = newWorld(t).file("trusted_root.json")
		}},
		{name: "another authority's certificate", reason: Untrusted, words: []string{"issued", workflow}, trust: func(t *testing.T, w *world, trust *seal.Trust) {
			trust.TrustedRoot = swap(t, w, newWorld(t), "authority")
		}},
		{name: "another transparency log", reason: Untrusted, words: []string{"transparency"}, trust: func(t *testing.T, w *world, trust *seal.Trust) {
			trust.TrustedRoot = swap(t, w, newWorld(t), "ctlog")
		}},
		{name: "another timestamp authority", reason: Untrusted, words: []string{"timestamp"}, trust: func(t *testing.T, w *world, trust *seal.Trust) {
			trust.TrustedRoot = swap(t, w, newWorld(t), "tsa")
		}},
		{name: "in no transparency log", reason: Untrusted, words: []string{"transparency"}, world: func(w *world) { w.noSCT = true }},
		{name: "signed too late", reason: Expired, words: []string{"valid from"}, world: func(w *world) { w.stampAt = time.Hour }},
		{name: "signed too early", reason: Expired, words: []string{"valid from"}, world: func(w *world) { w.stampAt = -time.Hour }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			if c.world != nil {
				c.world(w)
			}
			trust := w.trust()
			if c.trust != nil {
				c.trust(t, w, &trust)
			}
			signed := w.unconfirmed(statement("a"))
			_, err := New().Verify(ctx, signed, trust)
			refused(t, err, fault.SignatureInvalid, c.reason, c.words...)
			trust.Identity, trust.Unpinned = seal.Identity{}, true
			_, err = New().Verify(ctx, signed, trust)
			refused(t, err, fault.SignatureInvalid, c.reason, c.words...)
		})
	}
}

// swap is a world's trusted root with one part of another's.
func swap(t *testing.T, w, other *world, part string) string {
	t.Helper()
	a, err1 := root.NewTrustedRootFromJSON(w.trustedRoot())
	b, err2 := root.NewTrustedRootFromJSON(other.trustedRoot())
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	authority, logs, stamps := a.FulcioCertificateAuthorities(), a.CTLogs(), a.TimestampingAuthorities()
	switch part {
	case "authority":
		authority = b.FulcioCertificateAuthorities()
	case "ctlog":
		logs = b.CTLogs()
	case "tsa":
		stamps = b.TimestampingAuthorities()
	}
	r, err := root.NewTrustedRoot(root.TrustedRootMediaType01, authority, logs, stamps, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return w.write(part+".json", text)
}

// edit changes a bundle.
func edit(t *testing.T, signed []byte, change func(b map[string]any)) []byte {
	t.Helper()
	var b map[string]any
	if err := json.Unmarshal(signed, &b); err != nil {
		t.Fatal(err)
	}
	change(b)
	out, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func envelope(b map[string]any) map[string]any { return b["dsseEnvelope"].(map[string]any) }

func payloadOf(text []byte) string { return base64.StdEncoding.EncodeToString(text) }

func TestVerifyEdited(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	private, public := keyFile(t, blockPKCS8, p256(t))
	_, otherPublic := keyFile(t, blockPKCS8, p256(t))
	byKey := signWith(t, seal.Signing{Key: private}, statement("a"))
	byOther := signWith(t, seal.Signing{Key: private}, statement("b"))
	byCertificate := w.unconfirmed(statement("a"))
	foreign := envelopeOf(t, byOther)["signatures"]
	keyTrust := seal.Trust{Key: public}

	for _, c := range []struct {
		name   string
		change func(b map[string]any)
		key    string // reason when a key signed
		cert   string // reason when a certificate signed
	}{
		{"another statement", func(b map[string]any) { envelope(b)["payload"] = payloadOf(statement("c")) }, Altered, Altered},
		{"another statement's signature", func(b map[string]any) { envelope(b)["signatures"] = foreign }, Altered, Untrusted},
		{"no signature", func(b map[string]any) { envelope(b)["signatures"] = []any{} }, Malformed, Malformed},
		{"an empty signature", func(b map[string]any) { envelope(b)["signatures"] = []any{map[string]any{"sig": ""}} }, Altered, Untrusted},
		{"two signatures", func(b map[string]any) {
			one := envelope(b)["signatures"].([]any)[0]
			envelope(b)["signatures"] = []any{one, one}
		}, Malformed, Malformed},
		{"another payload type", func(b map[string]any) { envelope(b)["payloadType"] = "text/plain" }, NotAStatement, NotAStatement},
		{"no envelope", func(b map[string]any) { delete(b, "dsseEnvelope") }, Malformed, Malformed},
		{"a file's signature", func(b map[string]any) {
			delete(b, "dsseEnvelope")
			b["messageSignature"] = map[string]any{"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": payloadOf(make([]byte, 32))}, "signature": "AAAA"}
		}, NotAStatement, NotAStatement},
		{"no verification material", func(b map[string]any) { delete(b, "verificationMaterial") }, Malformed, Malformed},
		{"another media type", func(b map[string]any) { b["mediaType"] = "application/json" }, Malformed, Malformed},
		{"a later version", func(b map[string]any) { b["mediaType"] = "application/vnd.dev.sigstore.bundle.v0.4+json" }, Malformed, Malformed},
		{"an unheard of member", func(b map[string]any) { b["extra"] = 1 }, Malformed, Malformed},
		{"no timestamp", func(b map[string]any) {
			delete(b["verificationMaterial"].(map[string]any), "timestampVerificationData")
		}, "", UnsignedTime},
		{"a broken timestamp", func(b map[string]any) {
			b["verificationMaterial"].(map[string]any)["timestampVerificationData"] = map[string]any{"rfc3161Timestamps": []any{map[string]any{"signedTimestamp": "AAAA"}}}
		}, "", Untrusted},
		{"a broken certificate", func(b map[string]any) {
			b["verificationMaterial"].(map[string]any)["certificate"] = map[string]any{"rawBytes": "AAAA"}
			delete(b["verificationMaterial"].(map[string]any), "publicKey")
		}, Malformed, Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New().Verify(ctx, edit(t, byKey, c.change), keyTrust)
			if c.key != "" {
				refused(t, err, fault.SignatureInvalid, c.key)
			} else if err != nil {
				t.Errorf("a key's bundle has no times, and was refused: %v", err)
			}
			_, err = New().Verify(ctx, edit(t, byCertificate, c.change), w.trust())
			refused(t, err, fault.SignatureInvalid, c.cert)
		})
	}

	_, err := New().Verify(ctx, byKey, seal.Trust{Key: otherPublic})
	refused(t, err, fault.SignatureInvalid, WrongKey)
	_, err = New().Verify(ctx, byKey, w.trust())
	refused(t, err, fault.SignatureInvalid, SignedByKey, "--key")
	_, err = New().Verify(ctx, byCertificate, keyTrust)
	refused(t, err, fault.SignatureInvalid, SignedByCertificate, workflow)
	_, err = New().Verify(ctx, byKey, seal.Trust{Unpinned: true})
	refused(t, err, fault.SignatureInvalid, WrongKey)
	_, err = New().Verify(ctx, byKey, seal.Trust{Unpinned: true, KeyPEM: "x"})
	refused(t, err, fault.SignatureInvalid, WrongKey)
	for name, text := range map[string][]byte{
		"nothing": nil, "no JSON": []byte("hello"), "null": []byte("null"), "an array": []byte("[]"), "an empty object": []byte("{}"),
		"cut short": byKey[:len(byKey)/2], "something after it": append(bytes.Clone(byKey), '1'), "too large": bytes.Repeat([]byte(" "), maxBundle+1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New().Verify(ctx, text, keyTrust)
			refused(t, err, fault.SignatureInvalid, Malformed)
		})
	}
}

func envelopeOf(t *testing.T, signed []byte) map[string]any {
	var b map[string]any
	if err := json.Unmarshal(signed, &b); err != nil {
		t.Fatal(err)
	}
	return envelope(b)
}

// What is signed but says something else than a statement is not relied on.
func TestSignedButNoStatement(t *testing.T) {
	private, public := keyFile(t, blockPKCS8, p256(t))
	k, err := loadKeypair(context.Background(), seal.Signing{Key: private})
	if err != nil {
		t.Fatal(err)
	}
	s := &signer{backend: New().(*backend), services: &services{}, key: k}
	for name, payload := range map[string]string{
		"no JSON":          "hello",
		"another type":     `{"_type":"https://in-toto.io/Statement/v2","subject":[{"name":"a","digest":{"sha256":"00"}}],"predicateType":"x","predicate":{}}`,
		"no type":          `{}`,
		"members twice":    `{"_type":"https://in-toto.io/Statement/v1","_type":"x"}`,
		"something behind": string(statement("a")) + "{}",
	} {
		t.Run(name, func(t *testing.T) {
			made, err := s.make(context.Background(), []byte(payload))
			if err != nil {
				t.Fatal(err)
			}
			text, err := encode(made)
			if err != nil {
				t.Fatal(err)
			}
			_, err = New().Verify(context.Background(), text, seal.Trust{Key: public})
			refused(t, err, fault.SignatureInvalid, NotAStatement)
			// And it is not signed by this gate in the first place.
			_, err = s.Sign(context.Background(), []byte(payload))
			refused(t, err, fault.SigningUnavailable, StepVerification)
		})
	}
	_, err = s.Sign(context.Background(), bytes.Repeat([]byte("x"), maxStatement+1))
	refused(t, err, fault.SigningUnavailable, StepSigning, "at most")
}

// cosign attest-blob calls its statements by the older name.
func TestStatementOfCosign(t *testing.T) {
	private, public := keyFile(t, blockPKCS8, p256(t))
	old := bytes.Replace(statement("a"), []byte("Statement/v1"), []byte("Statement/v0.1"), 1)
	if _, err := New().Verify(context.Background(), signWith(t, seal.Signing{Key: private}, old), seal.Trust{Key: public}); err != nil {
		t.Error(err)
	}
}

// One changed byte of the payload, the signature, the certificate or the
// timestamp, wherever it is, is noticed.
func TestEveryByteCounts(t *testing.T) {
	w := newWorld(t)
	private, public := keyFile(t, blockPKCS8, ed(t))
	for name, c := range map[string]struct {
		signed []byte
		trust  seal.Trust
	}{
		"key":         {signWith(t, seal.Signing{Key: private}, statement("a")), seal.Trust{Key: public}},
		"certificate": {w.unconfirmed(statement("a")), w.trust()},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := parse(c.signed)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string][]byte{"payload": e.envelope.Payload, "signature": e.envelope.Signatures[0].Sig}
			if e.certificate != nil {
				parts["certificate"] = e.bundle.GetVerificationMaterial().GetCertificate().RawBytes
			}
			for part, data := range parts {
				for i := range data {
					data[i] ^= 1
					text, err := encode(e.bundle.Bundle)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := New().Verify(context.Background(), text, c.trust); err == nil {
						t.Errorf("byte %d of the %s can be changed", i, part)
					}
					data[i] ^= 1
				}
			}
		})
	}
}

func TestTrustUnavailable(t *testing.T) {
	w := newWorld(t)
	signed := w.unconfirmed(statement("a"))
	for name, file := range map[string]string{
		"missing":   w.file("none"),
		"no root":   w.write("text", []byte("hello")),
		"too large": w.write("large", bytes.Repeat([]byte(" "), maxTrustedRoot+1)),
		"device":    "/dev/zero",
	} {
		t.Run(name, func(t *testing.T) {
			trust := w.trust()
			trust.TrustedRoot = file
			_, err := New().Verify(context.Background(), signed, trust)
			refused(t, err, fault.TrustUnavailable, "", file, "--trusted-root")
		})
	}
}

// The reasons are an interface: the package's comment and docs/signing.md
// name each.
func TestReasonsAreDocumented(t *testing.T) {
	for _, reason := range []string{Malformed, NotAStatement, SignedByKey, SignedByCertificate, WrongKey, Altered, WrongIdentity, WrongIssuer, Untrusted, Expired, UnsignedTime} {
		if mends(reason) == "" {
			t.Errorf("%s has no mend", reason)
		}
		for _, page := range []string{"doc.go", "../../../docs/signing.md"} {
			if !strings.Contains(read(t, page), reason) {
				t.Errorf("%s does not name %s", page, reason)
			}
		}
	}
	page := read(t, "../../../docs/signing.md")
	for _, step := range []string{StepKey, StepPassword, StepToken, StepServices, StepTrustedRoot, StepCertificate, StepTimestamp, StepLog, StepSigning, StepVerification} {
		if !strings.Contains(page, fmt.Sprintf("| `%s` |", step)) {
			t.Errorf("docs/signing.md does not name the step %s", step)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"publicKey":{"hint":"x"}},"dsseEnvelope":{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"AAAA"}]}}`))
	f.Add([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"certificate":{"rawBytes":"AAAA"}}}`))
	f.Add([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle+json;version=0.1","verificationMaterial":{"x509CertificateChain":{"certificates":[]},"tlogEntries":[{}]},"dsseEnvelope":{"signatures":[null]}}`))
	f.Add([]byte(`{"verificationMaterial":{"timestampVerificationData":{"rfc3161Timestamps":[null]}}}`))
	key, err := newKeyVerifier(ed25519Zero())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		// Whatever comes, nothing panics, and nothing verifies: the keys are
		// nobody's and the root is empty.
		e, err := parse(text)
		if err == nil {
			_, err = e.verify(anchor{key: key})
		}
		if err == nil {
			t.Errorf("%s verifies", text)
		} else if f := fault.As(err); f.Code != fault.SignatureInvalid {
			t.Errorf("%s: %v", text, err)
		}
	})
}
