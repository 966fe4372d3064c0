package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/reporter/text"
)

func (c *cli) requireCommand() *cobra.Command {
	var (
		r         gate.Requirement
		assurance string
	)
	p := &r.Policy
	cmd := &cobra.Command{
		Use:   "require BUNDLE",
		Short: "Let a release go on only for exactly what was VERIFIED",
		Long: `require is the consumer's side: it takes an evidence bundle (a folder, or the zip archive
that it was uploaded as), the files that are about to be shipped, and a policy: whose
signature, which contract, how much assurance, how old at most. It re-checks every binding
of the bundle and says which of the three identities differs: what was judged, who judged,
or by what.

The exit status is 0 only for VERIFIED, 1 for another verdict, 2 for a refusal, and 5 when the gate
itself failed. It speaks
for the bundle that it was given: it cannot know of a later run that failed.`,
		Example: `  gate require evidence.zip --subject dist/shop.tar.gz --contract contract.json --key cosign.pub
  gate require evidence.zip --subject dist/shop.tar.gz --contract contract.json \
    --certificate-identity https://github.com/acme/judge/.github/workflows/gate.yml@refs/tags/v1 \
    --certificate-oidc-issuer https://token.actions.githubusercontent.com --assurance remote_attested --max-age 24h`,
		Args: arguments("BUNDLE"),
	}
	f := cmd.Flags()
	f.StringArrayVar(&r.Subjects, "subject", nil, "`FILE` that is about to be shipped; may be repeated")
	f.StringVar(&r.Contract, "contract", "", "frozen contract `FILE` that must have been judged by")
	f.StringVar(&r.ContractDigest, "contract-digest", "", "its `DIGEST` instead")
	trustFlags(cmd, &p.Trust)
	f.StringVar(&p.Workflow.URI, "build-signer-uri", "", "workflow file `URI` that must have judged, as the certificate has it")
	f.StringVar(&p.Workflow.Digest, "build-signer-digest", "", "`COMMIT` of that workflow file")
	f.StringVar(&p.Repository, "source-repository", "", "repository `URI` that the workflow must have run in, as the certificate has it")
	f.StringVar(&p.Source, "source-revision", "", "`COMMIT` that must have been judged")
	f.StringVar(&r.VerifierDigest, "verifier-digest", "", "`DIGEST` of the gate that must have judged")
	f.StringVar(&assurance, "assurance", "", "least `LEVEL` of assurance (default: what the contract requires)")
	f.DurationVar(&p.MaxAge, "max-age", 0, "greatest `AGE` of the evidence, such as 36h or 90m; days are no unit (default: any)")
	f.Lookup("max-age").DefValue = "" // 0 is no age, but none asked for
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("max-age") && p.MaxAge <= 0 {
			return fault.New(fault.Usage, "Pass a duration such as 24h, or leave it out.", "an age of %s is none that evidence can have", p.MaxAge)
		}
		r.Bundle, r.Env = args[0], c.env
		p.Assurance = contract.Assurance(assurance)
		p.Trust.Env, p.Trust.Warn = c.env, c.warn
		d, err := c.gate.Require(cmd.Context(), r)
		if err != nil {
			return err
		}
		return c.decided(d, p.Trust)
	}
	return cmd
}

// trustFlags are whose signature is relied on.
func trustFlags(cmd *cobra.Command, t *seal.Trust) {
	f := cmd.Flags()
	f.StringVar(&t.Key, "key", "", "public key `FILE` of the signer, or a KMS URI")
	f.StringVar(&t.Identity.Subject, "certificate-identity", "", "exact `IDENTITY` of the signing certificate: the workflow's address")
	f.StringVar(&t.Identity.SubjectPattern, "certificate-identity-regexp", "", "`PATTERN` (RE2) that must match the whole of it instead")
	f.StringVar(&t.Identity.Issuer, "certificate-oidc-issuer", "", "exact `ISSUER` of the identity")
	f.StringVar(&t.Identity.IssuerPattern, "certificate-oidc-issuer-regexp", "", "`PATTERN` (RE2) that must match the whole of it instead")
	f.StringVar(&t.TrustedRoot, "trusted-root", "", "`FILE` with what certificates and timestamps are verified by (default: the public Sigstore instance's)")
}

// decided tells what may be relied on, and takes its exit status.
func (c *cli) decided(d policy.Decision, trust seal.Trust) error {
	c.status = statusOfRelease(d.Verdict, d.Outcome)
	if c.format == formatJSON {
		return c.document(d)
	}
	return c.say(c.out, "%s", decision(c.style(c.out), d, trust))
}

// decision is the text for people.
func decision(s text.Style, d policy.Decision, trust seal.Trust) string {
	ships := statusOfRelease(d.Verdict, d.Outcome) == statusOK
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n\n", s.Mark(ships), s.Heading(string(d.Verdict)))
	row := func(name, value string) { b.WriteString(s.Paragraph(fmt.Sprintf("%-10s ", name), value)) }
	for _, f := range d.Subjects {
		row("subject", fmt.Sprintf("%s  %s", f.Name, f.Digest))
	}
	row("contract", d.Contract.String())
	row("verifier", d.Verifier)
	if d.Source != nil {
		row("source", *d.Source)
	}
	signer := d.Signer
	if trust.Key != "" {
		signer = "the key of " + trust.Key
	}
	row("signed by", signer)
	row("judged", d.EndedAt+", by the clock of the machine that judged")
	if d.SignedAt != nil {
		row("signed at", *d.SignedAt+", as a timestamp authority or a log vouches for")
	}
	row("assurance", string(cmp.Or(d.Assurance, contract.VisualAdvisory)))
	row("run", d.RunID)
	b.WriteString("\n")
	for _, l := range d.Limitations {
		b.WriteString(s.Paragraph("  - ", l))
	}
	if !ships {
		b.WriteString("\n" + s.Paragraph("", "Do not ship: the policy holds, and the verdict is not VERIFIED."))
	}
	return b.String()
}

// warn tells what is no error on the way to an answer.
func (c *cli) warn(message string) {
	s := c.style(c.err)
	// A warning that nobody can read stops nothing.
	_ = c.say(c.err, "%s", s.Paragraph("warning: ", text.Escape(redact(message))))
}
