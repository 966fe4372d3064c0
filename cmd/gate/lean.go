//go:build lean

package main

import _ "embed"

// carried is the full program, which make build puts there.
//
//go:embed full/gate
var carried []byte
