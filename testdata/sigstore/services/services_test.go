package services_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/verdictgate/verdictgate/testdata/sigstore/cosign"
	"github.com/verdictgate/verdictgate/testdata/sigstore/services"
)

// These tests prove the services, so that a test of the gate which fails tells
// of the gate: a client that is not the gate signs, and two verifiers that are
// not the gate accept.

const checkout = "../../.."

const predicateType = "https://example.com/loop/v1"

type loop struct {
	*services.Services
	cli  cosign.CLI
	blob string
}

func start(t *testing.T) loop {
	t.Helper()
	rekor, err := cosign.Tool(t.Context(), checkout, "rekor")
	if err != nil {
		t.Fatal(err)
	}
	program, err := cosign.Tool(t.Context(), checkout, "cosign")
	if err != nil {
		t.Fatal(err)
	}
	s, err := services.Start(t.Context(), services.Config{Dir: t.TempDir(), Rekor: rekor})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	blob := filepath.Join(t.TempDir(), "shop.tar")
	if err := os.WriteFile(blob, []byte("release"), 0o644); err != nil {
		t.Fatal(err)
	}
	return loop{s, cosign.CLI{Program: program, Home: t.TempDir()}, blob}
}

// sign signs a statement about the blob as a client of the services.
func (l loop) sign(ctx context.Context, use services.Use) ([]byte, error) {
	token, err := l.Issuer.Token("sigstore")
	if err != nil {
		return nil, err
	}
	keypair, err := sign.NewEphemeralKeypair(nil)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(l.blob)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	statement := fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"shop.tar","digest":{"sha256":%q}}],"predicateType":%q,"predicate":{"fine":true}}`,
		hex.EncodeToString(sum[:]), predicateType)
	options := sign.BundleOptions{
		Context:                    ctx,
		CertificateProvider:        sign.NewFulcio(&sign.FulcioOptions{BaseURL: l.Fulcio.URL, Retries: 0}),
		CertificateProviderOptions: &sign.CertificateProviderOptions{IDToken: token},
	}
	if use.Timestamps {
		options.TimestampAuthorities = []*sign.TimestampAuthority{sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{URL: l.TSA.URL})}
	}
	if use.Log {
		options.TransparencyLogs = []sign.Transparency{sign.NewRekor(&sign.RekorOptions{BaseURL: l.Rekor.URL, Version: 2})}
	}
	signed, err := sign.Bundle(&sign.DSSEData{Data: []byte(statement), PayloadType: "application/vnd.in-toto+json"}, keypair, options)
	if err != nil {
		return nil, err
	}
	return protojson.Marshal(signed)
}

func (l loop) save(t *testing.T, signed []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bundle.json")
	if err := os.WriteFile(path, signed, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatTheServicesSignIsAcceptedByCosign(t *testing.T) {
	l := start(t)
	for name, use := range map[string]services.Use{
		"timestamp":         {Timestamps: true},
		"timestamp and log": {Timestamps: true, Log: true},
	} {
		t.Run(name, func(t *testing.T) {
			signed, err := l.sign(t.Context(), use)
			if err != nil {
				t.Fatal(err)
			}
			path := l.save(t, signed)
			by := cosign.By{Identity: l.Issuer.SAN(), Issuer: l.Issuer.URL, TrustedRoot: l.TrustedRoot, Logged: use.Log}
			if err := l.cli.Verify(t.Context(), path, l.blob, predicateType, by); err != nil {
				t.Error(err)
			}
			wrong := by
			wrong.Issuer = l.OtherIssuer.URL
			if err := l.cli.Verify(t.Context(), path, l.blob, predicateType, wrong); err == nil {
				t.Error("another issuer is accepted")
			}
			wrong = by
			wrong.Identity = strings.Replace(by.Identity, "acme", "evil", 1)
			if err := l.cli.Verify(t.Context(), path, l.blob, predicateType, wrong); err == nil {
				t.Error("another identity is accepted")
			}
			if err := l.cli.Verify(t.Context(), path, l.blob, predicateType+"/other", by); err == nil {
				t.Error("another predicate type is accepted")
			}
			if wrong = by; !use.Log {
				wrong.Logged = true
				if err := l.cli.Verify(t.Context(), path, l.blob, predicateType, wrong); err == nil {
					t.Error("a log entry that is not there is accepted")
				}
			}
		})
	}
}

// The CLI signs with the services too, which is how other tests get bundles that
// the gate did not make.
func TestCosignSigns(t *testing.T) {
	l := start(t)
	dir := t.TempDir()
	predicate, bundle := filepath.Join(dir, "predicate.json"), filepath.Join(dir, "bundle.json")
	if err := os.WriteFile(predicate, []byte(`{"fine":true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	what := cosign.What{Type: predicateType, Predicate: predicate}
	t.Run("with a key", func(t *testing.T) {
		private, public, err := l.cli.KeyPair(t.Context(), dir, "pair")
		if err == nil {
			err = l.cli.Attest(t.Context(), bundle, l.blob, what, private)
		}
		if err == nil {
			err = l.cli.Verify(t.Context(), bundle, l.blob, predicateType, cosign.By{Key: public})
		}
		if err != nil {
			t.Fatal(err)
		}
		_, other, err := l.cli.KeyPair(t.Context(), dir, "other")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.cli.Verify(t.Context(), bundle, l.blob, predicateType, cosign.By{Key: other}); err == nil {
			t.Error("another key is accepted")
		}
	})
	t.Run("keyless", func(t *testing.T) {
		// A timestamp only: 2.6.5 logs a DSSE envelope in a form that Rekor v2 refuses.
		config, err := l.SigningConfig(services.Use{Timestamps: true})
		if err != nil {
			t.Fatal(err)
		}
		job := cosign.Job{Env: l.Issuer.Env(), SigningConfig: config, TrustedRoot: l.TrustedRoot}
		if err := l.cli.AttestKeyless(t.Context(), bundle, l.blob, what, job); err != nil {
			t.Fatal(err)
		}
		by := cosign.By{Identity: l.Issuer.SAN(), Issuer: l.Issuer.URL, TrustedRoot: l.TrustedRoot}
		if err := l.cli.Verify(t.Context(), bundle, l.blob, predicateType, by); err != nil {
			t.Error(err)
		}
	})
}

