package sqlread

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
)

// settle waits until the stamps of databases vouch for their content, which is
// as long as a file system's clock takes to tick.
func (w *workspace) settle(names ...string) {
	w.Helper()
	for _, name := range names {
		for settled := false; !settled; {
			s, err := openSource(context.Background(), w.files, name)
			if err != nil {
				w.Fatal(err)
			}
			_, settled = s.key(time.Now())
			s.close()
		}
	}
}

// copyFile copies a file of the workspace as it lies there.
func (w *workspace) copyFile(from, to string) {
	w.Helper()
	data, err := os.ReadFile(w.path(from))
	if err == nil {
		err = os.WriteFile(w.path(to), data, 0o600)
	}
	if err != nil {
		w.Fatal(err)
	}
}

const walScript = "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(x); INSERT INTO t VALUES (1),(2)"

func TestWriteAheadLog(t *testing.T) {
	w := newWorkspace(t)
	db := w.database("a.db", walScript)
	if info, err := os.Stat(w.path("a.db-wal")); err != nil || info.Size() == 0 {
		t.Fatalf("there is no log to read: %v", err)
	}
	if got := w.rows("a.db", "SELECT x FROM t"); got != "x=1; x=2" {
		t.Errorf("got %s", got)
	}
	// A transaction that is not committed is not there.
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO t VALUES (3)"); err != nil {
		t.Fatal(err)
	}
	if got := w.rows("a.db", "SELECT count(*) AS n FROM t"); got != "n=2" {
		t.Errorf("with an open transaction: got %s", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := w.rows("a.db", "SELECT count(*) AS n FROM t"); got != "n=3" {
		t.Errorf("after the transaction: got %s", got)
	}
	// The log alone makes the difference: without it the rows are not there.
	w.copyFile("a.db", "b.db")
	if set, err := w.query("b.db", "SELECT x FROM t"); err == nil {
		t.Errorf("without the log there is %s", lines(set))
	}
}

// SQLite keeps the log beside the database, and not beside a link to it.
func TestLogOfLinkedDatabase(t *testing.T) {
	w := newWorkspace(t)
	if err := os.Mkdir(w.path("data"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.database("data/real.db", walScript)
	for _, link := range [][2]string{{"relative.db", "data/real.db"}, {"absolute.db", w.path("data/real.db")}, {"chain.db", "relative.db"}} {
		name := link[0]
		if err := os.Symlink(link[1], w.path(name)); err != nil {
			t.Fatal(err)
		}
		if got := w.rows(name, "SELECT x FROM t"); got != "x=1; x=2" {
			t.Errorf("%s: got %s", name, got)
		}
	}
	// What lies beside the link is not the log.
	if err := os.WriteFile(w.path("relative.db-wal"), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.rows("relative.db", "SELECT x FROM t"); got != "x=1; x=2" {
		t.Errorf("with junk beside the link: got %s", got)
	}
}

// interrupted leaves a database in the middle of a transaction whose pages are
// partly written, with the journal that undoes it.
func (w *workspace) interrupted(name string) {
	w.Helper()
	db := w.database("live.db", "PRAGMA journal_mode=DELETE; PRAGMA page_size=512; CREATE TABLE t(x, y)")
	if _, err := db.Exec("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 2000) INSERT INTO t SELECT i, hex(zeroblob(50)) FROM c; PRAGMA cache_size=10; PRAGMA cache_spill=10"); err != nil {
		w.Fatal(err)
	}
	before, err := os.ReadFile(w.path("live.db"))
	if err != nil {
		w.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		w.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE t SET x = -1, y = 'changed'"); err != nil {
		w.Fatal(err)
	}
	w.copyFile("live.db", name)
	w.copyFile("live.db-journal", name+"-journal")
	if err := tx.Rollback(); err != nil {
		w.Fatal(err)
	}
	after, err := os.ReadFile(w.path(name))
	if err != nil {
		w.Fatal(err)
	}
	if string(before) == string(after) {
		w.Fatal("nothing of the transaction was written: there is nothing to undo")
	}
}

func TestHotJournalIsRolledBack(t *testing.T) {
	w := newWorkspace(t)
	w.interrupted("a.db")
	before := contents(t, w.dir)
	if got := w.rows("a.db", "SELECT count(*) AS n, min(x) AS x FROM t WHERE y <> 'changed'"); got != "n=2000 x=1" {
		t.Errorf("got %s", got)
	}
	if !maps.Equal(before, contents(t, w.dir)) {
		t.Error("the workspace changed")
	}
	// Without its journal the database holds half a transaction, which shows.
	if err := os.Remove(w.path("a.db-journal")); err != nil {
		t.Fatal(err)
	}
	if set, err := w.query("a.db", "SELECT count(*) AS n, min(x) AS x FROM t WHERE y <> 'changed'"); err == nil && lines(set) == "n=2000 x=1" {
		t.Error("the journal made no difference: this test proves nothing")
	}
}

// A journal may name a file that SQLite deletes once it is rolled back. Whoever
// can plant a journal must not be able to have a file deleted.
func TestJournalThatNamesAnotherIsNotFollowed(t *testing.T) {
	w := newWorkspace(t)
	w.interrupted("a.db")
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// The record: page number, name, length, sum of the bytes, magic.
	sum := uint32(0)
	for _, c := range []byte(victim) {
		sum += uint32(c)
	}
	number := func(n uint32) string { return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) }
	tail := number(1) + victim + number(uint32(len(victim))) + number(sum) + journalMagic
	journal, err := os.OpenFile(w.path("a.db-journal"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(journal, tail); err != nil {
		t.Fatal(err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = w.query("a.db", "SELECT 1 AS n")
	w.refused(err, record.Inconclusive, fault.TargetUnreadable, "several databases")
	if _, err := os.Stat(victim); err != nil {
		t.Errorf("the file that the journal names: %v", err)
	}
}

// Journals that undo nothing: of the PERSIST and the TRUNCATE mode, and empty.
func TestColdJournals(t *testing.T) {
	for name, journal := range map[string]string{"zeroed": strings.Repeat("\x00", 512), "zeroed, with a name": strings.Repeat("\x00", 512) + journalMagic, "empty": ""} {
		w := newWorkspace(t)
		w.database("a.db", "CREATE TABLE t(x); INSERT INTO t VALUES (1)")
		if err := os.WriteFile(w.path("a.db-journal"), []byte(journal), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := w.rows("a.db", "SELECT x FROM t"); got != "x=1" {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// restless is a workspace in which something happens whenever a file is opened.
type restless struct {
	check.Files
	mu     sync.Mutex
	opened func(path string)
}

func (f *restless) Open(ctx context.Context, path string) (io.ReadCloser, check.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened(path)
	return f.Files.Open(ctx, path)
}

// blind hides the file behind a reader, as a Files does that has none.
type blind struct{ restless }

func (f *blind) Open(ctx context.Context, path string) (io.ReadCloser, check.Info, error) {
	r, info, err := f.restless.Open(ctx, path)
	if err != nil {
		return nil, info, err
	}
	return struct{ io.ReadCloser }{r}, info, nil
}

// A database that changes while it is copied is copied again; one that never
// stops changing is no answer. It is told by time stamps or by content.
func TestDatabaseThatChanges(t *testing.T) {
	for _, seen := range []string{"by stamp", "by content"} {
		for _, tt := range []struct {
			name    string
			changes int // how many openings change the file
			want    string
		}{
			{"once", 2, "x=2"},
			{"without end", 1000, ""},
		} {
			t.Run(tt.name+" "+seen, func(t *testing.T) {
				w := newWorkspace(t)
				db := w.database("a.db", "CREATE TABLE t(x); INSERT INTO t VALUES (0)")
				opened := 0
				r := restless{Files: w.files, opened: func(path string) {
					if path != "a.db" {
						return
					}
					if opened++; opened <= tt.changes {
						if _, err := db.Exec("UPDATE t SET x = x + 1"); err != nil {
							t.Error(err)
						}
					}
				}}
				w.reader.files = &r
				if seen == "by content" {
					w.reader.files = &blind{restless{Files: r.Files, opened: r.opened}}
				}
				set, err := w.query("a.db", "SELECT x FROM t")
				if tt.want == "" {
					w.refused(err, record.Inconclusive, fault.TargetUnreadable, "changed while it was read")
				} else if err != nil || lines(set) != tt.want {
					t.Errorf("got %s, %v", lines(set), err)
				}
			})
		}
	}
}

// A log that comes or goes while the database is copied is a change too.
func TestSidecarThatComes(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", "CREATE TABLE t(x); INSERT INTO t VALUES (1)")
	opened := 0
	w.reader.files = &restless{Files: w.files, opened: func(path string) {
		if path != "a.db" {
			return
		}
		switch opened++; opened % 2 {
		case 0:
			os.WriteFile(w.path("a.db-wal"), []byte("x"), 0o600)
		case 1:
			os.Remove(w.path("a.db-wal"))
		}
	}}
	_, err := w.query("a.db", "SELECT x FROM t")
	w.refused(err, record.Inconclusive, fault.TargetUnreadable, `"a.db-wal" changed`)
}

// Queries on an unchanged database share one copy; a changed one is copied anew,
// also when its size is the same and the time of its last write is set back.
func TestCopyIsReusedOnlyWhileUnchanged(t *testing.T) {
	w := newWorkspace(t)
	db := w.database("a.db", "CREATE TABLE t(x); INSERT INTO t VALUES (1)")
	w.settle("a.db")
	info, err := os.Stat(w.path("a.db"))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if set, err := w.query("a.db", "SELECT x FROM t"); err != nil || lines(set) != "x=1" {
				t.Errorf("got %s, %v", lines(set), err)
			}
		})
	}
	group.Wait()
	first := names(t, w.scratch)
	if len(first) != 1 {
		t.Errorf("8 queries made the copies %q", first)
	}
	if _, err := db.Exec("UPDATE t SET x = 2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(w.path("a.db"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	w.settle("a.db")
	if now, err := os.Stat(w.path("a.db")); err != nil || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()) {
		t.Fatalf("the change shows: %v, %v", now, err)
	}
	if got := w.rows("a.db", "SELECT x FROM t"); got != "x=2" {
		t.Errorf("after a hidden change: got %s", got)
	}
}

func TestCopiesAreBounded(t *testing.T) {
	w := newWorkspace(t)
	var all []string
	for i := range maxKept + 3 {
		name := fmt.Sprintf("%d.db", i)
		w.database(name, fmt.Sprintf("CREATE TABLE t(x); INSERT INTO t VALUES (%d)", i))
		all = append(all, name)
	}
	w.settle(all...)
	for range 2 {
		for i, name := range all {
			if got := w.rows(name, "SELECT x FROM t"); got != fmt.Sprintf("x=%d", i) {
				t.Errorf("%s: got %s", name, got)
			}
		}
	}
	if kept := names(t, w.scratch); len(kept) != maxKept {
		t.Errorf("%d copies are kept, want %d", len(kept), maxKept)
	}
}

// What a context ends leaves no copy behind; newWorkspace looks.
func TestContextEndsTheCopy(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", "CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(1000000))")
	ctx, cancel := context.WithCancel(context.Background())
	w.reader.files = &restless{Files: w.files, opened: func(string) { cancel() }}
	_, err := w.reader.Query(ctx, check.Query{Database: "a.db", SQL: "SELECT 1", MaxRows: 1})
	var pe *check.PathError
	if !errors.Is(err, context.Canceled) && (!errors.As(err, &pe) || pe.Code != fault.Timeout) {
		t.Errorf("got %v", err)
	}
}

// A scratch folder that cannot be written is the verifier's trouble, not the
// database's.
func TestScratchThatCannotBeWritten(t *testing.T) {
	w := newWorkspace(t)
	w.database("a.db", "CREATE TABLE t(x)")
	r := New(w.files, filepath.Join(w.scratch, "missing"))
	_, err := r.Query(context.Background(), check.Query{Database: "a.db", SQL: "SELECT 1", MaxRows: 1})
	w.refused(err, record.Inconclusive, fault.TargetUnreadable, "no such file or directory")
	if strings.Contains(err.Error(), w.scratch) {
		t.Errorf("the error names a folder that differs from run to run: %v", err)
	}
}
