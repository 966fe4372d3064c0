package services

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"time"

	ct "github.com/google/certificate-transparency-go"
	cttls "github.com/google/certificate-transparency-go/tls"
	ctx509 "github.com/google/certificate-transparency-go/x509"
)

// CTLog promises to log certificates, with signatures that verify. It keeps no
// tree: nobody asks for the proof of the promise.
type CTLog struct {
	Front
	ID  string // hex: the SHA-256 of the public key
	key *ecdsa.PrivateKey
	der []byte
}

func startCTLog() (*CTLog, error) {
	key, der, err := newKey()
	if err != nil {
		return nil, err
	}
	l := &CTLog{ID: fingerprint(der), key: key, der: der}
	mux := http.NewServeMux()
	mux.HandleFunc("/ct/v1/add-pre-chain", l.add(ct.PrecertLogEntryType))
	mux.HandleFunc("/ct/v1/add-chain", l.add(ct.X509LogEntryType))
	l.open(mux)
	return l, nil
}

// publicPEM is the key that Fulcio checks the log's promises with.
func (l *CTLog) publicPEM() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: l.der}))
}

func (l *CTLog) add(kind ct.LogEntryType) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request ct.AddChainRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		promise, err := l.promise(kind, request.Chain)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer(w, promise)
	}
}

func (l *CTLog) promise(kind ct.LogEntryType, raw [][]byte) (*ct.AddChainResponse, error) {
	var chain []*ctx509.Certificate
	for _, der := range raw {
		// A precertificate has a critical extension on purpose, which is no fatal error.
		c, err := ctx509.ParseCertificate(der)
		if ctx509.IsFatal(err) {
			return nil, err
		}
		chain = append(chain, c)
	}
	now := uint64(time.Now().UnixMilli())
	leaf, err := ct.MerkleTreeLeafFromChain(chain, kind, now)
	if err != nil {
		return nil, err
	}
	sct := ct.SignedCertificateTimestamp{SCTVersion: ct.V1, Timestamp: now}
	copy(sct.LogID.KeyID[:], unhex(l.ID))
	input, err := ct.SerializeSCTSignatureInput(sct, ct.LogEntry{Leaf: *leaf})
	if err != nil {
		return nil, err
	}
	signed, err := cttls.CreateSignature(*l.key, cttls.SHA256, input)
	if err != nil {
		return nil, err
	}
	signature, err := cttls.Marshal(signed)
	if err != nil {
		return nil, err
	}
	return &ct.AddChainResponse{SCTVersion: ct.V1, ID: unhex(l.ID), Timestamp: now, Signature: signature}, nil
}

// newKey makes a P-256 key, with the DER form of its public half.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	return key, der, err
}

// fingerprint is the id of a log that has the key.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
