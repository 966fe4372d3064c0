package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/reporter/text"
)

func (c *cli) lintCommand() *cobra.Command {
	var schema bool
	cmd := &cobra.Command{
		Use:   "lint FILE",
		Short: "List everything that is wrong with a contract",
		Long: `lint reads a draft or a frozen contract and lists every problem at once, each with
its file, line and column and how to mend it. Warnings are apart: they tell what can
only end inconclusive on this machine, and do not change the exit status.`,
		Example: `  gate lint contract.json
  gate lint --schema > contract.schema.json       # for an editor that completes and checks`,
		Args: func(cmd *cobra.Command, args []string) error {
			if schema {
				return arguments()(cmd, args)
			}
			return arguments("FILE")(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of the contract format instead")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if schema {
			if err := c.gate.Types.Linked(); err != nil {
				return err
			}
			s := plan.ContractSchema(c.gate.Types)
			return c.write(c.out, text.EscapeJSON(strictjson.Indent(&s)))
		}
		found, err := c.gate.Lint(args[0])
		if err != nil {
			return err
		}
		found = redactLint(found)
		if len(found.Problems) > 0 {
			c.status = statusOfFault(fault.ContractInvalid)
		}
		if c.format == formatJSON {
			return c.lintDocument(found)
		}
		return c.lintText(found)
	}
	return cmd
}

// lintDocument writes what lint found. With problems it is a refusal like that
// of freeze and run, so that a program that knows one understands it.
func (c *cli) lintDocument(found gate.Lint) error {
	if len(found.Problems) == 0 {
		return c.document(found)
	}
	first := found.Problems[0]
	f := fault.New(fault.ContractInvalid, first.Fix, "%s: %s", found.File, amount(len(found.Problems), "problem")).
		With("file", found.File).With("line", first.Line).With("column", first.Column).
		With("frozen", found.Frozen).With("problems", found.Problems).With("warnings", found.Warnings)
	return c.document(refusalOf(f))
}

func (c *cli) lintText(found gate.Lint) error {
	s := c.style(c.out)
	var out []byte
	list := func(word string, all []contract.Problem) {
		for _, p := range all {
			out = fmt.Appendln(out, s.Problem(fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column), word, p.Message))
			if p.Fix != "" {
				out = fmt.Appendln(out, s.Line("    fix: ", p.Fix))
			}
		}
	}
	list("", found.Problems)
	list("warning: ", found.Warnings)
	state := "a draft"
	if found.Frozen {
		state = "frozen"
	}
	switch {
	case len(found.Problems) > 0:
		out = fmt.Appendln(out, s.Line("", fmt.Sprintf("%s: %s, %s", found.File, amount(len(found.Problems), "problem"), amount(len(found.Warnings), "warning"))))
	case len(found.Warnings) > 0:
		out = fmt.Appendln(out, s.Line("", fmt.Sprintf("%s: valid, %s, %s", found.File, state, amount(len(found.Warnings), "warning"))))
	default:
		out = fmt.Appendln(out, s.Line("", fmt.Sprintf("%s: valid, %s", found.File, state)))
	}
	return c.write(c.out, out)
}

// amount writes a number of things.
func amount(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
