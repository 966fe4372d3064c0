package action

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// scope is what evidence may be about beside the files of the change: the further
// roots and the release files that whoever relies on it expects, as the inputs of the judging
// job named them.
type scope struct{ roots, subjects []string }

// scope reads the inputs of that name.
func (in *inputs) scope() scope {
	return scope{roots: in.lines("roots"), subjects: in.lines("subjects")}
}

// check refuses evidence about other roots and other release files. Through a root beside
// the workspace, a link of the change has checks read what is no part of the change.
func (sc scope) check(sealed *bundle.Sealed, directory string) error {
	e := &sealed.Evidence
	roots := e.PolicySnapshot.Roots
	if len(roots) == 0 {
		return fault.New(fault.ActionEvidenceRefused, "", "the evidence does not say which folder was judged")
	}
	top := roots[0]
	if directory != "" && directory != "." {
		top = strings.TrimSuffix(top, "/"+directory)
	}
	absolute := func(names []string) []string {
		var out []string
		for _, n := range names {
			if n = filepath.ToSlash(n); !path.IsAbs(n) {
				n = path.Join(top, n)
			}
			out = append(out, path.Clean(n))
		}
		return out
	}
	const mend = "Give this step the roots and subjects of the judging one, if its checks are to read them."
	wanted := absolute(sc.roots)
	for _, r := range roots[1:] {
		if !slices.Contains(wanted, r) {
			return fault.New(fault.ActionEvidenceRefused, mend, "the checks could read the root %q, which is no part of the change", r).With("root", r)
		}
	}
	wanted = absolute(sc.subjects)
	var named []string
	for _, s := range e.Subjects {
		if path.IsAbs(s.Name) {
			named = append(named, s.Name)
			continue
		}
		if !slices.ContainsFunc(sealed.Contract.Contract.Subjects, func(glob string) bool { return doublestar.MatchUnvalidated(glob, s.Name) }) {
			return fault.New(fault.ActionEvidenceRefused, mend, "the verdict is about %q, which the contract does not name", s.Name).With("subject", s.Name)
		}
	}
	for _, n := range named {
		if !slices.Contains(wanted, n) {
			return fault.New(fault.ActionEvidenceRefused, mend, "the verdict is about the release file %q, which nobody here named", n).With("subject", n)
		}
	}
	for _, n := range wanted {
		if !slices.Contains(named, n) {
			return fault.New(fault.ActionEvidenceRefused, "", "the verdict is not about the release file %q", n).With("subject", n)
		}
	}
	return nil
}

// atChange refuses evidence about a workspace that was neither at the change's head nor
// at a merge of it: that of the run, where this job is one of the same run, and else one that the forge
// knows. What a command commits in the workspace, the forge has never seen.
func (j *judging) atChange(ctx context.Context, sealed *bundle.Sealed) error {
	at := sealed.Evidence.SourceRevision
	other := func(format string, args ...any) *fault.Error {
		return fault.New(fault.SourceMismatch, "Judge a checkout of the change, in a job where nothing else commits.", format, args...).With("identity", "source").With("expected", j.change.Head)
	}
	switch {
	case at == nil || !bundle.IsRevision(*at):
		return other("the evidence does not say at which commit the workspace was")
	case *at == j.change.Head:
		return nil
	}
	if of := j.change.Workspace; len(of) > 0 {
		if !slices.Contains(of, *at) {
			return other("the workspace was at %s, and the change is at %s", *at, strings.Join(of, " or ")).With("actual", *at)
		}
		return nil
	}
	parents, err := j.forge.Parents(ctx, *at)
	if err != nil {
		return err
	}
	if len(parents) != 2 || parents[1] != j.change.Head {
		return other("the workspace was at %s, which is neither %s nor a merge of it", *at, j.change.Head).With("actual", *at)
	}
	return nil
}
