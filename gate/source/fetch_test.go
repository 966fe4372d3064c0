package source

import (
	"context"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// served is a bare copy of a repository behind git's own server over HTTP. It
// gives the requests' Authorization headers.
func served(t *testing.T, dir string) (url string, seen func() string) {
	t.Helper()
	bare := filepath.Join(folder(t), "o")
	git(t, dir, "clone", "-q", "--bare", dir, bare+"/r.git")
	return serveGit(t, bare)
}

func serveGit(t *testing.T, root string) (url string, seen func() string) {
	t.Helper()
	program, err := exec.LookPath("git")
	must(t, err)
	var mu sync.Mutex
	var headers []string
	handler := &cgi.Handler{Path: program, Stderr: io.Discard, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		headers = append(headers, r.Header.Get("Authorization"))
		mu.Unlock()
		handler.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/r.git", func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(headers, "\n")
	}
}

func fetch(t *testing.T, url, id string) *Commit {
	t.Helper()
	c, err := Fetch(context.Background(), Remote{URL: url, Header: "Authorization: basic eDpz", Commit: id})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

func TestFetch(t *testing.T) {
	ws := folder(t)
	head := repo(t, ws)
	// Neither what the repository says of its files nor a replacement counts.
	write(t, ws, ".gitattributes", "* text eol=crlf ident filter=x\n", "d/run", "#!/bin/sh\n$Id$\n", "d/odd\nname", "o")
	must(t, os.Chmod(ws+"/d/run", 0o755))
	must(t, os.Symlink("../../etc/passwd", ws+"/link"))
	git(t, ws, "add", "-A")
	git(t, ws, "update-index", "--add", "--cacheinfo", "160000,"+head+",sub")
	git(t, ws, "commit", "-qm", "two")
	commit := git(t, ws, "rev-parse", "HEAD")
	url, seen := served(t, ws)
	c := fetch(t, url, commit)
	if !strings.Contains(seen(), "basic eDpz") {
		t.Errorf("the header was not sent: %q", seen())
	}
	root, err := c.Root(context.Background())
	must(t, err)
	entries, err := c.Tree(context.Background(), root)
	must(t, err)
	kinds := map[string]Kind{}
	for _, e := range entries {
		kinds[e.Path] = e.Kind
		if e.Path == "a" {
			data, err := c.Blob(context.Background(), e.ID, 1)
			if must(t, err); string(data) != "a" || e.Size != 1 {
				t.Errorf("%q, %+v", data, e)
			}
			if _, err := c.Blob(context.Background(), e.ID, 0); err == nil || !strings.Contains(err.Error(), "more than 0 bytes") {
				t.Errorf("too large: %v", err)
			}
		}
	}
	for name, want := range map[string]Kind{"a": File, "d": Folder, "link": Symlink, "sub": Submodule} {
		if kinds[name] != want {
			t.Errorf("%s is a %s, want %s", name, kinds[name], want)
		}
	}
	out := folder(t)
	room := Room{Files: 100, Bytes: 1000}
	must(t, c.WriteTo(context.Background(), out, room))
	for name, want := range map[string]string{"a": "a", "d/b": "b", "d/run": "#!/bin/sh\n$Id$\n", "d/odd\nname": "o"} {
		if data, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(data) != want {
			t.Errorf("%q: %q, %v", name, data, err)
		}
	}
	if info, err := os.Stat(out + "/d/run"); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("it cannot be run: %v", err)
	}
	if target, err := os.Readlink(out + "/link"); err != nil || target != "../../etc/passwd" {
		t.Errorf("%q, %v", target, err)
	}
	if left, err := os.ReadDir(out + "/sub"); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	for room, want := range map[Room]string{{Files: 2, Bytes: 1000}: "more than 2", {Files: 100, Bytes: 3}: "more than 3 bytes"} {
		if err := c.WriteTo(context.Background(), folder(t), room); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", room, err)
		}
	}
	if err := c.WriteTo(context.Background(), out, room); err == nil || !strings.Contains(err.Error(), "not an empty folder") {
		t.Errorf("over files: %v", err)
	}
}

