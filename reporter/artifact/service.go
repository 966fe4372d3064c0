package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/retry"
)

// servicePath is where the results service listens, at the origin of
// ACTIONS_RESULTS_URL. It speaks Twirp: JSON of protocol buffers by POST.
//
// Source: https://github.com/actions/toolkit/tree/main/packages/artifact/src/generated/results/api/v1
const servicePath = "/twirp/github.actions.results.api.v1.ArtifactService/"

// The fourth version of artifacts is the seventh of the protocol: the one whose
// CreateArtifact says of what type the upload is.
const (
	protocolVersion = 7
	mediaType       = "application/zip"
)

type createRequest struct {
	backend
	Name      string `json:"name"`
	Version   int    `json:"version"`
	MediaType string `json:"mime_type"`
	Expires   string `json:"expires_at,omitempty"` // RFC 3339
}

type finalizeRequest struct {
	backend
	Name string `json:"name"`
	Size string `json:"size"` // protocol buffers write 64-bit numbers as strings
	Hash string `json:"hash"`
}

// The answers, in either spelling: a protocol buffer's own names and JSON's.
type createAnswer struct {
	OK       bool   `json:"ok"`
	URL      string `json:"signed_upload_url"`
	URLCamel string `json:"signedUploadUrl"`
}

type finalizeAnswer struct {
	OK      bool        `json:"ok"`
	ID      json.Number `json:"artifact_id"`
	IDCamel json.Number `json:"artifactId"`
}

// service is the results service of one job.
type service struct {
	origin  string // scheme://host[:port]
	token   string
	secrets retry.Secrets
	client  retry.Client
	// lost is set when an attempt failed: what it asked for may have been done.
	lost bool
	// taken is set when the name was: there is an artifact of it.
	taken bool
}

// call asks for a method and decodes its answer.
func (s *service) call(ctx context.Context, method string, question, answer any) error {
	data, err := json.Marshal(question)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.origin+servicePath+method, bytes.NewReader(data))
	if err != nil {
		return s.fail(ctx, method, err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	client, warn := s.client, s.client.Warn
	s.lost, s.taken = false, false
	client.Warn = func(text string) {
		s.lost = true
		warn(text)
	}
	resp, err := client.HTTP(ctx).Do(req)
	if err != nil {
		return s.fail(ctx, method, err)
	}
	defer resp.Body.Close()
	data, err = io.ReadAll(resp.Body) // which is in memory, and bounded
	if err != nil {
		return s.fail(ctx, method, err)
	}
	if resp.StatusCode != http.StatusOK {
		return s.refused(method, resp, data)
	}
	if json.Unmarshal(data, answer) != nil {
		return failed("", "the results service answered %s with what is not understood", method) // and is not shown: it might hold a signature
	}
	return nil
}

// refused is the fault of an answer that is none.
func (s *service) refused(method string, resp *http.Response, data []byte) error {
	if resp.StatusCode != http.StatusConflict || method != "CreateArtifact" {
		return failed("", "the results service answered %s with %s: %s", method, resp.Status, unsigned(s.secrets.Quote(data)))
	}
	s.taken = true
	f := failed("Give each upload of a workflow run a name of its own, with the job, the matrix and the attempt in it: `artifact-name`.",
		"the name is taken: this workflow run has an artifact of it already")
	if s.lost {
		f.Message += "; an earlier try of this upload, to which no answer came, may have taken it"
	}
	return f.With("status", resp.StatusCode)
}

func (s *service) fail(ctx context.Context, method string, err error) error {
	return lost(ctx, s.secrets, "the results service gave "+method+" no usable answer", err)
}

// lost is the fault of a request to which no answer came, or the context's own
// word when that ended it.
func lost(ctx context.Context, hidden retry.Secrets, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	text := unsigned(hidden.Hide(plain(err).Error()))
	return failed("", "%s: %s", what, text)
}

// anySignature is one in an address that was never given to us as one, in the
// words of a service that fails.
var anySignature = regexp.MustCompile(`(?i)\b` + signature + `=[^&\s"'\\<>]+`)

func unsigned(text string) string {
	return anySignature.ReplaceAllLiteralString(text, signature+"=[redacted]")
}

// plain is an error without the address that was asked, whose query is a secret.
func plain(err error) error {
	if e, ok := err.(*url.Error); ok {
		return e.Err
	}
	return err
}

// create takes the name and gives the address to upload to.
func (s *service) create(ctx context.Context, ids backend, name string, expires time.Time) (string, error) {
	question := createRequest{backend: ids, Name: name, Version: protocolVersion, MediaType: mediaType}
	if !expires.IsZero() {
		question.Expires = expires.UTC().Format(time.RFC3339)
	}
	var answer createAnswer
	if err := s.call(ctx, "CreateArtifact", question, &answer); err != nil {
		if f, ok := err.(*fault.Error); ok {
			f.With("artifact", name)
		}
		return "", err
	}
	if answer.URL == "" {
		answer.URL = answer.URLCamel
	}
	if !answer.OK || answer.URL == "" {
		return "", failed("", "the results service answered CreateArtifact without an address to upload to")
	}
	return answer.URL, nil
}

// finalize makes the artifact visible and gives its number.
func (s *service) finalize(ctx context.Context, ids backend, name string, a archive) (int64, error) {
	var answer finalizeAnswer
	question := finalizeRequest{backend: ids, Name: name, Size: fmt.Sprint(a.size), Hash: a.digest.String()}
	if err := s.call(ctx, "FinalizeArtifact", question, &answer); err != nil {
		return 0, err
	}
	if answer.ID == "" {
		answer.ID = answer.IDCamel
	}
	id, err := answer.ID.Int64()
	if !answer.OK || err != nil || id <= 0 {
		return 0, failed("", "the results service answered FinalizeArtifact without the number of an artifact")
	}
	return id, nil
}

// originOf gives the scheme and the host of an address.
func originOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", failed(asAStep, "%s is no address", resultsVariable)
	}
	return strings.ToLower(u.Scheme) + "://" + u.Host, nil
}
