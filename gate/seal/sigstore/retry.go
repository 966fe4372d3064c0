package sigstore

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// network is how the package reaches services.
type network struct {
	base http.RoundTripper
	wait func(context.Context, time.Duration) error
}

// pause waits, or ends early with the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// client gives an HTTP client whose requests end with the context, whatever
// context they are made with: some libraries pass none on. It follows no
// redirect, which could carry a token to another host.
func (n *network) client(ctx context.Context, attempts int, warn func(string)) *http.Client {
	if warn == nil {
		warn = func(string) {}
	}
	return &http.Client{Transport: &retrying{ctx, n, attempts, warn}}
}

// retrying makes a request again when its failure is of the kind that passes:
// no connection, an answer cut short, 408, 429 or 5xx. What the service refuses
// otherwise, it would refuse again.
//
// The requests of signing can be repeated without harm: each makes a
// certificate, a timestamp or a log entry, and what is not used is forgotten.
type retrying struct {
	ctx      context.Context
	network  *network
	attempts int
	warn     func(string)
}

// RoundTrip implements http.RoundTripper. The answer's body was read.
func (r *retrying) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(io.LimitReader(req.Body, maxResponse))
		if err = errors.Join(err, req.Body.Close()); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()

	for n := 1; ; n++ {
		resp, err := r.once(ctx, req, body)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		problem, passes := judge(resp, err)
		if problem == "" {
			return resp, nil
		}
		// What fails may quote what it was sent.
		_, credential, _ := strings.Cut(req.Header.Get("Authorization"), " ")
		hidden := secrets{credential}
		problem = hidden.hide(problem)
		if !passes || n == r.attempts {
			return nil, givenUp(problem, resp, hidden, n)
		}
		d := pauseBefore(n, resp)
		r.warn(fmt.Sprintf("%s: %s; trying again (%d of %d)", req.URL.Host, problem, n+1, r.attempts))
		if err := r.network.wait(ctx, d); err != nil {
			return nil, err
		}
	}
}

// givenUp is the last word about a request. It is an error and no answer: the
// libraries would wait once more after an answer that may pass.
func givenUp(problem string, resp *http.Response, hidden secrets, attempts int) error {
	if resp != nil {
		if data, err := io.ReadAll(resp.Body); err == nil && len(bytes.TrimSpace(data)) > 0 {
			problem += ": " + hidden.quote(data)
		}
	}
	if attempts > 1 {
		problem += fmt.Sprintf(" (tried %d times)", attempts)
	}
	return errors.New(problem)
}

// once makes one request and reads the whole answer.
func (r *retrying) once(ctx context.Context, req *http.Request, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	again := req.Clone(ctx)
	if req.Body != nil {
		again.Body = io.NopCloser(bytes.NewReader(body))
		again.ContentLength = int64(len(body))
		again.TransferEncoding = nil
	}
	resp, err := r.network.base.RoundTrip(again)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return nil, fmt.Errorf("the answer was cut short: %w", err)
	}
	if len(data) > maxResponse {
		return nil, &permanent{fmt.Errorf("the answer has more than %d bytes", maxResponse)}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return resp, nil
}

// permanent marks a failure that would come again.
type permanent struct{ error }

// judge says what is wrong with an answer, and whether that may pass.
func judge(resp *http.Response, err error) (problem string, passes bool) {
	var p *permanent
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &p), errors.As(err, &certificate):
		return err.Error(), false
	case err != nil:
		return err.Error(), true
	case resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout:
		return "it answered " + resp.Status, true
	case resp.StatusCode/100 == 3:
		return "it answered " + resp.Status + "; a redirect is not followed", false
	}
	return "", false
}

// pauseBefore is how long to wait before the next attempt: twice as long each
// time, a little off so that the jobs of a matrix do not come back together; or
// as long as the service asks for.
func pauseBefore(n int, resp *http.Response) time.Duration {
	d := firstPause << (n - 1)
	d += time.Duration(rand.Int64N(int64(d) / 4))
	if resp != nil {
		if asked, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && asked > 0 {
			d = max(d, min(time.Duration(asked)*time.Second, maxPause))
		}
	}
	return min(d, maxPause)
}
