// Package check is the grammar that a check type is written in.
//
// A type is a name, a struct of parameters and a run function. [Define] binds
// the three: it decodes the parameters strictly, so that whatever is wrong in
// a contract is known before anything runs, and the run function gets a
// complete, valid struct. The world reaches a run function only through its
// [Pass]: files inside the allowed roots, rows of a database, the executor of
// commands. It answers with an [Outcome]; "examined and false" ([Failed]) and
// "could not be examined" ([Unable]) are different answers.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Pass is all of the world that a check can touch.
type Pass struct {
	Files Files
	Rows  Rows
	Exec  Executor // nil unless the type is defined as starting processes
}

// Kind says what a path resolves to, links followed.
type Kind string

const (
	Missing   Kind = "missing" // nothing there, or a dangling link
	Regular   Kind = "file"
	Directory Kind = "directory"
	Other     Kind = "other" // FIFO, socket, device: never opened
)

// Info describes what a path resolves to.
type Info struct {
	Kind Kind
	What string // for Other and Missing, in words: "a FIFO", "a dangling link"
	Size int64
}

// Entry is one thing found below a directory.
type Entry struct {
	Path   string // relative to the directory, '/'-separated, raw bytes (may not be UTF-8)
	Kind   Kind   // Regular also for a link to a file inside the roots
	What   string // what it is when not Regular: "a link to a folder", "a dangling link", "a FIFO"
	Leaves bool   // a link that leaves the roots
	Unread string // why a folder was not looked into or a link not followed; completes "<path> …"
}

// Files reads inside the allowed roots. Paths are relative to the workspace or
// absolute; they are resolved first (links, "..") and compared afterwards.
// Every method returns a *PathError for what it could not do.
type Files interface {
	// Stat says what is at path. A missing path is an Info of Kind Missing, no error.
	Stat(ctx context.Context, path string) (Info, error)
	// Open opens a regular file. FIFOs, sockets and devices are never opened.
	Open(ctx context.Context, path string) (io.ReadCloser, Info, error)
	// Read reads a regular file of at most limit bytes.
	Read(ctx context.Context, path string, limit int64) ([]byte, error)
	// Digest is the SHA-256 of a regular file and its size in bytes; constant memory.
	Digest(ctx context.Context, path string) (strictjson.Digest, int64, error)
	// List gives everything below a directory, recursive, hidden names too,
	// sorted by the bytes of Path. Folders themselves are not entries. No link
	// to a folder is walked.
	List(ctx context.Context, path string) ([]Entry, error)
}

// PathError is why a path could not be used.
type PathError struct {
	Path   string
	Code   fault.Code // CheckRefused, TargetUnreadable, LimitExceeded, Timeout; "" when the target is examined and wrong
	Reason string     // completes "<path> …": "is missing", "is a directory, not a file", "leaves the allowed roots"
}

func (e *PathError) Error() string { return fmt.Sprintf("%s %s", Quote(e.Path), e.Reason) }

// Query is one SELECT against a database file.
type Query struct {
	Database   string // a path, as for Files
	SQL        string
	Parameters []strictjson.Value // null, boolean, number, string
	MaxRows    int                // more than this is a LimitExceeded
	// Count says that rows beyond MaxRows, or beyond the bound on the size of
	// an answer, are counted instead: Rows holds the first ones, Total them all.
	Count bool
}

// RowSet is the answer of a query: column names in order, and per row one
// value a column (SQLite storage classes as JSON; a BLOB as {"blob","bytes"}).
type RowSet struct {
	Columns []string
	Rows    [][]strictjson.Value
	Total   int64 // how many rows the query gave; more than len(Rows) only with Count
}

// QueryError is why a query gave no rows.
type QueryError struct {
	Status record.Status // Fail: examined and false (no such table, not a database); Broken: the query itself is wrong; Inconclusive
	Code   fault.Code    // "" with Fail
	Reason string
	Fix    string // "" for the code's own
}

func (e *QueryError) Error() string { return e.Reason }

// Rows reads SQLite databases without ever writing one. Its errors are
// *PathError or *QueryError.
type Rows interface {
	Query(ctx context.Context, q Query) (RowSet, error)
}

