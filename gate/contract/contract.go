package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Limits of a contract's own members.
const (
	maxIDRunes        = 256  // contract_id
	MaxTimeoutReading = 600  // seconds; also the ceiling of every check in version 1
	MaxTimeoutCommand = 3600 // seconds; commands, version 2
	maxAttempts       = 10
	maxInterval       = 600 // seconds between two attempts
)

// Contract is a parsed contract.
type Contract struct {
	SchemaVersion     int                `json:"schema_version" default:"1" doc:"1 is the format of the Watch Skill tool; 2 is a superset."`
	ID                string             `json:"contract_id" need:"yes" doc:"Names the contract: 1 to 256 characters, no control characters."`
	Title             string             `json:"title" doc:"One line for people. Provenance: never read to decide anything."`
	CreatedBy         string             `json:"created_by" default:"unknown" doc:"Who wrote the contract. Provenance."`
	CreatedAt         string             `json:"created_at" doc:"When it was written. Provenance."`
	SourcePrompt      string             `json:"source_prompt" doc:"The request that it came from. Provenance."`
	RequiredAssurance Assurance          `json:"required_assurance" default:"deterministic_local" doc:"The least assurance that a run must give; a run that cannot is refused."`
	AllowedOrigins    []Origin           `json:"allowed_origins" doc:"The origins that network checks may reach, and nothing else."`
	Checks            []Check            `json:"checks" doc:"What must be true. Ids are unique."`
	Expectations      []string           `json:"expectations" since:"2" doc:"What people hope for, in prose. Advisory: it never decides."`
	Subjects          []string           `json:"subjects" since:"2" doc:"Globs of the release artifacts that the verdict is about, relative to the workspace."`
	Revises           *strictjson.Digest `json:"revises" since:"2" doc:"The digest of the contract that this one revises; set by gate revise."`
	FrozenAt          *stampValue        `json:"frozen_at" doc:"When the contract was frozen; set by gate freeze only."`
	Digest            *stampValue        `json:"digest" doc:"SHA-256 over the canonical form of everything else; set by gate freeze only."`
}

// Check is one statement of a contract. Its params are bound by package plan.
type Check struct {
	ID             string           `json:"id" need:"yes" doc:"1 to 64 of A-Z a-z 0-9 _ . : -"`
	Type           string           `json:"type" need:"yes" doc:"The check type; gate checks lists them."`
	Required       bool             `json:"required" default:"true" doc:"Only required checks decide the verdict."`
	Description    string           `json:"description" doc:"One line for people."`
	Params         strictjson.Value `json:"params" doc:"The parameters of the type."`
	TimeoutSeconds float64          `json:"timeout_seconds" default:"30" doc:"More than 0, at most 600; in version 2 at most 3600 for checks that start a process."`
	DependsOn      []string         `json:"depends_on" since:"2" doc:"Ids of earlier checks: this one is run only if all of them passed."`
	Retry          *Retry           `json:"retry" since:"2" doc:"Try again until it passes."`
}

// Input is the digest of what a check is asked: its type and its params.
func (k *Check) Input() strictjson.Digest {
	input := strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str(k.Type)}, strictjson.Member{Name: "params", Value: k.Params})
	return strictjson.DigestOf(&input)
}

// Retry says how often a check is tried.
type Retry struct {
	Attempts        int     `json:"attempts" need:"yes" doc:"1 to 10 tries in all."`
	IntervalSeconds float64 `json:"interval_seconds" default:"0" doc:"Seconds between two tries, 0 to 600."`
}

// Frozen says whether the document carries the stamps of freezing.
func (c *Contract) Frozen() bool { return c.Digest.text() != "" && c.FrozenAt.text() != "" }

// DigestText is the digest as the document states it; "" when it has none.
func (c *Contract) DigestText() string { return c.Digest.text() }

// Required lists the ids of the required checks, in the contract's order.
func (c *Contract) Required() []string {
	out := []string{}
	for _, k := range c.Checks {
		if k.Required {
			out = append(out, k.ID)
		}
	}
	return out
}

// stampValue is frozen_at or digest: a string, or the null of a draft that
// another tool wrote.
type stampValue struct{ value string }

func (s *stampValue) text() string {
	if s == nil {
		return ""
	}
	return s.value
}

// DecodeStrict reads a string or null.
func (s *stampValue) DecodeStrict(n strictjson.Node) {
	if n.Kind != strictjson.Null && n.Is(strictjson.String, "frozen_at and digest") {
		s.value = n.Text
	}
}

// JSONSchema describes a string or null.
func (*stampValue) JSONSchema() strictjson.Value {
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Arr(strictjson.Str("string"), strictjson.Str("null"))})
}

// laterKeys are known names that this build does not offer yet. They are
// refused by name: ignoring them would change what the author meant.
var laterKeys = struct{ contract, check []string }{
	contract: []string{"allowed_networks", "serve", "services", "exceptions", "approvers"},
	check:    []string{"exception_eligible", "security"},
}

// decode reads the contract of a document. What is wrong goes to the report.
func decode(n strictjson.Node) *Contract {
	c := new(Contract)
	if !n.Is(strictjson.Object, "a contract") {
		return c
	}
	n.Report.Version = version(n)
	strictjson.Decode(withoutLater(n, laterKeys.contract), "the contract", c)
	c.validate(n)
	return c
}

