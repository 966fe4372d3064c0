package forge

import (
	"context"
	"fmt"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/source"
)

// fetch fetches one commit with git.
func (c *Client) fetch(ctx context.Context, commit string) (*source.Commit, error) {
	from := source.Remote{
		Git: c.config.Git, URL: c.server.String() + c.config.Repository + ".git", Commit: commit, UnsafeHTTP: c.config.UnsafeHTTP,
	}
	if basic := c.basic(); basic != "" {
		from.Header = "Authorization: basic " + basic
	}
	for n := 1; ; n++ {
		got, err := source.Fetch(ctx, from)
		if err == nil {
			return got, nil
		}
		err = c.secrets().Scrub(err)
		if ctx.Err() != nil || n == fetchAttempts {
			return nil, fmt.Errorf("git could not fetch %s, tried %d times: %w", commit, n, err)
		}
		c.config.Warn(fmt.Sprintf("git could not fetch %s: %v; trying again (%d of %d)", commit, err, n+1, fetchAttempts))
		if err := c.config.Wait(ctx, fetchPause); err != nil {
			return nil, err
		}
	}
}

// Tree writes the files of a commit into an empty folder, as they are in git:
// without filters, hooks or submodules, and with symbolic links as links. It is
// for looking at a change, not for running anything of it.
func (c *Client) Tree(ctx context.Context, commit, dir string) error {
	if err := commitIDs(commit); err != nil {
		return err
	}
	got, err := c.fetch(ctx, commit)
	if err != nil {
		return fault.New(fault.ActionForgeUnreachable, "Run the job again; see that its token has `contents: read`.", "%v", err).Because(err)
	}
	defer got.Close()
	if err := got.WriteTo(ctx, dir, source.Room{Files: maxTreeFiles, Bytes: maxTreeBytes}); err != nil {
		return fault.New(fault.ActionForgeUnreachable, "The message names what cannot be written; it is the same at every run.", "the files of %s could not be written out: %v", commit, err).Because(err)
	}
	return nil
}
