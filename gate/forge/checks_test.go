package forge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/fault"
)

func checkRun(annotations int) CheckRun {
	run := CheckRun{Name: "verdict / shop @ main", HeadSHA: one, ExternalID: "vg1:9", DetailsURL: "https://x", Conclusion: Failure, Title: "t", Summary: "s", Text: "x"}
	for i := range annotations {
		run.Annotations = append(run.Annotations, Annotation{Path: "a", StartLine: i + 1, EndLine: i + 1, Level: Grave, Message: "m"})
	}
	return run
}

// Fifty annotations go with the check-run, each fifty more in a request that
// touches nothing else.
func TestCreateCheckRun(t *testing.T) {
	for n, patches := range map[int]int{0: 0, 1: 0, 50: 0, 51: 1, 100: 1, 101: 2} {
		w := newWorld(t)
		got, err := w.client().CreateCheckRun(context.Background(), checkRun(n))
		if err != nil || got.ID != 1 || got.Annotations != n || got.URL == "" || got.App != "github-actions" {
			t.Errorf("%d: %+v, %v", n, got, err)
		}
		if len(w.runs) != 1 || w.count("POST /check-runs") != 1 || w.count("PATCH /check-runs/1") != patches {
			t.Errorf("%d: %d check-runs, %q", n, len(w.runs), w.requests)
		}
		run := w.runs[0]
		if run["status"] != "completed" || run["conclusion"] != "failure" || run["external_id"] != "vg1:9" || run["details_url"] != "https://x" || run["output"].(map[string]any)["annotations_count"] != n {
			t.Errorf("%d: %v", n, run)
		}
	}
}

