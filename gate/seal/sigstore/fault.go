package sigstore

import (
	"github.com/verdictgate/verdictgate/gate/fault"
)

// Steps of signing: Details["step"] of verify.signing_unavailable.
const (
	StepKey          = "key"
	StepPassword     = "password"
	StepToken        = "identity_token"
	StepServices     = "services"
	StepTrustedRoot  = "trusted_root"
	StepCertificate  = "certificate"
	StepTimestamp    = "timestamp"
	StepLog          = "transparency_log"
	StepSigning      = "signing"
	StepVerification = "verification"
)

// Reasons why a signature is refused: Details["reason"] of
// verify.signature_invalid. Each has one meaning and one mend, below.
const (
	Malformed           = "malformed"
	NotAStatement       = "not_a_statement"
	SignedByKey         = "signed_by_key"
	SignedByCertificate = "signed_by_certificate"
	WrongKey            = "wrong_key"
	Altered             = "altered"
	WrongIdentity       = "wrong_identity"
	WrongIssuer         = "wrong_issuer"
	Untrusted           = "untrusted"
	Expired             = "expired"
	UnsignedTime        = "unsigned_time"
)

// mends says of each reason what to do.
func mends(reason string) string {
	switch reason {
	case Malformed:
		return "Take the bundle from where it was signed; attestation.sigstore.json must be a Sigstore bundle, v0.3 or older."
	case NotAStatement:
		return "Pass what gate sign wrote, or what cosign attest-blob made: one signed in-toto statement."
	case SignedByKey:
		return "Pass --key with the signer's public key in place of an identity, if a key is what you trust."
	case SignedByCertificate:
		return "Pass --certificate-identity and --certificate-oidc-issuer in place of --key, if an identity is what you trust."
	case WrongKey:
		return "Take the bundle from who holds the key, or pass the public key that belongs to it."
	case Altered:
		return "Take the bundle from where it was signed: its statement or its signature was changed since."
	case WrongIdentity, WrongIssuer:
		return "Take the bundle from the identity that you trust; if the one named in the message is it, name it in the policy."
	case Untrusted:
		return "Pass --trusted-root with the trusted root of the deployment that signed, or do not rely on the bundle."
	case Expired:
		return "Sign the run anew: a certificate vouches only for what was signed while it was valid."
	case UnsignedTime:
		return "Sign the run anew with a timestamp authority or a Rekor v1 log: nothing else proves that the certificate was valid then."
	}
	return ""
}

func invalid(reason, format string, args ...any) *fault.Error {
	return fault.New(fault.SignatureInvalid, mends(reason), format, args...).With("reason", reason)
}

// unavailable is the fault of a signing that did not come about.
func unavailable(step, fix, format string, args ...any) *fault.Error {
	return fault.New(fault.SigningUnavailable, fix, format, args...).With("step", step)
}

// stepError is an error with the step of signing that it came up in: the
// libraries' errors do not tell the services apart.
type stepError struct {
	step  string
	cause error
}

func (e *stepError) Error() string { return e.cause.Error() }
func (e *stepError) Unwrap() error { return e.cause }

// at marks an error with its step.
func at(step string, err error) error {
	if err == nil {
		return nil
	}
	return &stepError{step, err}
}

// noTrust is the fault of a verification that did not come about: nothing was
// said about the signature.
func noTrust(fix, format string, args ...any) *fault.Error {
	return fault.New(fault.TrustUnavailable, fix, format, args...)
}
