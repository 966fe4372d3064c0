package bundle

import "github.com/verdictgate/verdictgate/gate/strictjson"

// What a bundle may hold, and what is read of one.
const (
	// maxInline is how large a value of a result may be in evidence.json; what
	// is larger moves to a blob and leaves its head behind.
	maxInline = 64 << 10
	// maxInlineDepth is how deep it may nest: readers of evidence.json in other
	// languages stop far below what a judged document may have.
	maxInlineDepth = 100
	// maxHead is the head that a moved value leaves behind.
	maxHead = 1 << 10
	// maxLine is how long a summary, a message or a limitation may be.
	maxLine = 4 << 10
	// maxPlaces is how many places one limitation about redaction names.
	maxPlaces = 3

	// maxAttestation is some ten times what is ever written.
	maxAttestation = 64 << 10
	// MaxSigstore bounds a signed statement: one that fits carries its payload
	// in base64, and some certificates and log entries beside it.
	MaxSigstore = 4 << 20
	// maxSignature bounds what attestation.json repeats of it; a certificate's
	// identity and a public key of any algorithm are far smaller.
	maxSignature = 16 << 10
	// maxEntries is how many names of a bundle's folder are looked at, and
	// maxUnknown how many of them are given back as unknown.
	maxEntries = 100_000
	maxUnknown = 100
	// maxBlob is how large a blob may be: a worker's message holds it, in base64.
	maxBlob = 256 << 20
	// maxStray is how many bytes of blobs are digested that the evidence does
	// not name: a gate leaves none, so there is no reason for many.
	maxStray = 64 << 20
	// maxStale is how many abandoned folders one run sweeps.
	maxStale = 100
	// listBudget is how many bytes List re-digests in all; runs beyond it are
	// listed as not re-checked. It is about a second of hashing.
	listBudget = 256 << 20
)

// maxEvidence and maxContract are what the parser reads anyway.
var (
	maxEvidence = strictjson.DocumentLimits.Bytes
	maxContract = strictjson.ContractLimits.Bytes
)
