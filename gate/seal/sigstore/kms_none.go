//go:build !kms

package sigstore

import (
	"context"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// kmsKeypair refuses: the SDKs of the clouds are four times the size of all the
// rest, and a build has them only when it asks for them.
func kmsKeypair(_ context.Context, uri string) (*keypair, error) {
	return nil, fault.New(fault.Usage, "Use a key file, or a gate that was built with `go build -tags kms ./cmd/gate`.",
		"%s names a key in a KMS, and this build has no providers of KMS keys", uri)
}
