package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/source"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/worker"
)

// Gate is a build of the gate: its vocabulary and its name.
type Gate struct {
	Types   plan.Types
	Version string
	Front   *os.File     // the lean program that started this one, if any: see package carry
	Seal    seal.Backend // signs and verifies; nil when only the carried program can
}

// Request is what one run judges, with what.
type Request struct {
	Contract  string         // file of the frozen contract
	Document  []byte         // the contract itself, which Contract then only names
	Change    *bundle.Change // what is judged, as the forge says; may be nil
	Reading   bool           // no check starts a process: those that would are inconclusive
	Dir       string         // the workspace; never guessed
	Roots     []string       // further folders that checks may read
	Proposed  string         // file of proposed checks; "" for none
	Subjects  []string       // files that the verdict is about
	DataDir   string         // "" for the environment's
	Protected []string       // further folders that no cache of a command may hold, or lie in
	InProcess bool           // reading checks run in this process: worth less
	Signing   seal.Signing   // of what was found; ModeNone for not at all
	Env       func(string) string
	Progress  func(worker.Event)
}

// Run judges a workspace by a frozen contract, writes the evidence bundle and
// gives what stands there. An error is a refusal, nothing was judged; or it is a
// [bundle.Unwritten], when the verifier failed and left no evidence; or what was
// judged could not be signed, and its detail "bundle" says where it is kept.
// [fault.ErrElsewhere] says that the carried program must be asked instead; it
// comes before anything was written or started.
func (g Gate) Run(ctx context.Context, r Request) (*bundle.Sealed, error) {
	started := time.Now()
	if r.Signing.Mode != "" && r.Signing.Mode != seal.ModeNone {
		// Before the contract is read: a pipe can be read once.
		if _, err := g.backend(); err != nil {
			return nil, err
		}
	}
	roots, err := resolveRoots(r.Dir, r.Roots)
	if err != nil {
		return nil, err
	}
	file, steps, err := g.load(r.Contract, r.Document)
	if err != nil {
		return nil, err
	}
	dataDir, err := bundle.ResolveDataDir(r.DataDir, r.Env, roots[0])
	if err != nil {
		return nil, err
	}
	signer, err := g.signer(ctx, r.Signing, dataDir)
	if err != nil {
		return nil, err
	}
	if err := affordable(file.Contract.RequiredAssurance, r.InProcess, claimsOf(signer)); err != nil {
		return nil, err
	}
	job := worker.Job{Plan: steps, Types: g.Types, InProcess: r.InProcess, Reading: r.Reading, Content: true, Progress: r.Progress,
		Start: record.Start{Protocol: record.Protocol, Contract: file.Canonical(), Workspace: roots[0], Roots: roots, Path: r.Env("PATH"), Protected: append([]string{dataDir}, resolved(r.Protected)...)}}
	var limits []string
	if r.Proposed != "" {
		if job.Start.Proposed, limits, err = propose(r.Proposed, file, steps, g.Types); err != nil {
			return nil, err
		}
	}
	a := assembly{request: r, file: file, roots: roots, started: started, limitations: slices.Concat(limits, placeLimits(r, roots[0]), keyInReach(r.Signing, steps, roots[0]))}
	if a.facts, err = source.Describe(ctx, roots[0], roots[1:]...); err != nil {
		return nil, a.notBegun(ctx, err)
	}
	if err := sameSource(file.Contract.RequiredAssurance, claimsOf(signer), a.facts.Revision); err != nil {
		return nil, err
	}
	job.Listing = listing(a.facts, roots)
	remembered := dataDir
	if signer != nil {
		remembered = "" // what is signed is looked at again
	}
	if a.verifier, err = g.verifier(remembered); err != nil {
		return nil, a.notBegun(ctx, err)
	}
	pending, err := bundle.Begin(dataDir)
	if err != nil {
		return nil, a.notBegun(ctx, err)
	}
	job.Receive = pending.Receive
	if a.report, err = worker.Run(ctx, job); err != nil {
		pending.Discard()
		return nil, a.notBegun(ctx, err)
	}
	sealed, err := pending.Seal(a.content(ctx))
	if err != nil || signer == nil {
		return sealed, err
	}
	return g.sign(ctx, signer, sealed, false)
}

