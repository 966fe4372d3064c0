package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bounds what Parse accepts.
type Limits struct {
	Depth int   // nesting of arrays and objects
	Bytes int64 // size of the text
}

// The limits of SPEC: a contract nests at most 256 deep; a judged document
// 10,000, beyond which it is over a limit rather than malformed.
var (
	ContractLimits = Limits{Depth: 256, Bytes: 64 << 20}
	DocumentLimits = Limits{Depth: 10_000, Bytes: 256 << 20}
)

// Position is a place in a text: line and column count from 1, the column in
// code points.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

func (p Position) String() string { return fmt.Sprintf("line %d, column %d", p.Line, p.Column) }

// Document is a parsed text.
type Document struct {
	Root Value
	src  []byte
}

// Position gives the place of a byte offset in the source; the zero Position
// for an offset that is not in it.
func (d *Document) Position(off int) Position { return position(d.src, off) }

func position(src []byte, off int) Position {
	if off < 0 || off > len(src) {
		return Position{}
	}
	before := src[:off]
	line := 1 + bytes.Count(before, []byte{'\n'})
	start := bytes.LastIndexByte(before, '\n') + 1
	if start == 0 && bytes.HasPrefix(before, bom) {
		start = len(bom)
	}
	return Position{Line: line, Column: 1 + utf8.RuneCount(before[start:])}
}

// SyntaxError says why a text was refused, and where.
type SyntaxError struct {
	Position
	Offset int
	Reason string
	Limit  bool // refused for its size or depth: not malformed, but not examined
}

func (e *SyntaxError) Error() string { return e.Position.String() + ": " + e.Reason }

var bom = []byte("\xef\xbb\xbf")

// Parse reads one JSON value that fills the whole text.
func Parse(src []byte, lim Limits) (*Document, error) {
	if int64(len(src)) > lim.Bytes {
		return nil, &SyntaxError{Reason: fmt.Sprintf("the text has %d bytes; at most %d are read", len(src), lim.Bytes), Limit: true}
	}
	p := parser{src: src, lim: lim}
	if bytes.HasPrefix(src, bom) {
		p.base = len(bom)
	}
	p.dec = jsontext.NewDecoder(bytes.NewBuffer(src[p.base:]))
	root, err := p.value(0)
	if err == nil {
		if _, err = p.dec.ReadToken(); err == io.EOF {
			return &Document{Root: root, src: src}, nil
		}
		if err == nil {
			err = p.failf(p.offset(), "there is something after the end of the JSON value")
		}
	}
	return nil, p.explain(err)
}

type parser struct {
	src  []byte
	base int // bytes skipped before the decoder's offset 0
	dec  *jsontext.Decoder
	lim  Limits
}

func (p *parser) offset() int { return p.base + int(p.dec.InputOffset()) }

func (p *parser) failf(off int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Position: position(p.src, off), Offset: off, Reason: fmt.Sprintf(format, args...)}
}

// start is where the next token begins: after white space, ',' and ':'.
func (p *parser) start() int {
	off := p.offset()
	for off < len(p.src) && strings.IndexByte(" \t\r\n,:", p.src[off]) >= 0 {
		off++
	}
	return off
}

func (p *parser) value(depth int) (Value, error) {
	at := p.start()
	tok, err := p.dec.ReadToken()
	if err != nil {
		return Value{}, err
	}
	v := Value{Pos: at}
	switch tok.Kind() {
	case 'n':
	case 't', 'f':
		v.Kind, v.Bool = Bool, tok.Bool()
	case '"':
		v.Kind, v.Text = String, tok.String()
	case '0':
		v.Kind, v.Text = Number, tok.String()
		if _, err := strconv.ParseFloat(v.Text, 64); err != nil && !isInteger(v.Text) {
			return v, p.failf(at, "the number %s is too large for a binary64 number", clip(v.Text))
		}
	case '[':
		v.Kind = Array
		if err := p.deeper(at, depth); err != nil {
			return v, err
		}
		for p.dec.PeekKind() != ']' {
			item, err := p.value(depth + 1)
			if err != nil {
				return v, err
			}
			v.Items = append(v.Items, item)
		}
		_, err = p.dec.ReadToken()
	case '{':
		v.Kind = Object
		if err := p.deeper(at, depth); err != nil {
			return v, err
		}
		for p.dec.PeekKind() != '}' {
			pos := p.start()
			name, err := p.dec.ReadToken()
			if err != nil {
				return v, err
			}
			m := Member{Name: name.String(), Pos: pos}
			if m.Value, err = p.value(depth + 1); err != nil {
				return v, err
			}
			v.Members = append(v.Members, m)
		}
		_, err = p.dec.ReadToken()
	}
	return v, err
}

func (p *parser) deeper(at, depth int) error {
	if depth < p.lim.Depth {
		return nil
	}
	e := p.failf(at, "nested deeper than %d levels", p.lim.Depth)
	e.Limit = true
	return e
}

// explain turns the decoder's error into ours, with a place.
func (p *parser) explain(err error) error {
	var own *SyntaxError
	if errors.As(err, &own) {
		return own
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		if len(bytes.TrimSpace(p.src[p.base:])) == 0 {
			return p.failf(p.base, "the text is empty; a JSON value was expected")
		}
		return p.failf(len(p.src), "the text ends in the middle of a JSON value")
	}
	var syn *jsontext.SyntacticError
	if !errors.As(err, &syn) {
		return p.failf(p.offset(), "%v", err)
	}
	off := p.base + int(syn.ByteOffset)
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return p.failf(off, "duplicate member name %s", clip(string(syn.JSONPointer.LastToken())))
	}
	reason := syn.Err.Error()
	limit := strings.Contains(reason, "depth")
	e := p.failf(off, "%s", strings.TrimPrefix(reason, "jsontext: "))
	e.Limit = limit
	return e
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
