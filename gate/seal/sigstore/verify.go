package sigstore

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// Where a verified time comes from, as seal.Time has it.
const (
	fromAuthority = "timestamp_authority"
	fromLog       = "transparency_log"
)

// The types of statements that are relied on: what this gate makes, and what
// `cosign attest-blob` makes to this day. They differ in nothing but the name.
const (
	statementV1  = "https://in-toto.io/Statement/v1"
	statementV01 = "https://in-toto.io/Statement/v0.1"
)

// entity is a Sigstore bundle that was read and not verified.
type entity struct {
	text        []byte
	bundle      *bundle.Bundle
	envelope    *protodsse.Envelope
	certificate *x509.Certificate // nil when a key signed
	hint        string            // what the bundle calls the key
	stamps      int               // timestamps of authorities that it carries
	entries     int               // log entries that it carries
}

// anchor is what a bundle is verified by. Nothing of it comes from the bundle.
type anchor struct {
	key      *keyVerifier         // nil for certificates
	root     root.TrustedMaterial // nil when there is none; certificates need it
	identity *seal.Identity       // nil for any
	old      string               // which root it is, when a newer one could not be had
}

// Verify implements seal.Backend.
func (b *backend) Verify(ctx context.Context, text []byte, trust seal.Trust) (*seal.Signature, error) {
	if err := trust.Usable(); err != nil {
		return nil, err
	}
	e, err := parse(text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, trustTime)
	defer cancel()
	a, err := b.anchorOf(ctx, e, trust)
	if err != nil {
		return nil, err
	}
	proved, err := e.verify(a)
	if a.old != "" && err != nil && fault.As(err).Details["reason"] == Untrusted {
		// Keys change. What an old copy does not know may be known to the instance.
		return nil, noTrust("Verify it where the public Sigstore instance can be reached, or pass --trusted-root.",
			"the trusted root %s does not vouch for it, and a newer one could not be had: %s", a.old, fault.As(err).Message).Because(err)
	}
	return proved, err
}

// parse reads a bundle. What is wrong with its form is said here, before any
// key is looked at.
func parse(text []byte) (*entity, error) {
	if len(text) > maxBundle {
		return nil, invalid(Malformed, "the Sigstore bundle has %d bytes; at most %d are read", len(text), maxBundle)
	}
	e := &entity{text: text, bundle: &bundle.Bundle{}}
	if err := e.bundle.UnmarshalJSON(text); err != nil {
		return nil, invalid(Malformed, "it is no Sigstore bundle that can be read: %v", err)
	}
	e.envelope = e.bundle.GetDsseEnvelope()
	switch {
	case e.envelope == nil:
		return nil, invalid(NotAStatement, "the bundle holds the signature of a file, and not a signed statement")
	case len(e.envelope.Signatures) != 1 || e.envelope.Signatures[0] == nil:
		return nil, invalid(Malformed, "the bundle's statement has %d signatures, and must have one", len(e.envelope.Signatures))
	case e.envelope.PayloadType != payloadType:
		return nil, invalid(NotAStatement, "what was signed is of the type %q, and not %q", e.envelope.PayloadType, payloadType)
	}
	content, err := e.bundle.VerificationContent()
	if err != nil {
		return nil, invalid(Malformed, "what the bundle was signed with cannot be read: %v", err)
	}
	if e.certificate = content.Certificate(); e.certificate == nil {
		e.hint = content.PublicKey().Hint()
	}
	stamps, err := e.bundle.Timestamps()
	if err != nil {
		return nil, invalid(Malformed, "the bundle's timestamps cannot be read: %v", err)
	}
	e.stamps, e.entries = len(stamps), len(e.bundle.GetVerificationMaterial().GetTlogEntries())
	return e, nil
}

