package sigstore

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/digitorus/timestamp"
	ct "github.com/google/certificate-transparency-go"
	cttls "github.com/google/certificate-transparency-go/tls"
	ctx509util "github.com/google/certificate-transparency-go/x509util"
	prototrustroot "github.com/sigstore/protobuf-specs/gen/pb-go/trustroot/v1"
	"github.com/sigstore/sigstore-go/pkg/root"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// world is a deployment of Sigstore in small: a certificate authority with a
// transparency log behind it, a timestamp authority and GitHub's token endpoint,
// each behind HTTP. The knobs make what a real one gives only on a bad day.
type world struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	calls    map[string]int // requests by path
	failures map[string]int // how many of them are still to be answered with 503
	answers  map[string]int // a status that a path always answers with
	headers  http.Header    // added to failures
	cut      map[string]int // how many answers are still to be cut short

	claims   map[string]any
	rawToken string        // what the token endpoint gives in place of a JWT
	lifetime time.Duration // of tokens
	certFor  time.Duration // how long certificates are valid
	stampAt  time.Duration // the timestamp authority's clock against the real one
	noSCT    bool

	caKey, ctKey, stampKey *ecdsa.PrivateKey
	ca, stampRoot, stamp   *x509.Certificate
	dir                    string
}

const (
	tokenPath = "/token"
	certPath  = "/api/v2/signingCert"
	stampPath = "/api/v1/timestamp"
	bearer    = "request-token-of-the-job"

	workflow = "https://github.com/acme/gate/.github/workflows/gate.yml@refs/tags/v1"
	commit   = "0123456789abcdef0123456789abcdef01234567"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, dir: t.TempDir(), calls: map[string]int{}, failures: map[string]int{}, answers: map[string]int{}, cut: map[string]int{}, headers: http.Header{},
		lifetime: 5 * time.Minute, certFor: 10 * time.Minute,
		claims: map[string]any{
			"sub": "repo:acme/app:ref:refs/heads/main", "repository": "acme/app", "sha": commit, "runner_environment": "github-hosted",
			"job_workflow_ref": "acme/gate/.github/workflows/gate.yml@refs/tags/v1", "job_workflow_sha": strings.Repeat("89", 20),
		},
	}
	w.caKey, w.ctKey, w.stampKey = p256(t), p256(t), p256(t)
	w.ca = issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, w.caKey, w.caKey.Public())
	stampRootKey := p256(t)
	w.stampRoot = issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "tsa root"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, stampRootKey, stampRootKey.Public())
	w.stamp = issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "tsa"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: der(t, []asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})}},
	}, w.stampRoot, stampRootKey, w.stampKey.Public())

	mux := http.NewServeMux()
	for path, handler := range map[string]http.HandlerFunc{tokenPath: w.giveToken, certPath: w.giveCertificate, stampPath: w.giveTimestamp} {
		mux.HandleFunc(path, func(rw http.ResponseWriter, r *http.Request) {
			if !w.fails(rw, path) {
				handler(rw, r)
			}
		})
	}
	w.server = httptest.NewServer(mux)
	t.Cleanup(w.server.Close)
	w.write("trusted_root.json", w.trustedRoot())
	w.write("signing_config.json", w.signingConfig(nil, []string{w.server.URL + stampPath}))
	return w
}

// fails gives the failure that is due on a path.
func (w *world) fails(rw http.ResponseWriter, path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[path]++
	for name, values := range w.headers {
		rw.Header()[name] = values
	}
	switch {
	case w.cut[path] > 0:
		w.cut[path]--
		rw.Header().Set("Content-Length", "100")
		rw.Write([]byte("{"))
	case w.failures[path] > 0:
		w.failures[path]--
		http.Error(rw, "come back later", http.StatusServiceUnavailable)
	case w.answers[path] != 0:
		http.Error(rw, "no", w.answers[path])
	default:
		return false
	}
	return true
}

func (w *world) count(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[path]
}

func (w *world) file(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name string, data []byte) string {
	w.t.Helper()
	if err := os.WriteFile(w.file(name), data, 0o644); err != nil {
		w.t.Fatal(err)
	}
	return w.file(name)
}

