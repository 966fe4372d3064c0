package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/fault"
)

const token = "ghs_0123456789abcdefghij"

// world is a GitHub on the loopback: the API and git's own server over one
// repository, acme/shop.
type world struct {
	t      *testing.T
	dir    string // the repository
	server *httptest.Server
	mux    *http.ServeMux

	mu       sync.Mutex
	requests []string                               // method and path, with the query
	broken   map[string][]func(http.ResponseWriter) // by method and path: what is answered in place of the next ones
	runs     []map[string]any                       // check-runs
	warned   []string
	waited   []time.Duration
}

const under = "/repos/acme/shop"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "acme", "shop.git"), mux: http.NewServeMux(), broken: map[string][]func(http.ResponseWriter){}}
	must(t, os.MkdirAll(w.dir, 0o755))
	w.git("init", "-q")
	program, err := exec.LookPath("git")
	must(t, err)
	smart := &cgi.Handler{Path: program, Stderr: io.Discard, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(filepath.Dir(w.dir)), "GIT_HTTP_EXPORT_ALL=1",
		"GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	w.mux.Handle("/acme/shop.git/", smart)
	w.objects()
	w.checks()
	w.server = httptest.NewServer(w)
	t.Cleanup(w.server.Close)
	return w
}

// ServeHTTP implements http.Handler.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	key := r.Method + " " + strings.TrimPrefix(r.URL.Path, under)
	w.mu.Lock()
	w.requests = append(w.requests, key)
	var instead func(http.ResponseWriter)
	for _, k := range []string{key, "*"} {
		if answers := w.broken[k]; instead == nil && len(answers) > 0 && (k == key || strings.HasPrefix(r.URL.Path, under)) {
			instead = answers[0]
			if k != "*" {
				w.broken[k] = answers[1:]
			}
		}
	}
	w.mu.Unlock()
	if header := r.Header.Get("Authorization"); strings.HasPrefix(r.URL.Path, under) && header != "Bearer "+token {
		w.t.Errorf("%s came with %q", key, header)
	}
	if instead != nil {
		instead(rw)
		return
	}
	w.mux.ServeHTTP(rw, r)
}

// fail answers the next requests to a path otherwise; "*" is all of the API, for ever.
func (w *world) fail(key string, answers ...func(http.ResponseWriter)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken[key] = answers
}

func (w *world) count(key string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if r == key {
			n++
		}
	}
	return n
}

// says is an answer.
func says(status int, body string, header ...string) func(http.ResponseWriter) {
	return func(rw http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			rw.Header().Set(header[i], header[i+1])
		}
		rw.WriteHeader(status)
		io.WriteString(rw, body)
	}
}

func hangsUp(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// get answers a path with a value, as JSON.
func (w *world) get(path string, value any) {
	w.mux.HandleFunc("GET "+under+path, func(rw http.ResponseWriter, r *http.Request) { answer(rw, 200, value) })
}

func answer(rw http.ResponseWriter, status int, value any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	if err := json.NewEncoder(rw).Encode(value); err != nil {
		panic(err)
	}
}

// paged answers a list in pages of the size that is asked for, at most 100.
func paged[T any](rw http.ResponseWriter, r *http.Request, all []T) []T {
	size, err := strconv.Atoi(r.URL.Query().Get("per_page"))
	if err != nil {
		size = 30
	}
	number, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil {
		number = 1
	}
	from := min((number-1)*size, len(all))
	to := min(from+size, len(all))
	if to < len(all) {
		next := *r.URL
		query := next.Query()
		query.Set("page", strconv.Itoa(number+1))
		next.RawQuery = query.Encode()
		rw.Header().Set("Link", fmt.Sprintf(`<http://%s%s>; rel="next"`, r.Host, next.String()))
	}
	return all[from:to]
}

// objects serves git's database.
func (w *world) objects() {
	w.mux.HandleFunc("GET "+under+"/git/commits/{id}", func(rw http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		out, err := w.try("show", "-s", "--format=%T %P", id)
		if err != nil {
			answer(rw, 404, map[string]string{"message": "Not Found"})
			return
		}
		parents := []map[string]string{}
		fields := strings.Fields(out)
		for _, p := range fields[1:] {
			parents = append(parents, map[string]string{"sha": p})
		}
		answer(rw, 200, map[string]any{"sha": id, "tree": map[string]string{"sha": fields[0]}, "parents": parents})
	})
	w.mux.HandleFunc("GET "+under+"/git/trees/{id}", func(rw http.ResponseWriter, r *http.Request) {
		out, err := w.try("ls-tree", "-z", "-l", r.PathValue("id"))
		if err != nil {
			answer(rw, 404, map[string]string{"message": "Not Found"})
			return
		}
		tree := []map[string]any{}
		for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			head, name, _ := strings.Cut(line, "\t")
			f := strings.Fields(head)
			e := map[string]any{"path": name, "mode": f[0], "type": f[1], "sha": f[2]}
			if n, err := strconv.Atoi(f[3]); err == nil {
				e["size"] = n
			}
			tree = append(tree, e)
		}
		answer(rw, 200, map[string]any{"sha": r.PathValue("id"), "tree": tree, "truncated": false})
	})
	w.mux.HandleFunc("GET "+under+"/git/blobs/{id}", func(rw http.ResponseWriter, r *http.Request) {
		cmd := exec.Command("git", "cat-file", "blob", r.PathValue("id"))
		cmd.Dir = w.dir
		out, err := cmd.Output()
		if err != nil || r.Header.Get("Accept") != "application/vnd.github.raw+json" {
			answer(rw, 404, map[string]string{"message": "Not Found"})
			return
		}
		rw.Write(out)
	})
}

