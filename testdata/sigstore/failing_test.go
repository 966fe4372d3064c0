package sigstore_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/testdata/sigstore/cosign"
	"github.com/verdictgate/verdictgate/testdata/sigstore/services"
)

// What cannot be signed is never called signed, and what was judged is kept.

func TestServicesThatFailForAWhileAreAskedAgain(t *testing.T) {
	s, by := newShop(t, ""), keyless(t, timestamped)
	for name, front := range map[string]*services.Front{
		"the token service": &world.services.Issuer.Front,
		"Fulcio":            &world.services.Fulcio.Front,
		"the timestamps":    &world.services.TSA.Front,
	} {
		t.Run(name, func(t *testing.T) {
			const failures = 2
			before := front.Asked()
			front.Fail(failures)
			defer front.Fail(0)
			bundle := s.signed(t, by)
			if n := front.Asked() - before; n <= failures {
				t.Errorf("it was asked %d times", n)
			}
			if a := s.require(t, bundle, by); a.exit != 0 {
				t.Errorf("exit %d: %s", a.exit, a.said)
			}
		})
	}
}

// unsigned checks that a run in the shop's data is there, whole, and called unsigned.
func unsigned(t *testing.T, s shop, run string) {
	t.Helper()
	a := must(t, 0, gate(t, nil, "show", run, "--data-dir", s.data))
	if a.text("signature_status") != "unsigned_hash_bound" || a.text("verdict") != "VERIFIED" {
		t.Errorf("%s", a.said)
	}
	if _, err := os.Stat(filepath.Join(a.text("bundle"), signedFile)); !os.IsNotExist(err) {
		t.Errorf("there is a signature: %v", err)
	}
}

func TestFailedSigningIsAnErrorAndTheRunStaysUnsigned(t *testing.T) {
	w := world.services
	for name, c := range map[string]struct {
		signer func(t *testing.T) signer
		says   string // in lower case
	}{
		"Fulcio is down": {func(t *testing.T) signer {
			w.Fulcio.Fail(services.Always)
			t.Cleanup(func() { w.Fulcio.Fail(0) })
			return keyless(t, timestamped)
		}, "certificate authority"},
		"the token has expired": {func(t *testing.T) signer {
			w.Issuer.Expire()
			t.Cleanup(w.Issuer.Reset)
			return keyless(t, timestamped)
		}, "token"},
		"the timestamp authority is down": {func(t *testing.T) signer {
			w.TSA.Fail(services.Always)
			t.Cleanup(func() { w.TSA.Fail(0) })
			return keyless(t, timestamped)
		}, "timestamp"},
		// The certificate lives for minutes: without a signed time nobody can
		// know later that it was valid.
		"nothing vouches for the time": {func(t *testing.T) signer { return keyless(t, services.Use{}) }, "time"},
		"no job": {func(t *testing.T) signer {
			by := keyless(t, timestamped)
			by.env = nil
			return by
		}, "token"},
		"the wrong password": {func(t *testing.T) signer {
			by := pair(t)
			by.env = []string{"COSIGN_PASSWORD=wrong"}
			return by
		}, "password"},
		"no password": {func(t *testing.T) signer {
			by := pair(t)
			by.env = nil
			return by
		}, "password"},
		"a key that is not there": {func(t *testing.T) signer {
			by := pair(t)
			by.sign = []string{"--sign", "key", "--key", filepath.Join(t.TempDir(), "none.key")}
			return by
		}, "none.key"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, "")
			run := must(t, 0, s.run(t, nil)).text("run_id")
			by := c.signer(t)
			a := gate(t, by.env, append([]string{"sign", run, "--data-dir", s.data}, by.sign...)...)
			refused(t, a, "verify.signing_unavailable", c.says)
			for _, e := range by.env {
				if name, secret, _ := strings.Cut(e, "="); strings.HasSuffix(name, "TOKEN") && strings.Contains(a.said, secret) {
					t.Errorf("it tells the request token")
				}
			}
			unsigned(t, s, run)
		})
	}
}

// patience is far longer than any run of these tests takes on a busy machine.
const patience = 2 * time.Minute

// TestNoPasswordIsNotAskedFor: with an open standard input that says nothing, a
// signer that asks would wait for ever, and is ended.
func TestNoPasswordIsNotAskedFor(t *testing.T) {
	s, by := newShop(t, ""), pair(t)
	silent, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	defer writer.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, world.gate, append([]string{"run", s.contract, "--dir", "ws", "--data-dir", s.data}, by.sign...)...)
	cmd.Dir, cmd.Stdin, cmd.Env = s.dir, silent, []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		t.Fatalf("it signed without the password, or waited for one: %v: %s", ctx.Err(), out)
	}
	if !strings.Contains(string(out), "COSIGN_PASSWORD") {
		t.Errorf("it does not say where the password is taken from: %s", out)
	}
}

// TestARunThatCannotBeSignedDoesNotBegin: nothing is judged when the key is
// known to be unusable.
func TestARunThatCannotBeSignedDoesNotBegin(t *testing.T) {
	s, by := newShop(t, ""), pair(t)
	a := s.run(t, []string{"COSIGN_PASSWORD=not " + cosign.Password}, by.sign...)
	refused(t, a, "verify.signing_unavailable", "password")
	if runs, err := os.ReadDir(filepath.Join(s.data, "verifications")); err == nil && len(runs) > 0 {
		t.Errorf("it left %d runs", len(runs))
	}
}

// TestALateFailureKeepsTheRun: the identity is there, the certificate is not.
func TestALateFailureKeepsTheRun(t *testing.T) {
	s, by := newShop(t, ""), keyless(t, timestamped)
	world.services.TSA.Fail(services.Always)
	defer world.services.TSA.Fail(0)
	a := s.run(t, by.env, by.sign...)
	if a.exit == 0 {
		t.Errorf("it succeeded: %s", a.said)
	}
	runs, err := os.ReadDir(filepath.Join(s.data, "verifications"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs were kept: %v: %s", len(runs), err, a.said)
	}
	unsigned(t, s, runs[0].Name())
}
