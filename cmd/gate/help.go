package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// help prints the page of a command. It is asked for, so it goes to stdout.
func (c *cli) help(cmd *cobra.Command, _ []string) {
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	usage := cmd.UseLine()
	if !cmd.HasParent() {
		usage = "gate COMMAND [flags]"
	}
	fmt.Fprintf(&b, "%s\n\nUsage\n  %s\n", about, usage)
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-10s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples\n%s\n", cmd.Example)
	}
	if flags := cmd.LocalNonPersistentFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags\n%s", flags.FlagUsages())
	}
	if !cmd.HasParent() || cmd.HasInheritedFlags() {
		fmt.Fprintf(&b, "\nFlags of every command\n%s", cmd.Root().PersistentFlags().FlagUsages())
	}
	if !cmd.HasParent() {
		b.WriteString("\nExit status\n")
		for _, s := range statuses {
			fmt.Fprintf(&b, "  %d  %s\n", s.status, s.meaning)
		}
	}
	if err := c.say(c.out, "%s", b.String()); err != nil {
		c.status = c.refuse(err)
	}
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the page of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd, args)
			}
			return topic.Help()
		},
	}
}
