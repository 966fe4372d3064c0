package gate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// verifier says what judged: this very binary, by its digest.
func (g Gate) verifier(dataDir string) (bundle.Verifier, error) {
	d, err := g.digest(dataDir)
	if err != nil {
		return bundle.Verifier{}, fmt.Errorf("the gate cannot digest its own binary: %w", err)
	}
	return bundle.Verifier{Name: "verdictgate", Version: g.Version, Digest: d.String(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}, nil
}

// Verifier says what would judge, as [Gate.Run] writes it into evidence.
func (g Gate) Verifier() (bundle.Verifier, error) { return g.verifier("") }

// digest is the SHA-256 of the program that the user installed: this one, or
// the lean one that carries it. Reading it takes longer than the rest of a
// small run, so the digest is kept in the data folder under the file's
// identity. That is no weaker than digesting it again: whoever can write the
// data folder of the gate's own user can replace its program.
func (g Gate) digest(dataDir string) (strictjson.Digest, error) {
	f := g.Front
	if f == nil {
		var err error
		if f, err = os.Open("/proc/self/exe"); err != nil {
			return strictjson.Digest{}, err
		}
		defer f.Close()
	}
	info, err := f.Stat()
	if err != nil {
		return strictjson.Digest{}, err
	}
	key := identity(info)
	kept := ""
	if dataDir != "" {
		kept = filepath.Join(dataDir, "cache", "verifier.json")
	}
	var known struct {
		Key    string            `json:"key"`
		Digest strictjson.Digest `json:"digest"`
	}
	if data, err := ownFile(kept); kept != "" && err == nil && json.Unmarshal(data, &known) == nil && known.Key == key {
		return known.Digest, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return strictjson.Digest{}, err
	}
	known.Key = key
	h.Sum(known.Digest[:0])
	if data, err := json.Marshal(known); kept != "" && err == nil {
		bundle.Keep(kept, data) // a cache: losing it costs time only
	}
	return known.Digest, nil
}

// ownFile reads a file that only this user can have written.
func ownFile(path string) ([]byte, error) {
	for _, p := range []string{filepath.Dir(path), path} {
		info, err := os.Lstat(p)
		if err != nil {
			return nil, err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(st.Uid) != os.Geteuid() || info.Mode()&0o022 != 0 || info.Mode()&os.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s can be written by others", p)
		}
	}
	return os.ReadFile(path)
}

func identity(info os.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d %d %d %d.%d %d.%d", st.Dev, st.Ino, st.Size, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
	}
	return fmt.Sprintf("%s %d %d", info.Name(), info.Size(), info.ModTime().UnixNano())
}
