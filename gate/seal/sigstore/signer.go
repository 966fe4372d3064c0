package sigstore

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/retry"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// payloadType is what is signed: in-toto statements, and nothing else.
const payloadType = "application/vnd.in-toto+json"

// signer implements seal.Signer. It is not for use by several goroutines at
// once.
type signer struct {
	backend  *backend
	how      seal.Signing
	services *services
	root     *root.TrustedRoot // nil when nothing of what is signed needs one
	key      *keypair
	identity *identity // nil when a key signs

	certificate *x509.Certificate // the last one, while it lasts
}

func (b *backend) prepareKey(ctx context.Context, how seal.Signing) (seal.Signer, error) {
	key, err := loadKeypair(ctx, how)
	if err != nil {
		return nil, err
	}
	s := &signer{backend: b, how: how, key: key}
	if s.services, err = b.loadServices(ctx, how); err != nil {
		return nil, err
	}
	for _, log := range s.services.logs {
		if key.name == pureEd25519 && !givesTime(log) {
			return nil, unavailable(StepLog, "Use an ECDSA key, or a signing config without a Rekor v2 log.", "a Rekor v2 log takes no signature of an Ed25519 key over a statement")
		}
	}
	if len(s.services.authorities)+len(s.services.logs) > 0 {
		err = s.loadRoot(ctx)
	}
	return s, err
}

func (b *backend) prepareKeyless(ctx context.Context, how seal.Signing) (seal.Signer, error) {
	id, err := b.requestIdentity(ctx, how)
	if err != nil {
		return nil, err
	}
	s := &signer{backend: b, how: how, identity: id}
	if s.services, err = b.loadServices(ctx, how); err != nil {
		return nil, err
	}
	if err := s.loadRoot(ctx); err != nil {
		return nil, err
	}
	// A key of its own for every run, which ends with the process.
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err == nil {
		s.key, err = newKeypair(private)
	}
	if err != nil {
		return nil, unavailable(StepKey, "", "no key could be made: %v", err)
	}
	return s, nil
}

func (s *signer) loadRoot(ctx context.Context) error {
	r, err := s.backend.trustedRoot(ctx, source{file: s.how.TrustedRoot, cache: s.how.CacheDir, warn: s.how.Warn})
	if err != nil {
		return unavailable(StepTrustedRoot, "Pass --trusted-root with the trusted root of the deployment that signs.",
			"what is signed is verified at once, and what it is verified by could not be had: %v", err).Because(retry.Secrets{}.Scrub(err))
	}
	s.root = r
	return nil
}

// Claims implements seal.Signer.
func (s *signer) Claims() *seal.Claims {
	if s.identity == nil {
		return nil
	}
	claims := s.identity.claims
	return &claims
}

// Sign implements seal.Signer.
func (s *signer) Sign(ctx context.Context, statement []byte) (*seal.Signature, error) {
	if len(statement) > maxStatement {
		return nil, unavailable(StepSigning, "Sign a smaller statement.", "the statement has %d bytes; at most %d are signed", len(statement), maxStatement)
	}
	ctx, cancel := context.WithTimeout(ctx, signTime)
	defer cancel()
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	made, err := s.make(ctx, statement)
	for n := 0; errors.Is(err, errConflict) && n < maxConflicts; n++ {
		made, err = s.make(ctx, statement)
	}
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	text, err := encode(made)
	if err != nil {
		return nil, unavailable(StepSigning, "", "the bundle cannot be written: %v", err)
	}
	return s.confirm(text, statement)
}

// refresh gets a new identity token when the last one is over: a run can take
// longer than a token lives. The certificate must be for the same holder.
func (s *signer) refresh(ctx context.Context) error {
	now := s.backend.now()
	if s.identity == nil || s.certificate != nil && validAt(now, s.certificate.NotAfter) ||
		s.identity.expires.IsZero() || now.Add(tokenLeft).Before(s.identity.expires) {
		return nil
	}
	fresh, err := s.backend.requestIdentity(ctx, s.how)
	if err != nil {
		return err
	}
	if fresh.claims != s.identity.claims {
		return unavailable(StepToken, "Run it again, in one job.", "the identity changed while the run went on: it was %s, and is %s", s.identity.claims.Subject, fresh.claims.Subject)
	}
	s.identity = fresh
	return nil
}

