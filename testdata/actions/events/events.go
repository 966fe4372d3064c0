// Package events holds payloads of GitHub's webhooks for tests to start from: public
// examples, from npm's @octokit/webhooks-examples (see cut and LICENSE).
package events

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed *.json
var payloads embed.FS

// Load gives an example, such as "pull_request.opened", with members changed. A
// key is a path of members, with dots.
func Load(name string, changes map[string]any) (map[string]any, error) {
	text, err := payloads.ReadFile(name + ".json")
	if err != nil {
		return nil, err
	}
	var payload map[string]any
	if err := json.Unmarshal(text, &payload); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for key, value := range changes {
		at := payload
		parts := strings.Split(key, ".")
		for _, p := range parts[:len(parts)-1] {
			inner, ok := at[p].(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s has no member %q", name, key)
			}
			at = inner
		}
		at[parts[len(parts)-1]] = value
	}
	return payload, nil
}
