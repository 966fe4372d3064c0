package contract

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func newFIFO(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A FIFO is read until its writer closes it, however it writes.
func TestReadPipe(t *testing.T) {
	name := newFIFO(t)
	for _, want := range []string{"", "x", strings.Repeat("0123456789", 50_000)} {
		wrote := make(chan error, 1)
		go func() {
			f, err := os.OpenFile(name, os.O_WRONLY, 0) // waits for the reader
			for rest := want; err == nil && rest != ""; {
				n := min(len(rest), 70_001)
				_, err = f.WriteString(rest[:n])
				rest = rest[n:]
			}
			if f != nil {
				f.Close()
			}
			wrote <- err
		}()
		got, err := readPipe(name, 1<<20, time.Minute)
		if err != nil || string(got) != want {
			t.Errorf("%d bytes of %d: %v", len(got), len(want), err)
		}
		if err := <-wrote; err != nil {
			t.Error(err)
		}
	}
}

func TestReadPipeEnds(t *testing.T) {
	name := newFIFO(t)
	if _, err := readPipe(name, 10, time.Millisecond); err == nil || !strings.Contains(err.Error(), "nobody wrote to it") {
		t.Errorf("without a writer: %v", err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0) // a writer that does not close it
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := readPipe(name, 10, time.Millisecond); err == nil || !strings.Contains(err.Error(), "nobody wrote to it") {
		t.Errorf("with a writer that says nothing: %v", err)
	}
	if _, err := f.WriteString("{"); err != nil {
		t.Fatal(err)
	}
	if _, err := readPipe(name, 10, time.Millisecond); err == nil || !strings.Contains(err.Error(), "its end did not come") {
		t.Errorf("with a writer that does not end: %v", err)
	}
	if _, err := f.WriteString(strings.Repeat("x", 11)); err != nil {
		t.Fatal(err)
	}
	if _, err := readPipe(name, 10, time.Minute); err == nil || !strings.Contains(err.Error(), "at most 10") {
		t.Errorf("over the limit: %v", err)
	}
}

// What came through a descriptor can be read once more, by another program too.
func TestAPipeOfADescriptorIsKept(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const text = `{"contract_id":"piped","checks":[]}`
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("/proc/self/fd/%d", r.Fd())
	for range 2 {
		f, err := Load(name)
		if err != nil || f.Contract.ID != "piped" {
			t.Fatalf("%v", err)
		}
	}
	if again, err := os.ReadFile(name); err != nil || !bytes.Equal(again, []byte(text)) {
		t.Errorf("%q %v", again, err)
	}
	if err := os.WriteFile(name, []byte("x"), 0); err == nil {
		t.Error("what was kept can be changed")
	}
}
