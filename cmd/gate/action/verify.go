package action

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/change"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/reporter"
)

// verifying is one second stage: what a run of the first one uploaded is held
// against what the forge says of the change.
type verifying struct {
	judging
	hub      *hub
	run      forge.WorkflowRun
	trust    seal.Trust
	digest   string
	artifact string   // the name of what is looked at; "" for all
	unseen   []string // what else the run uploaded, and could not be looked at
}

// secondStage are the events that run the default branch's workflow, with nothing
// of the change in the workspace.
var secondStage = []string{"workflow_run", "workflow_dispatch", "repository_dispatch", "schedule"}

// defaultVerifiedName is not the first stage's: what is required must not be what a
// job of the change can post in good faith.
const defaultVerifiedName = "verdict verified"

const actionsIssuer = "https://token.actions.githubusercontent.com"

// verify is the second stage.
func (s *Step) verify(ctx context.Context) int {
	v := &verifying{judging: judging{Step: s}}
	runs, err := v.runs(ctx)
	if err != nil {
		runs = []*run{{refusal: fault.As(err)}}
	}
	return v.report(ctx, runs)
}

// setUp reads the inputs and finds the run that is verified.
func (v *verifying) setUp(ctx context.Context) error {
	in := &inputs{env: v.Env}
	v.in = judgeInputs{token: in.needed("token", "Leave it out, or pass a token that is not empty."), contracts: in.lines("contracts"), trusted: in.lines("trusted-refs"),
		digests: in.pins("contract-digests"), checkName: in.text("check-name"), checkRun: true, annotations: true}
	if len(v.in.contracts) == 0 {
		v.in.contracts = []string{defaultContracts}
	}
	if v.in.checkName == "" {
		v.in.checkName = defaultVerifiedName
	}
	id := in.id("run-id")
	if id == 0 {
		var event struct {
			Run struct {
				ID int64 `json:"id"`
			} `json:"workflow_run"`
		}
		if err := v.event(&event); err == nil {
			id = event.Run.ID
		}
	}
	if id == 0 {
		in.wrong("run-id", "Pass the id of the run that judged: ${{ github.event.workflow_run.id }}.", "it is missing")
	}
	if _, v.in.prefix, _ = v.workspace(in); in.err != nil {
		return in.err
	}
	v.scope = in.scope()
	v.artifact, v.digest = in.text("artifact-name"), in.text("build-signer-digest")
	issuer := in.text("certificate-oidc-issuer")
	if issuer == "" {
		issuer = actionsIssuer
	}
	v.trust = seal.Trust{Identity: seal.Identity{Subject: in.needed("certificate-identity", "Pass the address of the reusable workflow that signs, with its ref."), Issuer: issuer}, Env: v.environment, Warn: v.warn}
	if root := in.text("trusted-root"); root != "" {
		v.trust.TrustedRoot = v.plain(in, "trusted-root", []string{root})[0]
	}
	if in.err != nil {
		return in.err
	}
	if event := v.Env("GITHUB_EVENT_NAME"); !slices.Contains(secondStage, event) {
		return fault.New(fault.ActionEventUnsupported, "Start it on workflow_run.", "the second stage must run where the change has no say, and the event %q lets a change edit the workflow", event)
	}
	var err error
	if v.forge, err = v.connect(v.in.token); err != nil {
		return err
	}
	v.hub = &hub{Client: v.forge}
	branch, err := v.hub.DefaultBranch(ctx)
	if err != nil {
		return err
	}
	if ref := v.Env("GITHUB_REF"); ref != "refs/heads/"+branch {
		return fault.New(fault.ActionEventUnsupported, "Start it from the default branch.", "the second stage runs on %s, and only the workflow of %s is one that the change cannot edit", ref, branch)
	}
	v.run, err = v.forge.WorkflowRun(ctx, id)
	return err
}

// runs finds the change that the run judged, and holds its evidence against it.
func (v *verifying) runs(ctx context.Context) ([]*run, error) {
	if err := v.setUp(ctx); err != nil {
		return nil, err
	}
	changes, err := v.changes(ctx)
	if err != nil {
		return nil, err
	}
	var runs []*run
	for _, c := range changes {
		of, err := v.ofChange(ctx, c)
		if err != nil {
			return nil, err
		}
		runs = append(runs, of...)
	}
	return runs, nil
}