// made lets the real server do what is asked, and then breaks the answer.
func (w *world) made(method, path string, body any, then func(http.ResponseWriter)) func(http.ResponseWriter) {
	return func(rw http.ResponseWriter) {
		data, err := json.Marshal(body)
		must(w.t, err)
		r, err := http.NewRequest(method, "http://x"+under+path, strings.NewReader(string(data)))
		must(w.t, err)
		w.mux.ServeHTTP(discard{http.Header{}}, r)
		then(rw)
	}
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

func TestPostedOnce(t *testing.T) {
	run := checkRun(60)
	there := object{"name": run.Name, "head_sha": one, "external_id": run.ExternalID, "conclusion": "failure", "status": "completed", "output": object{"annotations": make([]object, 50)}}
	for name, broken := range map[string]func(http.ResponseWriter){"cut": hangsUp, "502": says(502, "")} {
		t.Run(name+" after it was done", func(t *testing.T) {
			w := newWorld(t)
			w.fail("POST /check-runs", w.made("POST", "/check-runs", there, broken))
			got, err := w.client().CreateCheckRun(context.Background(), run)
			if err != nil || got.ID != 1 || got.Annotations != 60 || len(w.runs) != 1 || w.count("POST /check-runs") != 1 {
				t.Errorf("%+v, %v; %d check-runs, %q", got, err, len(w.runs), w.requests)
			}
			if !strings.Contains(strings.Join(w.warned, "\n"), "looking whether it is there") {
				t.Errorf("warned %q", w.warned)
			}
		})
		t.Run(name+" before it was done", func(t *testing.T) {
			w := newWorld(t)
			// Another job's of the same name is not this one.
			other := object{"name": run.Name, "head_sha": one, "external_id": "vg1:8", "conclusion": "failure", "output": object{}}
			w.made("POST", "/check-runs", other, func(http.ResponseWriter) {})(nil)
			w.fail("POST /check-runs", broken)
			got, err := w.client().CreateCheckRun(context.Background(), run)
			if err != nil || got.ID != 2 || len(w.runs) != 2 || w.count("POST /check-runs") != 2 {
				t.Errorf("%+v, %v; %d check-runs, %q", got, err, len(w.runs), w.requests)
			}
		})
		t.Run(name+" of annotations", func(t *testing.T) {
			for _, done := range []bool{true, false} {
				w := newWorld(t)
				answer := broken
				if done {
					answer = w.made("PATCH", "/check-runs/1", object{"output": object{"annotations": make([]object, 10)}}, broken)
				}
				w.fail("PATCH /check-runs/1", answer)
				if _, err := w.client().CreateCheckRun(context.Background(), run); err != nil {
					t.Error(err)
				}
				if n := w.runs[0]["output"].(map[string]any)["annotations_count"]; n != 60 {
					t.Errorf("%v: it has %v annotations", done, n)
				}
			}
		})
	}
	t.Run("for ever", func(t *testing.T) {
		w := newWorld(t)
		w.fail("POST /check-runs", hangsUp, hangsUp, hangsUp, hangsUp)
		_, err := w.client().CreateCheckRun(context.Background(), run)
		faulty(t, err, fault.ActionForgeUnreachable, "it may have been done all the same")
		if w.count("POST /check-runs") != maxPosts {
			t.Errorf("%q", w.requests)
		}
	})
	t.Run("nobody can say", func(t *testing.T) {
		w := newWorld(t)
		w.fail("POST /check-runs", hangsUp)
		w.fail("GET /commits/"+one+"/check-runs", says(403, "{}"))
		_, err := w.client().CreateCheckRun(context.Background(), run)
		faulty(t, err, fault.ActionForgeUnreachable, "whether it is there could not be learned")
		if w.count("POST /check-runs") != 1 {
			t.Errorf("%q", w.requests)
		}
	})
	t.Run("a limit", func(t *testing.T) {
		w := newWorld(t)
		w.fail("POST /check-runs", says(403, `{"message":"secondary rate limit"}`), says(429, "", "Retry-After", "5"))
		if _, err := w.client().CreateCheckRun(context.Background(), run); err != nil || len(w.waited) != 2 || len(w.runs) != 1 {
			t.Errorf("%v, waited %v", err, w.waited)
		}
	})
}

func TestCheckRunRefused(t *testing.T) {
	w := newWorld(t)
	w.fail("POST /check-runs", says(403, `{"message":"Resource not accessible by integration"}`))
	_, err := w.client().CreateCheckRun(context.Background(), checkRun(0))
	faulty(t, err, fault.ActionPermissionMissing, "`checks: write`", "Resource not accessible")
	w.fail("POST /check-runs", says(422, `{"message":"Validation failed","errors":[{"resource":"CheckRun","field":"head_sha","code":"invalid"}]}`))
	_, err = w.client().CreateCheckRun(context.Background(), checkRun(0))
	faulty(t, err, fault.ActionReportFailed, "Validation failed", "head_sha invalid")
	w.fail("POST /check-runs", says(201, `{"id":1,"name":"another"}`))
	_, err = w.client().CreateCheckRun(context.Background(), checkRun(0))
	faulty(t, err, fault.ActionForgeUnreachable, "another check-run")
	w.fail("PATCH /check-runs/1", says(403, `{}`))
	got, err := w.client().CreateCheckRun(context.Background(), checkRun(51))
	if faulty(t, err, fault.ActionPermissionMissing, "annotations 51 to 51"); got.ID == 0 || got.Annotations != 50 {
		t.Errorf("%+v", got)
	}
}

// What the API would refuse, or cut without a word, is not sent.
func TestCheckRunLimits(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		change func(*CheckRun)
		code   fault.Code
	}{
		"no name":         {func(r *CheckRun) { r.Name = "" }, fault.ActionReportFailed},
		"no external id":  {func(r *CheckRun) { r.ExternalID = "" }, fault.ActionReportFailed},
		"a neutral one":   {func(r *CheckRun) { r.Conclusion = "neutral" }, fault.ActionReportFailed},
		"long title":      {func(r *CheckRun) { r.Title = strings.Repeat("é", 256) }, fault.ActionReportFailed},
		"long summary":    {func(r *CheckRun) { r.Summary = strings.Repeat("é", 32768) }, fault.ActionReportFailed},
		"long text":       {func(r *CheckRun) { r.Text = strings.Repeat("x", 65536) }, fault.ActionReportFailed},
		"no UTF-8":        {func(r *CheckRun) { r.Text = "\xff" }, fault.ActionReportFailed},
		"line 0":          {func(r *CheckRun) { r.Annotations[0].StartLine = 0 }, fault.ActionReportFailed},
		"lines backwards": {func(r *CheckRun) { r.Annotations[0].StartLine = 2 }, fault.ActionReportFailed},
		"columns of lines": {func(r *CheckRun) {
			r.Annotations[0].EndLine, r.Annotations[0].StartColumn, r.Annotations[0].EndColumn = 2, 1, 2
		}, fault.ActionReportFailed},
		"one column":        {func(r *CheckRun) { r.Annotations[0].StartColumn = 1 }, fault.ActionReportFailed},
		"no level":          {func(r *CheckRun) { r.Annotations[0].Level = "" }, fault.ActionReportFailed},
		"no message":        {func(r *CheckRun) { r.Annotations[0].Message = "" }, fault.ActionReportFailed},
		"a long message":    {func(r *CheckRun) { r.Annotations[0].Message = strings.Repeat("x", 64<<10+1) }, fault.ActionReportFailed},
		"long details":      {func(r *CheckRun) { r.Annotations[0].RawDetails = strings.Repeat("x", 64<<10+1) }, fault.ActionReportFailed},
		"its long title":    {func(r *CheckRun) { r.Annotations[0].Title = strings.Repeat("x", 256) }, fault.ActionReportFailed},
		"no path":           {func(r *CheckRun) { r.Annotations[0].Path = "" }, fault.ActionReportFailed},
		"no commit":         {func(r *CheckRun) { r.HeadSHA = "main" }, fault.ActionInputInvalid},
		"an odd annotation": {func(r *CheckRun) { r.Annotations[0].Message = "\xff" }, fault.ActionReportFailed},
	} {
		t.Run(name, func(t *testing.T) {
			run := checkRun(1)
			c.change(&run)
			_, err := w.client().CreateCheckRun(context.Background(), run)
			faulty(t, err, c.code)
			faulty(t, w.client().UpdateOutput(context.Background(), 1, run), c.code)
		})
	}
	if len(w.requests) != 0 {
		t.Errorf("sent %q", w.requests)
	}
	run := checkRun(1)
	run.Title, run.Summary, run.Text = strings.Repeat("é", 255), strings.Repeat("x", 65535), strings.Repeat("x", 65535)
	run.Annotations[0].StartColumn, run.Annotations[0].EndColumn = 1, 1
	if _, err := w.client().CreateCheckRun(context.Background(), run); err != nil {
		t.Error(err)
	}
}

