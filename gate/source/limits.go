package source

import "time"

// The limits of this package.
const (
	// gitTimeout bounds git: a cold, very large work tree takes seconds, a
	// FIFO in the place of a .gitignore would take for ever.
	gitTimeout = 30 * time.Second

	// fetchTimeout bounds the fetch of one commit: some GiB over a slow line.
	fetchTimeout = 10 * time.Minute

	// gitGrace is how long git's output is awaited after it was killed.
	gitGrace = time.Second

	// maxListing bounds git's output, some two million paths.
	maxListing = 256 << 20

	// maxMessage is how much of git's complaint is quoted.
	maxMessage = 300

	// maxIndex bounds the copy of an index, some five million entries.
	maxIndex = 512 << 20

	// maxSharedIndexes bounds how many parts of a split index are copied; git
	// keeps the current one and those of the last two weeks.
	maxSharedIndexes = 16

	// maxSmall bounds the files that hold one line: HEAD, a ref, a .git file.
	maxSmall = 4 << 10

	// maxPackedRefs bounds the file of all refs, about a million of them.
	maxPackedRefs = 64 << 20

	// maxSymrefs is git's own bound on refs that name refs.
	maxSymrefs = 5
)
