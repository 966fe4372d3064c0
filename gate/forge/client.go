package forge

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/retry"
	"github.com/verdictgate/verdictgate/gate/source"
)

// Config says which repository is asked, and how.
type Config struct {
	API        string // GITHUB_API_URL, such as https://api.github.com
	Server     string // GITHUB_SERVER_URL, such as https://github.com
	Repository string // owner/name
	Token      string
	Git        string // path of the git program; "" finds it in PATH

	Transport http.RoundTripper                          // nil: http.DefaultTransport
	Wait      func(context.Context, time.Duration) error // nil: retry.Pause
	Warn      func(string)                               // of attempts that failed; nil: nobody is told
	Debug     func(string)                               // one line for each request; nil: nobody is told

	// UnsafeHTTP lets the addresses be http:// ones to other machines than this:
	// the token is then sent in the clear.
	UnsafeHTTP bool
}

// Client asks about one repository. It may be used concurrently.
type Client struct {
	config Config
	api    *github.Client
	server *url.URL
	path   string // repos/owner/name, escaped
	known  cache
}

var repositoryName = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)

// New makes a client. It asks nothing yet. Its error is action.input_invalid.
func New(config Config) (*Client, error) {
	owner, name, _ := strings.Cut(config.Repository, "/")
	if !repositoryName.MatchString(config.Repository) || strings.Trim(owner, ".") == "" || strings.Trim(name, ".") == "" {
		return nil, fault.New(fault.ActionInputInvalid, "", "%q names no repository; it must be OWNER/NAME", config.Repository)
	}
	if strings.ContainsAny(config.Token, " \t\r\n") {
		return nil, fault.New(fault.ActionInputInvalid, "", "the input token holds white space, and is no token")
	}
	c := &Client{config: config, path: "repos/" + config.Repository}
	base, err := c.address("GITHUB_API_URL", config.API)
	if err != nil {
		return nil, err
	}
	if c.server, err = c.address("GITHUB_SERVER_URL", config.Server); err != nil {
		return nil, err
	}
	if c.config.Wait == nil {
		c.config.Wait = retry.Pause
	}
	if c.config.Warn == nil {
		c.config.Warn = func(string) {}
	}
	client := c.requests().HTTP(context.Background())
	client.Transport = &authorized{token: config.Token, scheme: base.Scheme, host: base.Host, base: client.Transport}
	c.api = github.NewClient(client)
	c.api.BaseURL, c.api.UserAgent = base, "verdictgate"
	return c, nil
}

// address reads one of the addresses that the runner gives.
func (c *Client) address(variable, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return nil, fault.New(fault.ActionInputInvalid, "", "%s is %q, which is no address of a server", variable, text)
	}
	if !c.permitted(u) {
		return nil, fault.New(fault.ActionInputInvalid, "", "%s is %q: the token is sent over https alone", variable, text)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	return u, nil
}

// permitted says whether an address may be asked: over https, or on this machine.
func (c *Client) permitted(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && (c.config.UnsafeHTTP || source.Loopback(u.Hostname()))
}

// requests says how requests are made.
func (c *Client) requests() retry.Client {
	return retry.Client{
		Base: c.config.Transport, Wait: c.config.Wait, Attempts: attempts, AttemptTime: attemptTime,
		MaxPause: maxPause, MaxWait: maxWait, MaxBody: maxAnswer, Warn: c.config.Warn, Debug: c.config.Debug,
		Secrets: c.secrets(), GitHub: true, Redirects: true,
		Once: func(r *http.Request) bool {
			// A second check-run would be shown beside the first, and annotations twice.
			return (r.Method == http.MethodPost || r.Method == http.MethodPatch) && strings.Contains(r.URL.Path, "/check-runs")
		},
	}
}

func (c *Client) secrets() retry.Secrets {
	return retry.Secrets{c.config.Token, c.basic()}
}

// basic is the token as git sends it.
func (c *Client) basic() string {
	if c.config.Token == "" {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte("x-access-token:" + c.config.Token))
}

