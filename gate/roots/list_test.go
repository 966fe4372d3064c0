package roots

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
)

func TestList(t *testing.T) {
	w := newWorld(t)
	w.lay(t, `
		ws/d/a/b = x
		ws/d/a-b = x
		ws/d/a.b = x
		ws/d/a0 = x
		ws/d/.hidden/.x = x
		ws/d/.git/config = x
		ws/d/empty/
		ws/d/p |
		ws/d/link -> a/b
		ws/d/to-folder -> a
		ws/d/to-itself -> .
		ws/d/to-p -> p
		ws/d/dangling -> gone
		ws/d/loop -> loop
		ws/d/out -> {out}/secret
		ws/d/out-gone -> {out}/gone
		ws/d/out-folder -> {out}
		ws/d/more -> {more}/m
		ws/d/up -> ../top
		ws/top = x
		ws/by-link -> d
		more/m = x
		out/secret = x`)
	listen(t, w.ws+"/d/sock")
	must(t, os.WriteFile(w.ws+"/d/\xff", nil, 0o644))
	want := strings.TrimSpace(`
.git/config|file
.hidden/.x|file
a-b|file
a.b|file
a/b|file
a0|file
dangling|missing|a dangling link
link|file
loop|missing|a link loop
more|file
out|other|a link that leaves the allowed roots|leaves
out-folder|other|a link that leaves the allowed roots|leaves
out-gone|other|a link that leaves the allowed roots|leaves
p|other|a FIFO
sock|other|a socket
to-folder|directory|a link to a folder
to-itself|directory|a link to a folder
to-p|other|a link to a FIFO
up|file
`) + "\n\xff|file"
	bothWays(t, func(t *testing.T, kernel bool) {
		f := w.open(t, kernel)
		before := descriptors(t)
		for _, path := range []string{"d", "d/", "./d/.", "by-link", w.ws + "/d", "../ws/d"} {
			entries, err := f.List(context.Background(), path)
			must(t, err)
			var got []string
			for _, e := range entries {
				line := e.Path + "|" + string(e.Kind)
				if e.What != "" {
					line += "|" + e.What
				}
				if e.Leaves {
					line += "|leaves"
				}
				got = append(got, line)
			}
			if strings.Join(got, "\n") != want {
				t.Errorf("%s holds\n%s\nwant\n%s", path, strings.Join(got, "\n"), want)
			}
		}
		for path, want := range map[string]string{
			"gone": "examined: is missing", "top": "examined: is a file, not a directory", "d/p": "examined: is a FIFO, not a directory",
			"d/dangling": "examined: is missing: it is a dangling link", "../out": refusal, "d/out-folder": refusal,
		} {
			if _, err := f.List(context.Background(), path); said(check.Info{}, err) != want {
				t.Errorf("%s: %v, want %s", path, err, want)
			}
		}
		if after := descriptors(t); after != before {
			t.Errorf("%d descriptors before, %d after", before, after)
		}
	})
}

