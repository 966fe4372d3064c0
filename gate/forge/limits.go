package forge

import "time"

// Every limit of the package stands here, with its reason.
const (
	// perPage is the most that the API gives at once, and maxPages what is asked
	// for: ten thousand check-runs or artifacts of one commit or run.
	perPage  = 100
	maxPages = 100

	// maxAnswer is the most that is read of an answer: a contract of 64 MiB, and
	// more than any comparison, which shows 300 files.
	maxAnswer = 72 << 20
	// maxPermissions is what is shown of the permissions that an answer names.
	maxPermissions = 200
	// maxErrorText is what is quoted of GitHub's own words.
	maxErrorText = 500

	// attempts, maxPause and maxWait bound how long one request is tried. A minute
	// is what GitHub asks for at its secondary limits, and clocks are a little off.
	attempts    = 4
	maxPause    = 70 * time.Second
	maxWait     = 3 * time.Minute
	attemptTime = time.Minute

	// downloadTime bounds the download of one artifact at one attempt, and
	// downloadRounds how often a new address is asked for: the one that GitHub
	// gives is valid for some minutes.
	downloadTime   = 10 * time.Minute
	downloadRounds = 2
	// maxStoreError is what is read of a store's words about a failure, however
	// small the archive may be.
	maxStoreError = 1 << 20

	// fetchAttempts is how often git fetches, with fetchPause between.
	fetchAttempts = 3
	fetchPause    = 5 * time.Second

	// maxContracts is how many files the patterns may match at one commit.
	maxContracts = 100
	// maxContractBytes bounds all of them together.
	maxContractBytes = 256 << 20

	// maxKnown and maxKnownBytes bound what is remembered of a repository's objects
	// (see cache): some hundred are what one run asks for. entryBytes is what an
	// entry of a folder is counted as.
	maxKnown      = 4096
	maxKnownBytes = 64 << 20
	entryBytes    = 200

	// maxTreeFiles and maxTreeBytes bound a commit that is written out. The kernel's
	// has under 100,000 files and 2 GiB.
	maxTreeFiles = 500_000
	maxTreeBytes = 8 << 30

	// What a check-run may have.
	//
	// Source: https://docs.github.com/en/rest/checks/runs#create-a-check-run
	maxTitle        = 255   // characters, also of an annotation's title
	maxText         = 65535 // bytes of the summary, and of the text
	maxMessage      = 64 << 10
	annotationBatch = 50 // annotations of one request

	// maxPosts is how often a check-run is posted while nobody can tell whether it
	// was, and lookPause is how long the API is given to show it before it is looked for.
	maxPosts  = 3
	lookPause = 3 * time.Second
)
