package bundle

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// Content is what a run has to say. Everything else in a bundle is derived from
// it: the redaction, the verdict and the digests are not the caller's to state.
type Content struct {
	Contract       *contract.File // frozen
	Started, Ended time.Time
	Answers        []record.Answer // in the order of the contract, proposed checks last
	Isolation      Isolation
	Roots          []string // absolute, the workspace first
	Change         *Change  // nil when nobody said what it is
	SourceRevision string   // "" when there is none
	ContentDigest  string   // "" when it was not taken
	CaptureDigest  string   // "" when nothing was captured
	Subjects       []Subject
	Limitations    []string
	Verifier       Verifier
	Cost           Cost
}

// Pending is a bundle that is being written: a locked folder beside the place
// of the finished one. Blobs go there as their answers arrive, so that memory
// does not grow with what the checks bring.
type Pending struct {
	dataDir, parent, partial string
	unlock                   func()
	folders                  []folder
	reopened                 bool             // something had changed their permissions
	lost                     error            // why blobs could not be written
	received                 map[int]redacted // by the answer's index
	stored                   map[strictjson.Digest]bool
}

// Begin makes the folder of a bundle to come. It ends with Seal or Discard.
func Begin(dataDir string) (*Pending, error) {
	p := &Pending{dataDir: dataDir, parent: filepath.Join(dataDir, verificationsName), received: map[int]redacted{}, stored: map[strictjson.Digest]bool{}}
	err := os.MkdirAll(p.parent, 0o755)
	if err == nil {
		sweep(p.parent)
		p.partial, p.unlock, err = begin(p.parent)
	}
	if err != nil {
		return nil, unwritten(dataDir, err)
	}
	for _, dir := range []string{p.dataDir, p.parent, p.partial} {
		f, err := openFolder(dir)
		if err != nil {
			p.Discard()
			return nil, unwritten(dataDir, err)
		}
		p.folders = append(p.folders, f)
	}
	return p, nil
}

// Receive redacts an answer, writes its blobs, and takes them from it. What
// the answer says is kept for Seal. Blobs that cannot be written are Seal's
// error: the run goes on, so that what is found can be told.
func (p *Pending) Receive(a *record.Answer) error {
	p.reopen()
	r, err := redact(a, p.store)
	if err != nil {
		lost := err
		if r, err = redact(a, discard); err != nil {
			return unwritten(p.dataDir, err)
		}
		p.lost = cmp.Or(p.lost, lost)
	}
	p.received[a.Index] = r
	a.Blobs = nil
	return nil
}

// Seal writes the rest, moves the bundle to its place (either the whole bundle
// is there afterwards or none) and gives what stands there. Its error is an
// [Unwritten].
func (p *Pending) Seal(c Content) (*Sealed, error) {
	defer p.close()
	p.reopen()
	now := time.Now()
	id := newID(now)
	s, parts, err := p.fill(id, now, c)
	if err == nil {
		step("rename")
		err = os.Rename(p.partial, s.Dir)
	}
	if err != nil {
		return nil, p.Unwritten(c, unwritten(p.dataDir, errors.Join(err, os.RemoveAll(p.partial))))
	}
	step("sync the parent")
	if err := syncFolder(p.parent); err != nil {
		return nil, p.Unwritten(c, unwritten(p.dataDir, err))
	}
	if err := confirm(s, parts); err != nil {
		return nil, p.Unwritten(c, fault.New(fault.BackendFailed, "", "the evidence bundle does not read back: %s", fault.As(err).Message).Because(err))
	}
	return s, nil
}

// Discard removes a bundle that will not be sealed. What stays of it, should
// that fail, a later run sweeps.
func (p *Pending) Discard() {
	p.reopen()
	os.RemoveAll(p.partial)
	p.close()
}

func (p *Pending) close() {
	for _, f := range p.folders {
		f.Close() // only its permissions were asked for
	}
	p.folders = nil
	p.unlock()
}

// folder is a folder on the way to the bundle, with the permissions that it
// had before the run. A judged command runs as the same user, and no layer of
// the sandbox keeps it from changing them; that must not cost the evidence.
type folder struct {
	*os.File
	mode fs.FileMode
}

