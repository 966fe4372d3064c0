package sqlread

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/mattn/go-sqlite3"
)

// walls says which of the four walls stand. All of them do outside the tests,
// which take three away to show that the fourth holds alone.
type walls struct {
	screen, file, statement, authorizer bool
}

var allWalls = walls{true, true, true, true}

// connection is one connection to a copy, or to an empty database in memory.
type connection struct {
	db    *sqlite3.SQLiteConn
	walls walls
	auth  authorizer
}

// openCopy opens a copied database for reading.
func openCopy(path string, w walls) (*connection, error) {
	mode, queryOnly := "ro", "1"
	if !w.file {
		mode, queryOnly = "rw", "0"
	}
	return open(path, mode, queryOnly, w)
}

// openEmpty opens a database without tables, to compile statements against.
func openEmpty() (*connection, error) { return open("empty", "memory", "1", allWalls) }

func open(path, mode, queryOnly string, w walls) (*connection, error) {
	// A copy has one user, so a lock on it can only be a mistake: do not wait.
	options := url.Values{"mode": {mode}, "_query_only": {queryOnly}, "_busy_timeout": {"0"}, "_synchronous": {"0"}}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options.Encode()
	opened, err := (&sqlite3.SQLiteDriver{}).Open(dsn)
	if err != nil {
		return nil, err
	}
	c := &connection{db: opened.(*sqlite3.SQLiteConn), walls: w}
	if err := c.distrust(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// distrust prepares the connection for a database whose content may have been
// made to harm.
func (c *connection) distrust() error {
	// Functions with side effects do not run from inside the schema, and cells
	// are checked to lie inside their page.
	if _, err := c.db.Exec("PRAGMA trusted_schema=0; PRAGMA cell_size_check=1; PRAGMA mmap_size=0", nil); err != nil {
		return err
	}
	for _, l := range [...]struct{ id, value int }{
		{sqlite3.SQLITE_LIMIT_LENGTH, maxValue},
		{sqlite3.SQLITE_LIMIT_SQL_LENGTH, limitSchemaText},
		{sqlite3.SQLITE_LIMIT_COLUMN, maxColumns},
		{sqlite3.SQLITE_LIMIT_EXPR_DEPTH, limitDepth},
		{sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, limitCompound},
		{sqlite3.SQLITE_LIMIT_VDBE_OP, limitInstructions},
		{sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, limitLikePattern},
		{sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, maxParameters},
		{sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0},
		{sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0},
	} {
		c.db.SetLimit(l.id, l.value)
	}
	if c.walls.file {
		c.db.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	}
	c.authorize()
	return nil
}

// authorize puts the authorizer up.
func (c *connection) authorize() {
	c.auth = authorizer{}
	if c.walls.authorizer {
		c.db.RegisterAuthorizer(c.auth.decide)
	}
}

// connectTables compiles a statement while no authorizer stands, and does not
// run it. An R-tree compiles its own writes at the moment when it is first
// used, and could not be used at all if these were refused.
func (c *connection) connectTables(sql string) {
	c.db.RegisterAuthorizer(nil)
	defer c.authorize()
	if stmt, err := c.db.Prepare(sql); err == nil {
		stmt.Close() // what is wrong with it shows when it is compiled to be run
	}
}

func (c *connection) close() error { return c.db.Close() }

// prepare compiles one statement; the third wall stands here. What follows a
// first statement is not compiled and cannot run.
func (c *connection) prepare(sql string) (*sqlite3.SQLiteStmt, error) {
	prepared, err := c.db.Prepare(sql)
	if err != nil {
		return nil, err
	}
	stmt := prepared.(*sqlite3.SQLiteStmt)
	if c.walls.statement && !stmt.Readonly() {
		stmt.Close()
		return nil, errWrites
	}
	return stmt, nil
}

// errWrites is a statement that would write.
var errWrites = errors.New("the statement would write to the database")

// each runs a statement and gives its rows to visit, values as the driver has
// them. The first call of visit is for the names of the columns, without a row.
func (c *connection) each(ctx context.Context, sql string, args []driver.NamedValue, visit func(columns []string, row []driver.Value) error) error {
	stmt, err := c.prepare(sql)
	if err != nil {
		return err
	}
	// A statement or its rows can only be closed with the error that the last
	// step already gave, so closing adds nothing.
	defer stmt.Close()
	if n := stmt.NumInput(); n != len(args) {
		return &countError{takes: n, given: len(args)}
	}
	rows, err := stmt.QueryContext(ctx, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns := rows.Columns()
	if err := visit(columns, nil); err != nil {
		return err
	}
	row := make([]driver.Value, len(columns))
	for {
		switch err := rows.Next(row); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := visit(columns, row); err != nil {
			return err
		}
	}
}

// countError is a statement that takes another number of parameters.
type countError struct{ takes, given int }

func (e *countError) Error() string {
	return fmt.Sprintf("the statement takes %s, and parameters gives %d", plural(e.takes, "parameter"), e.given)
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Version is that of the SQLite library that is linked in.
func Version() string {
	version, _, _ := sqlite3.Version()
	return version
}
