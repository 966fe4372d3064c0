package gate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/roots"
	"github.com/verdictgate/verdictgate/gate/source"
	"github.com/verdictgate/verdictgate/gate/worker"
)

// assembly is what a run learned, on its way into the bundle.
type assembly struct {
	request     Request
	file        *contract.File
	roots       []string
	facts       source.Facts
	report      worker.Report
	verifier    bundle.Verifier
	started     time.Time
	limitations []string // those that are known before the run
}

func (a assembly) content(ctx context.Context) bundle.Content {
	subjects, missing := a.subjects(ctx)
	ended := time.Now()
	c := bundle.Content{
		Contract: a.file, Started: a.started, Ended: ended, Answers: a.report.Answers, Roots: a.roots,
		Isolation: bundle.Isolation{InProcess: a.request.InProcess, Complete: a.report.Complete, Failure: a.report.Failure, Profiles: a.report.Isolation},
		Subjects:  subjects, Change: a.request.Change, Verifier: a.verifier, SourceRevision: a.facts.Revision,
		Cost: bundle.Cost{WallSeconds: ended.Sub(a.started).Seconds(), CPUSeconds: a.report.CPU, PeakBytes: a.report.PeakBytes, BytesHashed: a.report.Hashed},
	}
	if a.report.Before != nil {
		c.ContentDigest = a.report.Before.Digest
	}
	c.Limitations = slices.Concat(limitationsOf(a.file.Contract, a.report, a.facts, a.request.InProcess), a.limitations, missing)
	return c
}

// notBegun makes the error of a run in which nothing was judged. Where the
// verifier itself failed that is an outcome like others; where somebody ended
// the run, or asked for what cannot be, it is a refusal as it stands.
func (a assembly) notBegun(ctx context.Context, err error) error {
	if ctx.Err() != nil || fault.As(err).Code != fault.BackendFailed {
		return err
	}
	a.report = worker.Report{Failure: "nothing was run"}
	return bundle.NotBegun(bundle.Content{
		Contract: a.file, Started: a.started, Ended: time.Now(), Roots: a.roots, Verifier: a.verifier, SourceRevision: a.facts.Revision,
		Isolation:   bundle.Isolation{InProcess: a.request.InProcess, Failure: a.report.Failure},
		Limitations: slices.Concat(limitationsOf(a.file.Contract, a.report, a.facts, a.request.InProcess), a.limitations),
	}, err)
}

// subjects digests the release artifacts that the verdict is about: the files
// of --subject and those that the contract's globs find in the workspace, as
// they are after the checks. One that is not there cannot be bound, and that
// is said.
func (a assembly) subjects(ctx context.Context) (out []bundle.Subject, missing []string) {
	seen := map[string]bool{}
	add := func(files check.Files, name, path string) {
		d, size, err := files.Digest(ctx, path)
		switch {
		case err != nil:
			missing = append(missing, fmt.Sprintf("the verdict is not bound to the subject %s: %v", check.Show(name), err))
		case !seen[name]:
			seen[name] = true
			out = append(out, bundle.Subject{Name: name, Digest: d.String(), Bytes: size})
		}
	}
	inside, insideErr := roots.Open(a.roots[0], a.roots[1:])
	if insideErr == nil {
		defer inside.Close() // only read
	}
	for _, name := range a.request.Subjects {
		path, err := filepath.Abs(name)
		var files *roots.Files
		if err == nil {
			// The operator names these files; they need not lie in the workspace.
			files, err = roots.Open(filepath.Dir(path), nil)
		}
		if err != nil {
			missing = append(missing, fmt.Sprintf("the verdict is not bound to the subject %s: %v", check.Show(name), err))
			continue
		}
		add(files, filepath.ToSlash(filepath.Clean(name)), filepath.Base(path))
		files.Close() // only read
		var leaves *check.PathError
		if insideErr == nil {
			_, err = inside.Stat(ctx, path)
		}
		if errors.As(err, &leaves) && leaves.Code == fault.CheckRefused {
			missing = append(missing, fmt.Sprintf("the subject %s lies outside the judged folder, so no check can have looked at it: the verdict binds its bytes and says nothing of them", check.Show(name)))
		}
	}
	if len(a.file.Contract.Subjects) == 0 {
		return out, missing
	}
	files, err := inside, insideErr
	var entries []check.Entry
	if err == nil {
		entries, err = files.List(ctx, ".")
	}
	if err != nil {
		return out, append(missing, fmt.Sprintf("the contract's subjects could not be looked for: %v", err))
	}
	for _, glob := range a.file.Contract.Subjects {
		found := false
		for _, e := range entries {
			if e.Kind == check.Regular && !e.Leaves && doublestar.MatchUnvalidated(glob, e.Path) {
				found = true
				add(files, e.Path, e.Path)
			}
		}
		if !found {
			missing = append(missing, fmt.Sprintf("the verdict is not bound to the contract's subject %s: no file matches it", check.Show(glob)))
		}
	}
	return out, missing
}

// DataDir is where bundles are kept and read when no workspace is judged.
func DataDir(flag string, env func(string) string) (string, error) {
	return bundle.ResolveDataDir(flag, env, "")
}
