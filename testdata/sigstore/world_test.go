package sigstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/sigstore/cosign"
	"github.com/verdictgate/verdictgate/testdata/sigstore/services"
)

// The predicate types that the gate signs.
const (
	verdictType    = "https://github.com/verdictgate/verdictgate/verdict/v1"
	vsaType        = "https://slsa.dev/verification_summary/v1"
	testResultType = "https://in-toto.io/attestation/test-result/v0.1"
	svrType        = "https://in-toto.io/attestation/svr/v0.2"
)

// The files of a bundle that the tests touch.
const (
	attestationFile = "attestation.json"
	evidenceFile    = "evidence.json"
	signedFile      = "attestation.sigstore.json"
)

// world is what all tests share: the program that is tested, its judge, and the
// services. It is made once, for all of it takes seconds.
var world struct {
	gate     string
	cli      cosign.CLI
	services *services.Services
}

func TestMain(m *testing.M) {
	status, err := inWorld(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "signing tests:", err)
		status = 1
	}
	os.Exit(status)
}

func inWorld(run func() int) (status int, err error) {
	ctx := context.Background()
	root, err := filepath.Abs("../..")
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "gate-signing.")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	if world.gate, err = program(ctx, root); err != nil {
		return 1, err
	}
	world.cli.Home = filepath.Join(dir, "home")
	if err := os.MkdirAll(world.cli.Home, 0o755); err != nil {
		return 1, err
	}
	if world.cli.Program, err = cosign.Tool(ctx, root, "cosign"); err != nil {
		return 1, err
	}
	rekor, err := cosign.Tool(ctx, root, "rekor")
	if err != nil {
		return 1, err
	}
	if world.services, err = services.Start(ctx, services.Config{Dir: dir, Rekor: rekor}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, world.services.Close()) }()
	return run(), nil
}

// program is the built gate: the one that GATE names, else a new one. It is the
// lean program which carries the full one, as users have it.
func program(ctx context.Context, root string) (string, error) {
	if gate := os.Getenv("GATE"); gate != "" {
		return filepath.Abs(gate)
	}
	cmd := exec.CommandContext(ctx, "make", "--no-print-directory", "build")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make build: %w\n%s", err, out)
	}
	return filepath.Join(root, "bin", "gate"), nil
}

// answer is what the gate said.
type answer struct {
	exit     int
	document map[string]any // the JSON on its standard output
	said     string         // all of it, for a message
}

// text gives a member of the document, or of an object in it, as a string.
func (a answer) text(path ...string) string {
	var v any = a.document
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = object[name]
	}
	s, _ := v.(string) // what is absent is no text
	return s
}

// gate runs the gate with an environment of its own: nothing of the user's
// Sigstore, and no job that is signed in, takes part.
func gate(t *testing.T, env []string, args ...string) answer {
	t.Helper()
	return gateIn(t, t.TempDir(), env, args...)
}

func gateIn(t *testing.T, dir string, env []string, args ...string) answer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), world.gate, append(args, "--format", "json")...)
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null"}, env...)
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	a := answer{exit: cmd.ProcessState.ExitCode(), said: fmt.Sprintf("gate %s\n%s%s", strings.Join(args, " "), out.String(), diagnostics.String())}
	if err := json.Unmarshal(out.Bytes(), &a.document); err != nil {
		t.Fatalf("no JSON document: %v\n%s", err, a.said)
	}
	return a
}

// must is a gate that has to exit with a status.
func must(t *testing.T, exit int, a answer) answer {
	t.Helper()
	if a.exit != exit {
		t.Fatalf("exit %d, not %d: %s", a.exit, exit, a.said)
	}
	return a
}

// shop is a workspace with a commit, a frozen contract for it, and a release
// artifact.
type shop struct {
	dir      string // the artifact's folder: the gate is run there, so that its name is shop.tar
	contract string
	subject  string
	commit   string
	data     string
}

// draft is a contract that the shop meets; a folder without app.txt does not.
const draft = `{"contract_id":"shop","checks":[{"id":"app","type":"file_exists","params":{"path":"app.txt"}}]%s}`

func newShop(t *testing.T, contractMembers string) shop {
	t.Helper()
	dir := t.TempDir()
	s := shop{dir: dir, contract: filepath.Join(dir, "frozen.json"), subject: filepath.Join(dir, "shop.tar"), data: filepath.Join(dir, "data")}
	write(t, filepath.Join(dir, "ws", "app.txt"), "hello")
	write(t, s.subject, "release "+dir)
	write(t, filepath.Join(dir, "draft.json"), fmt.Sprintf(draft, contractMembers))
	must(t, 0, gateIn(t, dir, nil, "freeze", "draft.json", "-o", s.contract))
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", filepath.Join(dir, "ws"), "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", "app.txt")
	git("commit", "-q", "-m", "a shop")
	s.commit = git("rev-parse", "HEAD")
	return s
}

