package artifact

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/retry"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/unpack"
)

// The variables that the runner says it by.
const (
	tokenVariable      = "ACTIONS_RUNTIME_TOKEN"
	resultsVariable    = "ACTIONS_RESULTS_URL"
	serverVariable     = "GITHUB_SERVER_URL"
	repositoryVariable = "GITHUB_REPOSITORY"
	runVariable        = "GITHUB_RUN_ID"
	retentionVariable  = "GITHUB_RETENTION_DAYS"
)

// ErrUnsupported is in the chain of the error that says that this server has no
// artifacts of this protocol: GitHub Enterprise Server.
var ErrUnsupported = errors.New("this server has no artifacts of this protocol")

// ErrNotInJob is in the chain of the error that names the variables of the runner
// that are missing.
var ErrNotInJob = errors.New("the runner did not say where artifacts go")

// Config says where an artifact goes. What comes from the runner is filled in by
// FromEnv.
type Config struct {
	Token        string // ACTIONS_RUNTIME_TOKEN; secret
	ResultsURL   string // ACTIONS_RESULTS_URL; only its origin is used
	ServerURL    string // GITHUB_SERVER_URL; "" is https://github.com
	Repository   string // GITHUB_REPOSITORY: owner/name
	RunID        string // GITHUB_RUN_ID
	MaxRetention string // GITHUB_RETENTION_DAYS; "" when the runner names no bound

	// Retention is for how many days the artifact is kept; 0 for as long as the
	// repository keeps them.
	Retention int

	// Mask is told each secret before a request is made that could show it. It is
	// not nil: the runner's log is public.
	Mask func(secret string)

	Transport http.RoundTripper                          // nil: http.DefaultTransport; it makes one attempt
	Wait      func(context.Context, time.Duration) error // between attempts; nil: retry.Pause
	Now       func() time.Time                           // nil: time.Now
	Warn      func(string)                               // is told of attempts that failed and are repeated; may be nil
	Debug     func(string)                               // is told of every attempt; may be nil
	Progress  func(sent, total int64)                    // is told, one call at a time, how many bytes were stored; may be nil
}

// FromEnv fills in what the runner says.
func (c Config) FromEnv(env func(string) string) Config {
	c.Token, c.ResultsURL, c.ServerURL = env(tokenVariable), env(resultsVariable), env(serverVariable)
	c.Repository, c.RunID, c.MaxRetention = env(repositoryVariable), env(runVariable), env(retentionVariable)
	return c
}

// Uploaded is an artifact that is there.
type Uploaded struct {
	ID     int64 // the service's number
	Name   string
	URL    string            // its page, for people who are signed in
	Digest strictjson.Digest // SHA-256 of the archive, as GitHub shows it
	Bytes  int64             // of the archive
	Note   string            // what is otherwise than it was asked for, in a sentence; usually ""
}

// archive is one that can be sent.
type archive struct {
	file   io.ReaderAt
	size   int64
	digest strictjson.Digest
}

