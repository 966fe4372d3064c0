package main

import (
	"os"
	"slices"
	"strings"
)

// Earlier steps of a workflow's job can set any variable of the steps after them,
// through the file GITHUB_ENV, but for those that the runner itself sets. A judged
// change whose tests ran before can so have planted a library to preload,
// certificates to believe, or settings of the gate. What is kept is what the Action
// has a use for.
//
// Programs (git) are looked for where the system keeps them, and not where a step
// has put a folder first. The path that a contract's commands are found by is told by --path.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

var (
	kept = []string{"HOME", "LANG", "LC_ALL", "TZ",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} // a proxy sees no more of TLS than any router
	keptPrefixes = []string{"ACTIONS_", "GITHUB_", "INPUT_", "RUNNER_"}
)

// shed takes every other variable from this process when it is the Action, before
// anything has read one, and before the full program is started with what is left.
func shed(args []string) {
	if len(args) < 2 || args[1] != "action" {
		return
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name != "" && !slices.Contains(kept, name) && !slices.ContainsFunc(keptPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			os.Unsetenv(name) // a name that Environ gives is one that can be unset
		}
	}
	os.Setenv("PATH", systemPath)
}
