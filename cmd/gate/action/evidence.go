package action

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/unpack"
)

// maxArchive bounds an archive that is downloaded, in bytes: a bundle that is
// larger cannot be unpacked either.
const maxArchive = 2 << 30

// signed is a bundle whose signature was verified.
type signed struct {
	*bundle.Sealed
	decision policy.Decision
	artifact forge.Artifact
}

// pinned is what evidence must prove to count for a change.
type pinned struct {
	trust  seal.Trust
	digest string // of the workflow file that signs; "" for any
	server string // such as https://github.com
	run    forge.WorkflowRun
	change bundle.Change // without the base, and without the commit of the contract
	// about refuses evidence that is not about the change as the forge has it.
	about func(context.Context, *bundle.Sealed) error
}

// standing refuses evidence that was made at a commit which is not on the base branch
// now. What was merged since does not matter: whoever asks compares the contract with the
// one at the branch's tip.
func (j *judging) standing(ctx context.Context, sealed *bundle.Sealed) error {
	of := sealed.Evidence.PolicySnapshot.Change
	if of == nil {
		return fault.New(fault.SourceMismatch, "", "the evidence is about no change").With("identity", "change")
	}
	for _, at := range []string{of.Base, of.ContractCommit} {
		if at == "" && of.ContractPath == "" && of.Base != "" {
			continue // there was no contract
		}
		on := false
		if bundle.IsRevision(at) {
			var err error
			if on, err = j.forge.IsAncestor(ctx, at, j.change.ContractCommit); err != nil {
				return err
			}
		}
		if !on {
			return fault.New(fault.SourceMismatch, "Update the branch, so that the change is judged again.",
				"the change was judged at the base %q, which is not on the base branch %s, now at %s", at, j.change.BaseRef, j.change.ContractCommit).
				With("identity", "change").With("member", "base").With("expected", j.change.ContractCommit).With("actual", at)
		}
	}
	return nil
}

// about refuses evidence that is not about the change as the forge has it, and about nothing
// beside it that nobody named.
func (j *judging) about(ctx context.Context, sealed *bundle.Sealed) error {
	if err := j.standing(ctx, sealed); err != nil {
		return err
	}
	if err := j.atChange(ctx, sealed); err != nil {
		return err
	}
	return j.scope.check(sealed, j.in.prefix)
}

// accept takes an uploaded bundle, or says why it proves nothing. The order is
// that of a reader who believes nothing yet: who signed, in which run, over what.
func (s *Step) accept(ctx context.Context, archive string, p pinned) (*bundle.Sealed, policy.Decision, error) {
	none := policy.Decision{}
	b, err := unpack.Open(ctx, archive)
	if err != nil {
		return nil, none, err
	}
	defer b.Close()
	sealed, err := bundle.Read(b.Dir)
	if err != nil {
		return nil, none, err
	}
	if sealed.Sigstore == nil {
		return nil, none, fault.New(fault.ActionEvidenceRefused, "Judge with the reusable workflow, whose signing job signs.", "it is not signed, so anybody could have made it")
	}
	sig, err := s.Gate.Seal.Verify(ctx, sealed.Sigstore, p.trust)
	if err != nil {
		return nil, none, err
	}
	if err := p.invoked(sig); err != nil {
		return nil, none, err
	}
	digest := sealed.Contract.Contract.DigestText()
	d, err := policy.Check(sealed, sig, policy.Policy{
		Trust: p.trust, Contract: sealed.Contract.Digest(), Change: &p.change, Repository: p.server + "/" + p.change.Repository,
		Workflow: policy.Workflow{URI: p.trust.Identity.Subject, Digest: p.digest}, Now: time.Now(),
		Assurance: contract.RemoteAttested, // a runner of somebody's own, and another commit than the evidence's, sign in vain
	})
	if err != nil {
		return nil, none, fmt.Errorf("contract %s: %w", digest, err)
	}
	if err := p.about(ctx, sealed); err != nil {
		return nil, none, err
	}
	return sealed, d, nil
}

// invoked says whether the certificate was given to this very run of the
// workflow: evidence of an earlier attempt, or of another run over the same commit,
// may have been overtaken.
func (p pinned) invoked(sig *seal.Signature) error {
	c := sig.Certificate
	if c == nil {
		return fault.New(fault.ActionEvidenceRefused, "", "it is signed with a key and not with the identity of a workflow")
	}
	want := fmt.Sprintf("%s/%s/actions/runs/%d/attempts/%d", p.server, p.change.Repository, p.run.ID, p.run.Attempt)
	if c.RunInvocationURI != want {
		return fault.New(fault.ActionEvidenceRefused, "", "it was signed in %s and not in %s", c.RunInvocationURI, want)
	}
	return nil
}

// fetch downloads the one artifact that the inputs name.
func (s *Step) fetch(ctx context.Context, client *forge.Client, in *inputs, into string) error {
	id, name := in.id("artifact-id"), in.text("artifact-name")
	if id == 0 && name == "" {
		in.wrong("bundle", "Pass bundle, artifact-id or artifact-name.", "it is not said where the bundle is")
	}
	if id == 0 && in.err == nil {
		run := in.id("run-id")
		if run == 0 {
			run = parseID(s.Env("GITHUB_RUN_ID"))
		}
		all, err := client.Artifacts(ctx, run)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(a forge.Artifact) bool { return a.Name == name && !a.Expired })
		if i < 0 {
			in.wrong("artifact-name", "The run's page lists its artifacts.", "run %d has no artifact %q (it has: %s)", run, name, names(all))
			return in.err
		}
		id = all[i].ID
	}
	if in.err != nil {
		return in.err
	}
	return s.download(ctx, client, id, into)
}

// download writes an artifact's archive to a file.
func (s *Step) download(ctx context.Context, client *forge.Client, id int64, into string) error {
	f, err := os.OpenFile(into, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.New(fault.BackendFailed, "", "the artifact cannot be kept: %v", err).Because(err)
	}
	if err := client.DownloadArtifact(ctx, id, f, maxArchive); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return fault.New(fault.BackendFailed, "", "the artifact cannot be kept: %v", err).Because(err)
	}
	return nil
}

func names(all []forge.Artifact) string {
	var out []string
	for _, a := range all {
		out = append(out, a.Name)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
