package gate

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
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
	signed, err := bundle.AddSignature(s, bundle.Signed{Signature: seal.Describe(signature), Sigstore: signature.Bundle, Public: reports}, replace)
	if err != nil {
		return nil, kept(err)
	}
	return signed, seal.Attests(signature, signed)
}
