package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Argv is a parameter that names a program and its arguments. It is a list and
// never a string: no shell splits, expands or redirects anything.
type Argv []string

// DecodeStrict reads a list of arguments.
func (a *Argv) DecodeStrict(n strictjson.Node) {
	if n.Kind == strictjson.String {
		n.Problemf(`Write each argument as an element: ["go", "test", "./..."]. For a pipe or a redirection name the shell yourself: ["sh", "-c", "…"].`,
			"a command is a list of arguments, not a string")
		return
	}
	if !n.Is(strictjson.Array, "a command") {
		return
	}
	if len(n.Items) == 0 {
		n.Problemf("Its first element is the program.", "a command must not be empty")
	}
	for i := range n.Items {
		item := n.Item(i)
		if !item.Is(strictjson.String, "an argument of a command") {
			continue
		}
		switch {
		case i == 0 && item.Text == "":
			item.Problemf("", "the program of a command must not be empty")
		case strings.IndexByte(item.Text, 0) >= 0:
			item.Problemf("", "an argument of a command must not hold a NUL character")
		}
		*a = append(*a, item.Text)
	}
}

// JSONSchema describes a list of arguments.
func (Argv) JSONSchema() strictjson.Value {
	text := strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("string")},
		strictjson.Member{Name: "pattern", Value: strictjson.Str(`^[^\x00]*$`)})
	program := text // items speaks only of what stands behind prefixItems
	program.Members = append(slices.Clone(text.Members), strictjson.Member{Name: "minLength", Value: strictjson.Num("1")})
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("array")},
		strictjson.Member{Name: "minItems", Value: strictjson.Num("1")},
		strictjson.Member{Name: "prefixItems", Value: strictjson.Arr(program)},
		strictjson.Member{Name: "items", Value: text})
}

// Env is a parameter that adds variables with literal values to the
// environment of a command. Names that the gate itself decides, and those that
// make the dynamic loader run other code than the recorded program, are
// refused: see [reservedName].
type Env map[string]string

// DecodeStrict reads the variables.
func (e *Env) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Object, "env") {
		return
	}
	*e = make(Env, len(n.Members))
	for i, at := range n.Each() {
		m := &n.Members[i]
		if why := reservedName(m.Name); why != "" {
			at.Problemf("", "the variable %s cannot be set: %s", Quote(m.Name), why)
		}
		if !at.Is(strictjson.String, "a variable's value") {
			continue
		}
		if strings.IndexByte(m.Value.Text, 0) >= 0 {
			at.Problemf("", "the value of %s must not hold a NUL character", Quote(m.Name))
		}
		(*e)[m.Name] = m.Value.Text
	}
}

// JSONSchema describes the variables.
func (Env) JSONSchema() strictjson.Value {
	text := strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("string")},
		strictjson.Member{Name: "pattern", Value: strictjson.Str(`^[^\x00]*$`)})
	name := strictjson.Obj(strictjson.Member{Name: "pattern", Value: strictjson.Str("^[A-Za-z_][A-Za-z0-9_]*$")},
		strictjson.Member{Name: "not", Value: strictjson.Obj(strictjson.Member{Name: "pattern", Value: strictjson.Str("^(PATH|HOME|TMPDIR)$|^(LD_|DYLD_|GATE_)")})})
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("object")},
		strictjson.Member{Name: "propertyNames", Value: name},
		strictjson.Member{Name: "additionalProperties", Value: text})
}

// reservedName says why a contract cannot set a variable; "" when it can.
// LANG, LC_ALL and TZ may be set: a pinned locale or time zone makes a command
// more repeatable.
func reservedName(name string) string {
	switch {
	case !variableName(name):
		return "a name is letters, digits and _, and begins with no digit"
	case name == "PATH", name == "HOME", name == "TMPDIR":
		return "the gate sets it, so that a command finds only what the workspace cannot plant"
	case strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"):
		return "it would run other code than the program whose digest is recorded"
	case strings.HasPrefix(name, "GATE_"):
		return "these names belong to the gate"
	}
	return ""
}

