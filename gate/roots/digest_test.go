package roots

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

func sumOf(s string) strictjson.Digest { return sha256.Sum256([]byte(s)) }

func TestDigest(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = content\nws/empty =\nws/l -> {ws}/a\nws/d/\nout/a = x")
	// One byte around the buffer's edges, where a read may end.
	large := map[string]string{}
	for name, size := range map[string]int{"below": bufferBytes - 1, "at": bufferBytes, "above": bufferBytes + 1, "twice": 2 * bufferBytes} {
		large[name] = strings.Repeat("0123456789abcdef", size/16+1)[:size]
		must(t, os.WriteFile(w.ws+"/"+name, []byte(large[name]), 0o644))
	}
	large["a"], large["l"], large["empty"] = "content", "content", ""
	bothWays(t, func(t *testing.T, kernel bool) {
		f := w.open(t, kernel)
		for name, content := range large {
			d, size, err := f.Digest(context.Background(), name)
			if err != nil || d != sumOf(content) || size != int64(len(content)) {
				t.Errorf("%s: %s, %d, %v", name, d, size, err)
			}
		}
		for path, want := range map[string]string{
			"d": "examined: is a directory, not a file", "gone": "examined: is missing", "../out/a": refusal,
		} {
			if _, _, err := f.Digest(context.Background(), path); said(check.Info{}, err) != want {
				t.Errorf("%s: %v, want %s", path, err, want)
			}
		}
	})
}

// A file is read once, whoever asks how often, and again when it changed.
func TestDigestReadsOnce(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = content\nws/l -> a")
	must(t, os.Link(w.ws+"/a", w.ws+"/hard"))
	f := w.open(t, true)
	ctx := context.Background()
	settle(t, f, w.ws+"/a")
	for _, path := range []string{"a", "l", "hard", w.ws + "/a"} {
		if _, size, err := f.Digest(ctx, path); err != nil || size != 7 {
			t.Fatal(size, err)
		}
	}
	if _, err := f.Content(ctx, nil, false); err != nil {
		t.Fatal(err)
	}
	if f.Hashed() != 7 {
		t.Errorf("%d bytes were read, of a file of 7", f.Hashed())
	}
	// The same size and the same modification time: only the change time tells.
	var st unix.Stat_t
	must(t, unix.Stat(w.ws+"/a", &st))
	must(t, os.WriteFile(w.ws+"/a", []byte("CONTENT"), 0o644))
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, w.ws+"/a", []unix.Timespec{st.Atim, st.Mtim}, 0))
	if d, _, err := f.Digest(ctx, "a"); err != nil || d != sumOf("CONTENT") {
		t.Errorf("after the change: %s, %v", d, err)
	}
	if f.Hashed() != 14 {
		t.Errorf("%d bytes were read, want 14", f.Hashed())
	}
}

// A stamp that is too young, or of a file system that does not stamp itself,
// proves nothing.
func TestDigestDistrustsStamps(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = content\nws/b = content")
	f := w.open(t, true)
	future := time.Now().Add(time.Hour)
	must(t, os.Chtimes(w.ws+"/a", future, future))
	ctx := context.Background()
	for want := int64(7); want <= 21; want += 7 {
		if _, _, err := f.Digest(ctx, "a"); err != nil || f.Hashed() != want {
			t.Errorf("%d bytes were read, want %d; %v", f.Hashed(), want, err)
		}
	}
	settle(t, f, w.ws+"/b")
	for dev := range f.memo.local {
		f.memo.local[dev] = false
	}
	for want := int64(28); want <= 35; want += 7 {
		if _, _, err := f.Digest(ctx, "b"); err != nil || f.Hashed() != want {
			t.Errorf("%d bytes were read, want %d; %v", f.Hashed(), want, err)
		}
	}
}

