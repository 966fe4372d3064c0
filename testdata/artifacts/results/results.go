// Package results stands for GitHub's results service: the fourth artifact
// protocol, in front of azurite, which stores the blobs as Azure does.
//
// It is as strict as can be known. A member that the protocol does not have is
// refused, and so are a name that is taken, a retention beyond the repository's, and
// a size or a digest that are not those of what was stored. An artifact that was not
// finalized, or whose time is over, is not there.
package results

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
)

// Config says how to start a Service.
type Config struct {
	Tools string // the folder that scripts/actions-tools prints
	Dir   string // an empty folder of its own
}

// Service is a service that runs.
type Service struct {
	URL   string // for ACTIONS_RESULTS_URL
	Token string // for ACTIONS_RUNTIME_TOKEN

	store  *store
	server *http.Server

	mu        sync.Mutex
	now       func() time.Time
	artifacts []*artifact
}

// The ids of the run and the job that the token is for.
const (
	Run = "11111111-aaaa-4bbb-8ccc-000000000001"
	Job = "22222222-aaaa-4bbb-8ccc-000000000002"
)

// MaxRetention is for how many days the repository keeps artifacts at most.
const MaxRetention = 90

type artifact struct {
	id         int
	run, job   string
	name, kind string
	size       int64
	digest     string
	created    time.Time
	expires    time.Time
	final      bool
}

// Start starts a service on loopback. It ends with Close.
func Start(ctx context.Context, c Config) (*Service, error) {
	payload := base64.RawURLEncoding.EncodeToString([]byte(`{"scp":"Actions.ExampleScope Actions.Results:` + Run + ":" + Job + `"}`))
	s := &Service{Token: "eyJhbGciOiJub25lIn0." + payload + ".c2lnbmF0dXJl", now: time.Now}
	var err error
	if s.store, err = startStore(ctx, c.Tools, c.Dir); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.store.close()
		return nil, err
	}
	s.URL = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go s.server.Serve(listener)
	return s, nil
}

// Close ends the service and its store.
func (s *Service) Close() error {
	err := s.server.Close()
	s.store.close()
	return err
}

// SetNow sets the service's clock.
func (s *Service) SetNow(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// Archive gives the bytes that an artifact was stored as.
func (s *Service) Archive(ctx context.Context, id int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.artifacts {
		if int64(a.id) == id && a.final {
			return s.read(ctx, a)
		}
	}
	return nil, fmt.Errorf("there is no artifact %d", id)
}

// read gives what was stored under a name of a run.
func (s *Service) read(ctx context.Context, a *artifact) ([]byte, error) {
	blob, err := s.store.client.DownloadStream(ctx, container, a.blob(), nil)
	if err != nil {
		return nil, err
	}
	defer blob.Body.Close()
	return io.ReadAll(blob.Body)
}

func (a *artifact) blob() string { return a.run + "/" + strconv.Itoa(a.id) }

// question has the members of all questions.
type question struct {
	Run     string    `json:"workflow_run_backend_id"`
	Job     string    `json:"workflow_job_run_backend_id"`
	Name    string    `json:"name"`
	Version int       `json:"version"`
	Kind    string    `json:"mime_type"`
	Expires time.Time `json:"expires_at"`
	Size    string    `json:"size"`
	Hash    string    `json:"hash"`
	Named   string    `json:"name_filter"`
	ID      string    `json:"id_filter"`
}

// refusal is an error in the words of Twirp.
type refusal struct {
	status  int
	Code    string `json:"code"`
	Message string `json:"msg"`
}

func (r *refusal) Error() string { return r.Code + ": " + r.Message }

func invalid(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, "invalid_argument", fmt.Sprintf(format, args...)}
}

// ServeHTTP answers one question of the protocol.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := s.answer(r)
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		var refused *refusal
		if !errors.As(err, &refused) {
			refused = &refusal{http.StatusInternalServerError, "internal", err.Error()}
		}
		w.WriteHeader(refused.status)
		answer = refused
	}
	json.NewEncoder(w).Encode(answer)
}

type object map[string]any

