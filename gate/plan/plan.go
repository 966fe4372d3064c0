// Package plan binds a contract to check types: every check's params decoded
// and validated, every schema, pattern and query compiled, before anything
// runs.
//
// The gate and its worker make the plan from the same canonical bytes and
// compare digests, so both speak of the same steps. A [Step] is evaluated by
// [Step.Evaluate], which is the one place that handles the timeout, the
// retries and a crash of a run function.
package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Types is the vocabulary: the check types of a build, sorted by name.
type Types []check.Type

// Find gives the type of that name.
func (ts Types) Find(name string) (check.Type, bool) {
	i := slices.IndexFunc(ts, func(t check.Type) bool { return t.Name == name })
	if i < 0 {
		return check.Type{}, false
	}
	return ts[i], true
}

// elsewhere lists the types that a contract may know from another build or
// tool, so that the refusal can say so.
var elsewhere = []string{"accessibility", "browser_dom", "custom", "http_request", "human_approval", "live_console", "live_evidence", "policy", "test_report", "visual_absent"}

// Step is one check, ready to be evaluated.
type Step struct {
	Index     int
	ID        string
	Type      string
	Required  bool
	Proposed  bool // added by --proposed: advisory, not part of the contract
	Profile   check.Profile
	Timeout   time.Duration // of one attempt
	DependsOn []int         // indices of earlier steps
	Retry     contract.Retry
	Input     strictjson.Digest // over type and params
	Tools     []string          // programs that it needs
	Warnings  func() []string   // why it can end in one way only; may be nil
	run       check.Step
}

// Longest is the time that a step may take with all its attempts.
func (s *Step) Longest() time.Duration {
	n := max(s.Retry.Attempts, 1)
	return time.Duration(n)*s.Timeout + time.Duration(n-1)*seconds(s.Retry.IntervalSeconds)
}

// Plan is the steps of a contract, in its order, the proposed ones last.
type Plan struct {
	Steps   []Step
	Digest  strictjson.Digest // over the contract's digest and every step's input
	carried bool              // some type is one of the carried program's
}

// Linked says whether every type of the plan is linked into this program:
// nil or [fault.ErrElsewhere].
func (p *Plan) Linked() error {
	if p.carried {
		return fault.ErrElsewhere
	}
	return nil
}

// Linked says whether all the types are linked into this program.
func (ts Types) Linked() error {
	if slices.ContainsFunc(ts, func(t check.Type) bool { return t.Carried }) {
		return fault.ErrElsewhere
	}
	return nil
}

// Bind makes the steps of a contract. What is wrong goes to the file's report;
// the plan may be run only when nothing was.
func Bind(f *contract.File, types Types) *Plan {
	p := &Plan{}
	root := f.Report.Root(&f.Doc.Root)
	for i := range f.Contract.Checks {
		at := root.Member("checks")
		if at.Kind != strictjson.Array || i >= len(at.Items) {
			break
		}
		p.add(bindCheck(&f.Contract.Checks[i], at.Item(i), types))
		p.carried = p.carried || types.carries(f.Contract.Checks[i].Type)
	}
	p.link(f.Contract.Checks)
	p.seal(f.Digest())
	return p
}

func (p *Plan) add(s Step) {
	s.Index = len(p.Steps)
	p.Steps = append(p.Steps, s)
}

// link turns the ids of depends_on into indices.
func (p *Plan) link(checks []contract.Check) {
	at := map[string]int{}
	for i, k := range checks {
		if i >= len(p.Steps) {
			return
		}
		for _, id := range k.DependsOn {
			if j, ok := at[id]; ok {
				p.Steps[i].DependsOn = append(p.Steps[i].DependsOn, j)
			}
		}
		at[k.ID] = i
	}
}

func (p *Plan) seal(contractDigest strictjson.Digest) {
	all := []string{contractDigest.String()}
	for _, s := range p.Steps {
		all = append(all, fmt.Sprintf("%s %t %t %s", s.ID, s.Required, s.Proposed, s.Input))
	}
	p.Digest = strictjson.Sum([]byte(strings.Join(all, "\n")))
}

func bindCheck(k *contract.Check, n strictjson.Node, types Types) Step {
	s := Step{ID: k.ID, Type: k.Type, Required: k.Required, Timeout: seconds(k.TimeoutSeconds), Profile: check.Reading}
	if k.Retry != nil {
		s.Retry = *k.Retry
	}
	s.Input = k.Input()
	if n.Kind != strictjson.Object || n.Value.Get("type") == nil {
		return s
	}
	t, known := types.Find(k.Type)
	switch {
	case known && t.Carried:
		return s // Plan.Linked says so
	case known:
	case slices.Contains(elsewhere, k.Type):
		n.Member("type").Problemf("Remove the check, or use a build that has the type; gate checks lists those of this one.", "the check type %q is not available in this build", k.Type)
		return s
	default:
		n.Member("type").Problemf(types.nearest(k.Type), "there is no check type %q", k.Type)
		return s
	}
	if t.Since > n.Report.Version {
		n.Member("type").Problemf(fmt.Sprintf(`Set "schema_version": %d.`, t.Since), "the check type %q belongs to schema_version %d", k.Type, t.Since)
	}
	params := n.With(&k.Params)
	if n.Value.Get("params") != nil {
		params = n.Member("params")
	}
	s.run = t.Bind(params)
	s.Profile, s.Tools, s.Warnings = s.run.Profile, s.run.Tools, s.run.Warnings
	if n.Report.Version >= 2 && s.Profile == check.Reading && k.TimeoutSeconds > contract.MaxTimeoutReading {
		n.Member("timeout_seconds").Problemf("", "timeout_seconds must be at most %d for a check that starts no process", contract.MaxTimeoutReading)
	}
	return s
}

func (ts Types) carries(name string) bool {
	t, ok := ts.Find(name)
	return ok && t.Carried
}

func (ts Types) nearest(name string) string {
	var all []string
	for _, t := range ts {
		all = append(all, t.Name)
	}
	return strictjson.Nearest(name, all)
}

// FillDefaults writes out the defaults of a check's params that its type
// knows in the given schema version.
func (ts Types) FillDefaults(checkType string, version int, params *strictjson.Value) {
	t, ok := ts.Find(checkType)
	if !ok {
		return
	}
	for _, f := range strictjson.FieldsOf(t.Params) {
		if f.HasDefault && f.Since <= version && params.Get(f.Name) == nil {
			params.Set(f.Name, f.DefaultValue())
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
