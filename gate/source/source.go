package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate/check"
)

// Facts is what git says about a workspace.
type Facts struct {
	Revision   string   // the commit that is checked out, in hex; "" when there is none
	Tracked    []string // the files of the work tree below the workspace, relative to it, sorted; a repository in it ends in "/"
	IsGit      bool     // Tracked is meant, even when empty
	Limitation string   // why git was not asked although there is a repository
}

// Describe asks git about a workspace. That git could not answer is no error
// but a limitation: the workspace is then judged as a plain folder, every file
// of it. A git program below one of the roots is not used, for the judged side
// could have put it there.
func Describe(ctx context.Context, workspace string, roots ...string) (Facts, error) {
	workspace, err := filepath.Abs(workspace)
	if err == nil {
		workspace, err = filepath.EvalSymlinks(workspace)
	}
	if err != nil {
		return Facts{}, fmt.Errorf("source: %w", err)
	}
	repo, err := discover(workspace)
	if err != nil {
		return Facts{Limitation: "git was not asked about the workspace: " + err.Error()}, nil
	}
	if repo == nil {
		return Facts{}, nil
	}
	defer repo.close()
	git, err := lookGit(append([]string{workspace}, roots...))
	if err != nil {
		return Facts{Limitation: "the workspace is in a git work tree, but " + err.Error() + "; all its files were taken, ignored ones too"}, nil
	}
	facts, err := describe(ctx, git, repo, workspace)
	if ctx.Err() != nil {
		return Facts{}, fmt.Errorf("source: %w", ctx.Err())
	}
	if err != nil {
		return Facts{Limitation: "git could not list the work tree: " + err.Error() + "; all files of the workspace were taken, ignored ones too"}, nil
	}
	return facts, nil
}

func describe(ctx context.Context, git string, repo *repository, workspace string) (Facts, error) {
	facts := Facts{IsGit: true}
	revision, err := repo.head()
	if err != nil {
		facts.Limitation = "the commit of the work tree is not known: " + err.Error()
	}
	facts.Revision = revision
	listing, err := list(ctx, git, repo, workspace, revision)
	if err != nil {
		return Facts{}, err
	}
	cached := 0
	facts.Tracked = make([]string, 0, strings.Count(listing, "\x00"))
	for record := range strings.SplitSeq(listing, "\x00") {
		tag, path, ok := strings.Cut(record, " ")
		if !ok {
			continue
		}
		if tag != "?" {
			cached++
		}
		facts.Tracked = append(facts.Tracked, path)
	}
	if repo.top != workspace && cached == 0 {
		// Somebody's repository in a folder above that has nothing to do with
		// the workspace; its ignore rules might even hide all of it.
		return Facts{}, nil
	}
	slices.Sort(facts.Tracked)
	facts.Tracked = slices.Compact(facts.Tracked) // a conflict is listed once for each side
	return facts, nil
}

// quoteError writes an error about a file of the judged side for people.
func quoteError(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return fmt.Sprintf("%s: %v", check.Quote(pathError.Path), pathError.Err)
	}
	return err.Error()
}
