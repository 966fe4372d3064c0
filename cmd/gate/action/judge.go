package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/change"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/source"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/reporter"
)

// judging is one judgement of a change: by each contract that there is.
type judging struct {
	*Step
	in     judgeInputs
	change *change.Change
	forge  *forge.Client
	edits  []forge.Edit // of contracts, by the change
	scope  scope        // of evidence that is looked at
	app    string       // whose token posts check-runs, by its slug; "" before that is seen
}

// judgeInputs are the inputs of the first stage.
type judgeInputs struct {
	token, checkName, matrix        string
	contracts, trusted              []string
	digests                         pins
	dir, prefix, proposed           string
	roots, subjects                 []string
	sign, signingConfig, root       string
	artifact, checkRun, annotations bool
	artifactName, attestations      string
	retention                       int
	suffix                          string // of the artifact's name
}

// judgeInputs reads them. What is wrong with them is a fault.
func (s *Step) judgeInputs() (judgeInputs, error) {
	in := &inputs{env: s.Env}
	j := judgeInputs{
		token: in.needed("token", "Leave it out, or pass a token that is not empty."), checkName: in.text("check-name"), matrix: in.text("matrix"),
		contracts: in.lines("contracts"), trusted: in.lines("trusted-refs"), digests: in.pins("contract-digests"),
		roots: s.plain(in, "roots", in.lines("roots")), subjects: s.plain(in, "subjects", in.lines("subjects")),
		sign: in.oneOf("sign", "auto", "keyless", "none"), signingConfig: in.text("signing-config"), root: in.text("trusted-root"),
		artifact: in.yes("artifact", true), checkRun: in.yes("check-run", true), annotations: in.yes("annotations", true),
		artifactName: in.text("artifact-name"), attestations: in.oneOf("attestations", "auto", "true", "false"), retention: in.number("retention-days", maxRetention),
	}
	if len(j.contracts) == 0 {
		j.contracts = []string{defaultContracts}
	}
	if j.checkName == "" {
		j.checkName = defaultCheckName
	}
	for _, p := range []struct {
		name string
		to   *string
	}{{"proposed", &j.proposed}, {"signing-config", &j.signingConfig}, {"trusted-root", &j.root}} {
		if v := in.text(p.name); v != "" {
			*p.to = s.plain(in, p.name, []string{v})[0]
		}
	}
	var err error
	if j.dir, j.prefix, err = s.workspace(in); err != nil {
		return j, err
	}
	return j, in.err
}

const (
	defaultContracts = ".gate/contracts/*.json"
	defaultCheckName = "verdict"
	maxRetention     = 400 // days, the most that GitHub keeps an artifact
)

// judge is the first stage.
func (s *Step) judge(ctx context.Context) int {
	j := &judging{Step: s}
	runs, err := j.runs(ctx)
	if err != nil {
		runs = []*run{{refusal: fault.As(err)}}
	}
	for _, r := range runs {
		j.deliver(ctx, r)
	}
	return j.report(ctx, runs)
}

// setUp reads the inputs and asks what the change is.
func (j *judging) setUp(ctx context.Context, decide deciding) error {
	var err error
	if j.in, err = j.judgeInputs(); err != nil {
		return err
	}
	runner, err := j.runner()
	if err != nil {
		return err
	}
	if j.forge, err = j.connect(j.in.token); err != nil {
		return err
	}
	j.change, err = decide(ctx, runner, &hub{Client: j.forge}, change.Trusted{Patterns: j.in.trusted})
	return err
}

// deciding is change.Decide, or change.Review.
type deciding func(context.Context, change.Runner, change.Forge, change.Trusted) (*change.Change, error)

// contracts are those at the trusted commit. There is none where the change turns out
// to be Untrusted.
func (j *judging) contracts(ctx context.Context) ([]forge.Document, error) {
	c := j.change
	if c.Untrusted != nil {
		return nil, nil
	}
	documents, err := j.forge.Contracts(ctx, c.ContractCommit, j.in.contracts)
	if err != nil {
		return nil, err
	}
	if c.Stacked != "" {
		stacked, err := j.forge.Contracts(ctx, c.Stacked, j.in.contracts)
		if err != nil {
			return nil, err
		}
		if !slices.EqualFunc(documents, stacked, func(a, b forge.Document) bool { return a.Path == b.Path && a.ID == b.ID }) {
			c.Untrusted = fault.New(fault.ActionBaseUntrusted, "Queue the change again when what is before it is merged.",
				"the merge group stands on %s, which is not merged into %s yet and has other contracts", c.Stacked, c.BaseRef).With("base_ref", c.BaseRef).With("base", c.Stacked)
			return nil, nil
		}
	}
	if err := distinct(documents); err != nil {
		return nil, err
	}
	return documents, j.in.digests.check(documents)
}

