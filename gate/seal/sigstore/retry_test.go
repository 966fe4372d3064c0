package sigstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/retry"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// sign prepares and signs in a world, and gives what was warned of.
func (w *world) sign(b *backend) (warned []string, err error) {
	how := w.keyless()
	how.Warn = func(text string) { warned = append(warned, text) }
	s, err := b.Prepare(context.Background(), how)
	if err == nil {
		_, err = s.Sign(context.Background(), statement("a"))
	}
	return warned, err
}

func TestTriedAgain(t *testing.T) {
	for _, path := range []string{tokenPath, certPath, stampPath} {
		t.Run(path, func(t *testing.T) {
			w := newWorld(t)
			b, waited := patient()
			w.failures[path], w.cut[path] = 2, 1
			warned, err := w.sign(b)
			if err != nil {
				t.Fatal(err)
			}
			if n := w.count(path); n != 4 {
				t.Errorf("%d requests", n)
			}
			if len(warned) != 3 || !strings.Contains(strings.Join(warned, "\n"), "503") || !strings.Contains(warned[0], "cut short") || !strings.Contains(warned[2], "4 of 4") {
				t.Errorf("warned %q", warned)
			}
			for i, least := range []time.Duration{firstPause, 2 * firstPause, 4 * firstPause} {
				if d := (*waited)[i]; d < least || d > 2*least {
					t.Errorf("waited %v", *waited)
				}
			}
		})
	}
}

func TestGivenUp(t *testing.T) {
	for path, step := range map[string]string{tokenPath: StepToken, certPath: StepCertificate, stampPath: StepTimestamp} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			b, waited := patient()
			w.failures[path] = 100
			_, err := w.sign(b)
			refused(t, err, fault.SigningUnavailable, step, "503", "come back later", "tried 4 times")
			if n := w.count(path); n != maxAttempts || len(*waited) != maxAttempts-1 {
				t.Errorf("%d requests, waited %v", n, *waited)
			}
		})
		for _, status := range []int{400, 401, 403, 404, 307} {
			t.Run(step+" "+http.StatusText(status), func(t *testing.T) {
				w := newWorld(t)
				b, waited := patient()
				w.answers[path] = status
				w.headers = http.Header{"Location": {"http://127.0.0.1:1/"}}
				_, err := w.sign(b)
				refused(t, err, fault.SigningUnavailable, step)
				if n := w.count(path); n != 1 || len(*waited) != 0 {
					t.Errorf("a refusal was asked for %d times, waited %v", n, *waited)
				}
			})
		}
	}
}

func TestNobodyThere(t *testing.T) {
	w := newWorld(t)
	b, waited := patient()
	w.server.Close()
	_, err := w.sign(b)
	refused(t, err, fault.SigningUnavailable, StepToken, "refused")
	if len(*waited) != maxAttempts-1 {
		t.Errorf("waited %v", *waited)
	}
}

// A server whose certificate nobody vouches for is asked once.
func TestUntrustedServer(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // that a client hung up
	server.StartTLS()
	t.Cleanup(server.Close)
	b, waited := patient()
	_, err := b.Prepare(context.Background(), seal.Signing{Mode: seal.ModeKeyless, Env: environment(requestURLVariable, server.URL+"?a=b", requestTokenVariable, bearer)})
	refused(t, err, fault.SigningUnavailable, StepToken, "certificate")
	if len(*waited) != 0 {
		t.Errorf("waited %v", *waited)
	}
}

func TestRetryAfter(t *testing.T) {
	for asked, least := range map[string]time.Duration{"7": 7 * time.Second, "3600": maxPause, "-1": firstPause, "tomorrow": firstPause} {
		w := newWorld(t)
		b, waited := patient()
		w.failures[certPath] = 1
		w.headers = http.Header{"Retry-After": {asked}}
		if _, err := w.sign(b); err != nil {
			t.Fatal(err)
		}
		if d := (*waited)[0]; d < least || d > max(least, 2*firstPause) {
			t.Errorf("asked for %s, waited %s", asked, d)
		}
	}
}

// Who gives up is obeyed at once: while a service is silent, and in a pause.
func TestCancelled(t *testing.T) {
	t.Run("in a pause", func(t *testing.T) {
		w := newWorld(t)
		b, _ := patient()
		ctx, cancel := context.WithCancel(context.Background())
		b.network.wait = func(ctx context.Context, _ time.Duration) error {
			cancel()
			return retry.Pause(ctx, time.Hour)
		}
		w.failures[tokenPath] = 100
		_, err := b.Prepare(ctx, w.keyless())
		refused(t, err, fault.SigningUnavailable, StepToken)
		if n := w.count(tokenPath); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
	for _, path := range []string{certPath, stampPath} {
		t.Run("while "+path+" is silent", func(t *testing.T) {
			w := newWorld(t)
			silent, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
			ctx, cancel := context.WithCancel(context.Background())
			go func() { // a service that takes the request and says nothing
				c, err := silent.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				c.Read(make([]byte, 1))
				cancel()
				c.Read(make([]byte, 1<<20))
			}()
			b, _ := patient()
			s, err := b.Prepare(ctx, w.keyless())
			if err != nil {
				t.Fatal(err)
			}
			own := s.(*signer)
			if address := "http://" + silent.Addr().String(); path == certPath {
				own.services.fulcio = address
			} else {
				own.services.authorities = []string{address}
			}
			_, err = s.Sign(ctx, statement("a"))
			refused(t, err, fault.SigningUnavailable, "")
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v does not say that it was cancelled", err)
			}
		})
	}
}

func TestAnswerTooLarge(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		for range maxResponse>>20 + 2 {
			if _, err := rw.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	b, waited := patient()
	_, err := b.Prepare(context.Background(), seal.Signing{Mode: seal.ModeKeyless, Env: environment(requestURLVariable, server.URL+"?a=b", requestTokenVariable, bearer)})
	refused(t, err, fault.SigningUnavailable, StepToken, "more than")
	if len(*waited) != 0 {
		t.Errorf("waited %v", *waited)
	}
}