// A tree that no git makes: one name twice, as a link and as a folder, and paths
// that lead out.
func TestHostileTree(t *testing.T) {
	ws := folder(t)
	repo(t, ws)
	blob := git(t, ws, "rev-parse", "HEAD:a")
	sub := git(t, ws, "rev-parse", "HEAD:d")
	for name, tree := range map[string]string{
		"twice":   "120000 blob " + blob + "\td\n040000 tree " + sub + "\td\n",
		"up":      "040000 tree " + sub + "\t..\n",
		"git":     "040000 tree " + sub + "\t.GIT\n",
		"slash":   "100644 blob " + blob + "\ta/../../b\n",
		"missing": "",
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			write(t, dir, "tree", tree)
			var id string
			if tree == "" {
				id = strings.Repeat("1", 40)
			} else {
				raw := hashTree(t, ws, tree)
				id = git(t, ws, "commit-tree", "-m", "x", raw)
				git(t, ws, "branch", name, id)
			}
			url, _ := served(t, ws)
			c, err := Fetch(context.Background(), Remote{URL: url, Commit: id})
			if err != nil {
				return // git itself refuses it
			}
			defer c.Close()
			out := folder(t)
			if err := c.WriteTo(context.Background(), out+"/", Room{Files: 100, Bytes: 100}); err == nil {
				t.Error("it was written")
			}
			if _, err := os.Lstat(filepath.Dir(out) + "/b"); err == nil {
				t.Error("something was written outside")
			}
		})
	}
}

// hashTree makes a tree object of lines as git ls-tree prints them, unchecked.
func hashTree(t *testing.T, ws, lines string) string {
	t.Helper()
	var raw strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		head, name, _ := strings.Cut(line, "\t")
		f := strings.Fields(head)
		raw.WriteString(strings.TrimLeft(f[0], "0") + " " + name + "\x00")
		for i := 0; i < len(f[2]); i += 2 {
			raw.WriteByte(hexByte(f[2][i])<<4 | hexByte(f[2][i+1]))
		}
	}
	file := filepath.Join(folder(t), "raw")
	must(t, os.WriteFile(file, []byte(raw.String()), 0o600))
	return git(t, ws, "hash-object", "-t", "tree", "-w", "--literally", file)
}

func hexByte(c byte) byte { return byte(strings.IndexByte("0123456789abcdef", c)) }

// Where a fetch does not go, and what is not said of it.
func TestFetchRefused(t *testing.T) {
	ws := folder(t)
	head := repo(t, ws)
	url, _ := served(t, ws)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, strings.TrimSuffix(url, "/r.git")+r.URL.RequestURI(), http.StatusFound)
	}))
	t.Cleanup(elsewhere.Close)
	for name, r := range map[string]Remote{
		"no id":       {URL: url, Commit: "main"},
		"an option":   {URL: url, Commit: "--upload-pack=touch x"},
		"a file":      {URL: "file://" + ws, Commit: head},
		"a program":   {URL: "ext::sh -c x", Commit: head},
		"plain http":  {URL: "http://example.com/o/r", Commit: head},
		"a password":  {URL: strings.Replace(url, "http://", "http://u:p@", 1), Commit: head},
		"a redirect":  {URL: elsewhere.URL + "/r.git", Commit: head},
		"not there":   {URL: url, Commit: strings.Repeat("0", 40)},
		"nobody home": {URL: "http://127.0.0.1:1/o/r.git", Commit: head},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", folder(t))
			r.Header = "Authorization: basic c2VjcmV0"
			_, err := Fetch(context.Background(), r)
			if err == nil || strings.Contains(err.Error(), "c2VjcmV0") {
				t.Errorf("%v", err)
			}
			if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Fetch(ctx, Remote{URL: url, Commit: head}); err == nil || ctx.Err() == nil {
		t.Errorf("%v", err)
	}
}
