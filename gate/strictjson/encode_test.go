package strictjson

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"testing/quick"
)

// innerFields and allFields have every kind of field that a wire message or a result has.
type innerFields struct {
	Name  string   `json:"name"`
	Note  string   `json:"note,omitempty"`
	Ratio float64  `json:"ratio"`
	Maybe *float64 `json:"maybe,omitempty"`
}

type allFields struct {
	Z       string                 `json:"z"`
	A       int64                  `json:"a"`
	Byte    uint8                  `json:"byte"`
	Flag    bool                   `json:"flag"`
	Flags   []bool                 `json:"flags,omitempty"`
	Data    []byte                 `json:"data"`
	Names   [][]byte               `json:"names"`
	Inner   innerFields            `json:"innerFields"`
	Inners  []innerFields          `json:"inners"`
	Pointer *innerFields           `json:"pointer"`
	Ints    map[string]int         `json:"ints"`
	Deep    map[string]innerFields `json:"deep,omitempty"`
	Digest  Digest                 `json:"digest"`
	Array   [2]int32               `json:"array"`
	Skipped string                 `json:"-"`
	NoTag   string
}

// openFields are those that may hold anything.
type openFields struct {
	Plain allFields
	Any   any             `json:"any"`
	Raw   json.RawMessage `json:"raw"`
	Value Value           `json:"value"`
	Other *Value          `json:"other"`
}

// viaJSON is what Append must give, got the long way round.
func viaJSON(t *testing.T, x any) []byte {
	t.Helper()
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Parse(text, DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	return Canonical(&doc.Root)
}

func TestAppendIsEncodingJSON(t *testing.T) {
	same := func(plain allFields) bool {
		x := openFields{Plain: plain}
		x.Raw = json.RawMessage(`{"b": 1.50, "a": [1e2, "\u00e9"]}`)
		x.Value = Arr(Str(plain.Z), Num("1.50"))
		x.Any = map[string]any{"x": plain.Inner, "n": nil, "f": plain.Inner.Ratio, "l": []any{1, "two", &x.Value}}
		got, err := Append([]byte("before "), &x)
		want := viaJSON(t, &x)
		if err != nil || string(got) != "before "+string(want) {
			t.Logf("%v\n got %s\nwant %s", err, got, want)
			return false
		}
		return true
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
	if !same(allFields{}) { // everything nil
		t.Error("an empty struct")
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1, 29, 0.1, 1e-5, 1e15, 1e16, 123456789012345678, 1e20, 1e21, 1e22, -1e21, 1.5e300, 5e-324, math.MaxInt64} {
		if got, err := Marshal(f); err != nil || !bytes.Equal(got, viaJSON(t, f)) {
			t.Errorf("%v is %s (%v), and by encoding/json %s", f, got, err, viaJSON(t, f))
		}
	}
	for _, s := range []string{"", "\x00\x1f\"\\/", "<&>\u2028", "caf\u00e9 \U0001f600", "\xff", "a\xc3", "\xff\xff\xfe b"} {
		if got, err := Marshal(s); err != nil || !bytes.Equal(got, viaJSON(t, s)) {
			t.Errorf("%q is %s (%v), and by encoding/json %s", s, got, err, viaJSON(t, s))
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	type embedded struct{ innerFields }
	type quoted struct {
		N int `json:"n,string"`
	}
	for _, x := range []any{
		math.NaN(), math.Inf(1), func() {}, make(chan int), 1i, map[int]string{1: "a"}, map[string]int{"\xff": 1}, embedded{}, quoted{},
		[]any{map[string]any{"deep": math.NaN()}}, json.RawMessage(`{"a":1,"a":2}`), json.Number("01"), float32(1),
	} {
		if got, err := Marshal(x); err == nil {
			t.Errorf("%v (%s) was written as %s", x, reflect.TypeOf(x), got)
		}
	}
}
