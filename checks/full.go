//go:build !lean

package checks

import (
	"github.com/verdictgate/verdictgate/checks/json_schema"
	"github.com/verdictgate/verdictgate/gate/check"
)

func jsonSchema() check.Type { return jsonschema.Type() }