func (s *Service) answer(r *http.Request) (any, error) {
	methods := map[string]func(context.Context, *question) (object, error){
		"CreateArtifact": s.create, "FinalizeArtifact": s.finalize, "ListArtifacts": s.list, "GetSignedArtifactURL": s.sign,
	}
	folder, name := path.Split(r.URL.Path)
	method := methods[name]
	switch {
	case folder != "/twirp/github.actions.results.api.v1.ArtifactService/" || method == nil || r.Method != http.MethodPost:
		return nil, &refusal{http.StatusNotFound, "bad_route", "no handler for " + r.URL.Path}
	case r.Header.Get("Authorization") != "Bearer "+s.Token:
		return nil, &refusal{http.StatusUnauthorized, "unauthenticated", "the token is another one"}
	case r.Header.Get("Content-Type") != "application/json":
		return nil, &refusal{http.StatusNotFound, "bad_route", "unexpected Content-Type"}
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var q question
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&q); err != nil {
		return nil, invalid("%v", err)
	}
	if q.Run != Run || q.Job != Job {
		return nil, &refusal{http.StatusForbidden, "permission_denied", "the token is for another run or job"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return method(r.Context(), &q)
}

// find gives the artifact of a name; nil when there is none.
func (s *Service) find(q *question) *artifact {
	for _, a := range s.artifacts {
		if a.run == q.Run && a.name == q.Name {
			return a
		}
	}
	return nil
}

func (s *Service) create(_ context.Context, q *question) (object, error) {
	now := s.now()
	// A clock may be a little ahead.
	latest := now.AddDate(0, 0, MaxRetention).Add(time.Minute)
	switch {
	case q.Name == "" || q.Version != 7 || q.Kind != "application/zip":
		return nil, invalid("name %q, version %d, mime_type %q", q.Name, q.Version, q.Kind)
	case !q.Expires.IsZero() && (q.Expires.Before(now) || q.Expires.After(latest)):
		return nil, invalid("expires_at is out of range")
	}
	a := s.find(q)
	switch {
	case a != nil && a.final:
		return nil, &refusal{http.StatusConflict, "already_exists", "an artifact with this name already exists on the workflow run"}
	case a == nil:
		a = &artifact{id: len(s.artifacts) + 1, run: q.Run, name: q.Name}
		s.artifacts = append(s.artifacts, a)
	}
	a.job, a.kind, a.created, a.expires = q.Job, q.Kind, now, q.Expires
	if a.expires.IsZero() {
		a.expires = latest
	}
	address, err := s.store.client.ServiceClient().NewContainerClient(container).NewBlobClient(a.blob()).
		GetSASURL(sas.BlobPermissions{Create: true, Write: true}, time.Now().Add(time.Hour), nil)
	return object{"ok": true, "signed_upload_url": address}, err
}

func (s *Service) finalize(ctx context.Context, q *question) (object, error) {
	a := s.find(q)
	if a == nil {
		return nil, &refusal{http.StatusNotFound, "not_found", "artifact not found"}
	}
	data, err := s.read(ctx, a)
	if err != nil {
		return nil, &refusal{http.StatusPreconditionFailed, "failed_precondition", "there is no blob"}
	}
	sum := sha256.Sum256(data)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if q.Size != strconv.Itoa(len(data)) || q.Hash != digest {
		return nil, invalid("size or hash mismatch: %d bytes were stored, with %s", len(data), digest)
	}
	a.final, a.size, a.digest = true, int64(len(data)), digest
	return object{"ok": true, "artifact_id": strconv.Itoa(a.id)}, nil
}

func (s *Service) list(_ context.Context, q *question) (object, error) {
	all := []object{}
	for _, a := range s.artifacts {
		if !a.final || a.run != q.Run || q.Named != "" && q.Named != a.name || q.ID != "" && q.ID != strconv.Itoa(a.id) || s.now().After(a.expires) {
			continue
		}
		all = append(all, object{
			"workflow_run_backend_id": a.run, "workflow_job_run_backend_id": a.job, "database_id": strconv.Itoa(a.id),
			"name": a.name, "size": strconv.FormatInt(a.size, 10), "created_at": a.created.UTC().Format(time.RFC3339), "digest": a.digest,
		})
	}
	return object{"artifacts": all}, nil
}

func (s *Service) sign(_ context.Context, q *question) (object, error) {
	a := s.find(q)
	if a == nil || !a.final || s.now().After(a.expires) {
		return nil, &refusal{http.StatusNotFound, "not_found", "artifact not found"}
	}
	address, err := s.store.client.ServiceClient().NewContainerClient(container).NewBlobClient(a.blob()).
		GetSASURL(sas.BlobPermissions{Read: true}, time.Now().Add(time.Hour), nil)
	return object{"name": a.name, "signed_url": address}, err
}