func variableName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// Caches is a parameter that names folders outside the workspace which a
// command may write, such as a compiler's cache.
type Caches []string

// DecodeStrict reads the folders.
func (c *Caches) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Array, "caches") {
		return
	}
	for i := range n.Items {
		item := n.Item(i)
		if !item.Is(strictjson.String, "a cache folder") {
			continue
		}
		switch p := item.Text; {
		case !path.IsAbs(p) || path.Clean(p) != p:
			item.Problemf("", `a cache folder must be an absolute path without "..", "." or a trailing slash, not %s`, Quote(p))
		case p == "/":
			item.Problemf("Name the one folder that the command caches in.", "the root of the file system is no cache folder")
		case strings.IndexByte(p, 0) >= 0:
			item.Problemf("", "a path must not hold a NUL character")
		case slices.Contains(*c, p):
			item.Problemf("", "the cache folder %s is named twice", Quote(p))
		}
		*c = append(*c, item.Text)
	}
}

// JSONSchema describes the folders.
func (Caches) JSONSchema() strictjson.Value {
	folder := strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("string")},
		strictjson.Member{Name: "pattern", Value: strictjson.Str(`^(/[^/\x00]+)+$`)},
		strictjson.Member{Name: "not", Value: strictjson.Obj(strictjson.Member{Name: "pattern", Value: strictjson.Str(`/\.\.?(/|$)`)})})
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("array")},
		strictjson.Member{Name: "items", Value: folder},
		strictjson.Member{Name: "uniqueItems", Value: strictjson.Boolean(true)})
}

// MaxShown is how much of one output stream stands in a result; the rest is a
// blob.
const MaxShown = 64 << 10

// cutWithin is how far a cut moves to fall on the end of a line: half a line
// reads badly, and half a credential is not recognised as one.
const cutWithin = 4 << 10

// Text writes what a stream carried as text for a result: bytes that are no
// UTF-8 become \x and two hex digits, and of more than most bytes the head and
// the tail are kept. Whole is false when it is not exactly what was written.
func (o Output) Text(most int) (text string, whole bool) {
	text = strictjson.Printable(string(o.Data))
	whole = !o.Truncated && text == string(o.Data)
	if len(text) <= most {
		return text, whole
	}
	head, tail := most/2, len(text)-most/2
	return string(Seam([]byte(text[:head]), []byte(text[tail:]), int64(tail-head))), false
}

// Seam joins the head and the tail of a text whose middle was left out. A cut
// goes through no word: half a credential looks like none, and would be kept
// by what takes credentials out of evidence. So both sides are shortened to
// the end of a line, or else of a word.
func Seam(head, tail []byte, left int64) []byte {
	end := lineOrWord(head[len(head)-min(len(head), cutWithin):], bytes.LastIndexByte, bytes.LastIndexAny)
	if end >= 0 {
		end += len(head) - min(len(head), cutWithin) + 1
		head, left = head[:end], left+int64(len(head)-end)
	}
	if start := lineOrWord(tail[:min(len(tail), cutWithin)], bytes.IndexByte, bytes.IndexAny); start >= 0 {
		tail, left = tail[start+1:], left+int64(start+1)
	}
	for n := 1; n < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); n++ {
		tail = tail[1:]
	}
	for n := 1; n < utf8.UTFMax && n <= len(head); n++ {
		if c := head[len(head)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(head[len(head)-n:]) {
				head = head[:len(head)-n]
			}
			break
		}
	}
	return slices.Concat(head, fmt.Appendf(nil, "\n[… %d bytes left out …]\n", left), tail)
}

// lineOrWord finds the end of a line in what may be cut off, or else of a word.
func lineOrWord(s []byte, line func([]byte, byte) int, word func([]byte, string) int) int {
	if i := line(s, '\n'); i >= 0 {
		return i
	}
	return word(s, " \t\r\v\f\x00")
}

