package strictjson

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// Where a mistake is shown, and in what words: line, column, and a part of the
// reason. The column counts code points.
var malformed = []struct{ name, src, want string }{
	{"empty", "", "1:1: the text is empty"},
	{"white space only", " \n\t ", "1:1: the text is empty"},
	{"byte order mark only", bom, "1:1: the text is empty"},
	{"two byte order marks", bom + bom + "1", `1:1: unexpected byte order mark`},
	{"byte order mark later", "[" + bom + "]", `1:2: unexpected byte order mark`},
	{"UTF-16 little endian, marked", "\xff\xfe[\x00]\x00", "1:1: the text is UTF-16"},
	{"UTF-16 big endian, marked", "\xfe\xff\x00[\x00]", "1:1: the text is UTF-16"},
	{"UTF-16 little endian", "[\x00]\x00", "1:1: the text is UTF-16"},
	{"UTF-16 big endian", "\x00[\x00]", "1:1: the text is UTF-16"},
	{"UTF-32", "\x00\x00\xfe\xff\x00\x00\x00[", "1:1: the text is UTF-16 or UTF-32"},
	{"NUL bytes", "\x00\x00", "1:1: unexpected control character U+0000"},
	{"NUL byte between", "[1,\x002]", "1:4: unexpected control character U+0000"},
	{"trailing data", "{} x", "1:4: something after the end"},
	{"trailing bracket", "[1]]", "1:4: something after the end"},
	{"two values", "1\n2", "2:1: something after the end"},
	{"trailing NUL", "1\x00", "1:2: something after the end"},
	{"comment behind", "1 // one", "1:3: a comment"},

	{"line comment", "{\n  // no\n}", "2:3: a comment"},
	{"block comment", "[/* no */]", "1:2: a comment"},
	{"hash comment", "# no\n[]", "1:1: a comment"},
	{"comma before a bracket", "[1,]", "1:3: must not stand before the closing \"]\""},
	{"comma before a brace", "{\"a\": 1,\n}", "1:8: must not stand before the closing \"}\""},
	{"comma first", "[,1]", `1:2: unexpected "," where a value is expected`},
	{"two commas", "[1,,2]", `1:4: unexpected "," where a value is expected`},
	{"comma first in an object", "{,}", `1:2: unexpected "," where a member name`},
	{"comma missing", "[1 2]", `1:4: unexpected "2" where "," or "]" is expected`},
	{"comma missing between members", "{\"a\":1\n \"b\":2}", `2:2: unexpected "\"" where "," or "}" is expected`},
	{"colon missing", `{"a" 1}`, `1:6: unexpected "1" where ":" is expected`},
	{"equals sign", `{"a"=1}`, `1:5: unexpected "=" where ":" is expected`},
	{"value missing", `{"a":}`, `1:6: unexpected "}" where a value is expected`},
	{"bracket of another kind", "[1}", `1:3: unexpected "}" where "," or "]" is expected`},
	{"name without quotes", `{a:1}`, `1:2: the member name "a" must be in double quotes`},
	{"number as a name", `{1:1}`, `1:2: the member name "1" must be in double quotes`},
	{"name in single quotes", `{'a':1}`, `1:2: texts stand in double quotes`},
	{"text in single quotes", `['a']`, `1:2: texts stand in double quotes`},
	{"duplicate name", "{\"a\":1,\n\"b\":2, \"a\":3}", `2:8: duplicate member name "a"`},
	{"duplicate name, escaped", `{"a":1,"\u0061":2}`, `1:8: duplicate member name "a"`},
	{"duplicate name before a later mistake", `{"a":1,"a":x}`, `1:8: duplicate member name "a"`},
	{"object not closed", "{\"a\":1\n", "2:1: ends before the object that begins at line 1, column 1"},
	{"array not closed", "{\"a\":\n [1,", "2:5: ends before the array that begins at line 2, column 2"},
	{"ends after a name", `{"a"`, "1:5: ends in the middle of a member"},
	{"ends after a colon", `{"a": `, "1:7: ends in the middle of a member"},

	{"True", "[True]", `1:2: unexpected "True" where a value is expected: write true`},
	{"None", "None", `1:1: unexpected "None" where a value is expected: write null`},
	{"cut word", "[tru]", `1:2: unexpected "tru" where a value is expected`},
	{"long word", "[nulls]", `1:2: unexpected "nulls"`},
	{"NaN", `{"a":NaN}`, `1:6: unexpected "NaN" where a value is expected: JSON has no such number`},
	{"Infinity", `[Infinity]`, `1:2: unexpected "Infinity" where a value is expected: JSON has no such number`},
	{"-Infinity", `[-Infinity]`, `1:2: unexpected "-Infinity" where a value is expected: JSON has no such number`},
	{"leading zero", `{"a":01}`, `1:6: the number "01" begins with a zero too many`},
	{"negative leading zero", `[-012]`, `1:2: the number "-012" begins with a zero too many`},
	{"plus sign", `{"a":+1}`, `1:6: a number has no plus sign`},
	{"point first", `{"a":.5}`, `1:6: a number has a digit before its point`},
	{"point last", `[1.]`, `1:4: a digit is expected after the point`},
	{"point at the end", `1.`, `1:3: a digit is expected after the point`},
	{"minus alone", `[-]`, `1:3: a digit is expected after the minus sign`},
	{"two minus signs", `[--1]`, `1:3: a digit is expected after the minus sign`},
	{"exponent without digits", `[1e]`, `1:4: a digit is expected in the exponent`},
	{"exponent with a sign alone", `[1e+]`, `1:5: a digit is expected in the exponent`},
	{"exponent with a point", `[1e1.5]`, `1:5: unexpected "." where "," or "]"`},
	{"hexadecimal", `[0x1F]`, `1:3: unexpected "x1F" directly after the number "0"`},
	{"letters after a number", `[ 12abc]`, `1:5: unexpected "abc" directly after the number "12"`},
	{"underscore in a number", `[1_000]`, `1:3: unexpected "_000" directly after the number "1"`},
	{"two points", `[1.2.3]`, `1:5: unexpected "." where "," or "]"`},
	{"overflow", `{"a":1e400}`, `1:6: the number "1e400" is too large`},
	{"negative overflow", `[-1e400]`, `1:2: the number "-1e400" is too large`},
	{"overflow by digits", `[` + strings.Repeat("9", 400) + `.0]`, `1:2: is too large`},
	{"overflow by rounding", `[1.7976931348623159e308]`, `1:2: is too large`},

	{"string not closed", "[\"abc", "1:2: the string that begins here is never closed"},
	{"name not closed", "{\n\"abc", "2:1: the string that begins here is never closed"},
	{"string with an escaped quote at the end", `["abc\"`, "1:2: the string that begins here is never closed"},
	{"line break in a string", "[\"abc\n\"]", "1:6: a line break in a string"},
	{"tab in a string", "{\"a\":\"\t\"}", "1:7: a tab in a string"},
	{"control character in a string", "[\"a\x01\"]", `1:4: the control character U+0001 in a string: write \u0001`},
	{"control character in a name", "{\"\x1f\":1}", `1:3: the control character U+001F`},
	{"bad escape", `{"a":"b\x"}`, `1:8: \x is no escape sequence`},
	{"bad escape, not ASCII", `["é\é"]`, `1:4: \é is no escape sequence`},
	{"escape at the end", `["\`, `1:3: ends in the middle of an escape sequence`},
	{"capital \\U", `["\U0041"]`, `1:3: \U is no escape sequence`},
	{"bad hex digit", `["\u00g0"]`, `1:3: \u must be followed by four hex digits`},
	{"too few hex digits", `["\u004"]`, `1:3: \u must be followed by four hex digits`},
	{"text ends in hex digits", `"\u00`, `1:2: \u must be followed by four hex digits`},
	{"high surrogate alone", `["\ud800"]`, `1:3: \ud800 is the first half of a surrogate pair`},
	{"high surrogate before a letter", `["\ud83dx"]`, `1:3: \ud83d is the first half`},
	{"high surrogate before an escape", `["\ud83d\n"]`, `1:3: \ud83d is the first half`},
	{"high surrogate twice", `["\ud83d\ud83d\ude00"]`, `1:3: \ud83d is the first half`},
	{"low surrogate alone", `["x\ude00"]`, `1:4: \ude00 is the second half`},
	{"surrogates reversed", `["\ude00\ud83d"]`, `1:3: \ude00 is the second half`},
	{"lone surrogate in a name", `{"\udead":1}`, `1:3: \udead is the second half`},

	{"invalid UTF-8: stray byte", "[\"é\xff\"]", "1:4: the byte 0xff is not valid UTF-8"},
	{"invalid UTF-8: continuation alone", "[\"\x80\"]", "1:3: the byte 0x80 is not valid UTF-8"},
	{"invalid UTF-8: cut sequence", "[\"\xe2\x82\"]", "1:3: the byte 0xe2 is not valid UTF-8"},
	{"invalid UTF-8: overlong", "[\"\xc0\xaf\"]", "1:3: the byte 0xc0 is not valid UTF-8"},
	{"invalid UTF-8: overlong of three", "[\"\xe0\x80\xaf\"]", "1:3: the byte 0xe0 is not valid UTF-8"},
	{"invalid UTF-8: surrogate", "[\"\xed\xa0\x80\"]", "1:3: the byte 0xed is not valid UTF-8"},
	{"invalid UTF-8: beyond U+10FFFF", "[\"\xf4\x90\x80\x80\"]", "1:3: the byte 0xf4 is not valid UTF-8"},
	{"invalid UTF-8: five bytes", "[\"\xf8\x88\x80\x80\x80\"]", "1:3: the byte 0xf8 is not valid UTF-8"},
	{"invalid UTF-8: in a name", "{\"\xff\":1}", "1:3: the byte 0xff is not valid UTF-8"},
	{"invalid UTF-8: outside a string", "[\xff]", "1:2: the byte 0xff is not valid UTF-8"},
	{"invalid UTF-8: escaped", "[\"\\\xff\"]", "1:4: the byte 0xff is not valid UTF-8"},
	{"invalid UTF-8: text ends", "\"\xe2\x82", "1:2: the byte 0xe2 is not valid UTF-8"},

	{"other white space", "[1,\u00a02]", `1:4: unexpected "\u00a0"`},
	{"form feed", "[\f1]", `1:2: unexpected control character U+000C`},
	{"fullwidth digit", "[１]", `1:2: unexpected "１"`},
	{"column counts code points", `{"ééé": x}`, `1:9: unexpected "x"`},
	{"column counts code points beyond the BMP", `["😀", x]`, `1:7: unexpected "x"`},
	{"the byte order mark takes no column", bom + "[x]", `1:2: unexpected "x"`},
	{"Windows line ends", "[\r\n  x]", `2:3: unexpected "x"`},
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range malformed {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := Parse([]byte(tt.src), DocumentLimits)
			if err == nil {
				t.Fatalf("%q is accepted as %s", tt.src, Canonical(&doc.Root))
			}
			var syn *SyntaxError
			if !errors.As(err, &syn) {
				t.Fatalf("error of type %T", err)
			}
			at, reason, _ := strings.Cut(tt.want, ": ")
			if got := fmt.Sprintf("%d:%d", syn.Line, syn.Column); got != at || !strings.Contains(syn.Reason, reason) {
				t.Errorf("%q\n got %s: %s\nwant %s", tt.src, got, syn.Reason, tt.want)
			}
			if syn.Limit {
				t.Error("malformed is taken for over a limit")
			}
			if strings.TrimSpace(syn.Reason) != syn.Reason || !utf8.ValidString(syn.Reason) {
				t.Errorf("the reason is no clean text: %q", syn.Reason)
			}
			if want := fmt.Sprintf("line %d, column %d: %s", syn.Line, syn.Column, syn.Reason); err.Error() != want {
				t.Errorf("Error() = %q, want %q", err.Error(), want)
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	for src, want := range map[string]string{
		bom + `{"a":1}`:                       `{"a":1}`,
		" \t\r\n[ \t\r\n1 \t\r\n, 2 ] \n":     `[1,2]`,
		`null`:                                `null`,
		`true`:                                `true`,
		`false`:                               `false`,
		`""`:                                  `""`,
		`"\"\\\/\b\f\n\r\t\u0041\u00e9"`:      `"\"\\/\b\f\n\r\tAé"`,
		`"\ud83d\ude00\uD83D\uDE00"`:          `"😀😀"`,
		`"\u0000"`:                            `"\u0000"`,
		"\"\x7f\u2028\ufffd\ufeff\"":          "\"\x7f\u2028\ufffd\ufeff\"",
		`"\uffff\udbff\udfff"`:                "\"\uffff\U0010ffff\"",
		`{"":1}`:                              `{"":1}`,
		`{"a":{"a":{"a":1}}}`:                 `{"a":{"a":{"a":1}}}`,
		`[-0,-0.0,0e0,-0e-5,0.00]`:            `[0,-0.0,0.0,-0.0,0.0]`,
		`[1e-400,-1e-400,0e99999,1E+2]`:       `[0.0,-0.0,0.0,100.0]`,
		`1.7976931348623158e308`:              `1.7976931348623157e+308`,
		strings.Repeat("9", 400):              strings.Repeat("9", 400),
		"0." + strings.Repeat("3", 400):       `0.3333333333333333`,
		`1` + strings.Repeat("0", 308) + `.0`: `1e+308`,
	} {
		doc, err := Parse([]byte(src), DocumentLimits)
		if err != nil {
			t.Errorf("%q: %v", src, err)
		} else if got := string(Canonical(&doc.Root)); got != want {
			t.Errorf("%q\n got %s\nwant %s", src, got, want)
		}
	}
}

func TestParseKeepsPlaces(t *testing.T) {
	const src = bom + "{\n \"é\": [1,\t\"x\"],\n\"b\" :null}"
	doc, err := Parse([]byte(src), DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	root := doc.Root
	for _, tt := range []struct {
		what string
		off  int
		want Position
	}{
		{"the object", root.Pos, Position{1, 1}},
		{"the first name", root.Members[0].Pos, Position{2, 2}},
		{"the array", root.Members[0].Value.Pos, Position{2, 7}},
		{"1", root.Members[0].Value.Items[0].Pos, Position{2, 8}},
		{"x", root.Members[0].Value.Items[1].Pos, Position{2, 11}},
		{"the second name", root.Members[1].Pos, Position{3, 1}},
		{"null", root.Members[1].Value.Pos, Position{3, 6}},
		{"the end", len(src), Position{3, 11}},
		{"no place", -1, Position{}},
		{"past the end", len(src) + 1, Position{}},
	} {
		if got := doc.Position(tt.off); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, got, tt.want)
		}
	}
}

// Document.Position looks offsets up from marks; a plain count must agree,
// wherever a mark cuts the text.
func TestPositionAcrossMarks(t *testing.T) {
	for _, unit := range []string{"x", "é", "😀\n", "aé😀\r\n", strings.Repeat("é", 3000) + "\n"} {
		oneLine := strings.NewReplacer("\r", " ", "\n", " ").Replace(strings.Repeat(unit, 3*markEvery/len(unit)+7))
		src := bom + `"` + oneLine + `"`
		spaced := bom + strings.Repeat(" \r\n", markEvery) + strings.TrimPrefix(src, bom)
		for _, text := range []string{src, spaced} {
			doc, err := Parse([]byte(text), DocumentLimits)
			if err != nil {
				t.Fatal(err)
			}
			want := Position{1, 1}
			for off, r := range text {
				if off == 0 && r == '\ufeff' {
					continue
				}
				if got := doc.Position(off); got != want {
					t.Fatalf("offset %d: %v, want %v", off, got, want)
				}
				want.Column++
				if r == '\n' {
					want = Position{want.Line + 1, 1}
				}
			}
		}
	}
}

func TestDepth(t *testing.T) {
	for _, lim := range []Limits{ContractLimits, DocumentLimits, {Depth: 3, Bytes: 1 << 20}, {Depth: 20_000, Bytes: 1 << 20}} {
		for name, nest := range map[string]func(n int) string{
			"arrays":  func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) },
			"objects": func(n int) string { return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1) },
		} {
			doc, err := Parse([]byte(nest(lim.Depth)), lim)
			if err != nil {
				t.Fatalf("%s nested %d deep: %v", name, lim.Depth, err)
			}
			if again, err := Parse(Canonical(&doc.Root), lim); err != nil || !Equal(&doc.Root, &again.Root) {
				t.Errorf("%s nested %d deep change by being written (%v)", name, lim.Depth, err)
			}
			_, err = Parse([]byte(nest(lim.Depth+1)), lim)
			var syn *SyntaxError
			if !errors.As(err, &syn) || !syn.Limit || !strings.Contains(syn.Reason, fmt.Sprint(lim.Depth)) {
				t.Fatalf("%s nested %d deep: %v, want a limit", name, lim.Depth+1, err)
			}
			// The place is the bracket that is too deep.
			if want := strings.LastIndexAny(nest(lim.Depth+1), "[{"); syn.Offset != want || syn.Column != want+1 {
				t.Errorf("%s: at offset %d, want %d", name, syn.Offset, want)
			}
		}
	}
	// What is malformed before it is too deep is malformed.
	_, err := Parse([]byte("[x"+strings.Repeat("[", 300)), ContractLimits)
	var syn *SyntaxError
	if !errors.As(err, &syn) || syn.Limit {
		t.Errorf("%v, want a malformed text", err)
	}
}

