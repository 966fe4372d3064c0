// Command gate judges a workspace by a frozen contract.
//
// main only wires: the command line is [run], a function of a context,
// arguments, an environment and streams, so that tests run it in process. Each
// command has a file of its own; exit.go is the one table of exit statuses.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/verdictgate/verdictgate/checks"
	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/carry"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/reporter/text"
)

// streams are where an invocation writes. Standard input is read only when a
// contract is named /dev/stdin: a gate that waits for it would hang a pipeline.
type streams struct {
	out, err io.Writer
	front    *os.File // the lean program that carries this one, if any
}

// cli is one invocation of the command line.
type cli struct {
	streams
	gate   gate.Gate
	env    func(string) string
	format string
	status int
}

// run carries out one command line and gives its exit status.
func run(ctx context.Context, args []string, env func(string) string, s streams) int {
	// What was ignored when we were started stays so: nohup means it.
	ends := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	ctx, stop := signal.NotifyContext(ctx, ends...)
	defer stop()
	// A second signal ends the process at once, as it would without us.
	defer context.AfterFunc(ctx, stop)()

	c := &cli{streams: s, env: env, gate: gate.Gate{Types: checks.All(), Version: version, Front: s.front, Seal: backend()}}
	root := c.command()
	root.SetArgs(args)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := ended(ctx, patience, func() error { return root.ExecuteContext(ctx) })
	if errors.Is(err, fault.ErrElsewhere) {
		// Nothing has been written yet; the other program begins anew.
		err = fault.New(fault.BackendFailed, "Use a program made by a plain go build.", "%v", carry.Exec(carried, args))
	}
	if err == nil {
		return c.status
	}
	// What was kept of a run that could not be signed is not nothing.
	if _, kept := fault.As(err).Details["bundle"]; ctx.Err() != nil && !kept {
		err = fault.New(fault.BackendFailed, "Run it again; nothing was written.", "interrupted before there was an answer").Because(err)
	}
	if c.format != formatJSON {
		c.format = formatOf(args) // the flags may not have been read to their end
	}
	return c.refuse(err)
}

// patience is how long a command that was told to end may take: longer than the
// end of a tree of processes that does not want to.
const patience = 30 * time.Second

// ended waits for the end of a command. One that was told to end, and waits for
// something that nobody can take it from (a file of the kernel's that blocks), is
// left behind with the process: what it started ends with it.
func ended(ctx context.Context, patience time.Duration, command func() error) error {
	done := make(chan error, 1)
	go func() { done <- command() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return context.Cause(ctx)
	}
}

// The values of --format.
const (
	formatText     = "text"
	formatJSON     = "json"
	formatMarkdown = "markdown"
)

// command is the tree of commands.
func (c *cli) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "gate",
		Short: "Judge a workspace by a frozen contract",
		Long: `gate judges a workspace by a frozen contract: it runs the contract's checks in an
isolated process, gives one verdict, and writes evidence that anyone can re-check.`,
		Example: `  gate init -o draft.json                         # a first draft, from what is there
  gate lint draft.json                            # everything that is wrong with it
  gate freeze draft.json -o contract.json         # from now on it cannot be edited
  gate run contract.json --dir .                  # one verdict
  gate show RUN                                   # re-check the evidence of a run`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().StringVar(&c.format, "format", formatText, "`FORMAT` of the answer: text or json")
	root.SetFlagErrorFunc(flagFault)
	root.SetHelpFunc(c.help)
	root.SetHelpCommand(helpCommand())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return c.checkFormat(cmd) }
	root.AddCommand(c.initCommand(), c.lintCommand(), c.freezeCommand(), c.reviseCommand(), c.runCommand(), c.showCommand(),
		c.listCommand(), c.signCommand(), c.requireCommand(), c.actionCommand(), c.checksCommand(), c.assuranceCommand(), c.versionCommand())
	onlyOnce(root)
	return root
}

// checkFormat refuses a format that the command does not have.
func (c *cli) checkFormat(cmd *cobra.Command) error {
	known := []string{formatText, formatJSON}
	if cmd.Name() == "checks" {
		known = append(known, formatMarkdown)
	}
	if slices.Contains(known, c.format) {
		return nil
	}
	return fault.New(fault.Usage, strictjson.Nearest(c.format, known), "gate %s has no format %q", cmd.Name(), c.format)
}

// formatOf finds the wanted format in arguments that could not be parsed.
func formatOf(args []string) string {
	for i, a := range args {
		if a == "--format=json" || a == "--format" && i+1 < len(args) && args[i+1] == formatJSON {
			return formatJSON
		}
	}
	return formatText
}

// later are commands of the gate that this build does not have.
var later = []string{"approval", "artifact", "capture", "compare", "complete", "export", "report", "status"}

// unknownCommand refuses a command line that names no command.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fault.New(fault.Usage, "Run `gate --help` to see the commands.", "no command was given")
	}
	var names []string
	for _, sub := range cmd.Root().Commands() {
		names = append(names, sub.Name())
	}
	if slices.Contains(later, args[0]) {
		return fault.New(fault.Usage, "Use a build that has it. This one has "+strings.Join(names, ", ")+".", "there is no command %q in this build", args[0])
	}
	return fault.New(fault.Usage, strictjson.Nearest(args[0], names), "there is no command %q", args[0])
}

// flagFault turns what pflag refuses into a fault with a mend.
func flagFault(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	help := "Run `" + cmd.CommandPath() + " --help` to see its flags."
	switch {
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		given := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			return fault.New(fault.Usage, help, "%s has no flag -%s", cmd.CommandPath(), given).Because(err)
		}
		if slices.Contains(laterFlags, given) {
			return unavailable("--" + given).Because(err)
		}
		return fault.New(fault.Usage, strictjson.Nearest("--"+given, names), "%s has no flag --%s", cmd.CommandPath(), given).Because(err)
	case errors.As(err, &missing):
		return fault.New(fault.Usage, help, "--%s needs a value", missing.GetFlag().Name).Because(err)
	case errors.Is(err, errEmpty) && errors.As(err, &invalid):
		return fault.New(fault.Usage, "Give it a value, or leave it out.", "--%s is given without a value", invalid.GetFlag().Name).Because(err)
	case errors.Is(err, errTwice) && errors.As(err, &invalid):
		return fault.New(fault.Usage, "Give it once.", "--%s is given twice", invalid.GetFlag().Name).Because(err)
	case errors.As(err, &invalid):
		return fault.New(fault.Usage, help, "--%s cannot be %q", invalid.GetFlag().Name, invalid.GetValue()).Because(err)
	}
	return fault.New(fault.Usage, help, "%v", err).Because(err)
}

// arguments wants exactly the named ones.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		usage := "Write `" + cmd.Root().Name() + " " + cmd.Use + "`."
		switch {
		case len(args) < len(names):
			return fault.New(fault.Usage, usage, "%s needs %s", cmd.CommandPath(), names[len(args)])
		case len(args) > len(names):
			return fault.New(fault.Usage, usage, "%s takes no argument %q", cmd.CommandPath(), args[len(names)])
		}
		return nil
	}
}

// style is how text may look on a stream.
func (c *cli) style(w io.Writer) text.Style { return text.Detect(w, c.env) }
