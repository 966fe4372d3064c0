//go:build lean

package main

import (
	"context"
	_ "embed"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// carried is the full program, which make build puts there.
//
//go:embed full/gate
var carried []byte

// backend is the full program's: its libraries are slow to start.
func backend() seal.Backend { return nil }

// act is the full program's: the libraries for GitHub are there.
func (c *cli) act(context.Context, string, string) (int, error) { return 0, fault.ErrElsewhere }
