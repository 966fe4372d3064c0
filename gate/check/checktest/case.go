package checktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// invalid is the status of a case whose params are refused when they are bound.
const invalid = "invalid"

var statuses = []string{"pass", "fail", "inconclusive", "error", invalid}

// testCase is one archive, read and checked but not yet laid out.
type testCase struct {
	name    string // file name without .txtar
	params  string
	want    want
	setup   []string
	files   []txtar.File // ws/… and outside/…
	scripts map[string]string
}

// want is what a case expects.
type want struct {
	status    string
	code      string
	version   int
	timeout   time.Duration
	unchanged bool
	contains  []expectation // substring expectations, in the order of the case
}

type expectation struct{ key, text string }

// readCases reads every case of a testdata folder, in the order of their names.
func readCases(dir string) ([]*testCase, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var out []*testCase
	for _, path := range paths {
		c, err := readCase(path)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func readCase(path string) (*testCase, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := parseCase(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.name = strings.TrimSuffix(filepath.Base(path), ".txtar")
	return c, nil
}

func parseCase(data []byte) (*testCase, error) {
	a := txtar.Parse(data)
	if strings.TrimSpace(string(a.Comment)) == "" {
		return nil, errors.New("the first line must say what the case shows")
	}
	c := &testCase{scripts: map[string]string{}}
	seen := map[string]bool{}
	for _, f := range a.Files {
		if seen[f.Name] {
			return nil, fmt.Errorf("section %q occurs twice", f.Name)
		}
		seen[f.Name] = true
		switch {
		case f.Name == "params.json":
			c.params = string(f.Data)
		case f.Name == "want":
			if err := c.want.parse(string(f.Data)); err != nil {
				return nil, err
			}
		case f.Name == "setup":
			c.setup = lines(string(f.Data))
		case strings.HasPrefix(f.Name, "ws/"), strings.HasPrefix(f.Name, "outside/"):
			if !filepath.IsLocal(f.Name) {
				return nil, fmt.Errorf("section %q leads out of its folder", f.Name)
			}
			c.files = append(c.files, f)
		case strings.HasSuffix(f.Name, ".sql"):
			c.scripts[f.Name] = string(f.Data)
		default:
			return nil, fmt.Errorf("section %q is not known: params.json, want, setup, ws/…, outside/… or ….sql", f.Name)
		}
	}
	for _, name := range []string{"params.json", "want"} {
		if !seen[name] {
			return nil, fmt.Errorf("section %q is missing", name)
		}
	}
	return c, c.checkSetup()
}

func (w *want) parse(text string) error {
	*w = want{version: 1, timeout: 30 * time.Second}
	once := map[string]bool{}
	for _, line := range lines(text) {
		key, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || value == "" {
			return fmt.Errorf("want: %q is no \"key: value\"", line)
		}
		switch key {
		case "summary", "observed", "expected", "finding", "problem", "limitation", "warning", "lacks":
			w.contains = append(w.contains, expectation{key, value})
			continue
		}
		if once[key] {
			return fmt.Errorf("want: %s occurs twice", key)
		}
		once[key] = true
		if err := w.set(key, value); err != nil {
			return fmt.Errorf("want: %w", err)
		}
	}
	if w.status == "" {
		return errors.New("want: the status is missing")
	}
	if w.status == invalid {
		for _, e := range w.contains {
			if e.key != "problem" && e.key != "lacks" {
				return fmt.Errorf("want: %s says nothing with status invalid: the check never runs", e.key)
			}
		}
		if w.code != "" || w.unchanged {
			return errors.New("want: error and unchanged say nothing with status invalid: the check never runs")
		}
	}
	return nil
}

func (w *want) set(key, value string) error {
	switch key {
	case "status":
		if !slices.Contains(statuses, value) {
			return fmt.Errorf("status %q is none of %s", value, strings.Join(statuses, ", "))
		}
		w.status = value
	case "error":
		w.code = value
	case "schema_version":
		v, err := strconv.Atoi(value)
		if err != nil || v < 1 {
			return fmt.Errorf("schema_version %q is no version", value)
		}
		w.version = v
	case "timeout":
		s, err := strconv.ParseFloat(value, 64)
		if err != nil || !(s > 0 && s <= 600) {
			return fmt.Errorf("timeout %q is no number of seconds", value)
		}
		w.timeout = time.Duration(s * float64(time.Second))
	case "unchanged":
		if value != "true" {
			return fmt.Errorf("unchanged %q can only be true", value)
		}
		w.unchanged = true
	default:
		return fmt.Errorf("%q is not known", key)
	}
	return nil
}

// lines gives the lines of a section that are not empty.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	return out
}

// gaps names the statuses for which a type has no case, less those that it
// declares impossible; and those declarations that a case contradicts.
func gaps(cases []*testCase, without []Impossible) []string {
	var out []string
	has := func(status string) bool {
		return slices.ContainsFunc(cases, func(c *testCase) bool { return c.want.status == status })
	}
	for _, status := range []string{"pass", "fail", invalid, "inconclusive"} {
		i := slices.IndexFunc(without, func(w Impossible) bool { return w.status == status })
		switch {
		case i < 0 && !has(status):
			out = append(out, "no case has status "+status)
		case i >= 0 && has(status):
			out = append(out, "a case has status "+status+", which the type declares impossible")
		}
	}
	for _, w := range without {
		if strings.TrimSpace(w.reason) == "" {
			out = append(out, "status "+w.status+" is declared impossible without a reason")
		}
		if !slices.Contains(statuses, w.status) {
			out = append(out, "status "+w.status+" is declared impossible, but is no status")
		}
	}
	return out
}
