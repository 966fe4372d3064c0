package strictjson

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// fuzzLimits keep one input from taking seconds; the nesting is what the
// parsers that ours is held against can read.
var fuzzLimits = Limits{Depth: 1000, Bytes: 1 << 20, Values: 100_000}

// seedTexts adds every vector, every malformed text and the small files of the
// test suite as seeds.
func seedTexts(f *testing.F) {
	f.Helper()
	for _, m := range malformed {
		f.Add([]byte(m.src))
	}
	data, err := os.ReadFile("testdata/canonical.json")
	if err != nil {
		f.Fatal(err)
	}
	var vectors struct{ Canonical []struct{ Input string } }
	if err := json.Unmarshal(data, &vectors); err != nil {
		f.Fatal(err)
	}
	for _, v := range vectors.Canonical {
		f.Add([]byte(v.Input))
	}
	archive, err := zip.OpenReader("testdata/jsontestsuite/test_parsing.zip")
	if err != nil {
		f.Fatal(err)
	}
	defer archive.Close()
	for _, file := range archive.File {
		if file.UncompressedSize64 < 1000 {
			f.Add(unzipped(f, file))
		}
	}
}

// FuzzParse holds the parser against two others: what it accepts they accept,
// and what it refuses they refuse too or for a reason that we are stricter in.
func FuzzParse(f *testing.F) {
	seedTexts(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, err := Parse(src, fuzzLimits)
		text := []byte(strings.TrimPrefix(string(src), bom))
		if err != nil {
			checkRefusal(t, src, text, err)
			return
		}
		if !json.Valid(text) {
			t.Error("encoding/json refuses it")
		}
		if !jsontext.Value(text).IsValid() {
			t.Error("jsontext refuses it")
		}
		checkPlaces(t, doc, &doc.Root)
		canonical := Canonical(&doc.Root)
		again, err := Parse(canonical, fuzzLimits)
		if err != nil {
			t.Fatalf("its canonical form is refused: %v\n%s", err, canonical)
		}
		if !Equal(&doc.Root, &again.Root) {
			t.Errorf("its canonical form is another value: %s", canonical)
		}
		if twice := Canonical(&again.Root); string(twice) != string(canonical) {
			t.Errorf("the canonical form of its canonical form differs:\n%s\n%s", canonical, twice)
		}
		if DigestOf(&doc.Root) != Sum(canonical) {
			t.Error("its digest is not that of its canonical form")
		}
		indented, err := Parse(Indent(&doc.Root), fuzzLimits)
		if err != nil || !Equal(&doc.Root, &indented.Root) {
			t.Errorf("written for people it is another value (%v)", err)
		}
	})
}

func checkRefusal(t *testing.T, src, text []byte, err error) {
	t.Helper()
	var syn *SyntaxError
	if !errors.As(err, &syn) {
		t.Fatalf("error of type %T", err)
	}
	if syn.Line < 1 || syn.Column < 1 || syn.Offset < 0 || syn.Offset > len(src) {
		t.Errorf("no place in the text: %+v", syn)
	}
	if want := place(string(src), nil, syn.Offset); syn.Position != want {
		t.Errorf("the place %v is not that of the offset, %v", syn.Position, want)
	}
	if syn.Reason == "" || !utf8.ValidString(syn.Reason) || strings.ContainsFunc(syn.Reason, func(r rune) bool { return r < ' ' }) {
		t.Errorf("no clean reason: %q", syn.Reason)
	}
	if syn.Limit {
		return
	}
	if jsontext.Value(text).IsValid() && !strings.Contains(syn.Reason, "too large for a binary64 number") {
		t.Errorf("jsontext accepts it: %v", err)
	}
	stricter := []string{"duplicate member name", "too large for a binary64 number", "surrogate pair", "not valid UTF-8"}
	if json.Valid(text) && !slices.ContainsFunc(stricter, func(s string) bool { return strings.Contains(syn.Reason, s) }) {
		t.Errorf("encoding/json accepts it: %v", err)
	}
}

