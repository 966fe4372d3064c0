package strictjson

import (
	"cmp"
	"slices"
)

// Canonical writes a value in canonical form.
func Canonical(v *Value) []byte { return appendCanonical(nil, v) }

// DigestOf is the SHA-256 of a value's canonical form.
func DigestOf(v *Value) Digest { return Sum(Canonical(v)) }

func appendCanonical(dst []byte, v *Value) []byte {
	switch v.Kind {
	case Bool:
		if v.Bool {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case Number:
		return appendNumber(dst, v.Text)
	case String:
		return appendString(dst, v.Text)
	case Array:
		dst = append(dst, '[')
		for i := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCanonical(dst, &v.Items[i])
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range sorted(v.Members) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, m.Name)
			dst = append(dst, ':')
			dst = appendCanonical(dst, &m.Value)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// sorted orders members by code point, which is the byte order of UTF-8.
func sorted(members []Member) []*Member {
	out := make([]*Member, len(members))
	for i := range members {
		out[i] = &members[i]
	}
	slices.SortFunc(out, func(a, b *Member) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
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
	dst = append(dst, s[from:]...)
	return append(dst, '"')
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
