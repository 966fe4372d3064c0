package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// The steps of an upload, as double counts them.
const (
	creates   = "CreateArtifact"
	blocks    = "block"
	commits   = "commit"
	finalizes = "FinalizeArtifact"
)

// What double does with a request, beside a status that it answers with.
const (
	serve  = 0
	cut    = -1 // closes the connection without an answer
	forget = -2 // does what is asked, and closes the connection
)

// signed is the signature of the upload's address: with every character that some
// code escapes and other code does not.
const (
	signedRaw   = "aB3%2fxY9+q%3D%3d"
	signedMeant = "aB3/xY9+q=="
	signedAgain = "aB3%2FxY9%2Bq%3D%3D"
	signedSpace = "aB3%2FxY9%20q%3D%3D"
)

// double stands for the results service and for the blob store behind it.
type double struct {
	*httptest.Server
	t *testing.T

	// plan says what to do with the n-th request of a step, from 1.
	plan func(step string, n int) int
	// answer, when it gives one, is answered to a step instead of what is right.
	answer  func(step string) (body string, ok bool)
	camel   bool
	discard bool // keep no blocks, and believe sizes and digests

	mu       sync.Mutex
	seen     map[string]int
	asked    map[string]map[string]any // the last question of each step
	auth     []string
	staged   map[string][]byte
	blob     []byte
	sizes    []int
	at, most int // blocks under way, and the most of them
	names    map[string]bool
}

