package main

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version and commit are set by make build: -ldflags "-X main.version=1.2.3". A
// plain go build leaves the commit to what the toolchain found out itself.
var (
	version = "devel"
	commit  string
)

// identity is what this program says of itself.
type identity struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"` // the sources differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func identify() identity {
	id := identity{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if id.Commit != "" {
		id.Modified = strings.HasSuffix(version, "-dirty") // as git describe says it
		return id
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				id.Commit = s.Value
			case "vcs.modified":
				id.Modified = s.Value == "true"
			}
		}
	}
	return id
}

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which build this is",
		Args:  arguments(),
		RunE: func(*cobra.Command, []string) error {
			id := identify()
			if c.format == formatJSON {
				return c.document(id)
			}
			commit := id.Commit
			if commit == "" {
				commit = "unknown"
			} else if id.Modified {
				commit += " (modified)"
			}
			return c.say(c.out, "gate %s\n  commit    %s\n  go        %s\n  platform  %s\n", id.Version, commit, id.Go, id.Platform)
		},
	}
}
