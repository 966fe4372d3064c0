package sqlread

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mattn/go-sqlite3"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// unanswered says what an error means for the check: that the database was
// examined and is not as the statement says, that the statement is wrong, or
// that nothing could be learned.
func (c *connection) unanswered(s statement, database string, err error) error {
	var (
		count     *countError
		duplicate *duplicateError
		large     *tooLargeError
		failed    sqlite3.Error
	)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case c != nil && c.auth.function != "" && !s.mentions(c.auth.function):
		return schemaCalls(check.Quote(database), c.auth.refused)
	case c != nil && c.auth.refused != "":
		return defect("%s", c.auth.refused)
	case errors.Is(err, errWrites):
		return defect("%s", err)
	case errors.As(err, &count):
		return defect("%s", count)
	case errors.As(err, &duplicate):
		return &check.QueryError{Status: record.Broken, Code: fault.CheckMalformed, Reason: duplicate.Error(), Fix: "Name them apart with AS: a row is an object, and holds one value of a name."}
	case errors.As(err, &large):
		return &check.QueryError{Status: record.Inconclusive, Code: fault.LimitExceeded, Reason: large.Error(), Fix: "Narrow the query with WHERE or LIMIT, or let it count with count(*)."}
	case errors.As(err, &failed):
		if name := c.broken(s, failed); name != "" {
			return &check.QueryError{Status: record.Fail, Reason: fmt.Sprintf("in %s nothing can be read from %s: %s", check.Quote(database), check.Quote(name), oneLine(failed.Error()))}
		}
		return meaning(s, check.Quote(database), failed)
	}
	return &check.QueryError{Status: record.Broken, Code: fault.CheckCrashed, Reason: fmt.Sprintf("unexpected: %v", err)}
}

// schemaCalls is a function that the statement itself does not call. The
// statement is right, and what it asks for may not be run.
func schemaCalls(database, what string) error {
	return &check.QueryError{Status: record.Inconclusive, Code: fault.CheckRefused, Reason: fmt.Sprintf("a view or a table of %s calls a function: %s", database, what), Fix: "Query the tables themselves."}
}

// broken finds a view, or a table, that the statement names and that gives the
// same error when nothing but a constant is selected from it: a view that is
// defined in a circle, or whose definition fits its tables no more. That is
// the database's fault. What has a meaning of its own (see [meaningOfError]) is
// left to it, for a part that only an extension can read says nothing false.
func (c *connection) broken(s statement, err sqlite3.Error) string {
	message := err.Error()
	if c == nil || err.Code != sqlite3.ErrError || strings.HasPrefix(message, "no such ") || strings.HasPrefix(message, "unsafe use of ") {
		return ""
	}
	tried := map[string]bool{}
	for i, t := range s.tokens {
		name := ""
		if t.kind == word || t.kind == quoted {
			name = s.name(i)
		}
		if name == "" || tried[name] || len(tried) == maxTried {
			continue
		}
		tried[name] = true
		stmt, err := c.db.Prepare(`SELECT 1 FROM "` + strings.ReplaceAll(name, `"`, `""`) + `"`)
		if err == nil {
			stmt.Close()
		} else if err.Error() == message {
			return name
		}
	}
	return ""
}

// meaning reads SQLite's result codes, and within SQLITE_ERROR its messages,
// which have been stable for many years.
func meaning(s statement, database string, err sqlite3.Error) error {
	message := oneLine(err.Error())
	failed := func(format string, args ...any) error {
		return &check.QueryError{Status: record.Fail, Reason: fmt.Sprintf(format, args...)}
	}
	limit := func() error {
		return &check.QueryError{Status: record.Inconclusive, Code: fault.LimitExceeded, Reason: fmt.Sprintf("the query needs more than is allowed: %s", message)}
	}
	switch err.Code {
	case sqlite3.ErrNotADB:
		return failed("%s is not a SQLite database, or is encrypted", database)
	case sqlite3.ErrCorrupt, sqlite3.ErrFormat:
		return failed("%s is damaged: %s", database, message)
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return unreadable("", "%s is locked: %s", database, message)
	case sqlite3.ErrTooBig, sqlite3.ErrNomem, sqlite3.ErrFull:
		return limit()
	case sqlite3.ErrInterrupt:
		return context.DeadlineExceeded
	case sqlite3.ErrReadonly:
		return defect("the statement would write: %s", message)
	case sqlite3.ErrError:
		return meaningOfError(s, database, message, limit)
	case sqlite3.ErrMismatch, sqlite3.ErrRange, sqlite3.ErrAuth, sqlite3.ErrConstraint:
		return defect("%s", message)
	}
	return unreadable("", "%s could not be read: %s", database, message)
}

// meaningOfError tells the many things apart that SQLite calls an error.
func meaningOfError(s statement, database, message string, limit func() error) error {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(message, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("no such table: ", "no such column: ", "no such index: "):
		return &check.QueryError{Status: record.Fail, Reason: fmt.Sprintf("%s has %s", database, strings.Replace(message, "no such", "no", 1))}
	case has("no such function: ", "no such collation sequence: ", "no such module: ", "unable to open virtual table"):
		// What the statement itself names is the statement's fault. What only the
		// schema names, an extension of the program that made the database
		// provides: it cannot be examined here.
		if _, name, _ := strings.Cut(message, ": "); s.mentions(name) {
			return defect("%s", message)
		}
		return &check.QueryError{Status: record.Inconclusive, Code: fault.ToolMissing, Reason: fmt.Sprintf("%s needs an extension that this build of SQLite lacks: %s", database, message), Fix: "Query tables that need no extension."}
	case has("unsafe use of "):
		return schemaCalls(database, message)
	case has("malformed JSON"):
		return &check.QueryError{Status: record.Fail, Reason: fmt.Sprintf("in %s the query met a value that is no JSON", database)}
	case has("malformed database schema", "unsupported file format"):
		return &check.QueryError{Status: record.Fail, Reason: fmt.Sprintf("%s is damaged: %s", database, message)}
	case has("too complex", "too large", "too many", "too big", "stack overflow", "at most "):
		return limit()
	}
	return defect("SQLite says: %s", message)
}

// oneLine makes a message of SQLite fit for one line: names in it come from the
// database, and may hold anything.
func oneLine(message string) string {
	const most = 300
	message = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strictjson.Printable(message))
	if r := []rune(message); len(r) > most {
		message = string(r[:most]) + "…"
	}
	return message
}
