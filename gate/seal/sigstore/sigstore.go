package sigstore

import (
	"context"
	"net/http"
	"time"

	"github.com/sigstore/sigstore-go/pkg/tuf"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/retry"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// backend implements seal.Backend.
type backend struct {
	network *network
	now     func() time.Time
	tufRoot func() []byte // of the public instance's TUF repository
	// fetchTime is how long that repository is waited for.
	fetchTime time.Duration
}

// New gives the backend that signs and verifies with Sigstore. It holds no
// state: what was fetched is kept in the cache folder that a call names.
func New() seal.Backend {
	return &backend{network: &network{base: http.DefaultTransport, wait: retry.Pause}, now: time.Now, tufRoot: tuf.DefaultRoot, fetchTime: fetchTime}
}

// Prepare implements seal.Backend.
func (b *backend) Prepare(ctx context.Context, how seal.Signing) (seal.Signer, error) {
	if how.Env == nil {
		how.Env = func(string) string { return "" }
	}
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	switch how.Mode {
	case seal.ModeKey:
		return b.prepareKey(ctx, how)
	case seal.ModeKeyless:
		return b.prepareKeyless(ctx, how)
	}
	return nil, fault.New(fault.Usage, "Sign with --sign key or --sign keyless.", "%q is no way of signing", how.Mode)
}
