package roots

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

const contentTree = `
	ws/a = content a
	ws/b/c = content c
	ws/b-c = content b-c
	ws/b/.hidden = x
	ws/run.sh = x
	ws/link -> a
	ws/dangling -> nowhere
	ws/out -> {out}/secret
	ws/to-folder -> b
	ws/newline-link -> a
	ws/p |
	ws/empty/
	ws/.git/config = x
	ws/b/.git/HEAD = x
	ws/b/.gitignore = *
	ws/sub/.git = gitdir: elsewhere
	ws/sub/f = x
	out/secret = s3cret`

func layContent(t *testing.T) world {
	t.Helper()
	w := newWorld(t)
	w.lay(t, contentTree)
	must(t, os.Chmod(w.ws+"/run.sh", 0o755))
	must(t, os.WriteFile(w.ws+"/caf\xe9", []byte("not UTF-8"), 0o644))
	must(t, os.WriteFile(w.ws+"/a\nb", []byte("a line"), 0o644))
	must(t, os.Symlink("text with a newline\n", w.ws+"/odd-link"))
	listen(t, w.ws+"/sock")
	return w
}

// manifest builds the content manifest another way: from paths, with the
// standard library.
func manifest(t *testing.T, ws string, only []string) string {
	t.Helper()
	var lines []string
	must(t, filepath.WalkDir(ws, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, _ := strings.CutPrefix(path, ws+"/")
		if d.IsDir() || only != nil && !slices.ContainsFunc(only, func(o string) bool { return rel == o || strings.HasPrefix(rel, strings.TrimSuffix(o, "/")+"/") }) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		kind, sum := "device", "-"
		switch mode := info.Mode(); {
		case mode&fs.ModeSymlink != 0:
			text, err := os.Readlink(path)
			must(t, err)
			kind, sum = "link", sumOf(text).Hex()
		case mode&fs.ModeNamedPipe != 0:
			kind = "fifo"
		case mode&fs.ModeSocket != 0:
			kind = "socket"
		case mode.IsRegular():
			data, err := os.ReadFile(path)
			must(t, err)
			kind, sum = "file", sumOf(string(data)).Hex()
			if mode&0o100 != 0 {
				kind = "exec"
			}
		}
		lines = append(lines, rel+"\x00"+kind+" "+sum)
		return nil
	}))
	for _, o := range only {
		if _, err := os.Lstat(ws + "/" + o); err != nil {
			lines = append(lines, o+"\x00absent -")
		}
	}
	slices.Sort(lines)
	var out strings.Builder
	for _, line := range lines {
		path, rest, _ := strings.Cut(line, "\x00")
		out.WriteString(rest + " " + path + "\x00")
	}
	return out.String()
}

func content(t *testing.T, f *Files, tracked []string, useGit bool) record.Content {
	t.Helper()
	c, err := f.Content(context.Background(), tracked, useGit)
	must(t, err)
	return c
}

func TestContent(t *testing.T) {
	w := layContent(t)
	f := w.open(t, true)
	before := descriptors(t)
	c := content(t, f, nil, false)
	want := manifest(t, w.ws, nil)
	if c.Digest != sumOf(want).String() {
		t.Errorf("the digest is %s, that of the manifest %s:\n%q", c.Digest, sumOf(want), want)
	}
	if n := strings.Count(want, "\x00"); c.Files != n || n != 17 {
		t.Errorf("%d files, want %d", c.Files, n)
	}
	if c.Bytes != int64(len("content acontent ccontent b-cxx*xnot UTF-8a line")) {
		t.Errorf("%d bytes", c.Bytes)
	}
	if strings.Contains(want, "s3cret") || strings.Contains(want, ".git/") {
		t.Error("the manifest holds what it must not")
	}
	if c.Changes != 0 || c.Changed != nil || c.Unreadable != nil {
		t.Errorf("%+v", c)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	// The same files give the same digest, however they were reached.
	if again := content(t, w.open(t, false), nil, false); again.Digest != c.Digest {
		t.Errorf("again: %s, want %s", again.Digest, c.Digest)
	}
}

// The recipe in the package comment gives the same digest.
func TestContentRecipe(t *testing.T) {
	w := layContent(t)
	source, err := os.ReadFile("doc.go")
	must(t, err)
	_, recipe, ok := strings.Cut(string(source), "//\texport ")
	if !ok {
		t.Fatal("the package comment has no recipe")
	}
	recipe, _, _ = strings.Cut("//\texport "+recipe, "package roots")
	recipe = strings.ReplaceAll(recipe, "//\t", "")
	cmd := exec.Command("bash", "-c", recipe)
	cmd.Dir = w.ws
	out, err := cmd.CombinedOutput()
	must(t, err)
	want := content(t, w.open(t, true), nil, false).Digest
	if got := "sha256:" + strings.TrimSuffix(string(out), "  -\n"); got != want {
		t.Errorf("the recipe gives %s, the gate %s", got, want)
	}
}

func TestContentTracked(t *testing.T) {
	w := layContent(t)
	w.lay(t, "ws/file-now/x = x\nws/sub-x = x\nws/linked -> b\nws/sub/deep/y = x\nws/untracked = x")
	tracked := []string{
		"a", "b/c", "b/.hidden", "run.sh", "link", "out", "dangling", "to-folder", "caf\xe9", "p", // there
		"gone", "b/gone", "gone/x", "a/x", "linked/c", "to-folder/c", // not there, or only through a link
		"sub", "sub-x", "file-now/", // a submodule; a repository in the repository
		"sub/f", "a", // twice
	}
	absent := []string{"gone", "b/gone", "gone/x", "a/x", "linked/c", "to-folder/c"}
	f := w.open(t, true)
	before := descriptors(t)
	given := slices.Clone(tracked)
	c := content(t, f, tracked, true)
	if !slices.Equal(given, tracked) {
		t.Error("the caller's list was changed")
	}
	// The reference walks by paths and would look through the links.
	want := manifest(t, w.ws, slices.DeleteFunc(slices.Clone(tracked), func(p string) bool { return slices.Contains(absent, p) }))
	lines := strings.Split(strings.TrimSuffix(want, "\x00"), "\x00")
	for _, path := range absent {
		lines = append(lines, "absent - "+path)
	}
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(strings.SplitN(a, " ", 3)[2], strings.SplitN(b, " ", 3)[2])
	})
	want = strings.Join(lines, "\x00") + "\x00"
	if c.Digest != sumOf(want).String() {
		var got []string
		for i := range f.last.count {
			e := f.last.at(i)
			got = append(got, kindNames[e.kind]+" "+e.path())
		}
		t.Errorf("the digest is %s, that of the manifest %s:\n%q\nwhat was seen:\n%q", c.Digest, sumOf(want), want, got)
	}
	if c.Files != len(lines)-len(absent) {
		t.Errorf("%d files, want %d", c.Files, len(lines)-len(absent))
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if none := content(t, w.open(t, true), nil, true); none.Files != 0 || none.Digest != sumOf("").String() {
		t.Errorf("nothing tracked: %+v", none)
	}
}