// run judges the shop and has the exit status of the verdict.
func (s shop) run(t *testing.T, env []string, args ...string) answer {
	t.Helper()
	return gateIn(t, s.dir, env, append([]string{"run", s.contract, "--dir", "ws", "--subject", "shop.tar", "--data-dir", s.data}, args...)...)
}

// signed judges the shop, which is VERIFIED and signed, and gives the bundle.
func (s shop) signed(t *testing.T, by signer) string {
	t.Helper()
	a := must(t, 0, s.run(t, by.env, by.sign...))
	if a.text("verdict") != "VERIFIED" || a.text("signature_status") != by.status {
		t.Fatalf("it is not VERIFIED and %s: %s", by.status, a.said)
	}
	return a.text("bundle")
}

// require asks whether the shop may be shipped. Later flags win over earlier
// ones, so a test can change one of them.
func (s shop) require(t *testing.T, bundle string, by signer, args ...string) answer {
	t.Helper()
	all := append([]string{"require", bundle, "--subject", s.subject, "--contract", s.contract}, by.trust...)
	return gate(t, nil, replaced(all, args)...)
}

// replaced gives arguments with flags of their own in place of the same ones
// before: the gate takes each flag once. --subject may be repeated.
func replaced(all, with []string) []string {
	var out []string
	for i := 0; i < len(all); i++ {
		if flag := all[i]; strings.HasPrefix(flag, "--") && flag != "--subject" && slices.Contains(with, flag) {
			i++ // and its value
			continue
		}
		out = append(out, all[i])
	}
	return append(out, with...)
}

// signer is one way to sign and what then has to be trusted.
type signer struct {
	name   string
	sign   []string // flags of run and sign
	env    []string
	status string
	trust  []string // flags of require and show
	cosign cosign.By
	// byCosign is the algorithm of the CLI's own signatures with the key, which
	// is another one than the gate's for Ed25519.
	byCosign string
}

// with is the file that it signs with: a private key, or a signing config.
func (s signer) with() string { return s.sign[3] }

// pair is a key pair of cosign's.
func pair(t *testing.T) signer {
	t.Helper()
	private, public, err := world.cli.KeyPair(t.Context(), t.TempDir(), "pair")
	if err != nil {
		t.Fatal(err)
	}
	return signer{
		name: "cosign key pair", sign: []string{"--sign", "key", "--key", private}, env: []string{"COSIGN_PASSWORD=" + cosign.Password},
		status: "signed_key", trust: []string{"--key", public}, cosign: cosign.By{Key: public}, byCosign: "ecdsa-p256-sha256",
	}
}

// keyless is the job of the issuer's claims as they are when it signs.
func keyless(t *testing.T, use services.Use) signer {
	t.Helper()
	w := world.services
	config, err := w.SigningConfig(use)
	if err != nil {
		t.Fatal(err)
	}
	name := "keyless with a timestamp"
	if use.Log {
		name += " and a log"
	}
	return signer{
		name: name, sign: []string{"--sign", "keyless", "--signing-config", config, "--trusted-root", w.TrustedRoot}, env: w.Issuer.Env(),
		status: "signed_keyless",
		trust:  []string{"--certificate-identity", w.Issuer.SAN(), "--certificate-oidc-issuer", w.Issuer.URL, "--trusted-root", w.TrustedRoot},
		cosign: cosign.By{Identity: w.Issuer.SAN(), Issuer: w.Issuer.URL, TrustedRoot: w.TrustedRoot, Logged: use.Log},
	}
}

var (
	timestamped = services.Use{Timestamps: true}
	logged      = services.Use{Timestamps: true, Log: true}
)

// claim makes the issuer say something else until the test ends.
func claim(t *testing.T, change func(*services.Claims)) {
	t.Helper()
	world.services.Issuer.Claims(change)
	t.Cleanup(world.services.Issuer.Reset)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// refused checks a refusal: its code, what it says, and that it says no verdict.
func refused(t *testing.T, a answer, code, says string) {
	t.Helper()
	if a.exit != 2 || a.text("error") != code {
		t.Errorf("exit %d, %q; a refusal with %s was expected: %s", a.exit, a.text("error"), code, a.said)
	}
	if !strings.Contains(strings.ToLower(a.text("message")), says) {
		t.Errorf("the message %q does not say %q", a.text("message"), says)
	}
	if a.text("fix") == "" {
		t.Errorf("it does not say how to mend it: %s", a.said)
	}
	if _, ok := a.document["verdict"]; ok {
		t.Errorf("a refusal has a verdict: %s", a.said)
	}
}