func openFolder(name string) (folder, error) {
	f, err := os.Open(name)
	if err != nil {
		return folder{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return folder{}, errors.Join(err, f.Close())
	}
	return folder{f, info.Mode()}, nil
}

// reopen gives the folders back the permissions that they had. They are held
// open: a path may lead elsewhere by now. What fails here shows when the
// folder is written to.
func (p *Pending) reopen() {
	for _, f := range p.folders {
		if info, err := f.Stat(); err == nil && info.Mode() != f.mode && f.Chmod(f.mode) == nil {
			p.reopened = true
		}
	}
}

// Write makes the bundle of a run in one step. The answers
// are taken in the order in which they stand.
func Write(dataDir string, c Content) (*Sealed, error) {
	c.Answers = slices.Clone(c.Answers)
	for i := range c.Answers {
		c.Answers[i].Index = i
	}
	p, err := Begin(dataDir)
	if err != nil {
		return nil, err
	}
	return p.Seal(c)
}

func unwritten(dataDir string, err error) error {
	// The error may quote a value that was not redacted yet.
	why := RedactLines([]string{err.Error()})[0]
	return fault.New(fault.BackendFailed, "", "the evidence bundle could not be written to %q: %s", dataDir, why).With("data_dir", dataDir).Because(err)
}

// fill derives everything that the bundle holds and writes it. Everything is on
// the disk when it returns: a folder that has its name has its content,
// whatever happens to the machine.
func (p *Pending) fill(id string, now time.Time, c Content) (*Sealed, []part, error) {
	s := &Sealed{Dir: filepath.Join(p.parent, id), Contract: c.Contract}
	var err error
	if s.Evidence, s.Judgement, err = p.evidence(id, now, c); err != nil || p.lost != nil {
		return nil, nil, cmp.Or(err, p.lost)
	}
	evidence, err := strictjson.Marshal(&s.Evidence)
	if err != nil {
		return nil, nil, err
	}
	if int64(len(evidence)) > maxEvidence {
		return nil, nil, errors.New("evidence.json would be larger than what can be read back")
	}
	var attestation []byte
	if s.Attestation, attestation, err = attest(&s.Evidence, strictjson.Sum(evidence)); err != nil {
		return nil, nil, err
	}
	parts := []part{{contractName, c.Contract.Canonical()}, {evidenceName, evidence}, {attestationName, attestation}}
	for _, f := range parts {
		if err := writeFile(filepath.Join(p.partial, f.name), f.data); err != nil {
			return nil, nil, err
		}
	}
	if len(p.stored) > 0 {
		if err := errors.Join(syncFolder(p.blobs()), syncFolder(filepath.Dir(p.blobs()))); err != nil {
			return nil, nil, err
		}
	}
	step("sync the folder")
	return s, parts, syncFolder(p.partial)
}

// part is one of the JSON files of a bundle.
type part struct {
	name string
	data []byte
}

func (p *Pending) evidence(id string, now time.Time, c Content) (Evidence, verdict.Judgement, error) {
	results, artifacts, redactions := []record.Result{}, []Artifact{}, []string{}
	if p.reopened {
		redactions = append(redactions, "the permissions of the data folder were changed during the run, and restored to write the evidence")
	}
	listed := map[Artifact]bool{}
	for i := range c.Answers {
		if _, ok := p.received[c.Answers[i].Index]; !ok {
			if err := p.Receive(&c.Answers[i]); err != nil {
				return Evidence{}, verdict.Judgement{}, err
			}
		}
		r := p.received[c.Answers[i].Index]
		results = append(results, r.result)
		redactions = append(redactions, r.limitations...)
		for _, a := range r.artifacts {
			if !listed[a] {
				listed[a] = true
				artifacts = append(artifacts, a)
			}
		}
	}
	k := c.Contract.Contract
	j := verdict.Judge(verdict.Input{Complete: c.Isolation.Complete, InProcess: c.Isolation.InProcess, Results: results, Required: k.Required()})
	e := Evidence{
		SchemaVersion: SchemaVersion, RunID: id, CreatedAt: record.Time(now), StartedAt: record.Time(c.Started), EndedAt: record.Time(c.Ended),
		ContractID: k.ID, ContractDigest: c.Contract.Digest().String(),
		SourceRevision: optional(c.SourceRevision), ContentDigest: optional(c.ContentDigest), CaptureDigest: optional(c.CaptureDigest),
		Subjects: orEmpty(c.Subjects), Artifacts: artifacts, CheckResults: results, AdvisoryFindings: []strictjson.Value{},
		Verdict: j.Verdict, Outcome: j.Outcome, Assurance: j.Assurance,
		Limitations:    RedactLines(slices.Concat(c.Limitations, redactions)),
		PolicySnapshot: policyOf(k, c.Roots, results), Isolation: c.Isolation, Verifier: c.Verifier,
		Method: deterministic, Tools: toolsOf(results), Cost: c.Cost, Exceptions: []strictjson.Value{},
	}
	e.PolicySnapshot.Change = c.Change
	e.Isolation.Profiles = []record.Isolation{}
	for _, i := range c.Isolation.Profiles {
		i.Layers, i.Env = orEmpty(i.Layers), orEmpty(i.Env)
		e.Isolation.Profiles = append(e.Isolation.Profiles, i)
	}
	e.Isolation.Failure = RedactLines([]string{e.Isolation.Failure})[0]
	err := redactEvidence(&e)
	return e, j, err
}

func (p *Pending) blobs() string { return filepath.Join(p.partial, blobsName, algorithmName) }

// discard stands for store where nothing can be written.
func discard(strictjson.Digest, []byte) error { return nil }

// store writes a blob, once.
func (p *Pending) store(d strictjson.Digest, data []byte) error {
	if p.stored[d] {
		return nil
	}
	if len(p.stored) == 0 {
		step("mkdir blobs")
		if err := os.MkdirAll(p.blobs(), 0o755); err != nil {
			return err
		}
	}
	if err := writeFile(filepath.Join(p.blobs(), d.Hex()), data); err != nil {
		return err
	}
	p.stored[d] = true
	return nil
}

// attest makes attestation.json.
func attest(e *Evidence, bundle strictjson.Digest) (Attestation, []byte, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // a machine without a name is still a machine
	}
	a := Attestation{
		SchemaVersion: SchemaVersion, BundleDigest: bundle.String(), ContractDigest: e.ContractDigest, Verdict: e.Verdict, Assurance: e.Assurance,
		CreatedAt: e.CreatedAt, Host: host, SignatureStatus: Unsigned,
	}
	text, err := a.seal()
	return a, text, err
}

