package seal

import (
	"fmt"
	"slices"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// The media type and the type of every statement that is signed here.
const (
	PayloadType   = "application/vnd.in-toto+json"
	StatementType = "https://in-toto.io/Statement/v1"
	// What `cosign attest-blob` still writes around a predicate. It says the same.
	statementType01 = "https://in-toto.io/Statement/v0.1"
)

// MaxStatement bounds a statement. In base64, with what a signature needs
// beside it, one of this size still is a Sigstore bundle that is read back.
const MaxStatement = 2 << 20

// statement is an in-toto Statement.
type statement struct {
	Type          string           `json:"_type" need:"yes"`
	Subject       []Subject        `json:"subject" need:"yes"`
	PredicateType string           `json:"predicateType" need:"yes"`
	Predicate     strictjson.Value `json:"predicate" need:"yes"`
}

// Subject is what a statement is about: an in-toto ResourceDescriptor.
type Subject struct {
	Name   string            `json:"name" need:"yes"`
	Digest map[string]string `json:"digest" need:"yes"`
}

// The names of the subjects of a run that was about no release artifact.
const (
	EvidenceName  = "evidence.json"
	gitCommitName = "git commit"
)

// SubjectsOf are what a statement about the run is about: its release artifacts;
// without any, the evidence and the commit.
func SubjectsOf(s *bundle.Sealed) []Subject {
	var out []Subject
	for _, f := range s.Evidence.Subjects {
		out = append(out, Subject{Name: f.Name, Digest: sha256(f.Digest)})
	}
	if len(out) > 0 {
		return out
	}
	out = []Subject{{Name: EvidenceName, Digest: sha256(s.Attestation.BundleDigest)}}
	if revision := text(s.Evidence.SourceRevision); revision != "" {
		out = append(out, Subject{Name: gitCommitName, Digest: map[string]string{"gitCommit": revision}})
	}
	return out
}

// sha256 is a digest of ours, "sha256:<hex>", as in-toto writes it.
func sha256(digest string) map[string]string {
	d, err := strictjson.ParseDigest(digest)
	if err != nil {
		return map[string]string{} // no bundle that was read back holds one
	}
	return map[string]string{"sha256": d.Hex()}
}

// Statement is what is signed of a run: an in-toto Statement in canonical form
// with our predicate. Its error is in plain words; that nothing was signed is
// for the caller to say.
func Statement(s *bundle.Sealed) ([]byte, error) {
	p, err := predicateOf(s)
	if err != nil {
		return nil, err
	}
	return state(s, PredicateType, p)
}

// state writes a statement about the run with any predicate.
func state(s *bundle.Sealed, predicateType string, predicate any) ([]byte, error) {
	v, err := strictjson.FromGo(predicate)
	if err != nil {
		return nil, err
	}
	out, err := strictjson.Marshal(statement{StatementType, SubjectsOf(s), predicateType, withoutNulls(v)})
	if err != nil {
		return nil, err
	}
	if len(out) > MaxStatement {
		return nil, fmt.Errorf("the statement %s has %d bytes; at most %d are signed: the run has too many checks or limitations", predicateType, len(out), MaxStatement)
	}
	return out, nil
}

// withoutNulls leaves out what is not there: in the formats of others, null is
// a value like any other.
func withoutNulls(v strictjson.Value) strictjson.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m strictjson.Member) bool { return m.Value.Kind == strictjson.Null })
	for i := range v.Members {
		v.Members[i].Value = withoutNulls(v.Members[i].Value)
	}
	v.Items = slices.Clone(v.Items)
	for i := range v.Items {
		v.Items[i] = withoutNulls(v.Items[i])
	}
	return v
}
