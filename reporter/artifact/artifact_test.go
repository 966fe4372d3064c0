package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/bundle/bundletest"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/unpack"
)

// large makes a folder with one file of this size, without a byte on the disk.
func large(t *testing.T, size int64) string {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "large")
	if err := errors.Join(os.WriteFile(name, []byte("begin"), 0o600), os.Truncate(name, size)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// wantNoLeftovers sees that the temporary file is gone.
func wantNoLeftovers(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestUpload(t *testing.T) {
	for _, camel := range []bool{false, true} {
		s := bundletest.Write(t, bundletest.Content(t))
		d := newDouble(t)
		d.camel = camel
		c, got := d.config(t)
		up, err := Upload(t.Context(), c, "gate-x", s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if want := (Uploaded{ID: 4711, Name: "gate-x", URL: "https://github.com/acme/shop/actions/runs/99/artifacts/4711", Digest: sha256.Sum256(d.blob), Bytes: int64(len(d.blob))}); up != want {
			t.Errorf("got %+v\nwant %+v", up, want)
		}
		if q := d.asked[creates]; fmt.Sprint(q) != "map[mime_type:application/zip name:gate-x version:7 workflow_job_run_backend_id:job-id workflow_run_backend_id:run-id]" {
			t.Errorf("asked %v", q)
		}
		if q := d.asked[finalizes]; q["workflow_run_backend_id"] != "run-id" || q["workflow_job_run_backend_id"] != "job-id" || q["name"] != "gate-x" || q["hash"] != up.Digest.String() {
			t.Errorf("asked %v", q)
		}
		if want := []string{"Bearer " + c.Token, "Bearer " + c.Token}; !slices.Equal(d.auth, want) {
			t.Errorf("authorised by %q", d.auth)
		}
		for _, secret := range []string{c.Token, signedRaw, signedMeant, signedAgain} {
			if !slices.Contains(got.masked, secret) {
				t.Errorf("%q is not masked", secret)
			}
		}
		if !slices.Equal(got.sent, []int64{up.Bytes}) || len(got.waits) > 0 {
			t.Errorf("told %v, waited %v", got.sent, got.waits)
		}
		wantHidden(t, c, got, nil)
		wantNoLeftovers(t)

		name := filepath.Join(t.TempDir(), "x.zip")
		if err := os.WriteFile(name, d.blob, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := unpack.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		back, err := bundle.Read(b.Dir)
		if err != nil || back.Attestation.AttestationDigest != s.Attestation.AttestationDigest || len(back.Unknown) > 0 {
			t.Errorf("read back: %v", err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestServers(t *testing.T) {
	for server, here := range map[string]bool{
		"": true, "https://github.com": true, "https://GitHub.com/": true, "https://acme.ghe.com": true,
		"https://ghe.com": false, "https://github.example.com": false, "https://github.com.example.com": false, "https://notghe.com": false, "github.com": false, "://": false,
	} {
		d := newDouble(t)
		c, got := d.config(t)
		c.ServerURL = server
		up, err := Upload(t.Context(), c, "n", large(t, 10))
		if errors.Is(err, ErrUnsupported) == here || here && err != nil {
			t.Errorf("%q: %v", server, err)
		}
		if f := fault.As(err); !here && (f.Code != fault.ActionUploadFailed || !strings.Contains(f.Fix, "actions/upload-artifact@v3") || !strings.Contains(f.Fix, "bundle-path") || len(got.masked) > 0) {
			t.Errorf("%q: %v: %s", server, f, f.Fix)
		}
		if here && !strings.HasPrefix(up.URL, strings.TrimSuffix(c.server(), "/")+"/acme/shop/") {
			t.Errorf("%q: %s", server, up.URL)
		}
	}
}

func TestMissingVariables(t *testing.T) {
	dir := large(t, 10)
	c, _ := newDouble(t).config(t)
	env := map[string]string{tokenVariable: c.Token, resultsVariable: c.ResultsURL, repositoryVariable: "acme/shop", runVariable: "99"}
	for name := range env {
		c := c.FromEnv(func(v string) string {
			if v == name {
				return ""
			}
			return env[v]
		})
		_, err := Upload(t.Context(), c, "n", dir)
		if !errors.Is(err, ErrNotInJob) || errors.Is(err, ErrUnsupported) || fault.As(err).Code != fault.ActionUploadFailed || !strings.Contains(err.Error(), name+" not set") {
			t.Errorf("without %s: %v", name, err)
		}
	}
	_, err := Upload(t.Context(), c.FromEnv(func(string) string { return "" }), "n", dir)
	if !strings.Contains(err.Error(), "ACTIONS_RUNTIME_TOKEN, ACTIONS_RESULTS_URL, ") {
		t.Error(err)
	}
	if _, err := Upload(t.Context(), c.FromEnv(func(v string) string { return env[v] }), "n", dir); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"results", "ftp://x", "https://", "http://[::1", "://x"} {
		c.ResultsURL = address
		if _, err := Upload(t.Context(), c, "n", dir); fault.As(err).Code != fault.ActionUploadFailed || !strings.Contains(err.Error(), resultsVariable) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestTokens(t *testing.T) {
	dir := large(t, 10)
	for token, why := range map[string]string{
		"x":                                      "three parts",
		"a.b":                                    "three parts",
		"a.b.c.d":                                "three parts",
		"a.%%%.c":                                "base64url",
		"a.bm90IGpzb24.c":                        "not the JSON",
		"a.eyJzY3AiOjd9.c":                       "not the JSON",
		jwt(""):                                  "no scope",
		jwt("Actions.GenericRead:1:2"):           "no scope",
		jwt("Actions.ResultsX:a:b"):              "no scope",
		jwt("Actions.Results:a"):                 "one run and one job",
		jwt("Actions.Results:a:b:c"):             "one run and one job",
		jwt("Actions.Results:a:"):                "one run and one job",
		jwt("Actions.Results::b"):                "one run and one job",
		"a." + strings.Repeat("x", 1<<20) + ".c": "at most",
	} {
		d := newDouble(t)
		c, got := d.config(t)
		c.Token = token
		_, err := Upload(t.Context(), c, "n", dir)
		if f := fault.As(err); f.Code != fault.ActionUploadFailed || !strings.Contains(f.Message, tokenVariable) || !strings.Contains(f.Message, why) || len(f.Message) > 300 || d.count(creates) > 0 {
			t.Errorf("%.40q: %v", token, err)
		}
		if len(token) > 20 {
			wantHidden(t, c, got, err)
		}
	}
	// Some libraries pad.
	if ids, err := parseToken("a.eyJzY3AiOiJBY3Rpb25zLlJlc3VsdHM6MTI6MzQ1In0=.c"); err != nil || ids != (backend{"12", "345"}) {
		t.Error(ids, err)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "gate-checkout v1 (ubuntu, 1.26)", "prüfung.zip", strings.Repeat("n", maxName)} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
	}
	bad := []string{"", strings.Repeat("n", maxName+1), "a\x00", "a\tb", "a\x7f", "\xff"}
	for _, r := range "\":<>|*?\\/\r\n" {
		bad = append(bad, "a"+string(r)+"b")
	}
	dir := large(t, 10)
	for _, name := range bad {
		d := newDouble(t)
		c, _ := d.config(t)
		_, err := Upload(t.Context(), c, name, dir)
		if f := fault.As(err); f.Code != fault.ActionInputInvalid || !strings.Contains(f.Message, "artifact-name") || strings.ContainsAny(f.Message, "\r\n\x00") || d.count(creates) > 0 {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestNameTaken(t *testing.T) {
	d := newDouble(t)
	c, _ := d.config(t)
	dir := large(t, 10)
	if _, err := Upload(t.Context(), c, "n", dir); err != nil {
		t.Fatal(err)
	}
	c, got := d.config(t)
	_, err := Upload(t.Context(), c, "n", dir)
	f := fault.As(err)
	if f.Code != fault.ActionUploadFailed || !strings.Contains(f.Message, "name is taken") || strings.Contains(f.Message, "earlier try") || !strings.Contains(f.Fix, "artifact-name") || f.Details["artifact"] != "n" || len(got.waits) > 0 {
		t.Errorf("%v: %s %v", f, f.Fix, f.Details)
	}

	// The name may have been taken by the very try that got no answer: another is taken
	// then, once, and told.
	d.plan = func(step string, n int) int {
		if step == creates && (n == 3 || n == 6) {
			return forget
		}
		return serve
	}
	c, _ = d.config(t)
	switch up, err := Upload(t.Context(), c, "m", dir); {
	case err != nil:
		t.Error(err)
	case up.Name != "m-2" || !d.names["m-2"] || !strings.Contains(up.Note, "is called m-2: the name m was taken") || d.asked[finalizes]["name"] != "m-2":
		t.Errorf("%+v", up)
	}
	d.names["o-2"] = true
	c, got = d.config(t)
	if _, err = Upload(t.Context(), c, "o", dir); fault.As(err).Code != fault.ActionUploadFailed || fault.As(err).Details["artifact"] != "o-2" || d.count(creates) != 8 {
		t.Errorf("%v after %d tries", err, d.count(creates))
	}
	wantHidden(t, c, got, err)
	for in, want := range map[string]string{"n": "n-2", strings.Repeat("x", maxName): strings.Repeat("x", maxName-2) + "-2", strings.Repeat("x", maxName-3) + "äy": strings.Repeat("x", maxName-3) + "-2"} {
		if got := second(in); got != want || CheckName(got) != nil {
			t.Errorf("beside %q, %q", in, got)
		}
	}
}

func TestRetention(t *testing.T) {
	for _, test := range []struct {
		days       int
		most, want string
		note       bool
	}{
		{0, "90", "", false},
		{0, "", "", false},
		{5, "90", "2026-12-06T10:00:00Z", false},
		{90, "90", "2027-03-01T10:00:00Z", false},
		{91, "90", "2027-03-01T10:00:00Z", true},
		{400, "", "2028-01-05T10:00:00Z", false},
		{5, "0", "2026-12-06T10:00:00Z", false},
		{5, "many", "2026-12-06T10:00:00Z", false},
	} {
		d := newDouble(t)
		c, _ := d.config(t)
		c.Retention, c.MaxRetention = test.days, test.most
		up, err := Upload(t.Context(), c, "n", large(t, 10))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := d.asked[creates]["expires_at"].(string); got != test.want {
			t.Errorf("%d of %q: kept until %q, want %q", test.days, test.most, got, test.want)
		}
		if (up.Note != "") != test.note || test.note && !strings.Contains(up.Note, "90 days and not for 91") {
			t.Errorf("%d of %q: %q", test.days, test.most, up.Note)
		}
	}
	c, _ := newDouble(t).config(t)
	c.Retention = -1
	if _, err := Upload(t.Context(), c, "n", large(t, 10)); fault.As(err).Code != fault.ActionInputInvalid {
		t.Error(err)
	}
}

// TestPassingFailures: each step is tried again after what passes.
func TestPassingFailures(t *testing.T) {
	for _, step := range []string{creates, blocks, commits, finalizes} {
		for _, do := range []int{429, 500, 502, 503, 504, cut} {
			d := newDouble(t)
			d.plan = func(at string, n int) int {
				if at == step && n < attempts {
					return do
				}
				return serve
			}
			c, got := d.config(t)
			if _, err := Upload(t.Context(), c, "n", large(t, 10)); err != nil {
				t.Errorf("%s %d: %v", step, do, err)
			}
			if d.count(step) != attempts || len(got.waits) != attempts-1 || got.waits[0] < firstPause || !slices.IsSorted(got.waits) {
				t.Errorf("%s %d: %d attempts, waited %v", step, do, d.count(step), got.waits)
			}
			wantHidden(t, c, got, nil)
		}
	}
}

// TestLastingFailures: what stays is said, without a secret, and without
// another try where the service refused.
func TestLastingFailures(t *testing.T) {
	for _, step := range []string{creates, blocks, commits, finalizes} {
		for do, tries := range map[int]int{500: attempts, 429: attempts, cut: attempts, 400: 1, 401: 1, 403: 1, 404: 1, 302: 1} {
			d := newDouble(t)
			d.plan = func(at string, n int) int {
				if at == step {
					return do
				}
				return serve
			}
			c, got := d.config(t)
			up, err := Upload(t.Context(), c, "n", large(t, 10))
			if f := fault.As(err); up != (Uploaded{}) || f.Code != fault.ActionUploadFailed || f.Fix == "" || strings.ContainsAny(f.Message, "\r\n") || do > 0 && !strings.Contains(f.Message, fmt.Sprint(do)) {
				t.Errorf("%s %d: %+v %v", step, do, up, err)
			}
			if d.count(step) != tries {
				t.Errorf("%s %d: %d attempts, want %d", step, do, d.count(step), tries)
			}
			wantHidden(t, c, got, err)
			wantNoLeftovers(t)
		}
	}
}

func TestOddAnswers(t *testing.T) {
	for _, test := range []struct{ step, body, why string }{
		{creates, `{"ok":false,"signed_upload_url":"http://127.0.0.1/x?sig=aB3/xY9+q=="}`, "without an address"},
		{creates, `{"ok":true}`, "without an address"},
		{creates, `<html>aB3/xY9+q==`, "not understood"},
		{creates, `{"ok":true,"signed_upload_url":"blob?sig=aB3/xY9+q=="}`, "that is none"},
		{creates, `{"ok":true,"signed_upload_url":"http://user:password@127.0.0.1/x?sig=aB3/xY9+q=="}`, "that is none"},
		{creates, `{"ok":true,"signed_upload_url":"http://127.0.0.1:x/?sig=aB3/xY9+q=="}`, "that is none"},
		{creates, `{"ok":true,"signed_upload_url":"` + strings.Repeat("x", 1<<20) + `"}`, "more than"},
		{finalizes, `{"ok":true}`, "without the number"},
		{finalizes, `{"ok":false,"artifact_id":"7"}`, "without the number"},
		{finalizes, `{"ok":true,"artifact_id":"0"}`, "without the number"},
		{finalizes, `{"ok":true,"artifact_id":"x"}`, "not understood"},
		{finalizes, `{"ok":true,"artifact_id":"1.5"}`, "without the number"},
	} {
		d := newDouble(t)
		d.answer = func(step string) (string, bool) { return test.body, step == test.step }
		c, got := d.config(t)
		_, err := Upload(t.Context(), c, "n", large(t, 10))
		if f := fault.As(err); f.Code != fault.ActionUploadFailed || !strings.Contains(f.Message, test.why) {
			t.Errorf("%.60s: %v", test.body, err)
		}
		wantHidden(t, c, got, err)
	}
}

// TestNotInTheClear: a signature that came over TLS does not leave without it.
func TestNotInTheClear(t *testing.T) {
	d := newDouble(t)
	c, _ := d.config(t)
	c.ResultsURL = "https://" + strings.TrimPrefix(d.URL, "http://")
	c.Transport = clear{d.Client().Transport}
	if _, err := Upload(t.Context(), c, "n", large(t, 10)); !strings.Contains(fmt.Sprint(err), "not encrypted") || d.count(creates) != 1 || d.count(blocks) != 0 {
		t.Error(err)
	}
}

// clear takes the encryption away.
type clear struct{ to http.RoundTripper }

func (c clear) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "http"
	return c.to.RoundTrip(r)
}

// TestSeveralBlocks: blocks that come in any order, some of them again, make the
// archive.
func TestSeveralBlocks(t *testing.T) {
	d := newDouble(t)
	d.plan = func(step string, n int) int {
		if step == blocks && n%2 == 1 {
			return []int{503, cut, forget}[n/2%3]
		}
		return serve
	}
	dir := t.TempDir()
	data := make([]byte, 2*blockSize+blockSize/2)
	for i := range data {
		data[i] = byte(i >> 16 * 7)
	}
	if err := os.WriteFile(filepath.Join(dir, "data"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, got := d.config(t)
	up, err := Upload(t.Context(), c, "n", dir)
	if err != nil {
		t.Fatal(err)
	}
	var archived bytes.Buffer
	if err := Zip(t.Context(), &archived, dir); err != nil || !bytes.Equal(archived.Bytes(), d.blob) {
		t.Errorf("another archive came to be: %v", err)
	}
	if len(d.staged) != 3 || len(got.sent) != 3 || !slices.IsSorted(got.sent) || got.sent[2] != up.Bytes {
		t.Errorf("%d blocks, told %v of %d", len(d.staged), got.sent, up.Bytes)
	}
	wantHidden(t, c, got, nil)
}

// TestMemory: an upload takes some blocks of memory, whatever its size.
func TestMemory(t *testing.T) {
	const size, allowed = 256 << 20, 96 << 20
	d := newDouble(t)
	d.discard = true
	c, _ := d.config(t)
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, uint64(0)
	c.Progress = func(int64, int64) {
		runtime.ReadMemStats(&stats)
		most = max(most, stats.HeapAlloc)
	}
	if _, err := Upload(t.Context(), c, "n", large(t, size)); err != nil {
		t.Fatal(err)
	}
	if most == 0 || most > before+allowed {
		t.Errorf("%d MiB of heap for an archive of %d MiB", (most-before)>>20, size>>20)
	}
	if d.most > parallel || len(d.sizes) != size/blockSize+1 || slices.Max(d.sizes) > blockSize {
		t.Errorf("%d blocks at a time, %d in all", d.most, len(d.sizes))
	}
	wantNoLeftovers(t)
}

func TestCancelled(t *testing.T) {
	why := errors.New("the job was cancelled")
	for _, step := range []string{"", creates, blocks, commits, finalizes} {
		ctx, cancel := context.WithCancelCause(t.Context())
		d := newDouble(t)
		d.plan = func(at string, n int) int {
			if at == step {
				cancel(why)
				return cut
			}
			return serve
		}
		if step == "" {
			cancel(why)
		}
		c, _ := d.config(t)
		if _, err := Upload(ctx, c, "n", large(t, 3*blockSize)); !errors.Is(err, why) {
			t.Errorf("at %q: %v", step, err)
		}
		wantNoLeftovers(t)
	}
}

func TestNowhereToWrite(t *testing.T) {
	c, _ := newDouble(t).config(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if _, err := Upload(t.Context(), c, "n", large(t, 10)); fault.As(err).Code != fault.ActionUploadFailed || !strings.Contains(fault.As(err).Fix, "TMPDIR") {
		t.Error(err)
	}
}

// TestPauses: as long as npm's client waits, in all, before it gives up.
func TestPauses(t *testing.T) {
	d := newDouble(t)
	d.plan = func(string, int) int { return 503 }
	c, got := d.config(t)
	if _, err := Upload(t.Context(), c, "n", large(t, 10)); err == nil {
		t.Fatal("no error")
	}
	var all time.Duration
	for _, wait := range got.waits {
		all += wait
	}
	if all < 24*time.Second || all > time.Minute {
		t.Errorf("waited %v: %v", all, got.waits)
	}
}
