package contract

import (
	"slices"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Assurance is how far the judge stood from what it judged.
type Assurance string

// The levels, weakest first. ExternalReadOnly and HumanAttested are names of
// the Watch Skill tool that nothing here provides: a contract may require
// them, and is then refused at the run.
const (
	VisualAdvisory     Assurance = "visual_advisory"
	DeterministicLocal Assurance = "deterministic_local"
	IsolatedLocal      Assurance = "isolated_local"
	ExternalReadOnly   Assurance = "external_read_only"
	HumanAttested      Assurance = "human_attested"
	RemoteAttested     Assurance = "remote_attested"
)

var ladder = []Assurance{VisualAdvisory, DeterministicLocal, IsolatedLocal, ExternalReadOnly, HumanAttested, RemoteAttested}

// Known says whether a is a level at all.
func (a Assurance) Known() bool { return slices.Contains(ladder, a) }

// AtLeast says whether a run that gives level a satisfies required.
func (a Assurance) AtLeast(required Assurance) bool {
	return slices.Index(ladder, a) >= slices.Index(ladder, required)
}

// DecodeStrict reads a level.
func (a *Assurance) DecodeStrict(n strictjson.Node) {
	if n.Is(strictjson.String, "an assurance level") {
		if *a = Assurance(n.Text); !a.Known() {
			n.Problemf("Use deterministic_local, isolated_local or remote_attested.", "%q is no assurance level", n.Text)
		}
	}
}

// JSONSchema lists the levels.
func (*Assurance) JSONSchema() strictjson.Value {
	var names []strictjson.Value
	for _, a := range ladder {
		names = append(names, strictjson.Str(string(a)))
	}
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("string")}, strictjson.Member{Name: "enum", Value: strictjson.Arr(names...)})
}
