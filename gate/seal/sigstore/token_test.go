package sigstore

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

func TestTokenOfTheEnvironment(t *testing.T) {
	w := newWorld(t)
	b, _ := patient()
	how := w.keyless()
	how.Env = environment(tokenVariable, w.token()+"\n", requestURLVariable, "http://127.0.0.1:1/?", requestTokenVariable, bearer)
	s, err := b.Prepare(context.Background(), how)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sign(context.Background(), statement("a")); err != nil {
		t.Fatal(err)
	}
	if n := w.count(tokenPath); n != 0 {
		t.Errorf("%d tokens were asked for beside the one at hand", n)
	}
}

func TestNoToken(t *testing.T) {
	w := newWorld(t)
	for name, env := range map[string]func(string) string{
		"nothing":       environment(),
		"nil":           nil,
		"no permission": environment("GITHUB_ACTIONS", "true", requestURLVariable, "http://127.0.0.1:1/"),
	} {
		t.Run(name, func(t *testing.T) {
			how := w.keyless()
			how.Env = env
			b, _ := patient()
			_, err := b.Prepare(context.Background(), how)
			refused(t, err, fault.SigningUnavailable, StepToken, "id-token: write", tokenVariable)
		})
	}
}

func TestTokensRefused(t *testing.T) {
	part := func(payload string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".x"
	}
	for name, token := range map[string]string{
		"no JWT":     "secret-token",
		"two parts":  "secret-token.secret-token",
		"no base64":  "e30.secret token!.x",
		"no JSON":    part("secret-token"),
		"no subject": part(`{"iss":"i","secret":"secret-token"}`),
		"no issuer":  part(`{"sub":"s"}`),
		"an array":   part(`[]`),
		"other type": part(`{"iss":1,"sub":"s"}`),
		"expired":    part(fmt.Sprintf(`{"iss":"i","sub":"s","exp":%d}`, time.Now().Add(-time.Minute).Unix())),
		"about to":   part(fmt.Sprintf(`{"iss":"i","sub":"s","exp":%d}`, time.Now().Add(tokenLeft/2).Unix())),
		"too large":  part(`{"iss":"i","sub":"s","x":"` + strings.Repeat("x", maxToken) + `"}`),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.rawToken = token
			for _, env := range []func(string) string{w.env(), environment(tokenVariable, token)} {
				how := w.keyless()
				how.Env = env
				b, _ := patient()
				_, err := b.Prepare(context.Background(), how)
				refused(t, err, fault.SigningUnavailable, StepToken)
				if strings.Contains(fmt.Sprintf("%+v", fault.As(err)), "secret") || strings.Contains(err.Error(), part("")[:3]+".") {
					t.Errorf("the token is shown: %v", err)
				}
			}
		})
	}
}

// echo is a service that tells everybody what it was sent.
type echo struct{ hidden []string }

func (e echo) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, errors.New("proxy says: " + r.Header.Get("Authorization") + " " + strings.Join(e.hidden, " "))
}

// Whatever a service, a proxy or a library says: no token comes out.
func TestTokensStayInside(t *testing.T) {
	w := newWorld(t)
	check := func(token string, warned []string, err error) {
		t.Helper()
		if err == nil {
			t.Fatal("no error")
		}
		said := err.Error() + strings.Join(warned, "\n")
		for e := err; e != nil; e = errors.Unwrap(e) {
			said += fmt.Sprintf("\n%+v\n%#v", e, e)
		}
		if strings.Contains(said, token) || !strings.Contains(said, "proxy says") {
			t.Errorf("%s", said)
		}
	}
	var warned []string
	how := w.keyless()
	how.Warn = func(text string) { warned = append(warned, text) }

	b, _ := patient()
	b.network.base = echo{}
	_, err := b.Prepare(context.Background(), how)
	refused(t, err, fault.SigningUnavailable, StepToken)
	check(bearer, warned, err)

	warned = nil
	b, _ = patient()
	s, err := b.Prepare(context.Background(), how)
	if err != nil {
		t.Fatal(err)
	}
	token := s.(*signer).identity.token
	b.network.base = echo{[]string{token}}
	_, err = s.Sign(context.Background(), statement("a"))
	refused(t, err, fault.SigningUnavailable, StepCertificate)
	check(token, warned, err)

	// A service that quotes what it was sent, at such a length that it is cut.
	b = s.(*signer).backend
	b.network.base = answering(func(r *http.Request) (int, string, error) {
		return http.StatusBadGateway, strings.Repeat("proxy says ", 20) + r.Header.Get("Authorization"), nil
	})
	_, err = s.Sign(context.Background(), statement("a"))
	check(token[:40], nil, err)
	b.network.base = answering(func(r *http.Request) (int, string, error) {
		return http.StatusForbidden, strings.Repeat("proxy says ", 24) + r.Header.Get("Authorization"), nil
	})
	how.Env = environment(requestURLVariable, "http://127.0.0.1:1/?", requestTokenVariable, strings.Repeat("long", 100))
	_, err = b.Prepare(context.Background(), how)
	check("longlong", nil, err)
}

