package gate

import (
	"context"
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/unpack"
)

// Requirement is what a consumer requires of a bundle before it ships.
type Requirement struct {
	Bundle         string   // a folder, or the zip archive that it was uploaded as
	Subjects       []string // files to ship
	Contract       string   // file of the frozen contract
	ContractDigest string   // or its digest
	VerifierDigest string   // "" for any
	Policy         policy.Policy
	Env            func(string) string
}

// Require says whether a bundle is what a consumer requires, and what it is then:
// its verdict is for the caller to act on. An error is a refusal.
func (g Gate) Require(ctx context.Context, r Requirement) (policy.Decision, error) {
	none := policy.Decision{}
	backend, err := g.backend()
	if err != nil {
		return none, err
	}
	p := r.Policy
	p.Now = time.Now()
	if err := r.complete(ctx, &p); err != nil {
		return none, err
	}
	if err := p.Usable(); err != nil {
		return none, err
	}
	// Only what was fetched is kept there; without such a folder nothing is.
	if dataDir, err := DataDir("", r.Env); err == nil {
		p.Trust.CacheDir = trustCache(dataDir)
	}
	var warnings []string
	tell := p.Trust.Warn
	p.Trust.Warn = func(text string) {
		warnings = append(warnings, text)
		if tell != nil {
			tell(text)
		}
	}
	if bundle.HasRuns(r.Bundle) {
		return none, fault.New(fault.RunNotFound, "Pass the folder of one run below verifications.", "%q is a data folder, and no bundle itself", r.Bundle).With("bundle", r.Bundle)
	}
	b, err := unpack.Open(ctx, r.Bundle)
	if err != nil {
		return none, err
	}
	defer b.Close()
	s, err := bundle.Read(b.Dir)
	if err != nil {
		return none, err
	}
	var sig *seal.Signature
	if s.Sigstore != nil {
		if sig, err = backend.Verify(ctx, s.Sigstore, p.Trust); err != nil {
			return none, err
		}
	}
	d, err := policy.Check(s, sig, p)
	d.Limitations = append(d.Limitations, warnings...)
	return d, err
}

// complete reads what the requirement names by files and texts.
func (r Requirement) complete(ctx context.Context, p *policy.Policy) (err error) {
	switch {
	case r.Contract != "" && r.ContractDigest != "":
		return fault.New(fault.Usage, "Pass one of them.", "the contract is named twice: by --contract and by --contract-digest")
	case r.Contract != "":
		if p.Contract, err = policy.FrozenDigest(r.Contract); err != nil {
			return err
		}
	case r.ContractDigest != "":
		if p.Contract, err = strictjson.ParseDigest(r.ContractDigest); err != nil {
			return fault.New(fault.Usage, "Pass the digest that `gate freeze` printed.", "--contract-digest: %v", err)
		}
	}
	if r.VerifierDigest != "" {
		d, err := strictjson.ParseDigest(r.VerifierDigest)
		if err != nil {
			return fault.New(fault.Usage, "Pass the digest that `gate version` prints.", "--verifier-digest: %v", err)
		}
		p.Verifier = &d
	}
	if p.Workflow.Digest != "" && p.Workflow.URI == "" {
		p.Workflow.URI = p.Trust.Identity.Subject // for a workflow's certificate they are the same
	}
	p.Subjects, err = policy.HashSubjects(ctx, r.Subjects)
	return err
}
