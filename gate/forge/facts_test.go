package forge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/fault"
)

var (
	one = strings.Repeat("1", 40)
	two = strings.Repeat("2", 40)
)

type object = map[string]any

func pull(number int, head, repository string) object {
	side := object{"sha": head, "ref": "topic", "repo": object{"full_name": repository}}
	if repository == "" {
		side["repo"] = nil
	}
	return object{"number": number, "state": "open", "user": object{"login": "eve"}, "head": side,
		"base": object{"sha": two, "ref": "main", "repo": object{"full_name": "Acme/shop"}}}
}

func TestRepository(t *testing.T) {
	w := newWorld(t)
	w.get("", object{"id": 7, "full_name": "Acme/Shop", "default_branch": "trunk", "private": true})
	got, err := w.client().Repository(context.Background())
	if want := (Repository{7, "Acme/Shop", "trunk", true}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, body := range []string{`{"id":7,"full_name":"other/shop","default_branch":"x"}`, `{"id":7,"full_name":"acme/shop"}`, `{}`, `[]`, ``} {
		w.fail("GET ", says(200, body))
		_, err := w.client().Repository(context.Background())
		faulty(t, err, fault.ActionForgeUnreachable, "not understood")
	}
}

func TestPullRequest(t *testing.T) {
	w := newWorld(t)
	w.get("/pulls/1", pull(1, one, "acme/shop"))
	w.get("/pulls/2", pull(2, one, "eve/shop"))
	w.get("/pulls/3", pull(3, one, "")) // the fork is gone
	w.get("/pulls/4", pull(5, one, "acme/shop"))
	for number, fork := range map[int]bool{1: false, 2: true, 3: true} {
		got, err := w.client().PullRequest(context.Background(), number)
		if err != nil || got.Fork != fork || got.Number != number || got.Head != one || got.Base != two || got.BaseRef != "main" || got.Author != "eve" || got.State != "open" || got.Merged {
			t.Errorf("%+v, %v", got, err)
		}
	}
	_, err := w.client().PullRequest(context.Background(), 4)
	faulty(t, err, fault.ActionForgeUnreachable, "another one")
	_, err = w.client().PullRequest(context.Background(), 9)
	faulty(t, err, fault.ActionPermissionMissing, "`pull-requests: read`", "404")
	_, err = w.client().PullRequest(context.Background(), 0)
	faulty(t, err, fault.ActionInputInvalid)
	w.fail("GET /pulls/1", says(403, `{"message":"Resource not accessible by integration"}`, "X-Accepted-GitHub-Permissions", "pull_requests=read; contents=read"))
	_, err = w.client().PullRequest(context.Background(), 1)
	faulty(t, err, fault.ActionPermissionMissing, "`pull-requests: read", "contents: read", "Resource not accessible")
	w.fail("GET /pulls/1", says(301, "", "Location", "http://127.0.0.1:1/"))
	_, err = w.client().PullRequest(context.Background(), 1)
	faulty(t, err, fault.ActionForgeUnreachable, "301")
}

// A secondary limit is waited for; the pause after it is GitHub's.
func TestLimit(t *testing.T) {
	w := newWorld(t)
	w.get("/pulls/1", pull(1, one, "acme/shop"))
	w.fail("GET /pulls/1", says(403, `{"message":"You have exceeded a secondary rate limit"}`))
	if _, err := w.client().PullRequest(context.Background(), 1); err != nil || len(w.waited) != 1 || w.waited[0] < time.Minute {
		t.Errorf("%v, waited %v", err, w.waited)
	}
	// The last request of the hour is none too many.
	future := fmt.Sprint(time.Now().Add(time.Hour).Unix())
	w.fail("GET /pulls/1", func(rw http.ResponseWriter) {
		rw.Header().Set("X-RateLimit-Remaining", "0")
		rw.Header().Set("X-RateLimit-Reset", future)
		answer(rw, 200, pull(1, one, "acme/shop"))
	})
	c := w.client()
	for range 2 {
		if _, err := c.PullRequest(context.Background(), 1); err != nil {
			t.Error(err)
		}
	}
	w.fail("GET /pulls/1", says(403, `{}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", future))
	_, err := c.PullRequest(context.Background(), 1)
	faulty(t, err, fault.ActionForgeUnreachable, "a limit of GitHub's API", "used up until")
}

func TestPullRequestsFor(t *testing.T) {
	w := newWorld(t)
	closed, other, foreign := pull(3, one, "acme/shop"), pull(4, two, "acme/shop"), pull(5, one, "acme/shop")
	closed["state"] = "closed"
	foreign["base"].(object)["repo"] = object{"full_name": "eve/shop"}
	list := []object{pull(1, one, "acme/shop"), closed, other, foreign}
	for range 200 {
		list = append(list, other)
	}
	list = append(list, pull(2, one, "eve/shop"))
	w.mux.HandleFunc("GET "+under+"/pulls", func(rw http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("state") != "open" || q.Get("head") != "eve:fix/a&b+c" {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		answer(rw, 200, paged(rw, r, list))
	})
	head := Head{"eve/shop", "fix/a&b+c", one}
	got, err := w.client().PullRequestsFor(context.Background(), head)
	if err != nil || len(got) != 2 || got[0].Number != 1 || got[1].Number != 2 || !got[1].Fork {
		t.Errorf("%+v, %v", got, err)
	}
	for _, body := range []string{"null", "", "{}"} {
		w.fail("GET /pulls", says(200, body))
		_, err := w.client().PullRequestsFor(context.Background(), head)
		faulty(t, err, fault.ActionForgeUnreachable, "not understood")
	}
	for _, none := range []Head{{"", "topic", one}, {"eve/shop", "", one}, {"eve/shop", "topic", "main"}} {
		_, err := w.client().PullRequestsFor(context.Background(), none)
		faulty(t, err, fault.ActionInputInvalid)
	}
}

func TestOwnPullRequests(t *testing.T) {
	w := newWorld(t)
	closed, other, foreign := pull(3, one, "acme/shop"), pull(4, two, "acme/shop"), pull(5, one, "acme/shop")
	closed["state"] = "closed"
	foreign["base"].(object)["repo"] = object{"full_name": "eve/shop"}
	list := []object{closed, other, foreign, pull(2, one, "eve/shop"), pull(1, one, "acme/shop")}
	w.mux.HandleFunc("GET "+under+"/commits/"+one+"/pulls", func(rw http.ResponseWriter, r *http.Request) { answer(rw, 200, paged(rw, r, list)) })
	got, err := w.client().OwnPullRequests(context.Background(), one)
	if err != nil || len(got) != 1 || got[0].Number != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for status, want := range map[int]int{404: 0, 422: 0} {
		w.fail("GET /commits/"+one+"/pulls", says(status, `{"message":"No commit found"}`))
		if got, err := w.client().OwnPullRequests(context.Background(), one); err != nil || len(got) != want {
			t.Errorf("%d: %+v, %v", status, got, err)
		}
	}
	w.fail("GET /commits/"+one+"/pulls", says(200, "{}"))
	_, err = w.client().OwnPullRequests(context.Background(), one)
	faulty(t, err, fault.ActionForgeUnreachable, "not understood")
	_, err = w.client().OwnPullRequests(context.Background(), "main")
	faulty(t, err, fault.ActionInputInvalid)
}

// Dependabot is who GitHub says that it is, and neither a person of a similar name
// nor a branch.
func TestDependabot(t *testing.T) {
	for _, tt := range []struct {
		login, kind string
		want        bool
	}{{"dependabot[bot]", "Bot", true}, {"dependabot[bot]", "User", false}, {"dependabot", "Bot", false}, {"renovate[bot]", "Bot", false}} {
		w := newWorld(t)
		p := pull(1, one, "acme/shop")
		p["head"].(object)["ref"] = "dependabot/go_modules/x"
		p["user"] = object{"login": tt.login, "type": tt.kind}
		w.get("/pulls/1", p)
		if got, err := w.client().PullRequest(context.Background(), 1); err != nil || got.Dependabot() != tt.want {
			t.Errorf("%s (%s): %v, %v", tt.login, tt.kind, got.Dependabot(), err)
		}
	}
}

func TestCommits(t *testing.T) {
	w := newWorld(t)
	first := w.commit("a", "1")
	w.git("checkout", "-qb", "topic")
	second := w.commit("a", "2")
	w.git("checkout", "-q", "main")
	third := w.commit("b", "3")
	w.git("merge", "-q", "--no-ff", "-m", "m", "topic")
	merge := w.git("rev-parse", "HEAD")
	c := w.client()
	if got, err := c.Parents(context.Background(), merge); err != nil || !slices.Equal(got, []string{third, second}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := c.Parents(context.Background(), first); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
	_, err := c.Parents(context.Background(), one)
	faulty(t, err, fault.ActionPermissionMissing, "`contents: read`")
	for status, want := range map[string]bool{"ahead": true, "identical": true, "behind": false, "diverged": false} {
		w.fail("GET /compare/"+one+"..."+two, says(200, `{"status":"`+status+`"}`))
		if got, err := w.client().IsAncestor(context.Background(), one, two); err != nil || got != want {
			t.Errorf("%s: %v, %v", status, got, err)
		}
	}
	w.fail("GET /compare/"+one+"..."+two, says(200, `{}`))
	_, err = c.IsAncestor(context.Background(), one, two)
	faulty(t, err, fault.ActionForgeUnreachable)
}

// What is not on a branch is told from what may not be seen.
func TestIsAncestor(t *testing.T) {
	w := newWorld(t)
	first := w.commit("a", "1")
	second := w.commit("a", "2")
	compared := "GET /compare/" + first + "..." + second
	c := w.client()
	if got, err := c.IsAncestor(context.Background(), first, first); err != nil || !got {
		t.Errorf("itself: %v, %v", got, err)
	}
	w.fail(compared, says(404, `{"message":"No common ancestor between x and y."}`))
	for range 2 { // the second time, it is known
		if got, err := c.IsAncestor(context.Background(), first, second); err != nil || got {
			t.Errorf("an orphan: %v, %v", got, err)
		}
	}
	// The other way around it is the same answer.
	c = w.client()
	w.fail(compared, says(200, `{"status":"ahead"}`))
	for _, pair := range [][2]string{{first, second}, {first, second}, {second, first}} {
		if got, err := c.IsAncestor(context.Background(), pair[0], pair[1]); err != nil || got != (pair[0] == first) {
			t.Errorf("%q: %v, %v", pair, got, err)
		}
	}
	// A commit that is gone is on no branch; one that may not be seen could be.
	if got, err := w.client().IsAncestor(context.Background(), one, second); err != nil || got {
		t.Errorf("a commit that is gone: %v, %v", got, err)
	}
	_, err := w.client().IsAncestor(context.Background(), one, two)
	faulty(t, err, fault.ActionPermissionMissing, "`contents: read`")
	_, err = w.client().IsAncestor(context.Background(), first, second)
	faulty(t, err, fault.ActionPermissionMissing, "`contents: read`")
}

func TestTip(t *testing.T) {
	w := newWorld(t)
	ref := func(name string) object {
		return object{"ref": "refs/heads/" + name, "object": object{"type": "commit", "sha": one}}
	}
	w.get("/git/ref/heads/release/1%23x", ref("release/1#x"))
	if got, ok, err := w.client().Tip(context.Background(), "release/1#x"); err != nil || !ok || got != one {
		t.Errorf("%q, %v, %v", got, ok, err)
	}
	w.get("/git/matching-refs/heads/gone", []object{ref("gone-too")})
	if got, ok, err := w.client().Tip(context.Background(), "gone"); err != nil || ok || got != "" {
		t.Errorf("%q, %v, %v", got, ok, err)
	}
	// Where refs may not be seen, nothing says that it is gone.
	_, ok, err := w.client().Tip(context.Background(), "hidden")
	if faulty(t, err, fault.ActionPermissionMissing, "`contents: read`"); ok {
		t.Error("found")
	}
	w.get("/git/ref/heads/other", ref("another"))
	_, _, err = w.client().Tip(context.Background(), "other")
	faulty(t, err, fault.ActionForgeUnreachable)
	for _, name := range []string{"", "../../x", "a//b", "/a", "a/", "a/./b"} {
		_, _, err := w.client().Tip(context.Background(), name)
		faulty(t, err, fault.ActionInputInvalid)
	}
}

func TestWorkflowRun(t *testing.T) {
	w := newWorld(t)
	run := object{"id": 9, "run_attempt": 2, "event": "pull_request", "status": "completed", "conclusion": "success", "path": ".github/workflows/gate.yml", "head_sha": one,
		"head_branch": "topic", "head_repository": object{"full_name": "eve/shop"}, "repository": object{"full_name": "acme/shop"}, "pull_requests": []object{{"number": 4}},
		"referenced_workflows": []object{{"path": "acme/judge/.github/workflows/verdict.yml@v1", "sha": two, "ref": "refs/tags/v1"}}, "html_url": "https://x"}
	w.get("/actions/runs/9", run)
	got, err := w.client().WorkflowRun(context.Background(), 9)
	want := WorkflowRun{9, 2, "pull_request", "completed", "success", ".github/workflows/gate.yml", one, "topic", "eve/shop", []int{4},
		[]CalledWorkflow{{"acme/judge/.github/workflows/verdict.yml@v1", "refs/tags/v1", two}}, "https://x"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = w.client().WorkflowRun(context.Background(), 10)
	faulty(t, err, fault.ActionPermissionMissing, "`actions: read`")
}

func TestArtifacts(t *testing.T) {
	w := newWorld(t)
	var list []object
	for i := range 250 {
		list = append(list, object{"id": i + 1, "name": fmt.Sprintf("a%d", i), "size_in_bytes": 3, "digest": "sha256:x", "expired": i == 0, "created_at": "2026-01-02T03:04:05Z"})
	}
	total := len(list)
	w.mux.HandleFunc("GET "+under+"/actions/runs/9/artifacts", func(rw http.ResponseWriter, r *http.Request) {
		answer(rw, 200, object{"total_count": total, "artifacts": paged(rw, r, list)})
	})
	got, err := w.client().Artifacts(context.Background(), 9)
	if err != nil || len(got) != 250 || got[249].Name != "a249" || !got[0].Expired || got[1].Digest != "sha256:x" {
		t.Errorf("%d, %v", len(got), err)
	}
	total = 251
	_, err = w.client().Artifacts(context.Background(), 9)
	faulty(t, err, fault.ActionForgeUnreachable, "250 of 251")
	w.fail("GET /actions/runs/9/artifacts", says(200, "{}"))
	_, err = w.client().Artifacts(context.Background(), 9)
	faulty(t, err, fault.ActionForgeUnreachable, "lacks the list")
}

// kept is a file that a download goes to.
type kept struct {
	*os.File
	t *testing.T
}

func aFile(t *testing.T) kept {
	f, err := os.Create(filepath.Join(t.TempDir(), "artifact.zip"))
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return kept{f, t}
}

func (k kept) String() string {
	data, err := os.ReadFile(k.Name())
	must(k.t, err)
	return string(data)
}

// full has no room.
type full struct{ kept }

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// An artifact arrives in pieces, is cut off, and is asked for again; nothing of it is in
// memory as a whole.
func TestDownloadStreams(t *testing.T) {
	w := newWorld(t)
	const piece, pieces = 1 << 20, 96
	data := bytes.Repeat([]byte("x"), piece)
	times := 0
	store := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		times++
		for i := range pieces {
			if times == 1 && i == pieces/2 {
				panic(http.ErrAbortHandler)
			}
			rw.Write(data)
		}
	}))
	t.Cleanup(store.Close)
	w.mux.HandleFunc("GET "+under+"/actions/artifacts/5/zip", func(rw http.ResponseWriter, _ *http.Request) { says(302, "", "Location", store.URL+"/x")(rw) })
	out := aFile(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := w.client().DownloadArtifact(context.Background(), 5, out, piece*pieces)
	runtime.ReadMemStats(&after)
	info, statErr := out.Stat()
	must(t, statErr)
	if err != nil || info.Size() != piece*pieces || times != 2 {
		t.Errorf("%d bytes in %d times, %v", info.Size(), times, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > piece*pieces/2 {
		t.Errorf("%d bytes were allocated for it", got)
	}
	faulty(t, w.client().DownloadArtifact(context.Background(), 5, full{out}, piece*pieces), fault.BackendFailed, "no space left")
}

// The store gets the address's own permission, and never the token.
func TestDownloadArtifact(t *testing.T) {
	w := newWorld(t)
	var asked []string
	status := []int{}
	store := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, ""), "ghs_") || name == "Authorization" {
				t.Errorf("the store was sent %s: %s", name, values)
			}
		}
		if len(status) > 0 {
			rw.WriteHeader(status[0])
			status = status[1:]
			fmt.Fprint(rw, "sorry, ", r.URL.RawQuery)
			return
		}
		fmt.Fprint(rw, "PK..")
	}))
	t.Cleanup(store.Close)
	where := store.URL + "/blob?se=1&sig=s3cr3t"
	w.mux.HandleFunc("GET "+under+"/actions/artifacts/5/zip", func(rw http.ResponseWriter, _ *http.Request) { says(302, "", "Location", where)(rw) })
	out := aFile(t)
	if _, err := out.WriteString("from before"); err != nil {
		t.Fatal(err)
	}
	status = []int{500, 403}
	if err := w.client().DownloadArtifact(context.Background(), 5, out, 4); err != nil || out.String() != "PK.." || len(asked) != 3 || asked[0] != "/blob?se=1&sig=s3cr3t" {
		t.Errorf("%q, %v, asked %q", out.String(), err, asked)
	}
	err := w.client().DownloadArtifact(context.Background(), 5, out, 3)
	faulty(t, err, fault.ActionEvidenceRefused, "more than 3 bytes")
	status = slices.Repeat([]int{500}, 100)
	err = w.client().DownloadArtifact(context.Background(), 5, out, 4)
	faulty(t, err, fault.ActionForgeUnreachable, "500")
	if said := err.Error() + strings.Join(w.warned, "\n"); strings.Contains(said, "s3cr3t") || out.String() != "" {
		t.Errorf("%s, %q", said, out.String())
	}
	for _, bad := range []string{"http://example.com/x", "file:///etc/passwd", "", "https://u:p@example.com/"} {
		where = bad
		faulty(t, w.client().DownloadArtifact(context.Background(), 5, out, 4), fault.ActionForgeUnreachable, "leads to no address that is asked")
	}
	w.fail("GET /actions/artifacts/5/zip", says(410, ""))
	faulty(t, w.client().DownloadArtifact(context.Background(), 5, out, 4), fault.ActionEvidenceRefused, "expired")
	faulty(t, w.client().DownloadArtifact(context.Background(), 6, out, 4), fault.ActionPermissionMissing, "`actions: read`")
}

func TestNew(t *testing.T) {
	good := Config{API: "https://ghe.example.com/api/v3", Server: "https://ghe.example.com", Repository: "acme/shop", Token: token}
	c, err := New(good)
	must(t, err)
	if c.api.BaseURL.String() != "https://ghe.example.com/api/v3/" {
		t.Error(c.api.BaseURL)
	}
	for name, change := range map[string]func(*Config){
		"http":          func(c *Config) { c.API = "http://ghe.example.com/" },
		"http server":   func(c *Config) { c.Server = "http://ghe.example.com/" },
		"no server":     func(c *Config) { c.Server = "" },
		"a password":    func(c *Config) { c.API = "https://a:b@ghe.example.com" },
		"a query":       func(c *Config) { c.API = "https://ghe.example.com/?a" },
		"no owner":      func(c *Config) { c.Repository = "/shop" },
		"dots":          func(c *Config) { c.Repository = "../.." },
		"three parts":   func(c *Config) { c.Repository = "a/b/c" },
		"an odd one":    func(c *Config) { c.Repository = "a/b?c" },
		"no repository": func(c *Config) { c.Repository = "" },
		"an odd token":  func(c *Config) { c.Token = "a\r\nb" },
	} {
		config := good
		change(&config)
		if _, err := New(config); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			faulty(t, err, fault.ActionInputInvalid)
		}
	}
	good.API, good.UnsafeHTTP = "http://ghe.example.com/", true
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}
