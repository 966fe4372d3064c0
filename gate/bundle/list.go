package bundle

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// Entry is one run in a list. The facts of a run are given only when they were
// re-checked; otherwise Status says why they are not.
type Entry struct {
	RunID      string             `json:"run_id"`
	CreatedAt  string             `json:"created_at"`
	ContractID string             `json:"contract_id"`
	Verdict    verdict.Verdict    `json:"verdict"`
	Outcome    verdict.Outcome    `json:"outcome"`
	Assurance  contract.Assurance `json:"assurance"`
	Status     string             `json:"status"` // "re-checked", "not re-checked", "unreadable: <code>"
	Bundle     string             `json:"bundle"`
}

// The statuses of an entry; an unreadable one is followed by its code.
const (
	Rechecked    = "re-checked"
	NotRechecked = "not re-checked"
	unreadable   = "unreadable: "
)

// List gives the runs of a data folder, the newest first. Each is re-checked as
// by [Read]; once that has cost a bounded number of bytes, the older ones are
// listed without a verdict.
func List(dataDir string) ([]Entry, error) {
	parent := filepath.Join(dataDir, verificationsName)
	names, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.BackendFailed, "", "the data folder %q cannot be read: %v", dataDir, plain(err)).Because(err)
	}
	out := []Entry{}
	for _, n := range names {
		// The name tells when; what else there is may not be what it says.
		if moment, ok := idMoment(n.Name()); ok && n.IsDir() {
			out = append(out, Entry{RunID: n.Name(), CreatedAt: record.Time(moment), Status: NotRechecked, Bundle: filepath.Join(parent, n.Name())})
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(b.RunID, a.RunID) })
	budget := int64(listBudget)
	for i := range out {
		if budget <= 0 {
			break
		}
		budget -= out[i].recheck(budget)
	}
	// Ids tell seconds; of two runs in one second the evidence knows which came first.
	slices.SortStableFunc(out, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.RunID, a.RunID))
	})
	return out, nil
}

// recheck fills in the facts of a run and gives the bytes that this took.
func (e *Entry) recheck(budget int64) int64 {
	r, err := open(e.Bundle)
	if err != nil {
		e.Status = unreadable + string(fault.As(err).Code)
		return r.bytes
	}
	cost := r.bytes
	for _, size := range r.blobs {
		cost += size
	}
	if cost > budget {
		return r.bytes
	}
	if err := r.checkBlobs(); err != nil {
		e.Status = unreadable + string(fault.As(err).Code)
		return cost
	}
	seen := &r.sealed.Evidence
	e.CreatedAt, e.ContractID, e.Status = seen.CreatedAt, seen.ContractID, Rechecked
	e.Verdict, e.Outcome, e.Assurance = seen.Verdict, seen.Outcome, seen.Assurance
	return cost
}

// HasRuns says whether a folder is a data folder, with the bundles of runs in it.
func HasRuns(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, verificationsName))
	return err == nil && info.IsDir()
}

// Find gives the folder of a run: by its id in the data folder, or by the path
// of a folder. Nothing but a well-formed id is ever looked up in the data folder.
func Find(dataDir, idOrDir string) (string, error) {
	missing := fault.New(fault.RunNotFound, "", "there is no run %q in %q", idOrDir, dataDir).With("run", idOrDir).With("data_dir", dataDir)
	dir := idOrDir
	if _, ok := idMoment(idOrDir); ok {
		dir = filepath.Join(dataDir, verificationsName, idOrDir)
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return "", missing
		}
		return dir, nil
	}
	if dir == "" || strings.IndexByte(dir, 0) >= 0 {
		return "", missing
	}
	if _, partial := cutPartial(filepath.Base(filepath.Clean(dir))); partial {
		return "", fault.New(fault.RunNotFound, "Run it again; a later run removes the folder.", "%q is a bundle that was never finished", idOrDir).With("run", idOrDir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", missing
	}
	return dir, nil
}
