//go:build !kms

package sigstore

import (
	"context"
	"testing"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

func TestKMSWithoutItsBuild(t *testing.T) {
	const uri = "awskms:///alias/gate"
	_, err := New().Prepare(context.Background(), seal.Signing{Mode: seal.ModeKey, Key: uri})
	refused(t, err, fault.Usage, "", uri, "-tags kms")
	private, _ := keyFile(t, blockPKCS8, p256(t))
	_, err = New().Verify(context.Background(), signWith(t, seal.Signing{Key: private}, statement("a")), seal.Trust{Key: uri})
	refused(t, err, fault.TrustUnavailable, "", uri, "no providers")
}
