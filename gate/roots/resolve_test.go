package roots

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
)

func now() time.Time { return time.Now() }

const resolveTree = `
	ws/a = in a
	ws/README = x
	ws/cafe` + "\u0301" + ` = nfd
	ws/d/b = in b
	ws/d/e/c = in c
	ws/empty/
	ws/p |
	ws/to-p -> p
	ws/sock-dir/
	ws/rel -> d/b
	ws/up -> d/e/../b
	ws/abs -> {ws}/d/b
	ws/abs-dir -> {ws}/d
	ws/chain -> chain2
	ws/chain2 -> abs-dir/e/c
	ws/dot -> .
	ws/slashes -> .//d///b
	ws/slash-dir -> d/
	ws/slash-file -> a/
	ws/dangling -> gone
	ws/dangling-deep -> d/gone/x
	ws/dangling-dir -> gone
	ws/to-dangling -> dangling
	ws/loop -> loop
	ws/loop1 -> loop2
	ws/loop2 -> d/../loop1
	ws/loop-dir -> loop-dir/x
	ws/out-file -> {out}/secret
	ws/out-dir -> {out}
	ws/out-rel -> ../out/secret
	ws/out-gone -> {out}/gone
	ws/out-loop -> {out}/back
	ws/out-in -> {out}/to-ws/a
	ws/out-up-in -> ../out/../ws/a
	ws/out-gone-in -> ../gone/../ws/a
	ws/more-file -> {more}/m
	ws/more-rel -> ../more/m
	ws/root -> /
	ws/proc -> /proc/self/root{ws}/a
	more/m = in more
	more/to-ws -> {ws}/a
	more/to-out -> {out}/secret
	out/secret = s3cret
	out/to-ws -> {ws}
	out/back -> {ws}/out-loop
	ws2 = a file whose name begins like a root's
`

// resolveCases: "path | answer". {refused} is the one answer for the outside.
const resolveCases = `
	a | file
	./a | file
	.//a | file
	a/ | file
	a/. | file
	d | directory
	d/ | directory
	d/. | directory
	. | directory
	./ | directory
	d/.. | directory
	d/e/../../a | file
	d/b/../e | missing
	a/b | missing
	a/b/c | missing
	gone | missing
	gone/a | missing
	gone/../a | missing
	empty/x | missing
	A | missing
	readme | missing
	caf` + "\u00e9" + ` | missing
	cafe` + "\u0301" + ` | file
	p | other: a FIFO
	to-p | other: a FIFO
	p/x | missing
	sock-dir/s | other: a socket
	rel | file
	rel/ | file
	rel/x | missing
	up | file
	abs | file
	abs-dir | directory
	abs-dir/b | file
	abs-dir/../a | file
	abs-dir/../../out/secret | {refused}
	chain | file
	dot/dot/dot/a | file
	slashes | file
	slash-dir/b | file
	slash-file | file
	dangling | missing: a dangling link
	dangling-deep | missing: a dangling link
	dangling-dir/x | missing
	to-dangling | missing: a dangling link
	loop | missing: a link loop
	loop/x | missing: a link loop
	loop1 | missing: a link loop
	loop-dir | missing: a link loop
	loop/../../out/secret | {refused}
	out-file | {refused}
	out-dir | {refused}
	out-dir/secret | {refused}
	out-dir/gone | {refused}
	out-dir/gone/../../ws/a | file
	out-rel | {refused}
	out-gone | {refused}
	out-loop | {refused}
	out-in | file
	out-up-in | file
	out-gone-in | file
	more-file | file
	more-rel | file
	root{ws}/a | file
	root/etc/passwd | {refused}
	root | {refused}
	proc | file
	.. | {refused}
	../ws | directory
	../ws/a | file
	../ws/../ws/d/b | file
	../ws2 | {refused}
	../out | {refused}
	../out/secret | {refused}
	../out/gone | {refused}
	../gone | {refused}
	../gone/../ws/a | file
	gone/../../out/secret | {refused}
	gone/../../out/gone | {refused}
	a/../../out/secret | {refused}
	dangling/../../out/secret | {refused}
	../more | directory
	../more/m | file
	../more/gone | missing
	../more/to-ws | file
	../more/to-out | {refused}
	../more/../out/secret | {refused}
	../../../../../../../../../../etc/passwd | {refused}
	{ws} | directory
	{ws}/ | directory
	{ws}/a | file
	{ws}//d//b | file
	{ws}/./d/../a | file
	{ws}/gone | missing
	{ws}/rel | file
	{ws}/abs | file
	{ws}/out-file | {refused}
	{ws}/../out/secret | {refused}
	{ws}/../more/m | file
	{ws}2 | {refused}
	{more}/m | file
	{more} | directory
	{out} | {refused}
	{out}/secret | {refused}
	{out}/gone | {refused}
	{out}/to-ws/a | file
	{out}/to-ws/gone | missing
	{out}/to-ws/out-file | {refused}
	{out}/secret/../../ws/a | file
	{top} | {refused}
	/ | {refused}
	// | {refused}
	/etc/passwd | {refused}
	/gone{ws}/a | {refused}
	/proc/self/cwd | {refused}
	/dev/null | {refused}
	/dev/fd/0 | {refused}
`

