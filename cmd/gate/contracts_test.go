package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/checks"
	"github.com/verdictgate/verdictgate/gate"
)

// corpus is where contracts lie that lint must take or refuse.
const corpus = "../../testdata/contracts"

func contracts(t *testing.T, kind string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpus, kind, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no contracts in %s/%s (%v)", corpus, kind, err)
	}
	return files
}

func TestSoundContracts(t *testing.T) {
	g := gate.Gate{Types: checks.All()}
	for _, file := range contracts(t, "ok") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			l, err := g.Lint(file)
			if err != nil || len(l.Problems) > 0 {
				t.Fatalf("%v %v", err, l.Problems)
			}
			frozen, err := g.Freeze(file, time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			again := filepath.Join(t.TempDir(), "frozen.json")
			if err := os.WriteFile(again, frozen, 0o644); err != nil {
				t.Fatal(err)
			}
			if l, err := g.Lint(again); err != nil || !l.Frozen || len(l.Problems) > 0 {
				t.Errorf("frozen it is refused: %v %v", err, l.Problems)
			}
		})
	}
}

// TestFaultyContracts: each NAME.json has a NAME.want of lines "LINE:COLUMN:
// words" or "LINE: words", all of which lint must report of it, all at once. A
// line "…: fix: words" is looked for in the mend.
func TestFaultyContracts(t *testing.T) {
	g := gate.Gate{Types: checks.All()}
	for _, file := range contracts(t, "bad") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			l, err := g.Lint(file)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, p := range l.Problems {
				all = append(all, fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message), fmt.Sprintf("%d:%d: fix: %s", p.Line, p.Column, p.Fix))
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".want")
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(want)) {
				place, words, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
				found := false
				for _, p := range all {
					found = found || strings.HasPrefix(p, place+":") && strings.Contains(p, words)
				}
				if !found {
					t.Errorf("no problem says %s%s; there are\n%s", place, ": "+words, strings.Join(all, "\n"))
				}
			}
		})
	}
}
