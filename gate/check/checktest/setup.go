package checktest

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	_ "github.com/mattn/go-sqlite3" // the databases of the cases are real ones
	"golang.org/x/sys/unix"
)

// world is where a case is laid out: a workspace, a folder outside every root,
// and a scratch folder of the verifier.
type world struct {
	ws, outside, scratch string
	close                []func() error // connections that stay open while the case runs
}

// newWorld makes the three folders below dir.
func newWorld(dir string) (*world, error) {
	w := &world{ws: filepath.Join(dir, "ws"), outside: filepath.Join(dir, "outside"), scratch: filepath.Join(dir, "scratch")}
	for _, d := range []string{w.ws, w.outside, w.scratch} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Close ends what the setup left running.
func (w *world) Close() error {
	var first error
	for _, f := range w.close {
		if err := f(); err != nil && first == nil {
			first = err
		}
	}
	w.close = nil
	return first
}

// expand writes the world's folders into a text of the case.
func (w *world) expand(text string) string {
	return strings.NewReplacer("{{ws}}", w.ws, "{{out}}", w.outside).Replace(text)
}

// path is the place of a case's ws/… or outside/….
func (w *world) path(name string) (string, error) {
	for prefix, dir := range map[string]string{"ws/": w.ws, "outside/": w.outside} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return dir + "/" + rest, nil
		}
	}
	return "", fmt.Errorf("%q must begin with ws/ or outside/", name)
}

// verb is one setup instruction: how many words follow it (the last takes the
// rest of the line) and what it does.
type verb struct {
	words int
	do    func(w *world, c *testCase, words []string) error
}

func verbs() map[string]verb {
	return map[string]verb{
		"mkdir":      {1, (*world).mkdir},
		"symlink":    {2, (*world).symlink},
		"link":       {2, (*world).link},
		"fifo":       {1, (*world).fifo},
		"socket":     {1, (*world).socket},
		"chmod":      {2, (*world).chmod},
		"unreadable": {1, (*world).unreadable},
		"hex":        {2, (*world).hex},
		"repeat":     {3, (*world).repeat},
		"truncate":   {2, (*world).truncate},
		"name":       {1, (*world).name},
		"sqlite":     {2, (*world).sqlite},
		"wal":        {2, (*world).wal},
	}
}

// split gives the verb of a setup line and its words.
func split(line string) (verb, []string, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	v, ok := verbs()[name]
	if !ok {
		return verb{}, nil, fmt.Errorf("setup: %q is no verb", name)
	}
	words := strings.SplitN(strings.TrimLeft(rest, " "), " ", v.words)
	if len(words) != v.words || words[0] == "" {
		return verb{}, nil, fmt.Errorf("setup: %q: %s takes %d words", line, name, v.words)
	}
	return v, words, nil
}

// checkSetup finds misspelt lines before anything is laid out.
func (c *testCase) checkSetup() error {
	for _, line := range c.setup {
		if _, _, err := split(line); err != nil {
			return err
		}
	}
	return nil
}

// unprivileged says whether the case needs a user whom permissions bind.
func (c *testCase) unprivileged() bool {
	for _, line := range c.setup {
		if strings.HasPrefix(strings.TrimSpace(line), "unreadable ") {
			return true
		}
	}
	return false
}

// layOut writes the files of a case, then carries out its setup lines.
func (w *world) layOut(c *testCase) error {
	for _, f := range c.files {
		if err := w.write(f.Name, []byte(w.expand(string(f.Data)))); err != nil {
			return err
		}
	}
	for _, line := range c.setup {
		v, words, err := split(w.expand(line))
		if err != nil {
			return err
		}
		if err := v.do(w, c, words); err != nil {
			return fmt.Errorf("setup: %q: %w", line, err)
		}
	}
	return nil
}

// write makes a file with the folders above it.
func (w *world) write(name string, data []byte) error {
	path, err := w.path(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

func (w *world) mkdir(_ *testCase, words []string) error {
	path, err := w.path(words[0])
	if err != nil {
		return err
	}
	return os.MkdirAll(path, 0o755)
}

func (w *world) symlink(_ *testCase, words []string) error {
	path, err := w.path(words[0])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Symlink(words[1], path)
}

func (w *world) link(_ *testCase, words []string) error {
	path, err := w.path(words[0])
	if err != nil {
		return err
	}
	existing, err := w.path(words[1])
	if err != nil {
		return err
	}
	return os.Link(existing, path)
}

func (w *world) fifo(_ *testCase, words []string) error {
	path, err := w.path(words[0])
	if err != nil {
		return err
	}
	return unix.Mkfifo(path, 0o644)
}

// socket binds through a short relative name's stand-in: a socket address holds
// about 100 bytes, and a test's temporary folder may be longer than that.
func (w *world) socket(_ *testCase, words []string) error {
	path, err := w.path(words[0])
	if err != nil {
		return err
	}
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	defer os.RemoveAll(short)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s"), Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		return err
	}
	return os.Rename(filepath.Join(short, "s"), path)
}

func (w *world) chmod(_ *testCase, words []string) error {
	mode, err := strconv.ParseUint(words[0], 8, 12)
	if err != nil {
		return err
	}
	path, err := w.path(words[1])
	if err != nil {
		return err
	}
	return unix.Chmod(path, uint32(mode))
}

func (w *world) unreadable(c *testCase, words []string) error {
	return w.chmod(c, []string{"000", words[0]})
}

func (w *world) hex(_ *testCase, words []string) error {
	data, err := hex.DecodeString(strings.ReplaceAll(words[1], " ", ""))
	if err != nil {
		return err
	}
	return w.write(words[0], data)
}

func (w *world) repeat(_ *testCase, words []string) error {
	count, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	if err := w.write(words[0], nil); err != nil {
		return err
	}
	path, err := w.path(words[0])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<16)
	for range count {
		if _, err := out.WriteString(words[2]); err != nil {
			break // Flush reports it
		}
	}
	if err := out.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func (w *world) truncate(_ *testCase, words []string) error {
	size, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return err
	}
	path, err := w.path(words[0])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := f.Truncate(size); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func (w *world) name(_ *testCase, words []string) error {
	quote := strings.IndexByte(words[0], '"')
	if quote < 0 {
		return fmt.Errorf("%q holds no quoted name", words[0])
	}
	name, err := strconv.Unquote(words[0][quote:])
	if err != nil {
		return err
	}
	return w.write(words[0][:quote]+name, nil)
}

func (w *world) sqlite(c *testCase, words []string) error {
	db, err := w.database(c, words, "DELETE")
	if err != nil {
		return err
	}
	return db.Close()
}

func (w *world) wal(c *testCase, words []string) error {
	db, err := w.database(c, words, "WAL")
	if err != nil {
		return err
	}
	w.close = append(w.close, db.Close)
	path, err := w.path(words[0])
	if err != nil {
		return err
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		return fmt.Errorf("the script left nothing in the -wal file (%v)", err)
	}
	return nil
}

// database runs a script of the archive in a new database. One connection: the
// last one to close would fold a -wal file into the database.
func (w *world) database(c *testCase, words []string, journal string) (*sql.DB, error) {
	script, ok := c.scripts[words[1]]
	if !ok {
		return nil, fmt.Errorf("there is no section %s", words[1])
	}
	if err := w.write(words[0], nil); err != nil {
		return nil, err
	}
	path, err := w.path(words[0])
	if err != nil {
		return nil, err
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: "_journal_mode=" + journal}
	db, err := sql.Open("sqlite3", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(context.Background(), "PRAGMA wal_autocheckpoint=0;\n"+w.expand(script)); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}
