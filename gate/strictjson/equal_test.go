package strictjson

import (
	"fmt"
	"strings"
	"testing"
)

func parsed(t *testing.T, src string) *Value {
	t.Helper()
	doc, err := Parse([]byte(src), DocumentLimits)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return &doc.Root
}

func TestEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b  string
		equal bool
	}{
		{`29`, `29.0`, true},
		{`29`, `2.9e1`, true},
		{`29.00`, `290e-1`, true},
		{`-0`, `0`, true},
		{`-0.0`, `0`, true},
		{`9007199254740993`, `9007199254740993`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`9007199254740993`, `9007199254740992.0`, false},
		{`9007199254740993.0`, `9007199254740992`, true}, // the first is written as binary64
		{`9007199254740993.0`, `9007199254740993`, false},
		{`100000000000000000000000000000`, `1e29`, false}, // 1e29 is no binary64 number, its nearest is another integer
		{`10000000000000000000000`, `1e22`, true},
		{`0.1`, `0.10000000000000000001`, true},
		{`0.1`, `0.10000000000000002`, false},
		{`1e-400`, `0`, true},
		{strings.Repeat("9", 5000), strings.Repeat("9", 4999) + "8", false},
		{strings.Repeat("9", 5000), strings.Repeat("9", 5000), true},

		{`1`, `true`, false},
		{`0`, `false`, false},
		{`0`, `null`, false},
		{`false`, `null`, false},
		{`""`, `null`, false},
		{`[]`, `{}`, false},
		{`"1"`, `1`, false},
		{`true`, `true`, true},
		{`true`, `false`, false},
		{`null`, `null`, true},

		{`"é"`, `"\u00e9"`, true},
		{`"é"`, `"e\u0301"`, false}, // no normalisation
		{`"a"`, `"A"`, false},
		{`"😀"`, `"\ud83d\ude00"`, true},
		{`"a"`, `"a\u0000"`, false},

		{`[1,2]`, `[1,2.0]`, true},
		{`[1,2]`, `[2,1]`, false},
		{`[1,2]`, `[1,2,3]`, false},
		{`[[],[[]]]`, `[[],[[]]]`, true},

		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1}`, true},
		{`{"a":1,"b":2}`, `{"b":1,"a":2}`, false},
		{`{"a":1,"b":2}`, `{"a":1}`, false},
		{`{"a":1}`, `{"A":1}`, false},
		{`{"a":1,"b":2}`, `{"a":1,"c":2}`, false},
		{`{"a":{"b":{"c":1,"d":2}}}`, `{"a":{"b":{"d":2,"c":1}}}`, true},
		{`{"a":null}`, `{}`, false},
	} {
		a, b := parsed(t, tt.a), parsed(t, tt.b)
		if Equal(a, b) != tt.equal || Equal(b, a) != tt.equal {
			t.Errorf("%s and %s: equal is %v, want %v", tt.a, tt.b, !tt.equal, tt.equal)
		}
		if !Equal(a, a) || !Equal(b, b) {
			t.Errorf("%s or %s does not equal itself", tt.a, tt.b)
		}
	}
}

// Two large objects in opposite orders are compared by sorting, not by a search
// for each name: this would take minutes.
func TestEqualLargeObjects(t *testing.T) {
	const n = 200_000
	a, b := Obj(), Obj()
	for i := range n {
		a.Members = append(a.Members, Member{Name: fmt.Sprint(i), Value: Num(fmt.Sprint(i))})
		b.Members = append(b.Members, Member{Name: fmt.Sprint(n - 1 - i), Value: Num(fmt.Sprint(n-1-i) + ".0")})
	}
	if !Equal(&a, &b) {
		t.Error("the same members in another order are not equal")
	}
	b.Members[n/2].Value = Num("-1")
	if Equal(&a, &b) {
		t.Error("objects that differ in one member are equal")
	}
}

func TestCompareOrder(t *testing.T) {
	ascending := []string{
		"-1.7976931348623157e308", "-" + strings.Repeat("9", 30), "-9007199254740993", "-9007199254740992.0", "-1.5", "-1", "-5e-324",
		"0", "5e-324", "0.1", "1", "1.5", "2", "10", "9007199254740992.0", "9007199254740993", "9007199254740994.0",
		strings.Repeat("9", 30), "1e30", strings.Repeat("9", 200), "1.7976931348623157e308", strings.Repeat("9", 309), strings.Repeat("9", 400),
	}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := CompareNumbers(a, b); got != want {
				t.Errorf("CompareNumbers(%s, %s) = %d, want %d", clip(a), clip(b), got, want)
			}
		}
	}
}
