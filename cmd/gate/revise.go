package main

import (
	"time"

	"github.com/spf13/cobra"
)

func (c *cli) reviseCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use:   "revise FROZEN DRAFT",
		Short: "Make a new revision of a frozen contract",
		Long: `revise freezes a draft that replaces a frozen contract, and records the digest of
the old one in the new one. The result is a different contract: nothing that was
judged by the old one speaks for it.`,
		Example: `  gate revise contract.json draft.json -o contract-2.json`,
		Args:    arguments("FROZEN", "DRAFT"),
	}
	to.flags(cmd, toStdout)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		frozen, err := c.gate.Revise(args[0], args[1], time.Now())
		if err != nil {
			return err
		}
		return c.writeContract(to, "revised", frozen)
	}
	return cmd
}
