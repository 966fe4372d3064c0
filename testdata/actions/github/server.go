package github

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/verdictgate/verdictgate/testdata/actions/openapi"
)

// Config says what GitHub to start.
type Config struct {
	Repo          *Repo
	Owner, Name   string
	DefaultBranch string // "" is main
	Private       bool   // then a token needs a permission to read, too
	Address       string // to listen at; "" is a free port of 127.0.0.1
	TLS           *tls.Certificate
}

// Token is what a token may do.
type Token struct {
	App         string            // "" is github-actions
	Permissions map[string]string // such as checks: write
}

// Server is a running double.
type Server struct {
	URL    string // of the server, and of its API
	config Config

	spec   *openapi.Description
	front  *httptest.Server
	closed chan struct{}

	mu           sync.Mutex
	tokens       map[string]Token
	pulls        []*Pull
	checks       []*CheckRun
	runs         map[int64]*Run
	artifacts    func(run int64) []Artifact
	attestations []json.RawMessage
	faults       []*Fault
	requests     []Request
	violations   []string
}

// Start starts it.
func Start(c Config) (*Server, error) {
	if c.DefaultBranch == "" {
		c.DefaultBranch = "main"
	}
	if c.Address == "" {
		c.Address = "127.0.0.1:0"
	}
	spec, err := openapi.Load()
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, spec: spec, closed: make(chan struct{}), tokens: map[string]Token{}, runs: map[int64]*Run{}}
	s.front = httptest.NewUnstartedServer(s)
	listener, err := net.Listen("tcp", c.Address)
	if err != nil {
		return nil, err
	}
	s.front.Listener.Close()
	s.front.Listener = listener
	if c.TLS != nil {
		s.front.TLS = &tls.Config{Certificates: []tls.Certificate{*c.TLS}}
		s.front.StartTLS()
	} else {
		s.front.Start()
	}
	s.URL = s.front.URL
	return s, nil
}

// Close ends it.
func (s *Server) Close() {
	close(s.closed)
	s.front.CloseClientConnections()
	s.front.Close()
}

// Allow makes a token known.
func (s *Server) Allow(token string, may Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if may.App == "" {
		may.App = "github-actions"
	}
	s.tokens[token] = may
}

// Artifacts says where the artifacts of a run are looked up.
func (s *Server) Artifacts(of func(run int64) []Artifact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.artifacts = of
}

// Kind is a way to fail.
type Kind int

// The ways in which an operation can fail.
const (
	Forbidden      Kind = iota // 403, Resource not accessible by integration
	Broken                     // 500
	SecondaryLimit             // 403 with Retry-After
	CutBefore                  // the connection ends, and nothing was done
	CutAfter                   // the connection ends, and all was done
	Slow                       // the answer comes after Delay
	Hang                       // no answer ever comes
)

// Fault lets an operation fail.
type Fault struct {
	Operation string // "checks/create"; "git" is git over HTTP; "" is any
	Kind      Kind
	Times     int // how often; 0 is always
	After     int // how often it works before
	Delay     time.Duration
	met, seen int
}

// Fail adds a fault.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

func (s *Server) fault(operation string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if (f.Operation == "" || f.Operation == operation) && (f.Times == 0 || f.met < f.Times) {
			if f.seen++; f.seen <= f.After {
				continue
			}
			f.met++
			return f
		}
	}
	return nil
}

// Request is one that was made.
type Request struct {
	Operation     string
	Method, Path  string // with the query
	Accept        string
	Authorization string
	Body          []byte
	Status        int // 0 when the connection was cut
}

// Requests are those that were made, in their order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Forget forgets the requests so far.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// Violations are what was wrong with requests, or with answers of the double.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

func (s *Server) violated(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// answer is what a request gets.
type answer struct {
	status int
	body   any // a document, or []byte
	header map[string]string
}

func refusal(status int, message string) answer {
	return answer{status: status, body: map[string]any{"message": message, "documentation_url": "https://docs.github.com/rest", "status": fmt.Sprint(status)}}
}

var notFound = refusal(http.StatusNotFound, "Not Found")

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/"+s.config.Owner+"/"+s.config.Name+".git/") {
		s.git(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // who stopped sending hears nothing
	}
	r.URL.Path, r.URL.RawPath = strings.TrimPrefix(r.URL.Path, "/api/v3"), strings.TrimPrefix(r.URL.RawPath, "/api/v3")
	request := Request{Method: r.Method, Path: r.URL.RequestURI(), Accept: r.Header.Get("Accept"), Authorization: r.Header.Get("Authorization"), Body: body}
	op, ok := s.spec.Find(r.Method, r.URL.EscapedPath())
	if !ok {
		s.mu.Lock()
		s.violated("%s %s is no operation that the description has", r.Method, r.URL.Path)
		s.mu.Unlock()
		s.send(w, request, notFound)
		return
	}
	request.Operation = op.ID
	fault := s.fault(op.ID)
	if fault != nil && fault.Kind != CutAfter {
		if !s.fail(w, r, request, fault) {
			return
		}
	}
	a := s.do(op, r, body)
	if fault != nil && fault.Kind == CutAfter {
		s.record(request, 0)
		cut(w)
		return
	}
	s.send(w, request, a)
}

// fail is true when the operation is to go on.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, request Request, f *Fault) bool {
	switch f.Kind {
	case Forbidden:
		s.send(w, request, refusal(http.StatusForbidden, "Resource not accessible by integration"))
	case Broken:
		s.send(w, request, refusal(http.StatusInternalServerError, "Server Error"))
	case SecondaryLimit:
		a := refusal(http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
		a.header = map[string]string{"Retry-After": "1"}
		s.send(w, request, a)
	case CutBefore:
		s.record(request, 0)
		cut(w)
	case Hang:
		s.record(request, 0)
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
	case Slow:
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-r.Context().Done():
		case <-s.closed:
		}
	}
	return false
}

