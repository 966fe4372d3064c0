package action

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/change"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/unpack"
)

// judged is the output json of the judging job, as far as signing needs it.
type judged struct {
	Contracts []struct {
		Path     string `json:"contract_path"`
		Artifact string `json:"artifact_id"`
		Bundle   string `json:"bundle_digest"`
	} `json:"contracts"`
}

// sign is the job between the stages, in the reusable workflow: it has an identity and
// no code of the judged project. It signs what the judging job of the same
// workflow found, if that is about the change that the forge names, and posts the
// check-runs.
func (s *Step) sign(ctx context.Context) int {
	j := &judging{Step: s}
	runs, err := j.signed(ctx)
	if err != nil {
		runs = []*run{{refusal: fault.As(err)}}
	}
	for _, r := range runs {
		j.deliver(ctx, r)
	}
	return j.report(ctx, runs)
}

func (j *judging) signed(ctx context.Context) ([]*run, error) {
	if err := j.setUp(ctx, change.Review); err != nil {
		return nil, err
	}
	j.in.suffix = "-signed"
	in := &inputs{env: j.Env}
	j.scope = in.scope()
	var from judged
	if err := json.Unmarshal([]byte(in.needed("judged", "Pass the output json of the judging job.")), &from); err != nil && in.err == nil {
		in.wrong("judged", "Pass the output json of the judging job.", "it is no JSON: %v", err)
	}
	if in.err != nil {
		return nil, in.err
	}
	documents, err := j.contracts(ctx)
	if err != nil {
		return nil, err
	}
	if u := j.change.Untrusted; u != nil {
		return []*run{undecided(u)}, nil
	}
	var runs []*run
	for _, c := range from.Contracts {
		r := &run{path: c.Path}
		if i := slices.IndexFunc(documents, func(d forge.Document) bool { return d.Path == c.Path }); i >= 0 {
			r.text = documents[i].Bytes
		}
		r.missing = c.Path == "" && len(documents) == 0
		if err := j.signOne(ctx, r, c.Artifact, c.Bundle); err != nil {
			r.refusal = fault.As(err)
		}
		runs = append(runs, r)
	}
	for _, d := range documents {
		if len(runs) > 0 && !slices.ContainsFunc(runs, func(r *run) bool { return r.path == d.Path }) {
			runs = append(runs, &run{path: d.Path, text: d.Bytes, refusal: replaced(d.Path, j.change)})
		}
	}
	if len(runs) == 0 {
		return nil, fault.New(fault.ActionEvidenceRefused, "Look at the judging job.", "the judging job left no evidence")
	}
	return runs, nil
}

// replaced refuses evidence that is not by a contract that judges now.
func replaced(path string, c *change.Change) *fault.Error {
	const mend = "Update the branch, so that the change is judged again."
	if path == "" {
		return fault.New(fault.ActionEvidenceRefused, mend, "the judging job found no contract, and %s has one at its tip %s", c.BaseRef, c.ContractCommit)
	}
	return fault.New(fault.ActionEvidenceRefused, mend, "the judging job's evidence is not by the contract %s that %s has at its tip %s", path, c.BaseRef, c.ContractCommit).With("path", path)
}

// signOne signs one bundle of the judging job. Names of artifacts can be taken by other jobs of the
// run; ids cannot, and the digest says that nothing was changed on the way.
func (j *judging) signOne(ctx context.Context, r *run, artifact, digest string) error {
	if artifact == "" {
		by := r.path
		if by == "" {
			by = "any contract"
		}
		return fault.New(fault.ActionEvidenceRefused, "Look at the judging job.", "the judging job uploaded no evidence by %s", by)
	}
	id, err := strconv.ParseInt(artifact, 10, 64)
	if err != nil {
		return fault.New(fault.ActionInputInvalid, "", "the input judged: %q is no id of an artifact", artifact)
	}
	data, err := j.scratch("evidence")
	if err != nil {
		return fault.New(fault.BackendFailed, "", "there is no folder for the evidence: %v", err).Because(err)
	}
	r.data = data
	archive := filepath.Join(data, "judged.zip")
	if err := j.download(ctx, j.forge, id, archive); err != nil {
		return err
	}
	b, err := unpack.Open(ctx, archive)
	if err != nil {
		return err
	}
	defer b.Close()
	sealed, err := bundle.Read(b.Dir)
	if err != nil {
		return err
	}
	if got := sealed.Attestation.BundleDigest; got != digest {
		return fault.New(fault.ActionEvidenceRefused, "", "artifact %d holds the bundle %s, and the judging job wrote %s", id, got, digest)
	}
	want := j.change.Change
	want.Event, want.Job, want.Base, want.ContractCommit = "", "", "", "" // the base may have gone on
	want.ContractPath, want.Directory = r.path, j.in.prefix
	if err := policy.SameChange(sealed, &want); err != nil {
		return err
	}
	if err := j.about(ctx, sealed); err != nil {
		return err
	}
	if r.missing {
		// What the judging job writes where there is no contract says at which commit.
		if r.text, err = placeholder(absent(j.in.contracts, sealed.Evidence.PolicySnapshot.Change.Base, j.change.BaseRef)); err != nil {
			return err
		}
	}
	if text, err := contract.ParseText(r.path, r.text); r.text == nil || err != nil || text.Digest() != sealed.Contract.Digest() {
		return replaced(r.path, j.change)
	}
	kept := filepath.Join(data, "verifications", sealed.Evidence.RunID)
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return fault.New(fault.BackendFailed, "", "the evidence cannot be kept: %v", err).Because(err)
	}
	if err := os.CopyFS(kept, os.DirFS(b.Dir)); err != nil {
		return fault.New(fault.BackendFailed, "", "the evidence cannot be kept: %v", err).Because(err)
	}
	how := seal.Signing{Mode: seal.ModeKeyless, SigningConfig: j.in.signingConfig, TrustedRoot: j.in.root, Env: j.Env, Warn: j.warn}
	r.settle(j.Gate.Sign(ctx, data, sealed.Evidence.RunID, how, false))
	return nil
}