// version reads schema_version before anything else, because it decides which
// members there are.
func version(n strictjson.Node) int {
	v := n.Value.Get("schema_version")
	if v == nil {
		return 1
	}
	i, ok := v.Int64()
	if !ok || i < 1 || i > 2 {
		n.Member("schema_version").Problemf("", "schema_version must be 1 or 2: this build knows no other")
		return 2
	}
	return int(i)
}

func withoutLater(n strictjson.Node, later []string) strictjson.Node {
	found := false
	for _, name := range later {
		if n.Value.Get(name) != nil {
			found = true
			n.Member(name).Problemf("Remove it, or use a build that has it.", "%q is not available in this build", name)
		}
	}
	if !found {
		return n
	}
	rest := n.Value.Without(later...)
	return n.With(&rest)
}

// DecodeStrict reads a check, refusing the keys of later builds by name.
func (k *Check) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Object, "a check") {
		return
	}
	k.Params = strictjson.Value{Kind: strictjson.Object, Pos: n.Pos}
	strictjson.Decode(withoutLater(n, laterKeys.check), "a check", k)
}

var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`) })

func (c *Contract) validate(n strictjson.Node) {
	if id := n.Member("contract_id"); id.Kind == strictjson.String {
		if c.ID == "" || len([]rune(c.ID)) > maxIDRunes || strings.ContainsFunc(c.ID, unicode.IsControl) {
			id.Problemf("", "contract_id must have 1 to %d characters, none of them a control character", maxIDRunes)
		}
	}
	if c.Revises != nil && c.Digest.text() == "" {
		n.Member("revises").Problemf("Remove it, and use `gate revise FROZEN DRAFT`.", "revises is set by gate revise, like the digest by gate freeze")
	}
	checks := n.Member("checks")
	seen := map[string]int{}
	for i := range c.Checks {
		c.Checks[i].validate(checks.Item(i), n.Report.Version, seen)
	}
	for i, g := range c.Subjects {
		if strings.TrimSpace(g) == "" || strings.HasPrefix(g, "/") || slices.Contains(strings.Split(g, "/"), "..") {
			n.Member("subjects").Item(i).Problemf("", "a subject is a glob relative to the workspace, without ..")
		} else if !doublestar.ValidatePattern(g) {
			n.Member("subjects").Item(i).Problemf("* is any run of characters but /, ** any folders, [ab] a choice, {a,b} alternatives.", "%q is no glob", g)
		}
	}
	for i, e := range c.Expectations {
		if strings.TrimSpace(e) == "" {
			n.Member("expectations").Item(i).Problemf("", "an expectation must say something")
		}
	}
	refuseCredentials(n)
}

func (k *Check) validate(n strictjson.Node, version int, seen map[string]int) {
	if n.Kind != strictjson.Object {
		return
	}
	if n.Value.Get("id") != nil {
		at := n.Member("id")
		if _, twice := seen[k.ID]; twice {
			at.Problemf("Give each check an id of its own.", "the id %q stands twice", k.ID)
		} else if !idPattern().MatchString(k.ID) && at.Kind == strictjson.String {
			at.Problemf("", "the id %q must be 1 to 64 of A-Z a-z 0-9 _ . : -", k.ID)
		}
	}
	ceiling := MaxTimeoutReading
	if version >= 2 {
		ceiling = MaxTimeoutCommand
	}
	if t := k.TimeoutSeconds; n.Value.Get("timeout_seconds") != nil && (t <= 0 || t > float64(ceiling)) {
		n.Member("timeout_seconds").Problemf("", "timeout_seconds must be more than 0 and at most %d", ceiling)
	}
	for i, id := range k.DependsOn {
		if _, ok := seen[id]; !ok || id == k.ID {
			n.Member("depends_on").Item(i).Problemf("", "depends_on names %q, which is no check earlier in the contract", id)
		}
	}
	if r := k.Retry; r != nil {
		if r.Attempts < 1 || r.Attempts > maxAttempts {
			n.Member("retry").Member("attempts").Problemf("", "attempts must be 1 to %d", maxAttempts)
		}
		if r.IntervalSeconds < 0 || r.IntervalSeconds > maxInterval {
			n.Member("retry").Member("interval_seconds").Problemf("", "interval_seconds must be 0 to %d", maxInterval)
		}
	}
	seen[k.ID]++
}

// refuseCredentials finds provider tokens and private keys. A contract is
// digested as it stands and shown to everybody, so it is never redacted, and
// must hold none.
func refuseCredentials(n strictjson.Node) {
	report := func(at strictjson.Node, text string) {
		if kind, ok := secret.Credential(text); ok {
			at.Problemf("Remove it and revoke the credential; pass secrets by other means than the contract.", "a contract must hold no credential, and this looks like one (%s)", kind)
		}
	}
	switch n.Kind {
	case strictjson.String:
		report(n, n.Text)
	case strictjson.Array, strictjson.Object:
		for i, at := range n.Each() {
			if n.Kind == strictjson.Object {
				report(at, n.Members[i].Name)
			}
			refuseCredentials(at)
		}
	}
}

// Problem is one thing wrong with a contract, with its place.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Pointer string `json:"pointer"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// DecodeCheck reads one check on its own, as a proposal holds it. What is
// wrong goes to the node's report.
func DecodeCheck(n strictjson.Node) Check {
	var k Check
	k.DecodeStrict(n)
	k.validate(n, n.Report.Version, map[string]int{})
	refuseCredentials(n)
	return k
}
