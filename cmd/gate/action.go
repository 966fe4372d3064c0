package main

import (
	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate/fault"
)

func (c *cli) actionCommand() *cobra.Command {
	var path string
	way := func(name, short, long string) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Long: long, Args: arguments(),
			RunE: func(cmd *cobra.Command, _ []string) (err error) {
				c.status, err = c.act(cmd.Context(), name, path)
				return err
			}}
	}
	judge := way("judge", "Judge a change, as a step of a GitHub workflow",
		`judge judges a change on GitHub by the frozen contracts at a commit that the change cannot
reach, uploads the evidence as an artifact and posts a check-run for each contract.`)
	judge.Flags().StringVar(&path, "path", "", "`PATH` that a contract's commands are found by (default the system's)")
	sign := way("sign", "Sign what the judging job found, in a job that runs nothing of the change",
		`sign takes the bundles that the judging job of the same workflow run uploaded, sees that they are
about the change that GitHub names, signs them with the identity of its own job, uploads them
and posts the check-runs.`)
	verify := way("verify", "Verify what a judging job uploaded, and post the check to require",
		`verify is the second stage. It runs where the change has no say (workflow_run on the default
branch), takes the bundles that a run uploaded, believes nothing of them but a signature of
the workflow that is pinned, for exactly the head and the base that GitHub names, and posts one
check-run. A change from a fork, which cannot be signed, it reads itself.`)
	require := way("require", "Let a release go on only for exactly what was VERIFIED",
		`require is gate require as a step: the bundle comes from a folder or from an artifact, and the
policy from the inputs.`)
	cmd := &cobra.Command{
		Use:   "action [judge|sign|verify|require]",
		Short: "Work as a step of a GitHub workflow",
		Long: `action is what the GitHub Action runs: everything that it needs to know comes from the
variables of the workflow's runner, the inputs among them (INPUT_CONTRACTS and so on); action.yml
and docs/action.md describe them. Variables that an earlier step can set, such as
GATE_DATA_DIR, are ignored.

Without a further word it judges.`,
		Example: `  gate action
  gate action verify`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fault.New(fault.Usage, "Write judge, sign, verify or require, or nothing.", "gate action has no way %q", args[0])
		}
		return judge.RunE(cmd, nil)
	}
	cmd.AddCommand(judge, sign, verify, require)
	return cmd
}
