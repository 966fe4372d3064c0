package retry

import (
	"context"
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
)

// world is a service that gives its answers in order, and the last one for ever.
type world struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // method and body
}

// asked gives the requests so far.
func (w *world) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

type reply struct {
	status int
	header map[string]string
	body   string
	cut    bool // hang up in place of an answer
}

func serve(t *testing.T, replies ...reply) *world {
	w := &world{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.mu.Lock()
		answer := replies[min(len(w.requests), len(replies)-1)]
		w.requests = append(w.requests, r.Method+" "+string(body))
		w.mu.Unlock()
		if answer.cut {
			panic(http.ErrAbortHandler)
		}
		for name, value := range answer.header {
			rw.Header().Set(name, value)
		}
		rw.WriteHeader(answer.status)
		fmt.Fprint(rw, answer.body)
	}))
	t.Cleanup(w.Close)
	return w
}

// asking is a client of it, and how long it would have waited.
type asking struct {
	Client
	waited []time.Duration
	warned []string
}

func github() *asking {
	a := &asking{}
	a.Client = Client{GitHub: true, MaxPause: 70 * time.Second, MaxWait: 3 * time.Minute,
		Once: func(r *http.Request) bool { return r.Method == http.MethodPost },
		Warn: func(text string) { a.warned = append(a.warned, text) },
		Wait: func(ctx context.Context, d time.Duration) error {
			a.waited = append(a.waited, d)
			return ctx.Err()
		}}
	return a
}

func (a *asking) do(t *testing.T, method, url, body string) (string, error) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := a.HTTP(context.Background()).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.Status + " " + string(data), err
}

const token = "ghs_0123456789"

var fine = reply{status: 200, body: "fine"}