// listing gives the files that a content digest is about: first those that
// were described already, later what git says then. In a git work tree these
// are the tracked files and those that are not ignored.
func listing(facts source.Facts, roots []string) func(context.Context) (record.Files, error) {
	fresh := true
	return func(ctx context.Context) (record.Files, error) {
		if !fresh && facts.IsGit {
			now, err := source.Describe(ctx, roots[0], roots[1:]...)
			if err != nil {
				return record.Files{}, err
			}
			facts = now
		}
		fresh = false
		files := record.Files{UseGit: facts.IsGit}
		for _, name := range facts.Tracked {
			files.Tracked = append(files.Tracked, []byte(name))
		}
		return files, nil
	}
}

// load reads a frozen contract, or takes its text, and binds it. What is judged is parsed from its
// canonical bytes.
func (g Gate) load(name string, document []byte) (*contract.File, *plan.Plan, error) {
	read := func() (*contract.Text, error) { return contract.ReadText(name) }
	if document != nil {
		read = func() (*contract.Text, error) { return contract.ParseText(name, document) }
	}
	text, err := read()
	if err != nil {
		return nil, nil, err
	}
	file, err := text.Frozen()
	if err != nil {
		return nil, nil, err
	}
	steps := plan.Bind(file, g.Types)
	if err := steps.Linked(); err != nil {
		return nil, nil, err
	}
	if err := file.Err(); err != nil {
		// A person is told the places in the file that they see.
		seen := text.File()
		plan.Bind(seen, g.Types)
		return nil, nil, cmp.Or(seen.Err(), err)
	}
	if len(file.Contract.Checks) == 0 && len(file.Contract.Expectations) == 0 {
		return nil, nil, fault.New(fault.ContractEmpty, "", "%s: the contract has no check and no expectation", name)
	}
	return file, steps, nil
}

// Starts says whether a frozen contract has a check that starts a process. name
// is what the contract is called where it is refused.
func (g Gate) Starts(name string, document []byte) (bool, error) {
	_, steps, err := g.load(name, document)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(steps.Steps, func(s plan.Step) bool { return s.Profile == check.Process }), nil
}

// affordable refuses a contract that requires more than this run can give.
// claims are those of the identity that will sign; nil when none will.
func affordable(required contract.Assurance, inProcess bool, claims *seal.Claims) error {
	given, mend := contract.IsolatedLocal, "Freeze a contract that requires isolated_local or less; `gate assurance` explains the levels."
	if inProcess {
		given = contract.DeterministicLocal
		if contract.IsolatedLocal.AtLeast(required) {
			mend = "Run it without --in-process."
		}
	}
	missing := ""
	if required == contract.RemoteAttested && !inProcess {
		mend = "Run it in a reusable workflow on a GitHub-hosted runner, with --sign keyless; see docs/trust.md."
		if missing = notRemote(claims); missing == "" {
			return nil // as far as can be known before: it is granted to whoever verifies the signature
		}
		missing = ": " + missing
	}
	if given.AtLeast(required) {
		return nil
	}
	return fault.New(fault.AssuranceUnavailable, mend, "the contract requires %s and this run can give %s%s", required, given, missing).
		With("required", required).With("available", given)
}

// maxProposal bounds a file of proposed checks, in bytes: it comes from a model.
const maxProposal = 4 << 20

// propose reads a file of proposed checks. The file is named by the operator,
// so one that cannot be read is an error; what stands in it comes from a
// model, so whatever it holds refuses nothing.
func propose(name string, file *contract.File, steps *plan.Plan, types plan.Types) (taken []byte, limits []string, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is no regular file")
	case err == nil && info.Size() > maxProposal:
		err = fmt.Errorf("it has %d bytes; at most %d are read", info.Size(), maxProposal)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, nil, fault.New(fault.Usage, "Pass --proposed with a readable file.", "the proposed checks in %s cannot be read: %v", check.Show(name), err)
	}
	doc, err := strictjson.Parse(data, strictjson.ContractLimits)
	if err != nil {
		return nil, []string{fmt.Sprintf("the proposed checks were ignored: %s: %v", name, err)}, nil
	}
	accepted, limits := steps.Propose(file, &doc.Root, types)
	return strictjson.Canonical(&accepted), limits, steps.Linked()
}
