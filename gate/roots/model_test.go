package roots

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// model is a file system in the memory of the test, and the simplest reading
// of the rule: resolve everything, then compare.
type model struct {
	roots []string
	files map[string]string // absolute path: "file", "dir", or "-> text"
}

func (m model) inside(place string) bool {
	for _, r := range m.roots {
		if place == r || strings.HasPrefix(place, r+"/") {
			return true
		}
	}
	return false
}

// resolve answers as [stat] does, less the words about what is missing.
func (m model) resolve(path string) string {
	place := m.roots[0]
	var rest []string
	push := func(p string) {
		if strings.HasPrefix(p, "/") {
			place = "/"
		}
		var parts []string
		for part := range strings.SplitSeq(p, "/") {
			if part != "" && part != "." {
				parts = append(parts, part)
			}
		}
		rest = append(parts, rest...)
	}
	missing := func() string {
		if m.inside(filepath.Join(append([]string{place}, rest...)...)) {
			return "missing"
		}
		return refusal
	}
	push(path)
	strayed := false
	for links := 0; len(rest) > 0; {
		name := rest[0]
		if name == ".." {
			place, rest = filepath.Dir(place), rest[1:]
			continue
		}
		next := filepath.Join(place, name)
		what := m.files[next]
		text, isLink := strings.CutPrefix(what, "-> ")
		onTheWay := false // folders above a root are not the model's
		for _, r := range m.roots {
			onTheWay = onTheWay || strings.HasPrefix(r+"/", next+"/")
		}
		if !m.inside(next) && !onTheWay {
			strayed = true
		}
		switch {
		case isLink:
			if links++; links > maxLinks {
				if strayed {
					return refusal
				}
				return missing()
			}
			rest = rest[1:]
			push(text)
			continue
		case what == "" && m.inside(next):
			return missing()
		case what == "file" && len(rest) > 1 && m.inside(next):
			return missing()
		}
		place, rest = next, rest[1:]
	}
	if !m.inside(place) {
		return refusal
	}
	if m.files[place] == "dir" {
		return "directory"
	}
	return m.files[place]
}

// script makes a world and a path out of bytes.
type script struct {
	bytes []byte
}

func (s *script) next(n int) int {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}

func (s *script) path(w world) string {
	parts := []string{"a", "b", "c", "..", "..", ".", "", "a", "b", "out", "ws", "more"}
	starts := []string{"", "", "", "", w.ws + "/", w.out + "/", w.more + "/", w.top + "/", "/"}
	var out []string
	for range 1 + s.next(6) {
		out = append(out, parts[s.next(len(parts))])
	}
	return starts[s.next(len(starts))] + strings.Join(out, "/")
}

// build makes the same tree on disk and in the model.
func (s *script) build(t *testing.T, w world) model {
	m := model{roots: []string{w.ws, w.more}, files: map[string]string{w.ws: "dir", w.more: "dir", w.out: "dir", w.top: "dir"}}
	folders := []string{w.ws, w.ws, w.more, w.out}
	names := []string{"a", "b", "c"}
	for range 2 + s.next(14) {
		place := folders[s.next(len(folders))] + "/" + names[s.next(len(names))]
		if m.files[place] != "" {
			continue
		}
		switch s.next(4) {
		case 0:
			must(t, os.Mkdir(place, 0o755))
			m.files[place] = "dir"
			folders = append(folders, place)
		case 1:
			must(t, os.WriteFile(place, []byte(place), 0o644))
			m.files[place] = "file"
		default:
			target := s.path(w)
			if target == "" {
				continue // no link has an empty text
			}
			must(t, os.Symlink(target, place))
			m.files[place] = "-> " + target
		}
	}
	return m
}

func compareWithModel(t *testing.T, data []byte) {
	w := newWorld(t)
	s := &script{bytes: data}
	m := s.build(t, w)
	kernel, walk := w.open(t, true), w.open(t, false)
	for range 12 {
		path := s.path(w)
		if path == "" {
			path = "."
		}
		want := m.resolve(path)
		for how, f := range map[string]*Files{"openat2": kernel, "walk": walk} {
			got, _, _ := strings.Cut(stat(f, path), ": a ")
			if got != want {
				t.Fatalf("%s: %q is %s, want %s, in\n%s", how, path, got, want, dump(m))
			}
		}
	}
}

func dump(m model) string {
	var out []string
	for path, what := range m.files {
		out = append(out, fmt.Sprintf("%s %s", path, what))
	}
	return strings.Join(out, "\n")
}

func TestModel(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 26))
	for range 300 {
		data := make([]byte, 200)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		compareWithModel(t, data)
	}
}

func FuzzResolve(f *testing.F) {
	f.Add([]byte("a link, a folder, a way out"))
	f.Add([]byte{9, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) { compareWithModel(t, data) })
}
