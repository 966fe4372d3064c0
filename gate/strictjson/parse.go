package strictjson

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Limits bounds what Parse accepts. A text over a limit is not malformed, it
// is not examined: its [SyntaxError] says so.
type Limits struct {
	Depth  int   // nesting of arrays and objects
	Bytes  int64 // size of the text
	Values int   // how many values it may hold, all levels together; 0 does not limit them
}

// A contract nests at most 256 deep, a judged document 10,000. The values are
// limited because one takes up to forty times the memory of its text ("0,"):
// ten million are somewhat more than a gigabyte while they are read.
var (
	ContractLimits = Limits{Depth: 256, Bytes: 64 << 20, Values: 1_000_000}
	DocumentLimits = Limits{Depth: 10_000, Bytes: 256 << 20, Values: 10_000_000}
)

// Document is a parsed text. The texts and numbers in it are parts of its
// source: whoever keeps a small one of a large document for long keeps all of
// the source in memory, unless it is cloned.
type Document struct {
	Root Value
	src  string

	once  sync.Once // builds marks
	marks []Position
}

// Position gives the place of a byte offset in the source; the zero Position
// for an offset that is not in it.
func (d *Document) Position(off int) Position {
	d.once.Do(func() { d.marks = mark(d.src) })
	return place(d.src, d.marks, off)
}

// SyntaxError says why a text was refused, and where.
type SyntaxError struct {
	Position
	Offset int
	Reason string
	Limit  bool // refused for its size or depth: not malformed, but not examined
}

func (e *SyntaxError) Error() string { return e.Position.String() + ": " + e.Reason }

// Parse reads one JSON value that fills the whole text. Its error is a
// [*SyntaxError].
//
// It is written by hand rather than on a tokenizer because all that it is for
// lies between the tokens: the exact place of a mistake, its name in plain
// words, the digits of a number as written, and a nesting limit of our own. The
// tests hold it against two other parsers.
func Parse(src []byte, lim Limits) (*Document, error) {
	if int64(len(src)) > lim.Bytes {
		return nil, &SyntaxError{Position: Position{1, 1}, Reason: fmt.Sprintf("the text has %d bytes; at most %d are read", len(src), lim.Bytes), Limit: true}
	}
	// One copy: texts without escapes and numbers are parts of it.
	p := parser{src: string(src), lim: lim}
	root, err := p.document()
	if err != nil {
		return nil, err
	}
	return &Document{Root: root, src: p.src}, nil
}

// parser reads a text by recursive descent. The children of arrays and objects
// wait on two stacks until their list can be allocated once, at its size.
type parser struct {
	src     string
	at      int // the next byte
	lim     Limits
	values  int
	items   stack[Value]
	members stack[Member]
	content []byte // of a string with escapes, while it is read
}

func (p *parser) failf(off int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Position: place(p.src, nil, off), Offset: off, Reason: fmt.Sprintf(format, args...)}
}

func (p *parser) overLimit(off int, format string, args ...any) *SyntaxError {
	e := p.failf(off, format, args...)
	e.Limit = true
	return e
}

// next skips white space and gives the byte that follows; ok is false at the end.
func (p *parser) next() (c byte, ok bool) {
	for ; p.at < len(p.src); p.at++ {
		switch c = p.src[p.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c, true
		}
	}
	return 0, false
}

func (p *parser) document() (Value, error) {
	if wideText(p.src) {
		return Value{}, p.failf(0, "the text is UTF-16 or UTF-32; JSON is UTF-8: save the file as UTF-8")
	}
	if strings.HasPrefix(p.src, bom) {
		p.at = len(bom)
	}
	if _, ok := p.next(); !ok {
		return Value{}, p.failf(0, "the text is empty; a JSON value was expected")
	}
	root, err := p.value(0)
	if err != nil {
		return root, err
	}
	if c, ok := p.next(); ok {
		if c == '/' || c == '#' {
			return root, p.unexpected("")
		}
		return root, p.failf(p.at, "there is something after the end of the JSON value")
	}
	return root, nil
}

// wideText recognises UTF-16 and UTF-32: their byte order marks, and ASCII with
// NUL bytes between.
func wideText(s string) bool {
	nul := func(i int) bool { return s[i] == 0 }
	return strings.HasPrefix(s, "\xff\xfe") || strings.HasPrefix(s, "\xfe\xff") || strings.HasPrefix(s, "\x00\x00\xfe\xff") ||
		len(s) >= 4 && nul(0) != nul(1) && nul(0) == nul(2) && nul(1) == nul(3)
}

// value reads a value that begins at the next byte, which must not be white space.
func (p *parser) value(depth int) (v Value, err error) {
	v.Pos = p.at
	if p.values++; p.values > p.lim.Values && p.lim.Values > 0 {
		return v, p.overLimit(p.at, "the text holds more than %d values", p.lim.Values)
	}
	switch c := p.src[p.at]; {
	case c == '"':
		v.Kind = String
		v.Text, err = p.text()
	case c == '{':
		v.Kind = Object
		v.Members, err = p.object(depth)
	case c == '[':
		v.Kind = Array
		v.Items, err = p.array(depth)
	case c == '-' || '0' <= c && c <= '9':
		v.Kind = Number
		v.Text, err = p.number()
	case p.literal("null"):
	case p.literal("true"):
		v.Kind, v.Bool = Bool, true
	case p.literal("false"):
		v.Kind = Bool
	default:
		err = p.unexpected("where a value is expected")
	}
	return v, err
}