func TestRacy(t *testing.T) {
	at := time.Unix(1000, 500)
	ago := func(d time.Duration) int64 { return at.Add(-d).UnixNano() }
	for name, c := range map[string]struct {
		s    stamp
		want bool
	}{
		"old":                       {stamp{1, ago(time.Hour), ago(time.Hour)}, false},
		"just changed":              {stamp{1, ago(time.Hour), ago(time.Millisecond)}, true},
		"just modified":             {stamp{1, ago(time.Millisecond), ago(time.Hour)}, true},
		"older than a tick":         {stamp{1, ago(time.Hour), ago(fineWindow + 1)}, false},
		"from the future":           {stamp{1, ago(-time.Hour), ago(time.Hour)}, true},
		"whole seconds, two ago":    {stamp{1, 0, 998e9}, true},
		"whole seconds, four ago":   {stamp{1, 0, 996e9}, false},
		"with a fraction, two ago":  {stamp{1, 0, 998e9 + 1}, false},
		"whole seconds, long ago":   {stamp{1, 0, 1e9}, false},
		"modified in the same tick": {stamp{1, at.UnixNano(), at.UnixNano()}, true},
	} {
		if got := c.s.racy(at); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !stampsItself(unix.EXT4_SUPER_MAGIC) || stampsItself(unix.NFS_SUPER_MAGIC) || stampsItself(unix.FUSE_SUPER_MAGIC) || stampsItself(0) {
		t.Error("the wrong file systems are trusted")
	}
}

// A change during the read is seen, whatever it was.
func TestDigestSeesChange(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = content")
	f := w.open(t, true)
	for name, change := range map[string]func() error{
		"grown":     func() error { return os.WriteFile(w.ws+"/a", []byte("content and more"), 0o644) },
		"cut":       func() error { return os.Truncate(w.ws+"/a", 3) },
		"rewritten": func() error { return os.WriteFile(w.ws+"/a", []byte("CONTENT"), 0o644) },
		"touched":   func() error { return os.Chtimes(w.ws+"/a", time.Time{}, time.Unix(1, 0)) },
	} {
		must(t, os.WriteFile(w.ws+"/a", []byte("content"), 0o644))
		must(t, os.Chtimes(w.ws+"/a", time.Time{}, time.Unix(2, 0)))
		fd, st, err := f.openFile("a")
		must(t, err)
		must(t, change())
		_, _, err = f.digest(context.Background(), "a", fd, st)
		unix.Close(fd)
		if got := said(check.Info{}, err); got != "verify.target_unreadable: changed while it was read" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if len(f.memo.known) != 0 || len(f.memo.pending) != 0 {
		t.Errorf("the memo holds %d digests and %d reads", len(f.memo.known), len(f.memo.pending))
	}
}

// Many who ask for the same file wait for one read.
func TestDigestTogether(t *testing.T) {
	w := newWorld(t)
	const size = 8 << 20
	must(t, os.WriteFile(w.ws+"/a", make([]byte, size), 0o644))
	f := w.open(t, true)
	settle(t, f, w.ws+"/a")
	var (
		all   sync.WaitGroup
		start = make(chan struct{})
		want  = sumOf(string(make([]byte, size)))
	)
	for range 8 {
		all.Go(func() {
			<-start
			if d, n, err := f.Digest(context.Background(), "a"); d != want || n != size || err != nil {
				t.Errorf("%s, %d, %v", d, n, err)
			}
		})
	}
	close(start)
	all.Wait()
	if f.Hashed() != size {
		t.Errorf("%d bytes were read, of a file of %d", f.Hashed(), size)
	}
}

// Whoever waits for another's read that fails reads for itself; and does not
// wait longer than its own time.
func TestDigestWaits(t *testing.T) {
	w := newWorld(t)
	w.lay(t, "ws/a = content")
	f := w.open(t, true)
	fd, st, err := f.openFile("a")
	must(t, err)
	defer unix.Close(fd)
	_, theirs, reading := f.memo.begin(st)
	if theirs == nil || reading != nil {
		t.Fatal("somebody reads already")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := f.digest(ctx, "a", fd, st); !strings.HasPrefix(said(check.Info{}, err), string(fault.Timeout)) {
		t.Errorf("with its time over: %v", err)
	}
	done := make(chan error)
	go func() {
		d, _, err := f.digest(context.Background(), "a", fd, st)
		if err == nil && d != sumOf("content") {
			err = errors.New("the wrong digest")
		}
		done <- err
	}()
	theirs.err = errors.New("their time was over")
	f.memo.end(st, theirs, fd)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// countdown is a context that ends after it was asked a number of times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestDigestStops(t *testing.T) {
	w := newWorld(t)
	must(t, os.WriteFile(w.ws+"/a", make([]byte, 4*bufferBytes), 0o644))
	f := w.open(t, true)
	_, _, err := f.Digest(&countdown{context.Background(), 3}, "a")
	if !strings.HasPrefix(said(check.Info{}, err), string(fault.Timeout)) || f.Hashed() != 2*bufferBytes {
		t.Errorf("%v after %d bytes", err, f.Hashed())
	}
}
