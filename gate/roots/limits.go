package roots

import "time"

// The limits of this package. Nothing else in it is a bound.
const (
	// maxLinks is how many symbolic links one path may lead through: the
	// kernel's own number, so that no path means one thing here and another there.
	maxLinks = 40

	// maxAttempts is how often a path is resolved again because something was
	// moved on the way. What still moves after that cannot be examined.
	maxAttempts = 8

	// maxEntries bounds what one listing or one content digest holds in
	// memory: about 100 bytes an entry, so some 400 MB at the very worst.
	maxEntries = 4 << 20

	// maxMemo is how many digests are remembered: 72 bytes each. A file beyond
	// it is read again when asked for again.
	maxMemo = 1 << 20

	// bufferBytes is the unit of reading: large enough that the system call
	// costs nothing beside the hashing, small enough to stay in the cache.
	bufferBytes = 1 << 20

	// direntBytes is the buffer for one getdents call, about 2,000 names.
	direntBytes = 64 << 10

	// heldFolders is how many folders on the way down stay open. Deeper trees
	// are climbed through "..", so depth costs no descriptors.
	heldFolders = 16

	// maxWorkers bounds the goroutines that hash. Beyond it the page cache,
	// not the processor, is the limit, and every worker pins descriptors.
	maxWorkers = 8

	// batchFiles and batchFolders bound what is handed to a worker at once:
	// enough to make the hand-over cheap, and few enough open folders that
	// all workers together stay far below the usual 1,024 descriptors.
	batchFiles   = 64
	batchFolders = 8

	// maxChanged and maxUnreadable bound the names in a content record; the
	// count beside them is exact.
	maxChanged    = 50
	maxUnreadable = 50

	// A stamp is trusted when it is older than this at the time of reading.
	// Local file systems stamp with the kernel's tick, 10 ms at most. A stamp
	// without a fraction comes from one that counts in seconds (FAT: in twos).
	fineWindow   = 50 * time.Millisecond
	coarseWindow = 3 * time.Second
)