func (w *world) trustedRoot() []byte {
	past := time.Now().Add(-24 * time.Hour)
	log, id := transparencyLog(w.t, w.server.URL, w.ctKey)
	r, err := root.NewTrustedRoot(root.TrustedRootMediaType01,
		[]root.CertificateAuthority{&root.FulcioCertificateAuthority{Root: w.ca, ValidityPeriodStart: past, URI: w.server.URL}},
		map[string]*root.TransparencyLog{id: log},
		[]root.TimestampingAuthority{&root.SigstoreTimestampingAuthority{Root: w.stampRoot, Leaf: w.stamp, ValidityPeriodStart: past, URI: w.server.URL}},
		nil)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := r.MarshalJSON()
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

func transparencyLog(t *testing.T, address string, key *ecdsa.PrivateKey) (*root.TransparencyLog, string) {
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	id := sha256.Sum256(spki)
	return &root.TransparencyLog{BaseURL: address, ID: id[:], ValidityPeriodStart: time.Now().Add(-24 * time.Hour), HashFunc: crypto.SHA256, PublicKey: key.Public(), SignatureHashFunc: crypto.SHA256}, hex.EncodeToString(id[:])
}

func (w *world) signingConfig(logs []root.Service, stamps []string) []byte {
	past := time.Now().Add(-24 * time.Hour)
	var authorities []root.Service
	for _, address := range stamps {
		authorities = append(authorities, root.Service{URL: address, MajorAPIVersion: 1, ValidityPeriodStart: past, Operator: "test"})
	}
	anyOne := root.ServiceConfiguration{Selector: prototrustroot.ServiceSelector_ANY}
	c, err := root.NewSigningConfig(root.SigningConfigMediaType02,
		[]root.Service{{URL: w.server.URL, MajorAPIVersion: 1, ValidityPeriodStart: past, Operator: "test"}}, nil, logs, anyOne, authorities, anyOne)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := c.MarshalJSON()
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

func (w *world) giveToken(rw http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+bearer || r.URL.Query().Get("audience") != "sigstore" || r.URL.Query().Get("api-version") != "2.0" {
		http.Error(rw, "not this token for "+r.URL.RawQuery, http.StatusUnauthorized)
		return
	}
	json.NewEncoder(rw).Encode(map[string]string{"value": w.token()})
}

// token is a JWT as far as a client reads one.
func (w *world) token() string {
	if w.rawToken != "" {
		return w.rawToken
	}
	claims := map[string]any{"iss": w.server.URL, "aud": "sigstore", "exp": time.Now().Add(w.lifetime).Unix()}
	for name, value := range w.claims {
		claims[name] = value
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		w.t.Error(err)
	}
	return "e30." + base64.RawURLEncoding.EncodeToString(payload) + ".c2lnbmF0dXJl"
}

func (w *world) giveCertificate(rw http.ResponseWriter, r *http.Request) {
	var req struct {
		PublicKeyRequest struct {
			PublicKey struct{ Content string }
		}
	}
	if json.NewDecoder(r.Body).Decode(&req) != nil || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer e30.") {
		http.Error(rw, "no request", http.StatusBadRequest)
		return
	}
	block, _ := pem.Decode([]byte(req.PublicKeyRequest.PublicKey.Content))
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	chain := []string{string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.certify(public).Raw}))}
	json.NewEncoder(rw).Encode(map[string]any{"signedCertificateEmbeddedSct": map[string]any{"chain": map[string]any{"certificates": chain}}})
}

// certify issues a code signing certificate with the extensions that Fulcio
// gives a GitHub workflow, and the promise of a transparency log inside.
func (w *world) certify(public crypto.PublicKey) *x509.Certificate {
	san, err := url.Parse(workflow)
	if err != nil {
		w.t.Error(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		NotBefore: now.Add(-time.Minute), NotAfter: now.Add(w.certFor), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, URIs: []*url.URL{san},
	}
	for n, value := range map[int]string{8: w.server.URL, 9: workflow, 10: strings.Repeat("89", 20), 11: fmt.Sprint(w.claims["runner_environment"]), 12: "https://github.com/acme/app", 13: commit, 14: "refs/heads/main", 20: "push", 21: "https://github.com/acme/app/actions/runs/42/attempts/1"} {
		template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, n}, Value: der(w.t, value)})
	}
	template.SerialNumber = big.NewInt(now.UnixNano())
	bare := issue(w.t, template, w.ca, w.caKey, public)
	if w.noSCT {
		return bare
	}
	template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: w.promise(bare)})
	return issue(w.t, template, w.ca, w.caKey, public)
}

// promise is the transparency log's, over the certificate without it.
func (w *world) promise(bare *x509.Certificate) []byte {
	_, id := transparencyLog(w.t, "", w.ctKey)
	sct := ct.SignedCertificateTimestamp{SCTVersion: ct.V1, Timestamp: uint64(time.Now().UnixMilli())}
	if _, err := hex.Decode(sct.LogID.KeyID[:], []byte(id)); err != nil {
		w.t.Error(err)
	}
	leaf := ct.MerkleTreeLeaf{Version: ct.V1, LeafType: ct.TimestampedEntryLeafType, TimestampedEntry: &ct.TimestampedEntry{
		EntryType: ct.PrecertLogEntryType, Timestamp: sct.Timestamp,
		PrecertEntry: &ct.PreCert{IssuerKeyHash: sha256.Sum256(w.ca.RawSubjectPublicKeyInfo), TBSCertificate: bare.RawTBSCertificate},
	}}
	data, err := ct.SerializeSCTSignatureInput(sct, ct.LogEntry{Leaf: leaf})
	if err != nil {
		w.t.Error(err)
	}
	sig, err := cttls.CreateSignature(*w.ctKey, cttls.SHA256, data)
	if err != nil {
		w.t.Error(err)
	}
	sct.Signature = ct.DigitallySigned(sig)
	list, err := ctx509util.MarshalSCTsIntoSCTList([]*ct.SignedCertificateTimestamp{&sct})
	if err != nil {
		w.t.Error(err)
	}
	inner, err := cttls.Marshal(*list)
	if err != nil {
		w.t.Error(err)
	}
	return der(w.t, inner)
}

