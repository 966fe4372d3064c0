package secret

import (
	"strings"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Place is where in a JSON value another one stands, as far as that says what
// it is: the string at /db/password is a password, whatever it looks like, and
// so is the one at /db/password/value. The zero Place says nothing; the root of
// a document has it.
//
// Whoever takes a value out of its document, to compare or to quote it, has to
// keep its Place: the value alone no longer shows that it must be redacted.
type Place struct {
	naming
	below bool // inside the value that has the name
}

// At is the place at the end of a path of member names and indices.
func At(path ...string) Place {
	var p Place
	for _, name := range path {
		p = p.Member(name)
	}
	return p
}

// Member is the place of a member, or of the element of that index.
func (p Place) Member(name string) Place {
	switch n := memberNaming(name); {
	case n.weight != unnamed && (n.weight != possible || !p.holds()):
		return Place{naming: n}
	case run(name, 0, isDigit) == len(name):
		return p
	case p.holds() && !describes(name):
		return Place{p.naming, true}
	}
	return Place{}
}

// memberNaming reads the name of a member as it is written, so one that was
// itself redacted says nothing, now and the next time.
func memberNaming(name string) naming {
	if strings.Contains(name, opening) {
		return naming{}
	}
	return nameOf(name)
}

// Named says whether a name or its surroundings call a value at this place a credential.
func (p Place) Named() bool { return p.weight != unnamed }

// Colon is ": " for a sentence that goes on after the name of the place, or ", "
// where the first word after a colon would be taken for a credential.
func (p Place) Colon() string {
	if p.Named() {
		return ", "
	}
	return ": "
}

// Redact redacts a value that stands at this place.
func (p Place) Redact(v *strictjson.Value) strictjson.Value {
	var r valueRedactor
	return r.value(v, "", p)
}

// Excerpt is strictjson.Excerpt for a value that stands at this place: what
// member names call a credential is replaced. What only its own shape shows is
// left to the redaction of the line that quotes it. It costs no more than what
// it shows.
func (p Place) Excerpt(v *strictjson.Value, most int) (text string, cut bool) {
	// Each value takes at least a byte of the excerpt.
	m := masker{left: most + 1, most: most}
	shown := m.value(v, p)
	return strictjson.Excerpt(&shown, most)
}

// masker copies the beginning of a value, in the order of its source, with the
// strings replaced that stand at a named place.
type masker struct{ left, most int }

func (m *masker) value(v *strictjson.Value, p Place) strictjson.Value {
	out := *v
	m.left--
	switch v.Kind {
	case strictjson.String:
		if p.Named() {
			const wide = 4 // enough for what a header leaves of its value
			out.Text, _ = p.text(v.Text[:min(len(v.Text), wide*m.most+maxPlaceholder)])
		}
	case strictjson.Array:
		out.Items = nil
		for i := 0; i < len(v.Items) && m.left > 0; i++ {
			out.Items = append(out.Items, m.value(&v.Items[i], p))
		}
	case strictjson.Object:
		out.Members = nil
		for i := 0; i < len(v.Members) && m.left > 0; i++ {
			member := v.Members[i]
			member.Value = m.value(&member.Value, p.Member(member.Name))
			out.Members = append(out.Members, member)
		}
	}
	return out
}

// text redacts a string that stands at this place.
func (p Place) text(text string) (string, []Hit) {
	if kind, ok := p.whole(text); ok {
		// What the string is by its own shape says more than its member's name.
		if found := Find(text); len(found) == 1 && !found[0].Kind.contextual() {
			kind = found[0].Kind
		}
		return kind.Replacement(), []Hit{{kind, 1}}
	}
	s := scanner{text: text, context: true}
	switch p.weight {
	case authorization:
		s.authorization(value{end: len(text), quoted: true})
	case cookies:
		s.cookies(0, len(text))
	}
	if s.found == nil {
		return Redact(text)
	}
	out, hits := replace(text, s.found)
	out, more := Redact(out)
	return out, Merge(hits, more)
}

// whole says whether a string at this place is a credential as a whole, and of what kind.
func (p Place) whole(text string) (Kind, bool) {
	if strings.HasPrefix(text, opening) || len(text) <= maxPlaceholder && placeholder(text) {
		return "", false
	}
	switch p.weight {
	case possible:
		return p.ofShape(text), drawn(text)
	case likely:
		return p.kind, !plain(text)
	case certain:
		if p.below && (isWord(text) || p.kind != Password && len(text) < 3) {
			return "", false
		}
		return p.kind, true
	}
	return "", false
}

// ofShape corrects the kind of what is called auth: base64, or anything else.
func (n naming) ofShape(text string) Kind {
	if n.kind == Basic && run(text, 0, isB64) < len(text) {
		return Token
	}
	return n.kind
}
