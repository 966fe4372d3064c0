//go:build kms

package sigstore

import (
	"context"
	"crypto"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"testing"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/kms"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// vault is a KMS: it signs, and keeps the key.
type vault struct {
	signature.SignerVerifier
	locked bool
}

func (v *vault) SignMessage(message io.Reader, opts ...signature.SignOption) ([]byte, error) {
	if v.locked {
		return nil, errors.New("this user may not use the key")
	}
	return v.SignerVerifier.SignMessage(message, opts...)
}

func (*vault) CreateKey(context.Context, string) (crypto.PublicKey, error) {
	return nil, errors.New("no")
}

func (*vault) CryptoSigner(context.Context, func(error)) (crypto.Signer, crypto.SignerOpts, error) {
	return nil, nil, errors.New("no")
}

func (*vault) SupportedAlgorithms() []string { return nil }
func (*vault) DefaultAlgorithm() string      { return "" }

func TestKMS(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]crypto.PrivateKey{
		"testkms://p256": generate(t, elliptic.P256()), "testkms://p384": generate(t, elliptic.P384()), "testkms://ed25519": ed(t),
		"testkms://rsa": weak, "testkms://locked": generate(t, elliptic.P256()),
	}
	kms.AddProvider("testkms://", func(_ context.Context, uri string, hash crypto.Hash, _ ...signature.RPCOption) (kms.SignerVerifier, error) {
		key, ok := keys[uri]
		if !ok {
			return nil, errors.New("no such key")
		}
		sv, err := signature.LoadSignerVerifier(key, hash)
		return &vault{sv, uri == "testkms://locked"}, err
	})
	ctx := context.Background()
	for uri, algorithm := range map[string]string{"testkms://p256": ecdsaP256SHA256, "testkms://p384": ecdsaP384SHA384, "testkms://ed25519": pureEd25519} {
		signed := signWith(t, seal.Signing{Key: uri}, statement("a"))
		got, err := New().Verify(ctx, signed, seal.Trust{Key: uri})
		if err != nil || got.Algorithm != algorithm {
			t.Errorf("%s: %+v, %v", uri, got, err)
		}
	}
	for uri, word := range map[string]string{"testkms://none": "no such key", "testkms://rsa": "RSA"} {
		_, err := New().Prepare(ctx, seal.Signing{Mode: seal.ModeKey, Key: uri})
		refused(t, err, fault.SigningUnavailable, StepKey, uri, word)
	}
	_, err = New().Prepare(ctx, seal.Signing{Mode: seal.ModeKey, Key: "otherkms://x"})
	refused(t, err, fault.Usage, "", "awskms://", "azurekms://", "gcpkms://", "hashivault://")
	_, err = New().Verify(ctx, signWith(t, seal.Signing{Key: "testkms://p256"}, statement("a")), seal.Trust{Key: "testkms://none"})
	refused(t, err, fault.TrustUnavailable, "", "no such key")

	s, err := New().Prepare(ctx, seal.Signing{Mode: seal.ModeKey, Key: "testkms://locked"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Sign(ctx, statement("a"))
	refused(t, err, fault.SigningUnavailable, StepSigning, "may not use")
}