func TestResolve(t *testing.T) {
	unprivileged(t)
	w := newWorld(t)
	w.lay(t, resolveTree)
	listen(t, w.ws+"/sock-dir/s")
	bothWays(t, func(t *testing.T, kernel bool) {
		f := w.open(t, kernel)
		before := descriptors(t)
		for line := range strings.SplitSeq(strings.TrimSpace(resolveCases), "\n") {
			path, want, _ := strings.Cut(strings.TrimSpace(line), " | ")
			path, want = w.expand(path), strings.ReplaceAll(want, "{refused}", refusal)
			if got := stat(f, path); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
			// Reading agrees with looking.
			data, err := f.Read(context.Background(), path, 100)
			if (err == nil) != (want == "file") {
				t.Errorf("read %s: %q, %v; it is %s", path, data, err, want)
			}
			if strings.Contains(string(data), "s3cret") {
				t.Errorf("read %s: the secret", path)
			}
			if strings.HasPrefix(want, "verify.") && said(check.Info{}, err) != want {
				t.Errorf("read %s: %v, want %s", path, err, want)
			}
		}
		if after := descriptors(t); after != before {
			t.Errorf("%d descriptors before, %d after", before, after)
		}
	})
}

func listen(t *testing.T, path string) {
	t.Helper()
	// The address of a socket is short; the folder's path may not be.
	dir, err := os.Open(filepath.Dir(path))
	must(t, err)
	defer dir.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))})
	must(t, err)
	l.SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
}

func TestResolveOddNames(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", 255)
	w.lay(t, "ws/"+long+" = x\nout/secret = s3cret")
	must(t, os.WriteFile(w.ws+"/caf\xe9", nil, 0o644))
	must(t, os.WriteFile(w.ws+"/a\n::error::b", nil, 0o644))
	must(t, os.WriteFile(w.ws+"/-rf *", nil, 0o644))
	bothWays(t, func(t *testing.T, kernel bool) {
		f := w.open(t, kernel)
		for path, want := range map[string]string{
			"caf\xe9":                        "file",
			"caf\ufffd":                      "missing",
			"a\n::error::b":                  "file",
			"-rf *":                          "file",
			long:                             "file",
			long + "x":                       "missing: a name that is too long to be",
			long + "x/../../out/secret":      refusal,
			"":                               "missing: a path that cannot be",
			"a\x00b":                         "missing: a path that cannot be",
			strings.Repeat("./", 5000) + ".": "directory",
			strings.Repeat("gone/", 5000):    "missing",
			strings.Repeat("../", 5000):      refusal,
			strings.Repeat("../", 5000) + strings.TrimPrefix(w.ws, "/") + "/-rf *": "file",
		} {
			if got := stat(f, path); got != want {
				t.Errorf("%.80q: %s, want %s", path, got, want)
			}
		}
	})
}

