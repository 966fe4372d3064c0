package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/worker"
	"github.com/verdictgate/verdictgate/reporter"
	"github.com/verdictgate/verdictgate/reporter/text"
)

func (c *cli) runCommand() *cobra.Command {
	var (
		r    gate.Request
		mode string
	)
	cmd := &cobra.Command{
		Use:   "run CONTRACT --dir DIR",
		Short: "Judge a folder by a frozen contract",
		Long: `run judges a folder by a frozen contract: it runs the contract's checks in an isolated
process, gives one verdict, and writes an evidence bundle to the data folder. The exit
status is the verdict's; gate --help lists them.

The contract may come through a pipe, from where the change cannot reach it; it must
end within 30 seconds.

The folder is never guessed: without --dir nothing is judged.`,
		Example: `  gate run contract.json --dir .
  gate run contract.json --dir . --format json | jq -r .verdict
  gate run <(git show main:contract.json) --dir .
  gate run contract.json --dir src --root testdata --subject dist/shop.tar.gz
  gate run contract.json --dir . --sign key --key cosign.key`,
		Args: arguments("CONTRACT"),
	}
	f := cmd.Flags()
	f.StringVar(&r.Dir, "dir", "", "`DIR` to judge: the workspace")
	dataDirFlag(cmd, &r.DataDir)
	f.StringArrayVar(&r.Roots, "root", nil, "further `DIR` that checks may read; may be repeated")
	f.StringVar(&r.Proposed, "proposed", "", "`FILE` of proposed checks, for instance a model's: always advisory")
	f.StringArrayVar(&r.Subjects, "subject", nil, "release `FILE` that the verdict is about; may be repeated")
	f.BoolVar(&r.InProcess, "in-process", false, "run reading checks in this process: a weaker assurance")
	signFlags(cmd, &r.Signing, &mode, string(seal.ModeNone))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.signing(&r.Signing, mode); err != nil {
			return err
		}
		r.Contract, r.Env = args[0], c.env
		return c.judge(cmd.Context(), r)
	}
	return cmd
}

// judge runs a request and reports it. The exit status is that of the verdict
// which was read back from the bundle.
func (c *cli) judge(ctx context.Context, r gate.Request) error {
	if c.format == formatText {
		progress := text.NewProgress(c.err, c.style(c.err), c.env)
		defer progress.End()
		r.Progress = func(e worker.Event) {
			status := ""
			if e.Answer != nil {
				status = string(e.Answer.Result.Status)
			}
			progress.Step(e.Answered, e.Total, e.Step.ID, status)
		}
		sealed, err := c.gate.Run(ctx, r)
		progress.End()
		return c.answer(ctx, r, sealed, err)
	}
	sealed, err := c.gate.Run(ctx, r)
	return c.answer(ctx, r, sealed, err)
}

// answer reports a run and takes its exit status. A run whose evidence could
// not be kept is one that was judged: it has an answer, and not a refusal.
func (c *cli) answer(ctx context.Context, r gate.Request, sealed *bundle.Sealed, err error) error {
	var (
		v         reporter.View
		unwritten *bundle.Unwritten
	)
	switch {
	case errors.As(err, &unwritten):
		v = reporter.OfUnwritten(unwritten)
	case err != nil:
		return err
	default:
		v = reporter.OfSigned(sealed, sealed.Judgement.Assurance, signerOf(sealed, r.Signing.Key, true))
	}
	s := v.Summary()
	c.status = statusOf(s.Verdict, s.Outcome)
	return c.report(ctx, v, text.Reporter{DataDir: r.DataDir})
}

// report writes a run.
func (c *cli) report(ctx context.Context, v reporter.View, as text.Reporter) error {
	if c.format == formatJSON {
		return c.document(v.Summary())
	}
	as.To, as.Style = c.out, c.style(c.out)
	if err := as.Report(ctx, v); err != nil {
		return notShown(err)
	}
	return nil
}

// signerOf says in words who signed, and how far that was asked.
func signerOf(s *bundle.Sealed, key string, asked bool) string {
	switch {
	case s.Sigstore == nil:
		return ""
	case key != "":
		return "the key of " + key
	case s.Attestation.SignatureStatus == bundle.SignedKey:
		return "a key that was not asked for: pass --key to see whose"
	case !asked:
		return *s.Attestation.PublicKey + "; pass --certificate-identity to ask for it"
	}
	return *s.Attestation.PublicKey
}

// dataDirFlag is where runs are kept.
func dataDirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "data-dir", "", "`DIR` of the evidence (default $GATE_DATA_DIR, else gate in the XDG data folder)")
}
