package github

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

type hub struct {
	*Server
	t          *testing.T
	repo       *Repo
	base, head string
}

func start(t *testing.T, private bool) *hub {
	t.Helper()
	repo, err := NewRepo(filepath.Join(t.TempDir(), "repo.git"))
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{t: t, repo: repo}
	h.base = h.commit(nil, File{Path: ".gate/contracts/a.json", Content: "{}\n"}, File{Path: ".gate/contracts/link.json", Content: "a.json", Mode: Link}, File{Path: "app.txt", Content: "one\ntwo\n"},
		File{Path: "out", Content: "/etc/passwd", Mode: Link}, File{Path: "dir", Content: ".gate", Mode: Link})
	if err := repo.SetRef("refs/heads/main", h.base); err != nil {
		t.Fatal(err)
	}
	h.head = h.commit([]string{h.base}, File{Path: "app.txt", Content: "one\n2\n"}, File{Path: "new file.txt", Content: "x"}, File{Path: "out", Mode: Gone})
	if h.Server, err = Start(Config{Repo: repo, Owner: "acme", Name: "shop", Private: private}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	h.Allow("token", Token{Permissions: map[string]string{"contents": "read", "checks": "write", "pull_requests": "read", "actions": "read", "attestations": "write"}})
	h.Allow("reader", Token{Permissions: map[string]string{"contents": "read"}})
	return h
}

func (h *hub) commit(parents []string, files ...File) string {
	h.t.Helper()
	id, err := h.repo.Commit("a commit", parents, files...)
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// ask makes a request and gives the status and the answer.
func (h *hub) ask(token, method, path, accept string, body any) (int, []byte) {
	h.t.Helper()
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			h.t.Fatal(err)
		}
		text = bytes.NewReader(encoded)
	}
	r, err := http.NewRequest(method, h.URL+path, text)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, answer
}

func (h *hub) clean() {
	h.t.Helper()
	for _, v := range h.Violations() {
		h.t.Error(v)
	}
}

// TestAnswersAreValid asks everything that is played, and lets the description judge.
func TestAnswersAreValid(t *testing.T) {
	h := start(t, true)
	p, err := h.Open("main", h.head, Pull{})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := line(h.repo.Git("-c", "user.name=a", "-c", "user.email=a@example.com", "tag", "-a", "-m", "v1", "v1", h.base))
	if err != nil {
		t.Fatal(tag, err)
	}
	tag, err = line(h.repo.Git("rev-parse", "refs/tags/v1"))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := line(h.repo.Git("rev-parse", h.head+"^{tree}"))
	if err != nil {
		t.Fatal(err)
	}
	blob, err := line(h.repo.Git("rev-parse", h.head+":app.txt"))
	if err != nil {
		t.Fatal(err)
	}
	h.AddRun(Run{ID: 42, Event: "pull_request", HeadSHA: h.head, HeadBranch: "feature", Called: []Called{{"acme/judge/.github/workflows/v.yml@v1", "refs/tags/v1", h.base}}})
	h.Artifacts(func(int64) []Artifact {
		return []Artifact{{ID: 1, Name: "a", Size: 3, Digest: "sha256:00", URL: h.URL + "/x"}}
	})
	check := map[string]any{"name": "verdict", "head_sha": h.head, "status": "completed", "conclusion": "failure", "external_id": "x", "output": map[string]any{
		"title": "t", "summary": "s", "annotations": []any{map[string]any{"path": "app.txt", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "m"}}}}
	if status, text := h.ask("token", "POST", "/repos/acme/shop/check-runs", "", check); status != 201 {
		t.Fatalf("%d %s", status, text)
	}
	delete(check, "head_sha")
	delete(check, "name")
	for path, want := range map[string]int{
		"": 200, "/pulls/1": 200, "/pulls/2": 404, "/pulls": 200, "/pulls/1/files": 200, "/pulls/1/reviews": 200, "/commits/" + h.head + "/pulls": 200,
		"/branches/main": 200, "/git/ref/heads/main": 200, "/git/ref/heads/mai": 404, "/git/matching-refs/heads/mai": 200, "/git/matching-refs/heads/none": 200,
		"/git/commits/" + p.Merge: 200, "/git/trees/" + tree + "?recursive=1": 200, "/git/blobs/" + blob: 200, "/git/tags/" + tag: 200,
		"/commits/" + h.head: 200, "/commits/main": 200, "/commits/none": 422, "/compare/" + h.base + "..." + h.head: 200, "/compare/" + h.base + "..." + h.base: 200,
		"/contents/app.txt?ref=" + h.base: 200, "/contents/.gate/contracts?ref=" + h.base: 200, "/contents/none?ref=" + h.base: 404, "/contents/out?ref=" + h.base: 200,
		"/contents/dir?ref=" + h.base: 200, "/contents/dir/contracts?ref=" + h.base: 404, "/commits/" + h.head + "/check-runs?check_name=verdict&filter=all": 200,
		"/check-runs/1000": 200, "/check-runs/1": 404, "/check-runs/1000/annotations": 200, "/actions/runs/42": 200, "/actions/runs/42/attempts/1": 200, "/actions/runs/43": 404,
		"/actions/runs/42/artifacts": 200, "/actions/artifacts/1": 200, "/actions/artifacts/1/zip": 302,
	} {
		if status, text := h.ask("token", "GET", "/repos/acme/shop"+path, "application/vnd.github+json", nil); status != want {
			t.Errorf("GET %s: %d, not %d: %.300s", path, status, want, text)
		}
	}
	if status, _ := h.ask("token", "PATCH", "/repos/acme/shop/check-runs/1000", "", check); status != 200 {
		t.Error(status)
	}
	if status, text := h.ask("token", "POST", "/repos/acme/shop/attestations", "", map[string]any{"bundle": map[string]any{"mediaType": "x"}}); status != 201 || h.Attestations() != 1 {
		t.Errorf("%d %s", status, text)
	}
	if got := h.CheckRuns(); len(got) != 1 || len(got[0].Annotations) != 2 {
		t.Errorf("annotations are not appended: %+v", got)
	}
	h.clean()
}

