package sigstore

import (
	"context"
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/tuf"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// repository is the TUF repository of a public instance, as a network.
type repository struct {
	root  []byte
	files map[string][]byte // by path
	down  bool
	asked int
}

// publish makes a repository that holds some files.
func publish(t *testing.T, expires time.Time, targets map[string][]byte) *repository {
	t.Helper()
	key := ed(t)
	signer, err := signature.LoadSigner(key, crypto.Hash(0))
	if err != nil {
		t.Fatal(err)
	}
	public, err := metadata.KeyFromPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	r := &repository{files: map[string][]byte{}}
	top, list, snapshot, stamp := metadata.Root(expires), metadata.Targets(expires), metadata.Snapshot(expires), metadata.Timestamp(expires)
	for _, role := range []string{"root", "targets", "snapshot", "timestamp"} {
		if err := top.Signed.AddKey(public, role); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range targets {
		info, err := metadata.TargetFile().FromBytes(name, data, "sha256")
		if err != nil {
			t.Fatal(err)
		}
		list.Signed.Targets[name] = info
		r.files["/targets/"+hex.EncodeToString(info.Hashes["sha256"])+"."+name] = data
	}
	_, err1 := top.Sign(signer)
	_, err2 := list.Sign(signer)
	_, err3 := snapshot.Sign(signer)
	_, err4 := stamp.Sign(signer)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	r.root = bytesOf(t, top)
	r.files["/1.targets.json"], r.files["/1.snapshot.json"], r.files["/timestamp.json"] = bytesOf(t, list), bytesOf(t, snapshot), bytesOf(t, stamp)
	return r
}

func bytesOf(t *testing.T, m interface{ ToBytes(bool) ([]byte, error) }) []byte {
	t.Helper()
	data, err := m.ToBytes(false)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// serve makes a backend whose public instance the repository is. Everything
// else is reached as ever.
func (r *repository) serve(b *backend) {
	b.tufRoot = func() []byte { return r.root }
	b.network.base = answering(func(req *http.Request) (int, string, error) {
		if "https://"+req.URL.Host != tuf.DefaultMirror {
			return 0, "", fmt.Errorf("%s is no part of this", req.URL)
		}
		r.asked++
		data, ok := r.files[req.URL.Path]
		switch {
		case r.down:
			return 0, "", errors.New("no route to host")
		case !ok:
			return http.StatusNotFound, "", nil
		}
		return http.StatusOK, string(data), nil
	})
}

func TestPublicInstance(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	signed := w.unconfirmed(statement("a"))
	r := publish(t, time.Now().Add(time.Hour), map[string][]byte{"trusted_root.json": w.trustedRoot(), "signing_config.v0.2.json": w.signingConfig(nil, []string{w.server.URL + stampPath})})
	b, _ := patient()
	r.serve(b)
	var warned []string
	trust := w.trust()
	trust.TrustedRoot, trust.CacheDir = "", t.TempDir()
	trust.Warn = func(text string) { warned = append(warned, text) }
	verify := func() error {
		_, err := b.Verify(ctx, signed, trust)
		return err
	}
	if err := verify(); err != nil {
		t.Fatal(err)
	}
	// What was fetched today is not asked for again, and serves without a network.
	first := r.asked
	if r.down = true; verify() != nil || r.asked != first {
		t.Errorf("%d requests more", r.asked-first)
	}
	// Nor is it lost when the day is over: it has not expired.
	put(t, trust.CacheDir+"/"+tuf.URLToPath(tuf.DefaultMirror)+".json", []byte(`{"lastTimestamp":"2020-01-01T00:00:00Z"}`))
	if err := verify(); err != nil || r.asked == first {
		t.Errorf("%d requests more, %v", r.asked-first, err)
	}
	if said := strings.Join(warned, "\n"); !strings.Contains(said, "fetched from it before") {
		t.Errorf("no word of an old root: %q", said)
	}
	// Whom it does not know, a newer one may.
	strangers := newWorld(t)
	if _, err := b.Verify(ctx, strangers.unconfirmed(statement("a")), trust); err == nil || fault.As(err).Code != fault.TrustUnavailable {
		t.Errorf("a stranger, by an old root: %v", err)
	}
	for _, text := range warned {
		if strings.Contains(text, snapshotDate) {
			t.Errorf("warned of the copy, though the cache holds: %q", text)
		}
	}
	// Without a cache it is fetched each time.
	r.down, trust.CacheDir = false, ""
	for range 2 {
		before := r.asked
		if err := verify(); err != nil || r.asked == before {
			t.Errorf("%d requests, %v", r.asked-before, err)
		}
	}

	// Signing learns the services there, and what to verify them by.
	b.network.base = split{b.network.base, http.DefaultTransport}
	s, err := b.Prepare(ctx, seal.Signing{Mode: seal.ModeKeyless, Env: w.env(), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sign(ctx, statement("b")); err != nil {
		t.Error(err)
	}
}

// split sends what is for the public instance one way, and the rest another.
type split struct{ public, rest http.RoundTripper }

func (s split) RoundTrip(r *http.Request) (*http.Response, error) {
	if "https://"+r.URL.Host == tuf.DefaultMirror {
		return s.public.RoundTrip(r)
	}
	return s.rest.RoundTrip(r)
}

// A repository that went stale, or whose files were exchanged, is not weather.
func TestPublicInstanceTampered(t *testing.T) {
	w := newWorld(t)
	signed := w.unconfirmed(statement("a"))
	files := map[string][]byte{"trusted_root.json": w.trustedRoot()}
	for name, r := range map[string]*repository{
		"expired": publish(t, time.Now().Add(-time.Hour), files),
		"exchanged": func() *repository {
			r := publish(t, time.Now().Add(time.Hour), files)
			for path := range r.files {
				if strings.HasPrefix(path, "/targets/") {
					r.files[path] = newWorld(t).trustedRoot()
				}
			}
			return r
		}(),
		"without its root": publish(t, time.Now().Add(time.Hour), nil),
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := patient()
			r.serve(b)
			trust := w.trust()
			trust.TrustedRoot, trust.CacheDir = "", t.TempDir()
			_, err := b.Verify(context.Background(), signed, trust)
			refused(t, err, fault.TrustUnavailable, "", "nothing was said")
		})
	}
}
