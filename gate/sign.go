package gate

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/unpack"
)

// backend is what signs and verifies, or [fault.ErrElsewhere].
func (g Gate) backend() (seal.Backend, error) {
	if g.Seal == nil {
		return nil, fault.ErrElsewhere
	}
	return g.Seal, nil
}

// signer gets ready to sign, before anything is judged; nil when nothing will
// be signed.
func (g Gate) signer(ctx context.Context, how seal.Signing, dataDir string) (seal.Signer, error) {
	if how.Mode == "" || how.Mode == seal.ModeNone {
		return nil, nil
	}
	backend, err := g.backend()
	if err != nil {
		return nil, err
	}
	how.CacheDir = trustCache(dataDir)
	return backend.Prepare(ctx, how)
}

// trustCache is where what was fetched about the public Sigstore instance is kept.
func trustCache(dataDir string) string { return filepath.Join(dataDir, "cache", "sigstore") }

func claimsOf(s seal.Signer) *seal.Claims {
	if s == nil {
		return nil
	}
	return s.Claims()
}

// notRemote says what a run lacks to be attested from afar, as far as its
// identity token can tell; "" when nothing.
func notRemote(c *seal.Claims) string {
	switch {
	case c == nil:
		return "that takes --sign keyless, with the identity token of a workflow's job"
	case c.RunnerEnvironment != seal.GitHubHosted:
		return fmt.Sprintf("the identity token says that this runner is %q, and not %s", c.RunnerEnvironment, seal.GitHubHosted)
	case c.JobWorkflowRef == "" || c.SHA == "":
		return "the identity token names no workflow file (job_workflow_ref) or no commit (sha)"
	}
	return ""
}

// sameSource refuses a contract that requires remote_attested where the workflow
// run is about another commit than the workspace: nobody would grant it.
func sameSource(required contract.Assurance, c *seal.Claims, revision string) error {
	if required != contract.RemoteAttested || c != nil && c.SHA == revision {
		return nil
	}
	sha := ""
	if c != nil {
		sha = c.SHA
	}
	return fault.New(fault.AssuranceUnavailable, "Check out the commit that the workflow run is about.",
		"the contract requires %s, and the workspace is at commit %q while the identity token is about %q", required, revision, sha).
		With("required", required).With("available", contract.IsolatedLocal)
}

// Sign signs a run that was kept. A signature that it has is replaced only when
// that is asked for.
func (g Gate) Sign(ctx context.Context, dataDir, idOrDir string, how seal.Signing, replace bool) (*bundle.Sealed, error) {
	if _, err := g.backend(); err != nil {
		return nil, err
	}
	dir, err := bundle.Find(dataDir, idOrDir)
	if err != nil {
		return nil, err
	}
	sealed, err := bundle.Read(dir)
	if err != nil {
		return nil, err
	}
	if sealed.Sigstore != nil && !replace {
		return nil, fault.New(fault.Usage, "Pass --force to replace the signature.", "the run %s is signed already", sealed.Evidence.RunID).With("bundle", dir)
	}
	signer, err := g.signer(ctx, how, dataDir)
	if err != nil {
		return nil, err
	}
	return g.sign(ctx, signer, sealed, replace)
}

