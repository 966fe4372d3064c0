package artifact

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle/bundletest"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// folder writes files, in any order and with any mode and time.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		at := time.Unix(rand.Int64N(2e9), 0)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(data), 0o600|os.FileMode(rand.IntN(0o200))), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func zipOf(t *testing.T, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Zip(t.Context(), &out, dir); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSameBytes(t *testing.T) {
	files := map[string]string{"contract.json": "{}", "a/b": "1", "a-b": "2", "blobs/sha256/ff": "\x00\xff", "reports/ü.txt": "", "z": strings.Repeat("line\n", 1000)}
	first := zipOf(t, folder(t, files))
	for range 5 {
		if again := zipOf(t, folder(t, files)); !bytes.Equal(again, first) {
			t.Fatal("the same files give other bytes")
		}
	}
	// A digest on a check-run must be the same with every later gate.
	const golden = "sha256:3890b13508a6a8a90bb67b3f758097cdbe4075394b43ff75c72f2bbebafa3bc8"
	if got := strictjson.Sum(first).String(); got != golden {
		t.Errorf("the archive has the digest %s; it used to have %s", got, golden)
	}

	z, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(r); err != nil || string(data) != files[f.Name] {
			t.Errorf("%s: %q %v", f.Name, data, err)
		}
		// With sizes in front, so that a reader that cannot seek finds the end.
		if f.Method != zip.Store || f.Mode() != entryMode || f.ModifiedDate != entryDate || f.ModifiedTime != 0 || len(f.Extra) > 0 || f.Flags&^utf8Name != 0 {
			t.Errorf("%+v", f.FileHeader)
		}
	}
	if want := []string{"a-b", "a/b", "blobs/sha256/ff", "contract.json", "reports/ü.txt", "z"}; !slices.Equal(names, want) {
		t.Errorf("names %q", names)
	}
}

func TestReportsAreOptional(t *testing.T) {
	s := bundletest.Write(t, bundletest.Content(t))
	without := zipOf(t, s.Dir)
	if err := os.Mkdir(filepath.Join(s.Dir, "reports"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(zipOf(t, s.Dir), without) || bytes.Contains(without, []byte("reports/")) {
		t.Error("an empty folder changes the archive")
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "reports", "r.html"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(zipOf(t, s.Dir), []byte("reports/r.html")) {
		t.Error("the reports are missing")
	}
}

// TestRefusedFiles: what no bundle has is refused before anything is sent.
func TestRefusedFiles(t *testing.T) {
	deep := strings.Repeat("d/", 12) + "f"
	for what, place := range map[string]func(dir string) error{
		"symlink": func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "x")) },
		"inner":   func(dir string) error { return os.Symlink("contract.json", filepath.Join(dir, "x")) },
		"folder":  func(dir string) error { return os.Symlink("/etc", filepath.Join(dir, "x")) },
		"fifo":    func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "x"), 0o600) },
		"socket": func(dir string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "x")})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
		"backslash": func(dir string) error { return os.WriteFile(filepath.Join(dir, `a\b`), nil, 0o600) },
		"colon":     func(dir string) error { return os.WriteFile(filepath.Join(dir, "c:x"), nil, 0o600) },
		"control":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "a\nb"), nil, 0o600) },
		"dot":       func(dir string) error { return os.WriteFile(filepath.Join(dir, "a."), nil, 0o600) },
		"not UTF-8": func(dir string) error { return os.WriteFile(filepath.Join(dir, "\xff"), nil, 0o600) },
		"case":      func(dir string) error { return os.WriteFile(filepath.Join(dir, "Contract.json"), nil, 0o600) },
		"deep": func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(deep)), 0o700), os.WriteFile(filepath.Join(dir, deep), nil, 0o600))
		},
		"empty": func(dir string) error { return os.Remove(filepath.Join(dir, "contract.json")) },
		"none":  os.RemoveAll,
		"large": func(dir string) error { return os.Truncate(filepath.Join(dir, "contract.json"), 513<<20) },
		"sum": func(dir string) error {
			x := filepath.Join(dir, "x")
			return errors.Join(os.WriteFile(x, nil, 0o600), os.Truncate(filepath.Join(dir, "contract.json"), 512<<20), os.Truncate(x, 513<<20))
		},
	} {
		t.Run(what, func(t *testing.T) {
			d := newDouble(t)
			c, _ := d.config(t)
			dir := folder(t, map[string]string{"contract.json": "{}"})
			if err := place(dir); err != nil {
				t.Fatal(err)
			}
			_, err := Upload(t.Context(), c, "n", dir)
			if f := fault.As(err); f.Code != fault.ActionUploadFailed || f.Fix == "" || d.count(creates) > 0 {
				t.Errorf("%v", err)
			}
			wantNoLeftovers(t)
		})
	}
}

func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 20_001 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Zip(t.Context(), io.Discard, dir); !strings.Contains(fmt.Sprint(err), "more than 20000 files") {
		t.Error(err)
	}
}

// TestChangedMeanwhile: a file that grows, shrinks or is another one while it is
// packed is no part of what was sealed.
func TestChangedMeanwhile(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"grows":   func(path string) error { return os.Truncate(path, 1<<20+1) },
		"shrinks": func(path string) error { return os.Truncate(path, 1<<19) },
		"differs": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("x"), 1<<20-1)
			return errors.Join(err, f.Close())
		},
	} {
		dir := large(t, 1<<20)
		// The archive's first bytes are written when the file's checksum is known.
		w := &onWrite{do: func() error { return change(filepath.Join(dir, "large")) }}
		if err := Zip(t.Context(), w, dir); !strings.Contains(fmt.Sprint(err), "changed while it was read") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// onWrite does something at the first write.
type onWrite struct {
	do      func() error
	written int
}

func (w *onWrite) Write(data []byte) (int, error) {
	if do := w.do; do != nil {
		w.do = nil
		if err := do(); err != nil {
			return 0, err
		}
	}
	w.written += len(data)
	return len(data), nil
}

func TestZipErrors(t *testing.T) {
	dir := large(t, 1<<20)
	full := errors.New("no space left")
	if err := Zip(t.Context(), &onWrite{do: func() error { return full }}, dir); !errors.Is(err, full) || fault.As(err).Code != fault.ActionUploadFailed {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &onWrite{do: func() error { cancel(full); return nil }}
	if err := Zip(ctx, w, dir); err != full || w.written > 1<<19 {
		t.Errorf("%d bytes were written: %v", w.written, err)
	}
	// A folder that is too large is not read to the end first.
	w = &onWrite{}
	if err := Zip(t.Context(), w, large(t, 1<<30+1)); !strings.Contains(fmt.Sprint(err), "more than 1073741824 bytes") || w.written > 0 {
		t.Errorf("%d bytes were written: %v", w.written, err)
	}
}