// checkPlaces says whether each value stands where it says.
func checkPlaces(t *testing.T, d *Document, v *Value) {
	t.Helper()
	first := map[Kind]string{Null: "n", Bool: "tf", Number: "-0123456789", String: `"`, Array: "[", Object: "{"}[v.Kind]
	if v.Pos < 0 || v.Pos >= len(d.src) || !strings.Contains(first, d.src[v.Pos:v.Pos+1]) {
		t.Fatalf("%s at offset %d, where there is none", v.Kind, v.Pos)
	}
	if got, want := d.Position(v.Pos), place(d.src, nil, v.Pos); got != want {
		t.Errorf("offset %d is at %v by the marks, and at %v", v.Pos, got, want)
	}
	for i := range v.Items {
		checkPlaces(t, d, &v.Items[i])
	}
	for i := range v.Members {
		if d.src[v.Members[i].Pos] != '"' {
			t.Fatalf("a name at offset %d, where there is none", v.Members[i].Pos)
		}
		checkPlaces(t, d, &v.Members[i].Value)
	}
}

// FuzzCanonical holds the canonical form against a second implementation.
func FuzzCanonical(f *testing.F) {
	seedTexts(f)
	for _, v := range reprVectors {
		f.Add([]byte("[" + v.repr + "]"))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, err := Parse(src, fuzzLimits)
		if err != nil {
			return
		}
		want, err := reference(src)
		if err != nil {
			t.Fatalf("the second implementation refuses it: %v", err)
		}
		if got := string(Canonical(&doc.Root)); got != want {
			t.Errorf("two implementations differ:\n%s\n%s", got, want)
		}
		if hasLoneSurrogate(string(src)) {
			t.Error("half of a surrogate pair is accepted")
		}
	})
}

// FuzzFloat holds the writing of every binary64 number against the second
// implementation: texts rarely hit the hard ones.
func FuzzFloat(f *testing.F) {
	for _, v := range reprVectors {
		f.Add(v.bits)
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		x := math.Float64frombits(bits)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		got := string(appendFloat(nil, x))
		if want := referenceNumber(got); got != want {
			t.Errorf("%#016x is written %s, and %s by the second implementation", bits, got, want)
		}
	})
}

// FuzzPointer holds pointers against their own text and a plain search.
func FuzzPointer(f *testing.F) {
	for _, p := range []string{"", "/", "/foo", "/foo/0", "/a~1b", "/m~0n", "/~01", "/~", "/~2", "a", "//", "/00", "/-", "/é/\x00"} {
		f.Add(p, `{"foo":["bar","baz"],"":0,"a/b":1,"m~n":8,"é":{"\u0000":[]}}`)
	}
	f.Fuzz(func(t *testing.T, text, src string) {
		p, err := ParsePointer(text)
		if err != nil {
			if p != nil || text == "" || text[0] == '/' && !strings.Contains(text, "~") {
				t.Errorf("%q is refused: %v", text, err)
			}
			return
		}
		if got := p.String(); got != text {
			t.Errorf("%q is written %q", text, got)
		}
		doc, err := Parse([]byte(src), fuzzLimits)
		if err != nil {
			return
		}
		found, deepest, why := p.Find(&doc.Root)
		want := search(&doc.Root, text)
		if (why == "") != (want != nil) || want != nil && found != want {
			t.Errorf("%q in %s: found %v (%s), want %v", text, src, found, why, want)
		}
		if !slices.Equal(deepest, p[:len(deepest)]) || (why == "") != (len(deepest) == len(p)) {
			t.Errorf("%q leads as far as %q (%s)", text, deepest, why)
		}
		if at, _, why := deepest.Find(&doc.Root); why != "" || at != found {
			t.Errorf("%q does not lead to what was found: %s", deepest, why)
		}
	})
}

// search follows a pointer by its text alone, one step at a time.
func search(v *Value, text string) *Value {
	if text == "" {
		return v
	}
	step, rest, more := strings.Cut(text[1:], "/")
	if more {
		rest = "/" + rest
	}
	name := strings.ReplaceAll(step, "~1", "/")
	name = strings.ReplaceAll(name, "~0", "~")
	for i := range v.Members {
		if v.Members[i].Name == name {
			return search(&v.Members[i].Value, rest)
		}
	}
	for i := range v.Items {
		if strconv.Itoa(i) == step {
			return search(&v.Items[i], rest)
		}
	}
	return nil
}