// anchorOf gets what a policy trusts, for a bundle.
func (b *backend) anchorOf(ctx context.Context, e *entity, trust seal.Trust) (anchor, error) {
	signedByKey := e.certificate == nil
	var a anchor
	var err error
	switch {
	case trust.Key != "" && !signedByKey:
		return a, invalid(SignedByCertificate, "the policy trusts a key, and the bundle was signed with a certificate (%s)", holder(e.certificate))
	case trust.Key == "" && !trust.Unpinned && signedByKey:
		return a, invalid(SignedByKey, "the policy trusts an identity, and the bundle was signed by a key")
	case trust.Key != "":
		a.key, err = loadPublic(ctx, trust.Key)
	case signedByKey && trust.KeyPEM == "":
		return a, invalid(WrongKey, "the bundle was signed by a key, and nothing says by which")
	case signedByKey:
		if a.key, err = parsePublic([]byte(trust.KeyPEM)); err != nil {
			return a, invalid(WrongKey, "the key that is said to have signed cannot be used: %v", err)
		}
	case !trust.Unpinned:
		a.identity = &trust.Identity
	}
	if err != nil {
		return a, err
	}
	// A key's signature proves itself. The trusted root is for the times beside
	// it, and is never fetched for them.
	if signedByKey && (trust.TrustedRoot == "" || e.stamps+e.entries == 0) {
		return a, nil
	}
	r, err := b.trustedRoot(ctx, source{file: trust.TrustedRoot, cache: trust.CacheDir, warn: trust.Warn, old: func(which string) { a.old = which }})
	if err != nil {
		return a, noTrust("Pass --trusted-root with the trusted root of the deployment that signed.", "nothing was said about the signature: %v", err).Because(err)
	}
	a.root = r
	return a, nil
}

// holder is how messages call the holder of a certificate.
func holder(c *x509.Certificate) string {
	s, err := certificate.SummarizeCertificate(c)
	if err != nil {
		return "which names nobody"
	}
	return fmt.Sprintf("%s, vouched for by %s", s.SubjectAlternativeName, s.Issuer)
}

// material is what the library verifies by: a trusted root, and at most one
// key. The bundle's own name for its key decides nothing.
type material struct {
	root.TrustedMaterial
	key *keyVerifier
}

// PublicKeyVerifier implements root.TrustedMaterial.
func (m material) PublicKeyVerifier(string) (root.TimeConstrainedVerifier, error) {
	if m.key == nil {
		return nil, errors.New("no key is trusted")
	}
	return m.key, nil
}

// verify asks the library, and only the library, whether the signature holds.
// What explain finds out afterwards words a refusal and never lifts one.
func (e *entity) verify(a anchor) (*seal.Signature, error) {
	if a.root == nil {
		a.root = &root.BaseTrustedMaterial{}
	}
	m := material{a.root, a.key}
	options, policy, err := e.demands(a)
	if err != nil {
		return nil, err
	}
	v, err := verify.NewVerifier(m, options...)
	if err != nil {
		return nil, fault.New(fault.BackendFailed, "", "the verifier cannot be set up: %v", err)
	}
	result, err := v.Verify(e.bundle, verify.NewPolicy(verify.WithoutArtifactUnsafe(), policy))
	if err != nil {
		return nil, e.explain(m, a.identity, err)
	}
	if got := result.Statement.GetType(); got != statementV1 && got != statementV01 {
		return nil, invalid(NotAStatement, "what was signed calls itself %q, and not %q", got, statementV1)
	}
	times := result.VerifiedTimestamps
	if e.certificate == nil {
		if times, err = e.timesOfKey(m); err != nil {
			return nil, err
		}
	}
	return e.signature(m, times, result.Signature.Certificate)
}

// demands are what the library must find. The subjects of the statement are
// the caller's to compare: it knows what it is about to rely on.
func (e *entity) demands(a anchor) ([]verify.VerifierOption, verify.PolicyOption, error) {
	// The predicate is parsed once, strictly, by who knows its type.
	options := []verify.VerifierOption{verify.WithoutStatementPredicate()}
	if e.certificate == nil {
		options = append(options, verify.WithNoObserverTimestamps())
		if e.entries > 0 && len(a.root.RekorLogs()) > 0 {
			options = append(options, verify.WithTransparencyLog(1))
		}
		return options, verify.WithKey(), nil
	}
	options = append(options, verify.WithSignedCertificateTimestamps(1), verify.WithObserverTimestamps(1))
	if e.entries > 0 {
		options = append(options, verify.WithTransparencyLog(1))
	}
	if a.identity == nil {
		return options, verify.WithoutIdentitiesUnsafe(), nil
	}
	i := *a.identity
	subject, err1 := verify.NewSANMatcher(i.Subject, seal.Anchored(i.SubjectPattern))
	issuer, err2 := verify.NewIssuerMatcher(i.Issuer, seal.Anchored(i.IssuerPattern))
	id, err3 := verify.NewCertificateIdentity(subject, issuer, certificate.Extensions{})
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, nil, fault.New(fault.Usage, "", "the identity cannot be used: %v", err)
	}
	return options, verify.WithCertificateIdentity(id), nil
}

