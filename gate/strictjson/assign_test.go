package strictjson

import (
	"reflect"
	"strings"
	"testing"
	"testing/quick"
)

// wired has what a wire message has.
type wired struct {
	Text    string        `json:"text"`
	Number  int64         `json:"number"`
	Ratio   float64       `json:"ratio"`
	Flag    bool          `json:"flag"`
	Data    []byte        `json:"data"`
	Names   [][]byte      `json:"names"`
	Inner   innerFields   `json:"inner"`
	Inners  []innerFields `json:"inners"`
	Pointer *innerFields  `json:"pointer"`
	Maybe   *int          `json:"maybe,omitempty"`
}

func TestWhatIsAppendedIsAssigned(t *testing.T) {
	same := func(in wired) bool {
		in.Text, in.Inner.Name = strings.ToValidUTF8(in.Text, "?"), strings.ToValidUTF8(in.Inner.Name, "?")
		text, err := Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := Parse(text, DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		var out wired
		if err := AssignNil(&doc.Root, &out); err != nil {
			t.Logf("%v: %s", err, text)
			return false
		}
		again, err := Marshal(out)
		if err != nil || string(again) != string(text) {
			t.Logf("%v\n%s\n%s", err, text, again)
			return false
		}
		return true
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
	if !same(wired{}) {
		t.Error("what is nil")
	}
}

func TestAssignRefuses(t *testing.T) {
	type small struct {
		A int      `json:"a"`
		B []string `json:"b"`
		C []byte   `json:"c,omitempty"`
	}
	for text, why := range map[string]string{
		`{"a":1}`:                "lacks its member",
		`{"a":1,"b":[],"d":2}`:   "a member too many",
		`{"A":1,"b":[]}`:         "lacks its member",
		`{"a":1.5,"b":[]}`:       "an integer",
		`{"a":"1","b":[]}`:       "a string where",
		`{"a":1,"b":null}`:       "null where",
		`{"a":1,"b":[1]}`:        "a number where",
		`{"a":1,"b":[],"c":"*"}`: "no base64",
		`{"a":1e30,"b":[]}`:      "an integer",
		`[]`:                     "an array where",
		`null`:                   "null where",
	} {
		doc, err := Parse([]byte(text), DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		var out small
		if err := Assign(&doc.Root, &out); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
	doc, err := Parse([]byte(`{"a":1,"b":null}`), DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	var out small
	if err := AssignNil(&doc.Root, &out); err != nil || !reflect.DeepEqual(out, small{A: 1}) {
		t.Errorf("%v %+v", err, out)
	}
}
