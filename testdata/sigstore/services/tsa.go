package services

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/timestamp-authority/v2/pkg/signer"
)

// TSA signs RFC 3161 timestamps.
type TSA struct {
	Front
	chain []*x509.Certificate // leaf, intermediate, root
	key   *ecdsa.PrivateKey
	mu    sync.Mutex
	shift time.Duration
}

// maxRequest is more than a timestamp request has.
const maxRequest = 64 << 10

// policy is the object identifier of the policy of Sigstore's authority.
var policy = []int{1, 3, 6, 1, 4, 1, 57264, 2}

func startTSA() (*TSA, error) {
	key, _, err := newKey()
	if err != nil {
		return nil, err
	}
	chain, err := signer.NewTimestampingCertWithChain(key)
	if err != nil {
		return nil, err
	}
	if len(chain) != 3 {
		return nil, fmt.Errorf("a chain of three certificates was expected, not of %d", len(chain))
	}
	t := &TSA{chain: chain, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/timestamp", t.stamp)
	t.open(mux)
	t.URL += "/api/v1/timestamp"
	return t, nil
}

// Shift makes the authority's clock differ from the machine's.
func (t *TSA) Shift(by time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shift = by
}

func (t *TSA) now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Now().UTC().Add(t.shift)
}

func (t *TSA) authority(since time.Time) root.TimestampingAuthority {
	return &root.SigstoreTimestampingAuthority{
		Leaf: t.chain[0], Intermediates: t.chain[1:2], Root: t.chain[2],
		ValidityPeriodStart: since, URI: t.URL,
	}
}

func (t *TSA) stamp(w http.ResponseWriter, r *http.Request) {
	reply, err := t.reply(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/timestamp-reply")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(reply) // who stopped listening needs no error
}

func (t *TSA) reply(body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	request, err := timestamp.ParseRequest(text)
	if err != nil {
		return nil, err
	}
	if request.HashAlgorithm == 0 {
		return nil, errors.New("the request names no hash")
	}
	stamp := timestamp.Timestamp{
		HashAlgorithm: request.HashAlgorithm, HashedMessage: request.HashedMessage, Nonce: request.Nonce,
		Time: t.now(), Accuracy: time.Second, Policy: policy, AddTSACertificate: request.Certificates,
	}
	return stamp.CreateResponseWithOpts(t.chain[0], t.key, crypto.SHA256)
}