// literal reads a word unless it goes on as another one.
func (p *parser) literal(word string) bool {
	if !strings.HasPrefix(p.src[p.at:], word) || len(p.word()) != len(word) {
		return false
	}
	p.at += len(word)
	return true
}

// enter begins an array or object: it checks the nesting and skips the bracket.
func (p *parser) enter(depth int) error {
	if depth >= p.lim.Depth {
		return p.overLimit(p.at, "nested deeper than %d levels", p.lim.Depth)
	}
	p.at++
	return nil
}

func (p *parser) array(depth int) ([]Value, error) {
	open, base := p.at, p.items.n
	if err := p.enter(depth); err != nil {
		return nil, err
	}
	for more := false; ; more = true {
		if end, err := p.separator(open, ']', more); end || err != nil {
			return p.items.popFrom(base), err
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.items.push(v)
	}
}

func (p *parser) object(depth int) ([]Member, error) {
	open, base := p.at, p.members.n
	if err := p.enter(depth); err != nil {
		return nil, err
	}
	var names nameSet
	for more := false; ; more = true {
		if end, err := p.separator(open, '}', more); end || err != nil {
			return p.members.popFrom(base), err
		}
		m := Member{Pos: p.at}
		var err error
		if m.Name, err = p.name(); err != nil {
			return nil, err
		}
		if !names.add(m.Name) {
			return nil, p.failf(m.Pos, "duplicate member name %s", clip(m.Name))
		}
		if err := p.colon(); err != nil {
			return nil, err
		}
		if m.Value, err = p.value(depth + 1); err != nil {
			return nil, err
		}
		p.members.push(m)
	}
}

// separator moves to the next element or member of what began at open: over a
// comma when there was one before. It says whether the closing bracket came.
func (p *parser) separator(open int, closing byte, more bool) (end bool, err error) {
	c, ok := p.next()
	switch {
	case !ok:
		return false, p.endless(open)
	case c == closing:
		p.at++
		return true, nil
	case !more:
		return false, nil
	case c != ',':
		return false, p.unexpected(fmt.Sprintf(`where "," or "%c" is expected`, closing))
	}
	comma := p.at
	p.at++
	switch c, ok = p.next(); {
	case !ok:
		return false, p.endless(open)
	case c == closing:
		return false, p.failf(comma, `a comma must not stand before the closing "%c"`, closing)
	}
	return false, nil
}

// endless is the error of a text that ends inside what began at open.
func (p *parser) endless(open int) error {
	what := "array"
	if p.src[open] == '{' {
		what = "object"
	}
	return p.failf(len(p.src), "the text ends before the %s that begins at %s is closed", what, place(p.src, nil, open))
}

func (p *parser) name() (string, error) {
	if p.src[p.at] == '"' {
		return p.text()
	}
	if word := p.word(); word != "" {
		return "", p.failf(p.at, "the member name %s must be in double quotes", clip(word))
	}
	return "", p.unexpected("where a member name in double quotes is expected")
}

// colon moves over the colon behind a name, to the first byte of the value.
func (p *parser) colon() error {
	c, ok := p.next()
	if ok && c != ':' {
		return p.unexpected(`where ":" is expected after the member name`)
	}
	if ok {
		p.at++
		_, ok = p.next()
	}
	if !ok {
		return p.failf(p.at, "the text ends in the middle of a member")
	}
	return nil
}

// unexpected names what stands at the next byte and does not belong there.
func (p *parser) unexpected(where string) error {
	rest := p.src[p.at:]
	word := p.word()
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case r == utf8.RuneError && size == 1:
		return p.invalidUTF8()
	case rest[0] == '/' || rest[0] == '#':
		return p.failf(p.at, "a comment: JSON has none")
	case rest[0] == '\'':
		return p.failf(p.at, `unexpected "'" %s: texts stand in double quotes`, where)
	case rest[0] == '+':
		return p.failf(p.at, `unexpected "+" %s: a number has no plus sign before it`, where)
	case rest[0] == '.' && len(rest) > 1 && isDigit(rest[1]):
		return p.failf(p.at, `unexpected "." %s: a number has a digit before its point`, where)
	case word != "":
		return p.failf(p.at, "unexpected %s %s%s", clip(word), where, meant(word))
	case strings.HasPrefix(rest, bom):
		return p.failf(p.at, "unexpected byte order mark %s: one may stand at the start of the text", where)
	case r < ' ':
		return p.failf(p.at, "unexpected control character U+%04X %s", r, where)
	}
	return p.failf(p.at, "unexpected %s %s", clip(string(r)), where)
}

// meant proposes the JSON word for what other languages write.
func meant(word string) string {
	switch strings.ToLower(word) {
	case "true", "false", "null":
		return ": write " + strings.ToLower(word)
	case "none", "nil", "undefined":
		return ": write null"
	case "nan", "inf", "infinity":
		return ": JSON has no such number"
	}
	return ""
}

// clip shortens a text of the source for a message, and quotes it.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		return strconv.Quote(s[:cut]) + "…"
	}
	return strconv.Quote(s)
}
