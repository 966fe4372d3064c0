package checktest

import (
	"context"
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// laid lays a case out that has the given sections and gives its world.
func laid(t *testing.T, sections string) *world {
	t.Helper()
	c, err := parseCase([]byte("case\n-- params.json --\n{}\n-- want --\nstatus: pass\n" + sections))
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if err := w.release(); err != nil {
			t.Error(err)
		}
	})
	if err := w.layOut(c); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestVerbs(t *testing.T) {
	w := laid(t, `-- ws/a/b --
in {{ws}} and {{out}}
-- setup --
mkdir ws/d/e
symlink ws/l a/b c
symlink outside/m/abs {{ws}}/a
link ws/hard ws/a/b
fifo ws/p
socket ws/s
chmod 640 ws/a/b
hex ws/f 00 ff
repeat ws/r 3 x y
truncate ws/sparse 1000000000
name ws/"caf\xe9"
unreadable ws/d/e
`)
	read := func(path string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(w.ws, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if got, want := read("a/b"), "in "+w.ws+" and "+w.outside+"\n"; got != want {
		t.Errorf("a/b holds %q, want %q", got, want)
	}
	if got := read("f"); got != "\x00\xff" {
		t.Errorf("hex wrote %q", got)
	}
	if got := read("r"); got != "x yx yx y" {
		t.Errorf("repeat wrote %q", got)
	}
	if got := read("caf\xe9"); got != "" {
		t.Errorf("name wrote %q", got)
	}
	for path, want := range map[string]string{"ws/l": "a/b c", "outside/m/abs": w.ws + "/a"} {
		place, err := w.path(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(place); err != nil || got != want {
			t.Errorf("%s leads to %q (%v), want %q", path, got, err, want)
		}
	}
	for path, want := range map[string]fs.FileMode{
		"d": fs.ModeDir | 0o755, "d/e": fs.ModeDir, "p": fs.ModeNamedPipe | 0o644, "a/b": 0o640, "hard": 0o640,
	} {
		info, err := os.Lstat(filepath.Join(w.ws, path))
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
	if info, err := os.Lstat(filepath.Join(w.ws, "s")); err != nil || info.Mode().Type() != fs.ModeSocket {
		t.Errorf("s is no socket (%v)", err)
	}
	if info, err := os.Lstat(filepath.Join(w.ws, "sparse")); err != nil || info.Size() != 1e9 {
		t.Errorf("sparse is not 1 GB (%v)", err)
	}
}

func TestDatabases(t *testing.T) {
	w := laid(t, `-- setup --
sqlite ws/plain.db orders.sql
wal ws/live.db orders.sql
-- orders.sql --
CREATE TABLE orders (total REAL);
INSERT INTO orders VALUES (29.0);
`)
	for name, wantWAL := range map[string]bool{"plain.db": false, "live.db": true} {
		path := filepath.Join(w.ws, name)
		if _, err := os.Stat(path + "-wal"); (err == nil) != wantWAL {
			t.Errorf("%s-wal: %v, want it there: %v", name, err, wantWAL)
		}
		db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro")
		if err != nil {
			t.Fatal(err)
		}
		var total float64
		if err := db.QueryRowContext(context.Background(), "SELECT total FROM orders").Scan(&total); err != nil || total != 29 {
			t.Errorf("%s: total %v (%v)", name, total, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	// The row must lie in the -wal file: without it the table is not there.
	if err := os.WriteFile(filepath.Join(w.ws, "alone.db"), readFile(t, filepath.Join(w.ws, "live.db")), 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(w.ws, "alone.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var total float64
	if err := db.QueryRowContext(context.Background(), "SELECT total FROM orders").Scan(&total); err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("the row lies in the database itself (%v)", err)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDifferences(t *testing.T) {
	w := laid(t, "-- ws/a --\nx\n-- ws/b --\ny\n-- setup --\nsymlink ws/l a\n")
	before, err := w.snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"a byte", func() error { return os.WriteFile(filepath.Join(w.ws, "a"), []byte("z\n"), 0o644) }},
		{"permissions", func() error { return os.Chmod(filepath.Join(w.ws, "b"), 0o600) }},
		{"a link", func() error {
			if err := os.Remove(filepath.Join(w.ws, "l")); err != nil {
				return err
			}
			return os.Symlink("b", filepath.Join(w.ws, "l"))
		}},
		{"a new file", func() error { return os.WriteFile(filepath.Join(w.ws, "new"), nil, 0o644) }},
		{"a file less", func() error { return os.Remove(filepath.Join(w.ws, "new")) }},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		after, err := w.snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if len(differences(before, after)) == 0 {
			t.Errorf("%s: not noticed", change.name)
		}
		before = after
	}
	if again, err := w.snapshot(); err != nil || len(differences(before, again)) > 0 {
		t.Errorf("differences without a change: %q (%v)", differences(before, again), err)
	}
}
