package seal

import (
	"fmt"
	"reflect"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// PredicateType names the predicate below. A member that is added, removed or
// changed in meaning makes another type: who reads it refuses what it does not know.
const PredicateType = "https://github.com/verdictgate/verdictgate/verdict/v1"

// Predicate is what a signed statement says of a run. docs/predicate.md says
// what each member means for whoever relies on it, and the JSON Schema is made
// from these tags. What a run does not have (a commit, a capture) is left out.
type Predicate struct {
	RunID          string             `json:"run_id" need:"yes" doc:"The run."`
	Verdict        verdict.Verdict    `json:"verdict" need:"yes" enum:"VERIFIED FAILED UNVERIFIED INCONCLUSIVE" doc:"What was decided; only VERIFIED says that every required check passed."`
	Outcome        verdict.Outcome    `json:"outcome" need:"yes" enum:"pass fail inconclusive error" doc:"What became of the run."`
	Assurance      string             `json:"assurance" need:"yes" enum:"visual_advisory deterministic_local isolated_local" doc:"How far the judge stood from what it judged. Never remote_attested: that is granted by whoever verifies the signature, from the certificate."`
	Method         string             `json:"method" need:"yes" enum:"deterministic" doc:"How it was decided."`
	Limitations    []string           `json:"limitations" need:"yes" doc:"Everything that limits the verdict."`
	Contract       ContractRef        `json:"contract" need:"yes" doc:"The frozen contract that was judged by."`
	Evidence       EvidenceRef        `json:"evidence" need:"yes" doc:"The evidence that the verdict was derived from."`
	ContentDigest  *strictjson.Digest `json:"content_digest" doc:"Over the workspace's files before the first check; left out when it was not taken."`
	CaptureDigest  *strictjson.Digest `json:"capture_digest" doc:"Over the frames and recordings that were judged; left out without any."`
	SourceRevision *string            `json:"source_revision" doc:"The commit that the workspace said it was at; left out where there was none."`
	Verifier       Verifier           `json:"verifier" need:"yes" doc:"The program that judged."`
	Required       []string           `json:"required" need:"yes" doc:"The ids of the checks that decide, in the order of the contract."`
	Passed         []string           `json:"passed" need:"yes" doc:"Those of them that passed."`
	Excepted       []string           `json:"excepted" need:"yes" doc:"Those of them that an exception stands beside. An exception never makes a verdict VERIFIED."`
	Attempted      []string           `json:"attempted" need:"yes" doc:"The ids of all checks that were run, required or not, in the order of the results."`
	CreatedAt      string             `json:"created_at" need:"yes" doc:"When the bundle was made: UTC, microseconds. Like the two below the clock of the machine that judged."`
	StartedAt      string             `json:"started_at" need:"yes" doc:"When the run began."`
	EndedAt        string             `json:"ended_at" need:"yes" doc:"When its last check ended."`
}

// ContractRef names a frozen contract.
type ContractRef struct {
	ID     string            `json:"id" need:"yes" doc:"Its contract_id."`
	Digest strictjson.Digest `json:"digest" need:"yes" doc:"SHA-256 over its canonical form less its own digest member."`
}

// EvidenceRef names the evidence of a run.
type EvidenceRef struct {
	Digest strictjson.Digest `json:"digest" need:"yes" doc:"SHA-256 of evidence.json."`
}

// Verifier is who judged.
type Verifier struct {
	Name     string            `json:"name" need:"yes" doc:"What it calls itself."`
	Version  string            `json:"version" need:"yes" doc:"Its version, for people."`
	Digest   strictjson.Digest `json:"digest" need:"yes" doc:"SHA-256 of its binary: what counts."`
	Platform string            `json:"platform" need:"yes" doc:"Operating system and architecture."`
	Tools    []Tool            `json:"tools" need:"yes" doc:"The programs that checks relied on."`
}

// Tool is a program that a check relied on.
type Tool struct {
	Name    string             `json:"name" need:"yes" doc:"What it is called."`
	Version *string            `json:"version" doc:"Its version, where it is known."`
	Digest  *strictjson.Digest `json:"digest" doc:"SHA-256 of its file, where it was taken."`
}

// RefineSchema adds the form of moments and commits.
func (*Predicate) RefineSchema(s *strictjson.Value, _ int) {
	properties := s.Get("properties")
	for _, name := range []string{"created_at", "started_at", "ended_at"} {
		properties.Get(name).Set("format", strictjson.Str("date-time"))
	}
	properties.Get("source_revision").Set("pattern", strictjson.Str("^([0-9a-f]{40}|[0-9a-f]{64})$"))
}

// PredicateSchema is the JSON Schema (2020-12) of the predicate.
func PredicateSchema() strictjson.Value {
	s := strictjson.Schema(reflect.TypeFor[Predicate](), 1)
	s.Set("$schema", strictjson.Str("https://json-schema.org/draft/2020-12/schema"))
	s.Set("title", strictjson.Str("Verdict Gate verdict, "+PredicateType))
	return s
}

// predicateOf says what a bundle says.
func predicateOf(s *bundle.Sealed) (Predicate, error) {
	e, j := &s.Evidence, &s.Judgement
	p := Predicate{
		RunID: e.RunID, Verdict: e.Verdict, Outcome: e.Outcome, Assurance: string(e.Assurance), Method: e.Method, Limitations: e.Limitations,
		Contract: ContractRef{ID: e.ContractID}, SourceRevision: e.SourceRevision,
		Verifier: Verifier{Name: e.Verifier.Name, Version: e.Verifier.Version, Platform: e.Verifier.Platform, Tools: []Tool{}},
		Required: j.Required, Passed: j.Passed, Excepted: []string{}, Attempted: j.Attempted,
		CreatedAt: e.CreatedAt, StartedAt: e.StartedAt, EndedAt: e.EndedAt,
	}
	if e.Assurance == contract.RemoteAttested || !e.Assurance.Known() {
		return p, fmt.Errorf("no run gives the assurance %q to itself", e.Assurance)
	}
	var err error
	digest := func(text string, into *strictjson.Digest) {
		d, e := strictjson.ParseDigest(text)
		if *into = d; err == nil {
			err = e
		}
	}
	optional := func(text string) *strictjson.Digest {
		if text == "" {
			return nil
		}
		d := new(strictjson.Digest)
		digest(text, d)
		return d
	}
	digest(e.ContractDigest, &p.Contract.Digest)
	digest(s.Attestation.BundleDigest, &p.Evidence.Digest)
	digest(e.Verifier.Digest, &p.Verifier.Digest)
	p.ContentDigest, p.CaptureDigest = optional(text(e.ContentDigest)), optional(text(e.CaptureDigest))
	for _, t := range e.Tools {
		tool := Tool{Name: t.Name, Digest: optional(t.Digest)}
		if t.Version != "" {
			tool.Version = &t.Version
		}
		p.Verifier.Tools = append(p.Verifier.Tools, tool)
	}
	return p, err
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
