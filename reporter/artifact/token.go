package artifact

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// backend is the run and the job as the service calls them. The numbers in
// GITHUB_* are other ones.
type backend struct {
	Run string `json:"workflow_run_backend_id"`
	Job string `json:"workflow_job_run_backend_id"`
}

// resultsScope is what the entry of a token's scopes begins with that names them.
const resultsScope = "Actions.Results"

// parseToken reads the ids out of the runtime token. Its signature is for the
// service to verify. No error quotes the token.
func parseToken(token string) (b backend, err error) {
	if len(token) > maxToken {
		return b, fmt.Errorf("it has %d bytes; at most %d are read", len(token), maxToken)
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return b, fmt.Errorf("a JWT has three parts, and this has %d", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return b, errors.New("its payload is not base64url")
	}
	var claims struct {
		Scopes string `json:"scp"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return b, errors.New("its payload is not the JSON of a token")
	}
	for scope := range strings.FieldsSeq(claims.Scopes) {
		ids := strings.Split(scope, ":")
		if ids[0] != resultsScope {
			continue
		}
		if len(ids) != 3 || ids[1] == "" || ids[2] == "" {
			return b, fmt.Errorf("its scope %s does not name one run and one job", resultsScope)
		}
		return backend{ids[1], ids[2]}, nil
	}
	return b, fmt.Errorf("it has no scope %s", resultsScope)
}
