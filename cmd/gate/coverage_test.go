package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// readScripts gives the text of every script.
func readScripts(t *testing.T) map[string]string {
	t.Helper()
	return readFiles(t, filepath.Join(scripts, "*.txtar"))
}

// readFiles gives the text of every file that a pattern stands for.
func readFiles(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no %s (%v)", pattern, err)
	}
	out := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(text)
	}
	return out
}

// unreachable are codes that no command line of this build can bring about, with
// the reason. Whoever makes one reachable takes it out of here.
var unreachable = map[fault.Code]string{
	fault.CheckCrashed: "only a defect of a check type brings it about; package plan tests it with one",
}

// onGitHub are the tests of the Action, which run the program as a workflow's runner
// does: what only GitHub's answers bring about, no script can.
const onGitHub = "../../testdata/actions/*_test.go"

// TestEveryCodeHasAScript: a code that no script brings about is a promise
// that nobody has seen kept.
func TestEveryCodeHasAScript(t *testing.T) {
	scripts := readFiles(t, onGitHub)
	maps.Copy(scripts, readScripts(t))
	all := strings.Join(values(scripts), "\n")
	for _, i := range fault.Codes() {
		mentioned := regexp.MustCompile(strings.ReplaceAll(string(i.Code), ".", `\\?\.`) + `\b`).MatchString(all)
		if _, exempt := unreachable[i.Code]; mentioned == exempt {
			t.Errorf("%s: mentioned in a script: %t, listed as unreachable: %t", i.Code, mentioned, exempt)
		}
	}
}

// TestEveryFlagHasAScript looks for each flag on a line that calls its command.
func TestEveryFlagHasAScript(t *testing.T) {
	calls := map[string][]string{}
	call := regexp.MustCompile(`(?m)^!? ?(?:exec|exits \d+) gate ([a-z]+)\b(.*)$`)
	for _, text := range readScripts(t) {
		for _, m := range call.FindAllStringSubmatch(text, -1) {
			calls[m[1]] = append(calls[m[1]], m[2])
		}
	}
	used := func(command, flag string) bool {
		flag = regexp.QuoteMeta(flag)
		for _, line := range calls[command] {
			if regexp.MustCompile(`(^|\s)` + flag + `($|[\s=])`).MatchString(line) {
				return true
			}
		}
		return false
	}
	root := (&cli{}).command()
	for _, cmd := range root.Commands() {
		if len(calls[cmd.Name()]) == 0 {
			t.Errorf("no script calls gate %s", cmd.Name())
		}
		eachFlag(cmd, func(f *pflag.Flag) {
			if !used(cmd.Name(), "--"+f.Name) && (f.Shorthand == "" || !used(cmd.Name(), "-"+f.Shorthand)) {
				t.Errorf("no script calls gate %s --%s", cmd.Name(), f.Name)
			}
		})
	}
}

func eachFlag(cmd *cobra.Command, visit func(*pflag.Flag)) {
	cmd.LocalNonPersistentFlags().VisitAll(visit)
	cmd.Root().PersistentFlags().VisitAll(visit)
}

func values(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}
