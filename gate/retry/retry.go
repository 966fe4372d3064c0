package retry

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Client says how requests are made. The zero value of a field stands for what
// its comment says.
type Client struct {
	Base        http.RoundTripper                          // http.DefaultTransport
	Wait        func(context.Context, time.Duration) error // Pause
	Attempts    int                                        // how often one request is made at most: 4
	AttemptTime time.Duration                              // of one attempt, with its answer: 30 s
	FirstPause  time.Duration                              // before the second attempt, then twice as long each time: 1 s
	MaxPause    time.Duration                              // the longest pause, also when a service asks for a longer one: 30 s
	MaxWait     time.Duration                              // of all pauses of one request together: not bounded beyond MaxPause
	MaxBody     int64                                      // bytes of a request's body and of an answer's: 10 MiB
	Warn        func(string)                               // is told of each attempt that failed and is repeated
	Debug       func(string)                               // is told of each attempt, without query, headers and bodies
	Secrets     Secrets                                    // further texts that no message may hold
	// GitHub: a 403 may be one of GitHub's limits. A limit that ends later than
	// MaxPause allows is given up at once.
	GitHub bool
	// Redirects: an answer that leads elsewhere is given to the caller, and is not
	// an error. It is not followed in either case.
	Redirects bool
	// Stream: an answer of success is not read, and comes to the caller as it arrives:
	// MaxBody does not bound it, and what is cut short there is not tried again.
	// AttemptTime goes on until its body is closed.
	Stream bool
	// Once says of a request that it must not be done twice; see the package
	// comment. Without it all may be.
	Once func(*http.Request) bool
}

// UnsureError is the error of a request that must not be done twice, and may
// have been done.
type UnsureError struct{ problem string }

func (e *UnsureError) Error() string { return e.problem + "; it may have been done all the same" }

// Pause waits, or ends early with the context.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// HTTP gives an HTTP client whose requests end with the context, whatever
// context they are made with: some libraries pass none on.
func (c Client) HTTP(ctx context.Context) *http.Client {
	if c.Base == nil {
		c.Base = http.DefaultTransport
	}
	if c.Wait == nil {
		c.Wait = Pause
	}
	for _, callback := range []*func(string){&c.Warn, &c.Debug} {
		if *callback == nil {
			*callback = func(string) {}
		}
	}
	if c.Once == nil {
		c.Once = func(*http.Request) bool { return false }
	}
	orDefault(&c.Attempts, defaultAttempts)
	orDefault(&c.AttemptTime, defaultAttemptTime)
	orDefault(&c.FirstPause, defaultFirstPause)
	orDefault(&c.MaxPause, defaultMaxPause)
	orDefault(&c.MaxBody, defaultMaxBody)
	out := &http.Client{Transport: &transport{c, ctx}}
	if c.Redirects {
		out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return out
}

func orDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

type transport struct {
	Client
	ctx context.Context
}

// answer is what came of one attempt: a response whose body was read, or an error.
type answer struct {
	resp *http.Response
	data []byte
	err  error
	// release ends what the attempt holds; nil when it holds nothing any more, because
	// the body was read.
	release func()
}

// arriving is the body of an answer that was not read.
type arriving struct {
	io.ReadCloser
	release func()
}

// Close implements io.Closer.
func (a arriving) Close() error {
	defer a.release()
	return a.ReadCloser.Close()
}

// RoundTrip implements http.RoundTripper. The answer's body was read, unless it streams.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := t.readBody(req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	release := func() { stop(); cancel(nil) }
	streams := false
	defer func() {
		if !streams {
			release()
		}
	}()

	// What fails may quote what it was sent.
	hidden := append(credentials(req), t.Secrets...)
	var waited time.Duration
	for n := 1; ; n++ {
		a := t.once(ctx, req, body)
		if ctx.Err() != nil {
			if a.release != nil {
				a.resp.Body.Close()
				a.release()
			}
			return nil, context.Cause(ctx)
		}
		found := t.judge(a)
		t.Debug(hidden.Hide(describe(req, a, n)))
		if found.problem == "" {
			if streams = a.release != nil; streams {
				a.resp.Body = arriving{a.resp.Body, func() { a.release(); release() }}
			}
			return a.resp, nil
		}
		found.problem = hidden.Hide(found.problem)
		if !found.undone && t.Once(req) {
			return nil, &UnsureError{givenUp(found.problem, a, hidden, n)}
		}
		d := t.pauseBefore(n, found.asked)
		if !found.passes || n == t.Attempts || t.MaxWait > 0 && waited+d > t.MaxWait {
			return nil, errors.New(givenUp(found.problem, a, hidden, n))
		}
		waited += d
		t.Warn(fmt.Sprintf("%s: %s; trying again (%d of %d)", req.URL.Host, found.problem, n+1, t.Attempts))
		if err := t.Wait(ctx, d); err != nil {
			return nil, err
		}
	}
}

// credentials are the texts of a request's headers that no message may hold.
func credentials(req *http.Request) Secrets {
	header := req.Header.Get("Authorization")
	_, credential, _ := strings.Cut(header, " ")
	if credential == "" {
		credential = header
	}
	return Secrets{credential}
}

func describe(req *http.Request, a answer, n int) string {
	what := "no answer"
	if a.err != nil {
		what = a.err.Error()
	} else if a.resp != nil {
		what = a.resp.Status
	}
	return fmt.Sprintf("%s %s://%s%s (attempt %d): %s", req.Method, req.URL.Scheme, req.URL.Host, req.URL.EscapedPath(), n, what)
}

