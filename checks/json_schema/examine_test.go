package jsonschema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Many mistakes are many problems, and a bound on the rounds never makes a
// schema with a mistake a sound one.
func TestExamineEndsAndNeverTakesAMistake(t *testing.T) {
	for _, c := range []struct{ good, bad, problems int }{
		{0, 1, 1}, {0, 20, 20}, {0, 100, maxRounds}, {3000, 40, rounds(3040)},
	} {
		var defs []string
		for i := range c.good {
			defs = append(defs, fmt.Sprintf(`"g%d": {"type": "string"}`, i))
		}
		for i := range c.bad {
			defs = append(defs, fmt.Sprintf(`"b%d": {"$ref": "http://x.example/%d"}`, i, i))
		}
		var report strictjson.Report
		n := report.Root(parse(t, []byte(`{"$defs": {`+strings.Join(defs, ",")+`}}`)))
		if compile(n, nothing{}) != nil || len(report.Problems) != c.problems {
			t.Errorf("%d sound and %d wrong: %d problems, want %d", c.good, c.bad, len(report.Problems), c.problems)
		}
	}
}

func TestDraftOf(t *testing.T) {
	for name, want := range map[string]draft{
		"http://json-schema.org/draft-04/schema#":      draft4,
		"https://json-schema.org/draft-07/schema":      draft7,
		"https://json-schema.org/draft/2020-12/schema": draft2020,
		"http://json-schema.org/schema#":               0,
		"json-schema.org/draft-07/schema":              0,
		"ftp://json-schema.org/draft-07/schema":        0,
		"":                                             0,
	} {
		if got, known := draftOf(name); got != want || known != (want != 0) {
			t.Errorf("%q: %d %v", name, got, known)
		}
	}
}