// authorized adds the token to requests to the API, and to no others.
type authorized struct {
	token, scheme, host string
	base                http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a *authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.token != "" && req.URL.Scheme == a.scheme && req.URL.Host == a.host {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	// go-github keeps a book of its own about limits, and refuses requests by it.
	for _, name := range []string{"X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Limit", "Retry-After"} {
		resp.Header.Del(name)
	}
	return resp, nil
}

// request is one question to the API.
type request struct {
	method     string // "" for GET
	path       string // below the repository's own, escaped, with its query
	body       any    // is sent as JSON; nil for none
	accept     string // "" for JSON
	what       string // what it is for: "read the pull request 7"
	permission string // what it takes: "pull-requests: read"
}

// answered is an answer that is none of what was asked for.
type answered struct {
	status   int
	message  string
	accepted string // the permissions that would do, as the answer names them
	location string
}

func (a *answered) Error() string {
	text := fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
	if a.message != "" {
		text += ": " + a.message
	}
	return text
}

// status gives the status of the answer that an error is about, or 0.
func status(err error) int {
	var a *answered
	if errors.As(err, &a) {
		return a.status
	}
	return 0
}

// do asks, and gives the answer's body and the number of the next page, 0 for
// none. Its error is a fault.
func (c *Client) do(ctx context.Context, r request) (data []byte, next int, err error) {
	data, next, err = c.ask(ctx, r)
	if err != nil {
		return nil, 0, c.fault(r, err)
	}
	return data, next, nil
}

func (c *Client) ask(ctx context.Context, r request) ([]byte, int, error) {
	if r.method == "" {
		r.method = http.MethodGet
	}
	req, err := c.api.NewRequest(r.method, strings.TrimSuffix(c.path+"/"+r.path, "/"), r.body)
	if err != nil {
		return nil, 0, err
	}
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	resp, err := c.api.BareDo(ctx, req)
	if err != nil {
		return nil, 0, c.refused(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return data, resp.NextPage, err
}

// refused takes what an error of go-github says, and lets go of the request in it.
func (c *Client) refused(err error) error {
	var unsure *retry.UnsureError
	var response *github.ErrorResponse
	switch {
	case errors.As(err, &unsure):
		return unsure
	case errors.As(err, &response):
		a := &answered{status: response.Response.StatusCode, location: response.Response.Header.Get("Location"),
			accepted: response.Response.Header.Get("X-Accepted-GitHub-Permissions")}
		message := response.Message
		for _, e := range response.Errors {
			message += "; " + strings.TrimSpace(e.Resource+" "+e.Field+" "+e.Code+" "+e.Message)
		}
		if message != "" {
			a.message = c.quote(message)
		}
		return a
	}
	var u *url.Error // holds the address, which is the request's and says nothing
	if errors.As(err, &u) {
		err = u.Err
	}
	return c.secrets().Scrub(err)
}

func (c *Client) quote(text string) string {
	text = c.secrets().Hide(text)
	if len(text) > maxErrorText {
		text = text[:maxErrorText] + "…"
	}
	return strconv.Quote(text)
}

// fault says what an error means.
func (c *Client) fault(r request, err error) *fault.Error {
	var a *answered
	if !errors.As(err, &a) {
		return unreachable("the gate could not %s: %v", r.what, err).Because(err)
	}
	permission := r.permission
	if named := permissions(a.accepted); named != "" && named != permission {
		permission += " (GitHub names: " + named + ")"
	}
	missing := func(format string, args ...any) *fault.Error {
		return fault.New(fault.ActionPermissionMissing, fmt.Sprintf("Add `%s` to the permissions of the job, or of the App whose token it is.", r.permission), format, args...).
			With("permission", r.permission).With("status", a.status).Because(err)
	}
	switch {
	case a.status == http.StatusUnauthorized:
		return missing("the gate could not %s: GitHub does not know the token (%v)", r.what, a)
	case a.status == http.StatusForbidden:
		return missing("the gate could not %s: the token may not, it takes `%s`; GitHub answered %v", r.what, permission, a)
	case a.status == http.StatusNotFound:
		return missing("the gate could not %s: GitHub answered %v, as it does for what is not there and for what a token without `%s` may not see", r.what, a, permission)
	case r.method != "" && a.status/100 == 4:
		return fault.New(fault.ActionReportFailed, "", "the gate could not %s: GitHub refused it: %v", r.what, a).With("status", a.status).Because(err)
	}
	return unreachable("the gate could not %s: GitHub answered %v", r.what, a).With("status", a.status).Because(err)
}

func unreachable(format string, args ...any) *fault.Error {
	return fault.New(fault.ActionForgeUnreachable, "", format, args...)
}

// permissions reads the header X-Accepted-GitHub-Permissions, such as
// "checks=write" or "contents=read; contents=write,pull_requests=read".
func permissions(header string) string {
	if len(header) > maxPermissions || strings.Trim(header, "abcdefghijklmnopqrstuvwxyz_=,; ") != "" {
		return ""
	}
	return strings.NewReplacer("=", ": ", "_", "-", ";", " or", ",", ", ").Replace(header)
}

// read asks for JSON.
func read[T any](ctx context.Context, c *Client, r request) (*T, error) {
	data, _, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := json.Unmarshal(data, out); err != nil {
		return nil, misunderstood(r, err)
	}
	return out, nil
}

// misunderstood is the fault of an answer that is none to the question.
func misunderstood(r request, err error) *fault.Error {
	return unreachable("the gate could not %s: GitHub's answer is not understood: %v", r.what, err)
}

// page is what is seen of a page of a list.
type page struct {
	understood bool
	n          int // elements
	total      int // of all pages; 0 where the API does not say
}

// pages asks for all pages of a list, and hands each to a visitor.
func pages[T any](ctx context.Context, c *Client, r request, visit func(*T) page) error {
	separator := "?"
	if strings.Contains(r.path, "?") {
		separator = "&"
	}
	first, seen := r.path+separator+"per_page="+strconv.Itoa(perPage), 0
	for number := 1; number != 0; {
		if number > maxPages {
			return unreachable("the gate could not %s: there are more than %d pages", r.what, maxPages)
		}
		r.path = first + "&page=" + strconv.Itoa(number)
		data, next, err := c.do(ctx, r)
		if err != nil {
			return err
		}
		out := new(T)
		if err := json.Unmarshal(data, out); err != nil {
			return misunderstood(r, err)
		}
		p := visit(out)
		if !p.understood {
			return misunderstood(r, errors.New("it lacks the list"))
		}
		seen += p.n
		if next == 0 && p.total > seen {
			return unreachable("the gate could not %s: GitHub gave %d of %d", r.what, seen, p.total)
		}
		if next != 0 && next <= number {
			return unreachable("the gate could not %s: its pages lead back", r.what)
		}
		number = next
	}
	return nil
}

// commitIDs refuses what is no commit's full id before it becomes part of an address.
func commitIDs(ids ...string) error {
	for _, id := range ids {
		if !bundle.IsRevision(id) {
			return fault.New(fault.ActionInputInvalid, "", "%q is no commit: 40 or 64 hex digits are", id)
		}
	}
	return nil
}

// escape makes a path of an address of a name with slashes.
func escape(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}
