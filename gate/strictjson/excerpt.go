package strictjson

import (
	"strings"
	"unicode/utf8"
)

// Excerpt writes a value as compact JSON in the order of its source, and stops
// after about most bytes: cut says that there was more. It costs no more than
// what it shows, however large the value is, so it is what messages quote.
// Bytes of a string that are no UTF-8 are written as \xff, which no JSON text
// holds.
func Excerpt(v *Value, most int) (text string, cut bool) {
	w := excerpt{most: most}
	w.value(v)
	out := string(w.dst)
	if len(out) > most {
		end := most
		for end > 0 && !utf8.RuneStart(out[end]) {
			end--
		}
		return out[:end] + "…", true
	}
	return out, false
}

type excerpt struct {
	dst  []byte
	most int
}

func (w *excerpt) full() bool { return len(w.dst) > w.most }

func (w *excerpt) value(v *Value) {
	switch v.Kind {
	case String:
		w.text(v.Text)
	case Number:
		w.dst = append(w.dst, v.Text[:min(len(v.Text), w.most+1)]...)
	case Array:
		w.dst = append(w.dst, '[')
		for i := range v.Items {
			if w.full() {
				return
			}
			w.comma(i)
			w.value(&v.Items[i])
		}
		w.dst = append(w.dst, ']')
	case Object:
		w.dst = append(w.dst, '{')
		for i := range v.Members {
			if w.full() {
				return
			}
			w.comma(i)
			w.text(v.Members[i].Name)
			w.dst = append(w.dst, ':')
			w.value(&v.Members[i].Value)
		}
		w.dst = append(w.dst, '}')
	default:
		w.dst = appendCanonical(w.dst, v)
	}
}

func (w *excerpt) comma(i int) {
	if i > 0 {
		w.dst = append(w.dst, ',')
	}
}

func (w *excerpt) text(s string) {
	// A little more than is shown, so that the cut is seen.
	if end := w.most + utf8.UTFMax; len(s) > end {
		for i := 1; i < utf8.UTFMax && !utf8.RuneStart(s[end]); i++ {
			end--
		}
		s = s[:end]
	}
	w.dst = appendString(w.dst, Printable(s))
}

// Printable makes text of bytes that may not be UTF-8: each byte that belongs
// to no valid character becomes \x and two hex digits.
func Printable(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b.Write([]byte{'\\', 'x', hex[s[i]>>4], hex[s[i]&15]})
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}
