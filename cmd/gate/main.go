package main

import (
	"context"
	"os"

	"github.com/verdictgate/verdictgate/checks"
	"github.com/verdictgate/verdictgate/gate/carry"
	"github.com/verdictgate/verdictgate/gate/worker"
)

func main() {
	ctx := context.Background()
	args, front := carry.Arrive(os.Args)
	shed(args)
	if status, ok := worker.Main(ctx, checks.All(), args); ok {
		os.Exit(status) // a worker of another gate, or the init of a container
	}
	os.Exit(run(ctx, args[1:], os.Getenv, streams{os.Stdout, os.Stderr, front}))
}