func TestSizeLimits(t *testing.T) {
	for _, tt := range []struct {
		src  string
		lim  Limits
		ok   bool
		want Position
	}{
		{"[1,2]", Limits{Depth: 1, Bytes: 5}, true, Position{}},
		{"[1,2]", Limits{Depth: 1, Bytes: 4}, false, Position{1, 1}},
		{"[1,2]", Limits{Depth: 1, Bytes: 5, Values: 3}, true, Position{}},
		{"[1,2]", Limits{Depth: 1, Bytes: 5, Values: 2}, false, Position{1, 4}},
		{`{"a":1,"b":2}`, Limits{Depth: 1, Bytes: 50, Values: 2}, false, Position{1, 12}},
	} {
		_, err := Parse([]byte(tt.src), tt.lim)
		var syn *SyntaxError
		if tt.ok && err != nil || !tt.ok && (!errors.As(err, &syn) || !syn.Limit || syn.Position != tt.want) {
			t.Errorf("%s within %+v: %v", tt.src, tt.lim, err)
		}
	}
}

// The parser keeps its own copy: a caller may use the bytes again.
func TestParseKeepsNoBytes(t *testing.T) {
	src := []byte(`{"name":["text",123]}`)
	doc, err := Parse(src, DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	for i := range src {
		src[i] = 'x'
	}
	if got := string(Canonical(&doc.Root)); got != `{"name":["text",123]}` {
		t.Errorf("the document changed with the bytes: %s", got)
	}
}

// Names that repeat are found in small and large objects, at any distance.
func TestDuplicateNames(t *testing.T) {
	for _, n := range []int{2, fewNames - 1, fewNames, fewNames + 1, fewNames + 2, 1000} {
		for _, first := range []int{0, 1, n / 2, n - 2} {
			var b strings.Builder
			for i := range n - 1 {
				fmt.Fprintf(&b, `{"n%d":1,`[min(i, 1):], i)
			}
			if first >= n-1 {
				continue
			}
			unique := b.String() + `"last":[{"n0":1}]}`
			if _, err := Parse([]byte(unique), DocumentLimits); err != nil {
				t.Fatalf("%d unique names: %v", n, err)
			}
			twice := b.String() + fmt.Sprintf(`"n%d":1}`, first)
			_, err := Parse([]byte(twice), DocumentLimits)
			var syn *SyntaxError
			if !errors.As(err, &syn) || syn.Offset != b.Len() || syn.Reason != fmt.Sprintf(`duplicate member name "n%d"`, first) {
				t.Errorf("%d names, the last repeats number %d: %v", n, first, err)
			}
		}
	}
}