// changes are what the run is about: the forge says so, not the run.
func (v *verifying) changes(ctx context.Context) ([]*change.Change, error) {
	runner := change.Runner{Event: v.run.Event, Repository: v.Env("GITHUB_REPOSITORY"), Ref: "refs/heads/" + v.run.HeadBranch, SHA: v.run.Head,
		RunID: strconv.FormatInt(v.run.ID, 10), RunAttempt: strconv.Itoa(v.run.Attempt)}
	trusted := change.Trusted{Patterns: v.in.trusted}
	if v.run.Event != "pull_request" && v.run.Event != "pull_request_target" {
		c, err := change.Review(ctx, runner, v.hub, trusted)
		if err != nil {
			return nil, err
		}
		return []*change.Change{c}, nil
	}
	if v.run.HeadRepository == "" {
		return nil, fault.New(fault.ActionEventUnsupported, "Open the pull request again from a repository that is there.", "the repository that %s came from is gone", v.run.Head)
	}
	pulls, err := v.forge.PullRequestsFor(ctx, forge.Head{Repository: v.run.HeadRepository, Branch: v.run.HeadBranch, Commit: v.run.Head})
	if err != nil {
		return nil, err
	}
	if len(pulls) == 0 {
		return nil, fault.New(fault.ActionEventUnsupported, "Nothing is to be done: the pull request has a newer commit, or is closed.", "no open pull request has the head %s", v.run.Head)
	}
	var out []*change.Change
	var yielded error
	for _, pr := range pulls {
		c, err := change.Of(ctx, runner, v.hub, trusted, pulled(pr))
		if err != nil {
			return nil, err
		}
		if err := v.yields(ctx, c); err != nil {
			yielded = err
			if fault.As(err).Code == fault.ActionEventUnsupported {
				continue
			}
			return nil, err
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, yielded
	}
	return out, nil
}

// ofChange verifies one change: by every contract at the tip of its base branch.
func (v *verifying) ofChange(ctx context.Context, c *change.Change) ([]*run, error) {
	v.change = c
	documents, err := v.contracts(ctx)
	if err != nil {
		return nil, err
	}
	if c.Untrusted != nil {
		return []*run{{refusal: c.Untrusted, undecided: true, change: c}}, nil
	}
	if len(documents) == 0 {
		f := fault.New(fault.ActionContractMissing, "", "there is no contract at %s", c.ContractCommit)
		return []*run{{refusal: f, undecided: true, change: c}}, nil
	}
	found, refused, err := v.evidence(ctx)
	if err != nil {
		return nil, err
	}
	var runs, unproven []*run
	for _, d := range documents {
		r := v.verified(d, found, refused)
		if runs = append(runs, r); r.undecided && c.Unsignable {
			unproven = append(unproven, r)
		}
	}
	if len(unproven) > 0 {
		return runs, v.read(ctx, unproven)
	}
	return runs, nil
}

// evidence takes every bundle that the run uploaded and that proves something.
// refused says why the others prove nothing: a run has artifacts that are none of the
// gate's. Where nothing was found, that GitHub did not give one is an error.
func (v *verifying) evidence(ctx context.Context) (found []signed, refused []string, err error) {
	all, err := v.forge.Artifacts(ctx, v.run.ID)
	if err != nil {
		return nil, nil, err
	}
	dir, err := v.scratch("verify")
	if err != nil {
		return nil, nil, fault.New(fault.BackendFailed, "", "there is no folder for the evidence: %v", err).Because(err)
	}
	defer os.RemoveAll(dir)
	want := bundle.Change{Repository: v.change.Repository, Head: v.change.Head, BaseRef: v.change.BaseRef,
		Directory: v.in.prefix, RunID: strconv.FormatInt(v.run.ID, 10), RunAttempt: strconv.Itoa(v.run.Attempt)}
	p := pinned{trust: v.trust, digest: v.digest, server: v.Env("GITHUB_SERVER_URL"), run: v.run, change: want, about: v.about}
	// What is called as evidence is by default is looked at first, and what is large last.
	// Neither proves anything.
	slices.SortStableFunc(all, func(a, b forge.Artifact) int {
		return cmp.Or(cmp.Compare(unlikely(a.Name), unlikely(b.Name)), cmp.Compare(a.Size, b.Size))
	})
	var lost error
	var total int64
	v.unseen = nil
	for _, a := range all {
		if a.Expired || v.artifact != "" && a.Name != v.artifact {
			continue
		}
		if len(found)+len(refused) == maxArtifacts {
			refused = append(refused, fmt.Sprintf("more than %d artifacts were not looked at", maxArtifacts))
			break
		}
		if total += a.Size; a.Size > maxArchive || total > maxArchives {
			refused = append(refused, fmt.Sprintf("artifact %s: it has %d bytes and was not looked at", a.Name, a.Size))
			continue
		}
		s, err := v.look(ctx, a, filepath.Join(dir, strconv.FormatInt(a.ID, 10)+".zip"), p)
		switch f := fault.As(err); {
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case err == nil:
			found = append(found, s)
			continue
		case f.Code == fault.BackendFailed:
			return nil, nil, err
		case f.Code == fault.ActionForgeUnreachable:
			lost = err
			v.unseen = append(v.unseen, fmt.Sprintf("artifact %s could not be looked at: %s", a.Name, f.Message))
		}
		if len(v.unseen) == maxUnseen {
			break
		}
		refused = append(refused, fmt.Sprintf("artifact %s: %s", a.Name, fault.As(err).Message))
	}
	if len(found) == 0 && lost != nil {
		return nil, nil, lost
	}
	return found, refused, nil
}

// unlikely is 0 for the names that artifactName gives, and 1 for others.
func unlikely(name string) int {
	if strings.HasPrefix(name, "gate-") {
		return 0
	}
	return 1
}

// look downloads one artifact, and leaves nothing of it.
func (v *verifying) look(ctx context.Context, a forge.Artifact, archive string, p pinned) (signed, error) {
	defer os.Remove(archive)
	if err := v.download(ctx, v.forge, a.ID, archive); err != nil {
		return signed{}, err
	}
	sealed, decision, err := v.accept(ctx, archive, p)
	return signed{sealed, decision, a}, err
}

// What is looked at of a run: so many artifacts, and so many bytes of all; and how many of
// them GitHub may fail to give, each of which was asked for several times.
const (
	maxArtifacts = 100
	maxArchives  = 8 << 30
	maxUnseen    = 5
)

// verified is the verdict by one contract: of the evidence that counts for it, and
// the gravest where there are several.
func (v *verifying) verified(d forge.Document, found []signed, refused []string) *run {
	r := &run{path: d.Path, text: d.Bytes, change: v.change}
	text, err := contract.ParseText(d.Path, d.Bytes)
	if err != nil {
		r.refusal = fault.As(err)
		return r
	}
	r.notes = append(r.notes, v.unseen...)
	mend := ""
	var replaced *signed
	for i, s := range found {
		of := s.Evidence.PolicySnapshot.Change // accept has seen that there is one
		if of.Base != v.change.Base {
			mend = "Update the branch, so that the change is judged again."
		}
		if of.ContractPath != d.Path {
			continue
		}
		if s.decision.Contract != text.Digest() {
			replaced = &found[i]
			continue
		}
		view := reporter.OfSigned(s.Sealed, s.decision.Assurance, s.decision.Signer)
		if r.view == nil || v.StatusOf(s.decision.Verdict, s.decision.Outcome) != 0 {
			r.show(view)
			r.sealed = s.Sealed
		}
	}
	switch {
	case r.view != nil:
	case replaced != nil:
		r.undecided = true
		r.refusal = fault.New(fault.ActionEvidenceRefused, mend, "the contract %s has changed: the evidence is by %s of commit %s, and %s has %s at its tip %s: the branch must be updated and judged again",
			d.Path, replaced.decision.Contract, replaced.Evidence.PolicySnapshot.Change.ContractCommit, v.change.BaseRef, text.Digest(), v.change.ContractCommit)
	default:
		r.undecided = true
		r.refusal = fault.New(fault.ActionEvidenceRefused, mend, "nothing that run %d (attempt %d) uploaded proves a verdict by %s for %s on %s", v.run.ID, v.run.Attempt, d.Path, v.change.Head, v.change.BaseRef)
		r.notes = append(r.notes, refused...)
	}
	return r
}

// read judges the head of a change that nobody could sign for, by the contracts of runs without
// evidence: every check that only reads, and nothing of the change is started.
func (v *verifying) read(ctx context.Context, runs []*run) error {
	dir, err := v.scratch("head")
	if err != nil {
		return fault.New(fault.BackendFailed, "", "there is no folder for the change: %v", err).Because(err)
	}
	defer os.RemoveAll(dir)
	if err := v.forge.Tree(ctx, v.change.Head, dir); err != nil {
		return err
	}
	from := "a fork"
	if !v.change.Fork {
		from = "Dependabot"
	}
	judged := filepath.Join(dir, filepath.FromSlash(v.in.prefix))
	link, linked := throughLink(dir, judged)
	for _, r := range runs {
		if linked {
			r.refusal = fault.New(fault.ActionCheckoutUnknown, "Judge the folder itself.", "the folder to judge, %s, leads through the symbolic link %s: what lies there is no part of the change", v.in.prefix, link)
			r.undecided, r.notes = true, nil
			continue
		}
		r.refusal, r.undecided, r.notes = nil, false, nil
		r.note("the change comes from %s, whose jobs cannot sign: its files were read anew, and no check started a process", from)
		data, err := v.scratch("evidence")
		if err != nil {
			return fault.New(fault.BackendFailed, "", "there is no folder for the evidence: %v", err).Because(err)
		}
		c := v.change.Change
		c.ContractPath, c.Directory, r.data = r.path, v.in.prefix, data
		r.settle(v.Gate.Run(ctx, gate.Request{Contract: r.path, Document: r.text, Change: &c, Reading: true, Dir: judged, DataDir: data, Env: v.environment, Signing: seal.Signing{Mode: seal.ModeNone}}))
	}
	return nil
}
