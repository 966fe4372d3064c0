package sqlread

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Reader answers queries from copies of databases. It implements [check.Rows],
// and may be used by several goroutines.
type Reader struct {
	files   check.Files
	scratch string
	walls   walls

	turn chan struct{} // whoever holds its token copies; one at a time keeps the disk sequential

	mu   sync.Mutex
	kept []*snapshot // the newest last
}

var _ check.Rows = (*Reader)(nil)

// New makes a reader of the databases that files can open. Copies go to the
// scratch folder; whoever owns it removes what is left there at the end.
func New(files check.Files, scratch string) *Reader {
	return &Reader{files: files, scratch: scratch, walls: allWalls, turn: make(chan struct{}, 1)}
}

// Close removes the copies that were kept for further queries.
func (r *Reader) Close() error {
	r.mu.Lock()
	kept := r.kept
	r.kept = nil
	r.mu.Unlock()
	var all []error
	for _, s := range kept {
		all = append(all, r.drop(s))
	}
	return errors.Join(all...)
}

// Query answers one SELECT. Its errors are *check.PathError, *check.QueryError
// or the context's.
func (r *Reader) Query(ctx context.Context, q check.Query) (check.RowSet, error) {
	s, err := r.admit(q.SQL)
	if err != nil {
		return check.RowSet{}, err
	}
	if n := len(q.Parameters); r.walls.screen && s.parameters != n {
		// It is wrong whatever the database holds, even if there is none.
		return check.RowSet{}, defect("%s", &countError{takes: s.parameters, given: n})
	}
	args, err := bind(q.Parameters)
	if err != nil {
		return check.RowSet{}, defect("%s", err)
	}
	snap, err := r.acquire(ctx, q.Database)
	if err != nil {
		return check.RowSet{}, err
	}
	defer r.release(snap)
	return r.read(ctx, snap, s, args, q)
}

// admit is where the first wall stands.
func (r *Reader) admit(sql string) (statement, error) {
	s, err := screen(sql)
	if err != nil && r.walls.screen {
		return s, defect("%s", err)
	}
	return s, nil
}

// read runs a statement on a copy.
func (r *Reader) read(ctx context.Context, snap *snapshot, s statement, args []driver.NamedValue, q check.Query) (check.RowSet, error) {
	c, err := openCopy(snap.path(), r.walls)
	if err != nil {
		return check.RowSet{}, c.unanswered(s, q.Database, err)
	}
	defer c.close() // a connection that only read has nothing to lose
	return c.answer(ctx, s, args, q)
}

// answer runs the statement as it is written. Where the driver shows a value by
// its column's declared type and not as it is stored, the statement runs again
// inside another one, whose columns are expressions and have no declared type.
// That is not done from the start because SQL promises no order for rows that
// come out of an inner SELECT; SQLite keeps it, and a test holds it to that.
func (c *connection) answer(ctx context.Context, s statement, args []driver.NamedValue, q check.Query) (check.RowSet, error) {
	var a collector
	run := func(sql string) error {
		a = collector{most: q.MaxRows, count: q.Count, set: check.RowSet{Columns: a.set.Columns}}
		return c.each(ctx, sql, args, a.visit)
	}
	err := run(s.sql())
	if err != nil && c.auth.writing {
		c.connectTables(s.sql())
		err = run(s.sql())
	}
	if errors.Is(err, errDistorted) {
		err = run(s.undeclared(len(a.set.Columns)))
	}
	if err != nil {
		return check.RowSet{}, c.unanswered(s, q.Database, err)
	}
	return a.set, nil
}

// undeclared wraps the statement so that its columns lose their declared types
// and nothing else: a unary plus changes no value. The line breaks keep a
// comment from reaching over the parenthesis.
func (s statement) undeclared(columns int) string {
	name := "answer"
	for s.mentions(name) {
		name += "_"
	}
	var names, values strings.Builder
	for i := range columns {
		if i > 0 {
			names.WriteByte(',')
			values.WriteByte(',')
		}
		fmt.Fprintf(&names, "c%d", i)
		fmt.Fprintf(&values, "+c%d", i)
	}
	return fmt.Sprintf("WITH %s(%s) AS (\n%s\n) SELECT %s FROM %s", name, &names, s.sql(), &values, name)
}

