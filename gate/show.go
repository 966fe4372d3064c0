package gate

import (
	"context"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/gate/seal"
)

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
			return nil, policy.NotSigned(s)
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