// A path that is longer than the kernel takes in one call.
func TestResolveDeep(t *testing.T) {
	w := newWorld(t)
	const depth = 400
	name := strings.Repeat("n", 40)
	dir, err := unix.Open(w.ws, unix.O_PATH|unix.O_DIRECTORY, 0)
	must(t, err)
	for range depth {
		must(t, unix.Mkdirat(dir, name, 0o755))
		next, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY, 0)
		must(t, err)
		unix.Close(dir)
		dir = next
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, "f", unix.O_WRONLY|unix.O_CREAT, 0o644)
	must(t, err)
	_, err = unix.Write(fd, []byte("deep"))
	must(t, err)
	unix.Close(fd)
	must(t, unix.Symlinkat("../f", dir, "l"))

	f := w.open(t, true)
	path := strings.Repeat(name+"/", depth)
	if got := stat(f, path+"f"); got != "file" {
		t.Errorf("the deep file is %s", got)
	}
	if got := stat(f, path+"l"); got != "missing: a dangling link" {
		t.Errorf("the deep link is %s", got)
	}
	if got := stat(f, path+strings.Repeat("../", depth)+"gone"); got != "missing" {
		t.Errorf("all the way up is %s", got)
	}
	if got := stat(f, path+strings.Repeat("../", depth+1)+"out"); got != refusal {
		t.Errorf("one further up is %s", got)
	}
	data, err := f.Read(context.Background(), path+"f", 10)
	if string(data) != "deep" || err != nil {
		t.Errorf("read %q, %v", data, err)
	}
	entries, err := f.List(context.Background(), ".")
	if err != nil || len(entries) != 2 || entries[0].Path != path+"f" || entries[1].What != "a dangling link" {
		t.Errorf("listed %d entries, %v", len(entries), err)
	}
	c, err := f.Content(context.Background(), nil, false)
	if err != nil || c.Files != 2 || c.Bytes != 4 || len(c.Unreadable) != 0 {
		t.Errorf("content %+v, %v", c, err)
	}
}

func TestResolveLinkBudget(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/l0 = end")
	for i := range maxLinks + 1 {
		must(t, os.Symlink(fmt.Sprintf("l%d", i), fmt.Sprintf("%s/l%d", w.ws, i+1)))
	}
	bothWays(t, func(t *testing.T, kernel bool) {
		f := w.open(t, kernel)
		if got := stat(f, fmt.Sprintf("l%d", maxLinks)); got != "file" {
			t.Errorf("%d links: %s", maxLinks, got)
		}
		if got := stat(f, fmt.Sprintf("l%d", maxLinks+1)); got != "missing: a link loop" {
			t.Errorf("%d links: %s", maxLinks+1, got)
		}
	})
}

func TestNestedRoots(t *testing.T) {
	w := newWorld(t)
	w.lay(t, `
		ws/sub/x = x
		ws/a = a
		ws/sub/up -> ../a
		ws/sub/out -> ../../out/secret
		out/secret = s3cret`)
	bothWays(t, func(t *testing.T, kernel bool) {
		for _, order := range [][]string{{w.ws, w.ws + "/sub"}, {w.ws + "/sub", w.ws}} {
			f, err := Open(order[0], order[1:])
			must(t, err)
			defer f.Close()
			f.openat2 = f.openat2 && kernel
			for path, want := range map[string]string{
				w.ws + "/sub/x": "file", w.ws + "/sub/../a": "file", w.ws + "/sub/up": "file",
				w.ws + "/sub/out": refusal, w.ws + "/sub/../..": refusal, w.ws + "/sub/../sub/../a": "file",
			} {
				if got := stat(f, path); got != want {
					t.Errorf("%v: %s: %s, want %s", order, path, got, want)
				}
			}
		}
		f, err := Open("/", nil)
		must(t, err)
		defer f.Close()
		f.openat2 = f.openat2 && kernel
		for path, want := range map[string]string{w.out + "/secret": "file", "/..": "directory", "/../../": "directory", w.ws + "/sub/out": "file"} {
			if got := stat(f, path); got != want {
				t.Errorf("root /: %s: %s, want %s", path, got, want)
			}
		}
	})
}