// Upload packs a bundle's folder and uploads it. Its errors are faults
// action.upload_failed, with ErrUnsupported or ErrNotInJob in their chain where these are the
// reason; action.input_invalid for a name or a retention that GitHub does not have; or
// the context's.
func Upload(ctx context.Context, c Config, name, dir string) (Uploaded, error) {
	var none Uploaded
	if err := CheckName(name); err != nil {
		return none, err
	}
	expires, note, err := c.expiry()
	if err != nil {
		return none, err
	}
	origin, ids, err := c.place()
	if err != nil {
		return none, err
	}
	c.Mask(c.Token)
	file, err := os.CreateTemp("", "gate-artifact-")
	if err != nil {
		return none, unwritable(err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	a, err := write(ctx, file, name, dir)
	if err != nil {
		return none, err
	}
	s := &service{origin: origin, token: c.Token, secrets: retry.Secrets{c.Token}, client: c.client(answerTime, maxAnswer, nil)}
	address, err := s.create(ctx, ids, name, expires)
	if err != nil && s.taken && s.lost {
		// Most likely by this upload itself: a try to which no answer came.
		other := second(name)
		if address, err = s.create(ctx, ids, other, expires); err == nil {
			note = strings.TrimSpace(note + fmt.Sprintf(" The artifact is called %s: the name %s was taken, most likely by an earlier try of this upload, to which no answer came.", other, name))
			name = other
		}
	}
	if err != nil {
		return none, err
	}
	hidden, at, err := secretsOf(address)
	if err != nil {
		return none, err
	}
	for _, secret := range hidden {
		c.Mask(secret)
	}
	if strings.HasPrefix(origin, "https:") && at.Scheme != "https" {
		return none, failed("", "the results service gave an address to upload to that is not encrypted")
	}
	s.secrets = append(s.secrets, hidden...)
	if err := c.upload(ctx, c.client(blockTime, blockSize, s.secrets), address, a); err != nil {
		return none, err
	}
	id, err := s.finalize(ctx, ids, name, a)
	if err != nil {
		return none, err
	}
	page := fmt.Sprintf("%s/%s/actions/runs/%s/artifacts/%d", strings.TrimSuffix(c.server(), "/"), c.Repository, c.RunID, id)
	return Uploaded{ID: id, Name: name, URL: page, Digest: a.digest, Bytes: a.size, Note: note}, nil
}

// second is the name to take when the first one is taken.
func second(name string) string {
	const end = "-2"
	at := min(len(name), maxName-len(end))
	for at > 0 && at < len(name) && !utf8.RuneStart(name[at]) {
		at--
	}
	return name[:at] + end
}

// write makes the archive, and sees that it can be read back.
func write(ctx context.Context, file *os.File, name, dir string) (archive, error) {
	sum := sha256.New()
	if err := Zip(ctx, io.MultiWriter(file, sum), dir); err != nil {
		return archive{}, err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return archive{}, unwritable(err)
	}
	if err := unpack.Accepts(name, file, size); err != nil {
		return archive{}, failed(fromItsPlace, "nobody could read the artifact back: %s", fault.As(err).Message).Because(err)
	}
	return archive{file, size, strictjson.Digest(sum.Sum(nil))}, nil
}

func (c *Config) client(each time.Duration, most int64, hidden retry.Secrets) retry.Client {
	warn := c.Warn
	if warn == nil {
		warn = func(string) {}
	}
	return retry.Client{
		Base: c.Transport, Wait: c.Wait, Warn: warn, Debug: c.Debug, Secrets: append(retry.Secrets{c.Token}, hidden...),
		Attempts: attempts, FirstPause: firstPause, MaxPause: maxPause, AttemptTime: each, MaxBody: most,
	}
}

// server is the address of the web site.
func (c *Config) server() string {
	if c.ServerURL == "" {
		return "https://github.com"
	}
	return c.ServerURL
}

// supported says whether the server is GitHub's own, where this protocol is spoken.
func (c *Config) supported() bool {
	u, err := url.Parse(c.server())
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == "github.com" || strings.HasSuffix(host, ".ghe.com")
}

// How to mend what the runner did not say.
const asAStep = "Upload from a step of a GitHub workflow: the runner sets the variables for actions, not for `run:` steps."

// place says where the service is, and what it calls this job.
func (c *Config) place() (origin string, ids backend, err error) {
	if !c.supported() {
		return "", ids, failed("Upload the folder that the output bundle-path names with actions/upload-artifact@v3.",
			"GitHub Enterprise Server has no artifacts of the present protocol: %s is %q", serverVariable, c.ServerURL).Because(ErrUnsupported)
	}
	var missing []string
	for _, v := range []struct{ name, value string }{
		{tokenVariable, c.Token}, {resultsVariable, c.ResultsURL}, {repositoryVariable, c.Repository}, {runVariable, c.RunID},
	} {
		if v.value == "" {
			missing = append(missing, v.name)
		}
	}
	if len(missing) > 0 {
		return "", ids, failed(asAStep, "the runner did not say where artifacts go: %s not set", strings.Join(missing, ", ")).Because(ErrNotInJob)
	}
	if origin, err = originOf(c.ResultsURL); err != nil {
		return "", ids, err
	}
	if ids, err = parseToken(c.Token); err != nil {
		return "", ids, failed(asAStep, "%s is none: %v", tokenVariable, err)
	}
	return origin, ids, nil
}

// expiry is the moment until which the artifact is kept: never later than the
// repository allows.
func (c *Config) expiry() (until time.Time, note string, err error) {
	days := c.Retention
	if days < 0 {
		return until, "", fault.New(fault.ActionInputInvalid, "Give a number of days, or leave it out.", "the input retention-days is %d", days)
	}
	if days == 0 {
		return until, "", nil
	}
	if most, err := strconv.Atoi(c.MaxRetention); err == nil && most > 0 && days > most {
		note = fmt.Sprintf("The artifact is kept for %d days and not for %d: the repository's settings allow no more.", most, days)
		days = most
	}
	now := c.Now
	if now == nil {
		now = time.Now
	}
	return now().AddDate(0, 0, days), note, nil
}

// forbidden are the characters that no artifact's name may have: those that some
// file system does not take.
//
// Source: https://github.com/actions/toolkit/blob/main/packages/artifact/src/internal/upload/path-and-artifact-name-validation.ts
const forbidden = "\":<>|*?\\/\r\n"

// CheckName says why an artifact cannot have a name: a fault action.input_invalid.
func CheckName(name string) error {
	why := ""
	switch {
	case name == "":
		why = "is empty"
	case len(name) > maxName:
		why = fmt.Sprintf("has %d bytes; at most %d are taken", len(name), maxName)
	case !utf8.ValidString(name):
		why = "is not UTF-8"
	case strings.ContainsAny(name, forbidden):
		why = fmt.Sprintf("has the character %q", name[strings.IndexAny(name, forbidden)])
	case strings.ContainsFunc(name, unicode.IsControl):
		why = "has a control character"
	default:
		return nil
	}
	return fault.New(fault.ActionInputInvalid, "Take a name without \" : < > | * ? \\ / and control characters, of at most "+strconv.Itoa(maxName)+" bytes.",
		"the input artifact-name %s: %q", why, name[:min(len(name), maxName)])
}