// runs judges by each contract. An error says that nothing was judged at all.
func (j *judging) runs(ctx context.Context) ([]*run, error) {
	if err := j.setUp(ctx, change.Decide); err != nil {
		return nil, err
	}
	if err := j.yields(ctx, j.change); err != nil {
		j.change = nil // and nothing is posted for its head
		return nil, err
	}
	if u := j.change.Untrusted; u != nil {
		return []*run{undecided(u)}, nil
	}
	if f := j.checkout(ctx); f != nil {
		return []*run{undecided(f)}, nil
	}
	documents, err := j.contracts(ctx)
	if err != nil {
		return nil, err
	}
	if u := j.change.Untrusted; u != nil {
		return []*run{undecided(u)}, nil
	}
	var unseen error
	j.edits, unseen = j.edited(ctx)
	var runs []*run
	if len(documents) == 0 {
		runs = append(runs, j.without(ctx))
	}
	runs = append(runs, j.judgeAll(ctx, documents)...)
	if unseen != nil {
		// They are reported and never used, so no verdict depends on them.
		for _, r := range runs {
			r.note("whether the change edits contracts, exceptions or approvals could not be seen: %s", fault.As(unseen).Message)
		}
	}
	return runs, nil
}

// yields refuses a fork's change where the repository itself has a pull request of the same
// head to the same base. Their check-runs have one name and one commit, and whoever can copy a
// branch to a fork could put another result in the place of its own.
func (j *judging) yields(ctx context.Context, c *change.Change) error {
	if !c.Fork {
		return nil
	}
	own, err := j.forge.OwnPullRequests(ctx, c.Head)
	if err != nil {
		return err
	}
	for _, pr := range own {
		if pr.BaseRef == c.BaseRef && pr.Number != c.Number {
			return fault.New(fault.ActionEventUnsupported, "Nothing is to be done: the result is that of the repository's own pull request.",
				"pull request #%d comes from a fork and has the head %s of this repository's own #%d, to the same branch %s", c.Number, c.Head, pr.Number, c.BaseRef)
		}
	}
	return nil
}

// checkout says why the workspace is not known to hold the change; nil when it is.
func (j *judging) checkout(ctx context.Context) *fault.Error {
	if link, ok := throughLink(j.Env("GITHUB_WORKSPACE"), j.in.dir); ok {
		return fault.New(fault.ActionCheckoutUnknown, "Judge the folder itself.", "the folder to judge, %s, leads through the symbolic link %s: what lies there is no part of the change", j.in.prefix, link)
	}
	facts, err := source.Describe(ctx, j.in.dir)
	if err != nil {
		return fault.New(fault.ActionCheckoutUnknown, "Put a step with actions/checkout before the gate.", "the workspace cannot be read: %v", err)
	}
	switch at := facts.Revision; {
	case at == "":
		why := "it is no git work tree"
		if facts.Limitation != "" {
			why = facts.Limitation
		}
		return fault.New(fault.ActionCheckoutUnknown, "Put a step with actions/checkout before the gate.", "the commit of the workspace is not known: %s", why)
	case !slices.Contains(j.change.Workspace, at):
		return fault.New(fault.ActionCheckoutUnknown, "", "the workspace is at %s, and the change is at %s", at, strings.Join(j.change.Workspace, " or ")).With("workspace", at)
	}
	return nil
}

// edited are the contracts, and what else judges, that the change edits. They are
// reported, and not used.
func (j *judging) edited(ctx context.Context) ([]forge.Edit, error) {
	if j.change.Base == j.change.Head {
		return nil, nil
	}
	return j.forge.Edits(ctx, j.change.Base, j.change.Head, append([]string{".gate/*", ".gate/exceptions/*", ".gate/approvals/*"}, j.in.contracts...))
}

// without is the run of a change that no contract judges. Nothing can be verified, and
// what a contract of the change itself would say is shown as advice.
func (j *judging) without(ctx context.Context) *run {
	r := &run{missing: true}
	wanted := absent(j.in.contracts, j.change.ContractCommit, j.change.BaseRef)
	text, err := placeholder(wanted)
	if err != nil {
		r.refusal = fault.As(err)
		return r
	}
	r.text = text
	r.note("there is no contract at the trusted commit, so nothing can be verified: %s", wanted)
	proposed := j.in.proposed
	if own := j.own(ctx, r); own != "" && proposed == "" {
		proposed = own
		defer os.Remove(own)
	}
	j.judgeBy(ctx, r, proposed)
	return r
}

