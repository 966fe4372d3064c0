package worker

import "time"

// The limits of this package, each with its reason. Nothing here decides what
// a check says; a limit that is met is told, never guessed around.
const (
	// maxFrame bounds one message. The largest are a Start, with the names of
	// a repository's files, and an Answer, with two streams in base64. A
	// reader allocates only what arrives, so the bound may be generous.
	maxFrame = 256 << 20

	// streamHead and streamTail are what is kept of one output stream of a
	// command: a failure is explained either where it starts or at the end.
	streamHead = 4 << 20
	streamTail = 4 << 20

	// window is how many reading steps are ordered ahead, so that a worker
	// never waits for the next order; more would only delay a cancellation.
	window = 64

	// maxDiagnostics bounds what a worker process may print, for a failure's
	// message. A worker prints nothing unless its runtime crashes.
	maxDiagnostics = 8 << 10

	// maxReplacements bounds how often a worker is replaced after a step that
	// outlived its timeout. Each replacement costs a timeout and a process, so
	// a contract full of such steps is stopped as a failure of the run.
	maxReplacements = 100
)

// Times after which the parent no longer waits. All are far above what a busy
// machine needs; they exist so that nothing hangs.
const (
	// grace is what a step gets beyond its timeout to notice that it is over
	// and to answer; a command's tree is killed in this time.
	grace = 5 * time.Second

	// startLimit is for a worker's Hello: an exec, binding the plan, opening
	// the roots.
	startLimit = time.Minute

	// contentLimit is for digesting the workspace once.
	contentLimit = 30 * time.Minute

	// finishLimit is for Done, and for the end of a process that was told to end.
	finishLimit = 30 * time.Second

	// killLimit is for the end of a killed tree. Only a process in an
	// uninterruptible system call can outlast it.
	killLimit = 15 * time.Second

	// drainLimit is how long output is read after every process of a command
	// has ended: only somebody outside the tree can still hold the pipe.
	drainLimit = 500 * time.Millisecond
)

// Resource limits of the worker processes and of what they start.
const (
	// maxFileSize stops a copy of a reading worker before it fills the disk.
	// Commands have no such limit: a death of SIGXFSZ could not be told from
	// one that a program chose, and those are different answers.
	maxFileSize = 64 << 30

	// maxOpenFiles is the usual hard limit of a build machine.
	maxOpenFiles = 65536

	// maxReadingMemory bounds the data of a reading worker, against a hostile
	// database or document. Commands get no such limit: the shadow memory of
	// a race detector or an address sanitizer is terabytes of address space.
	maxReadingMemory = 16 << 30
)
