package policy

import (
	"fmt"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
)

// Remote says whether a run was attested from afar: that a machine which the
// judged side does not control ran a workflow which it cannot change, over the
// very commit that the evidence names. Nothing of that is read from the bundle;
// it is what the certificate of a verified signature proves. nil grants
// remote_attested; the fault says what is missing.
//
// The workflow is pinned by pin, or by an exact identity in the trust, which is
// the same when it is the workflow's. A pattern pins none: whoever can add a
// workflow that matches could have judged with it.
func Remote(s *bundle.Sealed, sig *seal.Signature, trust seal.Trust, pin Workflow) error {
	missing, why := remoteGap(s, sig, trust, pin)
	if missing == "" {
		return nil
	}
	return fault.New(fault.PolicyUnmet, "docs/trust.md shows the workflow that gives it.", "remote_attested cannot be granted: %s", why).
		With("requirement", "assurance").With("missing", missing)
}

// remoteGap names the first part that is missing, and says why.
func remoteGap(s *bundle.Sealed, sig *seal.Signature, trust seal.Trust, pin Workflow) (missing, why string) {
	if sig == nil || sig.Certificate == nil {
		return "certificate", "the signature is a key's; only a certificate says where a run was made"
	}
	c, e := sig.Certificate, &s.Evidence
	if pin.URI == "" && trust.Identity.Subject == c.Subject && c.Subject == c.BuildSignerURI {
		pin.URI = trust.Identity.Subject
	}
	revision := ""
	if e.SourceRevision != nil {
		revision = *e.SourceRevision
	}
	switch {
	case trust.Identity.Issuer == "" || trust.Identity.Issuer != c.Issuer:
		return "issuer", "the policy does not name the issuer of the identity by itself, and what a certificate says of a runner is its issuer's word"
	case c.RunnerEnvironment != seal.GitHubHosted:
		return "runner", fmt.Sprintf("the certificate says that the runner is %s, and not %s", orNone(c.RunnerEnvironment), seal.GitHubHosted)
	case pin.URI == "":
		return "workflow", "the policy pins no workflow, so any could have judged"
	case c.BuildSignerURI != pin.URI:
		return "workflow", fmt.Sprintf("the workflow that signed is %s, and the policy pins %q", orNone(c.BuildSignerURI), pin.URI)
	case pin.Digest != "" && c.BuildSignerDigest != pin.Digest:
		return "workflow_digest", fmt.Sprintf("the workflow that signed is of commit %s, and the policy pins %q", orNone(c.BuildSignerDigest), pin.Digest)
	case !bundle.IsRevision(revision):
		return "source", "the evidence names no commit"
	case !bundle.IsRevision(c.SourceRepositoryDigest):
		return "source", "the certificate names no commit"
	case c.SourceRepositoryDigest != revision:
		return "source", fmt.Sprintf("the certificate is of a run for commit %s, and the evidence is about %s", c.SourceRepositoryDigest, revision)
	case e.Assurance != contract.IsolatedLocal:
		return "isolation", fmt.Sprintf("the checks ran with %s; remote_attested stands on isolated_local", e.Assurance)
	case e.ContentDigest == nil:
		return "content", "the evidence has no digest of the workspace, so it is not known what was judged"
	}
	return "", ""
}

func orNone(s string) string {
	if s == "" {
		return "not named"
	}
	return fmt.Sprintf("%q", s)
}