// Blobs gives the streams that a result cannot show whole, as evidence.
func (e Exit) Blobs() []Blob {
	var out []Blob
	for _, s := range e.streams() {
		if _, whole := s.Text(MaxShown); whole || len(s.Data) == 0 {
			continue
		}
		b := Blob{Role: s.role, Data: s.Data}
		if s.Truncated {
			b.Note = fmt.Sprintf("the head and the tail of %d bytes; the middle was not kept", s.Total)
		}
		out = append(out, b)
	}
	return out
}

// Observed is the exit as a result holds it: the exit code or the signal, and
// per stream its text, its size and its digest. What a parser of the output
// finds later has its place beside these.
func (e Exit) Observed() map[string]any {
	out := map[string]any{}
	switch {
	case e.LimitHit != "":
		out["ended_by_limit"] = e.LimitHit
	case e.Signal != "":
		out["signal"] = e.Signal
	case e.Tool.Path != "":
		out["exit_code"] = e.Code
	}
	for _, s := range e.streams() {
		text, whole := s.Text(MaxShown)
		out[s.role] = text
		out[s.role+"_bytes"] = s.Total
		if s.Total > 0 {
			out[s.role+"_digest"] = s.Digest.String()
		}
		if !whole {
			out[s.role+"_note"] = "not exactly what was written: it was shortened, or bytes that are no UTF-8 are shown as \\x and two hex digits"
		}
	}
	return out
}

type stream struct {
	role string
	Output
}

func (e Exit) streams() []stream { return []stream{{"stdout", e.Stdout}, {"stderr", e.Stderr}} }

// ToolUsed is the program that ran, or nil when none was found.
func (e Exit) ToolUsed() *record.Tool {
	if e.Tool == (record.Tool{}) {
		return nil
	}
	return &e.Tool
}

// Limitations says what limits an answer that rests on this exit.
func (e Exit) Limitations() []string {
	var out []string
	switch {
	case e.Leftovers == 1:
		out = append(out, "1 process outlived the command and was killed")
	case e.Leftovers > 1:
		out = append(out, fmt.Sprintf("%d processes outlived the command and were killed", e.Leftovers))
	}
	for _, s := range e.streams() {
		if s.Truncated {
			out = append(out, fmt.Sprintf("%s had %d bytes, of which only the head and the tail were kept", s.role, s.Total))
		}
	}
	return out
}

// RunCommand starts a command and gives how it ended by itself. One that could
// not be started, was stopped at the timeout, or ended for a limit of ours gives
// the outcome that every type answers with: nothing was learned. The exit is
// what there was until then; its output is evidence in either case.
func RunCommand(ctx context.Context, exec Executor, c Command) (Exit, *Outcome) {
	exit, err := exec.Run(ctx, c)
	var o Outcome
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		exit.LimitHit = "the timeout"
		o = Unable(fault.Timeout, "", "%s did not end within the timeout, and was killed with its whole process tree", Quote(c.Argv[0]))
	case err != nil:
		o = From(err)
	case exit.LimitHit != "":
		o = Unable(fault.LimitExceeded, "", "%s was ended by a limit: %s", Quote(c.Argv[0]), exit.LimitHit)
	default:
		return exit, nil
	}
	return exit, &o
}

// ExitCode is a parameter that names the exit status that a command must have.
type ExitCode int

// DecodeStrict reads an exit status.
func (c *ExitCode) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Number, "an exit code") {
		return
	}
	i, ok := n.Int64()
	if !ok || i < 0 || i > 255 {
		n.Problemf("A command that must die of a signal cannot be asked for.", "an exit code is a whole number from 0 to 255, not %s", Quote(n.Text))
	}
	*c = ExitCode(i)
}

// JSONSchema describes an exit status.
func (ExitCode) JSONSchema() strictjson.Value {
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("integer")},
		strictjson.Member{Name: "minimum", Value: strictjson.Num("0")},
		strictjson.Member{Name: "maximum", Value: strictjson.Num("255")})
}