// absent says what there should be at a commit of the base branch.
func absent(contracts []string, commit, branch string) string {
	return fmt.Sprintf("a frozen contract at %s of commit %s (%s)", strings.Join(contracts, ", "), commit, branch)
}

// own writes down the checks of the contracts that only the change has, and gives the
// file; "" when there are none.
func (j *judging) own(ctx context.Context, r *run) string {
	documents, err := j.forge.Contracts(ctx, j.change.Head, j.in.contracts)
	if err != nil {
		r.note("whether the change itself has a contract could not be seen: %v", err)
		return ""
	}
	checks := strictjson.Arr()
	for _, d := range documents {
		doc, err := strictjson.Parse(d.Bytes, strictjson.ContractLimits)
		if err != nil {
			r.note("%s, which only the change has, is no contract: %v", d.Path, err)
			continue
		}
		r.note("%s is in the change alone: its reading checks are advisory, and decide nothing", d.Path)
		if list := doc.Root.Get("checks"); list != nil {
			checks.Items = append(checks.Items, list.Items...)
		}
	}
	if len(checks.Items) == 0 {
		return ""
	}
	dir, err := j.scratch("proposed")
	if err == nil {
		name := filepath.Join(dir, "proposed.json")
		if err = os.WriteFile(name, strictjson.Canonical(&checks), 0o600); err == nil {
			return name
		}
	}
	r.note("the checks of the change's own contract could not be passed on: %v", err)
	return ""
}

// judgeBy judges the workspace by the run's contract.
func (j *judging) judgeBy(ctx context.Context, r *run, proposed string) {
	data, err := j.scratch("evidence")
	if err != nil {
		r.refusal = fault.New(fault.BackendFailed, "", "there is no folder for the evidence: %v", err).Because(err)
		return
	}
	r.data = data
	c := j.change.Change
	c.Directory = j.in.prefix
	if c.ContractPath = r.path; r.missing {
		c.ContractCommit = ""
	}
	name := r.path
	if name == "" {
		name = "no contract"
	}
	request := gate.Request{
		Contract: name, Document: r.text, Change: &c, Reading: j.change.Privileged, Dir: j.in.dir, Roots: j.in.roots,
		Proposed: proposed, Subjects: j.in.subjects, DataDir: data, Protected: j.protected(), Env: j.environment, Signing: j.signing(r),
	}
	sealed, err := j.Gate.Run(ctx, request)
	f := fault.As(err)
	if err != nil && f.Code == fault.SigningUnavailable && j.in.sign == "auto" {
		if kept, ok := f.Details["bundle"].(string); ok {
			sealed, err = bundle.Read(kept)
		} else {
			request.Signing.Mode = seal.ModeNone
			sealed, err = j.Gate.Run(ctx, request)
		}
		r.note("the evidence is unsigned: %s", f.Message)
	}
	r.settle(sealed, err)
}

// signing is how the run is signed.
func (j *judging) signing(r *run) seal.Signing {
	how := seal.Signing{Mode: seal.ModeNone, Env: j.Env, Warn: j.warn}
	switch {
	case j.in.sign == "none":
		return how
	case j.in.sign == "auto" && j.Env("ACTIONS_ID_TOKEN_REQUEST_URL") == "":
		r.note("the evidence is unsigned, bound by its hashes only: the job has no id-token: write")
		return how
	}
	how.Mode, how.SigningConfig, how.TrustedRoot = seal.ModeKeyless, j.in.signingConfig, j.in.root
	return how
}

// environment is what the gate may know of the environment: the path of commands,
// and of the job's own variables none.
func (s *Step) environment(name string) string {
	switch name {
	case "PATH":
		if s.Path != "" {
			return s.Path
		}
		return s.Env(name)
	case "HOME", "LANG", "LC_ALL", "TZ":
		return s.Env(name)
	}
	return ""
}

// settle takes what a run came to.
func (r *run) settle(sealed *bundle.Sealed, err error) {
	var unwritten *bundle.Unwritten
	switch {
	case errors.As(err, &unwritten):
		r.show(reporter.OfUnwritten(unwritten))
	case err != nil:
		r.refusal = fault.As(err)
	default:
		r.sealed = sealed
		signer := ""
		if sealed.Attestation.PublicKey != nil && sealed.Sigstore != nil {
			signer = *sealed.Attestation.PublicKey
		}
		r.show(reporter.OfSigned(sealed, sealed.Judgement.Assurance, signer))
	}
}