func TestCheckRunsAndUpdate(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for i := range 120 {
		run := checkRun(0)
		run.ExternalID = fmt.Sprintf("vg1:%d", i)
		if _, err := c.CreateCheckRun(context.Background(), run); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.CheckRuns(context.Background(), one, checkRun(0).Name)
	if err != nil || len(got) != 120 || got[119].ExternalID != "vg1:119" || got[0].Status != "completed" || got[0].Conclusion != "failure" {
		t.Errorf("%d, %v", len(got), err)
	}
	if got, err := c.CheckRuns(context.Background(), one, "another"); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	w.fail("GET /commits/"+one+"/check-runs", says(200, "{}"))
	_, err = c.CheckRuns(context.Background(), one, "another")
	faulty(t, err, fault.ActionForgeUnreachable, "lacks the list")

	for _, n := range []int{0, 60} {
		run := checkRun(n)
		run.Summary = fmt.Sprintf("new %d", n)
		if err := c.UpdateOutput(context.Background(), 3, run); err != nil {
			t.Error(err)
		}
		if output := w.runs[2]["output"].(map[string]any); output["summary"] != run.Summary || output["annotations_count"] != n {
			t.Errorf("%v", output)
		}
	}
}

// Whose a check-run is, a change that changes nothing says.
func TestOwns(t *testing.T) {
	w := newWorld(t)
	for status, want := range map[int]bool{200: true, 403: false} {
		w.fail("PATCH /check-runs/7", says(status, `{"id":7,"message":"Invalid app_id"}`))
		if got, err := w.client().Owns(context.Background(), Posted{ID: 7, ExternalID: "x"}); got != want || err != nil {
			t.Errorf("%d: %v, %v", status, got, err)
		}
	}
	w.fail("PATCH /check-runs/7", says(404, `{"message":"Not Found"}`))
	if got, err := w.client().Owns(context.Background(), Posted{ID: 7, ExternalID: "x"}); got || err == nil {
		t.Errorf("not to be seen: %v, %v", got, err)
	}
}

func TestStoreAttestation(t *testing.T) {
	w := newWorld(t)
	w.mux.HandleFunc("POST "+under+"/attestations", func(rw http.ResponseWriter, r *http.Request) {
		var in struct{ Bundle struct{ MediaType string } }
		must(t, json.NewDecoder(r.Body).Decode(&in))
		if in.Bundle.MediaType != "x" {
			t.Errorf("%+v", in)
		}
		answer(rw, 201, object{"id": 77})
	})
	w.fail("POST /attestations", says(500, ""))
	if id, err := w.client().StoreAttestation(context.Background(), []byte(`{"mediaType":"x"}`)); err != nil || id != 77 {
		t.Errorf("%d, %v", id, err)
	}
	w.fail("POST /attestations", says(403, `{"message":"Resource not accessible by integration"}`))
	_, err := w.client().StoreAttestation(context.Background(), []byte(`{"mediaType":"x"}`))
	faulty(t, err, fault.ActionPermissionMissing, "`attestations: write`")
	_, err = w.client().StoreAttestation(context.Background(), []byte(`{`))
	faulty(t, err, fault.ActionReportFailed)
}
