package sigstore

import (
	"context"
	"net/http"
	"time"

	"github.com/verdictgate/verdictgate/gate/retry"
)

// network is how the package reaches services.
type network struct {
	base http.RoundTripper
	wait func(context.Context, time.Duration) error
}

// client gives an HTTP client that makes a request again when its failure may
// pass. The requests of signing can be repeated without harm: each makes a
// certificate, a timestamp or a log entry, and what is not used is forgotten.
func (n *network) client(ctx context.Context, attempts int, warn func(string)) *http.Client {
	return retry.Client{
		Base: n.base, Wait: n.wait, Attempts: attempts, AttemptTime: attemptTime,
		FirstPause: firstPause, MaxPause: maxPause, MaxBody: maxResponse, Warn: warn,
	}.HTTP(ctx)
}
