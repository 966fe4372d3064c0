package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/reporter/text"
)

// target is where a command that makes a contract puts it.
type target struct {
	file  string
	force bool
}

func (t *target) flags(cmd *cobra.Command, fallback string) {
	cmd.Flags().StringVarP(&t.file, "output", "o", fallback, "`FILE` to write; - is standard output")
	cmd.Flags().BoolVar(&t.force, "force", false, "replace the file if it is there")
}

func (c *cli) freezeCommand() *cobra.Command {
	var to target
	cmd := &cobra.Command{
		Use:   "freeze DRAFT",
		Short: "Make a contract of a draft",
		Long: `freeze fills in every default of a draft, stamps it with the time and its digest, and
writes a new file. From then on every edit of that file is noticed.

Keep the frozen file where the change that it will judge cannot reach it.`,
		Example: `  gate freeze draft.json -o contract.json`,
		Args:    arguments("DRAFT"),
	}
	to.flags(cmd, toStdout)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		frozen, err := c.gate.Freeze(args[0], time.Now())
		if err != nil {
			return err
		}
		return c.writeContract(to, "frozen", frozen)
	}
	return cmd
}

// writeContract puts a frozen contract where it was asked for and says what it
// is. On standard output the contract itself is the one document.
func (c *cli) writeContract(to target, done string, data []byte) error {
	f, err := contract.Parse(to.file, data)
	if err != nil {
		return err
	}
	if to.file == toStdout {
		return c.write(c.out, text.EscapeJSON(data)) // its digest is that of its value
	}
	if err := writeFile(to.file, data, to.force); err != nil {
		return err
	}
	if c.format == formatJSON {
		return c.document(struct {
			File       string `json:"file"`
			ContractID string `json:"contract_id"`
			Digest     string `json:"digest"`
			Checks     int    `json:"checks"`
		}{to.file, f.Contract.ID, f.Contract.DigestText(), len(f.Contract.Checks)})
	}
	s := c.style(c.out)
	return c.say(c.out, "%s\n%s\n%s\n",
		s.Line("", done+" "+f.Contract.ID+" with "+amount(len(f.Contract.Checks), "check")+": "+to.file),
		s.Line("  ", f.Contract.DigestText()),
		s.Line("  next: ", "gate run "+to.file+" --dir DIR"))
}
