package sqlread

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/record"
)

// However a database is damaged, a sound statement on it is never called wrong,
// and the answer is one of a check: rows, false, or could not be examined.
func TestDamageIsNeverTheStatementsFault(t *testing.T) {
	w := newWorkspace(t)
	if err := w.database("whole.db", `PRAGMA page_size=512; CREATE TABLE t(id INTEGER PRIMARY KEY, s TEXT, r REAL, b); CREATE INDEX by_s ON t(s); CREATE VIEW v AS SELECT id, s FROM t WHERE r > 0;
		WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 200) INSERT INTO t SELECT i, printf('%.*c', i % 40, 'x'), i / 3.0, zeroblob(i * 9) FROM c`).Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(w.path("whole.db"))
	if err != nil {
		t.Fatal(err)
	}
	source := rand.New(rand.NewPCG(7, 11))
	seen := map[record.Status]int{}
	for round := range 400 {
		data := append([]byte(nil), whole...)
		for range 1 + source.IntN(20) {
			// The first page, which holds the header and the schema, more often than the others.
			limit := len(data)
			if source.IntN(2) == 0 {
				limit = 1024
			}
			data[source.IntN(limit)] = byte(source.IntN(256))
		}
		if source.IntN(4) == 0 {
			data = data[:source.IntN(len(data))]
		}
		name := fmt.Sprintf("%d.db", round)
		if err := os.WriteFile(w.path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{"SELECT id, s, r, b FROM t ORDER BY s DESC, id", "SELECT count(*) AS n, max(s) AS m FROM v", "SELECT s FROM t WHERE s = 'xxxx'"} {
			set, err := w.query(name, sql)
			var qe *check.QueryError
			switch {
			case err == nil && len(set.Columns) > 0:
				seen[record.Pass]++
			case errors.As(err, &qe) && qe.Status != record.Broken:
				seen[qe.Status]++
			default:
				t.Errorf("round %d: %s: %v", round, sql, err)
			}
		}
	}
	if seen[record.Pass] < 100 || seen[record.Fail] < 100 {
		t.Errorf("the damage is too little or too much to show anything: %v", seen)
	}
	t.Log(seen)
}
