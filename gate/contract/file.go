package contract

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Text is a contract's text that was read as JSON and no further: enough to say
// whether it is frozen and unedited.
type Text struct {
	Name string
	Doc  *strictjson.Document
	// What Frozen made anyway, of a document that stays as it is: a contract may
	// be large, and is asked for both again and again.
	canonical []byte
	digest    *strictjson.Digest
}

// File is a contract document together with what was found wrong in it.
type File struct {
	Text
	Contract *Contract
	Report   *strictjson.Report
}

// pipeWait is how long a pipe may take to give a contract. What writes it is a
// command that reads a file or a commit, and done at once; a FIFO that nobody
// writes to must not hold up a pipeline.
const pipeWait = 30 * time.Second

// Load reads a contract from a file; see [ReadText].
func Load(name string) (*File, error) {
	t, err := ReadText(name)
	if err != nil {
		return nil, err
	}
	return t.File(), nil
}

// ReadText reads a contract's text from a file of at most the contract limit, or
// from a pipe: `gate run <(git show main:contract.json)` takes it from where a
// change cannot reach it.
func ReadText(name string) (*Text, error) {
	info, err := os.Stat(name)
	most := strictjson.ContractLimits.Bytes
	var data []byte
	switch {
	case err != nil:
	case info.Mode()&fs.ModeNamedPipe != 0:
		data, err = readPipe(name, most, pipeWait)
	case !info.Mode().IsRegular():
		err = errors.New("it is no regular file and no pipe")
	case info.Size() > most:
		err = fmt.Errorf("it has %d bytes; at most %d are read", info.Size(), most)
	default:
		data, err = readBounded(name, most)
	}
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		mend := ""
		if errors.Is(err, fs.ErrNotExist) {
			mend = "Check the path: `gate init -o draft.json` writes a first draft, `gate freeze draft.json -o contract.json` the frozen one."
		}
		return nil, fault.New(fault.ContractUnreadable, mend, "%s: cannot be read: %v", name, err).With("file", name)
	}
	return ParseText(name, data)
}

// readBounded reads a file to its end, or to where it is too large: some that
// state no size never end.
func readBounded(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it has more than %d bytes, and no more are read", most)
	}
	return data, err
}

// Parse reads a contract's text. A text that is no JSON is an error; what else
// is wrong stands in the File's report.
func Parse(name string, data []byte) (*File, error) {
	t, err := ParseText(name, data)
	if err != nil {
		return nil, err
	}
	return t.File(), nil
}

// ParseText reads a contract's text that is in memory; name is what it is called.
func ParseText(name string, data []byte) (*Text, error) {
	doc, err := strictjson.Parse(data, strictjson.ContractLimits)
	if err != nil {
		f := fault.New(fault.ContractUnreadable, "", "%s: %v", name, err).With("file", name)
		var syn *strictjson.SyntaxError
		if errors.As(err, &syn) && syn.Line > 0 {
			f.Message = fmt.Sprintf("%s:%d:%d: %s", name, syn.Line, syn.Column, syn.Reason)
			f.With("line", syn.Line).With("column", syn.Column)
		}
		return nil, f
	}
	return &Text{Name: name, Doc: doc}, nil
}

// File reads the contract that the text holds. What is wrong with it stands in
// the File's report.
func (t *Text) File() *File {
	f := &File{Text: *t, Report: &strictjson.Report{}}
	f.Contract = decode(f.Report.Root(&t.Doc.Root))
	return f
}

// Problems lists what the report holds, with file, line and column.
func (f *File) Problems() []Problem {
	out := []Problem{}
	for _, p := range f.Report.Problems {
		at := f.Doc.Position(p.Pos)
		out = append(out, Problem{File: f.Name, Line: at.Line, Column: at.Column, Pointer: p.Pointer, Message: p.Message, Fix: p.Fix})
	}
	return out
}

