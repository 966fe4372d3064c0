package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/worker"
)

// standing is how this machine stands to one assurance level.
type standing struct {
	Level       contract.Assurance `json:"level"`
	Available   bool               `json:"available"`
	Means       string             `json:"means"`
	Why         string             `json:"why"`
	ProvesNotIn string             `json:"does_not_prove"`
}

func (c *cli) assuranceCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "assurance",
		Short: "Explain what this machine can assure, and what not",
		Long: `assurance explains the assurance levels one by one: what each one means, whether a run
on this machine can give it and why, and what it does not prove. The walls of the
sandbox are not guessed: a worker of each profile is started, and says what holds.`,
		Example: `  gate assurance
  gate assurance --dir . --format json`,
		Args: arguments(),
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`DIR` that a run would judge; commands run as its owner")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		workspace, err := folder(dir)
		if err != nil {
			return err
		}
		return c.explain(cmd.Context(), workspace)
	}
	return cmd
}

// folder is the absolute path of a folder, links resolved; "" stays "".
func folder(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if info, statErr := os.Stat(abs); err != nil || statErr != nil || !info.IsDir() {
		return "", fault.New(fault.WorkspaceUnresolved, "Pass --dir with a folder, or leave it out.", "--dir %s is no folder", dir)
	}
	return abs, nil
}

func (c *cli) explain(ctx context.Context, dir string) error {
	profiles, err := worker.Probe(ctx, dir)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	all := standings(err)
	if c.format == formatJSON {
		if profiles == nil {
			profiles = []record.Isolation{}
		}
		return c.document(struct {
			Levels   []standing         `json:"levels"`
			Profiles []record.Isolation `json:"profiles"`
		}{all, profiles})
	}
	return c.write(c.out, c.assuranceText(all, profiles))
}

// standings are the levels, the weakest first. What is wrong with the isolated
// worker is the reason why its level is not available.
func standings(isolation error) []standing {
	isolated := standing{contract.IsolatedLocal, true,
		"Checks ran in a separate process with an allowlisted environment and bounded roots, inside the walls listed below.",
		"A worker of each profile was started and answered.",
		"That this machine and its administrator are honest; that a wall which is not in force would have held."}
	if isolation != nil {
		isolated.Available, isolated.Why = false, "No worker could be started: "+fault.As(isolation).Message
	}
	const foreign = "It is a level of the Watch Skill tool that nothing here provides."
	return []standing{
		{contract.VisualAdvisory, true, "Somebody or something looked, and no required check decided.", "Every run can end here.",
			"Anything: opinions and advisory checks decide nothing."},
		{contract.DeterministicLocal, true, "Reading checks ran inside the gate's own process.", "Every machine can; gate run --in-process asks for it.",
			"That the checks were kept apart from the gate: a defect in one could have touched the verdict."},
		isolated,
		{contract.ExternalReadOnly, false, foreign, "A contract that requires it is refused.", "Anything: no run here gives it."},
		{contract.HumanAttested, false, foreign, "A contract that requires it is refused.", "Anything: no run here gives it."},
		{contract.RemoteAttested, false, "A GitHub-hosted runner signed, in a workflow that the policy pins, for the very commit that was judged.",
			"No run gives it to itself: gate require and gate show grant it, from the certificate of a run that was signed with --sign keyless. docs/trust.md has the set-up.",
			"That the steps around the gate in that workflow were honest: it names a file, never a step; that the contract asks the right questions."},
	}
}

func (c *cli) assuranceText(all []standing, profiles []record.Isolation) []byte {
	s := c.style(c.out)
	var out []byte
	for _, l := range all {
		out = fmt.Appendf(out, "%s %s\n", s.Mark(l.Available), s.Heading(string(l.Level)))
		out = fmt.Append(out, s.Paragraph("  means           ", l.Means), s.Paragraph("  here            ", l.Why), s.Paragraph("  does not prove  ", l.ProvesNotIn))
	}
	for _, p := range profiles {
		out = fmt.Appendf(out, "\n%s\n", s.Heading(fmt.Sprintf("walls of %s checks (uid %d, gid %d)", p.Profile, p.UID, p.GID)))
		names := 0
		for _, l := range p.Layers {
			names = max(names, len(l.Name))
		}
		for _, l := range p.Layers {
			out = fmt.Append(out, s.Paragraph(fmt.Sprintf("  %s %-*s  ", s.Sign(l.On), names, l.Name), l.Detail))
		}
	}
	return out
}
