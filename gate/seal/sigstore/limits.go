package sigstore

import "time"

// Every limit of the package stands here, with its reason.
const (
	// maxBundle is what a Sigstore bundle may have. One around a statement of this
	// gate has some ten KiB; the libraries parse the whole of it in memory.
	maxBundle = 4 << 20
	// maxStatement keeps what is signed from becoming a bundle over maxBundle:
	// base64 makes four bytes of three, and certificates and proofs need a place.
	maxStatement = 2 << 20
	// maxKeyFile is over a hundred times what a PEM key has.
	maxKeyFile = 64 << 10
	// maxTrustedRoot: that of the public instance has 7 KiB. Signing configs are
	// smaller still.
	maxTrustedRoot = 1 << 20
	// maxToken is what an identity token may have; GitHub's have 2 KiB.
	maxToken = 64 << 10
	// maxResponse is the most that is read of an answer: a log entry holds what it
	// logs, and the statement is bounded above.
	maxResponse = 10 << 20

	// maxAttempts is how often one request is made when the failure is of the kind
	// that passes. With the pauses below, 1 + 2 + 4 seconds, that outlives the
	// restart of a service and not a pipeline's patience.
	maxAttempts = 4
	// fetchAttempts is the same for fetching the public instance's trusted root,
	// which has a copy to fall back to.
	fetchAttempts = 2
	firstPause    = time.Second
	// maxPause is the longest pause that a service may ask for (Retry-After).
	maxPause = 30 * time.Second
	// attemptTime bounds one request. A log answers after its next batch, which
	// takes seconds; sigstore's own clients wait as long.
	attemptTime = 30 * time.Second
	// signTime and prepareTime bound all of one signature and all that is fetched
	// before the first, whatever was tried how often.
	signTime    = 3 * time.Minute
	prepareTime = 2 * time.Minute
	// trustTime bounds getting the trusted root for a verification, and fetchTime
	// what of it is fetched: after that comes what there is without a network.
	trustTime = time.Minute
	fetchTime = 20 * time.Second

	// tokenLeft is how long an identity token must still live when it is used, and
	// certificateLeft a certificate: a clock may be off by some seconds, and a
	// request may be tried again.
	tokenLeft       = 30 * time.Second
	certificateLeft = time.Minute

	// cacheDays is how long the cached root of the public instance is taken without
	// asking whether there is a newer one. It changes about once a year.
	cacheDays = 1

	// maxConflicts is how often a statement is signed anew because the log says
	// that it has the entry already: the request was tried again after its answer
	// was lost. A new signature is a new entry.
	maxConflicts = 2
)
