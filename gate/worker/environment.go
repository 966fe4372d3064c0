package worker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// passed are the variables that a worker gets with the gate's own values.
// Everything else that the gate was started with (tokens, keys, proxies, what
// a CI service sets) stays with it.
var passed = [...]string{"LANG", "LC_ALL", "TZ"}

// Folders inside a worker's scratch folder.
const (
	scratchHome = "home"
	scratchTmp  = "tmp"
)

// environment is the whole environment of a worker and of what it starts.
func environment(path, scratch string) []string {
	env := []string{
		"GATE_VERIFIER=1",
		"HOME=" + filepath.Join(scratch, scratchHome),
		"PATH=" + path,
		"TMPDIR=" + filepath.Join(scratch, scratchTmp),
	}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	return env
}

// variableNames are the names in an environment, sorted.
func variableNames(env []string) []string {
	names := []string{}
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// cleanPath drops the entries of a PATH where the judged change could have
// put a program: empty and relative ones, which mean the current folder, and
// those that lie inside the roots, also by way of a link.
func cleanPath(path string, roots []string) string {
	var kept []string
	for _, entry := range filepath.SplitList(path) {
		if !filepath.IsAbs(entry) || slices.Contains(kept, entry) {
			continue
		}
		resolved := entry
		if r, err := filepath.EvalSymlinks(entry); err == nil {
			resolved = r
		}
		if within(roots, filepath.Clean(entry)) || within(roots, resolved) {
			continue
		}
		kept = append(kept, entry)
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// within says whether a clean absolute path is one of the folders or lies in one.
func within(folders []string, path string) bool {
	for _, f := range folders {
		rest, ok := strings.CutPrefix(path, strings.TrimSuffix(f, "/"))
		if ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// overlay adds a command's literal variables to an environment.
func overlay(env []string, extra map[string]string) []string {
	if len(extra) == 0 {
		return env
	}
	out := slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		_, replaced := extra[name]
		return replaced
	})
	for name, value := range extra {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}
