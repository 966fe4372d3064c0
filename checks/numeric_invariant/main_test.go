package numericinvariant

import (
	"os"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check/checktest"
)

func TestMain(m *testing.M) { os.Exit(checktest.Main(m, Type())) }
