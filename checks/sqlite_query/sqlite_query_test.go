package sqlitequery

import (
	"testing"

	"github.com/verdictgate/verdictgate/gate/check/checktest"
)

func TestCases(t *testing.T) { checktest.Run(t, Type()) }