// timesOfKey verifies the times beside a key's signature, as far as the
// trusted root knows any authority or log: to one that knows none they say
// nothing, and to one that does they must be true.
func (e *entity) timesOfKey(m material) ([]verify.TimestampVerificationResult, error) {
	var out []verify.TimestampVerificationResult
	if e.stamps > 0 && len(m.TimestampingAuthorities()) > 0 {
		stamps, err := verify.VerifySignedTimestampWithThreshold(e.bundle, m, 1)
		if err != nil {
			return nil, invalid(Untrusted, "no timestamp of the bundle is from an authority of the trusted root: %v", err)
		}
		for _, s := range stamps {
			out = append(out, verify.TimestampVerificationResult{Timestamp: s.Time})
		}
	}
	if e.entries > 0 && len(m.RekorLogs()) > 0 {
		logged, err := verify.VerifyTlogEntry(e.bundle, m, 1, true)
		if err != nil {
			return nil, invalid(Untrusted, "no log entry of the bundle is from a log of the trusted root: %v", err)
		}
		for _, l := range logged {
			out = append(out, verify.TimestampVerificationResult{Type: typeLog, Timestamp: l.Time})
		}
	}
	return out, nil
}

// typeLog is what the library calls times of a log.
const typeLog = "Tlog"

// signature says what was proved.
func (e *entity) signature(m material, times []verify.TimestampVerificationResult, summary *certificate.Summary) (*seal.Signature, error) {
	out := &seal.Signature{Mode: seal.ModeKey, Bundle: e.text, Payload: e.envelope.Payload, Value: base64.StdEncoding.EncodeToString(e.envelope.Signatures[0].Sig)}
	for _, t := range times {
		source := fromAuthority
		if t.Type == typeLog {
			source = fromLog
		}
		out.Times = append(out.Times, seal.Time{Source: source, Moment: t.Timestamp.UTC()})
	}
	slices.SortStableFunc(out.Times, func(a, b seal.Time) int { return a.Moment.Compare(b.Moment) })
	if e.certificate == nil {
		out.KeyPEM, out.Algorithm = m.key.pem, m.key.held
		return out, nil
	}
	text, _, err := publicPEM(e.certificate.PublicKey)
	if err != nil {
		return nil, invalid(Malformed, "the certificate's key cannot be written: %v", err)
	}
	out.Mode, out.KeyPEM, out.Algorithm = seal.ModeKeyless, text, certificateAlgorithm(e.certificate)
	out.Certificate = &seal.Certificate{
		Subject: summary.SubjectAlternativeName, Issuer: summary.Issuer,
		BuildSignerURI: summary.BuildSignerURI, BuildSignerDigest: summary.BuildSignerDigest,
		RunnerEnvironment:   summary.RunnerEnvironment,
		SourceRepositoryURI: summary.SourceRepositoryURI, SourceRepositoryDigest: summary.SourceRepositoryDigest, SourceRepositoryRef: summary.SourceRepositoryRef,
		BuildTrigger: summary.BuildTrigger, RunInvocationURI: summary.RunInvocationURI,
		NotBefore: e.certificate.NotBefore.UTC(), NotAfter: e.certificate.NotAfter.UTC(),
	}
	return out, nil
}

// certificateAlgorithm names the algorithm of a certificate's key. Fulcio
// issues for more kinds of keys than this gate signs with.
func certificateAlgorithm(c *x509.Certificate) string {
	a, err := algorithmOf(c.PublicKey)
	if err != nil {
		return strings.ToLower(c.PublicKeyAlgorithm.String())
	}
	return a.name
}

