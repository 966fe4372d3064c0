package text

import (
	"encoding/json"
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

// diff shows what was expected and what was observed. Two objects or arrays
// are shown by the places where they differ; a member that was only observed,
// such as the output of a command, is context and no difference.
func (p *page) diff(indent string, expected, observed json.RawMessage) {
	e, o := parse(expected), parse(observed)
	if e == nil && o == nil {
		return
	}
	if e, o = opposed(e, o); e == nil || o == nil || !alike(e, o) {
		p.sides(indent, difference{nil, e, o})
		return
	}
	all, more := differences(e, o, maxDifferences)
	for _, d := range all {
		if !isContext(d, o) {
			p.sides(indent, d)
		}
	}
	for _, d := range all {
		if isContext(d, o) && !annotates(d.pointer[0], o) {
			p.context(indent, d)
		}
	}
	if more {
		p.line(indent + p.paint(faint, p.fit("… and more: see the evidence")))
	}
}

// opposed finds the values to compare. Many checks state {"equals": value}
// beside other parameters, and observe the bare value.
func opposed(e, o *strictjson.Value) (*strictjson.Value, *strictjson.Value) {
	if e == nil || o == nil || e.Kind != strictjson.Object || e.Get("equals") == nil || o.Kind == strictjson.Object && o.Get("equals") != nil {
		return e, o
	}
	return e.Get("equals"), o
}

// alike says whether a comparison place by place says more than the two values
// side by side: they are of one kind, and objects have a member in common.
func alike(e, o *strictjson.Value) bool {
	if e.Kind != o.Kind || e.Kind != strictjson.Object {
		return e.Kind == o.Kind
	}
	return slices.ContainsFunc(e.Members, func(m strictjson.Member) bool { return o.Get(m.Name) != nil })
}

// isContext says whether a difference is only a member that nobody expected.
func isContext(d difference, o *strictjson.Value) bool {
	return d.expected == nil && len(d.pointer) == 1 && o.Kind == strictjson.Object
}

// annotates says whether a member only describes another one, as stdout_bytes
// does stdout.
func annotates(name string, o *strictjson.Value) bool {
	at := strings.LastIndexByte(name, '_')
	return at > 0 && o.Get(name[:at]) != nil
}

// parse reads a value of the evidence; nil for null, which says that the check
// had nothing to state there.
func parse(raw json.RawMessage) *strictjson.Value {
	doc, err := strictjson.Parse(raw, strictjson.DocumentLimits)
	if err != nil || doc.Root.Kind == strictjson.Null {
		return nil
	}
	return &doc.Root
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
func (p *page) context(indent string, d difference) {
	name := d.pointer[0]
	if d.observed.Kind == strictjson.String && d.observed.Text == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(d.observed.Text, "\n"), "\n")
	if d.observed.Kind != strictjson.String || !strings.Contains(d.observed.Text, "\n") {
		at := Escape(name) + "  "
		p.side(indent+"        ", faint, at, clip(shown(d.observed), p.room(indent+at+"          ")))
		return
	}
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
