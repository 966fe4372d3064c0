//go:build lean

package main

import (
	_ "embed"

	"github.com/verdictgate/verdictgate/gate/seal"
)

// carried is the full program, which make build puts there.
//
//go:embed full/gate
var carried []byte

// backend is the full program's: its libraries are slow to start.
func backend() seal.Backend { return nil }
