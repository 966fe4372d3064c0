package text

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// maxDifferences is how many differences of one check are shown. Who needs
// more reads the evidence; a screen full of them helps nobody.
const maxDifferences = 8

// maxValueCells is how much of one value is shown where no terminal sets a
// bound; long values differ somewhere, and that place is what is shown.
const maxValueCells = 160

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
	switch {
	case o == nil && e == nil:
		return
	case e == nil || o == nil:
		p.sides(indent, difference{nil, e, o})
		return
	}
	all, more := differences(e, o, maxDifferences)
	var context []difference
	for _, d := range all {
		if d.expected == nil && len(d.pointer) == 1 && o.Kind == strictjson.Object {
			context = append(context, d)
			continue
		}
		p.sides(indent, d)
	}
	for _, d := range context {
		p.side(indent+"         ", faint, d.pointer, shown(d.observed))
	}
	if more {
		p.line(indent + p.paint(faint, p.fit("… and more: see the evidence")))
	}
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
	e, o := shown(d.expected), shown(d.observed)
	e, o = fromDifference(e, o)
	if d.expected != nil || len(d.pointer) > 0 {
		p.side(indent+"expected ", good, d.pointer, e)
	}
	if d.observed != nil || len(d.pointer) > 0 {
		p.side(indent+"observed ", bad, d.pointer, o)
	}
}

func (p *page) side(lead string, t tone, at strictjson.Pointer, value string) {
	if len(at) > 0 {
		value = clip(Escape(at.String()), maxValueCells) + "  " + value
	}
	bound := maxValueCells
	if p.Width > 0 {
		// A wrapped value is harder to compare than a clipped one.
		bound = max(p.Width-cells(lead)-1, minWidth/2)
	}
	p.line(lead + " " + p.paint(t, p.fit(clip(value, bound))))
}

// shown writes a value on one line.
func shown(v *strictjson.Value) string {
	if v == nil {
		return "(nothing)"
	}
	text, _ := strictjson.Excerpt(v, 64<<10)
	return Escape(text)
}

// fromDifference leaves out what two long texts have in common at their
// beginning, all but a little, so that the difference is not clipped away.
func fromDifference(a, b string) (string, string) {
	const kept = 24
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n < maxValueCells/2 {
		return a, b
	}
	n = strings.LastIndexFunc(a[:n-kept], func(r rune) bool { return r < 0x80 })
	if n <= 0 {
		return a, b
	}
	lead := fmt.Sprintf("…(%d the same)", n)
	return lead + a[n:], lead + b[n:]
}
