package action

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
)

// sequence is what is known of a workspace that is judged by one contract after the
// other. Commands of one may change it for the next, which would then judge
// files that nobody committed.
type sequence struct {
	content string   // digest before the first command
	unknown error    // why there is none
	ran     []string // contracts whose commands had the workspace
}

// judgeAll judges by each contract: first by those that start nothing, which see the
// workspace as it was checked out. The runs are in the order of the contracts.
func (j *judging) judgeAll(ctx context.Context, documents []forge.Document) []*run {
	starts := make([]bool, len(documents))
	order := make([]int, len(documents))
	runs := make([]*run, len(documents))
	commands := 0
	for i, d := range documents {
		order[i], runs[i] = i, &run{path: d.Path, text: d.Bytes}
		starts[i], _ = j.Gate.Starts(d.Path, d.Bytes) // what is wrong with it, its own run says
		if starts[i] {
			commands++
		}
	}
	rank := map[bool]int{true: 1}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank[starts[a]], rank[starts[b]]) })
	var s sequence
	for _, i := range order {
		r := runs[i]
		if starts[i] && j.change.Privileged {
			r.refusal = fault.New(fault.ActionUntrustedCheckout, "", "%s has a check that starts a process, the job runs on pull_request_target, and the head of the pull request is checked out", r.path)
			continue
		}
		if starts[i] {
			if j.credential() {
				r.note("the workspace's .git/config holds a credential, which the commands of the contract can read: give actions/checkout `persist-credentials: false`")
			}
			if len(s.ran) > 0 {
				if f := j.unchanged(ctx, s); f != nil {
					r.refusal, r.undecided = f, true
					continue
				}
				r.note("it was judged in a workspace that the commands of %s had before: they changed no file that counts, and what git ignores was not looked at", strings.Join(s.ran, ", "))
			} else if commands > 1 {
				s.content, s.unknown = gate.Content(ctx, j.in.dir, j.in.roots)
			}
			s.ran = append(s.ran, r.path)
		}
		j.judgeBy(ctx, r, j.in.proposed)
	}
	return runs
}

// unchanged says why the workspace is not the one any more that earlier contracts
// judged; nil when it is.
func (j *judging) unchanged(ctx context.Context, s sequence) *fault.Error {
	const mend = "Give the contract a job of its own, with a checkout of its own, or let the commands write only what git ignores."
	by := strings.Join(s.ran, ", ")
	if f := j.checkout(ctx); f != nil {
		return fault.New(fault.ActionCheckoutUnknown, mend, "a command of an earlier contract (%s) changed the workspace: %s", by, f.Message)
	}
	now, err := "", s.unknown
	if err == nil {
		now, err = gate.Content(ctx, j.in.dir, j.in.roots)
	}
	switch {
	case err != nil:
		return fault.New(fault.ActionCheckoutUnknown, mend, "whether a command of an earlier contract (%s) changed the workspace could not be seen: %v", by, err)
	case now != s.content:
		return fault.New(fault.ActionCheckoutUnknown, mend, "a command of an earlier contract (%s) changed the workspace: its content_digest was %s, and is %s", by, s.content, now)
	}
	return nil
}

// maxGitConfig bounds how much of .git/config is looked at, in bytes.
const maxGitConfig = 1 << 20

// secrets are what actions/checkout leaves in .git/config to push with: the header
// itself or, in later versions, the file that has it; and what a URL can hold.
var secrets = regexp.MustCompile(`(?im)extraheader\s*=\s*authorization:|git-credentials-[0-9a-z-]+\.config|^\s*url\s*=\s*https?://[^/\s]+@`)

// credential says whether the repository in the workspace holds a credential. It is
// the judged side's, so nothing of it is believed: a note at the most depends on it.
func (j *judging) credential() bool {
	root, err := os.OpenRoot(j.Env("GITHUB_WORKSPACE"))
	if err != nil {
		return false
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.Join(".git", "config"), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxGitConfig))
	return err == nil && secrets.Match(bytes.ToValidUTF8(text, nil))
}