// cut ends the connection without an answer.
func cut(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			conn.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}

func (s *Server) record(r Request, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Status = status
	s.requests = append(s.requests, r)
}

func (s *Server) send(w http.ResponseWriter, r Request, a answer) {
	s.record(r, a.status)
	body, raw := a.body.([]byte)
	contentType := "application/vnd.github.raw; charset=utf-8"
	if !raw {
		contentType = "application/json; charset=utf-8"
		body = encode(a.body)
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-GitHub-Request-Id", "0000:0000")
	w.Header().Set("X-RateLimit-Remaining", "4999")
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body) // who stopped listening needs no error
}

func encode(v any) []byte {
	if v == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the double's own documents
	}
	return text
}

// do holds a request against the description, does it, and holds the answer against
// the description.
func (s *Server) do(op *openapi.Operation, r *http.Request, body []byte) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := op.Request(r, body); err != nil {
		s.violated("%s %s: %v", r.Method, r.URL.RequestURI(), err)
		return refusal(http.StatusUnprocessableEntity, "Invalid request.")
	}
	if op.Params["owner"] != s.config.Owner || op.Params["repo"] != s.config.Name {
		s.violated("%s %s is about another repository", r.Method, r.URL.Path)
		return notFound
	}
	token, refused := s.may(op.ID, r)
	if refused != nil {
		return *refused
	}
	handler, ok := handlers[op.ID]
	if !ok {
		s.violated("%s is not played by this double", op.ID)
		return notFound
	}
	a := handler(s, &call{op: op, r: r, body: body, token: token})
	if _, raw := a.body.([]byte); !raw {
		header := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
		for k, v := range a.header {
			header.Set(k, v)
		}
		if err := op.Response(r, a.status, header, encode(a.body)); err != nil {
			s.violated("the double's own answer to %s %s (%d): %v", r.Method, r.URL.RequestURI(), a.status, err)
		}
	}
	return a
}

// needs are the permissions of the operations; those that are not here need none
// beside the one to see the repository.
var needs = map[string]string{
	"pulls/list": "pull_requests=read", "pulls/get": "pull_requests=read", "pulls/list-files": "pull_requests=read", "pulls/list-reviews": "pull_requests=read",
	"repos/list-pull-requests-associated-with-commit": "pull_requests=read",
	"repos/get-branch":                    "contents=read",
	"git/get-ref":                         "contents=read",
	"git/list-matching-refs":              "contents=read",
	"git/get-commit":                      "contents=read",
	"git/get-tree":                        "contents=read",
	"git/get-blob":                        "contents=read",
	"git/get-tag":                         "contents=read",
	"repos/get-commit":                    "contents=read",
	"repos/get-content":                   "contents=read",
	"repos/compare-commits-with-basehead": "contents=read",
	"checks/create":                       "checks=write", "checks/update": "checks=write",
	"checks/get": "checks=read", "checks/list-for-ref": "checks=read", "checks/list-annotations": "checks=read",
	"actions/get-workflow-run": "actions=read", "actions/get-workflow-run-attempt": "actions=read", "actions/list-jobs-for-workflow-run": "actions=read",
	"actions/get-reviews-for-run": "actions=read", "actions/list-workflow-run-artifacts": "actions=read",
	"actions/get-artifact": "actions=read", "actions/download-artifact": "actions=read",
	"repos/create-attestation": "attestations=write", "repos/list-attestations": "attestations=read",
}

// may says why a request may not be made.
func (s *Server) may(operation string, r *http.Request) (Token, *answer) {
	scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token, known := s.tokens[shown]
	if shown != "" && (!known || !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token")) {
		a := refusal(http.StatusUnauthorized, "Bad credentials")
		return token, &a
	}
	need := needs[operation]
	name, level, _ := strings.Cut(need, "=")
	has := token.Permissions[name]
	switch {
	case need == "", has == "write", has == level:
		if s.config.Private && !known {
			return token, &notFound
		}
		return token, nil
	case level == "read" && !s.config.Private && operation != "actions/download-artifact":
		return token, nil // what is public, everybody may read
	}
	a := refusal(http.StatusForbidden, "Resource not accessible by integration")
	a.header = map[string]string{"X-Accepted-GitHub-Permissions": need}
	return token, &a
}

// git is git over HTTP: the program that git brings for it.
func (s *Server) git(w http.ResponseWriter, r *http.Request) {
	request := Request{Operation: "git", Method: r.Method, Path: r.URL.RequestURI(), Authorization: r.Header.Get("Authorization")}
	if f := s.fault("git"); f != nil && !s.fail(w, r, request, f) {
		return
	}
	if s.config.Private {
		_, password, _ := r.BasicAuth()
		s.mu.Lock()
		may := s.tokens[password].Permissions["contents"]
		s.mu.Unlock()
		if may == "" {
			s.record(request, http.StatusUnauthorized)
			w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
			http.Error(w, "Repository not found.", http.StatusUnauthorized)
			return
		}
	}
	s.record(request, http.StatusOK)
	libexec, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var said bytes.Buffer
	handler := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(libexec)), "git-http-backend"),
		Root: "/" + s.config.Owner + "/" + s.config.Name + ".git",
		Env: append(Env(s.config.Repo.Dir), "GIT_PROJECT_ROOT="+s.config.Repo.Dir, "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_PROTOCOL="+r.Header.Get("Git-Protocol")),
		Stderr: &said,
	}
	handler.ServeHTTP(w, r)
}
