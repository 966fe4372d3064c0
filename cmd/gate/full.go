//go:build !lean

package main

import (
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/seal/sigstore"
)

// carried is the program inside this one: none, this one has everything.
var carried []byte

// backend signs and verifies.
func backend() seal.Backend { return sigstore.New() }
