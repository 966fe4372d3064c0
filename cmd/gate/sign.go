package main

import (
	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/reporter"
	"github.com/verdictgate/verdictgate/reporter/text"
)

func (c *cli) signCommand() *cobra.Command {
	var (
		how     seal.Signing
		mode    string
		dataDir string
		force   bool
	)
	cmd := &cobra.Command{
		Use:   "sign RUN",
		Short: "Sign the evidence of a run, as cosign does",
		Long: `sign makes a statement of what a run found and signs it: with a key, or keyless with the
identity of a workflow's job. The statement lies beside the evidence as a standard Sigstore
bundle; what it says in public formats (SLSA VSA, in-toto test-result and SVR) is signed
into reports/. What was signed is verified before anything is called signed.

The password of a key comes from COSIGN_PASSWORD or a file, and is never asked for.`,
		Example: `  gate sign RUN --sign key --key cosign.key
  gate sign RUN --sign keyless`,
		Args: arguments("RUN"),
	}
	dataDirFlag(cmd, &dataDir)
	signFlags(cmd, &how, &mode, "")
	cmd.Flags().BoolVar(&force, "force", false, "replace the signature that the run has")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if mode == "" && how.Key != "" {
			mode = string(seal.ModeKey) // what else
		}
		if err := c.signing(&how, mode); err != nil {
			return err
		}
		if how.Mode == seal.ModeNone {
			return fault.New(fault.Usage, "Pass --sign key with --key, or --sign keyless.", "it is not said how to sign")
		}
		dir, err := gate.DataDir(dataDir, c.env)
		if err != nil {
			return err
		}
		sealed, err := c.gate.Sign(cmd.Context(), dir, args[0], how, force)
		if err != nil {
			return err
		}
		v := reporter.OfSigned(sealed, sealed.Judgement.Assurance, signerOf(sealed, how.Key, true))
		return c.report(cmd.Context(), v, text.Reporter{DataDir: dataDir})
	}
	return cmd
}

// signFlags are how to sign.
func signFlags(cmd *cobra.Command, how *seal.Signing, mode *string, standard string) {
	f := cmd.Flags()
	f.StringVar(mode, "sign", standard, "`MODE` of signing: none, key or keyless")
	f.StringVar(&how.Key, "key", "", "private key `FILE` (a cosign key pair's or PEM), or a KMS URI")
	f.StringVar(&how.PasswordFile, "password-file", "", "`FILE` with the key's password (default $COSIGN_PASSWORD)")
	f.StringVar(&how.SigningConfig, "signing-config", "", "`FILE` that names the services to sign with (default: the public Sigstore instance's)")
	f.StringVar(&how.TrustedRoot, "trusted-root", "", "`FILE` with what they are verified by (default: the public Sigstore instance's)")
}

// signing completes how to sign from the flags.
func (c *cli) signing(how *seal.Signing, mode string) error {
	wrong := func(fix, format string, args ...any) error { return fault.New(fault.Usage, fix, format, args...) }
	how.Mode, how.Env = seal.Mode(mode), c.env
	how.Warn = func(text string) { c.warn(text) }
	modes := []string{string(seal.ModeNone), string(seal.ModeKey), string(seal.ModeKeyless)}
	switch how.Mode {
	case "", seal.ModeNone:
		how.Mode = seal.ModeNone
		for _, f := range []struct{ name, value string }{{"key", how.Key}, {"password-file", how.PasswordFile}, {"signing-config", how.SigningConfig}, {"trusted-root", how.TrustedRoot}} {
			if f.value != "" {
				return wrong("Pass --sign key or --sign keyless with it.", "--%s is given, and nothing would be signed", f.name)
			}
		}
	case seal.ModeKey:
		if how.Key == "" {
			return wrong("Pass --key with a private key.", "--sign key needs a key")
		}
	case seal.ModeKeyless:
		if how.Key != "" || how.PasswordFile != "" {
			return wrong("Leave --key and --password-file out, or pass --sign key.", "--sign keyless makes a key of its own")
		}
	default:
		return wrong(strictjson.Nearest(mode, modes), "--sign cannot be %q", mode)
	}
	return nil
}
