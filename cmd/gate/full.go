//go:build !lean

package main

import (
	"context"

	"github.com/verdictgate/verdictgate/cmd/gate/action"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/seal/sigstore"
)

// carried is the program inside this one: none, this one has everything.
var carried []byte

// backend signs and verifies.
func backend() seal.Backend { return sigstore.New() }

// act carries out a step of a workflow.
func (c *cli) act(ctx context.Context, way, path string) (int, error) {
	step := action.Step{Gate: c.gate, Env: c.env, Path: path, Log: c.out, Commit: identify().Commit, StatusOf: statusOf, StatusOfFault: statusOfFault,
		Release: func(d policy.Decision, trust seal.Trust) (int, string) {
			return statusOfRelease(d.Verdict, d.Outcome), decision(c.style(c.out), d, trust)
		}}
	return step.Run(ctx, way)
}
