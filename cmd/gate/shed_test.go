package main

import (
	"os"
	"testing"
)

// What an earlier step of a job can plant reaches no program that the Action starts,
// and nothing that the Action itself reads.
func TestTheActionShedsWhatStepsCanPlant(t *testing.T) {
	planted := []string{"GATE_DATA_DIR", "GATE_CHROMIUM", "LD_PRELOAD", "SSL_CERT_FILE", "SIGSTORE_ID_TOKEN", "COSIGN_PASSWORD", "GODEBUG", "XDG_DATA_HOME", "TUF_ROOT", "GIT_DIR", "lower"}
	kept := []string{"HOME", "TZ", "GITHUB_SHA", "INPUT_TRUSTED-REFS", "ACTIONS_RUNTIME_TOKEN", "RUNNER_TEMP", "HTTPS_PROXY"}
	for _, name := range append(planted, kept...) {
		t.Setenv(name, "x")
	}
	t.Setenv("PATH", "/planted:/usr/bin:/bin")
	shed([]string{"gate", "run"})
	for _, name := range planted {
		if os.Getenv(name) == "" {
			t.Errorf("%s was taken from a command that is no step", name)
		}
	}
	shed([]string{"gate", "action", "verify"})
	for _, name := range planted {
		if v, there := os.LookupEnv(name); there {
			t.Errorf("%s=%s stayed", name, v)
		}
	}
	for _, name := range kept {
		if os.Getenv(name) != "x" {
			t.Errorf("%s was taken", name)
		}
	}
	if path := os.Getenv("PATH"); path != systemPath {
		t.Errorf("programs are looked for in %s", path)
	}
}
