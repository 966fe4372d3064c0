package gate

import (
	"context"

	"github.com/verdictgate/verdictgate/gate/roots"
	"github.com/verdictgate/verdictgate/gate/source"
)

// Content digests a workspace as it is now, in the way of content_digest. Whoever
// judges a folder several times learns by it whether it is still the same.
func Content(ctx context.Context, dir string, further []string) (string, error) {
	folders, err := resolveRoots(dir, further)
	if err != nil {
		return "", err
	}
	facts, err := source.Describe(ctx, folders[0], folders[1:]...)
	if err != nil {
		return "", err
	}
	files, err := roots.Open(folders[0], nil)
	if err != nil {
		return "", err
	}
	defer files.Close() // only read
	c, err := files.Content(ctx, facts.Tracked, facts.IsGit)
	return c.Digest, err
}
