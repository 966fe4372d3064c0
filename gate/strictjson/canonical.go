package strictjson

import (
	"crypto/sha256"
	"hash"
	"slices"
	"strconv"
	"strings"
)

// Canonical writes a value in canonical form.
func Canonical(v *Value) []byte { return appendCanonical(nil, v) }

// DigestOf is the SHA-256 of a value's canonical form. The form is hashed while
// it is written, so that digesting a large value takes no second copy of it.
func DigestOf(v *Value) Digest {
	w := writer{hash: sha256.New()}
	w.value(v)
	w.hash.Write(w.buf)
	return Digest(w.hash.Sum(nil))
}

func appendCanonical(dst []byte, v *Value) []byte {
	w := writer{buf: dst}
	w.value(v)
	return w.buf
}

// writer writes the canonical form into buf, and where there is a hash moves
// what it wrote there from time to time.
type writer struct {
	buf      []byte
	hash     hash.Hash
	declared bool // members in the order in which they come, which is not the canonical one
}

// hashEvery is how much of the form is written before it is hashed.
const hashEvery = 32 << 10

func (w *writer) drain() {
	if w.hash != nil && len(w.buf) >= hashEvery {
		w.hash.Write(w.buf) // a hash never fails
		w.buf = w.buf[:0]
	}
}

func (w *writer) value(v *Value) {
	switch v.Kind {
	case Bool:
		w.buf = strconv.AppendBool(w.buf, v.Bool)
	case Number:
		w.buf = appendNumber(w.buf, v.Text)
	case String:
		w.text(v.Text)
	case Array:
		w.buf = append(w.buf, '[')
		for i := range v.Items {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			w.value(&v.Items[i])
		}
		w.buf = append(w.buf, ']')
	case Object:
		w.buf = append(w.buf, '{')
		var order []*Member
		if !w.declared {
			order = sorted(v.Members)
		}
		for i := range v.Members {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			m := &v.Members[i]
			if order != nil {
				m = order[i]
			}
			w.text(m.Name)
			w.buf = append(w.buf, ':')
			w.value(&m.Value)
		}
		w.buf = append(w.buf, '}')
	default:
		w.buf = append(w.buf, "null"...)
	}
	w.drain()
}

// text writes a string in pieces, for it may be as large as a document. Bytes
// are escaped one by one, so it does not matter where it is cut.
func (w *writer) text(s string) {
	w.buf = append(w.buf, '"')
	for w.hash != nil && len(s) > hashEvery {
		w.buf = appendEscaped(w.buf, s[:hashEvery])
		s = s[hashEvery:]
		w.drain()
	}
	w.buf = append(appendEscaped(w.buf, s), '"')
}

// sorted orders members by code point, which is the byte order of UTF-8. It is
// nil when they are in order already, as in all canonical text.
func sorted(members []Member) []*Member {
	for i := 1; i < len(members); i++ {
		if members[i-1].Name > members[i].Name {
			return sort(members)
		}
	}
	return nil
}

func sort(members []Member) []*Member {
	out := make([]*Member, len(members))
	for i := range members {
		out[i] = &members[i]
	}
	slices.SortFunc(out, func(a, b *Member) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func appendString(dst []byte, s string) []byte {
	return append(appendEscaped(append(dst, '"'), s), '"')
}

func appendEscaped(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, s[from:]...)
}

// Indent writes a value for people: members in their order, two spaces a
// level, scalars as in the canonical form.
func Indent(v *Value) []byte { return append(appendIndented(nil, v, "\n"), '\n') }

func appendIndented(dst []byte, v *Value, nl string) []byte {
	inner := nl + "  "
	switch {
	case v.Kind == Array && len(v.Items) > 0:
		for i := range v.Items {
			dst = append(append(dst, "[,"[min(i, 1)]), inner...)
			dst = appendIndented(dst, &v.Items[i], inner)
		}
		return append(append(dst, nl...), ']')
	case v.Kind == Object && len(v.Members) > 0:
		for i := range v.Members {
			dst = append(append(dst, "{,"[min(i, 1)]), inner...)
			dst = append(appendString(dst, v.Members[i].Name), ": "...)
			dst = appendIndented(dst, &v.Members[i].Value, inner)
		}
		return append(append(dst, nl...), '}')
	}
	return appendCanonical(dst, v)
}