// checks serves check-runs, with the API's own limits.
func (w *world) checks() {
	read := func(r *http.Request) (in map[string]any, annotations int, wrong string) {
		must(w.t, json.NewDecoder(r.Body).Decode(&in))
		output := in["output"].(map[string]any)
		list, _ := output["annotations"].([]any)
		if len(list) > 50 {
			wrong = "too many annotations"
		}
		return in, len(list), wrong
	}
	w.mux.HandleFunc("POST "+under+"/check-runs", func(rw http.ResponseWriter, r *http.Request) {
		in, n, wrong := read(r)
		if wrong != "" {
			answer(rw, 422, map[string]string{"message": wrong})
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		in["id"], in["html_url"], in["app"] = len(w.runs)+1, "https://github.com/x", map[string]any{"slug": "github-actions"}
		in["output"].(map[string]any)["annotations_count"] = n
		w.runs = append(w.runs, in)
		answer(rw, 201, in)
	})
	w.mux.HandleFunc("PATCH "+under+"/check-runs/{id}", func(rw http.ResponseWriter, r *http.Request) {
		in, n, wrong := read(r)
		if wrong != "" || len(in) != 1 {
			answer(rw, 422, map[string]string{"message": "only output: " + wrong})
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		run := w.run(r)
		old := run["output"].(map[string]any)["annotations_count"].(int)
		run["output"] = in["output"]
		run["output"].(map[string]any)["annotations_count"] = old + n
		answer(rw, 200, run)
	})
	w.mux.HandleFunc("GET "+under+"/check-runs/{id}", func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		answer(rw, 200, w.run(r))
	})
	w.mux.HandleFunc("GET "+under+"/commits/{id}/check-runs", func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		matching := []map[string]any{}
		for _, run := range w.runs {
			if run["head_sha"] == r.PathValue("id") && run["name"] == r.URL.Query().Get("check_name") {
				matching = append(matching, run)
			}
		}
		if r.URL.Query().Get("filter") != "all" {
			matching = matching[max(0, len(matching)-1):]
		}
		answer(rw, 200, map[string]any{"total_count": len(matching), "check_runs": paged(rw, r, matching)})
	})
}

func (w *world) run(r *http.Request) map[string]any {
	n, err := strconv.Atoi(r.PathValue("id"))
	must(w.t, err)
	return w.runs[n-1]
}

func (w *world) client() *Client {
	w.t.Helper()
	c, err := New(Config{API: w.server.URL, Server: w.server.URL, Repository: "acme/shop", Token: token,
		Warn: func(text string) { w.warned = append(w.warned, text) },
		Wait: func(ctx context.Context, d time.Duration) error {
			w.waited = append(w.waited, d)
			return ctx.Err()
		}})
	must(w.t, err)
	return c
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	if err != nil {
		w.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(out)
}

func (w *world) try(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// commit writes files (a path, its content, and so on), and gives the commit of
// all that is there.
func (w *world) commit(pairs ...string) string {
	w.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		name := filepath.Join(w.dir, pairs[i])
		must(w.t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(w.t, os.WriteFile(name, []byte(pairs[i+1]), 0o644))
	}
	w.git("add", "-A")
	w.git("commit", "-qm", "x", "--allow-empty")
	return w.git("rev-parse", "HEAD")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// faulty says that an error is a fault of a code, whose text holds parts, and no token.
func faulty(t *testing.T, err error, code fault.Code, parts ...string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code {
		t.Errorf("%v, want %s", err, code)
		return
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if said := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(said, token) {
			t.Errorf("the token stands in %s", said)
		}
	}
	for _, p := range parts {
		if !strings.Contains(f.Message+f.Fix, p) {
			t.Errorf("%q is not in %s %s", p, f.Message, f.Fix)
		}
	}
}

func paths(docs []Document) (out []string) {
	for _, d := range docs {
		out = append(out, d.Path+"="+string(d.Bytes))
	}
	return slices.Clip(out)
}
