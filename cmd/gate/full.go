//go:build !lean

package main

import (
	"context"
	"io"

	"github.com/verdictgate/verdictgate/cmd/gate/action"
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
		Command: func(ctx context.Context, args []string, out, err io.Writer) int {
			return run(ctx, args, c.env, streams{out, err, c.front})
		}}
	return step.Run(ctx, way)
}