func TestOpenRoots(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = a\nlink -> ws\nfile = x\nlink2 -> link")
	f, err := Open(w.top+"/link2", []string{w.top + "/more/"})
	must(t, err)
	defer f.Close()
	if f.Workspace() != w.ws || len(f.Roots()) != 2 || f.Roots()[1] != w.more {
		t.Errorf("roots are %q", f.Roots())
	}
	if got := stat(f, "a"); got != "file" {
		t.Errorf("a is %s", got)
	}
	if got := stat(f, w.top+"/link2/a"); got != "file" {
		t.Errorf("by its link, a is %s", got)
	}
	before := descriptors(t)
	for _, bad := range []string{"", w.top + "/gone", w.top + "/file", w.top + "/file/x"} {
		if _, err := Open(bad, nil); err == nil || fault.As(err).Code != fault.WorkspaceUnresolved {
			t.Errorf("workspace %q: %v", bad, err)
		}
		if _, err := Open(w.ws, []string{bad}); err == nil || fault.As(err).Code != fault.Usage {
			t.Errorf("root %q: %v", bad, err)
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// What permissions forbid could not be examined; and of the outside not even
// that is told.
func TestPermissions(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	w := newWorld(t)
	w.lay(t, `
		ws/closed/a = a
		ws/listed/a = a
		ws/listed/s/b = b
		ws/blind/a = a
		ws/file = x
		ws/through -> closed/a
		ws/up-out -> closed/../../out/secret
		ws/open/l -> ../closed/a
		ws/outside -> {out}/closed/x
		out/secret = s3cret
		out/closed/x = s3cret`)
	for path, mode := range map[string]os.FileMode{"/ws/closed": 0, "/ws/listed": 0o400, "/ws/blind": 0o100, "/ws/file": 0, "/out/closed": 0} {
		must(t, os.Chmod(w.top+path, mode))
		t.Cleanup(func() { os.Chmod(w.top+path, 0o755) })
	}
	denied := fmt.Sprintf("%s: cannot be read by user id %d: permission denied", fault.TargetUnreadable, os.Geteuid())
	bothWays(t, func(t *testing.T, kernel bool) {
		f := w.open(t, kernel)
		for path, want := range map[string]string{
			"closed": "directory", "closed/a": denied, "closed/gone": denied, "through": denied, "file": "file",
			"listed/a": denied, "blind/a": "file", "up-out": refusal, "closed/../../out/secret": refusal, "outside": refusal, w.out + "/closed/x": refusal,
		} {
			if got := stat(f, path); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
		ctx := context.Background()
		if _, _, err := f.Digest(ctx, "file"); said(check.Info{}, err) != denied {
			t.Errorf("digest: %v", err)
		}
		if _, err := f.Read(ctx, "file", 10); said(check.Info{}, err) != denied {
			t.Errorf("read: %v", err)
		}
		if _, err := f.List(ctx, "closed"); said(check.Info{}, err) != denied {
			t.Errorf("list: %v", err)
		}
		entries, err := f.List(ctx, ".")
		must(t, err)
		got := map[string]check.Entry{}
		for _, e := range entries {
			got[e.Path] = e
		}
		for _, path := range []string{"closed", "blind", "through", "listed/s", "open/l"} {
			if e := got[path]; !strings.Contains(e.Unread, "permission denied") || e.Leaves {
				t.Errorf("listed %s: %+v", path, e)
			}
		}
		if e := got["listed/a"]; e.Kind != check.Regular || e.Unread != "" {
			t.Errorf("listed/a: %+v", e)
		}
		if e := got["up-out"]; !e.Leaves {
			t.Errorf("up-out: %+v", e)
		}
		c, err := f.Content(ctx, nil, false)
		must(t, err)
		if len(c.Unreadable) != 5 { // closed, blind, listed/a, listed/s, file
			t.Errorf("unreadable: %q", c.Unreadable)
		}
		must(t, os.Chmod(w.ws+"/file", 0o644))
		c, err = f.Content(ctx, nil, false)
		must(t, err)
		if fmt.Sprint(c.Changed) != "[changed file]" {
			t.Errorf("changed: %q", c.Changed)
		}
		must(t, os.Chmod(w.ws+"/file", 0))
	})
	// An ancestor that must not be searched does not matter once a root is open.
	inner := newWorld(t)
	inner.lay(t, "ws/a = a\nws/abs -> {ws}/a\nws/more -> ../more/m\nmore/m = m")
	f := inner.open(t, true)
	must(t, os.Chmod(inner.top, 0))
	defer os.Chmod(inner.top, 0o755)
	for _, path := range []string{"a", "abs", "more", inner.ws + "/a", "../more/m"} {
		if got := stat(f, path); got != "file" {
			t.Errorf("below a closed folder: %s: %s", path, got)
		}
	}
}

// Nobody ever opens a FIFO to read: a writer that waits for a reader goes on
// waiting.
func TestFIFOIsNeverOpened(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/p |\nws/l -> p\nws/d/p |")
	opened := make(chan int, 2)
	for _, name := range []string{"/ws/p", "/ws/d/p"} {
		go func() {
			fd, err := unix.Open(w.top+name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				fd = -1
			}
			opened <- fd
		}()
	}
	bothWays(t, func(t *testing.T, kernel bool) {
		f := w.open(t, kernel)
		ctx := context.Background()
		for range 50 {
			for _, path := range []string{"p", "l", "d/p"} {
				if got := stat(f, path); got != "other: a FIFO" {
					t.Fatalf("%s is %s", path, got)
				}
				_, _, err := f.Open(ctx, path)
				_, _, err2 := f.Digest(ctx, path)
				_, err3 := f.Read(ctx, path, 10)
				for _, err := range []error{err, err2, err3} {
					if got := said(check.Info{}, err); got != "examined: is a FIFO, not a file" {
						t.Fatalf("%s: %s", path, got)
					}
				}
			}
			if _, err := f.List(ctx, "."); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Content(ctx, nil, false); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Content(ctx, []string{"d/p", "p"}, true); err != nil {
				t.Fatal(err)
			}
		}
	})
	select {
	case fd := <-opened:
		t.Fatalf("a FIFO was opened to be read: its writer got descriptor %d", fd)
	default:
	}
	for _, name := range []string{"/ws/p", "/ws/d/p"} { // let the writers go
		fd, err := unix.Open(w.top+name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		must(t, err)
		unix.Close(<-opened)
		unix.Close(fd)
	}
}

// What is opened must be what was looked at, and still a regular file.
func TestOpenNodeSeesSwap(t *testing.T) {
	for name, swap := range map[string]func(path string) error{
		"another file": func(path string) error { return os.WriteFile(path, []byte("other"), 0o644) },
		"a FIFO":       func(path string) error { return unix.Mkfifo(path, 0o644) },
		"a folder":     func(path string) error { return os.Mkdir(path, 0o755) },
		"a link":       func(path string) error { return os.Symlink("kept", path) },
		"nothing":      func(string) error { return nil },
	} {
		bothWays(t, func(t *testing.T, kernel bool) {
			w := newWorld(t)
			w.lay(t, "ws/a = x\nws/kept = x")
			f := w.open(t, kernel)
			n, err := f.resolve("a")
			must(t, err)
			defer n.close()
			// The inode must not be given to the next file.
			must(t, os.Rename(w.ws+"/a", w.ws+"/old"))
			must(t, swap(w.ws+"/a"))
			if fd, _, err := f.openNode("a", &n); err != errMoved {
				t.Errorf("%s: descriptor %d, %v", name, fd, err)
			}
		})
	}
}

func TestReadSeesChange(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = content")
	f := w.open(t, true)
	fd, before, err := f.openFile("a")
	must(t, err)
	defer unix.Close(fd)
	must(t, os.WriteFile(w.ws+"/a", []byte("content and more"), 0o644))
	data, err := readAll(context.Background(), "a", fd, before, 100)
	if got := said(check.Info{}, err); got != "verify.target_unreadable: changed while it was read" {
		t.Errorf("%q, %s", data, got)
	}
}

func TestDevice(t *testing.T) {
	f, err := Open("/dev", nil)
	must(t, err)
	defer f.Close()
	if got := stat(f, "null"); got != "other: a device" {
		t.Errorf("/dev/null is %s", got)
	}
	if _, _, err := f.Open(context.Background(), "null"); said(check.Info{}, err) != "examined: is a device, not a file" {
		t.Errorf("opening it: %v", err)
	}
}

func TestOpenReads(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = content\nws/d/")
	f := w.open(t, true)
	ctx, cancel := context.WithCancel(context.Background())
	r, info, err := f.Open(ctx, "a")
	must(t, err)
	defer r.Close()
	if info.Size != 7 || info.Kind != check.Regular {
		t.Errorf("info %+v", info)
	}
	var p [3]byte
	if n, err := io.ReadFull(r, p[:]); n != 3 || err != nil || string(p[:]) != "con" {
		t.Errorf("%q, %v", p[:n], err)
	}
	cancel()
	if _, err := r.Read(p[:]); !strings.HasPrefix(said(check.Info{}, err), string(fault.Timeout)) {
		t.Errorf("after the end of the context: %v", err)
	}
	if _, _, err := f.Open(context.Background(), "d"); said(check.Info{}, err) != "examined: is a directory, not a file" {
		t.Errorf("a folder: %v", err)
	}
	for name, call := range map[string]func() error{
		"stat":    func() error { _, err := f.Stat(ctx, "a"); return err },
		"open":    func() error { _, _, err := f.Open(ctx, "a"); return err },
		"read":    func() error { _, err := f.Read(ctx, "a", 10); return err },
		"digest":  func() error { _, _, err := f.Digest(ctx, "a"); return err },
		"list":    func() error { _, err := f.List(ctx, "."); return err },
		"content": func() error { _, err := f.Content(ctx, nil, false); return err },
		"tracked": func() error { _, err := f.Content(ctx, []string{"a"}, true); return err },
	} {
		if got := said(check.Info{}, call()); !strings.HasPrefix(got, string(fault.Timeout)) {
			t.Errorf("%s with an ended context: %s", name, got)
		}
	}
}

func TestReadLimit(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = 1234567\nws/empty =")
	f := w.open(t, true)
	ctx := context.Background()
	for limit, want := range map[int64]string{6: "verify.limit_exceeded: is larger than the 6 bytes that are read", 7: "file", 8: "file"} {
		_, err := f.Read(ctx, "a", limit)
		if got := said(check.Info{Kind: check.Regular}, err); got != want {
			t.Errorf("limit %d: %s", limit, got)
		}
	}
	if data, err := f.Read(ctx, "empty", 0); err != nil || len(data) != 0 {
		t.Errorf("empty: %q, %v", data, err)
	}
	// Files of /proc have no size; the limit holds all the same.
	p, err := Open("/proc/self", nil)
	must(t, err)
	defer p.Close()
	if data, err := p.Read(ctx, "cmdline", 1<<20); err != nil || len(data) == 0 {
		t.Errorf("cmdline: %q, %v", data, err)
	}
	if _, err := p.Read(ctx, "maps", 10); !strings.HasPrefix(said(check.Info{}, err), string(fault.LimitExceeded)) {
		t.Errorf("maps: %v", err)
	}
	if d, n, err := p.Digest(ctx, "cmdline"); err != nil || n == 0 || d.Hex() == "" {
		t.Errorf("digest of cmdline: %v, %d, %v", d, n, err)
	}
}
