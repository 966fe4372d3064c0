package sqlread

import "time"

// What one statement may cost. A bound that is met makes the check
// inconclusive: the gate did not look at everything, so it says nothing.
const (
	// maxSQL is the length of a statement in bytes. A contract is written by
	// people, and the planner's work grows faster than the text.
	maxSQL = 64 << 10

	// maxParameters is the number of values that are bound to one statement.
	maxParameters = 250

	// maxColumns is the number of columns of an answer; SQLite's own default.
	maxColumns = 2000

	// maxValue is the size of one value in bytes. SQLite builds a value within
	// one instruction, which no timeout interrupts: at this size the slowest
	// function takes some tenths of a second.
	maxValue = 32 << 20

	// maxAnswer is the memory that the rows of one answer may take; cellCost is
	// what a value takes beside its text. A BLOB counts by its digest.
	maxAnswer = 16 << 20
	cellCost  = 96

	// maxDatabase is the size of a database with its log and journal, for each
	// is copied to the scratch folder.
	maxDatabase = 8 << 30
)

// maxTried is how many places are tried to find that of a syntax error, and
// how many names to find the view that another error comes from.
const maxTried = 100

// Limits of SQLite itself, set on every connection. Those that also bound the
// schema of the judged database are left at SQLite's defaults: a lower one
// would call a sound database malformed.
const (
	limitSchemaText   = 4 << 20 // of one CREATE statement in the database
	limitDepth        = 1000    // of an expression; the default
	limitCompound     = 500     // SELECTs joined by UNION and the like; the default
	limitInstructions = 1 << 20 // 24 bytes each; views that multiply one another reach it
	limitLikePattern  = 1000    // LIKE '%a%a%a…' takes a time that grows with every %
)

const (
	// copyAttempts is how often a database that changes under the copy is
	// copied again, and copyPause how long is waited before the first of these;
	// it doubles each time. A transaction of a well-behaved writer is over by then.
	copyAttempts = 4
	copyPause    = 50 * time.Millisecond

	// copyChunk is what is copied between two looks at the context.
	copyChunk = 8 << 20

	// fineWindow is how old the last change of a file must be for its time
	// stamps to show that there was no later one: file systems write them in
	// steps, and two changes within a step look like one. coarseWindow is for
	// stamps without a fraction, whose step is up to two seconds.
	fineWindow   = 50 * time.Millisecond
	coarseWindow = 3 * time.Second

	// maxKept is how many copies are kept for further queries.
	maxKept = 4
)