// readBody reads what is sent, so that it can be sent again.
func (t *transport) readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, t.MaxBody+1))
	if err = errors.Join(err, req.Body.Close()); err != nil {
		return nil, err
	}
	if int64(len(body)) > t.MaxBody {
		return nil, fmt.Errorf("the request has more than %d bytes", t.MaxBody)
	}
	return body, nil
}

// givenUp is the last word about a request. It becomes an error and no answer:
// the libraries would wait once more after an answer that may pass.
func givenUp(problem string, a answer, hidden Secrets, attempts int) string {
	if a.resp != nil && len(bytes.TrimSpace(a.data)) > 0 {
		problem += ": " + hidden.Quote(a.data)
	}
	if attempts > 1 {
		problem += fmt.Sprintf(" (tried %d times)", attempts)
	}
	return problem
}

// once makes one request and reads the whole answer.
func (t *transport) once(ctx context.Context, req *http.Request, body []byte) answer {
	ctx, cancel := context.WithTimeout(ctx, t.AttemptTime)
	streams := false
	defer func() {
		if !streams {
			cancel()
		}
	}()
	again := req.Clone(ctx)
	if req.Body != nil {
		again.Body = io.NopCloser(bytes.NewReader(body))
		again.ContentLength = int64(len(body))
		again.TransferEncoding = nil
	}
	resp, err := t.Base.RoundTrip(again)
	if err != nil {
		return answer{err: err}
	}
	if streams = t.Stream && resp.StatusCode/100 == 2; streams {
		return answer{resp: resp, release: cancel}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, t.MaxBody+1))
	if err != nil {
		return answer{err: fmt.Errorf("the answer was cut short: %w", err)}
	}
	if int64(len(data)) > t.MaxBody {
		return answer{err: &permanent{fmt.Errorf("the answer has more than %d bytes", t.MaxBody)}}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return answer{resp: resp, data: data}
}

// permanent marks a failure that would come again.
type permanent struct{ error }

// finding is what is to be thought of an answer.
type finding struct {
	problem string        // "" for none
	passes  bool          // it may be gone at the next attempt
	undone  bool          // the service has certainly not done what was asked
	asked   time.Duration // the pause that the service asks for; 0 for none
}

// judge says what is wrong with an answer, and whether that may pass.
func (t *transport) judge(a answer) finding {
	if a.err != nil {
		var p *permanent
		var certificate *tls.CertificateVerificationError
		var dial *net.OpError
		untrusted := errors.As(a.err, &certificate)
		return finding{
			problem: a.err.Error(),
			passes:  !errors.As(a.err, &p) && !untrusted,
			undone:  untrusted || errors.As(a.err, &dial) && dial.Op == "dial",
		}
	}
	answered := "it answered " + a.resp.Status
	if t.GitHub {
		if f, limited := t.limit(a); limited {
			return f
		}
	}
	switch status := a.resp.StatusCode; {
	case status == http.StatusTooManyRequests:
		return finding{problem: answered, passes: true, undone: true, asked: retryAfter(a.resp)}
	case status >= 500, status == http.StatusRequestTimeout:
		return finding{problem: answered, passes: true, asked: retryAfter(a.resp)}
	case status/100 == 3 && !t.Redirects:
		return finding{problem: answered + "; a redirect is not followed", undone: true}
	}
	return finding{}
}

// limit says whether an answer is one of GitHub's limits, and when that ends.
//
// Source: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
func (t *transport) limit(a answer) (f finding, limited bool) {
	if a.resp.StatusCode != http.StatusForbidden && a.resp.StatusCode != http.StatusTooManyRequests {
		return f, false
	}
	text := bytes.ToLower(a.data)
	f = finding{problem: "it answered " + a.resp.Status + ", a limit of GitHub's API", undone: true, asked: retryAfter(a.resp)}
	switch {
	case f.asked > 0:
	case a.resp.Header.Get("X-RateLimit-Remaining") == "0":
		// By the service's own clock: this machine's may be off.
		now, err := http.ParseTime(a.resp.Header.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		f.asked = limitPause
		if reset, err := strconv.ParseInt(a.resp.Header.Get("X-RateLimit-Reset"), 10, 64); err == nil {
			// The header counts whole seconds.
			f.asked = max(time.Unix(reset, 0).Sub(now)+time.Second, time.Second)
			f.problem += fmt.Sprintf(", used up until %s", time.Unix(reset, 0).UTC().Format(time.RFC3339))
		}
	case bytes.Contains(text, []byte("secondary rate limit")), bytes.Contains(text, []byte("secondary-rate-limit")), bytes.Contains(text, []byte("abuse detection")), a.resp.StatusCode == http.StatusTooManyRequests:
		f.asked = limitPause
	default:
		return f, false
	}
	// To ask sooner than GitHub wants prolongs its limit.
	f.passes = f.asked <= t.MaxPause
	return f, true
}

func retryAfter(resp *http.Response) time.Duration {
	// More is more than anybody waits, and would overflow.
	const most = 1 << 30
	if asked, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && asked > 0 {
		return time.Duration(min(asked, most)) * time.Second
	}
	return 0
}

// pauseBefore is how long to wait before the next attempt: twice as long each
// time, a little off so that the jobs of a matrix do not come back together; or
// as long as the service asks for.
func (t *transport) pauseBefore(n int, asked time.Duration) time.Duration {
	d := t.FirstPause << (n - 1)
	d += time.Duration(rand.Int64N(int64(d)/4 + 1))
	return min(max(d, asked), t.MaxPause)
}
