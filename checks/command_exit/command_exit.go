package commandexit

import (
	"context"
	_ "embed"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/match"
)

//go:embed doc.go
var doc string

// Type is the check type command_exit.
func Type() check.Type { return check.Define("command_exit", check.DocText(doc), run) }

// Params are the parameters of a check.
type Params struct {
	Command  check.Argv     `json:"command" need:"yes" doc:"program and arguments, a list; no shell"`
	Cwd      check.Path     `json:"cwd" doc:"working directory; the workspace when it is missing"`
	ExitCode check.ExitCode `json:"exit_code" default:"0" doc:"exit code that the command must have"`
	Stdout   *match.Matcher `json:"stdout" since:"2" doc:"matcher that must hold for the text on standard output"`
	Stderr   *match.Matcher `json:"stderr" since:"2" doc:"matcher that must hold for the text on standard error"`
	Env      check.Env      `json:"env" since:"2" doc:"variables with literal values, added to the environment"`
	Caches   check.Caches   `json:"caches" since:"2" doc:"absolute folders outside the workspace that the command may write"`
}

// Profile is that of a type that starts processes.
func (*Params) Profile() check.Profile { return check.Process }

// Tools is the program of the command.
func (p *Params) Tools() []string { return p.Command[:1] }

func run(ctx context.Context, p *Params, pass *check.Pass) check.Outcome {
	exit, unable := check.RunCommand(ctx, pass.Exec, check.Command{Argv: p.Command, Dir: string(p.Cwd), Env: p.Env, Caches: p.Caches})
	o := p.judge(exit, unable)
	o.Tool, o.Blobs, o.Limitations = exit.ToolUsed(), exit.Blobs(), exit.Limitations()
	return o.Expecting(p.expected()).Observing(exit.Observed())
}

func (p *Params) judge(exit check.Exit, unable *check.Outcome) check.Outcome {
	name := check.Quote(p.Command[0])
	switch {
	case unable != nil:
		return *unable
	case exit.Signal != "":
		return check.Failed("%s was killed by the signal %s", name, exit.Signal)
	case exit.Code != int(p.ExitCode):
		return check.Failed("%s ended with exit code %d, not %d", name, exit.Code, int(p.ExitCode))
	}
	// Both streams are looked at before one that was cut makes the answer
	// unknown: one that is false decides whatever the other holds.
	var unknown *check.Outcome
	for _, s := range []struct {
		role    string
		matcher *match.Matcher
		check.Output
	}{{"stdout", p.Stdout, exit.Stdout}, {"stderr", p.Stderr, exit.Stderr}} {
		if s.matcher == nil {
			continue
		}
		if s.Truncated {
			o := check.Unable(fault.LimitExceeded, "Let the command print less, or have it write a file and judge that.",
				"%s of %s has %d bytes, more than are kept: the matcher cannot be tried on the whole", s.role, name, s.Total)
			unknown = &o
			continue
		}
		if ok, why := s.matcher.HoldsText(s.Data); !ok {
			return check.Failed("%s ended with exit code %d, but %s does not satisfy its matcher: %s", name, exit.Code, s.role, why)
		}
	}
	if unknown != nil {
		return *unknown
	}
	if p.Stdout != nil || p.Stderr != nil {
		return check.Passed("%s ended with exit code %d, and its output is as wanted", name, exit.Code)
	}
	return check.Passed("%s ended with exit code %d", name, exit.Code)
}

func (p *Params) expected() any {
	out := map[string]any{"exit_code": int(p.ExitCode)}
	if p.Stdout != nil {
		out["stdout"] = p.Stdout
	}
	if p.Stderr != nil {
		out["stderr"] = p.Stderr
	}
	return out
}
