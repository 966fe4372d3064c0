package strictjson

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const bom = "\xef\xbb\xbf"

// Position is a place in a text: line and column count from 1, the column in
// code points. A byte order mark at the start takes no column.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

func (p Position) String() string { return fmt.Sprintf("line %d, column %d", p.Line, p.Column) }

// markEvery is how many bytes lie between two marks: what a look-up scans at
// most, so that many problems in one long line do not take quadratic time.
const markEvery = 4096

// mark gives the positions of every markEvery-th byte of a text.
func mark(src string) []Position {
	marks := make([]Position, 0, len(src)/markEvery+1)
	at := Position{1, 1}
	for off := 0; off <= len(src); off += markEvery {
		marks = append(marks, at)
		at = at.after(src[off:min(off+markEvery, len(src))], off == 0)
	}
	return marks
}

// place gives the position of an offset, from the last mark before it; without
// marks from the start of the text.
func place(src string, marks []Position, off int) Position {
	if off < 0 || off > len(src) {
		return Position{}
	}
	if len(marks) == 0 {
		return Position{1, 1}.after(src[:off], true)
	}
	i := off / markEvery
	return marks[i].after(src[i*markEvery:off], i == 0)
}

// after is the position behind a piece of text that begins at p.
func (p Position) after(text string, first bool) Position {
	if first {
		text = strings.TrimPrefix(text, bom)
	}
	if n := strings.Count(text, "\n"); n > 0 {
		p = Position{p.Line + n, 1}
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	p.Column += codePoints(text)
	return p
}

// codePoints counts the bytes that begin a code point: unlike a count of runes,
// the sum over pieces is right wherever the text is cut.
func codePoints(text string) int {
	n := 0
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			n++
		}
	}
	return n
}
