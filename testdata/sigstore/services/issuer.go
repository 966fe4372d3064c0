package services

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Claims are what a token of GitHub Actions says of the job that asked for it.
type Claims struct {
	Repository        string `json:"repository"`
	RepositoryID      string `json:"repository_id"`
	RepositoryOwner   string `json:"repository_owner"`
	RepositoryOwnerID string `json:"repository_owner_id"`
	Visibility        string `json:"repository_visibility"`
	Ref               string `json:"ref"`
	SHA               string `json:"sha"`
	EventName         string `json:"event_name"`
	Workflow          string `json:"workflow"`
	WorkflowRef       string `json:"workflow_ref"`
	WorkflowSHA       string `json:"workflow_sha"`
	JobWorkflowRef    string `json:"job_workflow_ref"`
	JobWorkflowSHA    string `json:"job_workflow_sha"`
	RunnerEnvironment string `json:"runner_environment"`
	RunID             string `json:"run_id"`
	RunAttempt        string `json:"run_attempt"`
}

// hosted are the claims of a job of a reusable workflow on one of GitHub's own
// runners: the set-up that may be called remote_attested.
func hosted() Claims {
	const sha = "0123456789abcdef0123456789abcdef01234567"
	return Claims{
		Repository: "acme/shop", RepositoryID: "101", RepositoryOwner: "acme", RepositoryOwnerID: "7", Visibility: "private",
		Ref: "refs/heads/main", SHA: sha, EventName: "push",
		Workflow: "release", WorkflowRef: "acme/shop/.github/workflows/release.yml@refs/heads/main", WorkflowSHA: sha,
		JobWorkflowRef: "acme/judge/.github/workflows/judge.yml@refs/tags/v1",
		JobWorkflowSHA: "89abcdef0123456789abcdef0123456789abcdef",

		RunnerEnvironment: "github-hosted", RunID: "42", RunAttempt: "1",
	}
}

// SAN is what a certificate for the claims names as its subject.
func (c Claims) SAN() string { return githubURL + "/" + c.JobWorkflowRef }

// Issuer answers as the token service of GitHub Actions, and as the OIDC
// provider behind it.
type Issuer struct {
	Front
	claims  Claims
	expired bool
	mu      sync.Mutex
	signer  jose.Signer
	public  jose.JSONWebKeySet
}

// requestToken is what a job shows to get an identity token.
const requestToken = "request-token-of-the-loop"

// tokenLife is how long a token is valid, as GitHub's is.
const tokenLife = 5 * time.Minute

func startIssuer() (*Issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	jwk := jose.JSONWebKey{Algorithm: string(jose.RS256), Key: key, KeyID: "loop", Use: "sig"}
	i := &Issuer{claims: hosted(), public: jose.JSONWebKeySet{Keys: []jose.JSONWebKey{jwk.Public()}}}
	if i.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jwk}, nil); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) { answer(w, i.public) })
	mux.HandleFunc("/token", i.token)
	i.open(mux)
	return i, nil
}

// Claims changes what further tokens say.
func (i *Issuer) Claims(change func(*Claims)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(&i.claims)
}

// Reset makes further tokens those of a job on a runner of GitHub's again.
func (i *Issuer) Reset() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.claims, i.expired = hosted(), false
}

// Expire makes further tokens ones that have expired.
func (i *Issuer) Expire() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.expired = true
}

// SAN is the subject of a certificate for the next token.
func (i *Issuer) SAN() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.claims.SAN()
}

// Env is the environment of a job that may ask for tokens. Clients append
// "&audience=…" to the URL, as they may with GitHub's.
func (i *Issuer) Env() []string {
	return []string{
		"ACTIONS_ID_TOKEN_REQUEST_URL=" + i.URL + "/token?api-version=2.0",
		"ACTIONS_ID_TOKEN_REQUEST_TOKEN=" + requestToken,
	}
}

// Token gives an identity token to the test itself.
func (i *Issuer) Token(audience string) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	times := jwt.Claims{
		Issuer: i.URL, Audience: jwt.Audience{audience}, Subject: "repo:" + i.claims.Repository + ":ref:" + i.claims.Ref,
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now.Add(-tokenLife)), Expiry: jwt.NewNumericDate(now.Add(tokenLife)),
	}
	if i.expired {
		times.IssuedAt = jwt.NewNumericDate(now.Add(-3 * tokenLife))
		times.NotBefore = times.IssuedAt
		times.Expiry = jwt.NewNumericDate(now.Add(-2 * tokenLife))
	}
	return jwt.Signed(i.signer).Claims(i.claims).Claims(times).Serialize()
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") || shown != requestToken {
		http.Error(w, "wrong request token", http.StatusUnauthorized)
		return
	}
	audience := r.URL.Query().Get("audience")
	if audience == "" {
		audience = "https://github.com/acme" // as GitHub does: the owner
	}
	raw, err := i.Token(audience)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, map[string]any{"count": len(raw), "value": raw})
}

// answer sends a JSON document. Who stopped listening needs no error.
func answer(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}
