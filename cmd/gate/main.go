package main

import (
	"context"
	"os"

	"github.com/verdictgate/verdictgate/checks"
	"github.com/verdictgate/verdictgate/gate/worker"
)

func main() {
	ctx := context.Background()
	if status, ok := worker.Main(ctx, checks.All(), os.Args); ok {
		os.Exit(status) // this process is a worker of another gate
	}
	os.Exit(run(ctx, os.Args[1:], os.Getenv, streams{os.Stdout, os.Stderr}))
}
