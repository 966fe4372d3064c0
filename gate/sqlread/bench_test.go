package sqlread

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/roots"
)

func BenchmarkValidate(b *testing.B) {
	for b.Loop() {
		if _, err := Validate("SELECT id, total FROM orders WHERE status = ? ORDER BY id", 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkQuery measures one small query on databases of several sizes: with
// the copy of an unchanged database kept, and copied for each query.
func BenchmarkQuery(b *testing.B) {
	for _, size := range []int{1 << 14, 1 << 20, 1 << 28} {
		dir := b.TempDir()
		db, err := sql.Open("sqlite3", filepath.Join(dir, "a.db"))
		if err != nil {
			b.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		if _, err := db.Exec(fmt.Sprintf("PRAGMA synchronous=OFF; CREATE TABLE t(id INTEGER PRIMARY KEY, x); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < %d) INSERT INTO t SELECT i, randomblob(8000) FROM c", size/8192)); err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
		files, err := roots.Open(dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer files.Close()
		for _, keep := range []bool{true, false} {
			b.Run(fmt.Sprintf("%dKiB/kept=%v", size>>10, keep), func(b *testing.B) {
				r := New(files, b.TempDir())
				defer r.Close()
				for b.Loop() {
					if _, err := r.Query(context.Background(), check.Query{Database: "a.db", SQL: "SELECT count(*) AS n FROM t WHERE id < 3", MaxRows: 1}); err != nil {
						b.Fatal(err)
					}
					if !keep {
						if err := r.Close(); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
		if err := os.Remove(filepath.Join(dir, "a.db")); err != nil {
			b.Fatal(err)
		}
	}
}
