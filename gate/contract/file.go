package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// File is a contract document together with what was found wrong in it.
type File struct {
	Name     string
	Contract *Contract
	Doc      *strictjson.Document
	Report   *strictjson.Report
}

// pipeWait is how long a pipe may take to give a contract. What writes it is a
// command that reads a file or a commit, and done at once; a FIFO that nobody
// writes to must not hold up a pipeline.
const pipeWait = 30 * time.Second

// Load reads a contract from a file of at most the contract limit, or from a
// pipe: `gate run <(git show main:contract.json)` takes it from where a change
// cannot reach it.
func Load(name string) (*File, error) {
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
		data, err = os.ReadFile(name)
	}
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fault.New(fault.ContractUnreadable, "", "%s: cannot be read: %v", name, err).With("file", name)
	}
	return Parse(name, data)
}

// Parse reads a contract's text. A text that is no JSON is an error; what else
// is wrong stands in the File's report.
func Parse(name string, data []byte) (*File, error) {
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
	f := &File{Name: name, Doc: doc, Report: &strictjson.Report{}}
	f.Contract = decode(f.Report.Root(&doc.Root))
	return f, nil
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
func (f *File) CheckSeal() error {
	stated := f.Contract.DigestText()
	if stated == "" {
		if err := f.Err(); err != nil {
			return err
		}
		return fault.New(fault.ContractNotFrozen, "", "%s: the contract was never frozen", f.Name).With("file", f.Name).With("contract_id", f.Contract.ID)
	}
	// A frozen document has both stamps, and its digest in the one form that
	// freezing writes: another spelling of it is an edit like any other.
	actual := f.Digest()
	if stated != actual.String() || !f.Contract.Frozen() {
		return fault.New(fault.ContractTampered, "", "%s: the contract was edited after it was frozen: it states %q and digests to %s", f.Name, stated, actual).
			With("file", f.Name).With("contract_id", f.Contract.ID).With("recorded_digest", stated).With("actual_digest", actual.String())
	}
	return f.Err()
}

// Digest is the SHA-256 of the canonical form less the digest member.
func (f *File) Digest() strictjson.Digest {
	bare := f.Doc.Root.Without("digest")
	return strictjson.DigestOf(&bare)
}

// Canonical is the whole document in canonical form: the bytes that are judged
// and that the bundle keeps.
func (f *File) Canonical() []byte { return strictjson.Canonical(&f.Doc.Root) }

// ReadFrozen reads a frozen contract's text, and refuses a draft, an edited
// document and an invalid one. The File that it gives was parsed from the
// canonical bytes alone.
func ReadFrozen(name string, data []byte) (*File, error) {
	written, err := Parse(name, data)
	if err != nil {
		return nil, err
	}
	if err := written.CheckSeal(); err != nil {
		return nil, err
	}
	return Parse(name, written.Canonical())
}

// At makes a problem with the place of a value of the document.
func (f *File) At(v *strictjson.Value, pointer, message, fix string) Problem {
	at := f.Doc.Position(v.Pos)
	return Problem{File: f.Name, Line: at.Line, Column: at.Column, Pointer: pointer, Message: message, Fix: fix}
}
