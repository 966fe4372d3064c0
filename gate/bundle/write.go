package bundle

import (
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
	SourceRevision string   // "" when there is none
	ContentDigest  string   // "" when it was not taken
	CaptureDigest  string   // "" when nothing was captured
	Subjects       []Subject
	Limitations    []string
	Verifier       Verifier
	Cost           Cost
}

// sealed is a bundle in memory, ready to be written.
type sealed struct {
	id          string
	contract    []byte
	evidence    []byte
	attestation []byte
	blobs       map[strictjson.Digest][]byte
}

// Write makes the bundle of a run and gives its folder. Either the whole bundle
// is there afterwards or none.
func Write(dataDir string, c Content) (dir string, err error) {
	s, err := seal(c, time.Now())
	if err != nil {
		return "", unwritten(dataDir, err)
	}
	parent := filepath.Join(dataDir, verificationsName)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", unwritten(dataDir, err)
	}
	sweep(parent)
	dir = filepath.Join(parent, s.id)
	if err := s.place(parent, dir); err != nil {
		return "", unwritten(dataDir, err)
	}
	return dir, nil
}

func unwritten(dataDir string, err error) error {
	// The error may quote a value that was not redacted yet.
	why := RedactLines([]string{err.Error()})[0]
	return fault.New(fault.BackendFailed, "", "the evidence bundle could not be written to %q: %s", dataDir, why).With("data_dir", dataDir).Because(err)
}

// seal derives everything that the bundle holds.
func seal(c Content, now time.Time) (*sealed, error) {
	red, err := Redact(c.Answers)
	if err != nil {
		return nil, err
	}
	k := c.Contract.Contract
	j := verdict.Judge(verdict.Input{Complete: c.Isolation.Complete, InProcess: c.Isolation.InProcess, Results: red.Results, Required: k.Required()})
	e := Evidence{
		SchemaVersion: SchemaVersion, RunID: newID(now), CreatedAt: record.Time(now), StartedAt: record.Time(c.Started), EndedAt: record.Time(c.Ended),
		ContractID: k.ID, ContractDigest: c.Contract.Digest().String(),
		SourceRevision: optional(c.SourceRevision), ContentDigest: optional(c.ContentDigest), CaptureDigest: optional(c.CaptureDigest),
		Subjects: orEmpty(c.Subjects), Artifacts: red.Artifacts, CheckResults: red.Results, AdvisoryFindings: []strictjson.Value{},
		Verdict: j.Verdict, Outcome: j.Outcome, Assurance: j.Assurance,
		Limitations:    RedactLines(slices.Concat(c.Limitations, red.Limitations)),
		PolicySnapshot: policyOf(k, c.Roots, red.Results), Isolation: c.Isolation, Verifier: c.Verifier,
		Method: "deterministic", Tools: toolsOf(red.Results), Cost: c.Cost, Exceptions: []strictjson.Value{},
	}
	e.Isolation.Failure = RedactLines([]string{e.Isolation.Failure})[0]
	e.Isolation.Profiles = []record.Isolation{}
	for _, p := range c.Isolation.Profiles {
		p.Layers, p.Env = orEmpty(p.Layers), orEmpty(p.Env)
		e.Isolation.Profiles = append(e.Isolation.Profiles, p)
	}
	s := &sealed{id: e.RunID, contract: c.Contract.Canonical(), blobs: red.Blobs}
	if s.evidence, err = strictjson.Marshal(e); err != nil {
		return nil, err
	}
	if int64(len(s.evidence)) > maxEvidence {
		return nil, errors.New("evidence.json would be larger than what can be read back")
	}
	s.attestation, err = attest(&e, strictjson.Sum(s.evidence))
	return s, err
}

// attest makes attestation.json.
func attest(e *Evidence, bundle strictjson.Digest) ([]byte, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // a machine without a name is still a machine
	}
	v, err := strictjson.FromGo(Attestation{
		SchemaVersion: SchemaVersion, BundleDigest: bundle.String(), ContractDigest: e.ContractDigest, Verdict: e.Verdict, Assurance: e.Assurance,
		CreatedAt: e.CreatedAt, Host: host, SignatureStatus: Unsigned,
	})
	if err != nil {
		return nil, err
	}
	v.Set("attestation_digest", strictjson.Str(attestationDigest(&v).String()))
	return strictjson.Canonical(&v), nil
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

// place writes the bundle to a locked folder beside its place and moves it there.
func (s *sealed) place(parent, dir string) error {
	partial, unlock, err := begin(parent)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.fill(partial); err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	step("rename")
	if err := os.Rename(partial, dir); err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	step("sync the parent")
	return syncFolder(parent)
}

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

// fill writes the files of a bundle. Everything is on the disk when it returns:
// a folder that has its name has its content, whatever happens to the machine.
func (s *sealed) fill(dir string) error {
	for _, f := range []struct {
		name string
		data []byte
	}{{contractName, s.contract}, {evidenceName, s.evidence}, {attestationName, s.attestation}} {
		if err := writeFile(filepath.Join(dir, f.name), f.data); err != nil {
			return err
		}
	}
	if len(s.blobs) > 0 {
		blobs := filepath.Join(dir, blobsName, algorithmName)
		step("mkdir blobs")
		if err := os.MkdirAll(blobs, 0o755); err != nil {
			return err
		}
		for d, data := range s.blobs {
			if err := writeFile(filepath.Join(blobs, d.Hex()), data); err != nil {
				return err
			}
		}
		if err := syncFolder(blobs); err != nil {
			return err
		}
		if err := syncFolder(filepath.Dir(blobs)); err != nil {
			return err
		}
	}
	step("sync the folder")
	return syncFolder(dir)
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
