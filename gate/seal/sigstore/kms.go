//go:build kms

package sigstore

import (
	"bytes"
	"context"
	"crypto"
	"slices"
	"strings"

	"github.com/sigstore/sigstore/pkg/signature/kms"
	// The providers that cosign has. They bring the SDKs of four clouds, which is
	// why they are in no build that did not ask for them.
	_ "github.com/sigstore/sigstore/pkg/signature/kms/aws"
	_ "github.com/sigstore/sigstore/pkg/signature/kms/azure"
	_ "github.com/sigstore/sigstore/pkg/signature/kms/gcp"
	_ "github.com/sigstore/sigstore/pkg/signature/kms/hashivault"
	"github.com/sigstore/sigstore/pkg/signature/options"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// kmsKeypair gives a key that a KMS holds. The private key never comes here:
// the statement's digest is sent, and the signature comes back.
func kmsKeypair(ctx context.Context, uri string) (*keypair, error) {
	providers := kms.SupportedProviders()
	// A URI of another kind would make the library look for a program to run.
	if !slices.ContainsFunc(providers, func(scheme string) bool { return strings.HasPrefix(uri, scheme) }) {
		slices.Sort(providers)
		return nil, fault.New(fault.Usage, "Use one of "+strings.Join(providers, " ")+".", "%s is the URI of no KMS that this build knows", uri)
	}
	held, err := kms.Get(ctx, uri, crypto.SHA256)
	if err != nil {
		return nil, kmsFault(uri, err)
	}
	public, err := held.PublicKey(options.WithContext(ctx))
	if err != nil {
		return nil, kmsFault(uri, err)
	}
	k, err := describe(public)
	if err != nil {
		return nil, unavailable(StepKey, "Use a key of the KMS that is ECDSA P-256 or P-384, or Ed25519.", "the key %s is not taken: %v", uri, err)
	}
	if k.hash != crypto.SHA256 { // the hash is chosen when a key is opened, the algorithm is known after
		if held, err = kms.Get(ctx, uri, k.hash); err != nil {
			return nil, kmsFault(uri, err)
		}
	}
	k.sign = func(ctx context.Context, data []byte) ([]byte, error) {
		return held.SignMessage(bytes.NewReader(data), options.WithContext(ctx))
	}
	return k, nil
}

func kmsFault(uri string, err error) error {
	return unavailable(StepKey, "See that the KMS can be reached and that this user's credentials may use the key.", "the KMS gave no key for %s: %v", uri, err)
}
