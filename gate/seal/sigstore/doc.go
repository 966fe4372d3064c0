// Package sigstore signs statements and verifies signatures with Sigstore, as
// cosign does: it implements [seal.Backend]. It is the only package that
// imports Sigstore's libraries, which cost a process some milliseconds before
// main; the lean program leaves them to the full one that it carries.
//
// # What is made
//
// A signature is a Sigstore bundle, v0.3, around a DSSE envelope whose payload
// is an in-toto statement. `cosign verify-blob-attestation` verifies it, and
// what `cosign attest-blob` makes is verified here.
//
// # Keys
//
// [seal.ModeKey] signs with a cosign key pair or a PEM key: ECDSA P-256 or
// P-384, or Ed25519. That needs no network. A password comes from
// COSIGN_PASSWORD or a file, and is never asked for: a gate runs where nobody
// answers. With -tags kms a key may also be the URI of a KMS. A signing config
// adds what it names: timestamps, log entries.
//
// # Identities
//
// [seal.ModeKeyless] makes a key that lives as long as the run and asks Fulcio
// for a certificate over it, in exchange for an identity token: of the GitHub
// job, or the one in SIGSTORE_ID_TOKEN. The certificate lives ten minutes, so
// something must vouch for when it signed: a timestamp authority, a Rekor v1
// log, or both. One certificate serves all statements of a run.
//
// The services come from a signing config and are verified by a trusted root:
// files of a private deployment, or those of the public instance, through its
// TUF repository and a cache. When that cannot be reached, the trusted root
// that this program carries is used, and a warning says from which day it is.
//
// # What can go wrong
//
// A request is made again after a failure that passes (no connection, 408, 429,
// 5xx), a few times with growing pauses, and never after a refusal. Everything
// ends with its context, and at a time limit of its own. See limits.go.
//
// Signing fails with verify.signing_unavailable, whose "step" says where. No
// error holds a token. What is signed is verified at once, by the same code that
// a consumer runs, before anybody is told that it was signed.
//
// Verifying fails in one of three ways that are never mixed up:
// verify.usage, the policy decides nothing; verify.trust_unavailable, the key or
// the trusted root could not be had, so nothing was said about the signature;
// and verify.signature_invalid, with a "reason":
//
//   - malformed: it is no Sigstore bundle
//   - not_a_statement: what was signed is no in-toto statement
//   - signed_by_key, signed_by_certificate: the policy trusts the other kind
//   - wrong_key: the signature is not the trusted key's
//   - altered: the key is the right one by its name, the signature does not hold
//   - wrong_identity, wrong_issuer: somebody else's certificate
//   - untrusted: a certificate, its transparency log, a timestamp or a log entry
//     is not from the trusted root
//   - expired: signed when the certificate was not valid
//   - unsigned_time: nothing trusted says when it was signed
//
// The library decides; these words are found afterwards, and never lift a
// refusal. No key and no root is ever taken from the bundle. What the statement
// says is for the caller to compare: see package seal.
package sigstore