// Paths that no git writes into an index lead nowhere.
func TestContentTrackedHostile(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = a\nws/.git/config = x\nws/b/.git/x = x\nws/d -> {out}\nout/secret = s3cret")
	f := w.open(t, true)
	c := content(t, f, []string{"../out/secret", w.out + "/secret", "d/secret", "./a", "b/../a", "b//a", "", "/", "..", ".git/config", "b/.git/x", ".git", "a\x00b"}, true)
	if c.Files != 0 || c.Bytes != 0 {
		t.Errorf("%+v", c)
	}
	for i := range f.last.count {
		if e := f.last.at(i); e.kind != kindAbsent || strings.Contains(e.path(), ".git") {
			t.Errorf("%s is %s", e.path(), kindNames[e.kind])
		}
	}
}

func TestContentChanges(t *testing.T) {
	w := layContent(t)
	w.lay(t, "ws/old = x\nws/kind = x\nws/zeta/x = x")
	f := w.open(t, true)
	first := content(t, f, nil, false)
	same := content(t, f, nil, false)
	if same.Digest != first.Digest || same.Changes != 0 || same.Changed != nil {
		t.Errorf("nothing changed: %+v", same)
	}
	w.lay(t, "ws/a = CONTENT A\nws/new = x\nws/b/new = x")
	must(t, os.Remove(w.ws+"/old"))
	must(t, os.RemoveAll(w.ws+"/zeta"))
	must(t, os.Remove(w.ws+"/link"))
	must(t, os.Symlink("b/c", w.ws+"/link"))
	must(t, os.Chmod(w.ws+"/b-c", 0o755))
	must(t, os.Chmod(w.ws+"/b/c", 0o600)) // not of the content
	must(t, os.Remove(w.ws+"/kind"))
	must(t, unix.Mkfifo(w.ws+"/kind", 0o644))
	must(t, os.WriteFile(w.ws+"/caf\xe9", []byte("other"), 0o644))
	must(t, os.WriteFile(w.ws+"/.git/config", []byte("other"), 0o644)) // neither
	now := content(t, f, nil, false)
	want := []string{"changed a", "changed b-c", "added b/new", `changed "caf\xe9"`, "changed kind", "changed link", "added new", "removed old", "removed zeta/x"}
	if !slices.Equal(now.Changed, want) || now.Changes != len(want) {
		t.Errorf("%d changes: %q, want %q", now.Changes, now.Changed, want)
	}
	if now.Digest == first.Digest || now.Digest != sumOf(manifest(t, w.ws, nil)).String() {
		t.Errorf("the digest is %s", now.Digest)
	}
	// What changed is told against the last time, not the first.
	if again := content(t, f, nil, false); again.Changes != 0 {
		t.Errorf("%q", again.Changed)
	}
}

func TestContentChangesTracked(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = x\nws/b = x\nws/z = x")
	f := w.open(t, true)
	tracked := []string{"a", "b", "c", "gone"}
	content(t, f, tracked, true)
	must(t, os.Remove(w.ws+"/a"))
	w.lay(t, "ws/b = y\nws/c = x\nws/untracked = x")
	now := content(t, f, tracked, true)
	if got := fmt.Sprint(now.Changed); got != "[removed a changed b added c]" || now.Changes != 3 {
		t.Errorf("%s", got)
	}
}

