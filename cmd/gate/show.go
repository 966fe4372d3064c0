package main

import (
	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate"
)

func (c *cli) showCommand() *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use:   "show RUN|DIR",
		Short: "Re-check the evidence of a run and show it",
		Long: `show reads the evidence bundle of a run, named by its id or its folder, and re-checks
every binding: the digests of the evidence, the contract and each blob, and the verdict,
which is derived again from the recorded results. A byte that was changed is a refusal,
and no verdict is shown.

The exit status says whether the bindings hold, whatever the verdict is.`,
		Example: `  gate show vr_20260101T120000_0a1b2c3d4e5f
  gate show ./evidence/verifications/vr_20260101T120000_0a1b2c3d4e5f`,
		Args: arguments("RUN"),
	}
	dataDirFlag(cmd, &dataDir)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := gate.DataDir(dataDir, c.env)
		if err != nil {
			return err
		}
		sealed, err := c.gate.Show(dir, args[0])
		return c.answer(cmd.Context(), sealed, err, true)
	}
	return cmd
}