// sign signs the statement of a run, and what it says in public formats, and
// puts both into the bundle. A bundle that could not be signed is kept as it
// was, and the fault says where.
func (g Gate) sign(ctx context.Context, signer seal.Signer, s *bundle.Sealed, replace bool) (*bundle.Sealed, error) {
	kept := func(err error) error {
		state := "not what it was: run `gate show` on it"
		// What stands there now, however far this came.
		switch now, err := bundle.Read(s.Dir); {
		case err != nil:
		case now.Sigstore == nil:
			state = "kept, unsigned"
		case bytes.Equal(now.Sigstore, s.Sigstore):
			state = "kept, with the signature that it had"
		default:
			state = "signed, and what it says in public formats may not lie beside it"
		}
		f := fault.As(err)
		if f.Code != fault.SigningUnavailable && f.Code != fault.BackendFailed {
			f = fault.New(fault.SigningUnavailable, "", "%v", err).Because(err)
		}
		f.Message += fmt.Sprintf("; the bundle of run %s is %s", s.Evidence.RunID, state)
		return f.With("run_id", s.Evidence.RunID).With("bundle", s.Dir).With("verdict", s.Evidence.Verdict)
	}
	statement, err := seal.Statement(s)
	if err != nil {
		return nil, kept(fault.New(fault.SigningUnavailable, "", "no statement can be made about the run: %v", err))
	}
	public, err := seal.PublicStatements(s)
	if err != nil {
		return nil, kept(fault.New(fault.SigningUnavailable, "", "no public statement can be made about the run: %v", err))
	}
	signature, err := signer.Sign(ctx, statement)
	if err != nil {
		return nil, kept(err)
	}
	reports := map[string][]byte{}
	for _, p := range public {
		signed, err := signer.Sign(ctx, p.Statement)
		if err != nil {
			return nil, kept(err)
		}
		reports[p.File] = signed.Bundle
	}
	signed, err := bundle.AddSignature(s.Dir, signature.Bundle, seal.Describe(signature), replace)
	if err != nil {
		return nil, kept(err)
	}
	if err := seal.Attests(signature, signed); err != nil {
		return nil, err
	}
	if err := bundle.WriteStatements(s.Dir, reports); err != nil {
		return nil, kept(err)
	}
	return signed, nil
}

// Shown is a run that was read back, every binding re-checked.
type Shown struct {
	*bundle.Sealed
	Signature *seal.Signature    // nil when it is not signed
	Assurance contract.Assurance // granted: that of the run, or remote_attested
}

// Show reads a run back and re-checks every binding, and the signature where
// there is one. Without a trust the signature proves that nothing was changed
// since it was made, and not who made it.
func (g Gate) Show(ctx context.Context, dataDir, idOrDir string, trust seal.Trust) (*Shown, error) {
	dir, err := bundle.Find(dataDir, idOrDir)
	if err != nil {
		return nil, err
	}
	s, err := bundle.Read(dir)
	if err != nil {
		return nil, err
	}
	out := &Shown{Sealed: s, Assurance: s.Judgement.Assurance}
	pinned := trust.Key != "" || trust.Identity != (seal.Identity{})
	if s.Sigstore == nil {
		if pinned {
			return nil, fault.New(fault.SignatureInvalid, "Sign the run with `gate sign`, or leave the key or identity out.", "the run %s is not signed by anybody", s.Evidence.RunID).With("bundle", dir)
		}
		return out, nil
	}
	if trust.Unpinned = !pinned; trust.Unpinned && s.Attestation.SignatureStatus == bundle.SignedKey {
		trust.KeyPEM = *s.Attestation.PublicKey
	}
	trust.CacheDir = trustCache(dataDir)
	if out.Signature, err = g.verify(ctx, s, trust); err != nil {
		return nil, err
	}
	if pinned && policy.Remote(s, out.Signature, trust, policy.Workflow{}) == nil {
		out.Assurance = contract.RemoteAttested
	}
	return out, nil
}

// verify verifies the signature of a bundle, and that it is about this bundle.
func (g Gate) verify(ctx context.Context, s *bundle.Sealed, trust seal.Trust) (*seal.Signature, error) {
	backend, err := g.backend()
	if err != nil {
		return nil, err
	}
	sig, err := backend.Verify(ctx, s.Sigstore, trust)
	if err != nil {
		return nil, fault.As(err).With("bundle", s.Dir)
	}
	return sig, seal.Attests(sig, s)
}

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
	p.Subjects, err = policy.HashSubjects(ctx, r.Subjects)
	return err
}