// The order of a listing is that of the whole paths' bytes.
func TestListOrder(t *testing.T) {
	w := newWorld(t)
	var want []string
	for _, dir := range []string{"", "a/", "a-/", "a./", "a0/", "ab/", "a/a/", "a/a-/", "\x01/", "z/\xff/"} {
		for _, name := range []string{"f", "a-b", "a.b", "0", "\xfe", "\x02"} {
			want = append(want, dir+name)
			must(t, os.MkdirAll(filepath.Dir(w.ws+"/"+dir+name), 0o755))
			must(t, os.WriteFile(w.ws+"/"+dir+name, nil, 0o644))
		}
	}
	slices.Sort(want)
	entries, err := w.open(t, true).List(context.Background(), ".")
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A deep tree that branches everywhere costs neither descriptors nor entries,
// also where the way back up must go by the names.
func TestListDeep(t *testing.T) {
	w := newWorld(t)
	const depth = 8 * heldFolders
	at := w.ws
	for i := range depth {
		at += "/m"
		must(t, os.MkdirAll(at+"/z", 0o755))
		must(t, os.WriteFile(at+"/a", nil, 0o644))
		must(t, os.WriteFile(fmt.Sprintf("%s/z/%d", at, i), nil, 0o644))
	}
	f := w.open(t, true)
	most := 0
	counting := &counter{before: descriptors(t), seen: func() { most = max(most, descriptors(t)) }}
	fd, err := f.openFolder(".")
	must(t, err)
	must(t, walkTree(context.Background(), fd, "", nil, counting))
	if counting.entries != 2*depth {
		t.Errorf("%d entries, want %d", counting.entries, 2*depth)
	}
	if open := most - counting.before; open > heldFolders+3 {
		t.Errorf("%d folders were open at once", open)
	}
	if after := descriptors(t); after != counting.before {
		t.Errorf("%d descriptors before, %d after", counting.before, after)
	}
}

// counter is a visitor that counts.
type counter struct {
	before, entries int
	seen            func()
	lost            []string
}

func (c *counter) entry(*folder, dirent) error { c.entries++; c.seen(); return nil }

func (c *counter) unreadable(path string, err error) error {
	c.lost = append(c.lost, path)
	return nil
}

// A folder that was let go and is not where it was cannot be visited further,
// and says so.
func TestListMovedAway(t *testing.T) {
	w := newWorld(t)
	deep := strings.Repeat("n/", heldFolders+6)
	w.lay(t, "ws/"+deep+"f = x\nws/n/n/z/last = x\nout/x = x")
	f := w.open(t, true)
	fd, err := f.openFolder(".")
	must(t, err)
	moved := false
	v := &counter{seen: func() {
		if !moved { // at the bottom; n/n/n is let go by now
			moved = true
			must(t, os.Rename(w.ws+"/n/n/n", w.out+"/n"))
			must(t, os.Rename(w.ws+"/n/n", w.out+"/nn"))
		}
	}}
	must(t, walkTree(context.Background(), fd, "", nil, v))
	if fmt.Sprint(v.lost) != "[n/n]" {
		t.Errorf("lost %q", v.lost)
	}
	if v.entries != 1 {
		t.Errorf("%d entries were visited", v.entries)
	}
}

// The way back up goes by the names where ".." must not be opened.
func TestListClimbByName(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	w := newWorld(t)
	deep := strings.Repeat("n/", heldFolders+6)
	w.lay(t, "ws/"+deep+"f = x\nws/n/n/z/last = x")
	f := w.open(t, true)
	fd, err := f.openFolder(".")
	must(t, err)
	shut := false
	v := &counter{seen: func() {
		if !shut { // n/n is opened again from n/n/n, which cannot be searched any more
			shut = true
			must(t, os.Chmod(w.ws+"/n/n/n", 0o400))
			t.Cleanup(func() { os.Chmod(w.ws+"/n/n/n", 0o755) })
		}
	}}
	must(t, walkTree(context.Background(), fd, "", nil, v))
	if v.entries != 2 || fmt.Sprint(v.lost) != "[n/n/n]" && v.lost != nil {
		t.Errorf("%d entries were visited, lost %q", v.entries, v.lost)
	}
}

func TestCompareDirents(t *testing.T) {
	file, dir := byte(unix.DT_REG), byte(unix.DT_DIR)
	for _, c := range []struct{ less, more dirent }{
		{dirent{"a", file}, dirent{"b", file}},
		{dirent{"a-", file}, dirent{"a", dir}},
		{dirent{"a", dir}, dirent{"a0", file}},
		{dirent{"a", file}, dirent{"a-", file}},
		{dirent{"a-", dir}, dirent{"a", dir}},
		{dirent{"a", dir}, dirent{"ab", dir}},
		{dirent{"a", file}, dirent{"\xff", file}},
	} {
		if compareDirents(c.less, c.more) >= 0 || compareDirents(c.more, c.less) <= 0 {
			t.Errorf("%+v does not come before %+v", c.less, c.more)
		}
	}
}

// A folder larger than one call's buffer is read whole.
func TestListLarge(t *testing.T) {
	w := newWorld(t)
	const files = 3000
	for i := range files {
		must(t, os.WriteFile(fmt.Sprintf("%s/%s-%d", w.ws, strings.Repeat("n", 40), i), nil, 0o644))
	}
	entries, err := w.open(t, true).List(context.Background(), ".")
	if err != nil || len(entries) != files {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}
