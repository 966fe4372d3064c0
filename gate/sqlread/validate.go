package sqlread

import (
	"errors"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// Validate says what is wrong with a statement that is to run with that many
// parameters, without a database at hand. What only a database can say is not
// wrong here: whether tables and columns exist. Its errors are *SQLError, or
// what kept SQLite from compiling at all. The warnings are for a statement that
// is a SELECT, and can only end as an error when it is run.
func Validate(sql string, parameters int) (warnings []string, err error) {
	s, err := screen(sql)
	if err != nil {
		return nil, err
	}
	if warnings, err = compiles(s); err != nil {
		return nil, err
	}
	if s.parameters != parameters {
		wrong := &countError{takes: s.parameters, given: parameters}
		warnings = append(warnings, onlyError+wrong.Error())
	}
	return warnings, nil
}

const onlyError = "a run can only end as an error: "

// compiles asks SQLite about a statement, against a database without tables.
func compiles(s statement) (warnings []string, err error) {
	c, err := openEmpty()
	if err != nil {
		return nil, err
	}
	defer c.close()
	stmt, err := c.prepare(s.sql())
	if err == nil {
		return nil, stmt.Close()
	}
	var failed sqlite3.Error
	switch {
	case c.auth.refused != "":
		return nil, &SQLError{Reason: c.auth.refused, Fix: fixRead}
	case errors.Is(err, errWrites):
		return nil, &SQLError{Reason: err.Error(), Fix: fixRead}
	case !errors.As(err, &failed):
		return nil, err
	case failed.Code != sqlite3.ErrError || !strings.HasPrefix(failed.Error(), "no such "):
		return nil, c.locate(s, failed.Error())
	case strings.HasPrefix(failed.Error(), "no such function: "), strings.HasPrefix(failed.Error(), "no such collation sequence: "):
		// These are SQLite's own: no database brings any along.
		return []string{onlyError + "there is " + strings.Replace(oneLine(failed.Error()), "no such", "no", 1)}, nil
	}
	return nil, nil
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
