// Package services runs what keyless signing needs, on loopback: an OIDC issuer
// that answers as the token endpoint of GitHub Actions does, a certificate
// transparency log, Fulcio, a timestamp authority, and a Rekor v2 log.
//
// Fulcio is the real server and Rekor the real program, so a certificate has
// the extensions, and a log entry the proofs, that those of the public instance
// have. The issuer, the CT log and the timestamp authority are as small as they
// can be while every signature of theirs is a real one.
//
// A test starts them, sets what the workflow's token says, and may let a
// service fail:
//
//	s, err := services.Start(ctx, services.Config{Dir: t.TempDir(), Rekor: program})
//	defer s.Close()
//	s.Issuer.Claims(func(c *services.Claims) { c.RunnerEnvironment = "self-hosted" })
//	s.Fulcio.Fail(2)
//	cmd.Env = append(os.Environ(), s.Issuer.Env()...)
package services

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	prototrustroot "github.com/sigstore/protobuf-specs/gen/pb-go/trustroot/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
)

// Config says what to start.
type Config struct {
	Dir   string // an existing folder, for the trusted root, the signing configs and Rekor's tiles
	Rekor string // the program of a Rekor v2 log; "" for none
}

// Services run until they are closed.
type Services struct {
	Issuer      *Issuer // Fulcio gives certificates for its tokens
	OtherIssuer *Issuer // and for those of this one
	CTLog       *CTLog
	Fulcio      *Fulcio
	TSA         *TSA
	Rekor       *Rekor // nil without a program

	// TrustedRoot is the file with what the signatures of all of them are
	// verified by.
	TrustedRoot string

	dir     string
	started time.Time
	stops   []func() error
}

// Start starts them. When one cannot be started, none is left.
func Start(ctx context.Context, c Config) (_ *Services, err error) {
	// Validity begins a moment ago: what signs and what verifies have rounded
	// the time differently.
	s := &Services{dir: c.Dir, started: time.Now().Add(-time.Minute)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.Issuer, err = startIssuer(); err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	s.stop(s.Issuer.Close)
	if s.OtherIssuer, err = startIssuer(); err != nil {
		return nil, fmt.Errorf("other issuer: %w", err)
	}
	s.stop(s.OtherIssuer.Close)
	if s.CTLog, err = startCTLog(); err != nil {
		return nil, fmt.Errorf("certificate transparency log: %w", err)
	}
	s.stop(s.CTLog.Close)
	if s.Fulcio, err = startFulcio(ctx, s.CTLog, s.Issuer.URL, s.OtherIssuer.URL); err != nil {
		return nil, fmt.Errorf("fulcio: %w", err)
	}
	s.stop(s.Fulcio.Close)
	if s.TSA, err = startTSA(); err != nil {
		return nil, fmt.Errorf("timestamp authority: %w", err)
	}
	s.stop(s.TSA.Close)
	if c.Rekor != "" {
		if s.Rekor, err = startRekor(ctx, c.Rekor, filepath.Join(c.Dir, "rekor")); err != nil {
			return nil, fmt.Errorf("rekor: %w", err)
		}
		s.stop(s.Rekor.Close)
	}
	s.TrustedRoot, err = s.writeTrustedRoot()
	return s, err
}

func (s *Services) stop(f func() error) { s.stops = append(s.stops, f) }

// Close ends them, the last one first.
func (s *Services) Close() error {
	var errs []error
	for i := len(s.stops) - 1; i >= 0; i-- {
		errs = append(errs, s.stops[i]())
	}
	s.stops = nil
	return errors.Join(errs...)
}

// writeTrustedRoot writes the trusted root of the services.
func (s *Services) writeTrustedRoot() (string, error) {
	logs := map[string]*root.TransparencyLog{}
	if s.Rekor != nil {
		logs[s.Rekor.ID] = s.log(s.Rekor.Origin(), s.Rekor.ID, s.Rekor.key.Public())
	}
	trusted, err := root.NewTrustedRoot(root.TrustedRootMediaType01,
		[]root.CertificateAuthority{&root.FulcioCertificateAuthority{Root: s.Fulcio.Root, ValidityPeriodStart: s.started, URI: s.Fulcio.URL}},
		map[string]*root.TransparencyLog{s.CTLog.ID: s.log(s.CTLog.URL, s.CTLog.ID, s.CTLog.key.Public())},
		[]root.TimestampingAuthority{s.TSA.authority(s.started)},
		logs)
	if err != nil {
		return "", fmt.Errorf("trusted root: %w", err)
	}
	return s.write("trusted_root.json", trusted)
}

// log describes a log with a P-256 key to those who verify its signatures.
func (s *Services) log(url, id string, key crypto.PublicKey) *root.TransparencyLog {
	return &root.TransparencyLog{
		BaseURL: url, ID: unhex(id), ValidityPeriodStart: s.started,
		HashFunc: crypto.SHA256, PublicKey: key, SignatureHashFunc: crypto.SHA256,
	}
}

// Use says which services a signing config names beside Fulcio and the issuer.
type Use struct {
	Timestamps bool
	Log        bool
}

// SigningConfig writes a signing config and gives its path.
func (s *Services) SigningConfig(use Use) (string, error) {
	service := func(url string, version uint32) []root.Service {
		return []root.Service{{URL: url, MajorAPIVersion: version, ValidityPeriodStart: s.started, Operator: "loop"}}
	}
	anyOne := root.ServiceConfiguration{Selector: prototrustroot.ServiceSelector_ANY}
	name := "signing_config"
	var (
		logs, authorities   []root.Service
		logCount, tsasCount root.ServiceConfiguration
	)
	if use.Timestamps {
		name += "_tsa"
		authorities, tsasCount = service(s.TSA.URL, 1), anyOne
	}
	if use.Log {
		if s.Rekor == nil {
			return "", errors.New("no Rekor was started")
		}
		name += "_rekor"
		logs, logCount = service(s.Rekor.URL, 2), anyOne
	}
	config, err := root.NewSigningConfig(root.SigningConfigMediaType02,
		service(s.Fulcio.URL, 1), service(s.Issuer.URL, 1), logs, logCount, authorities, tsasCount)
	if err != nil {
		return "", fmt.Errorf("signing config: %w", err)
	}
	return s.write(name+".json", config)
}

func (s *Services) write(name string, document interface{ MarshalJSON() ([]byte, error) }) (string, error) {
	text, err := document.MarshalJSON()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	path := filepath.Join(s.dir, name)
	return path, os.WriteFile(path, text, 0o644)
}
