package strictjson

import (
	"fmt"
	"strconv"
	"strings"
)

// Pointer is a JSON Pointer of RFC 6901, split into its reference tokens.
// The empty Pointer is the whole document.
type Pointer []string

// ParsePointer reads "" or "/a/b~1c".
func ParsePointer(s string) (Pointer, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf(`%s is no JSON Pointer: it must be "" or begin with "/" (RFC 6901)`, clip(s))
	}
	tokens := strings.Split(s[1:], "/")
	for i, t := range tokens {
		for j := 0; j < len(t); j++ {
			if t[j] == '~' && (j+1 == len(t) || t[j+1] != '0' && t[j+1] != '1') {
				return nil, fmt.Errorf("%s is no JSON Pointer: ~ must be followed by 0 or 1 (RFC 6901)", clip(s))
			}
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens, nil
}

func (p Pointer) String() string {
	var b strings.Builder
	for _, t := range p {
		b.WriteByte('/')
		b.WriteString(escapeToken(t))
	}
	return b.String()
}

func escapeToken(t string) string {
	if !strings.ContainsAny(t, "~/") {
		return t
	}
	return strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1")
}

// Find gives the value at the pointer, or how far it led: the value of the
// longest part that resolves, that part, and why the next token leads nowhere.
func (p Pointer) Find(v *Value) (found *Value, deepest Pointer, why string) {
	for i, t := range p {
		next := (*Value)(nil)
		switch v.Kind {
		case Object:
			if next = v.Get(t); next == nil {
				return v, p[:i], fmt.Sprintf("the object there has no member %s", clip(t))
			}
		case Array:
			n, ok := index(t)
			if !ok {
				return v, p[:i], fmt.Sprintf("%s is no index of an array", clip(t))
			}
			if n >= len(v.Items) {
				return v, p[:i], fmt.Sprintf("the array there has %d elements, so no element %s", len(v.Items), t[:min(len(t), 20)])
			}
			next = &v.Items[n]
		default:
			return v, p[:i], fmt.Sprintf("there is %s there, which has no members", v.Kind)
		}
		v = next
	}
	return v, p, ""
}

// index reads an array index of RFC 6901: digits without a leading zero. A
// number too long for any array is past the end of every array.
func index(t string) (int, bool) {
	if t == "" || t != "0" && t[0] == '0' {
		return 0, false
	}
	for i := 0; i < len(t); i++ {
		if t[i] < '0' || t[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(t)
	if err != nil {
		return int(^uint(0) >> 1), true
	}
	return n, true
}
