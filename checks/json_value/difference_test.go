package jsonvalue

import (
	"testing"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// FuzzDifference holds the place that is reported against the two documents:
// it leads somewhere in the judged one, and the wanted one has something else
// or nothing there.
func FuzzDifference(f *testing.F) {
	for _, seed := range [][2]string{
		{`1`, `2`}, {`[1,2]`, `[1]`}, {`{"a":1}`, `{"b":1}`}, {`{"a":{"b":[1,{"c":null}]}}`, `{"a":{"b":[1,{"c":0}]}}`},
		{`{"a":1,"b":2}`, `{"b":2}`}, {`{"b":2}`, `{"a":1,"b":2}`}, {`[]`, `{}`}, {`{"a/b":{"~":1}}`, `{"a/b":{"~":true}}`}, {`1.0`, `1`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, got, want string) {
		a, errA := strictjson.Parse([]byte(got), strictjson.ContractLimits)
		b, errB := strictjson.Parse([]byte(want), strictjson.ContractLimits)
		if errA != nil || errB != nil || strictjson.Equal(&a.Root, &b.Root) {
			return
		}
		place, reason := difference(place{&a.Root, nil}, &b.Root)
		found, _, why := place.at.Find(&a.Root)
		if why != "" || found != place.value || reason == "" {
			t.Fatalf("%s, not %s: %q leads nowhere: %s", got, want, place.at, why)
		}
		if wanted, _, why := place.at.Find(&b.Root); why == "" && strictjson.Equal(found, wanted) {
			t.Fatalf("%s, not %s: both have the same at %q (%s)", got, want, place.at, reason)
		}
	})
}
