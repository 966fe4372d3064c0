package sqlread

import (
	"errors"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// Validate says what is wrong with a statement that is to run with that many
// parameters, without a database at hand. What only a database can say is not
// wrong here: whether tables, columns and functions exist. Its errors are
// *SQLError, or what kept SQLite from compiling at all.
func Validate(sql string, parameters int) error {
	s, err := screen(sql)
	if err != nil {
		return err
	}
	if err := compiles(s); err != nil {
		return err
	}
	if s.parameters != parameters {
		wrong := &countError{takes: s.parameters, given: parameters}
		return &SQLError{Reason: wrong.Error(), Fix: "Give one value for each: they bind in order, ? by ?, and a name counts once.", cause: wrong}
	}
	return nil
}

// compiles asks SQLite about a statement, against a database without tables.
func compiles(s statement) error {
	c, err := openEmpty()
	if err != nil {
		return err
	}
	defer c.close()
	stmt, err := c.prepare(s.sql())
	if err == nil {
		return stmt.Close()
	}
	var failed sqlite3.Error
	switch {
	case c.auth.refused != "":
		return &SQLError{Reason: c.auth.refused, Fix: fixRead}
	case errors.Is(err, errWrites):
		return &SQLError{Reason: err.Error(), Fix: fixRead}
	case !errors.As(err, &failed):
		return err
	case failed.Code == sqlite3.ErrError && strings.HasPrefix(failed.Error(), "no such "):
		return nil
	}
	return c.locate(s, failed.Error())
}

// locate gives the place of a syntax error, which the driver does not tell.
// SQLite reads from left to right and stops at the first token that does not
// fit: it is the one with which the text up to there begins to fail this way.
func (c *connection) locate(s statement, message string) error {
	if message == "incomplete input" {
		return s.wrong(s.tokens[len(s.tokens)-1].end, "", "the statement is not complete")
	}
	near := strings.TrimSuffix(strings.TrimPrefix(message, `near "`), `": syntax error`)
	if len(near) == len(message) {
		return &SQLError{Reason: "SQLite says: " + message}
	}
	tried := 0
	for i, t := range s.tokens {
		if s.text(i) != near || tried == maxTried {
			continue
		}
		tried++
		stmt, err := c.db.Prepare(s.upTo(i))
		if err == nil {
			stmt.Close()
		} else if err.Error() == message {
			return s.wrong(t.start, "", "syntax error near %s", clip(near))
		}
	}
	return &SQLError{Reason: "syntax error near " + clip(near)}
}
