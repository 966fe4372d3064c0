package action

import (
	"context"
	"io"
	"slices"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/gate/verdict"
	"github.com/verdictgate/verdictgate/reporter/github"
)

// The ways of the Action: what `gate action` is followed by.
const (
	Judge   = "judge"
	Sign    = "sign"
	Verify  = "verify"
	Require = "require"
)

// Step is a step of a workflow: what it is given.
type Step struct {
	Gate gate.Gate
	Env  func(string) string
	Path string    // that a contract's commands are found by; "" for the process's own
	Log  io.Writer // the job's log, which the runner reads commands from

	Commit string // that this program was built from, for links to its documentation; "" when unknown

	// The one table of exit statuses.
	StatusOf      func(verdict.Verdict, verdict.Outcome) int
	StatusOfFault func(fault.Code) int
	// Release says what a decision about a release ends with, and tells it to people.
	Release func(d policy.Decision, trust seal.Trust) (status int, text string)
}

// Run carries out one way of the Action and gives its exit status. The error is that
// there is no runner that could be told of anything.
func (s *Step) Run(ctx context.Context, way string) (int, error) {
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"} {
		if s.Env(name) == "" {
			return 0, fault.New(fault.ActionEventUnsupported, "Start it as a step of a workflow on GitHub; elsewhere, `gate run` gives the same verdict.",
				"%s is not set: this is no step of a workflow on GitHub", name)
		}
	}
	s.Env = only(way, s.Env)
	switch way {
	case Sign:
		return s.sign(ctx), nil
	case Verify:
		return s.verify(ctx), nil
	case Require:
		return s.require(ctx), nil
	}
	return s.judge(ctx), nil
}

// console is the job's log. A line that could not be written there stops nothing: the
// runner is gone then, and the outputs and the exit status say the rest.
type console struct{ *github.Log }

func (s *Step) console() console { return console{github.NewLog(s.Log)} }

func (c console) mask(secret string) {
	if secret != "" {
		_ = c.Mask(secret)
	}
}

// say shows a line, whoever wrote it.
func (c console) say(text string) {
	_ = c.Untrusted(func(w io.Writer) error {
		_, err := io.WriteString(w, text+"\n")
		return err
	})
}

// warn tells of an attempt that failed and is made again.
func (s *Step) warn(text string) {
	text, _ = secret.Redact(text)
	s.console().say("warning: " + text)
}

// weights are exit statuses from the gravest down: an error, FAILED, a refusal,
// INCONCLUSIVE, UNVERIFIED, VERIFIED.
var weights = []int{5, 1, 2, 3, 4, 0}

// gravest is the status of several results; no result is an error.
func gravest(statuses []int) int {
	for _, w := range weights {
		if slices.Contains(statuses, w) {
			return w
		}
	}
	return weights[0]
}
