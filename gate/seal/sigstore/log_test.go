package sigstore

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/types"
	"github.com/sigstore/rekor/pkg/util"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/transparency-dev/merkle/rfc6962"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// rekorLog is a Rekor v1 log that holds one entry: the last one. A v2 log runs
// in the end-to-end tests.
type rekorLog struct {
	t      *testing.T
	server *httptest.Server
	key    *ecdsa.PrivateKey
	calls  int
}

// withLog gives a world a Rekor v1 log, with or without the timestamp authority.
func (w *world) withLog(stamps bool) *rekorLog {
	w.t.Helper()
	l := &rekorLog{t: w.t, key: p256(w.t)}
	l.server = httptest.NewServer(l)
	w.t.Cleanup(l.server.Close)
	past := time.Now().Add(-24 * time.Hour)
	var authorities []string
	if stamps {
		authorities = []string{w.server.URL + stampPath}
	}
	w.write("signing_config.json", w.signingConfig([]root.Service{{URL: l.server.URL, MajorAPIVersion: 1, ValidityPeriodStart: past, Operator: "test"}}, authorities))
	log, id := transparencyLog(w.t, l.server.URL, l.key)
	base, err := root.NewTrustedRootFromJSON(w.trustedRoot())
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := root.NewTrustedRoot(root.TrustedRootMediaType01, base.FulcioCertificateAuthorities(), base.CTLogs(), base.TimestampingAuthorities(), map[string]*root.TransparencyLog{id: log})
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := r.MarshalJSON()
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("trusted_root.json", text)
	return l
}

func (l *rekorLog) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	l.calls++
	entry, err := l.entry(r)
	if err != nil {
		l.t.Error(err)
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	const uuid = "24296fb24b8ad77a"
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("ETag", uuid)
	rw.WriteHeader(http.StatusCreated)
	json.NewEncoder(rw).Encode(map[string]any{uuid: entry})
}

