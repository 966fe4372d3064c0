package sigstore

import (
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/tuf"
	"github.com/theupdateframework/go-tuf/v2/metadata"

	"github.com/verdictgate/verdictgate/gate/seal"
)

// snapshot is the trusted root of the public instance as its TUF repository
// (github.com/sigstore/root-signing, Apache-2.0) had it on snapshotDate. It is
// what is left when that cannot be reached: right for signatures made before
// that day, blind to keys that were withdrawn or added since.
//
//go:embed trusted_root.json
var snapshot []byte

const snapshotDate = "2026-08-21"

// readTrustedRoot reads a trusted root from a file.
func readTrustedRoot(name string) (*root.TrustedRoot, error) {
	data, err := readRegular(name, maxTrustedRoot)
	if err != nil {
		return nil, fmt.Errorf("the trusted root %s cannot be read: %w", name, err)
	}
	r, err := root.NewTrustedRootFromJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s is no trusted root: %w", name, err)
	}
	return r, nil
}

// source is where a trusted root comes from.
type source struct {
	file  string // "" for the public instance
	cache string // folder; "" keeps nothing
	warn  func(string)
	old   func(which string) // told which one is used when no newer one could be had; may be nil
}

// trustedRoot gives what certificates, timestamps and log entries are verified
// by.
func (b *backend) trustedRoot(ctx context.Context, from source) (*root.TrustedRoot, error) {
	if from.file != "" {
		return readTrustedRoot(from.file)
	}
	client, err := b.publicInstance(ctx, from)
	if err == nil {
		defer client.close()
		var r *root.TrustedRoot
		if r, err = root.GetTrustedRoot(client.Client); err == nil {
			return r, nil
		}
		err = client.fetch.classify(err)
	}
	var u *unreachable
	if !errors.As(err, &u) {
		return nil, fmt.Errorf("the trusted root of the public Sigstore instance could not be had: %w", err)
	}
	if from.warn != nil {
		from.warn("the public Sigstore instance cannot be reached (" + u.Error() + "); its trusted root of " + snapshotDate +
			", which this program carries, is used: keys that were withdrawn since are still trusted, and newer ones are not known")
	}
	if from.old != nil {
		from.old("of " + snapshotDate + ", which this program carries,")
	}
	return root.NewTrustedRootFromJSON(snapshot)
}

// publicSigningConfig gives the services of the public instance. There is no
// copy of it: who cannot reach its TUF repository cannot reach the rest.
func (b *backend) publicSigningConfig(ctx context.Context, how seal.Signing) (*root.SigningConfig, error) {
	client, err := b.publicInstance(ctx, source{cache: how.CacheDir, warn: how.Warn})
	if err != nil {
		return nil, err
	}
	defer client.close()
	return root.GetSigningConfig(client.Client)
}

// unreachable is the error of a repository that did not answer, as against one
// whose answer does not verify: the one is weather, the other may be an attack.
type unreachable struct{ error }

func (u *unreachable) Unwrap() error { return u.error }

// instance is a TUF client of the public instance.
type instance struct {
	*tuf.Client
	fetch *fetcher
	close func()
}

// publicInstance opens the TUF repository of the public instance: through the
// network, or from what was fetched within a day; when there is no network, also
// from what was fetched before and has not expired.
func (b *backend) publicInstance(ctx context.Context, from source) (*instance, error) {
	// What drops packets is waited for less long than what is told apart from it:
	// there is something to fall back to.
	fetching, cancel := context.WithTimeout(ctx, b.fetchTime)
	fetch := &fetcher{whole: ctx, ctx: fetching, client: b.network.client(fetching, fetchAttempts, from.warn)}
	options := &tuf.Options{Root: b.tufRoot(), RepositoryBaseURL: tuf.DefaultMirror, Fetcher: fetch, Context: fetching}
	if writable(from.cache) {
		options.CachePath, options.CacheValidity = from.cache, cacheDays
	} else {
		options.DisableLocalCache = true
	}
	client, err := tuf.New(options)
	if err == nil {
		return &instance{client, fetch, cancel}, nil
	}
	err = fetch.classify(err)
	cancel()
	var u *unreachable
	if errors.As(err, &u) && !options.DisableLocalCache {
		options.Context = ctx // no network is asked
		if cached, e := tuf.New(options.WithForceCache()); e == nil {
			if from.warn != nil {
				from.warn("the public Sigstore instance cannot be reached (" + u.Error() + "); what was fetched from it before is used: it may not know of keys that came or were withdrawn since")
			}
			if from.old != nil {
				from.old("that was fetched before")
			}
			return &instance{cached, fetch, func() {}}, nil
		}
	}
	return nil, err
}

// writable says whether a folder can keep files; it is made when it is not
// there. A cache that cannot be had is no reason to fail.
func writable(dir string) bool {
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return false
	}
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

// fetcher downloads for the TUF client, and remembers when nobody answered.
type fetcher struct {
	whole  context.Context // of the caller
	ctx    context.Context // of fetching, which ends sooner
	client *http.Client
	silent error
}

func (f *fetcher) classify(err error) error {
	switch {
	case f.whole.Err() != nil:
		return context.Cause(f.whole)
	case errors.Is(f.ctx.Err(), context.DeadlineExceeded):
		return &unreachable{fmt.Errorf("it did not answer in time: %w", f.ctx.Err())}
	case f.silent != nil:
		return &unreachable{f.silent}
	}
	return err
}

// DownloadFile implements fetcher.Fetcher of go-tuf.
func (f *fetcher) DownloadFile(address string, most int64, _ time.Duration) ([]byte, error) {
	req, err := http.NewRequestWithContext(f.ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := f.client.Do(req)
	if err != nil {
		// A certificate that does not hold is no weather: somebody answered.
		var forged *tls.CertificateVerificationError
		if !errors.As(err, &forged) {
			f.silent = err
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &metadata.ErrDownloadHTTP{StatusCode: resp.StatusCode, URL: address}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(data)) > most {
		err = &metadata.ErrDownloadLengthMismatch{Msg: fmt.Sprintf("%s has more than %d bytes", address, most)}
	}
	return data, err
}
