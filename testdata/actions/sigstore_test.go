package actions_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/actions/runner"
	"github.com/verdictgate/verdictgate/testdata/sigstore/services"
)

// sigstore is the one that all tests sign with.
var sigstore struct {
	sync.Once
	*services.Services
	dir    string
	config string            // its signing configuration, as it is reached on the way
	fronts *strings.Replacer // addresses on loopback to those on the way
	ends   []func()
	err    error
}

// signing starts Sigstore's services, once for all tests. They listen on loopback; where
// a container is run, each has a proxy in front of it.
func signing(t *testing.T) *services.Services {
	t.Helper()
	way := network(t)
	sigstore.Do(func() { sigstore.err = startSigstore(way) })
	if sigstore.err != nil {
		t.Fatal(sigstore.err)
	}
	return sigstore.Services
}

func startSigstore(way way) (err error) {
	s := &sigstore
	if s.dir, err = os.MkdirTemp("", "gate-sigstore."); err != nil {
		return err
	}
	if s.Services, err = services.Start(context.Background(), services.Config{Dir: s.dir}); err != nil {
		return err
	}
	var pairs []string
	for _, service := range []string{s.Issuer.URL, s.Fulcio.URL, s.TSA.URL} {
		address, end, err := way.front(service)
		if err != nil {
			return err
		}
		s.ends = append(s.ends, end)
		pairs = append(pairs, service, address)
	}
	s.fronts = strings.NewReplacer(pairs...)
	if s.config, err = s.SigningConfig(services.Use{Timestamps: true}); err != nil {
		return err
	}
	text, err := os.ReadFile(s.config)
	if err != nil {
		return err
	}
	return os.WriteFile(s.config, []byte(s.fronts.Replace(string(text))), 0o644)
}

func endSigstore() error {
	if sigstore.Services == nil {
		return nil
	}
	for _, end := range sigstore.ends {
		end()
	}
	return errors.Join(sigstore.Close(), os.RemoveAll(sigstore.dir))
}

// signs gives a step the identity of the reusable workflow, in the run of its job.
func (w *world) signs(s *runner.Step, change func(*services.Claims)) {
	w.t.Helper()
	services := signing(w.t)
	services.Issuer.Claims(w.claims(s.Job, change))
	w.t.Cleanup(services.Issuer.Reset)
	for _, v := range services.Issuer.Env() {
		s.Job.IDToken = append(s.Job.IDToken, sigstore.fronts.Replace(v))
	}
	s.Inputs["signing-config"], s.Inputs["trusted-root"] = w.placed(*s, sigstore.config), w.placed(*s, services.TrustedRoot)
	if _, there := s.Action.Inputs["sign"]; there { // the signing job has nothing else to do
		s.Inputs["sign"] = "keyless"
	}
}

// placed copies a file into a job's temporary folder, as an earlier step could, and gives its
// path as the job's steps see it.
func (w *world) placed(s runner.Step, file string) string {
	w.t.Helper()
	here, there := s.Temp()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.MkdirAll(here, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(here, filepath.Base(file)), text, 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return filepath.Join(there, filepath.Base(file))
}