// make signs once.
func (s *signer) make(ctx context.Context, statement []byte) (*protobundle.Bundle, error) {
	options, err := s.backend.options(ctx, s.services, s.how.Warn)
	if err != nil {
		return nil, err
	}
	if s.identity != nil {
		options.CertificateProvider = s
		options.CertificateProviderOptions = &sign.CertificateProviderOptions{IDToken: s.identity.token}
	}
	return sign.Bundle(&sign.DSSEData{Data: statement, PayloadType: payloadType}, s.key, options)
}

// GetCertificate implements sign.CertificateProvider: one certificate serves
// all statements of a run, as long as it is valid.
func (s *signer) GetCertificate(ctx context.Context, key sign.Keypair, options *sign.CertificateProviderOptions) ([]byte, error) {
	if s.certificate != nil && validAt(s.backend.now(), s.certificate.NotAfter) {
		return s.certificate.Raw, nil
	}
	fulcio := sign.NewFulcio(&sign.FulcioOptions{BaseURL: s.services.fulcio, Timeout: -1, Transport: s.backend.network.client(ctx, maxAttempts, s.how.Warn).Transport})
	der, err := fulcio.GetCertificate(ctx, key, options)
	if err != nil {
		return nil, at(StepCertificate, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, at(StepCertificate, fmt.Errorf("what it issued is no certificate: %w", err))
	}
	s.certificate = certificate
	return der, nil
}

// explain makes the fault of a signing that failed.
func (s *signer) explain(ctx context.Context, err error) error {
	step, who := StepSigning, "the key could not sign"
	var marked *stepError
	switch {
	case errors.As(err, &marked):
		step = marked.step
	case len(s.services.authorities) > 0:
		step = StepTimestamp // the only step that the library takes by itself
	}
	fix := "Run it again (gate sign RUN needs no new run); if it stays, see that the service is up and that the network lets the gate reach it."
	switch step {
	case StepCertificate:
		who = "the certificate authority " + s.services.fulcio + " gave no certificate"
	case StepTimestamp:
		who = "the timestamp authority gave no timestamp"
	case StepLog:
		who = "the transparency log took no entry"
	}
	var hidden retry.Secrets
	if s.identity != nil {
		hidden = retry.Secrets{s.identity.token}
	}
	told := hidden.Scrub(err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		told = fmt.Errorf("it took longer than %s (%w)", signTime, context.DeadlineExceeded)
	}
	return unavailable(step, fix, "%s: %v", who, told).Because(told)
}

// encode writes a bundle in one form: protojson varies its spaces on purpose.
func encode(made *protobundle.Bundle) ([]byte, error) {
	loose, err := protojson.Marshal(made)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, loose); err != nil {
		return nil, err
	}
	if out.Len() > maxBundle {
		return nil, fmt.Errorf("it has %d bytes; at most %d are read", out.Len(), maxBundle)
	}
	return out.Bytes(), nil
}

// confirm verifies what was signed before anybody is told that it was.
func (s *signer) confirm(text, statement []byte) (*seal.Signature, error) {
	wrong := func(format string, args ...any) (*seal.Signature, error) {
		return nil, unavailable(StepVerification, "If the services are your own, see that --trusted-root belongs to them; else report it.", "what was signed does not verify: "+format, args...)
	}
	entity, err := parse(text)
	if err != nil {
		return wrong("%s", fault.As(err).Message)
	}
	anchor := anchor{}
	if s.root != nil {
		anchor.root = s.root
	}
	if s.identity == nil {
		if anchor.key, err = newKeyVerifier(s.key.public); err != nil {
			return wrong("%v", err)
		}
	}
	proved, err := entity.verify(anchor)
	if err != nil {
		return wrong("%s", fault.As(err).Message)
	}
	if !bytes.Equal(proved.Payload, statement) {
		return wrong("it holds another statement")
	}
	if proved.KeyPEM != s.key.pem {
		return wrong("it was signed by another key")
	}
	return proved, nil
}