func policyOf(k *contract.Contract, roots []string, results []record.Result) Policy {
	p := Policy{RequiredAssurance: k.RequiredAssurance, AllowedOrigins: orEmpty(k.AllowedOrigins), Roots: orEmpty(roots), ProposedChecks: []string{}}
	for i := range results {
		if results[i].Proposed {
			p.ProposedChecks = append(p.ProposedChecks, results[i].CheckID)
		}
	}
	return p
}

// toolsOf lists the programs that checks relied on, each once.
func toolsOf(results []record.Result) []record.Tool {
	out := []record.Tool{}
	seen := map[record.Tool]bool{}
	for i := range results {
		if t := results[i].Tool; t != nil && !seen[*t] {
			seen[*t] = true
			out = append(out, *t)
		}
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// step is called before each step of a write that a crash could come after; a
// test kills the process there.
var step = func(name string) {}

// begin makes a folder to write in, and locks it. A run that sweeps at that
// very moment may have been faster with the lock; it removes the folder then,
// and another is made.
func begin(parent string) (partial string, unlock func(), err error) {
	const attempts = 50
	for range attempts {
		partial = filepath.Join(parent, partialName+newID(time.Now()))
		step("mkdir")
		if err = os.Mkdir(partial, 0o755); err != nil {
			return "", nil, err
		}
		step("lock")
		switch unlock, err = lock(partial); {
		case err == nil:
			return partial, unlock, nil
		case errors.Is(err, errors.ErrUnsupported):
			// No locks here: nobody can sweep either.
			return partial, func() {}, nil
		}
	}
	return "", nil, err
}

func writeFile(path string, data []byte) error {
	step("create " + filepath.Base(path))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	step("write " + filepath.Base(path))
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncFolder puts the names in a folder on the disk. A file system that cannot
// is not one that loses them more readily for it.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err = f.Sync(); errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// sweep removes what crashed runs left behind. A folder is taken only when its
// lock can be had, which the kernel gives only when the process that held it is
// no more; a process number, which may be another's by now, is never asked.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	swept := 0
	for _, e := range entries {
		if swept == maxStale {
			return
		}
		id, partial := cutPartial(e.Name())
		if _, ok := idMoment(id); !partial || !ok || !e.IsDir() {
			continue
		}
		path := filepath.Join(parent, e.Name())
		unlock, err := lock(path)
		if err != nil {
			continue // alive, or no file system to tell
		}
		os.RemoveAll(path) // what stays is tried again by the next run
		unlock()
		swept++
	}
}

// Keep writes a small file that may be lost, such as a cache: whole or not at all.
func Keep(path string, data []byte) {
	dir := filepath.Dir(path)
	if os.MkdirAll(dir, 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
}
