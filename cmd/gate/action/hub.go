package action

import (
	"context"

	"github.com/verdictgate/verdictgate/gate/change"
	"github.com/verdictgate/verdictgate/gate/forge"
)

// hub is the forge as package change asks it. Which branch is the default one it asks
// once.
type hub struct {
	*forge.Client
	branch string
}

// DefaultBranch implements change.Forge.
func (h *hub) DefaultBranch(ctx context.Context) (string, error) {
	if h.branch != "" {
		return h.branch, nil
	}
	var err error
	h.branch, err = h.Client.DefaultBranch(ctx)
	return h.branch, err
}

// PullRequest implements change.Forge.
func (h *hub) PullRequest(ctx context.Context, number int) (change.PullRequest, error) {
	pr, err := h.Client.PullRequest(ctx, number)
	return pulled(pr), err
}

func pulled(pr forge.PullRequest) change.PullRequest {
	return change.PullRequest{Number: pr.Number, Head: pr.Head, Fork: pr.Fork, BaseRef: pr.BaseRef, Base: pr.Base, Dependabot: pr.Dependabot()}
}

// connect makes a client for the repository that the workflow runs in.
func (s *Step) connect(token string) (*forge.Client, error) {
	s.console().mask(token)
	config := forge.Config{
		API: s.Env("GITHUB_API_URL"), Server: s.Env("GITHUB_SERVER_URL"), Repository: s.Env("GITHUB_REPOSITORY"), Token: token, Warn: s.warn,
	}
	if s.Env("RUNNER_DEBUG") == "1" {
		config.Debug = s.console().say
	}
	return forge.New(config)
}
