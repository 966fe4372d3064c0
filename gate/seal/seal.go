// Package seal makes evidence that others can rely on: the in-toto statements
// that say what a run found, and the signature over them.
//
// A signature lies beside the evidence, as attestation.sigstore.json: a standard
// Sigstore bundle (v0.3) around a DSSE envelope whose payload is an in-toto
// Statement. Its subjects are the release artifacts that the run was about, and
// its predicate repeats the verdict with everything that limits it, so whoever
// verifies the signature need not read the evidence to act on it, and whoever
// reads the evidence can see that the signature speaks of it.
//
// This package knows what is said and what a signature proves; it imports no
// library of Sigstore's. Those cost a process 20 ms before main, so they stand
// behind [Backend], whose one implementation is package sigstore, which a lean
// program leaves to the one that it carries.
package seal

import (
	"context"
	"time"
)

// Backend signs statements and verifies signatures over them.
type Backend interface {
	// Prepare gets what signing needs (a key, an identity), so that a run that
	// could not be signed need not begin.
	Prepare(ctx context.Context, how Signing) (Signer, error)
	// Verify says what a Sigstore bundle proves. Its error is a fault.
	Verify(ctx context.Context, bundle []byte, trust Trust) (*Signature, error)
}

// Signer signs statements of one run.
type Signer interface {
	// Sign signs an in-toto statement, and gives what the signature proves: it
	// was verified.
	Sign(ctx context.Context, statement []byte) (*Signature, error)
	// Claims are what the identity token says of where this runs; nil when a key signs.
	Claims() *Claims
}

// Mode is a way of signing.
type Mode string

// The modes.
const (
	ModeNone    Mode = "none"
	ModeKey     Mode = "key"
	ModeKeyless Mode = "keyless"
)

// Signing says how to sign.
type Signing struct {
	Mode          Mode
	Key           string // file of a private key, or a KMS URI
	PasswordFile  string // of the key; "" for COSIGN_PASSWORD
	SigningConfig string // file that names the services of keyless signing; "" for those of the public instance
	TrustedRoot   string // file with what they are verified by; "" for that of the public instance
	CacheDir      string // where what was fetched about the public instance is kept
	Env           func(string) string
	Warn          func(string) // told of what was tried again; may be nil
}

// GitHubHosted is what a token and a certificate call a runner of GitHub's own.
const GitHubHosted = "github-hosted"

// Claims are the claims of an identity token that bind a run to its place.
type Claims struct {
	Issuer            string
	Subject           string
	RunnerEnvironment string // GitHubHosted, or another
	JobWorkflowRef    string // the workflow file that does the judging
	JobWorkflowSHA    string
	Repository        string
	SHA               string // the commit that the workflow run is about
}

// Signature is what a signature proved.
type Signature struct {
	Mode        Mode
	Algorithm   string // as the bundle's key has it, e.g. "ecdsa-p256-sha256", "ed25519"
	KeyPEM      string // PKIX public key of the signer
	Value       string // base64
	Certificate *Certificate
	Times       []Time // verified signed times, the earliest first
	Payload     []byte // the statement that was signed
	Bundle      []byte // all of it, as a Sigstore bundle in JSON
}

// Time is a moment that a timestamp authority or a transparency log vouches for.
type Time struct {
	Source string // "timestamp_authority", "transparency_log"
	Moment time.Time
}

// Certificate is what a signing certificate says of its holder, by the names of
// the certificate's extensions (1.3.6.1.4.1.57264.1).
type Certificate struct {
	Subject                string // the SAN: for a GitHub workflow its BuildSignerURI
	Issuer                 string // of the identity token
	BuildSignerURI         string
	BuildSignerDigest      string
	RunnerEnvironment      string
	SourceRepositoryURI    string
	SourceRepositoryDigest string
	SourceRepositoryRef    string
	BuildTrigger           string
	RunInvocationURI       string
	NotBefore, NotAfter    time.Time
}
