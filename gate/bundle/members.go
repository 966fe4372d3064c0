package bundle

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// The digests of a bundle say that nobody changed it; an editor who knows the
// format computes them anew. So every member must also be one that a gate could
// have written, and all of them must agree: what is derived is derived again.

// checkMembers looks at the members of evidence.json one by one.
func (r *reading) checkMembers() error {
	e := &r.sealed.Evidence
	for _, m := range []struct {
		name string
		ok   bool
	}{
		{"created_at", isTime(e.CreatedAt)}, {"started_at", isTime(e.StartedAt)}, {"ended_at", isTime(e.EndedAt)},
		{"source_revision", e.SourceRevision == nil || IsRevision(*e.SourceRevision)},
		{"content_digest", e.ContentDigest == nil || isDigest(*e.ContentDigest)},
		{"capture_digest", e.CaptureDigest == nil || isDigest(*e.CaptureDigest)},
		{"verifier", isDigest(e.Verifier.Digest)},
		{"method", e.Method == deterministic},
		{"cost", e.Cost.possible()},
		{"subjects", areSubjects(e.Subjects)},
		{"isolation", e.Isolation.possible()},
		// This build writes none, and could not say what they are worth.
		{"advisory_findings", len(e.AdvisoryFindings) == 0}, {"exceptions", len(e.Exceptions) == 0},
	} {
		if !m.ok {
			return r.refuse(fault.AttestationInvalid, evidenceName, "holds in its member %s what no gate writes", m.name)
		}
	}
	for i := range e.CheckResults {
		if what := impossible(&e.CheckResults[i]); what != "" {
			return r.refuse(fault.AttestationInvalid, evidenceName, "holds in member %s of result %d what no gate writes", what, i+1)
		}
	}
	return nil
}

const deterministic = "deterministic"

func isDigest(s string) bool {
	d, err := strictjson.ParseDigest(s)
	return err == nil && d.String() == s
}

func isTime(s string) bool {
	t, err := time.Parse(time.RFC3339Nano, s)
	return err == nil && record.Time(t) == s
}

// IsRevision says whether s is the name of a commit: SHA-1 or SHA-256.
func IsRevision(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && (len(raw) == 20 || len(raw) == 32) && strings.ToLower(s) == s
}

func (c Cost) possible() bool {
	return c.WallSeconds >= 0 && c.CPUSeconds >= 0 && min(c.PeakBytes, c.BytesHashed) >= 0 && min(c.Requests, c.Pages, c.FramesRead) >= 0
}

func areSubjects(all []Subject) bool {
	names := map[string]bool{}
	for _, s := range all {
		if s.Name == "" || names[s.Name] || !isDigest(s.Digest) || s.Bytes < 0 {
			return false
		}
		names[s.Name] = true
	}
	return true
}

// possible says whether an answer came through whole or was cut for a reason,
// and of the profiles whether there are such.
func (i Isolation) possible() bool {
	if i.Complete != (i.Failure == "") || i.Complete && len(i.Profiles) == 0 {
		return false
	}
	profiles := map[string]bool{"reading": true, "command": true}
	for _, p := range i.Profiles {
		if !profiles[p.Profile] || p.UID < 0 || p.GID < 0 {
			return false
		}
		profiles[p.Profile] = false // each stands there once
		layers := map[string]bool{"": true}
		for _, l := range p.Layers {
			if layers[l.Name] {
				return false
			}
			layers[l.Name] = true
		}
	}
	return true
}

// impossible names the first member of a result that a gate would not have
// written; "" when there is none.
func impossible(res *record.Result) string {
	known := func(s record.Status) bool {
		return slices.Contains([]record.Status{record.Pass, record.Fail, record.Inconclusive, record.Broken}, s)
	}
	switch passed := res.Status.Passed(); {
	case !known(res.Status):
		return "status"
	case (passed == nil) != (res.Passed == nil) || passed != nil && *passed != *res.Passed:
		return "passed"
	case !isTime(res.StartedAt):
		return "started_at"
	case !isTime(res.EndedAt):
		return "ended_at"
	case res.DurationSeconds < 0:
		return "duration_seconds"
	case !isDigest(res.InputDigest):
		return "input_digest"
	case !isDigest(res.OutputDigest):
		return "output_digest"
	case res.Method != deterministic:
		return "method"
	case res.Tool != nil && res.Tool.Digest != "" && !isDigest(res.Tool.Digest):
		return "tool"
	}
	for _, a := range res.Attempts {
		if !known(a.Status) || a.DurationSeconds < 0 {
			return "attempts"
		}
	}
	return ""
}