func (l *rekorLog) entry(r *http.Request) (*models.LogEntryAnon, error) {
	ctx := r.Context()
	proposed, err := models.UnmarshalProposedEntry(r.Body, jsonConsumer{})
	if err != nil {
		return nil, err
	}
	entry, err := types.CreateVersionedEntry(proposed)
	if err != nil {
		return nil, err
	}
	body, err := types.CanonicalizeEntry(ctx, entry)
	if err != nil {
		return nil, err
	}
	_, id := transparencyLog(l.t, "", l.key)
	now, index, size := time.Now().Unix(), int64(0), int64(1)
	text := base64.StdEncoding.EncodeToString(body)
	signer, err := signature.LoadECDSASigner(l.key, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	payload, err := json.Marshal(tlog.RekorPayload{Body: text, IntegratedTime: now, LogIndex: index, LogID: id})
	if err != nil {
		return nil, err
	}
	if payload, err = jsoncanonicalizer.Transform(payload); err != nil {
		return nil, err
	}
	promise, err := signer.SignMessage(bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	leaf := rfc6962.DefaultHasher.HashLeaf(body)
	checkpoint, err := util.CreateAndSignCheckpoint(ctx, "rekor.test", 1, 1, leaf, signer)
	if err != nil {
		return nil, err
	}
	hash, note := hex.EncodeToString(leaf), string(checkpoint)
	return &models.LogEntryAnon{Body: text, IntegratedTime: &now, LogIndex: &index, LogID: &id, Verification: &models.LogEntryAnonVerification{
		SignedEntryTimestamp: promise,
		InclusionProof:       &models.InclusionProof{Checkpoint: &note, Hashes: []string{}, LogIndex: &index, RootHash: &hash, TreeSize: &size},
	}}, nil
}

type jsonConsumer struct{}

func (jsonConsumer) Consume(r io.Reader, v any) error {
	d := json.NewDecoder(r)
	d.UseNumber()
	return d.Decode(v)
}

func TestRekorV1(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name    string
		stamps  bool
		sources string
	}{
		{"alone", false, fromLog},
		{"with a timestamp authority", true, fromLog + " " + fromAuthority},
	} {
		t.Run("keyless, "+c.name, func(t *testing.T) {
			w := newWorld(t)
			w.withLog(c.stamps)
			b, _ := patient()
			s, err := b.Prepare(ctx, w.keyless())
			if err != nil {
				t.Fatal(err)
			}
			signed, err := bundleOf(s, ctx, statement("a"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.Verify(ctx, signed, w.trust())
			if err != nil {
				t.Fatal(err)
			}
			for _, source := range strings.Fields(c.sources) {
				if !hasTime(got, source) {
					t.Errorf("no time of %s in %v", source, got.Times)
				}
			}
			// Another log's entry is no entry.
			other := newWorld(t)
			other.withLog(c.stamps)
			mixed := w.trust()
			mixed.TrustedRoot = w.write("mixed.json", mix(t, w.file("trusted_root.json"), other.file("trusted_root.json")))
			_, err = b.Verify(ctx, signed, mixed)
			refused(t, err, fault.SignatureInvalid, Untrusted, "log")
		})
	}
	t.Run("a key", func(t *testing.T) {
		w := newWorld(t)
		l := w.withLog(true)
		private, public := keyFile(t, blockPKCS8, p256(t))
		signed := signWith(t, seal.Signing{Key: private, SigningConfig: w.file("signing_config.json"), TrustedRoot: w.file("trusted_root.json")}, statement("a"))
		if l.calls != 1 {
			t.Errorf("%d entries", l.calls)
		}
		got, err := New().Verify(ctx, signed, seal.Trust{Key: public, TrustedRoot: w.file("trusted_root.json")})
		if err != nil {
			t.Fatal(err)
		}
		if !hasTime(got, fromLog) || !hasTime(got, fromAuthority) {
			t.Errorf("times %v", got.Times)
		}
		// Without a trusted root the key still proves the signature, and nothing
		// is said of times that nobody vouched for.
		if got, err = New().Verify(ctx, signed, seal.Trust{Key: public}); err != nil || got.Times != nil {
			t.Errorf("%+v, %v", got, err)
		}
		// A root that knows no log and no authority says nothing of them.
		bare := w.write("bare.json", []byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`))
		if got, err = New().Verify(ctx, signed, seal.Trust{Key: public, TrustedRoot: bare}); err != nil || got.Times != nil {
			t.Errorf("%+v, %v", got, err)
		}
		other := newWorld(t)
		_, err = New().Verify(ctx, signed, seal.Trust{Key: public, TrustedRoot: other.file("trusted_root.json")})
		refused(t, err, fault.SignatureInvalid, Untrusted, "timestamp")
		other.withLog(true)
		_, err = New().Verify(ctx, signed, seal.Trust{Key: public, TrustedRoot: other.file("trusted_root.json")})
		refused(t, err, fault.SignatureInvalid, Untrusted, "log")
	})
}

// mix is a trusted root with the logs of another.
func mix(t *testing.T, name, logsOf string) []byte {
	t.Helper()
	a, err1 := readTrustedRoot(name)
	b, err2 := readTrustedRoot(logsOf)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	r, err := root.NewTrustedRoot(root.TrustedRootMediaType01, a.FulcioCertificateAuthorities(), a.CTLogs(), a.TimestampingAuthorities(), b.RekorLogs())
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func hasTime(s *seal.Signature, source string) bool {
	for _, at := range s.Times {
		if at.Source == source && time.Since(at.Moment).Abs() < time.Hour {
			return true
		}
	}
	return false
}

// A log that has an entry already gets a new signature, a few times.
func TestConflict(t *testing.T) {
	w := newWorld(t)
	seen := map[[sha256.Size]byte]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if _, err := body.ReadFrom(r.Body); err != nil {
			t.Error(err)
		}
		seen[sha256.Sum256(body.Bytes())] = true
		if r.URL.Path != "/shard/api/v2/log/entries" {
			t.Errorf("asked at %s", r.URL.Path)
		}
		http.Error(rw, "an equivalent entry already exists", http.StatusConflict)
	}))
	t.Cleanup(server.Close)
	v2 := []root.Service{{URL: server.URL + "/shard", MajorAPIVersion: 2, ValidityPeriodStart: time.Now().Add(-time.Hour), Operator: "test"}}
	w.write("signing_config.json", w.signingConfig(v2, []string{w.server.URL + stampPath}))
	b, waited := patient()
	s, err := b.Prepare(context.Background(), w.keyless())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Sign(context.Background(), statement("a"))
	refused(t, err, fault.SigningUnavailable, StepLog, "already")
	if len(seen) != 1+maxConflicts {
		t.Errorf("%d different entries were tried, want %d", len(seen), 1+maxConflicts)
	}
	if len(*waited) != 0 {
		t.Errorf("it waited %v", *waited)
	}

	// Ed25519 signs no digest, which is all that a v2 log takes.
	private, _ := keyFile(t, blockPKCS8, ed(t))
	_, err = b.Prepare(context.Background(), seal.Signing{Mode: seal.ModeKey, Key: private, SigningConfig: w.file("signing_config.json"), TrustedRoot: w.file("trusted_root.json")})
	refused(t, err, fault.SigningUnavailable, StepLog, "Ed25519")

	// A v2 log vouches for no time.
	w.write("signing_config.json", w.signingConfig(v2, nil))
	_, err = b.Prepare(context.Background(), w.keyless())
	refused(t, err, fault.SigningUnavailable, StepServices, "timestamp authority")
}
