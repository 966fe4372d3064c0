package main

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// TestOneWriterWins: of several that write the same new file at once, one does,
// and nobody sees a mixture.
func TestOneWriterWins(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "contract.json")
	var (
		wins atomic.Int32
		all  sync.WaitGroup
	)
	for i := range 16 {
		all.Go(func() {
			data := make([]byte, 1<<16)
			for j := range data {
				data[j] = byte('a' + i)
			}
			if writeFile(name, data, false) == nil {
				wins.Add(1)
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(name)
	if err != nil || wins.Load() != 1 || len(data) != 1<<16 || data[0] != data[len(data)-1] {
		t.Errorf("%d writers won, the file has %d bytes (%v)", wins.Load(), len(data), err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left (%v)", len(left), err)
	}
}

// TestPlaceWithoutLinks: where a link cannot be made the name is taken another
// way, and never over a file that is there.
func TestPlaceWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	// The source is missing, so the link fails for another reason than that the
	// target exists.
	if err := place(filepath.Join(dir, "missing"), there, false); err == nil {
		t.Error("a file was replaced by one that is not there")
	}
	if data, err := os.ReadFile(there); err != nil || string(data) != "old" {
		t.Errorf("the file is %q now (%v)", data, err)
	}
}
