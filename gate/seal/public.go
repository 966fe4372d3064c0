package seal

import (
	"net/url"
	"strings"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// The public predicate types that the same facts are said in, for policy
// engines that know these and not ours.
const (
	VSAType        = "https://slsa.dev/verification_summary/v1"
	TestResultType = "https://in-toto.io/attestation/test-result/v0.1"
	SVRType        = "https://in-toto.io/attestation/svr/v0.2"
)

// VerifierID names, in the public formats, what judges. Policies pin it, so it
// changes only when the meaning of a verdict does; which program judged is said
// in our own predicate.
const VerifierID = "https://github.com/verdictgate/verdictgate/verifier/v1"

// Public is a statement in a public format, and the name of the file below
// reports/ that it is kept in when it is signed.
type Public struct {
	File      string
	Type      string
	Statement []byte
}

// PublicStatements says what a bundle says in public formats. None of them can
// carry limitations, so each says less than ours. A verdict that is not VERIFIED
// is FAILED there, whatever kept it from being decided: they have no word for
// what could not be looked at, and no consumer of theirs may take it for good.
func PublicStatements(s *bundle.Sealed) ([]Public, error) {
	verified := s.Evidence.Verdict == verdict.Verified
	out := []Public{{File: "vsa.sigstore.json", Type: VSAType}, {File: "test-result.sigstore.json", Type: TestResultType}}
	predicates := []any{vsaOf(s, verified), testResultOf(s, verified)}
	if verified { // SVR lists the properties that were verified: of other verdicts it has nothing to say
		out = append(out, Public{File: "svr.sigstore.json", Type: SVRType})
		predicates = append(predicates, svrOf(s))
	}
	for i := range out {
		var err error
		if out[i].Statement, err = state(s, out[i].Type, predicates[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// resource is an in-toto ResourceDescriptor.
type resource struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

type publicVerifier struct {
	ID       string     `json:"id"`
	Policies []resource `json:"policies,omitempty"`
}

// vsa is a SLSA Verification Summary.
type vsa struct {
	Verifier           publicVerifier `json:"verifier"`
	TimeVerified       string         `json:"timeVerified"`
	ResourceURI        string         `json:"resourceUri"`
	Policy             resource       `json:"policy"`
	InputAttestations  []resource     `json:"inputAttestations"`
	VerificationResult string         `json:"verificationResult"`
	VerifiedLevels     []string       `json:"verifiedLevels"`
}

type testResult struct {
	Result        string     `json:"result"`
	Configuration []resource `json:"configuration"`
	PassedTests   []string   `json:"passedTests"`
	WarnedTests   []string   `json:"warnedTests"`
	FailedTests   []string   `json:"failedTests"`
}

// svr is a Simple Verification Result.
type svr struct {
	Verifier    publicVerifier `json:"verifier"`
	TimeCreated string         `json:"timeCreated"`
	Properties  []string       `json:"properties"`
}

const passed, failed = "PASSED", "FAILED"

func resultOf(verified bool) string {
	if verified {
		return passed
	}
	return failed
}

// levelsOf are the properties that a VERIFIED run has. None is called SLSA_…:
// those are levels of a build, and no build was looked at.
func levelsOf(s *bundle.Sealed) []string {
	return []string{"VERDICTGATE_VERIFIED", "VERDICTGATE_" + strings.ToUpper(string(s.Evidence.Assurance))}
}

func vsaOf(s *bundle.Sealed, verified bool) vsa {
	levels := []string{failed} // as the format has it when the policy was not met
	if verified {
		levels = levelsOf(s)
	}
	e := &s.Evidence
	return vsa{
		Verifier: publicVerifier{ID: VerifierID}, TimeVerified: e.EndedAt,
		// The contract's id is known before anything was built, so a policy can
		// be written down with it; a purl without a version names the product.
		ResourceURI: "pkg:generic/" + escape(e.ContractID), Policy: contractResource(s),
		InputAttestations:  []resource{{URI: PredicateType + "/runs/" + e.RunID + "/" + EvidenceName, Digest: sha256(s.Attestation.BundleDigest)}},
		VerificationResult: resultOf(verified), VerifiedLevels: levels,
	}
}

// testResultOf lists the contract's checks. A required check that could not be
// examined stands in no list: it did not pass and did not fail. The result is
// FAILED then, so a policy that looks at it refuses, and one that looks for the
// name among the passed tests does too. Advisory checks only ever warn.
func testResultOf(s *bundle.Sealed, verified bool) testResult {
	t := testResult{Result: resultOf(verified), Configuration: []resource{contractResource(s)},
		PassedTests: append([]string{}, s.Judgement.Passed...), WarnedTests: []string{}, FailedTests: append([]string{}, s.Judgement.Failed...)}
	if s.Evidence.Outcome == verdict.Error {
		return t // no result of an answer that was cut short is relied on
	}
	for i := range s.Evidence.CheckResults {
		switch r := &s.Evidence.CheckResults[i]; {
		case r.Required || r.Proposed: // judged already, or no check of the contract
		case r.Status == record.Pass:
			t.PassedTests = append(t.PassedTests, r.CheckID)
		default:
			t.WarnedTests = append(t.WarnedTests, r.CheckID)
		}
	}
	return t
}

func svrOf(s *bundle.Sealed) svr {
	return svr{Verifier: publicVerifier{ID: VerifierID, Policies: []resource{contractResource(s)}}, TimeCreated: s.Evidence.EndedAt, Properties: levelsOf(s)}
}

// contractResource names the contract in a public format: policies pin its digest.
func contractResource(s *bundle.Sealed) resource {
	return resource{URI: "https://github.com/verdictgate/verdictgate/contract/" + escape(s.Evidence.ContractID), Digest: sha256(s.Evidence.ContractDigest)}
}

// escape writes any text as one segment of a URI, or as the name in a purl.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