func (w *world) giveTimestamp(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	rw.Header().Set("Content-Type", "application/timestamp-reply")
	rw.Write(w.timestamp(body))
}

func (w *world) timestamp(request []byte) []byte {
	req, err := timestamp.ParseRequest(request)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	ts := timestamp.Timestamp{HashAlgorithm: req.HashAlgorithm, HashedMessage: req.HashedMessage, Time: time.Now().Add(w.stampAt).UTC(), Nonce: req.Nonce,
		Policy: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 2}, AddTSACertificate: req.Certificates}
	resp, err := ts.CreateResponseWithOpts(w.stamp, w.stampKey, crypto.SHA256)
	if err != nil {
		w.t.Error(err)
	}
	return resp
}

// env is the environment of a job with `id-token: write`.
func (w *world) env() func(string) string {
	return environment(requestURLVariable, w.server.URL+tokenPath+"?api-version=2.0", requestTokenVariable, bearer)
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// keyless says how to sign in this world.
func (w *world) keyless() seal.Signing {
	return seal.Signing{Mode: seal.ModeKeyless, SigningConfig: w.file("signing_config.json"), TrustedRoot: w.file("trusted_root.json"), Env: w.env()}
}

// trust is the policy that its signatures meet.
func (w *world) trust() seal.Trust {
	return seal.Trust{Identity: seal.Identity{Subject: workflow, Issuer: w.server.URL}, TrustedRoot: w.file("trusted_root.json")}
}

// patient is a backend that waits for nothing, and writes down for how long it
// would have.
func patient() (*backend, *[]time.Duration) {
	var waited []time.Duration
	b := New().(*backend)
	b.network.wait = func(ctx context.Context, d time.Duration) error {
		waited = append(waited, d)
		return ctx.Err()
	}
	return b, &waited
}

// statement is a small in-toto statement.
func statement(text string) []byte {
	return fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","predicate":{"text":%q},"predicateType":"https://example.com/p","subject":[{"digest":{"sha256":"%064x"},"name":"a"}]}`, text, sha256.Sum256([]byte(text)))
}

func p256(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue signs a certificate; without a parent, by itself.
func issue(t *testing.T, template, parent *x509.Certificate, signer *ecdsa.PrivateKey, public crypto.PublicKey) *x509.Certificate {
	if template.SerialNumber == nil {
		template.SerialNumber = big.NewInt(time.Now().UnixNano())
	}
	if template.NotBefore.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour)
	}
	if parent == nil {
		parent = template
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		t.Error(err)
		return nil
	}
	c, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Error(err)
	}
	return c
}

func der(t *testing.T, v any) []byte {
	var out []byte
	var err error
	if s, ok := v.(string); ok {
		out, err = asn1.MarshalWithParams(s, "utf8")
	} else {
		out, err = asn1.Marshal(v)
	}
	if err != nil {
		t.Error(err)
	}
	return out
}

// refused checks that an error is the fault of a code, with one detail, that
// it says how to mend it and that its message holds each of the words.
func refused(t *testing.T, err error, code fault.Code, detail string, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want %s (%s)", code, detail)
	}
	f := fault.As(err)
	got := fmt.Sprint(f.Details["step"])
	if code == fault.SignatureInvalid {
		got = fmt.Sprint(f.Details["reason"])
	}
	if f.Code != code || detail != "" && got != detail {
		t.Fatalf("%s (%s): %s\nwant %s (%s)", f.Code, got, f.Message, code, detail)
	}
	if f.Fix == "" {
		t.Errorf("%s says no mend", f.Message)
	}
	for _, word := range words {
		if !strings.Contains(f.Message+" "+f.Fix, word) {
			t.Errorf("%q / %q does not say %q", f.Message, f.Fix, word)
		}
	}
}

// bundleOf signs a statement and gives the Sigstore bundle.
func bundleOf(s seal.Signer, ctx context.Context, statement []byte) ([]byte, error) {
	signed, err := s.Sign(ctx, statement)
	if err != nil {
		return nil, err
	}
	return signed.Bundle, nil
}