func TestContents(t *testing.T) {
	h := start(t, false)
	_, raw := h.ask("", "GET", "/repos/acme/shop/contents/.gate/contracts/link.json?ref="+h.base, "application/vnd.github.raw", nil)
	if string(raw) != "{}\n" {
		t.Errorf("a link to a file is answered with %q", raw)
	}
	_, list := h.ask("", "GET", "/repos/acme/shop/contents/.gate/contracts?ref="+h.base, "", nil)
	var entries []map[string]any
	if err := json.Unmarshal(list, &entries); err != nil || len(entries) != 2 || entries[1]["type"] != "symlink" || entries[0]["type"] != "file" {
		t.Errorf("%v, %s", err, list)
	}
	_, link := h.ask("", "GET", "/repos/acme/shop/contents/out?ref="+h.base, "", nil)
	if !strings.Contains(string(link), `"target":"/etc/passwd"`) {
		t.Errorf("%s", link)
	}
	h.clean()
}

func TestCompare(t *testing.T) {
	h := start(t, false)
	_, text := h.ask("", "GET", "/repos/acme/shop/compare/"+h.base+"..."+h.head, "", nil)
	var got struct {
		Status  string
		AheadBy int `json:"ahead_by"`
		Files   []struct{ Filename, Status, Patch string }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Status != "ahead" || got.AheadBy != 1 || fmt.Sprint(got.Files) != "[{app.txt modified @@ -1,2 +1,2 @@\n one\n-two\n+2} {new file.txt added @@ -0,0 +1 @@\n+x\n\\ No newline at end of file} {out removed @@ -1 +0,0 @@\n-/etc/passwd\n\\ No newline at end of file}]" {
		t.Errorf("%+v", got)
	}
	h.clean()
}

func TestPermissions(t *testing.T) {
	h := start(t, true)
	check := map[string]any{"name": "verdict", "head_sha": h.head, "status": "completed", "conclusion": "success"}
	for _, c := range []struct {
		token, method, path string
		want                int
	}{
		{"", "GET", "", 404}, {"wrong", "GET", "", 401}, {"reader", "GET", "", 200}, {"reader", "GET", "/contents/app.txt?ref=main", 200},
		{"reader", "GET", "/actions/runs/42/artifacts", 403}, {"reader", "POST", "/check-runs", 403}, {"token", "POST", "/check-runs", 201},
	} {
		var body any
		if c.method == "POST" {
			body = check
		}
		if got, text := h.ask(c.token, c.method, "/repos/acme/shop"+c.path, "", body); got != c.want {
			t.Errorf("%+v: %d %s", c, got, text)
		}
	}
	h.clean()
}

// TestViolations holds that what GitHub would not take is seen.
func TestViolations(t *testing.T) {
	with := func(output map[string]any) map[string]any {
		return map[string]any{"name": "verdict", "head_sha": "HEAD", "status": "completed", "conclusion": "failure", "output": output}
	}
	annotation := func(change map[string]any) map[string]any {
		return with(map[string]any{"title": "t", "summary": "s", "annotations": []any{changed(map[string]any{"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "m"}, change)}})
	}
	for name, body := range map[string]map[string]any{
		"no conclusion":       {"name": "verdict", "head_sha": "HEAD", "status": "completed"},
		"a wide summary":      with(map[string]any{"title": "t", "summary": strings.Repeat("é", 40000)}),
		"a long title":        with(map[string]any{"title": strings.Repeat("x", 256), "summary": "s"}),
		"line 0":              annotation(map[string]any{"start_line": 0}),
		"lines backwards":     annotation(map[string]any{"start_line": 3}),
		"a large message":     annotation(map[string]any{"message": strings.Repeat("x", 64<<10+1)}),
		"a path outside":      annotation(map[string]any{"path": "../a"}),
		"columns over lines":  annotation(map[string]any{"end_line": 2, "start_column": 1}),
		"beyond the planes":   annotation(map[string]any{"message": "\U0001F600"}),
		"an unknown level":    annotation(map[string]any{"annotation_level": "error"}),
		"an empty message":    annotation(map[string]any{"message": ""}),
		"a name of two lines": {"name": "verdict\nother", "head_sha": "HEAD", "status": "completed", "conclusion": "failure"},
	} {
		h := start(t, false)
		body["head_sha"] = h.head
		if status, text := h.ask("token", "POST", "/repos/acme/shop/check-runs", "", body); status != 422 || len(h.Violations()) == 0 {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	h := start(t, false)
	h.ask("token", "POST", "/repos/acme/shop/check-runs", "", map[string]any{"name": "verdict", "head_sha": h.head, "status": "completed", "conclusion": "failure"})
	h.clean()
	if status, _ := h.ask("token", "PATCH", "/repos/acme/shop/check-runs/1000", "", map[string]any{"conclusion": "success"}); status != 403 || len(h.Violations()) != 1 {
		t.Errorf("the conclusion was changed: %d", status)
	}
	h.ask("token", "GET", "/user", "", nil)
	if len(h.Violations()) != 2 {
		t.Error("an operation that is not described was taken")
	}
}

func TestFaults(t *testing.T) {
	h := start(t, false)
	check := map[string]any{"name": "verdict", "head_sha": h.head, "status": "completed", "conclusion": "success"}
	post := func() int {
		status, _ := h.ask("token", "POST", "/repos/acme/shop/check-runs", "", check)
		return status
	}
	for _, c := range []struct {
		kind    Kind
		want, n int // status, and check-runs after it
	}{{Forbidden, 403, 0}, {Broken, 500, 0}, {SecondaryLimit, 403, 0}, {CutBefore, 0, 0}, {CutAfter, 0, 1}, {Slow, 201, 2}} {
		h.Fail(Fault{Operation: "checks/create", Kind: c.kind, Times: 1})
		if got := post(); got != c.want || len(h.CheckRuns()) != c.n {
			t.Errorf("fault %d: %d, %d check-runs", c.kind, got, len(h.CheckRuns()))
		}
	}
	if got := post(); got != 201 {
		t.Error("a fault goes on", got)
	}
	h.clean()
}

func TestGit(t *testing.T) {
	for _, private := range []bool{false, true} {
		h := start(t, private)
		url := strings.Replace(h.URL, "://", "://x-access-token:reader@", 1) + "/acme/shop.git"
		dir := t.TempDir()
		fetch := func(url string) error {
			cmd := exec.Command("git", "fetch", "-q", "--depth=1", url, h.base)
			cmd.Dir, cmd.Env = dir, Env(dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		}
		cmd := exec.Command("git", "init", "-q")
		cmd.Dir, cmd.Env = dir, Env(dir)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if err := fetch(url); err != nil {
			t.Error(err)
		}
		if err := fetch(h.URL + "/acme/shop.git"); (err == nil) == private {
			t.Errorf("without a token: %v", err)
		}
		h.clean()
	}
}
