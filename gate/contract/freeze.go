package contract

import (
	"slices"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Filler fills the defaults of a check's params; package plan provides it.
type Filler func(checkType string, version int, params *strictjson.Value)

// Freeze gives the frozen document of a draft, in a form that people can read.
// The draft must have been found valid.
func Freeze(f *File, fill Filler, now time.Time) ([]byte, error) {
	if f.Contract.DigestText() != "" || f.Contract.FrozenAt.text() != "" {
		return nil, fault.New(fault.ContractAlreadyFrozen, "", "%s: the contract %q is frozen already", f.Name, f.Contract.ID).With("file", f.Name).With("digest", f.Contract.DigestText())
	}
	if len(f.Contract.Checks) == 0 && len(f.Contract.Expectations) == 0 {
		return nil, fault.New(fault.ContractEmpty, "", "%s: the contract has no check and no expectation", f.Name).With("file", f.Name)
	}
	doc := f.filled(fill, now)
	doc.Set("frozen_at", strictjson.Str(stamp(now)))
	doc.Set("digest", strictjson.Str(strictjson.DigestOf(ptr(doc.Without("digest"))).String()))
	return strictjson.Indent(&doc), nil
}

// Revise gives the frozen document of a draft that replaces a frozen contract,
// and records that contract's digest: as "revises" in version 2, and in
// version 1, whose keys are fixed, as the last line of source_prompt.
func Revise(old, draft *File, fill Filler, now time.Time) ([]byte, error) {
	if err := old.CheckSeal(); err != nil {
		return nil, err
	}
	root := &draft.Doc.Root
	if draft.Contract.SchemaVersion >= 2 {
		root.Set("revises", strictjson.Str(old.Contract.DigestText()))
	} else {
		root.Set("source_prompt", strictjson.Str(strings.TrimLeft(draft.Contract.SourcePrompt+"\nrevises "+old.Contract.DigestText(), "\n")))
	}
	return Freeze(draft, fill, now)
}

// filled is the draft with every default written out, in the order in which
// people read a contract.
func (f *File) filled(fill Filler, now time.Time) strictjson.Value {
	root, c := &f.Doc.Root, f.Contract
	out := strictjson.Obj()
	set := func(name string, fallback strictjson.Value) {
		if v := root.Get(name); v != nil {
			fallback = *v
		}
		out.Set(name, fallback)
	}
	set("schema_version", strictjson.Num("1"))
	set("contract_id", strictjson.Value{})
	set("title", strictjson.Str(""))
	set("created_by", strictjson.Str("unknown"))
	set("created_at", strictjson.Str(stamp(now)))
	set("source_prompt", strictjson.Str(""))
	set("required_assurance", strictjson.Str(string(DeterministicLocal)))
	set("allowed_origins", strictjson.Arr())
	for _, m := range root.Members { // members of version 2, as they stand
		if out.Get(m.Name) == nil && !slices.Contains([]string{"checks", "frozen_at", "digest"}, m.Name) {
			out.Set(m.Name, m.Value)
		}
	}
	checks := strictjson.Arr()
	for i := range c.Checks {
		checks.Items = append(checks.Items, c.Checks[i].filled(&root.Get("checks").Items[i], fill, c.SchemaVersion))
	}
	out.Set("checks", checks)
	return out
}

func (k *Check) filled(written *strictjson.Value, fill Filler, version int) strictjson.Value {
	params := k.Params
	params.Members = slices.Clone(params.Members)
	fill(k.Type, version, &params)
	out := strictjson.Obj(
		strictjson.Member{Name: "id", Value: strictjson.Str(k.ID)},
		strictjson.Member{Name: "type", Value: strictjson.Str(k.Type)},
		strictjson.Member{Name: "required", Value: strictjson.Boolean(k.Required)},
		strictjson.Member{Name: "description", Value: strictjson.Str(k.Description)},
		strictjson.Member{Name: "params", Value: params},
		strictjson.Member{Name: "timeout_seconds", Value: strictjson.Float(k.TimeoutSeconds)},
	)
	for _, m := range written.Members {
		if out.Get(m.Name) == nil {
			out.Set(m.Name, m.Value)
		}
	}
	return out
}

// stamp writes a moment as the Watch Skill tool does, to the second.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05+00:00") }

func ptr[T any](v T) *T { return &v }
