package main

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate/sqlread"
)

// version and commit are set by make build: -ldflags "-X main.version=1.2.3". A
// plain go build leaves the commit to what the toolchain found out itself.
var (
	version = "devel"
	commit  string
)

// identity is what this program says of itself. Its digest is what evidence
// names the verifier by: the libraries that it judges with are part of it.
type identity struct {
	Version  string `json:"version"`
	Digest   string `json:"digest"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"` // the sources differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	SQLite   string `json:"sqlite"`
}

func identify() identity {
	id := identity{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, SQLite: sqlread.Version()}
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
			verifier, err := c.gate.Verifier()
			if err != nil {
				return err
			}
			id.Digest = verifier.Digest
			if c.format == formatJSON {
				return c.document(id)
			}
			commit := id.Commit
			if commit == "" {
				commit = "unknown"
			} else if id.Modified {
				commit += " (modified)"
			}
			return c.say(c.out, "gate %s\n  digest    %s\n  commit    %s\n  go        %s\n  platform  %s\n  sqlite    %s\n", id.Version, id.Digest, commit, id.Go, id.Platform, id.SQLite)
		},
	}
}
