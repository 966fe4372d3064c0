package action

import (
	"fmt"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/change"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
	"github.com/verdictgate/verdictgate/reporter"
	"github.com/verdictgate/verdictgate/reporter/artifact"
)

// run is a change judged by one contract, and what became of that: one of a view
// and a refusal is there.
type run struct {
	path    string         // of the contract in the repository; "" for none
	text    []byte         // the contract
	change  *change.Change // nil when it is the judgement's one
	missing bool           // there was none, and text stands in its place
	data    string         // data folder of the run

	sealed  *bundle.Sealed // nil when no evidence was kept
	view    *reporter.View
	refusal *fault.Error // why nothing was judged
	// undecided says that the refusal is an answer: INCONCLUSIVE.
	undecided bool
	failed    *fault.Error // why the run was not delivered whole; no pass then

	uploaded *artifact.Uploaded
	posted   *forge.Posted
	notes    []string
}

func (r *run) show(v reporter.View) { r.view = &v }

// note adds what a reader must know beside the verdict.
func (r *run) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// undecided is the answer that the change could not be judged for what it is.
func undecided(why *fault.Error) *run { return &run{refusal: why, undecided: true} }

// verdict is the run's; a refusal has none.
func (r *run) verdict() (verdict.Verdict, verdict.Outcome) {
	switch {
	case r.view != nil:
		s := r.view.Summary()
		return s.Verdict, s.Outcome
	case r.undecided:
		return verdict.Undecided, verdict.Inconclusive
	}
	return "", ""
}

// pins are the contract digests that are asked for: those of one path, and those
// that any contract may have.
type pins struct {
	of  map[string]strictjson.Digest
	any []strictjson.Digest
}

// pins reads an input of lines PATH=DIGEST, or DIGEST.
func (in *inputs) pins(name string) pins {
	p := pins{of: map[string]strictjson.Digest{}}
	for _, line := range in.lines(name) {
		path, text, named := strings.Cut(line, "=")
		if !named {
			text = line
		}
		d, err := strictjson.ParseDigest(strings.TrimSpace(text))
		if err != nil {
			in.wrong(name, "Write PATH=sha256:… or sha256:… a line, as `gate freeze` prints it.", "%q is no digest", line)
			continue
		}
		if named {
			p.of[strings.TrimSpace(path)] = d
		} else {
			p.any = append(p.any, d)
		}
	}
	return p
}

// check refuses a contract that is not one of those that are asked for, and the
// absence of one that is.
func (p pins) check(documents []forge.Document) error {
	if len(p.of) == 0 && len(p.any) == 0 {
		return nil
	}
	found := map[string]bool{}
	for _, d := range documents {
		text, err := contract.ParseText(d.Path, d.Bytes)
		if err != nil {
			return err
		}
		digest := text.Digest()
		wanted, named := p.of[d.Path]
		ok := named && digest == wanted
		for _, w := range p.any {
			ok = ok || !named && digest == w
		}
		if !ok {
			return fault.New(fault.ActionContractUnpinned, "", "%s has the digest %s, which contract-digests does not name", d.Path, digest).With("path", d.Path).With("digest", digest)
		}
		found[d.Path] = true
	}
	for path := range p.of {
		if !found[path] {
			return fault.New(fault.ActionContractUnpinned, "", "contract-digests names %s, and there is no such contract at the trusted commit", path).With("path", path)
		}
	}
	return nil
}

// distinct refuses two contracts of one contract_id: they would have one check-run, and
// the newer result of the two would hide the other.
func distinct(documents []forge.Document) error {
	paths := map[string]string{}
	for _, d := range documents {
		text, err := contract.ParseText(d.Path, d.Bytes)
		if err != nil {
			continue // what is wrong with it, its own run says
		}
		id := text.File().Contract.ID
		if other, ok := paths[id]; ok {
			return fault.New(fault.ActionContractUnavailable, "Give each contract a contract_id of its own; of a contract and its revision, keep one.",
				"%s and %s are both the contract %q, and would have one check-run", other, d.Path, id).With("path", d.Path).With("contract_id", id)
		}
		paths[id] = d.Path
	}
	return nil
}

// placeholder is a frozen contract that decides nothing, in the place of one that
// is not there. The same absence gives the same digest.
func placeholder(wanted string) ([]byte, error) {
	doc := strictjson.Obj()
	doc.Set("schema_version", strictjson.Num("2"))
	doc.Set("contract_id", strictjson.Str("no-contract"))
	doc.Set("title", strictjson.Str("No contract"))
	doc.Set("expectations", strictjson.Arr(strictjson.Str("There is "+wanted)))
	file, err := contract.Parse("no contract", strictjson.Canonical(&doc))
	if err != nil {
		return nil, err
	}
	if err := file.Err(); err != nil {
		return nil, err
	}
	return contract.Freeze(file, func(string, int, *strictjson.Value) {}, time.Unix(0, 0).UTC())
}