// Command is one process to start: no shell, standard input is /dev/null.
type Command struct {
	Argv   []string
	Dir    string            // relative to the workspace; "" is the workspace
	Env    map[string]string // literal additions to the allowlisted environment
	Caches []string          // absolute folders outside the workspace that it may write
}

// Output is what a stream carried. Data holds at most the executor's bound;
// when Truncated, its head and its tail with the middle left out.
type Output struct {
	Data      []byte
	Total     int64 // bytes written by the process
	Truncated bool
	Digest    strictjson.Digest // of all Total bytes
}

// Exit is how a command ended.
type Exit struct {
	Code      int    // exit status; meaningless when Signal is set
	Signal    string // "SIGKILL" when a signal ended it
	LimitHit  string // set when a limit of ours, or want of memory, ended it: what
	Stdout    Output
	Stderr    Output
	Tool      record.Tool // argv[0] resolved, with its digest
	Leftovers int         // processes that outlived the command and were killed
}

// Executor starts commands. Its errors are *ExecError or the context's.
type Executor interface {
	Run(ctx context.Context, c Command) (Exit, error)
}

// ExecError is why a command could not be started.
type ExecError struct {
	Code   fault.Code // ToolMissing, CheckRefused, TargetUnreadable
	Reason string
}

func (e *ExecError) Error() string { return e.Reason }

// Blob is a piece of evidence too large or too raw for evidence.json.
type Blob struct {
	Role string
	Data []byte
	Note string
}

// Outcome is the answer of a run function. Expected and Observed are anything
// that encoding/json can write; strings in them must be valid UTF-8.
type Outcome struct {
	Status      record.Status
	Summary     string // one line: what was found
	Expected    any
	Observed    any
	Findings    []record.Finding
	Blobs       []Blob
	Tool        *record.Tool
	Problem     *record.Problem
	Limitations []string // what limits this answer, without the check's id
}

// Passed answers that the statement was examined and holds.
func Passed(format string, args ...any) Outcome {
	return Outcome{Status: record.Pass, Summary: fmt.Sprintf(format, args...)}
}

// Failed answers that the statement was examined and is false.
func Failed(format string, args ...any) Outcome {
	return Outcome{Status: record.Fail, Summary: fmt.Sprintf(format, args...)}
}

// Unable answers that nothing could be learned, and why.
func Unable(code fault.Code, fix, format string, args ...any) Outcome {
	return problem(record.Inconclusive, code, fix, format, args...)
}

// Defective answers that the check itself cannot be evaluated.
func Defective(code fault.Code, fix, format string, args ...any) Outcome {
	return problem(record.Broken, code, fix, format, args...)
}

func problem(s record.Status, code fault.Code, fix, format string, args ...any) Outcome {
	f := fault.New(code, fix, format, args...)
	return Outcome{Status: s, Summary: f.Message, Problem: &record.Problem{Code: string(code), Message: f.Message, Fix: f.Fix}}
}

// From turns an error of the Pass into the outcome that every type gives for
// it: a missing or malformed target is false, one that could not be examined
// is inconclusive.
func From(err error) Outcome {
	var (
		pe *PathError
		qe *QueryError
		xe *ExecError
	)
	switch {
	case errors.As(err, &pe) && pe.Code == "":
		return Failed("%s", pe.Error())
	case errors.As(err, &pe):
		return Unable(pe.Code, "", "%s", pe.Error())
	case errors.As(err, &qe) && qe.Status == record.Fail:
		return Failed("%s", qe.Reason)
	case errors.As(err, &qe):
		return problem(qe.Status, qe.Code, qe.Fix, "%s", qe.Reason)
	case errors.As(err, &xe):
		return Unable(xe.Code, "", "%s", xe.Reason)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return Unable(fault.Timeout, "", "stopped at the timeout before it ended")
	}
	return Defective(fault.CheckCrashed, "", "unexpected: %v", err)
}

// Expecting sets what was wanted.
func (o Outcome) Expecting(v any) Outcome { o.Expected = v; return o }

// Observing sets what was seen.
func (o Outcome) Observing(v any) Outcome { o.Observed = v; return o }
