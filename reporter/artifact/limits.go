package artifact

import "time"

// The bounds of an upload, with their reasons.
const (
	// maxName is how long a name may be, in bytes: whoever downloads the artifact
	// makes a file or a folder of it.
	maxName = 255

	// blockSize is what is sent at once. With parallel of them in memory, an upload takes
	// some 20 MiB. A blob may have 50,000 blocks, which is a hundred times what an
	// archive needs.
	//
	// Source: https://learn.microsoft.com/en-us/rest/api/storageservices/put-block#remarks
	blockSize = 4 << 20
	parallel  = 3

	// attempts and firstPause: npm's @actions/artifact tries five times, and waits 3 s
	// at first.
	attempts   = 5
	firstPause = 3 * time.Second
	maxPause   = 15 * time.Second
	// blockTime is how long one block may take, once: 35 kB/s.
	blockTime = 2 * time.Minute
	// answerTime is how long one question to the service may take, once. At the last
	// one it reads the whole archive.
	answerTime = time.Minute

	// maxAnswer is some hundred times what the services answer. A block must fit, too.
	maxAnswer = 64 << 10

	// maxToken is some ten times what a token has.
	maxToken = 64 << 10
)
