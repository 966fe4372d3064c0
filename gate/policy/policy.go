// Package policy says whether a bundle is what a consumer asked for: the
// release pipeline that is about to ship some files, and must not ship them
// unless exactly these were judged, by the contract that was agreed, by somebody
// whom it trusts, and lately.
//
// Package bundle has re-checked by then that the bundle is whole, and a
// [seal.Backend] that the signature verifies. What is left is to hold both
// against each other and against the [Policy]: [Check]. It opens no file and asks
// no clock; the files to ship are digested beforehand, by [HashSubjects].
//
// # Three identities
//
// A verdict binds what was judged, who judged and by what: the subject, the
// verifier and the contract. Change one, and the verdict does not apply. Each
// has a code of its own and stands in the fault's detail "identity".
//
// # What is not looked at
//
// The verdict. A bundle that the policy takes may say FAILED, and whoever ships
// must look at [Decision.Verdict]. Nor does a bundle know what came after it: that
// no later run failed is for `gate status` to say, and each Decision says so.
package policy

import (
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Policy is what a consumer requires. A signature is always required.
type Policy struct {
	Trust    seal.Trust         // whose signature
	Contract strictjson.Digest  // the contract that must have been judged by
	Subjects []Subject          // the files to ship
	Verifier *strictjson.Digest // the program that must have judged; nil for any
	Source   string             // the commit that must have been judged; "" for any
	Change   *bundle.Change     // the change that must have been judged, member by member; an empty member is any
	Workflow Workflow           // the workflow that must have judged
	// Repository is where the workflow must have run, as the certificate's
	// SourceRepositoryURI has it; "" for any. A reusable workflow can be called by
	// anybody, and its own address says nothing of the caller.
	Repository string

	Assurance contract.Assurance // at the least; "" for what the contract requires
	MaxAge    time.Duration      // 0 for any
	Now       time.Time
}

// Workflow pins the workflow file that signed, by the names of the certificate's
// extensions: BuildSignerURI and BuildSignerDigest.
type Workflow struct {
	URI    string
	Digest string // the commit of the workflow file; "" for any
}

// skew is how far the clocks of those who sign, vouch and read may be apart.
const skew = 5 * time.Minute

// Usable refuses a policy that asks for too little to mean anything, or for what
// cannot be: verify.usage.
func (p *Policy) Usable() error {
	wrong := func(fix, format string, args ...any) error { return fault.New(fault.Usage, fix, format, args...) }
	trust := p.Trust
	if trust.Unpinned || trust.KeyPEM != "" {
		trust = seal.Trust{} // what a bundle says of its own key is no policy
	}
	if err := trust.Usable(); err != nil {
		return err
	}
	isChange := p.Change != nil && p.Change.Head != "" // what is let through is a change, and no file
	switch {
	case p.Contract == (strictjson.Digest{}):
		return wrong("Pass --contract or --contract-digest.", "the policy names no contract, so any would do")
	case len(p.Subjects) == 0 && !isChange:
		return wrong("Pass --subject with each file that is shipped.", "the policy names no file, so the verdict would be about anything")
	case p.MaxAge < 0:
		return wrong("Pass a duration such as 24h.", "an age of less than nothing is none that evidence can have")
	case p.Now.IsZero():
		return wrong("", "the policy does not say what time it is")
	case p.Assurance != "" && !p.Assurance.Known():
		return wrong("Use deterministic_local, isolated_local or remote_attested.", "%q is no assurance level", p.Assurance)
	case p.Source != "" && !bundle.IsRevision(p.Source):
		return wrong("Pass the whole name of the commit: 40 or 64 hex digits.", "%q is no commit", p.Source)
	case p.Workflow.Digest != "" && p.Workflow.URI == "":
		return wrong("Name the workflow too.", "the digest of a workflow is pinned, but no workflow")
	}
	for _, s := range p.Subjects {
		if s.Name == "" || s.Digest == (strictjson.Digest{}) {
			return wrong("Pass --subject with each file that is shipped.", "the policy names a file without its name or its digest")
		}
	}
	return nil
}

// FrozenDigest gives the digest of a frozen contract in a file.
func FrozenDigest(name string) (strictjson.Digest, error) {
	k, err := contract.Load(name)
	if err != nil {
		return strictjson.Digest{}, err
	}
	if err := k.CheckSeal(); err != nil {
		return strictjson.Digest{}, err
	}
	return k.Digest(), nil
}
