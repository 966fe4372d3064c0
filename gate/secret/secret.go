package secret

import (
	"slices"
	"strings"
)

// Match is one credential in a text: text[Start:End].
type Match struct {
	Kind  Kind
	Start int
	End   int
}

// Hit says how many credentials of a kind were replaced.
type Hit struct {
	Kind  Kind
	Count int
}

// Find gives the credentials of a text: in order, not overlapping, each as long
// as its surroundings allow. It is nil for a text without any.
func Find(text string) []Match {
	s := scanner{text: text, context: true}
	s.scan()
	return s.found
}

// Redact replaces every credential of a text by [redacted:<kind>] and says what
// it replaced, by kind in alphabetical order. Redacting twice changes nothing.
func Redact(text string) (string, []Hit) {
	var hits []Hit
	// What was replaced no longer hides what stands beside it: the brace of a text
	// that was no object after all, the @ behind a token.
	for range maxRounds {
		found := Find(text)
		if found == nil {
			break
		}
		var more []Hit
		text, more = replace(text, found)
		hits = Merge(hits, more)
	}
	return text, hits
}

// maxRounds bounds how often a text is looked at again; two are the rule where one is not
// enough.
const maxRounds = 8

// replace puts its replacement in the place of each match.
func replace(text string, found []Match) (string, []Hit) {
	var (
		out  strings.Builder
		hits []Hit
		from int
	)
	out.Grow(len(text))
	for _, m := range found {
		out.WriteString(text[from:m.Start])
		out.WriteString(m.Kind.Replacement())
		from = m.End
		hits = count(hits, m.Kind, 1)
	}
	out.WriteString(text[from:])
	return out.String(), hits
}

// RedactBytes is [Redact] for bytes, which need not be text. What holds no
// credential is returned as it came.
func RedactBytes(data []byte) ([]byte, []Hit) {
	text, hits := Redact(string(data))
	if hits == nil {
		return data, nil
	}
	return []byte(text), hits
}

// Credential says whether a text holds what is a credential beyond doubt: a
// provider's token or a private key. Pairs such as password=…, headers, JSON
// Web Tokens and URLs do not count; they are what the data of a test looks like.
func Credential(text string) (Kind, bool) {
	s := scanner{text: text}
	s.scan()
	for _, m := range s.found {
		if m.Kind != JWT {
			return m.Kind, true
		}
	}
	return "", false
}

// count adds n to the hit of a kind in an ordered list.
func count(hits []Hit, kind Kind, n int) []Hit {
	i, ok := slices.BinarySearchFunc(hits, kind, func(h Hit, k Kind) int { return strings.Compare(string(h.Kind), string(k)) })
	if !ok {
		hits = slices.Insert(hits, i, Hit{Kind: kind})
	}
	hits[i].Count += n
	return hits
}

// Merge adds the hits of b to those of a.
func Merge(a, b []Hit) []Hit {
	out := slices.Clone(a)
	for _, h := range b {
		out = count(out, h.Kind, h.Count)
	}
	return out
}
