package sqlread

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/roots"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// workspace is a folder with databases, read through real roots.
type workspace struct {
	*testing.T
	dir, scratch string
	files        *roots.Files
	reader       *Reader
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	// The name of the scratch folder is not ours to choose.
	w := &workspace{T: t, dir: t.TempDir(), scratch: filepath.Join(t.TempDir(), "s ?#%41&é")}
	if err := os.Mkdir(w.scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	files, err := roots.Open(w.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.files, w.reader = files, New(files, w.scratch)
	t.Cleanup(func() {
		if err := errors.Join(w.reader.Close(), files.Close()); err != nil {
			t.Error(err)
		}
		if left := names(t, w.scratch); len(left) > 0 {
			t.Errorf("left in the scratch folder: %q", left)
		}
	})
	return w
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, name) }

// database makes a database by a script. The connection closes with the test,
// so that a write-ahead log stays beside the database.
func (w *workspace) database(name, script string) *sql.DB {
	w.Helper()
	db, err := sql.Open("sqlite3", "file:"+w.path(name))
	if err != nil {
		w.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	w.Cleanup(func() { db.Close() })
	if _, err := db.Exec(script); err != nil {
		w.Fatal(err)
	}
	return db
}

// rows runs a query and gives its rows as one line of JSON objects, in order.
func (w *workspace) rows(database, query string, parameters ...strictjson.Value) string {
	w.Helper()
	set, err := w.query(database, query, parameters...)
	if err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	return lines(set)
}

func (w *workspace) query(database, query string, parameters ...strictjson.Value) (check.RowSet, error) {
	return w.reader.Query(context.Background(), check.Query{Database: database, SQL: query, Parameters: parameters, MaxRows: 1000})
}

func lines(set check.RowSet) string {
	var out []string
	for _, row := range set.Rows {
		var cells []string
		for i, v := range row {
			cells = append(cells, set.Columns[i]+"="+string(strictjson.Canonical(&v)))
		}
		out = append(out, strings.Join(cells, " "))
	}
	return strings.Join(out, "; ")
}

// refused asserts the class of the answer to a query.
func (w *workspace) refused(err error, status record.Status, code fault.Code, reason string) {
	w.Helper()
	var (
		qe *check.QueryError
		pe *check.PathError
	)
	switch {
	case errors.As(err, &qe):
		if qe.Status != status || qe.Code != code || !strings.Contains(qe.Reason, reason) {
			w.Errorf("got %s %q %q\nwant %s %q %q", qe.Status, qe.Code, qe.Reason, status, code, reason)
		}
	case errors.As(err, &pe):
		got := record.Inconclusive
		if pe.Code == "" {
			got = record.Fail
		}
		if got != status || pe.Code != code || !strings.Contains(pe.Error(), reason) {
			w.Errorf("got %s %q %q\nwant %s %q %q", got, pe.Code, pe, status, code, reason)
		}
	default:
		w.Errorf("got %v, want %s %q %q", err, status, code, reason)
	}
}

// contents gives the digest of every file below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
