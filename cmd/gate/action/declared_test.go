package action

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDeclaredInputs holds that each way reads the inputs that its action.yml has, no more
// and no fewer.
func TestDeclaredInputs(t *testing.T) {
	key := regexp.MustCompile(`^  ([a-z-]+):$`)
	for file, way := range map[string]string{"action.yml": Judge, "host/action.yml": Judge, "sign/action.yml": Sign, "verify/action.yml": Verify, "require/action.yml": Require} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		var inputs []string
		in := false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if line != "" && line[0] != ' ' && line[0] != '#' {
				in = line == "inputs:"
			}
			if m := key.FindStringSubmatch(line); in && m != nil {
				inputs = append(inputs, m[1])
			}
		}
		slices.Sort(inputs)
		if want := slices.Sorted(slices.Values(declared[way])); !slices.Equal(inputs, want) {
			t.Errorf("%s declares %v, and %s reads %v", file, inputs, way, want)
		}
	}
	env := only(Sign, func(name string) string { return name })
	for name, want := range map[string]string{"INPUT_JUDGED": "INPUT_JUDGED", "INPUT_CHECK-NAME": "INPUT_CHECK-NAME", "INPUT_CHECK-RUN": "", "INPUT_PROPOSED": "", "INPUT_": "", "GITHUB_SHA": "GITHUB_SHA"} {
		if got := env(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}
