package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/reporter/text"
)

// defaultListed is how many runs are listed unless --limit says otherwise: a
// screen full.
const defaultListed = 20

func (c *cli) listCommand() *cobra.Command {
	var (
		dataDir string
		limit   int
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs of the data folder, newest first",
		Long: `list shows the runs of the data folder, the newest first. Each one is re-checked as by
gate show; a run whose bindings do not hold is listed without a verdict.`,
		Example: `  gate list
  gate list --limit 0 --format json | jq -r '.runs[] | select(.verdict == "FAILED") | .run_id'`,
		Args: arguments(),
	}
	dataDirFlag(cmd, &dataDir)
	cmd.Flags().IntVar(&limit, "limit", defaultListed, "list at most `N` runs; 0 lists all")
	cmd.RunE = func(*cobra.Command, []string) error {
		if limit < 0 {
			return fault.New(fault.Usage, "Pass 0 for all runs.", "--limit cannot be %d", limit)
		}
		dir, err := gate.DataDir(dataDir, c.env)
		if err != nil {
			return err
		}
		all, err := bundle.List(dir)
		if err != nil {
			return err
		}
		runs := all
		if limit > 0 {
			runs = all[:min(limit, len(all))]
		}
		dir, runs = shown(dir, runs)
		if c.format == formatJSON {
			return c.document(struct {
				DataDir string         `json:"data_dir"`
				Total   int            `json:"total"`
				Runs    []bundle.Entry `json:"runs"`
			}{dir, len(all), runs})
		}
		return c.write(c.out, c.listText(dir, runs, len(all)))
	}
	return cmd
}

// shown takes the credentials out of what a list prints: a contract's name and
// a folder's are chosen by people, and nobody looks through a list for them.
func shown(dir string, runs []bundle.Entry) (string, []bundle.Entry) {
	out := slices.Clone(runs)
	texts := []*string{&dir}
	for i := range out {
		texts = append(texts, &out[i].ContractID, &out[i].Bundle)
	}
	for _, t := range texts {
		*t, _ = secret.Redact(*t)
	}
	return dir, out
}

func (c *cli) listText(dir string, runs []bundle.Entry, total int) []byte {
	s := c.style(c.out)
	if total == 0 {
		return fmt.Appendln(nil, s.Line("there are no runs in ", dir))
	}
	rows := [][]string{}
	for _, r := range runs {
		verdict, name := string(r.Verdict), r.ContractID
		if r.Status != bundle.Rechecked {
			verdict, name = "-", r.Status
		}
		rows = append(rows, []string{r.RunID, moment(r.CreatedAt), verdict, name})
	}
	out := []byte(text.Table(s, rows))
	if more := total - len(runs); more > 0 {
		out = fmt.Appendf(out, "and %d older; --limit 0 lists all\n", more)
	}
	return out
}

// moment cuts a time down to what people tell apart.
func moment(stamp string) string {
	const seconds = len("2006-01-02T15:04:05")
	if len(stamp) < seconds {
		return stamp
	}
	return stamp[:10] + " " + stamp[11:seconds] + "Z"
}
