package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate/draft"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/roots"
	"github.com/verdictgate/verdictgate/gate/sqlread"
	"github.com/verdictgate/verdictgate/reporter/text"
)

func (c *cli) initCommand() *cobra.Command {
	var (
		dir string
		to  target
	)
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a first draft by looking at a repository",
		Long: `init looks at a repository (Go, Node, Python, static sites, SQLite databases, Makefiles)
and writes a draft whose checks hold now. It only reads.

Commands that it finds in scripts are written as advisory checks marked REVIEW: they do
not decide until you have read them and set "required": true, but they are started when
the contract is run. Remove those that should not be.`,
		Example: `  gate init --dir . -o draft.json`,
		Args:    arguments(),
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "`DIR` to look at")
	to.flags(cmd, "contract.json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d, err := c.look(cmd.Context(), dir)
		if err != nil {
			return err
		}
		return c.writeDraft(to, d)
	}
	return cmd
}

// look makes a draft of a folder. Both ways into it, the files and the rows of
// databases, end at its walls.
func (c *cli) look(ctx context.Context, dir string) (_ draft.Draft, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return draft.Draft{}, fault.New(fault.WorkspaceUnresolved, "", "--dir %s cannot be resolved: %v", dir, err)
	}
	files, err := roots.Open(abs, nil)
	if err != nil {
		return draft.Draft{}, err
	}
	defer files.Close()
	inside, err := os.OpenRoot(abs)
	if err != nil {
		return draft.Draft{}, fault.New(fault.WorkspaceUnresolved, "", "--dir %s cannot be opened: %v", dir, err)
	}
	defer inside.Close()
	scratch, err := os.MkdirTemp("", "gate-init-")
	if err != nil {
		return draft.Draft{}, fault.New(fault.BackendFailed, "", "no scratch folder can be made: %v", err)
	}
	defer func() { err = orElse(err, os.RemoveAll(scratch)) }()
	rows := sqlread.New(files, scratch)
	return draft.Make(ctx, draft.Source{Name: filepath.Base(abs), Files: inside.FS(), Rows: rows})
}

// orElse is the first error of a job and its clean-up.
func orElse(err, cleanup error) error {
	if err != nil {
		return err
	}
	return cleanup
}

func (c *cli) writeDraft(to target, d draft.Draft) error {
	if to.file == toStdout {
		if err := c.write(c.out, text.EscapeJSON(d.Contract)); err != nil {
			return err
		}
	} else if err := writeFile(to.file, d.Contract, to.force); err != nil {
		return err
	}
	switch {
	case c.format == formatJSON && to.file == toStdout:
		return nil
	case c.format == formatJSON:
		return c.document(struct {
			File   string   `json:"file"`
			Checks int      `json:"checks"`
			Review []string `json:"review"`
			Notes  []string `json:"notes"`
		}{to.file, d.Checks, notNil(d.Review), notNil(d.Notes)})
	}
	w := c.out
	if to.file == toStdout {
		w = c.err // standard output holds the draft
	}
	s := c.style(w)
	out := fmt.Appendln(nil, s.Line("", fmt.Sprintf("%s: a draft with %s", to.file, amount(d.Checks, "check"))))
	for _, n := range d.Notes {
		out = fmt.Appendln(out, s.Line("  note: ", n))
	}
	for _, id := range d.Review {
		out = fmt.Appendln(out, s.Line("  review: ", id))
	}
	if n := len(d.Review); n > 0 {
		out = fmt.Appendln(out, s.Line("  ", amount(n, "check")+" marked REVIEW: advisory, but started at every run. Read what they do first."))
	}
	if to.file != toStdout {
		out = fmt.Appendln(out, s.Line("  next: ", "gate freeze "+to.file+" -o FROZEN"))
	}
	return c.write(w, out)
}

// notNil gives a list that JSON writes as [] when it is empty.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
