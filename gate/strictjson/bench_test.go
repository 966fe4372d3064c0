package strictjson

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// The documents of the benchmarks, by what is large about them.
var benchDocuments = []struct {
	name string
	make func() []byte
}{
	{"numbers", func() []byte { return list(100_000, func(i int) string { return fmt.Sprint(i * 7) }) }},
	{"floats", func() []byte { return list(100_000, func(i int) string { return fmt.Sprint(float64(i) / 7) }) }},
	{"strings", func() []byte { return list(100_000, func(i int) string { return fmt.Sprintf(`"item é %d"`, i) }) }},
	{"escapes", func() []byte { return list(100_000, func(i int) string { return fmt.Sprintf(`"a\n\u00e9 %d"`, i) }) }},
	{"objects", func() []byte {
		return list(20_000, func(i int) string {
			return fmt.Sprintf(`{"id":%d,"name":"n%d","price":%d.5,"ok":true,"tags":["a","b"]}`, i, i, i)
		})
	}},
	{"members", func() []byte {
		s := list(100_000, func(i int) string { return fmt.Sprintf(`"name%d":%d`, i, i) })
		s[0], s[len(s)-1] = '{', '}'
		return s
	}},
	{"deep", func() []byte { return []byte(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)) }},
	{"text of 64 MiB", func() []byte { return []byte(`"` + strings.Repeat("x", 64<<20-2) + `"`) }},
	{"records of 64 MiB", func() []byte {
		one := `{"id":123456,"name":"a name of some length","price":19.95,"ok":true,"note":null},` + "\n"
		return []byte("[" + strings.Repeat(one, 64<<20/len(one)) + "0]")
	}},
}

func list(n int, item func(i int) string) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(item(i))
	}
	b.WriteByte(']')
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for _, d := range benchDocuments {
		src := d.make()
		b.Run(d.name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(src, DocumentLimits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDigestOf(b *testing.B) {
	for _, d := range benchDocuments {
		doc, err := Parse(d.make(), DocumentLimits)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(d.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc.src)))
			b.ReportAllocs()
			for b.Loop() {
				DigestOf(&doc.Root)
			}
		})
	}
}

// Many problems in one long line: each place is looked up.
func BenchmarkPosition(b *testing.B) {
	src := list(1_000_000, func(i int) string { return fmt.Sprintf(`"é%d"`, i) })
	doc, err := Parse(src, DocumentLimits)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for i := range doc.Root.Items {
			doc.Position(doc.Root.Items[i].Pos)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(doc.Root.Items)), "ns/place")
}

func BenchmarkDecode(b *testing.B) {
	members := bytes.TrimPrefix(list(100_000, func(i int) string { return fmt.Sprintf(`"name%d":%d`, i, i) }), []byte("["))
	src := fmt.Sprintf(`{"name":"n","tags":[%s"a"],"numbers":{%s}}`, strings.Repeat(`"a",`, 100_000), bytes.TrimSuffix(members, []byte("]")))
	doc, err := Parse([]byte(src), ContractLimits)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		var s sample
		r := Report{Version: 1}
		Decode(r.Root(&doc.Root), "a sample", &s)
		if len(r.Problems) > 0 {
			b.Fatal(r.Problems)
		}
	}
}

func BenchmarkEqual(b *testing.B) {
	x, y := Obj(), Obj()
	const n = 100_000
	for i := range n {
		x.Members = append(x.Members, Member{Name: fmt.Sprint(i), Value: Num("29")})
		y.Members = append(y.Members, Member{Name: fmt.Sprint(n - 1 - i), Value: Num("29.0")})
	}
	for b.Loop() {
		if !Equal(&x, &y) {
			b.Fatal("not equal")
		}
	}
}