// collector keeps the rows of an answer within their bounds.
type collector struct {
	set   check.RowSet
	most  int
	count bool
	size  int
	full  bool
}

// tooLargeError is an answer over a bound.
type tooLargeError struct{ reason string }

func (e *tooLargeError) Error() string { return e.reason }

func (a *collector) visit(columns []string, row []driver.Value) error {
	if row == nil {
		return a.head(columns)
	}
	a.set.Total++
	if a.full || len(a.set.Rows) == a.most {
		if a.full = true; !a.count {
			return &tooLargeError{fmt.Sprintf("the query gives more than %s", plural(a.most, "row"))}
		}
		return nil
	}
	values := make([]strictjson.Value, len(row))
	for i := range row {
		var err error
		if values[i], err = fromStorage(row[i]); err != nil {
			return err
		}
		a.size += cost(&values[i])
	}
	if a.size > maxAnswer {
		if a.full = true; !a.count {
			return &tooLargeError{fmt.Sprintf("the rows of the query take more than %d bytes", maxAnswer)}
		}
		return nil
	}
	a.set.Rows = append(a.set.Rows, values)
	return nil
}

// head takes the names of the columns, which must differ: rows are objects, and
// an object has one member of a name. Of a wrapped statement they are known.
func (a *collector) head(columns []string) error {
	if a.set.Columns != nil {
		return nil
	}
	seen := make(map[string]bool, len(columns))
	for _, name := range columns {
		if !utf8.ValidString(name) {
			name = strictjson.Printable(name)
		}
		if seen[name] {
			return &duplicateError{name}
		}
		seen[name] = true
		a.set.Columns = append(a.set.Columns, name)
	}
	return nil
}

// duplicateError is an answer with two columns of one name.
type duplicateError struct{ name string }

func (e *duplicateError) Error() string {
	return fmt.Sprintf("two columns of the answer are named %s", check.Quote(e.name))
}

// acquire gives a copy of the database as it is now: one that was made before,
// if nothing can have changed since.
func (r *Reader) acquire(ctx context.Context, database string) (*snapshot, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := openSource(ctx, r.files, database)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if k, ok := s.key(time.Now()); ok {
		if snap := r.reuse(k); snap != nil {
			return snap, nil
		}
	}
	snap, err := r.take(ctx, s)
	if err != nil {
		return nil, err
	}
	return snap, r.keep(snap)
}

func (r *Reader) reuse(k key) *snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.kept {
		if s.key == k {
			s.uses++
			return s
		}
	}
	return nil
}

// keep counts the first use of a copy, and lets the oldest go when there are
// too many of them.
func (r *Reader) keep(s *snapshot) error {
	r.mu.Lock()
	s.uses = 1
	var oldest *snapshot
	if s.kept {
		r.kept = append(r.kept, s)
		if len(r.kept) > maxKept {
			oldest, r.kept = r.kept[0], r.kept[1:]
		}
	}
	r.mu.Unlock()
	if oldest == nil {
		return nil
	}
	return r.drop(oldest)
}

// drop gives a kept copy up: it goes when its last query is done.
func (r *Reader) drop(s *snapshot) error {
	r.mu.Lock()
	s.kept = false
	unused := s.uses == 0
	r.mu.Unlock()
	if !unused {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// release ends the use of a copy. What cannot be removed is left to the owner
// of the scratch folder: the answer is right all the same.
func (r *Reader) release(s *snapshot) {
	r.mu.Lock()
	s.uses--
	unused := s.uses == 0 && !s.kept
	r.mu.Unlock()
	if unused {
		os.RemoveAll(s.dir)
	}
}

func defect(format string, args ...any) error {
	return &check.QueryError{Status: record.Broken, Code: fault.CheckMalformed, Reason: fmt.Sprintf(format, args...)}
}