// A run can take longer than a token lives, or a certificate.
func TestLongRun(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	b, _ := patient()
	var later time.Duration
	b.now = func() time.Time { return time.Now().Add(later) }
	s, err := b.Prepare(ctx, w.keyless())
	if err != nil {
		t.Fatal(err)
	}
	sign := func() error {
		_, err := s.Sign(ctx, statement("a"))
		return err
	}
	later = w.lifetime
	if refused := sign(); refused == nil {
		t.Fatal("an expired token was used") // the endpoint's clock did not go on
	}
	w.lifetime += later
	if err := sign(); err != nil {
		t.Fatal(err)
	}
	if tokens, certificates := w.count(tokenPath), w.count(certPath); tokens != 3 || certificates != 1 {
		t.Errorf("%d tokens, %d certificates", tokens, certificates)
	}
	if err := sign(); err != nil || w.count(certPath) != 1 {
		t.Errorf("%d certificates, %v", w.count(certPath), err)
	}
	later = w.certFor // the certificate is over as well
	w.lifetime += w.certFor
	if err := sign(); err != nil || w.count(certPath) != 2 {
		t.Errorf("%d certificates, %v", w.count(certPath), err)
	}
	later += w.lifetime
	w.lifetime += later
	w.claims["sha"] = strings.Repeat("f", 40)
	refused(t, sign(), fault.SigningUnavailable, StepToken, "changed")
}

// What does not verify is not called signed.
func TestConfirmed(t *testing.T) {
	for _, c := range []struct {
		name  string
		world func(*world)
		words []string
	}{
		{"a root that is not the services'", func(w *world) { w.write("trusted_root.json", newWorld(w.t).trustedRoot()) }, []string{"timestamp"}},
		{"a timestamp that is off", func(w *world) { w.stampAt = time.Hour }, []string{"valid from"}},
		{"a certificate that was not logged", func(w *world) { w.noSCT = true }, []string{"transparency"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.world(w)
			b, _ := patient()
			_, err := w.sign(b)
			refused(t, err, fault.SigningUnavailable, StepVerification, append(c.words, "does not verify")...)
		})
	}
	t.Run("a key that signs something else", func(t *testing.T) {
		k, err := newKeypair(p256(t))
		if err != nil {
			t.Fatal(err)
		}
		other, err := newKeypair(p256(t))
		if err != nil {
			t.Fatal(err)
		}
		k.sign = other.sign
		_, err = (&signer{backend: New().(*backend), services: &services{}, key: k}).Sign(context.Background(), statement("a"))
		refused(t, err, fault.SigningUnavailable, StepVerification)
		k.sign = func(context.Context, []byte) ([]byte, error) { return nil, errors.New("the token is locked") }
		_, err = (&signer{backend: New().(*backend), services: &services{}, key: k}).Sign(context.Background(), statement("a"))
		refused(t, err, fault.SigningUnavailable, StepSigning, "locked")
	})
}

func TestServicesRefused(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct{ config, root, step, word string }{
		"no config":     {"none", "trusted_root.json", StepServices, "cannot be read"},
		"no JSON":       {"text", "trusted_root.json", StepServices, "text"},
		"nothing in it": {"empty", "trusted_root.json", StepServices, "Fulcio"},
		"no time":       {"timeless", "trusted_root.json", StepServices, "timestamp authority"},
		"no root":       {"signing_config.json", "none", StepTrustedRoot, "cannot be read"},
		"a bad root":    {"signing_config.json", "text", StepTrustedRoot, "no trusted root"},
	} {
		t.Run(name, func(t *testing.T) {
			w.write("text", []byte("hello"))
			w.write("empty", []byte(`{"mediaType":"application/vnd.dev.sigstore.signingconfig.v0.2+json"}`))
			w.write("timeless", w.signingConfig(nil, nil))
			how := w.keyless()
			how.SigningConfig, how.TrustedRoot = w.file(c.config), w.file(c.root)
			b, _ := patient()
			_, err := b.Prepare(context.Background(), how)
			refused(t, err, fault.SigningUnavailable, c.step, c.word)
		})
	}
	// A key needs no services, and is not asked for any.
	private, _ := keyFile(t, blockPKCS8, p256(t))
	b, _ := patient()
	b.network.base = echo{}
	if _, err := b.Prepare(context.Background(), seal.Signing{Mode: seal.ModeKey, Key: private}); err != nil {
		t.Error(err)
	}
}
