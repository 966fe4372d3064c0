package sigstore

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"time"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore/pkg/signature"
)

// The algorithms, by the names that attestation.json gives them.
const (
	ecdsaP256SHA256 = "ecdsa-p256-sha256"
	ecdsaP384SHA384 = "ecdsa-p384-sha384"
	ecdsaP384SHA256 = "ecdsa-p384-sha256" // of clients before 2025; verified, never made
	pureEd25519     = "ed25519"
	prehashEd25519  = "ed25519-ph" // what cosign makes of such a key; verified, never made
)

// algorithm is how a key signs.
type algorithm struct {
	name     string
	family   string // as Fulcio has it
	hash     crypto.Hash
	hashName protocommon.HashAlgorithm
	details  protocommon.PublicKeyDetails
}

// algorithmOf gives the algorithm that a key signs with here. The list is
// short on purpose: these are the keys that every verifier of Sigstore bundles
// takes without being told the algorithm. RSA signatures come in two paddings
// that a key does not choose between.
func algorithmOf(key crypto.PublicKey) (algorithm, error) {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			return algorithm{ecdsaP256SHA256, "ECDSA", crypto.SHA256, protocommon.HashAlgorithm_SHA2_256, protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256}, nil
		case elliptic.P384():
			return algorithm{ecdsaP384SHA384, "ECDSA", crypto.SHA384, protocommon.HashAlgorithm_SHA2_384, protocommon.PublicKeyDetails_PKIX_ECDSA_P384_SHA_384}, nil
		}
		return algorithm{}, fmt.Errorf("it is an ECDSA key on the curve %s", k.Curve.Params().Name)
	case ed25519.PublicKey:
		return algorithm{pureEd25519, "ED25519", 0, protocommon.HashAlgorithm_SHA2_512, protocommon.PublicKeyDetails_PKIX_ED25519}, nil
	case *rsa.PublicKey:
		return algorithm{}, fmt.Errorf("it is an RSA key of %d bits", k.N.BitLen())
	}
	return algorithm{}, fmt.Errorf("it is a key of another kind (%T)", key)
}

// publicPEM is a public key as attestation.json and `openssl pkey -pubin` have it.
func publicPEM(key crypto.PublicKey) (text string, der []byte, err error) {
	der, err = x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", nil, err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), der, nil
}

// hintOf is what a bundle calls a key: cosign's form, so that its users see
// the same.
func hintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// keyVerifier verifies signatures of one key, and remembers by which
// algorithm the last one held. It is the library's view of a key; it has no
// expiry.
type keyVerifier struct {
	key  crypto.PublicKey
	pem  string
	hint string
	held string
}

var _ root.TimeConstrainedVerifier = (*keyVerifier)(nil)

func newKeyVerifier(key crypto.PublicKey) (*keyVerifier, error) {
	if _, err := algorithmOf(key); err != nil {
		return nil, err
	}
	text, der, err := publicPEM(key)
	if err != nil {
		return nil, err
	}
	return &keyVerifier{key: key, pem: text, hint: hintOf(der)}, nil
}

// VerifySignature implements signature.Verifier.
func (v *keyVerifier) VerifySignature(sig, message io.Reader, _ ...signature.VerifyOption) error {
	value, err := io.ReadAll(sig)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(message)
	if err != nil {
		return err
	}
	for _, try := range v.algorithms() {
		if try.verifies(data, value) {
			v.held = try.name
			return nil
		}
	}
	return errors.New("the signature is not this key's over this statement")
}

type attempt struct {
	name     string
	verifies func(data, sig []byte) bool
}

// algorithms are those by which a signature of the key may have been made: by
// this gate, or by another client of Sigstore.
func (v *keyVerifier) algorithms() []attempt {
	switch k := v.key.(type) {
	case *ecdsa.PublicKey:
		with := func(name string, hash crypto.Hash) attempt {
			return attempt{name, func(data, sig []byte) bool { return ecdsa.VerifyASN1(k, digest(hash, data), sig) }}
		}
		if k.Curve == elliptic.P384() {
			return []attempt{with(ecdsaP384SHA384, crypto.SHA384), with(ecdsaP384SHA256, crypto.SHA256)}
		}
		return []attempt{with(ecdsaP256SHA256, crypto.SHA256)}
	case ed25519.PublicKey:
		return []attempt{
			{pureEd25519, func(data, sig []byte) bool { return ed25519.Verify(k, data, sig) }},
			{prehashEd25519, func(data, sig []byte) bool {
				return ed25519.VerifyWithOptions(k, digest(crypto.SHA512, data), sig, &ed25519.Options{Hash: crypto.SHA512}) == nil
			}},
		}
	}
	return nil
}

func digest(hash crypto.Hash, data []byte) []byte {
	h := hash.New()
	h.Write(data)
	return h.Sum(nil)
}

// PublicKey implements signature.Verifier.
func (v *keyVerifier) PublicKey(...signature.PublicKeyOption) (crypto.PublicKey, error) {
	return v.key, nil
}

// ValidAtTime implements root.ValidityPeriodChecker.
func (v *keyVerifier) ValidAtTime(time.Time) bool { return true }
