// Package results is a double of the service that artifacts go to, in memory: the
// artifact protocol's fourth version, and a store of block blobs behind it. The
// module testdata/artifacts holds the uploader against a real store and GitHub's own
// client; this one keeps what a job uploaded, so that another job can fetch it.
package results

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Artifact is one that was finalized.
type Artifact struct {
	ID      int64
	Run     string // backend id of the run
	Name    string
	Digest  string
	Archive []byte
	URL     string // without a token
}

type blob struct {
	blocks    map[string][]byte
	committed []byte
	done      bool
}

// Server is a running double.
type Server struct {
	URL   string
	front *httptest.Server

	mu         sync.Mutex
	blobs      map[string]*blob
	artifacts  []*Artifact
	pending    map[string]string // run and name to blob
	violations []string
	refuse     int // how many further calls are answered with 503
	runs       map[string]int64
}

// signature stands in the addresses of blobs: it must be masked, and never be shown.
const signature = "c2lnbmF0dXJlLW9mLWEtYmxvYg=="

// Signature is what no log may show.
func Signature() string { return signature }

// Start starts it at an address; "" is a free port of 127.0.0.1.
func Start(address string, cert *tls.Certificate) (*Server, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	s := &Server{blobs: map[string]*blob{}, pending: map[string]string{}, runs: map[string]int64{}}
	s.front = httptest.NewUnstartedServer(s)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s.front.Listener.Close()
	s.front.Listener = listener
	if cert != nil {
		s.front.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}}
		s.front.StartTLS()
	} else {
		s.front.Start()
	}
	s.URL = s.front.URL
	return s, nil
}

// Close ends it.
func (s *Server) Close() { s.front.Close() }

// Refuse answers the next calls with 503.
func (s *Server) Refuse(times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = times
}

// Of are the artifacts of a run, by its backend id.
func (s *Server) Of(run string) []Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Artifact
	for _, a := range s.artifacts {
		if a.Run == run {
			out = append(out, *a)
		}
	}
	return out
}

// Put stores an artifact that no job uploaded: what an attacker fabricates.
func (s *Server) Put(run, name string, archive []byte) Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := "planted-" + strconv.Itoa(len(s.blobs))
	s.blobs[key] = &blob{committed: archive, done: true}
	return *s.keep(run, name, key)
}

func (s *Server) keep(run, name, key string) *Artifact {
	content := s.blobs[key].committed
	sum := sha256.Sum256(content)
	a := &Artifact{ID: int64(len(s.artifacts) + 1), Run: run, Name: name, Archive: content, Digest: "sha256:" + hex.EncodeToString(sum[:]), URL: s.URL + "/artifacts/" + key}
	s.artifacts = append(s.artifacts, a)
	return a
}

// Violations are what was wrong with requests.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