func newDouble(t *testing.T) *double {
	d := &double{t: t, seen: map[string]int{}, asked: map[string]map[string]any{}, staged: map[string][]byte{}, names: map[string]bool{}}
	d.Server = httptest.NewServer(d)
	d.Config.ErrorLog = nil
	t.Cleanup(d.Close)
	return d
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	step, _ := strings.CutPrefix(r.URL.Path, servicePath)
	if r.Method == http.MethodPut {
		step = map[string]string{"block": blocks, "blocklist": commits}[r.URL.Query().Get("comp")]
	}
	d.mu.Lock()
	d.seen[step]++
	n := d.seen[step]
	if step == blocks {
		d.at++
		d.most = max(d.most, d.at)
		defer func() {
			d.mu.Lock()
			d.at--
			d.mu.Unlock()
		}()
	}
	d.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client gave up
	}
	do := serve
	if d.plan != nil {
		do = d.plan(step, n)
	}
	if do == cut {
		panic(http.ErrAbortHandler)
	}
	if do > 0 {
		// A service that quotes what it was sent: nothing of that may come out.
		w.WriteHeader(do)
		fmt.Fprintf(w, `{"code":"c","msg":"why %s %s https://store/?SIG=%s"`, r.Header.Get("Authorization"), r.URL.RawQuery, signedRaw)
		if step != creates {
			io.WriteString(w, signedMeant+signedAgain)
		}
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	status, text := d.serve(step, r, body)
	if d.answer != nil {
		if other, ok := d.answer(step); ok {
			status, text = http.StatusOK, other
		}
	}
	if do == forget {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	io.WriteString(w, text)
}

func (d *double) serve(step string, r *http.Request, body []byte) (int, string) {
	switch step {
	case blocks:
		d.sizes = append(d.sizes, len(body))
		if !d.discard {
			d.staged[r.URL.Query().Get("blockid")] = body
		}
		return http.StatusCreated, ""
	case commits:
		var list struct{ Latest []string }
		if err := xml.Unmarshal(body, &list); err != nil {
			d.t.Error(err)
		}
		d.blob = nil
		for _, id := range list.Latest {
			d.blob = append(d.blob, d.staged[id]...)
		}
		if got := r.Header.Get("x-ms-blob-content-type"); got != mediaType {
			d.t.Errorf("the blob's type is %q", got)
		}
		return http.StatusCreated, ""
	}
	d.auth = append(d.auth, r.Header.Get("Authorization"))
	q := map[string]any{}
	if err := json.Unmarshal(body, &q); err != nil {
		d.t.Errorf("%s: %v", step, err)
	}
	d.asked[step] = q
	name, _ := q["name"].(string)
	spell := func(snake, camel string) string {
		if d.camel {
			return camel
		}
		return snake
	}
	switch step {
	case creates:
		if d.names[name] {
			return http.StatusConflict, `{"code":"already_exists","msg":"an artifact with this name already exists on the workflow run"}`
		}
		d.names[name] = true
		return http.StatusOK, fmt.Sprintf(`{"ok":true,%q:%q}`, spell("signed_upload_url", "signedUploadUrl"), d.URL+"/store/blob?sv=2025-01-01&sig="+signedRaw+"&sp=cw")
	case finalizes:
		sum := sha256.Sum256(d.blob)
		if got := fmt.Sprintf("sha256:%x", sum); !d.discard && (got != q["hash"] || fmt.Sprint(len(d.blob)) != q["size"]) {
			return http.StatusBadRequest, `{"code":"invalid_argument","msg":"size or hash mismatch"}`
		}
		if d.camel {
			return http.StatusOK, `{"ok":true,"artifactId":4711}`
		}
		return http.StatusOK, `{"ok":true,"artifact_id":"4711"}`
	}
	return http.StatusNotFound, "no such step: " + step
}

func (d *double) count(step string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[step]
}

// jwt is a token of a runner, of which only the scopes are read.
func jwt(scopes string) string {
	payload, err := json.Marshal(map[string]any{"scp": scopes})
	if err != nil {
		panic(err)
	}
	return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString(payload) + ".c2lnbmF0dXJl"
}

// told is what an upload told its caller meanwhile.
type told struct {
	mu     sync.Mutex
	lines  []string
	masked []string
	waits  []time.Duration
	sent   []int64
}

// config is what an upload to double needs.
func (d *double) config(t *testing.T) (Config, *told) {
	t.Setenv("TMPDIR", t.TempDir())
	got := &told{}
	created, sent := d.count(creates), d.count(blocks)
	line := func(text string) {
		got.mu.Lock()
		defer got.mu.Unlock()
		got.lines = append(got.lines, text)
	}
	return Config{
		Token: jwt("Actions.Other:1 Actions.Results:run-id:job-id Actions.More"), ResultsURL: d.URL + "/some/path", ServerURL: "https://github.com",
		Repository: "acme/shop", RunID: "99",
		Mask: func(secret string) {
			// Every secret is told before the request that could show it.
			if secret == signedMeant && d.count(blocks) > sent || strings.HasPrefix(secret, "eyJ") && d.count(creates) > created {
				t.Errorf("%q is masked too late", secret)
			}
			got.masked = append(got.masked, secret)
		},
		Transport: d.Client().Transport, Warn: line, Debug: line,
		Wait: func(ctx context.Context, wait time.Duration) error {
			got.mu.Lock()
			defer got.mu.Unlock()
			got.waits = append(got.waits, wait)
			return ctx.Err()
		},
		Now:      func() time.Time { return time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC) },
		Progress: func(sent, total int64) { got.sent = append(got.sent, sent) },
	}, got
}

// wantHidden looks for secrets in everything that an error shows, and in what
// was told.
func wantHidden(t *testing.T, c Config, got *told, err error) {
	t.Helper()
	texts := slices.Clone(got.lines)
	for e := err; e != nil; e = errors.Unwrap(e) {
		texts = append(texts, e.Error(), fmt.Sprintf("%+v", e))
		if f, ok := e.(*fault.Error); ok {
			texts = append(texts, f.Message, f.Fix, fmt.Sprint(f.Details))
		}
	}
	for _, text := range texts {
		for _, secret := range []string{signedRaw, signedMeant, signedAgain, signedSpace, strings.ReplaceAll(signedMeant, "+", " "), c.Token, strings.Split(c.Token+"..", ".")[1]} {
			if secret != "" && strings.Contains(text, secret) {
				t.Errorf("%q holds the secret %q", text, secret)
			}
		}
	}
}
