package plan

import (
	"fmt"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// maxProposed bounds how many checks a proposal may add: it comes from a
// model, and each one costs time.
const maxProposed = 100

// proposedTimeout is the longest that a proposed check may take, in seconds:
// the default of the format. A proposal cannot ask for more.
const proposedTimeout = 30

// Propose adds the checks of a proposal, an array of checks in the form of a
// contract's, to a bound plan. They are advisory whatever they say, and a
// proposal never refuses a run: what cannot be taken is dropped and named in
// the limitations. It gives the checks that were taken, for the worker.
func (p *Plan) Propose(f *contract.File, proposal *strictjson.Value, types Types) (taken strictjson.Value, limitations []string) {
	taken = strictjson.Arr()
	if proposal.Kind != strictjson.Array {
		return taken, []string{"the proposed checks were ignored: they must be an array of checks"}
	}
	known := map[string]bool{}
	for _, s := range p.Steps {
		known[s.ID] = true
	}
	items := proposal.Items[:min(len(proposal.Items), maxProposed)]
	for i := range items {
		drop := func(format string, args ...any) {
			limitations = append(limitations, fmt.Sprintf("proposed check %d was ignored: ", i+1)+fmt.Sprintf(format, args...))
		}
		k, step, report := bindProposed(&items[i], f.Contract.SchemaVersion, types)
		p.carried = p.carried || types.carries(k.Type)
		switch {
		case known[k.ID]:
			drop("the contract or the proposal already has a check %q, which a proposal cannot change", k.ID)
		case len(report.Problems) > 0:
			drop("check %q: %s", k.ID, report.Problems[0].Message)
		case step.Profile != check.Reading:
			drop("check %q would start a process, which a proposal may not", k.ID)
		case len(k.DependsOn) > 0 || k.Retry != nil:
			drop("check %q has depends_on or retry, which a proposal may not", k.ID)
		default:
			known[k.ID] = true
			step.Proposed, step.Required = true, false
			if most := seconds(proposedTimeout); step.Timeout > most {
				step.Timeout = most
				limitations = append(limitations, fmt.Sprintf("proposed check %q gets %s, not the %g s that it asks for", k.ID, most, k.TimeoutSeconds))
			}
			p.add(step)
			taken.Items = append(taken.Items, items[i])
			limitations = append(limitations, fmt.Sprintf("check %q was proposed, not agreed: it is advisory, whatever it says", k.ID))
		}
	}
	if more := len(proposal.Items) - len(items); more > 0 {
		limitations = append(limitations, fmt.Sprintf("%d further proposed checks were ignored: at most %d are looked at", more, maxProposed))
	}
	p.seal(f.Digest())
	return taken, limitations
}

func bindProposed(v *strictjson.Value, version int, types Types) (contract.Check, Step, *strictjson.Report) {
	report := &strictjson.Report{Version: version}
	n := report.Root(v)
	k := contract.DecodeCheck(n)
	return k, bindCheck(&k, n, types), report
}
