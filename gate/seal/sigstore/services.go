package sigstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-openapi/runtime"
	httptransport "github.com/go-openapi/runtime/client"
	"github.com/go-openapi/strfmt"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	rekortiles "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	rekor "github.com/sigstore/rekor/pkg/generated/client"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/verdictgate/verdictgate/gate/retry"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// services are those that take part in signing.
type services struct {
	fulcio      string // "" when a key signs
	authorities []string
	logs        []root.Service
}

// loadServices gives the services that a signing config names: a file's, or
// those of the public instance. A key needs none, and gets what a file names.
func (b *backend) loadServices(ctx context.Context, how seal.Signing) (*services, error) {
	var config *root.SigningConfig
	switch {
	case how.SigningConfig != "":
		data, err := readRegular(how.SigningConfig, maxTrustedRoot)
		if err == nil {
			config, err = root.NewSigningConfigFromJSON(data)
		}
		if err != nil {
			return nil, unavailable(StepServices, "Pass --signing-config with a Sigstore signing config, v0.2.", "the signing config %s cannot be read: %v", how.SigningConfig, err)
		}
	case how.Mode == seal.ModeKey:
		return &services{}, nil
	default:
		var err error
		if config, err = b.publicSigningConfig(ctx, how); err != nil {
			return nil, unavailable(StepServices, "See that the network lets the gate reach the public instance, or pass --signing-config and --trusted-root of your own.",
				"which services sign could not be learned from the public Sigstore instance: %v", err)
		}
	}
	s, err := b.choose(config, how.Mode)
	if err != nil {
		return nil, unavailable(StepServices, "Pass --signing-config with a certificate authority, and with a timestamp authority or a Rekor v1 log.", "the signing config cannot be used: %v", err)
	}
	return s, nil
}

// choose takes from a signing config the services for a mode, by the config's
// own rules.
func (b *backend) choose(config *root.SigningConfig, mode seal.Mode) (*services, error) {
	now := b.now()
	s := &services{}
	if mode == seal.ModeKeyless {
		fulcio, err := root.SelectService(config.FulcioCertificateAuthorityURLs(), sign.FulcioAPIVersions, now)
		if err != nil {
			return nil, fmt.Errorf("it names no certificate authority (Fulcio) that can be used now: %w", err)
		}
		s.fulcio = fulcio.URL
	}
	if named := config.TimestampAuthorityURLs(); len(named) > 0 {
		chosen, err := root.SelectServices(named, config.TimestampAuthorityURLsConfig(), sign.TimestampAuthorityAPIVersions, now)
		if err != nil {
			return nil, fmt.Errorf("of its timestamp authorities: %w", err)
		}
		for _, c := range chosen {
			s.authorities = append(s.authorities, c.URL)
		}
	}
	if named := config.RekorLogURLs(); len(named) > 0 {
		var err error
		if s.logs, err = root.SelectServices(named, config.RekorLogURLsConfig(), sign.RekorAPIVersions, now); err != nil {
			return nil, fmt.Errorf("of its transparency logs: %w", err)
		}
	}
	if mode == seal.ModeKeyless && len(s.authorities) == 0 && !slices.ContainsFunc(s.logs, givesTime) {
		return nil, errors.New("it names no timestamp authority and no Rekor v1 log, so nothing would prove that the certificate was valid when it signed")
	}
	return s, nil
}

// givesTime says whether a log vouches for when it took an entry. Rekor v1
// signs the time; v2 leaves that to timestamp authorities.
func givesTime(log root.Service) bool { return log.MajorAPIVersion == 1 }

// options are what sigstore-go's signer is told, less the certificate.
func (b *backend) options(ctx context.Context, s *services, warn func(string)) (sign.BundleOptions, error) {
	client := b.network.client(ctx, maxAttempts, warn)
	out := sign.BundleOptions{Context: ctx}
	for _, address := range s.authorities {
		out.TimestampAuthorities = append(out.TimestampAuthorities, sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{URL: address, Timeout: -1, Transport: client.Transport}))
	}
	for _, log := range s.logs {
		u, err := url.Parse(log.URL)
		if err != nil {
			return out, fmt.Errorf("the transparency log's address is no URL: %w", err)
		}
		o := &sign.RekorOptions{BaseURL: log.URL, Version: log.MajorAPIVersion, Timeout: signTime}
		if givesTime(log) {
			o.Client = rekorV1(u, client).Entries
		} else {
			o.ClientV2 = &rekorV2{u.JoinPath("api/v2/log/entries"), client}
		}
		out.TransparencyLogs = append(out.TransparencyLogs, logging{sign.NewRekor(o)})
	}
	return out, nil
}

// logging is a transparency log whose errors say that they are one's.
type logging struct{ sign.Transparency }

// GetTransparencyLogEntry implements sign.Transparency.
func (l logging) GetTransparencyLogEntry(ctx context.Context, signer []byte, b *protobundle.Bundle) error {
	return at(StepLog, l.Transparency.GetTransparencyLogEntry(ctx, signer, b))
}

// rekorV1 is a client of a Rekor v1 log over an HTTP client of ours: the one
// that the library makes retries in a way of its own.
func rekorV1(u *url.URL, client *http.Client) *rekor.Rekor {
	transport := httptransport.NewWithClient(u.Host, u.Path, []string{u.Scheme}, client)
	transport.Consumers["application/json"] = runtime.JSONConsumer()
	transport.Producers["application/json"] = runtime.JSONProducer()
	return rekor.New(transport, strfmt.Default)
}

// rekorV2 writes to a Rekor v2 log, for the same reason.
type rekorV2 struct {
	entries *url.URL
	client  *http.Client
}

// errConflict says that a log has an entry already.
var errConflict = errors.New("the log has this entry already")

// Add implements sign.RekorV2Client.
func (r *rekorV2) Add(ctx context.Context, entry any) (*protorekor.TransparencyLogEntry, error) {
	hashed, ok := entry.(*rekortiles.HashedRekordRequestV002)
	if !ok {
		return nil, fmt.Errorf("an entry of the kind %T cannot be logged", entry)
	}
	body, err := protojson.Marshal(&rekortiles.CreateEntryRequest{Spec: &rekortiles.CreateEntryRequest_HashedRekordRequestV002{HashedRekordRequestV002: hashed}})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.entries.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusConflict:
		return nil, errConflict
	case resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answered %s: %s", resp.Status, retry.Secrets{}.Quote(data))
	}
	out := &protorekor.TransparencyLogEntry{}
	if err := protojson.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("its answer is no log entry: %w", err)
	}
	return out, nil
}

// validAt says when a certificate may still be used to sign.
func validAt(now, notAfter time.Time) bool { return now.Add(certificateLeft).Before(notAfter) }