// explain words the library's refusal: it takes the same steps again, one by
// one, to find the first that fails.
func (e *entity) explain(m material, id *seal.Identity, refusal error) error {
	logged, err := e.logTimes(m)
	if err != nil {
		return invalid(Untrusted, "the bundle's log entry does not verify by the trusted root: %v", err)
	}
	if e.certificate == nil {
		return e.explainKey(m)
	}
	stamps, problems, err := verify.VerifySignedTimestamp(e.bundle, m)
	switch {
	case err != nil:
		return invalid(Malformed, "the bundle's timestamps cannot be read: %v", err)
	case len(stamps)+len(logged) == 0 && e.stamps > 0:
		return invalid(Untrusted, "no timestamp of the bundle is from an authority of the trusted root: %v", errors.Join(problems...))
	case len(stamps)+len(logged) == 0:
		return invalid(UnsignedTime, "nothing that is trusted says when the bundle was signed, so nothing says that its certificate was valid then")
	}
	var moments []time.Time
	for _, s := range stamps {
		moments = append(moments, s.Time)
	}
	for _, l := range logged {
		moments = append(moments, l.Time)
	}
	var chains [][]*x509.Certificate
	for _, moment := range moments {
		if moment.Before(e.certificate.NotBefore) || moment.After(e.certificate.NotAfter) {
			return invalid(Expired, "the certificate was valid from %s to %s, and the bundle was signed at %s",
				e.certificate.NotBefore.UTC().Format(time.RFC3339), e.certificate.NotAfter.UTC().Format(time.RFC3339), moment.UTC().Format(time.RFC3339))
		}
		if chains, err = verify.VerifyLeafCertificate(moment, e.certificate, m); err != nil {
			return invalid(Untrusted, "no certificate authority of the trusted root issued the certificate (%s)", holder(e.certificate))
		}
	}
	if err := verify.VerifySignedCertificateTimestamp(chains, 1, m); err != nil {
		return invalid(Untrusted, "the certificate is in no certificate transparency log of the trusted root: %v", err)
	}
	return e.explainSigned(m, id, refusal)
}

// explainSigned goes on where the certificate itself is in order.
func (e *entity) explainSigned(m material, id *seal.Identity, refusal error) error {
	signed, err1 := e.bundle.SignatureContent()
	content, err2 := e.bundle.VerificationContent()
	if err1 != nil || err2 != nil || verify.VerifySignature(signed, content, m) != nil {
		return invalid(Altered, "the signature is not the certificate's over this statement")
	}
	summary, err := certificate.SummarizeCertificate(e.certificate)
	if err != nil {
		return invalid(Malformed, "the certificate cannot be read: %v", err)
	}
	if id != nil {
		if !id.FitsSubject(summary.SubjectAlternativeName) {
			return invalid(WrongIdentity, "it was signed by %s, and the policy trusts %s", summary.SubjectAlternativeName, id.Subject+id.SubjectPattern).
				With("actual", summary.SubjectAlternativeName).With("expected", id.Subject+id.SubjectPattern)
		}
		if !id.FitsIssuer(summary.Issuer) {
			return invalid(WrongIssuer, "the signer was vouched for by %s, and the policy trusts %s", summary.Issuer, id.Issuer+id.IssuerPattern).
				With("actual", summary.Issuer).With("expected", id.Issuer+id.IssuerPattern)
		}
	}
	return invalid(NotAStatement, "what was signed cannot be used: %v", refusal)
}

// explainKey says why a key's signature was refused.
func (e *entity) explainKey(m material) error {
	signed, err1 := e.bundle.SignatureContent()
	content, err2 := e.bundle.VerificationContent()
	switch {
	case err1 == nil && err2 == nil && verify.VerifySignature(signed, content, m) == nil:
		return invalid(NotAStatement, "what was signed is no in-toto statement")
	case e.hint == m.key.hint: // what a bundle says of itself words a message, and nothing else
		return invalid(Altered, "the signature does not hold, though the bundle names this key: the statement or the signature was changed")
	}
	return invalid(WrongKey, "the signature is not the trusted key's over this statement")
}

// logTimes gives the times of the log entries, where the library is asked for
// them.
func (e *entity) logTimes(m material) ([]root.Timestamp, error) {
	if e.entries == 0 || e.certificate == nil && len(m.RekorLogs()) == 0 {
		return nil, nil
	}
	return verify.VerifyTlogEntry(e.bundle, m, 1, true)
}
