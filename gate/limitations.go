package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/source"
	"github.com/verdictgate/verdictgate/gate/worker"
)

// limitationsOf says everything that limits a verdict, in words, the weighty
// first: what was not decided, what is only advice, what changed underneath;
// then what the worker says of itself, the walls that were missing among it.
func limitationsOf(c *contract.Contract, r worker.Report, facts source.Facts, inProcess bool) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if !r.Complete {
		say("the verifier did not finish: %s", r.Failure)
	}
	if len(c.Required()) == 0 {
		say("the contract has no required check, so nothing could be verified")
	}
	for _, a := range r.Answers {
		res := a.Result
		switch {
		case !res.Required:
			say("check %s is advisory, not verified: %s: %s", res.CheckID, res.Status, res.Summary)
		case res.Passed == nil:
			say("check %s could not be decided: %s", res.CheckID, res.Summary)
		}
		for _, l := range a.Limitations {
			say("check %s: %s", res.CheckID, l)
		}
	}
	for _, e := range c.Expectations {
		say("expectation, advisory, not verified: %s", e)
	}
	out = append(out, contentLimits(r.Before, r.After)...)
	if facts.Limitation != "" {
		say("%s", facts.Limitation)
	}
	if inProcess {
		say("checks ran in the gate's own process, not isolated from it (--in-process)")
	}
	return append(out, r.Limitations...)
}

// keyInReach says which files of the signing key a judged command could have
// read: whoever wrote the command could sign whatever they like from then on.
// Folders on the way to a file may close it off; that is not looked at, so this
// says it rather once too often.
func keyInReach(how seal.Signing, steps *plan.Plan, workspace string) []string {
	starts := slices.ContainsFunc(steps.Steps, func(s plan.Step) bool { return s.Profile == check.Process })
	if how.Mode != seal.ModeKey || !starts {
		return nil
	}
	uid, gid := os.Geteuid(), os.Getegid()
	if st, ok := stat(workspace); ok && uid == 0 {
		uid, gid = int(st.Uid), int(st.Gid) // whom commands run as
	}
	var out []string
	for _, name := range []string{how.Key, how.PasswordFile} {
		st, ok := stat(name)
		if !ok || strings.Contains(name, "://") { // in a KMS
			continue
		}
		if int(st.Uid) == uid && st.Mode&0o400 != 0 || int(st.Gid) == gid && st.Mode&0o040 != 0 || st.Mode&0o004 != 0 {
			out = append(out, fmt.Sprintf("the judged commands ran as a user who can read %s, so whoever wrote them may hold what signs: sign with `gate sign` as another user, or keyless", check.Show(name)))
		}
	}
	return out
}

func stat(name string) (syscall.Stat_t, bool) {
	info, err := os.Stat(name)
	if err != nil {
		return syscall.Stat_t{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return syscall.Stat_t{}, false
	}
	return *st, true
}

// contentLimits says what changed in the workspace while it was judged, and
// what of it could not be read.
func contentLimits(before, after *record.Content) []string {
	var out []string
	if before != nil && len(before.Unreadable) > 0 {
		out = append(out, fmt.Sprintf("the content digest does not cover what could not be read: %s", strings.Join(before.Unreadable, ", ")))
	}
	if after != nil && after.Changes > 0 {
		more := ""
		if n := after.Changes - len(after.Changed); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		out = append(out, fmt.Sprintf("the workspace changed during the run: %s%s", strings.Join(after.Changed, ", "), more))
	}
	return out
}

// placeLimits says whether what is judged could have written what it is judged
// by. The name counts as well as what it leads to: a link inside the workspace
// can be turned to another contract.
func placeLimits(r Request, workspace string) []string {
	if r.Document != nil {
		return nil // whoever passes the text says where it is from
	}
	abs, err := filepath.Abs(r.Contract)
	if err != nil {
		return nil // it was read; where it lies cannot be told
	}
	places := []string{abs}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		places = append(places, filepath.Join(dir, filepath.Base(abs)))
	}
	if file, err := filepath.EvalSymlinks(abs); err == nil {
		places = append(places, file)
	}
	for _, place := range places {
		if rel, err := filepath.Rel(workspace, place); err == nil && filepath.IsLocal(rel) {
			return []string{"the contract lies inside the workspace, where what is judged could have written it"}
		}
	}
	return nil
}
