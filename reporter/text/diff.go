package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// maxDifferences is how many differences of one check are shown. Who needs
// more reads the evidence; a screen full of them helps nobody.
const maxDifferences = 12

// maxValueCells is how much of one value is shown where no terminal sets a
// bound; long values differ somewhere, and that place is what is shown.
const maxValueCells = 160

// maxLines is how much of a text of several lines is shown.
const maxLines = 10

// maxExcerpt is how much of a value is written out to find that place: as much
// as evidence.json holds of one.
const maxExcerpt = 64 << 10

// difference is one place where what was seen is not what was wanted. A nil
// value says that there is nothing at that place.
type difference struct {
	pointer            strictjson.Pointer
	expected, observed *strictjson.Value
}

// differences compares two values as checks do and gives the innermost places
// where they differ, in the order of what was expected, at most most of them.
func differences(expected, observed *strictjson.Value, most int) (out []difference, more bool) {
	c := comparison{most: most}
	c.compare(nil, expected, observed)
	return c.out[:min(len(c.out), most)], len(c.out) > most
}

type comparison struct {
	out  []difference
	most int
}

func (c *comparison) compare(at strictjson.Pointer, e, o *strictjson.Value) {
	switch {
	case len(c.out) > c.most:
	case e == nil || o == nil || e.Kind != o.Kind:
		c.out = append(c.out, difference{at, e, o})
	case e.Kind == strictjson.Array:
		for i := range max(len(e.Items), len(o.Items)) {
			c.compare(step(at, strconv.Itoa(i)), item(e, i), item(o, i))
		}
	case e.Kind == strictjson.Object:
		for i := range e.Members {
			m := &e.Members[i]
			c.compare(step(at, m.Name), &m.Value, o.Get(m.Name))
		}
		for i := range o.Members {
			if m := &o.Members[i]; e.Get(m.Name) == nil {
				c.compare(step(at, m.Name), nil, &m.Value)
			}
		}
	case !strictjson.Equal(e, o):
		c.out = append(c.out, difference{at, e, o})
	}
}

// step is a longer pointer that shares no memory with its siblings.
func step(at strictjson.Pointer, token string) strictjson.Pointer {
	return append(at[:len(at):len(at)], token)
}

func item(v *strictjson.Value, i int) *strictjson.Value {
	if i < len(v.Items) {
		return &v.Items[i]
	}
	return nil
}

// diff shows what was expected and what was observed. Two values that must be
// equal are shown by the places where they differ. Otherwise what was expected
// is a check's parameters and what was observed its report: the members that
// both have are compared, and what only the report has is context, such as the
// output of a command.
func (p *page) diff(indent string, expected, observed *strictjson.Value) {
	e, o := stated(expected), stated(observed)
	if e == nil && o == nil {
		return
	}
	equal, report := opposed(e, o)
	if equal != nil && equal.Kind == o.Kind {
		all, more := differences(equal, o, maxDifferences)
		for _, d := range all {
			p.sides(indent, d)
		}
		if more {
			p.line(indent + p.paint(faint, p.fit("… and more: see the evidence")))
		}
		return
	}
	if !report {
		if equal != nil {
			e = equal
		}
		p.sides(indent, difference{nil, e, o})
		return
	}
	all, _ := differences(e, o, len(e.Members)+len(o.Members)+maxDifferences)
	shown := 0
	for _, d := range all {
		if inReport := d.expected != nil && o.Get(d.pointer[0]) != nil || len(d.pointer) > 1; inReport && shown < maxDifferences {
			shown++
			p.sides(indent, d)
		}
	}
	for i := range o.Members {
		if m := &o.Members[i]; e.Get(m.Name) == nil && !annotates(m.Name, o) && !empty(&m.Value) {
			p.context(indent, m)
		}
	}
}