// Err is contract_invalid with every problem, or nil when there is none.
func (f *File) Err() error {
	problems := f.Problems()
	if len(problems) == 0 {
		return nil
	}
	first := problems[0]
	e := fault.New(fault.ContractInvalid, first.Fix, "%s", first)
	if n := len(problems) - 1; n > 0 {
		e.Message += fmt.Sprintf(" (and %d more; gate lint shows all)", n)
	}
	return e.With("file", f.Name).With("line", first.Line).With("column", first.Column).With("problems", problems)
}

// CheckSeal says whether the document is frozen and unedited: nil, or
// contract_not_frozen or contract_tampered. An edited document is tampered
// with whatever else is wrong in it; one without a digest is first of all
// judged as a document.
func (t *Text) CheckSeal() error {
	_, err := t.checkSeal()
	return err
}

// checkSeal is CheckSeal, with the digest that it found.
func (t *Text) checkSeal() (actual strictjson.Digest, err error) {
	stated, frozenAt, id := t.text("digest"), t.text("frozen_at"), t.text("contract_id")
	if stated == "" {
		if err := t.File().Err(); err != nil {
			return actual, err
		}
		return actual, fault.New(fault.ContractNotFrozen, "", "%s: the contract was never frozen", t.Name).With("file", t.Name).With("contract_id", id)
	}
	// A frozen document has both stamps, and its digest in the one form that
	// freezing writes: another spelling of it is an edit like any other.
	actual = t.Digest()
	if stated != actual.String() || frozenAt == "" {
		return actual, fault.New(fault.ContractTampered, "", "%s: the contract was edited after it was frozen: it states %q and digests to %s", t.Name, stated, actual).
			With("file", t.Name).With("contract_id", id).With("recorded_digest", stated).With("actual_digest", actual.String())
	}
	return actual, nil
}

// text is a member of the document that is one; "" when there is none.
func (t *Text) text(name string) string {
	if v := t.Doc.Root.Get(name); v != nil && v.Kind == strictjson.String {
		return v.Text
	}
	return ""
}

// CheckSeal is that of the text, and then contract_invalid for what is wrong
// with a frozen and unedited one.
func (f *File) CheckSeal() error {
	if err := f.Text.CheckSeal(); err != nil {
		return err
	}
	return f.Err()
}

// Frozen gives the contract of a frozen and unedited text, parsed from the
// canonical bytes alone. What is wrong with it stands in the File's report, at
// its place in those bytes; a person is told the place in the text that they
// see, which is that of [Text.File].
func (t *Text) Frozen() (*File, error) {
	digest, err := t.checkSeal()
	if err != nil {
		return nil, err
	}
	canonical := t.Canonical()
	f, err := Parse(t.Name, canonical)
	if err != nil {
		return nil, err
	}
	f.canonical, f.digest = canonical, &digest
	return f, nil
}

// Digest is the SHA-256 of the canonical form less the digest member.
func (t *Text) Digest() strictjson.Digest {
	if t.digest != nil {
		return *t.digest
	}
	bare := t.Doc.Root.Without("digest")
	return strictjson.DigestOf(&bare)
}

// Canonical is the whole document in canonical form: the bytes that are judged
// and that the bundle keeps. They must not be changed.
func (t *Text) Canonical() []byte {
	if t.canonical != nil {
		return t.canonical
	}
	return strictjson.Canonical(&t.Doc.Root)
}

// ReadFrozen reads a frozen contract's text, and refuses a draft, an edited
// document and an invalid one. The File that it gives was parsed from the
// canonical bytes alone.
func ReadFrozen(name string, data []byte) (*File, error) {
	t, err := ParseText(name, data)
	if err != nil {
		return nil, err
	}
	f, err := t.Frozen()
	if err != nil {
		return nil, err
	}
	if f.Err() != nil {
		return nil, t.File().Err()
	}
	return f, nil
}

// At makes a problem with the place of a value of the document.
func (f *File) At(v *strictjson.Value, pointer, message, fix string) Problem {
	at := f.Doc.Position(v.Pos)
	return Problem{File: f.Name, Line: at.Line, Column: at.Column, Pointer: pointer, Message: message, Fix: fix}
}
