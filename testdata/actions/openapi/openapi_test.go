package openapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func load(t *testing.T) *Description {
	t.Helper()
	d, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestFind(t *testing.T) {
	d := load(t)
	for _, c := range []struct{ method, path, id, param, value string }{
		{"GET", "/repos/a/b", "repos/get", "repo", "b"},
		{"GET", "/repos/a/b/contents/.gate/contracts/x.json", "repos/get-content", "path", ".gate/contracts/x.json"},
		{"GET", "/repos/a/b/contents/with%20space%2Fand", "repos/get-content", "path", "with space/and"},
		{"GET", "/repos/a/b/git/ref/heads/feature/x", "git/get-ref", "ref", "heads/feature/x"},
		{"GET", "/repos/a/b/commits/feature/x/check-runs", "checks/list-for-ref", "ref", "feature/x"},
		{"GET", "/repos/a/b/commits/abc", "repos/get-commit", "ref", "abc"},
		{"GET", "/repos/a/b/compare/main...x/y", "repos/compare-commits-with-basehead", "basehead", "main...x/y"},
		{"POST", "/repos/a/b/check-runs", "checks/create", "owner", "a"},
		{"PATCH", "/repos/a/b/check-runs/7", "checks/update", "check_run_id", "7"},
		{"GET", "/repos/a/b/actions/artifacts/7/zip", "actions/download-artifact", "archive_format", "zip"},
	} {
		op, ok := d.Find(c.method, c.path)
		if !ok {
			t.Errorf("%s %s: no operation", c.method, c.path)
			continue
		}
		if op.ID != c.id || op.Params[c.param] != c.value {
			t.Errorf("%s %s: %s, %s=%q", c.method, c.path, op.ID, c.param, op.Params[c.param])
		}
	}
	for _, absent := range []string{"DELETE /repos/a/b", "GET /user", "GET /repos/a/b/check-runs"} {
		method, path, _ := strings.Cut(absent, " ")
		if op, ok := d.Find(method, path); ok {
			t.Errorf("%s is %s", absent, op.ID)
		}
	}
}

// TestRequest holds that the description is in force: a test that relies on it
// would pass with everything if it were not.
func TestRequest(t *testing.T) {
	const sha = "0123456789abcdef0123456789abcdef01234567"
	annotation := `{"path":"a","start_line":1,"end_line":1,"annotation_level":"failure","message":"m"}`
	many := func(n int) string { return strings.TrimSuffix(strings.Repeat(annotation+",", n), ",") }
	for name, c := range map[string]struct {
		body string
		ok   bool
	}{
		"completed":          {`{"name":"n","head_sha":"` + sha + `","status":"completed","conclusion":"failure","output":{"title":"t","summary":"s","annotations":[` + many(50) + `]}}`, true},
		"51 annotations":     {`{"name":"n","head_sha":"` + sha + `","status":"completed","conclusion":"failure","output":{"title":"t","summary":"s","annotations":[` + many(51) + `]}}`, false},
		"unknown conclusion": {`{"name":"n","head_sha":"` + sha + `","status":"completed","conclusion":"passed"}`, false},
		"no head":            {`{"name":"n","status":"completed","conclusion":"failure"}`, false},
		"long summary":       {`{"name":"n","head_sha":"` + sha + `","status":"completed","conclusion":"failure","output":{"title":"t","summary":"` + strings.Repeat("x", 65536) + `"}}`, false},
		"no body":            {``, false},
	} {
		r := httptest.NewRequest("POST", "/repos/a/b/check-runs", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		op, ok := load(t).Find(r.Method, r.URL.EscapedPath())
		if !ok {
			t.Fatal("no operation")
		}
		if err := op.Request(r, []byte(c.body)); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := httptest.NewRequest("GET", "/repos/a/b/commits/x/check-runs?check_nam=y", nil)
	op, _ := load(t).Find(r.Method, r.URL.EscapedPath())
	if err := op.Request(r, nil); err == nil {
		t.Error("a misspelt filter was taken")
	}
}

func TestExamplesAreValid(t *testing.T) {
	d := load(t)
	for path, status := range map[string]int{
		"POST /repos/a/b/check-runs": 201, "GET /repos/a/b/actions/runs/1": 200,
		"GET /repos/a/b/actions/runs/1/artifacts": 200, "GET /repos/a/b/compare/x...y": 200,
	} {
		method, path, _ := strings.Cut(path, " ")
		op, ok := d.Find(method, path)
		if !ok {
			t.Fatal(path)
		}
		example, err := op.Example(status, "")
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		text, err := json.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(method, path, nil)
		header := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
		if err := op.Response(r, status, header, text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if err := op.Response(r, status, header, []byte(`{"id":"x"}`)); err == nil {
			t.Errorf("%s: an answer that is none was taken", path)
		}
	}
}