func TestContentChangesAreBounded(t *testing.T) {
	w := newWorld(t)
	f := w.open(t, true)
	content(t, f, nil, false)
	for i := range maxChanged + 7 {
		must(t, os.WriteFile(fmt.Sprintf("%s/f%03d", w.ws, i), nil, 0o644))
	}
	now := content(t, f, nil, false)
	if len(now.Changed) != maxChanged || now.Changes != maxChanged+7 || now.Changed[0] != "added f000" {
		t.Errorf("%d of %d: %q", len(now.Changed), now.Changes, now.Changed)
	}
}

// Every file is read once, and only what changed is read again.
func TestContentReadsOnce(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = 12345\nws/b = 12345\nws/c/d = 12345")
	f := w.open(t, true)
	for _, name := range []string{"a", "b", "c/d"} {
		settle(t, f, w.ws+"/"+name)
	}
	content(t, f, nil, false)
	content(t, f, []string{"a", "b", "c/d"}, true)
	if _, _, err := f.Digest(context.Background(), "c/d"); err != nil || f.Hashed() != 15 {
		t.Errorf("%d bytes were read, of 15; %v", f.Hashed(), err)
	}
	must(t, os.WriteFile(w.ws+"/b", []byte("1234567"), 0o644))
	settle(t, f, w.ws+"/b")
	content(t, f, nil, false)
	if f.Hashed() != 22 {
		t.Errorf("%d bytes were read, want 22", f.Hashed())
	}
}

func TestContentUnreadableIsBounded(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	w := newWorld(t)
	for i := range maxUnreadable + 3 {
		must(t, os.WriteFile(fmt.Sprintf("%s/f%03d", w.ws, i), nil, 0))
	}
	w.lay(t, "ws/a = x\nws/d/x = x")
	must(t, os.Chmod(w.ws+"/d", 0))
	t.Cleanup(func() { os.Chmod(w.ws+"/d", 0o755) })
	f := w.open(t, true)
	c := content(t, f, nil, false)
	n := len(c.Unreadable)
	if n != maxUnreadable+1 || c.Unreadable[n-1] != "… and 4 more" || !strings.HasPrefix(c.Unreadable[0], "d: cannot be read by user id ") {
		t.Errorf("%d: %q", n, c.Unreadable)
	}
	var want strings.Builder
	want.WriteString("file " + sumOf("x").Hex() + " a\x00unreadable - d\x00")
	for i := range maxUnreadable + 3 {
		fmt.Fprintf(&want, "unreadable - f%03d\x00", i)
	}
	if c.Digest != sumOf(want.String()).String() {
		t.Errorf("the digest is %s", c.Digest)
	}
	// The same in a work tree that tracks them.
	tracked := content(t, w.open(t, true), []string{"a", "d/x", "f000"}, true)
	manifest := "file " + sumOf("x").Hex() + " a\x00unreadable - d/x\x00unreadable - f000\x00"
	if tracked.Digest != sumOf(manifest).String() {
		t.Errorf("tracked: the digest is %s", tracked.Digest)
	}
}

// A workspace that must not be listed is unreadable, not empty.
func TestContentOfClosedWorkspace(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	w := newWorld(t)
	f := w.open(t, true)
	must(t, os.Chmod(w.ws, 0))
	t.Cleanup(func() { os.Chmod(w.ws, 0o755) })
	c := content(t, f, nil, false)
	if c.Digest != sumOf("unreadable - .\x00").String() || len(c.Unreadable) != 1 {
		t.Errorf("%+v", c)
	}
}

// Large trees are written in blocks; their order and their digests stay.
func TestContentLarge(t *testing.T) {
	w := newWorld(t)
	for i := range 2*blockEntries + 100 {
		dir := fmt.Sprintf("%s/%d", w.ws, i%7)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(fmt.Sprintf("%s/%d", dir, i), fmt.Append(nil, i), 0o644))
	}
	c := content(t, w.open(t, true), nil, false)
	if want := sha256.Sum256([]byte(manifest(t, w.ws, nil))); c.Digest != fmt.Sprintf("sha256:%x", want) || c.Files != 2*blockEntries+100 {
		t.Errorf("%s, %d files", c.Digest, c.Files)
	}
}

// What is no file any more when a worker opens it is unreadable, not empty.
func TestContentSeesSwap(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/p |\nws/f = x")
	c := newCollection(context.Background(), w.open(t, true))
	defer c.wait()
	at, err := c.open("")
	must(t, err)
	defer at.release()
	for name, kind := range map[string]byte{"p": unix.DT_REG, "f": unix.DT_LNK, "gone": unix.DT_REG} {
		to := &entry{name: name}
		c.examine(job{at, kind, to})
		if to.kind != kindUnread || to.digest != (strictjson.Digest{}) {
			t.Errorf("%s: %+v", name, to)
		}
	}
	if len(c.trouble) != 3 {
		t.Errorf("%q", c.trouble)
	}
}