// GitHub's limits pass, in each of the forms in which they come, and are waited
// for as long as they ask.
func TestGitHubLimits(t *testing.T) {
	date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(d time.Duration) map[string]string {
		return map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(date.Add(d).Unix()), "Date": date.Format(http.TimeFormat)}
	}
	for name, c := range map[string]struct {
		reply reply
		least time.Duration
	}{
		"Retry-After":    {reply{status: 403, header: map[string]string{"Retry-After": "7"}}, 7 * time.Second},
		"primary":        {reply{status: 403, header: at(20 * time.Second)}, 20 * time.Second},
		"primary, 429":   {reply{status: 429, header: at(20 * time.Second)}, 20 * time.Second},
		"reset is past":  {reply{status: 403, header: at(-time.Hour)}, time.Second},
		"secondary":      {reply{status: 403, body: `{"message":"You have exceeded a secondary rate limit."}`}, time.Minute},
		"secondary, 429": {reply{status: 429, body: "{}"}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			for _, method := range []string{"GET", "POST"} {
				w, a := serve(t, c.reply, fine), github()
				if got, err := a.do(t, method, w.URL, "body"); err != nil || got != "200 OK fine" {
					t.Errorf("%q, %v", got, err)
				}
				if !slices.Equal(w.asked(), []string{method + " body", method + " body"}) {
					t.Errorf("%q", w.asked())
				}
				if len(a.waited) != 1 || a.waited[0] < c.least || a.waited[0] > c.least+2*time.Second {
					t.Errorf("waited %v, asked was for %s", a.waited, c.least)
				}
			}
		})
	}
	t.Run("too far away", func(t *testing.T) {
		for _, r := range []reply{{status: 403, header: at(time.Hour)}, {status: 429, header: map[string]string{"Retry-After": "3600"}}} {
			w, a := serve(t, r, fine), github()
			_, err := a.do(t, "GET", w.URL, "")
			if err == nil || !strings.Contains(err.Error(), "a limit of GitHub's API") || len(w.asked()) != 1 {
				t.Errorf("%v after %d requests", err, len(w.asked()))
			}
			if r.header["Retry-After"] == "" && !strings.Contains(err.Error(), "2026-01-02T04:04:05Z") {
				t.Errorf("%v does not say when it ends", err)
			}
		}
	})
	t.Run("for ever", func(t *testing.T) {
		w, a := serve(t, reply{status: 403, body: "secondary rate limit"}), github()
		a.Attempts = 100
		_, err := a.do(t, "GET", w.URL, "")
		if err == nil || len(w.asked()) != 4 || len(a.waited) != 3 {
			t.Errorf("%v after %d requests, waited %v", err, len(w.asked()), a.waited)
		}
	})
	t.Run("is none", func(t *testing.T) {
		for _, r := range []reply{{status: 403, body: "Resource not accessible by integration", header: map[string]string{"X-RateLimit-Remaining": "4999"}}, {status: 404}, {status: 422}} {
			w, a := serve(t, r), github()
			got, err := a.do(t, "GET", w.URL, "")
			if err != nil || !strings.HasPrefix(got, fmt.Sprint(r.status)) || len(w.asked()) != 1 {
				t.Errorf("%q, %v after %d requests", got, err, len(w.asked()))
			}
		}
	})
	t.Run("of another service", func(t *testing.T) {
		w, a := serve(t, reply{status: 403, header: map[string]string{"Retry-After": "7"}}), github()
		a.GitHub = false
		if got, err := a.do(t, "GET", w.URL, ""); err != nil || got != "403 Forbidden " || len(w.asked()) != 1 {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// What may have been done is not done again; what has certainly not been, is.
func TestOnce(t *testing.T) {
	for name, r := range map[string]reply{"cut": {cut: true}, "502": {status: 502}, "500": {status: 500, body: "oops"}} {
		t.Run(name, func(t *testing.T) {
			w, a := serve(t, r, fine), github()
			_, err := a.do(t, "POST", w.URL, "x")
			var unsure *UnsureError
			if !errors.As(err, &unsure) || len(w.asked()) != 1 {
				t.Errorf("%v after %d requests", err, len(w.asked()))
			}
			w = serve(t, r, fine)
			if got, err := a.do(t, "GET", w.URL, ""); err != nil || got != "200 OK fine" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	w, a := serve(t, fine), github()
	w.Close()
	_, err := a.do(t, "POST", w.URL, "x")
	var unsure *UnsureError
	if err == nil || errors.As(err, &unsure) || len(a.waited) != 3 {
		t.Errorf("nobody there: %v, waited %v", err, a.waited)
	}
}

func TestRedirects(t *testing.T) {
	w, a := serve(t, reply{status: 302, header: map[string]string{"Location": "http://127.0.0.1:1/"}}), github()
	if _, err := a.do(t, "GET", w.URL, ""); err == nil || !strings.Contains(err.Error(), "a redirect is not followed") {
		t.Errorf("%v", err)
	}
	a.Redirects = true
	if got, err := a.do(t, "GET", w.URL, ""); err != nil || got != "302 Found " {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTooLarge(t *testing.T) {
	w, a := serve(t, reply{status: 200, body: "12345"}), github()
	a.MaxBody = 5
	if got, err := a.do(t, "PUT", w.URL, "12345"); err != nil || got != "200 OK 12345" {
		t.Errorf("%q, %v", got, err)
	}
	a.MaxBody = 4
	for _, body := range []string{"12345", ""} {
		_, err := a.do(t, "PUT", w.URL, body)
		if err == nil || !strings.Contains(err.Error(), "more than 4 bytes") || len(a.waited) != 0 {
			t.Errorf("%v, waited %v", err, a.waited)
		}
	}
}

// No secret is in what is said, whoever quotes it.
func TestSecretsAreHidden(t *testing.T) {
	w, a := serve(t, reply{status: 500, body: "you sent " + token + " and sig=abc"}), github()
	a.Secrets = Secrets{"sig=abc"}
	var traced []string
	a.Debug = func(text string) { traced = append(traced, text) }
	_, err := a.do(t, "GET", w.URL+"/path?q=hidden", "")
	if err == nil {
		t.Fatal("no error")
	}
	said := strings.Join(append(append(a.warned, traced...), errors.Unwrap(err).Error()), "\n")
	for _, secret := range []string{token, "sig=abc", "hidden"} {
		if strings.Contains(said, secret) {
			t.Errorf("%s stands in %s", secret, said)
		}
	}
	if !strings.Contains(said, "you sent [redacted]") || len(traced) != 4 || !strings.Contains(traced[3], "/path (attempt 4): 500") {
		t.Errorf("%s", said)
	}
}

// proxy fails, and quotes what it was sent.
type proxy struct{}

func (proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("the proxy does not like %s", r.Header.Get("Authorization"))
}

func TestQuotedSecret(t *testing.T) {
	a := github()
	a.Base = proxy{}
	for _, method := range []string{"GET", "POST"} {
		_, err := a.do(t, method, "http://127.0.0.1/", "")
		if said := fmt.Sprint(err, a.warned); strings.Contains(said, token) || !strings.Contains(said, "the proxy does not like Bearer [redacted]") {
			t.Error(said)
		}
	}
}

// What streams is tried again until an answer of success comes, has no bound, and ends with
// its context.
func TestStream(t *testing.T) {
	w := serve(t, reply{status: 500, body: "sorry"}, reply{status: 200, body: strings.Repeat("x", 100)})
	a := github()
	a.Stream, a.MaxBody = true, 10
	resp, err := a.HTTP(t.Context()).Get(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) != 100 || len(w.asked()) != 2 || resp.Body.Close() != nil {
		t.Errorf("%q, %v, asked %q", body, err, w.asked())
	}
	// A failure is read, and bounded, as without.
	failing := serve(t, reply{status: 404, body: strings.Repeat("x", 100)})
	if _, err := a.HTTP(t.Context()).Get(failing.URL); err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("%v", err)
	}
	hangs := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprint(rw, "x")
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	for name, ends := range map[string]bool{"the client's context": true, "the time of an attempt": false} {
		ctx, cancel := context.WithCancel(t.Context())
		client := a.Client
		if !ends {
			client.AttemptTime = 50 * time.Millisecond
		}
		resp, err := client.HTTP(ctx).Get(hangs.URL)
		if err != nil {
			t.Fatal(err)
		}
		if ends {
			cancel()
		}
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%s ends nothing", name)
		}
		resp.Body.Close()
		cancel()
	}
}
