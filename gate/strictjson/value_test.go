package strictjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestMembers(t *testing.T) {
	v := parsed(t, `{"a":1,"b":2,"c":3}`)
	if got := v.Get("b"); got == nil || got.Text != "2" {
		t.Errorf("Get(b) is %v", got)
	}
	if got := v.Get("B"); got != nil {
		t.Errorf("Get(B) is %v", got)
	}
	if got := parsed(t, `[1]`).Get("a"); got != nil {
		t.Errorf("a list has the member %v", got)
	}
	rest := v.Without("a", "x", "c")
	if got := string(Canonical(&rest)); got != `{"b":2}` {
		t.Errorf("Without(a, x, c) is %s", got)
	}
	rest.Set("b", Str("new"))
	rest.Set("z", Arr(Num("1"), Boolean(true), Obj()))
	if got := string(Canonical(&rest)); got != `{"b":"new","z":[1,true,{}]}` {
		t.Errorf("after Set: %s", got)
	}
	if got := string(Canonical(v)); got != `{"a":1,"b":2,"c":3}` {
		t.Errorf("the value that a copy was made of changed: %s", got)
	}
}

func TestIndent(t *testing.T) {
	v := parsed(t, `{"z":[1,{"b":29.00,"a":[]}],"é\n":{},"n":null}`)
	want := `{
  "z": [
    1,
    {
      "b": 29.0,
      "a": []
    }
  ],
  "é\n": {},
  "n": null
}
`
	if got := string(Indent(v)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A Value is a member of what encoding/json writes and reads: exactly.
func TestValueInGo(t *testing.T) {
	type message struct {
		V Value  `json:"v"`
		P *Value `json:"p"`
	}
	const text = `{"v":{"a":[9007199254740993,29.0,"<&>\u2028"]},"p":null}`
	var m message
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := parsed(t, text), parsed(t, string(data)); !Equal(a, b) || m.V.Get("a").Items[0].Text != "9007199254740993" {
		t.Errorf("%s became %s", text, data)
	}
	if err := json.Unmarshal([]byte(`{"v":{"a":1,"a":2}}`), &m); err == nil || !strings.Contains(err.Error(), "duplicate member name") {
		t.Errorf("a duplicate name on the wire: %v", err)
	}
}

func TestFromGo(t *testing.T) {
	value := Arr(Num("1"))
	for _, tt := range []struct {
		x    any
		want string
	}{
		{nil, `null`},
		{map[string]any{"b": 1, "a": []string{"x"}}, `{"a":["x"],"b":1}`},
		{1.5, `1.5`},
		{1e21, `1e+21`},
		{29.0, `29`}, // encoding/json writes a float that is a whole number as one
		{Float(29.0), `29.0`},
		{json.Number("9007199254740993"), `9007199254740993`},
		{value, `[1]`},
		{&value, `[1]`},
		{(*Value)(nil), `null`},
		{struct{ D Digest }{}, `{"D":"sha256:` + strings.Repeat("0", 64) + `"}`},
		{"<>&\u2028", "\"<>&\u2028\""},
	} {
		got, err := Marshal(tt.x)
		if err != nil || string(got) != tt.want {
			t.Errorf("Marshal(%v) = %s, %v; want %s", tt.x, got, err, tt.want)
		}
	}
	if _, err := FromGo(func() {}); err == nil {
		t.Error("a function is taken for JSON")
	}
	if got, err := FromGo(value); err != nil || !reflect.DeepEqual(got, value) {
		t.Errorf("FromGo changes a Value: %v, %v", got, err)
	}
}