// extensions verifies a bundle with sigstore-go and gives what its certificate says.
func (l loop) extensions(t *testing.T, signed []byte) certificate.Extensions {
	t.Helper()
	trusted, err := root.NewTrustedRootFromPath(l.TrustedRoot)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := verify.NewVerifier(trusted, verify.WithSignedCertificateTimestamps(1), verify.WithSignedTimestamps(1))
	if err != nil {
		t.Fatal(err)
	}
	var b bundle.Bundle
	if err := b.UnmarshalJSON(signed); err != nil {
		t.Fatal(err)
	}
	identity, err := verify.NewShortCertificateIdentity(l.Issuer.URL, "", l.Issuer.SAN(), "")
	if err != nil {
		t.Fatal(err)
	}
	result, err := verifier.Verify(&b, verify.NewPolicy(verify.WithoutArtifactUnsafe(), verify.WithCertificateIdentity(identity)))
	if err != nil {
		t.Fatal(err)
	}
	return result.Signature.Certificate.Extensions
}

func TestTheCertificateSaysWhatTheTokenClaims(t *testing.T) {
	l := start(t)
	const sha = "fedcba9876543210fedcba9876543210fedcba98"
	l.Issuer.Claims(func(c *services.Claims) {
		c.RunnerEnvironment, c.SHA, c.Repository = "self-hosted", sha, "acme/other"
		c.JobWorkflowRef = "acme/other/.github/workflows/own.yml@refs/heads/main"
	})
	signed, err := l.sign(t.Context(), services.Use{Timestamps: true})
	if err != nil {
		t.Fatal(err)
	}
	got := l.extensions(t, signed)
	want := certificate.Extensions{
		Issuer: l.Issuer.URL, BuildSignerURI: l.Issuer.SAN(), BuildSignerDigest: "89abcdef0123456789abcdef0123456789abcdef",
		RunnerEnvironment: "self-hosted", SourceRepositoryURI: "https://github.com/acme/other", SourceRepositoryDigest: sha,
		SourceRepositoryRef: "refs/heads/main", SourceRepositoryIdentifier: "101", SourceRepositoryOwnerURI: "https://github.com/acme",
		SourceRepositoryOwnerIdentifier: "7", BuildConfigURI: "https://github.com/acme/shop/.github/workflows/release.yml@refs/heads/main",
		BuildConfigDigest: "0123456789abcdef0123456789abcdef01234567", BuildTrigger: "push",
		RunInvocationURI:                    "https://github.com/acme/other/actions/runs/42/attempts/1",
		SourceRepositoryVisibilityAtSigning: "private",
		// The five of the first generation, which older verifiers read.
		GithubWorkflowTrigger: "push", GithubWorkflowSHA: sha, GithubWorkflowName: "release",
		GithubWorkflowRepository: "acme/other", GithubWorkflowRef: "refs/heads/main",
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	l.Issuer.Reset()
	if l.Issuer.SAN() == got.BuildSignerURI {
		t.Error("Reset does not give the claims back")
	}
}

func TestFulcioRefuses(t *testing.T) {
	l := start(t)
	t.Run("an expired token", func(t *testing.T) {
		defer l.Issuer.Reset()
		l.Issuer.Expire()
		if _, err := l.sign(t.Context(), services.Use{Timestamps: true}); err == nil {
			t.Error("an expired token is accepted")
		}
	})
	t.Run("while it is told to fail", func(t *testing.T) {
		l.Fulcio.Fail(2)
		before := l.Fulcio.Asked()
		for i := range 3 {
			_, err := l.sign(t.Context(), services.Use{Timestamps: true})
			if failed := err != nil; failed != (i < 2) {
				t.Errorf("try %d: %v", i, err)
			}
		}
		if n := l.Fulcio.Asked() - before; n != 3 {
			t.Errorf("it was asked %d times, not 3", n)
		}
	})
	t.Run("until it is told otherwise", func(t *testing.T) {
		l.Fulcio.Fail(services.Always)
		if _, err := l.sign(t.Context(), services.Use{Timestamps: true}); err == nil {
			t.Error("it does not fail")
		}
		l.Fulcio.Fail(0)
		if _, err := l.sign(t.Context(), services.Use{Timestamps: true}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a token of nobody's", func(t *testing.T) {
		s, err := services.Start(t.Context(), services.Config{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		other := loop{&services.Services{Issuer: s.Issuer, Fulcio: l.Fulcio, TSA: l.TSA}, l.cli, l.blob}
		if _, err := other.sign(t.Context(), services.Use{Timestamps: true}); err == nil {
			t.Error("a token of an issuer that it does not know is accepted")
		}
	})
}

func TestTheTimestampIsTheAuthoritysTime(t *testing.T) {
	l := start(t)
	l.TSA.Shift(24 * time.Hour)
	signed, err := l.sign(t.Context(), services.Use{Timestamps: true})
	if err != nil {
		t.Fatal(err)
	}
	// The certificate lives for minutes, so at that time it is no longer valid.
	by := cosign.By{Identity: l.Issuer.SAN(), Issuer: l.Issuer.URL, TrustedRoot: l.TrustedRoot}
	if err := l.cli.Verify(t.Context(), l.save(t, signed), l.blob, predicateType, by); err == nil {
		t.Error("a certificate that has expired at the signed time is accepted")
	}
}

func TestTheIssuerWantsItsRequestToken(t *testing.T) {
	l := start(t)
	response, err := http.Get(l.Issuer.URL + "/token?audience=sigstore")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without it the answer is %s", response.Status)
	}
}

func TestClosedServicesAreGone(t *testing.T) {
	l := start(t)
	urls := []string{l.Issuer.URL, l.OtherIssuer.URL, l.CTLog.URL, l.Fulcio.URL, l.TSA.URL, l.Rekor.URL}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, url := range urls {
		if response, err := http.Get(url); err == nil {
			response.Body.Close()
			t.Errorf("%s still answers", url)
		}
	}
	if err := l.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}
