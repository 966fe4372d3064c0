// Loop runs the services of keyless signing on this machine, for a person to
// try it without GitHub:
//
//	go run ./loop -out DIR -rekor "$(../../scripts/signing-tools rekor)"
//
// It writes trusted_root.json and the signing configs into the folder, prints
// the environment to set, as shell commands, and runs until it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/verdictgate/verdictgate/testdata/sigstore/services"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("loop", flag.ContinueOnError)
	dir := flags.String("out", ".", "`DIR` for the trusted root and the signing configs")
	rekor := flags.String("rekor", "", "`PROGRAM` of a Rekor v2 log; without it there are timestamps only")
	var claims services.Claims
	flags.StringVar(&claims.RunnerEnvironment, "runner", "github-hosted", "runner_environment that tokens claim")
	flags.StringVar(&claims.SHA, "sha", "", "`COMMIT` that tokens claim")
	flags.StringVar(&claims.JobWorkflowRef, "job-workflow-ref", "", "`OWNER/REPO/PATH@REF` of the workflow that tokens claim")
	flags.StringVar(&claims.Repository, "repository", "", "`OWNER/REPO` that tokens claim")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return err
	}
	folder, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	s, err := services.Start(ctx, services.Config{Dir: folder, Rekor: *rekor})
	if err != nil {
		return err
	}
	s.Issuer.Claims(func(c *services.Claims) { override(c, claims) })
	config, err := s.SigningConfig(services.Use{Timestamps: true, Log: *rekor != ""})
	if err == nil {
		err = tell(out, s, config)
	}
	if err == nil {
		<-ctx.Done()
	}
	if closing := s.Close(); err == nil {
		err = closing
	}
	return err
}

// override puts what was given in place of the defaults.
func override(c *services.Claims, given services.Claims) {
	for _, claim := range []struct {
		to    *string
		given string
	}{
		{&c.RunnerEnvironment, given.RunnerEnvironment},
		{&c.SHA, given.SHA},
		{&c.JobWorkflowRef, given.JobWorkflowRef},
		{&c.Repository, given.Repository},
	} {
		if claim.given != "" {
			*claim.to = claim.given
		}
	}
}

// tell prints the environment, for a shell to read.
func tell(out io.Writer, s *services.Services, config string) error {
	env := append(s.Issuer.Env(), "TRUSTED_ROOT="+s.TrustedRoot, "SIGNING_CONFIG="+config,
		"CERTIFICATE_IDENTITY="+s.Issuer.SAN(), "CERTIFICATE_OIDC_ISSUER="+s.Issuer.URL)
	for _, e := range env {
		if _, err := fmt.Fprintf(out, "export %q\n", e); err != nil {
			return err
		}
	}
	return nil
}
