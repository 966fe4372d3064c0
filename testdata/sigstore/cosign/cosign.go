// Package cosign runs the cosign CLI, the judge of the signing tests that knows
// nothing of the gate. It is built by scripts/signing-tools and linked nowhere.
package cosign

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// CLI is the program, with a home of its own, so that nothing of the user's
// takes part, and with an environment in which no job is signed in.
type CLI struct {
	Program string
	Home    string
}

// Password is that of every key pair which a CLI makes.
const Password = "correct horse"

// emptyRoot is what 2.6.5 wants beside a key: a trusted root with nothing in it.
const emptyRoot = `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`

// Tool gives the path of a program that scripts/signing-tools makes: "cosign" or
// "rekor". root is the checkout's. It builds the program when that was not done.
func Tool(ctx context.Context, root, name string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(root, "scripts", "signing-tools"), name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/signing-tools %s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Run runs the CLI in a folder. The error holds what it said.
func (c CLI) Run(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.Program, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + c.Home, "PATH=" + os.Getenv("PATH"), "COSIGN_PASSWORD=" + Password}, env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return said.String(), fmt.Errorf("cosign %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	return said.String(), nil
}

// KeyPair makes a key pair protected by [Password] and gives the files of its
// private and its public half.
func (c CLI) KeyPair(ctx context.Context, dir, name string) (private, public string, err error) {
	prefix := filepath.Join(dir, name)
	_, err = c.Run(ctx, dir, nil, "generate-key-pair", "--output-key-prefix", prefix)
	return prefix + ".key", prefix + ".pub", err
}

// Import makes a private key of another form one that the CLI signs with, and
// gives its file.
func (c CLI) Import(ctx context.Context, dir, key string) (string, error) {
	prefix := filepath.Join(dir, "imported")
	_, err := c.Run(ctx, dir, nil, "import-key-pair", "--key", key, "--output-key-prefix", prefix)
	return prefix + ".key", err
}

// By says by whom a bundle must be signed, and which proofs of the time it must have.
type By struct {
	Key string // file of a public key
	// Hash is what the key signs, when that is not SHA-256. 2.6.5 signs with a
	// P-384 key over SHA-384, and has to be told so when it verifies.
	Hash string

	Identity, Issuer string // or a certificate's
	TrustedRoot      string
	Logged           bool // an entry in a log, beside the timestamp
}

// Verify accepts a bundle whose statement is about the blob and has the type.
func (c CLI) Verify(ctx context.Context, bundle, blob, predicateType string, by By) error {
	args := []string{"verify-blob-attestation", "--bundle", bundle, "--type", predicateType}
	if by.Key != "" {
		root := filepath.Join(c.Home, "empty_root.json")
		if err := os.WriteFile(root, []byte(emptyRoot), 0o644); err != nil {
			return err
		}
		args = append(args, "--key", by.Key, "--trusted-root", root, "--insecure-ignore-tlog")
		if by.Hash != "" {
			args = append(args, "--signature-digest-algorithm", by.Hash)
		}
	} else {
		args = append(args, "--certificate-identity", by.Identity, "--certificate-oidc-issuer", by.Issuer,
			"--trusted-root", by.TrustedRoot, "--use-signed-timestamps")
		if !by.Logged {
			args = append(args, "--insecure-ignore-tlog")
		}
	}
	_, err := c.Run(ctx, c.Home, nil, append(args, blob)...)
	return err
}

// What says what a CLI signs: a predicate with its type, from which it makes a
// statement about the blob, or a whole statement.
type What struct {
	Type, Predicate string // the predicate is a file
	Statement       string // a file; without the two others
}

func (w What) args() []string {
	if w.Statement != "" {
		return []string{"--statement", w.Statement}
	}
	return []string{"--type", w.Type, "--predicate", w.Predicate}
}

// Attest signs with a private key, without a log or a timestamp, and writes the
// bundle.
func (c CLI) Attest(ctx context.Context, bundle, blob string, what What, key string) error {
	args := append([]string{"attest-blob", "--yes", "--key", key, "--tlog-upload=false", "--new-bundle-format", "--bundle", bundle}, what.args()...)
	_, err := c.Run(ctx, c.Home, nil, append(args, blob)...)
	return err
}

// AttestKeyless signs as a job.
func (c CLI) AttestKeyless(ctx context.Context, bundle, blob string, what What, job Job) error {
	args := append([]string{"attest-blob", "--yes", "--signing-config", job.SigningConfig, "--trusted-root", job.TrustedRoot,
		"--new-bundle-format", "--bundle", bundle}, what.args()...)
	_, err := c.Run(ctx, c.Home, job.Env, append(args, blob)...)
	return err
}

// Job is where keyless signing happens: the environment with which it asks for
// its token, and the services.
type Job struct {
	Env                        []string
	SigningConfig, TrustedRoot string
}
