package sigstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/retry"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// The variables that an identity token is had through.
const (
	tokenVariable        = "SIGSTORE_ID_TOKEN" // cosign's: the token itself
	requestURLVariable   = "ACTIONS_ID_TOKEN_REQUEST_URL"
	requestTokenVariable = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
)

// audience is who identity tokens are for: Fulcio takes no other.
const audience = "sigstore"

// identity is an identity token, with what it says.
type identity struct {
	token   string
	claims  seal.Claims
	expires time.Time // zero when it does not say
}

// requestIdentity gets an identity token: the one in the environment, or one
// from GitHub for the job that this runs in.
func (b *backend) requestIdentity(ctx context.Context, how seal.Signing) (*identity, error) {
	token := strings.TrimSpace(how.Env(tokenVariable))
	if token == "" {
		var err error
		if token, err = b.requestToken(ctx, how); err != nil {
			return nil, err
		}
	}
	id, err := parseToken(token)
	if err != nil {
		return nil, unavailable(StepToken, "Pass an OIDC token with the audience sigstore.", "the identity token is not one: %v", err)
	}
	if !id.expires.IsZero() && b.now().Add(tokenLeft).After(id.expires) {
		return nil, unavailable(StepToken, "Get a fresh token; in GitHub Actions leave "+tokenVariable+" unset, and the gate asks for one when it needs it.",
			"the identity token expired at %s, or is about to", id.expires.UTC().Format(time.RFC3339))
	}
	return id, nil
}

// requestToken asks GitHub for a token, as cosign does.
func (b *backend) requestToken(ctx context.Context, how seal.Signing) (string, error) {
	address, bearer := how.Env(requestURLVariable), how.Env(requestTokenVariable)
	if address == "" || bearer == "" {
		return "", unavailable(StepToken, "In GitHub Actions give the job `permissions: id-token: write`; elsewhere set "+tokenVariable+", or sign with --sign key.",
			"keyless signing needs an identity token, and there is none: neither %s nor %s is set", tokenVariable, requestURLVariable)
	}
	hidden := retry.Secrets{bearer}
	failed := func(err error) error {
		return unavailable(StepToken, "Run it again; if it stays, see that the job has `permissions: id-token: write`.",
			"GitHub gave no identity token: %v", hidden.Scrub(err))
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", failed(errors.New(requestURLVariable + " is no URL"))
	}
	query := u.Query()
	query.Set("audience", audience)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", failed(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Accept", "application/json")
	resp, err := b.network.client(ctx, maxAttempts, how.Warn).Do(req)
	if err != nil {
		return "", failed(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", failed(err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", failed(fmt.Errorf("it answered %s: %s", resp.Status, hidden.Quote(data)))
	}
	var answer struct {
		Value string `json:"value"`
	}
	if json.Unmarshal(data, &answer) != nil || answer.Value == "" {
		return "", failed(errors.New("its answer holds none")) // and is not shown: it might
	}
	return answer.Value, nil
}

// parseToken reads what a token says. Its signature is Fulcio's to verify; the
// claims that are relied on later come from the certificate.
func parseToken(token string) (*identity, error) {
	if len(token) > maxToken {
		return nil, fmt.Errorf("it has %d bytes; at most %d are taken", len(token), maxToken)
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, fmt.Errorf("a JWT has three parts, and this has %d", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, errors.New("its payload is not base64url")
	}
	var claims struct {
		Issuer            string  `json:"iss"`
		Subject           string  `json:"sub"`
		Expires           float64 `json:"exp"`
		RunnerEnvironment string  `json:"runner_environment"`
		JobWorkflowRef    string  `json:"job_workflow_ref"`
		JobWorkflowSHA    string  `json:"job_workflow_sha"`
		Repository        string  `json:"repository"`
		SHA               string  `json:"sha"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return nil, errors.New("its payload is no JSON object with the claims of an identity")
	}
	if claims.Issuer == "" || claims.Subject == "" {
		return nil, errors.New("it names no issuer or no subject")
	}
	id := &identity{token: token, claims: seal.Claims{
		Issuer: claims.Issuer, Subject: claims.Subject, RunnerEnvironment: claims.RunnerEnvironment,
		JobWorkflowRef: claims.JobWorkflowRef, JobWorkflowSHA: claims.JobWorkflowSHA, Repository: claims.Repository, SHA: claims.SHA,
	}}
	if claims.Expires > 0 {
		id.expires = time.Unix(int64(claims.Expires), 0)
	}
	return id, nil
}
