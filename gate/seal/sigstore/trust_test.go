package sigstore

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// answering is a network where every request gets the same.
type answering func(*http.Request) (int, string, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body, err := a(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func TestSnapshot(t *testing.T) {
	r, err := root.NewTrustedRootFromJSON(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	day, err := time.Parse(time.DateOnly, snapshotDate)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.FulcioCertificateAuthorities()) < 2 || len(r.CTLogs()) < 2 || len(r.TimestampingAuthorities()) < 1 {
		t.Error("a part of it is missing")
	}
	v2 := false
	for _, log := range r.RekorLogs() {
		v2 = v2 || strings.HasPrefix(log.BaseURL, "https://log20")
		if log.ValidityPeriodStart.After(day) {
			t.Errorf("the log %s is younger than the snapshot", log.BaseURL)
		}
	}
	if !v2 {
		t.Error("it knows no Rekor v2 log")
	}
}

func TestPublicInstanceUnreachable(t *testing.T) {
	for name, network := range map[string]answering{
		"no network": func(*http.Request) (int, string, error) { return 0, "", errors.New("no route to host") },
		"down":       func(*http.Request) (int, string, error) { return http.StatusBadGateway, "", nil },
		// A wall that drops packets: nobody answers, and nobody says so.
		"silent": func(r *http.Request) (int, string, error) { <-r.Context().Done(); return 0, "", r.Context().Err() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			signed := w.unconfirmed(statement("a"))
			b, waited := patient()
			b.network.base = network
			if name == "silent" {
				b.fetchTime = time.Millisecond
			}
			var warned []string
			trust := w.trust()
			trust.TrustedRoot, trust.CacheDir = "", filepath.Join(t.TempDir(), "cache")
			trust.Warn = func(text string) { warned = append(warned, text) }
			// The copy is the public instance's, which did not sign this. Whether a
			// newer one would know the signer, nobody here can tell.
			_, err := b.Verify(context.Background(), signed, trust)
			if f := fault.As(err); err == nil || f.Code != fault.TrustUnavailable || !strings.Contains(f.Message, snapshotDate) {
				t.Errorf("%v", err)
			}
			if said := strings.Join(warned, "\n"); !strings.Contains(said, snapshotDate) || !strings.Contains(said, "cannot be reached") {
				t.Errorf("warned %q", warned)
			}
			if len(*waited) > 2*(fetchAttempts-1) {
				t.Errorf("waited %v", *waited)
			}
			// Signing cannot do without.
			how := w.keyless()
			how.SigningConfig, how.TrustedRoot = "", ""
			how.Env = environment(tokenVariable, w.token())
			_, err = b.Prepare(context.Background(), how)
			refused(t, err, fault.SigningUnavailable, StepServices, "--signing-config")
		})
	}
}

// A repository whose answers do not verify is no weather: nothing is used in
// its place.
func TestPublicInstanceForged(t *testing.T) {
	w := newWorld(t)
	signed := w.unconfirmed(statement("a"))
	for name, network := range map[string]answering{
		"not it":  func(*http.Request) (int, string, error) { return http.StatusOK, `{"signed":{},"signatures":[]}`, nil },
		"no JSON": func(*http.Request) (int, string, error) { return http.StatusOK, "hello", nil },
		"empty":   func(*http.Request) (int, string, error) { return http.StatusNotFound, "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := patient()
			b.network.base = network
			trust := w.trust()
			trust.TrustedRoot = ""
			_, err := b.Verify(context.Background(), signed, trust)
			refused(t, err, fault.TrustUnavailable, "", "nothing was said", "--trusted-root")
		})
	}
}

func TestTrustCancelled(t *testing.T) {
	w := newWorld(t)
	signed := w.unconfirmed(statement("a"))
	ctx, cancel := context.WithCancel(context.Background())
	b, _ := patient()
	b.network.base = answering(func(r *http.Request) (int, string, error) {
		cancel()
		<-r.Context().Done()
		return 0, "", r.Context().Err()
	})
	trust := w.trust()
	trust.TrustedRoot = ""
	_, err := b.Verify(ctx, signed, trust)
	refused(t, err, fault.TrustUnavailable, "")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not say that it was cancelled", err)
	}
}

// A key needs no network, whatever the bundle carries.
func TestKeyNeedsNoNetwork(t *testing.T) {
	w := newWorld(t)
	private, public := keyFile(t, blockPKCS8, p256(t))
	signed := signWith(t, seal.Signing{Key: private, SigningConfig: w.file("signing_config.json"), TrustedRoot: w.file("trusted_root.json")}, statement("a"))
	b, _ := patient()
	b.network.base = answering(func(r *http.Request) (int, string, error) {
		t.Errorf("%s was asked", r.URL)
		return 0, "", errors.New("no")
	})
	if _, err := b.Verify(context.Background(), signed, seal.Trust{Key: public}); err != nil {
		t.Error(err)
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if !writable(filepath.Join(dir, "a", "b")) {
		t.Error("a folder that can be made is not")
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "a", "b")); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	put(t, filepath.Join(dir, "file"), nil)
	for _, name := range []string{"", filepath.Join(dir, "file"), filepath.Join(dir, "file", "x")} {
		if writable(name) {
			t.Errorf("%q", name)
		}
	}
}
