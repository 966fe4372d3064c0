package draft

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// sqliteHeader is how every SQLite database begins.
const sqliteHeader = "SQLite format 3\x00"

// perDatabase is how long one database is looked at: counting the rows of a
// large one is for the author to decide.
const perDatabase = 10 * time.Second

func databases(s *survey) {
	found := 0
	for _, name := range s.files {
		if !s.isDatabase(name) {
			continue
		}
		if found++; found > maxDatabases {
			s.note("only the first %d databases were looked into", maxDatabases)
			return
		}
		s.exists(name)
		s.tables(name)
	}
}

// isDatabase goes by the first bytes: names of databases end in anything.
func (s *survey) isDatabase(name string) bool {
	f, err := s.Files.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(sqliteHeader))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == sqliteHeader
}

// tables adds how many rows each table of a database has.
func (s *survey) tables(name string) {
	ctx, cancel := context.WithTimeout(s.ctx, perDatabase)
	defer cancel()
	list, err := s.Rows.Query(ctx, check.Query{Database: name, MaxRows: maxTables + 1,
		SQL: fmt.Sprintf(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%%' ESCAPE '\' ORDER BY name LIMIT %d`, maxTables+1)})
	if err != nil {
		s.note("the tables of %s were not looked at: %v", check.Show(name), err)
		return
	}
	for i, row := range list.Rows {
		if i == maxTables {
			s.note("only the first %d tables of %s were taken", maxTables, check.Show(name))
			return
		}
		table := row[0].Text
		sql := `SELECT count(*) AS n FROM "` + strings.ReplaceAll(table, `"`, `""`) + `"`
		count, err := s.Rows.Query(ctx, check.Query{Database: name, MaxRows: 1, SQL: sql})
		if err != nil || len(count.Rows) != 1 {
			s.note("the rows of %s in %s were not counted: %v", check.Show(table), check.Show(name), err)
			continue
		}
		n := count.Rows[0][0]
		s.fact("sqlite_query", name+"_"+table, fmt.Sprintf("%s holds %s rows in %s", check.Show(name), n.Text, check.Show(table)),
			member("database", strictjson.Str(name)), member("sql", strictjson.Str(sql)),
			member("equals", strictjson.Arr(strictjson.Obj(member("n", n)))))
	}
}
