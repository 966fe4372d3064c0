//go:build lean

package checks

import "github.com/verdictgate/verdictgate/gate/check"

func jsonSchema() check.Type { return check.Elsewhere("json_schema") }