func (s *Server) violated(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

const service = "/twirp/github.actions.results.api.v1.ArtifactService/"

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		http.Error(w, "unavailable", http.StatusServiceUnavailable)
		return
	}
	method, twirp := strings.CutPrefix(r.URL.Path, service)
	key, stored := strings.CutPrefix(r.URL.Path, "/artifacts/")
	switch {
	case twirp:
		s.call(w, r, method, body)
	case stored && r.Method == http.MethodPut:
		s.put(w, r, key, body)
	case stored && r.Method == http.MethodGet:
		if r.Header.Get("Authorization") != "" {
			s.violated("the store was given an Authorization")
		}
		b := s.blobs[key]
		if b == nil || !b.done {
			http.Error(w, "BlobNotFound", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/zip")
		_, _ = w.Write(b.committed)
	default:
		s.violated("%s %s is nothing that the service has", r.Method, r.URL.Path)
		http.NotFound(w, r)
	}
}

// put takes a block, or the list of blocks that the blob then consists of.
func (s *Server) put(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	b := s.blobs[key]
	if b == nil || r.URL.Query().Get("sig") != signature || r.Header.Get("Authorization") != "" {
		s.violated("a block for %q came without its address, or with an Authorization", key)
		http.Error(w, "AuthenticationFailed", http.StatusForbidden)
		return
	}
	switch comp := r.URL.Query().Get("comp"); comp {
	case "block":
		id := r.URL.Query().Get("blockid")
		if _, err := base64.StdEncoding.DecodeString(id); err != nil || len(body) == 0 {
			s.violated("a block has the id %q and %d bytes", id, len(body))
			http.Error(w, "InvalidBlockId", http.StatusBadRequest)
			return
		}
		b.blocks[id] = body
	case "blocklist":
		var list struct {
			Latest []string `xml:"Latest"`
		}
		if err := xml.Unmarshal(body, &list); err != nil {
			s.violated("a block list that is none: %v", err)
		}
		var whole bytes.Buffer
		for _, id := range list.Latest {
			block, ok := b.blocks[id]
			if !ok {
				http.Error(w, "InvalidBlockList", http.StatusBadRequest)
				return
			}
			whole.Write(block)
		}
		b.committed, b.done = whole.Bytes(), true
	default:
		s.violated("a blob was put in one piece, which one emulator loses")
		http.Error(w, "UnsupportedOperation", http.StatusBadRequest)
		return
	}
	w.Header().Set("ETag", `"0x1"`)
	w.Header().Set("Last-Modified", "Fri, 02 Jan 2026 03:04:05 GMT")
	w.Header().Set("x-ms-request-id", "00000000-0000-0000-0000-000000000000")
	w.WriteHeader(http.StatusCreated)
}

// text is a member that may have either spelling, and may be a number.
func text(q map[string]any, names ...string) string {
	for _, n := range names {
		switch v := q[n].(type) {
		case string:
			return v
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return ""
}

func reply(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document) // who stopped listening needs no error
}

// call is one of the service's methods. The lock is held.
func (s *Server) call(w http.ResponseWriter, r *http.Request, method string, body []byte) {
	failed := func(status int, code, message string) {
		reply(w, status, map[string]string{"code": code, "msg": message})
	}
	ids, ok := scope(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if !ok {
		failed(http.StatusUnauthorized, "unauthenticated", "no token of a job")
		return
	}
	var q map[string]any
	if err := json.Unmarshal(body, &q); err != nil {
		s.violated("%s: %v", method, err)
		failed(http.StatusBadRequest, "malformed", "no JSON")
		return
	}
	run, job, name := text(q, "workflow_run_backend_id", "workflowRunBackendId"), text(q, "workflow_job_run_backend_id", "workflowJobRunBackendId"), text(q, "name")
	if ids != [2]string{run, job} {
		s.violated("%s is about the run %q and the job %q, and the token about %v", method, run, job, ids)
		failed(http.StatusForbidden, "permission_denied", "another job")
		return
	}
	pending := run + "\n" + name
	switch method {
	case "CreateArtifact":
		if name == "" || strings.ContainsAny(name, "\":<>|*?\\/\r\n") {
			s.violated("the name of an artifact is %q", name)
			failed(http.StatusBadRequest, "invalid_argument", "the name")
			return
		}
		if slices.ContainsFunc(s.artifacts, func(a *Artifact) bool { return a.Run == run && a.Name == name }) {
			failed(http.StatusConflict, "already_exists", "an artifact with this name already exists on the workflow run")
			return
		}
		key := "blob-" + strconv.Itoa(len(s.blobs))
		s.blobs[key] = &blob{blocks: map[string][]byte{}}
		s.pending[pending] = key
		reply(w, http.StatusOK, map[string]any{"ok": true, "signed_upload_url": s.URL + "/artifacts/" + key + "?sp=cw&sig=" + strings.ReplaceAll(signature, "=", "%3D")})
	case "FinalizeArtifact":
		key, known := s.pending[pending]
		if !known || !s.blobs[key].done {
			failed(http.StatusPreconditionFailed, "failed_precondition", "nothing was uploaded")
			return
		}
		content := s.blobs[key].committed
		sum := sha256.Sum256(content)
		if text(q, "size") != strconv.Itoa(len(content)) || text(q, "hash") != "sha256:"+hex.EncodeToString(sum[:]) {
			s.violated("FinalizeArtifact names a size or a hash that the blob does not have")
			failed(http.StatusBadRequest, "invalid_argument", "size or hash")
			return
		}
		delete(s.pending, pending)
		reply(w, http.StatusOK, map[string]any{"ok": true, "artifact_id": strconv.FormatInt(s.keep(run, name, key).ID, 10)})
	default:
		s.violated("%s is no method of the service", method)
		failed(http.StatusNotFound, "bad_route", method)
	}
}

// Token is a job's token for the service, as the runner has it in
// ACTIONS_RUNTIME_TOKEN. Its signature is nobody's.
func Token(run, job string) string {
	part := func(v any) string {
		t, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(t)
	}
	return part(map[string]any{"typ": "JWT", "alg": "RS256"}) + "." +
		part(map[string]any{"scp": "Actions.GenericRead:00000000-0000-0000-0000-000000000000 Actions.Results:" + run + ":" + job + " Actions.UploadArtifacts:00000000-0000-0000-0000-000000000000/1:Build/Build/17", "aud": run}) +
		".bm9ib2R5cy1zaWduYXR1cmU"
}

// scope reads the run and the job out of a token.
func scope(token string) (ids [2]string, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ids, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ids, false
	}
	var claims struct {
		Scope string `json:"scp"`
	}
	if json.Unmarshal(raw, &claims) != nil {
		return ids, false
	}
	for _, entry := range strings.Fields(claims.Scope) {
		if p := strings.Split(entry, ":"); len(p) == 3 && p[0] == "Actions.Results" {
			return [2]string{p[1], p[2]}, true
		}
	}
	return ids, false
}