// checkResults compares the results with the contract's checks and with their
// own output digests.
func (r *reading) checkResults() error {
	checks := map[string]int{}
	contracted := r.sealed.Contract.Contract.Checks
	for i := range contracted {
		checks[contracted[i].ID] = i
	}
	e := &r.sealed.Evidence
	answered, seen := 0, map[string]bool{}
	for i := range e.CheckResults {
		res := &e.CheckResults[i]
		at, known := checks[res.CheckID]
		if !known {
			at = len(contracted) // after all checks of the contract
		}
		switch {
		case seen[res.CheckID]:
			return r.refuse(fault.AttestationMismatch, evidenceName, "holds two results of check %s", res.CheckID)
		case res.Proposed && (known || res.Required):
			return r.refuse(fault.AttestationMismatch, evidenceName, "calls check %s proposed, which the contract decides", res.CheckID)
		case !res.Proposed && (!known || !answers(&contracted[at], res)):
			return r.refuse(fault.AttestationMismatch, evidenceName, "holds a result of check %s that contract.json does not have like that", res.CheckID)
		case at < answered:
			return r.refuse(fault.AttestationMismatch, evidenceName, "holds its results in another order than contract.json has the checks")
		case known && e.Isolation.Complete && at > answered:
			return r.refuse(fault.AttestationMismatch, evidenceName, "calls an answer complete in which checks of contract.json are missing")
		}
		seen[res.CheckID] = true
		answered = min(at+1, len(contracted))
		v := &r.results[i]
		if d := outputDigest(v.Get("status"), v.Get("expected"), v.Get("observed"), v.Get("summary"), v.Get("error")); d.String() != res.OutputDigest {
			return r.refuse(fault.AttestationMismatch, evidenceName, "states another output_digest for check %s than its result has", res.CheckID)
		}
	}
	if e.Isolation.Complete && answered < len(contracted) {
		return r.refuse(fault.AttestationMismatch, evidenceName, "calls an answer complete in which checks of contract.json are missing")
	}
	return r.checkDerived()
}

// answers says whether a result is one of this check.
func answers(k *contract.Check, res *record.Result) bool {
	tries := 1
	if k.Retry != nil {
		tries = k.Retry.Attempts
	}
	return k.Type == res.Type && k.Required == res.Required && k.Input().String() == res.InputDigest && len(res.Attempts) <= tries
}

// checkDerived compares what evidence.json repeats of the contract and of the
// results.
func (r *reading) checkDerived() error {
	e := &r.sealed.Evidence
	policy := policyOf(r.sealed.Contract.Contract, e.PolicySnapshot.Roots, e.CheckResults)
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"policy_snapshot", e.PolicySnapshot.RequiredAssurance == policy.RequiredAssurance &&
			slices.Equal(e.PolicySnapshot.AllowedOrigins, policy.AllowedOrigins) && slices.Equal(e.PolicySnapshot.ProposedChecks, policy.ProposedChecks)},
		{"tools", slices.Equal(e.Tools, toolsOf(e.CheckResults))},
		{"artifacts", slices.Equal(e.Artifacts, artifactsOf(e.CheckResults))},
	} {
		if !c.ok {
			return r.refuse(fault.AttestationMismatch, evidenceName, "records %s that do not follow from its results and contract.json", c.name)
		}
	}
	return nil
}

// artifactsOf lists the blobs that results refer to, each once.
func artifactsOf(results []record.Result) []Artifact {
	out, seen := []Artifact{}, map[Artifact]bool{}
	for i := range results {
		for _, ref := range results[i].EvidenceRefs {
			a := Artifact{Role: ref.Role, Path: blobsName + "/" + algorithmName + "/" + strings.TrimPrefix(ref.Digest, "sha256:"), Digest: ref.Digest, Bytes: ref.Bytes}
			if !seen[a] {
				seen[a] = true
				out = append(out, a)
			}
		}
	}
	return out
}