// opposed finds what to compare with what. Many checks state {"equals": value}
// beside other parameters, and observe the bare value: equal is that value
// then. report says that both are objects with a member in common, parameters
// and a report.
func opposed(e, o *strictjson.Value) (equal *strictjson.Value, report bool) {
	switch {
	case e == nil || o == nil:
		return nil, false
	case e.Kind != strictjson.Object:
		return e, false
	case o.Kind == strictjson.Object && slices.ContainsFunc(e.Members, func(m strictjson.Member) bool { return o.Get(m.Name) != nil }):
		return nil, true
	}
	return e.Get("equals"), false
}

// empty says whether a value of a report says nothing.
func empty(v *strictjson.Value) bool {
	return v.Kind == strictjson.Null || v.Kind == strictjson.String && v.Text == "" ||
		v.Kind == strictjson.Array && len(v.Items) == 0 || v.Kind == strictjson.Object && len(v.Members) == 0
}

// annotates says whether a member only describes another one, as stdout_bytes
// does stdout.
func annotates(name string, o *strictjson.Value) bool {
	at := strings.LastIndexByte(name, '_')
	return at > 0 && o.Get(name[:at]) != nil
}

// stated is a value of the evidence; nil for null, which says that the check had
// nothing to state there.
func stated(v *strictjson.Value) *strictjson.Value {
	if v.Kind == strictjson.Null {
		return nil
	}
	return v
}

// sides shows both values of a difference.
func (p *page) sides(indent string, d difference) {
	at := ""
	if len(d.pointer) > 0 {
		at = clip(Escape(d.pointer.String()), maxValueCells/2) + "  "
	}
	bound := p.room(indent + "expected  " + at)
	e, o := apart(shown(d.expected), shown(d.observed), bound)
	if d.expected != nil || at != "" {
		p.side(indent+"expected", good, at, clip(e, bound))
	}
	if d.observed != nil || at != "" {
		p.side(indent+"observed", bad, at, clip(o, bound))
	}
}

// context shows a member that was only observed. A text of several lines, such
// as the output of a command, is shown by its end: that is where programs say
// what went wrong.
func (p *page) context(indent string, m *strictjson.Member) {
	name := m.Name
	if m.Value.Kind != strictjson.String || !strings.Contains(m.Value.Text, "\n") {
		at := Escape(name) + "  "
		p.side(indent+"        ", faint, at, clip(shown(&m.Value), p.room(indent+at+"          ")))
		return
	}
	lines := strings.Split(strings.TrimRight(m.Value.Text, "\n"), "\n")
	title := Escape(name)
	if left := len(lines) - maxLines; left > 0 {
		lines = lines[left:]
		title += fmt.Sprintf(" (the last %d of %d lines)", maxLines, left+maxLines)
	}
	p.line(indent + p.paint(faint, p.fit(title)))
	for _, l := range lines {
		p.line(indent + p.paint(faint, "| "+p.fit(clip(Escape(l), p.room(indent+"| ")))))
	}
}

// room is how many columns are left for a value behind a lead.
func (p *page) room(lead string) int {
	if p.Width == 0 {
		return maxValueCells
	}
	return max(p.Width-cells(lead), minWidth/2)
}

// side shows one value on one line: a wrapped value is harder to compare than
// a clipped one.
func (p *page) side(lead string, t tone, at, value string) {
	p.line(lead + "  " + p.paint(faint, p.fit(at)) + p.paint(t, p.fit(value)))
}

// shown writes a value on one line.
func shown(v *strictjson.Value) string {
	if v == nil {
		return "(nothing)"
	}
	text, _ := strictjson.Excerpt(v, maxExcerpt)
	return Escape(text)
}

// apart leaves out what two texts have in common at their beginning, all but a
// little, where it would push the difference over the bound.
func apart(a, b string, bound int) (string, string) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	if same < bound/2 {
		return a, b
	}
	cut := same - bound/4
	for cut > 0 && !utf8.RuneStart(a[cut]) {
		cut--
	}
	return "…" + a[cut:], "…" + b[cut:]
}
