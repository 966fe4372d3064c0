package main

import (
	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/reporter"
	"github.com/verdictgate/verdictgate/reporter/text"
)

func (c *cli) showCommand() *cobra.Command {
	var (
		dataDir string
		trust   seal.Trust
	)
	cmd := &cobra.Command{
		Use:   "show RUN|DIR",
		Short: "Re-check the evidence of a run and show it",
		Long: `show reads the evidence bundle of a run, named by its id or its folder, and re-checks
every binding: the digests of the evidence, the contract and each blob, and the verdict,
which is derived again from the recorded results, and the signature where there is one. A
byte that was changed is a refusal, and no verdict is shown.

Without --key or --certificate-identity a signature shows that nothing was changed since
somebody signed it; with one of them it shows who.

The exit status says whether the bindings hold, whatever the verdict is.`,
		Example: `  gate show vr_20260101T120000_0a1b2c3d4e5f
  gate show ./evidence/verifications/vr_20260101T120000_0a1b2c3d4e5f`,
		Args: arguments("RUN"),
	}
	dataDirFlag(cmd, &dataDir)
	trustFlags(cmd, &trust)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := gate.DataDir(dataDir, c.env)
		if err != nil {
			return err
		}
		trust.Env, trust.Warn = c.env, c.warn
		shown, err := c.gate.Show(cmd.Context(), dir, args[0], trust)
		if err != nil {
			return err
		}
		asked := trust.Identity != seal.Identity{}
		v := reporter.OfSigned(shown.Sealed, shown.Assurance, signerOf(shown.Sealed, trust.Key, asked))
		return c.report(cmd.Context(), v, text.Reporter{Reread: true})
	}
	return cmd
}
