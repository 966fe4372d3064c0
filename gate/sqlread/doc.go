// Package sqlread is the one way that the gate reads SQLite databases: it
// answers a SELECT, and never writes anything where the judged side could see
// it.
//
// # A copy is read, not the database
//
// A database is opened through [check.Files], so only inside the allowed
// roots, and copied together with the files that SQLite keeps beside it: the
// write-ahead log (-wal) and the rollback journal (-journal). Only the copy is
// given to SQLite. Reading in place would be wrong in either of its forms:
// mode=ro creates a -shm file beside a database in WAL mode, and immutable=1
// ignores the log and gives an old answer. The copies are checked to be of one
// moment; a database that keeps changing is no answer but an inconclusive one.
// Where the file system can share blocks, the kernel makes the copy without
// moving a byte.
//
// # Four walls
//
// A statement is stopped from writing by any one of four walls, each of which
// is tested with the other three taken away:
//
//   - the screen: a tokenizer of SQLite's own lexical grammar finds that the
//     text is one statement and that its verb is SELECT ([Validate]);
//   - the file: the copy is opened mode=ro and query_only, and nothing can be
//     attached;
//   - the statement: sqlite3_stmt_readonly must say that it writes nothing;
//   - the authorizer: SQLite asks it about every action while it compiles, and
//     only reading and a list of functions is allowed.
//
// Check types report what is wrong with a statement by [Lint] when a contract is
// linted, and take its values as [Parameters].
//
// # What a statement can cost
//
// Sizes are bounded by SQLite's run-time limits and by a bound on the rows that
// are kept, all in limits.go. A statement is interrupted when its context ends.
// SQLite looks for an interrupt between two of its instructions, and not while
// it compiles, so whoever calls must be ready to end the process as well.
//
// # Values
//
// A value is what SQLite stores, by its storage class, whatever the column was
// declared as:
//
//	INTEGER   a number without a point, all 64 bits of it
//	REAL      a number with a point or an exponent, in the shortest form that
//	          reads back the same; an infinity, which JSON cannot write, is
//	          {"real":"Infinity"} or {"real":"-Infinity"}
//	TEXT      a string; text that is not valid UTF-8 is
//	          {"text":"sha256:…","bytes":n}
//	NULL      null
//	BLOB      {"blob":"sha256:…","bytes":n}
package sqlread
