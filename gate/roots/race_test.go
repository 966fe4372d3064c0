package roots

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
)

// raceRounds is how often a path is read while it is swapped.
const raceRounds = 500

// swapping exchanges two names again and again until the test is done.
func swapping(t *testing.T, a, b string) {
	t.Helper()
	var (
		done  = make(chan struct{})
		ended sync.WaitGroup
	)
	must(t, unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE))
	ended.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
			}
		}
	})
	t.Cleanup(func() { close(done); ended.Wait() })
}

// A component that is a folder at one moment and a link out of the roots at
// the next never lets anything from outside be read.
func TestRaceLinkOut(t *testing.T) {
	w := newWorld(t)
	w.lay(t, `
		ws/d/f = inside
		ws/e/d -> {out}
		ws/file = inside
		ws/e/file -> {out}/f
		out/f = OUTSIDE
		out/only-outside = OUTSIDE`)
	swapping(t, w.ws+"/d", w.ws+"/e/d")
	swapping(t, w.ws+"/file", w.ws+"/e/file")
	inside := sumOf("inside")
	bothWays(t, func(t *testing.T, kernel bool) {
		f := w.open(t, kernel)
		ctx := context.Background()
		read := 0
		for range raceRounds {
			for _, path := range []string{"d/f", "file", "e/../d/f"} {
				data, err := f.Read(ctx, path, 100)
				if err == nil && string(data) != "inside" {
					t.Fatalf("read %q from %s", data, path)
				}
				if err == nil {
					read++
				}
				if d, _, err := f.Digest(ctx, path); err == nil && d != inside {
					t.Fatalf("the digest of %s is %s", path, d)
				}
			}
			if i, err := f.Stat(ctx, "d/only-outside"); err == nil && i.Kind != check.Missing {
				t.Fatalf("d/only-outside is %+v", i)
			}
		}
		for range raceRounds / 10 {
			entries, err := f.List(ctx, "d")
			for _, e := range entries {
				if err == nil && e.Path != "f" {
					t.Fatalf("listed %+v", e)
				}
			}
			entries, err = f.List(ctx, ".")
			must(t, err)
			for _, e := range entries {
				if strings.Contains(e.Path, "only-outside") {
					t.Fatalf("listed %+v", e)
				}
			}
			for _, tracked := range [][]string{nil, {"d/f", "d/only-outside", "e/d/f", "file"}} {
				c, err := f.Content(ctx, tracked, tracked != nil)
				must(t, err)
				for i := range f.last.count {
					if e := f.last.at(i); e.digest == sumOf("OUTSIDE") || strings.Contains(e.name, "only-outside") && e.kind != kindAbsent {
						t.Fatalf("the content holds %s %s, %+v", e.path(), e.digest, c)
					}
				}
			}
		}
		if read == 0 {
			t.Log("every read met the link")
		}
	})
}

// A folder that is moved out of the roots while a path goes through it does
// not take the path's ".." out with it.
func TestRaceMovedFolder(t *testing.T) {
	w := newWorld(t)
	w.lay(t, `
		ws/x/y/z/
		ws/x/f = inside
		ws/l -> x/y/../f
		out/y/z/
		out/f = OUTSIDE`)
	swapping(t, w.ws+"/x/y", w.out+"/y")
	bothWays(t, func(t *testing.T, kernel bool) {
		f := w.open(t, kernel)
		for range raceRounds {
			for _, path := range []string{"x/y/../f", "x/y/z/../../f", "l"} {
				if data, err := f.Read(context.Background(), path, 100); err == nil && string(data) != "inside" {
					t.Fatalf("read %q from %s", data, path)
				}
			}
		}
	})
}

// Deep folders that are moved while they are listed do not lead the way back
// up somewhere else.
func TestRaceMovedWhileListed(t *testing.T) {
	w := newWorld(t)
	deep := strings.Repeat("n/", heldFolders+4)
	w.lay(t, "ws/top/"+deep+"f = x\nws/top/n/z = x\nout/"+deep+"f = x\nout/n/only-outside = x\nout/only-outside = x")
	swapping(t, w.ws+"/top/n/n/n", w.out+"/n/n/n")
	f := w.open(t, true)
	for range raceRounds / 5 {
		entries, err := f.List(context.Background(), ".")
		must(t, err)
		for _, e := range entries {
			if strings.Contains(e.Path, "only-outside") {
				t.Fatalf("listed %+v", e)
			}
		}
	}
}

// A file that is replaced by a FIFO between two looks holds nobody up.
func TestRaceFIFO(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/f = inside\nws/g |")
	swapping(t, w.ws+"/f", w.ws+"/g")
	bothWays(t, func(t *testing.T, kernel bool) {
		f := w.open(t, kernel)
		for range raceRounds {
			data, err := f.Read(context.Background(), "f", 100)
			if err == nil && string(data) != "inside" {
				t.Fatalf("read %q", data)
			}
			if _, err := f.Content(context.Background(), nil, false); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path, folder string
		want         bool
	}{
		{"/a", "/a", true}, {"/a/b", "/a", true}, {"/ab", "/a", false}, {"/", "/a", false}, {"/a", "/", true}, {"/", "/", true}, {"/a", "/a/b", false},
	} {
		if got := within(c.path, c.folder); got != c.want {
			t.Errorf("within(%q, %q) = %v", c.path, c.folder, got)
		}
	}
	if os.PathSeparator != '/' {
		t.Error("this package is written for '/'")
	}
}
