package sigstore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/testdata/sigstore/services"
)

const (
	someDigest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	someCommit = "1111111111111111111111111111111111111111"
)

// TestRequireRefusesAnotherPolicy: the bundle is good, and is not the one that is
// asked for.
func TestRequireRefusesAnotherPolicy(t *testing.T) {
	s, by, other := newShop(t, ""), pair(t), pair(t)
	bundle := s.signed(t, by)
	verifier, ok := document(t, filepath.Join(bundle, evidenceFile))["verifier"].(map[string]any)
	if !ok {
		t.Fatal("the evidence names no verifier")
	}
	good := []string{"--source-revision", s.commit, "--verifier-digest", fmt.Sprint(verifier["digest"]), "--max-age", "1h", "--assurance", "isolated_local"}
	if a := s.require(t, bundle, by, good...); a.exit != 0 {
		t.Fatalf("what it is, is refused: %s", a.said)
	}
	another := newShop(t, `,"title":"another"`)
	renamed := filepath.Join(t.TempDir(), "renamed.tar")
	write(t, renamed, string(read(t, s.subject)))
	for name, c := range map[string]struct {
		args       []string
		code, says string
	}{
		"another key":              {[]string{"--key", other.cosign.Key}, "verify.signature_invalid", "key"},
		"another contract":         {[]string{"--contract", another.contract}, "verify.contract_mismatch", "contract"},
		"another verifier":         {[]string{"--verifier-digest", someDigest}, "verify.verifier_mismatch", "verifier"},
		"another commit":           {[]string{"--source-revision", someCommit}, "verify.source_mismatch", someCommit},
		"another subject as well":  {[]string{"--subject", another.subject}, "verify.subject_mismatch", "shop.tar"},
		"the subject renamed":      {[]string{"--subject", renamed}, "verify.subject_mismatch", "renamed.tar"},
		"evidence.json as subject": {[]string{"--subject", filepath.Join(bundle, evidenceFile)}, "verify.subject_mismatch", "evidence.json"},
		// Any run is older than this by the time that it is asked about.
		"too old":                    {[]string{"--max-age", "1ns"}, "verify.age_refused", "old"},
		"a signature of nobody":      {[]string{"--assurance", "remote_attested"}, "verify.policy_unmet", "remote_attested"},
		"an unknown assurance":       {[]string{"--assurance", "certain"}, "verify.usage", "certain"},
		"a key and an identity":      {[]string{"--certificate-identity", "a", "--certificate-oidc-issuer", "b"}, "verify.usage", "a key and an identity"},
		"a file that is not there":   {[]string{"--subject", filepath.Join(s.dir, "none.tar")}, "verify.usage", "none.tar"},
		"a key that is not there":    {[]string{"--key", filepath.Join(s.dir, "none.pub")}, "verify.trust_unavailable", "none.pub"},
		"a private key as the trust": {[]string{"--key", by.with()}, "verify.trust_unavailable", "public key"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, s.require(t, bundle, by, c.args...), c.code, c.says) })
	}
	t.Run("only another subject", func(t *testing.T) {
		write(t, s.subject+".d/shop.tar", "something else")
		a := gate(t, nil, append([]string{"require", bundle, "--subject", s.subject + ".d/shop.tar", "--contract", s.contract}, by.trust...)...)
		refused(t, a, "verify.subject_mismatch", "shop.tar")
	})
	for name, args := range map[string][]string{
		"no trust":                {"--subject", s.subject, "--contract", s.contract},
		"no subject":              append([]string{"--contract", s.contract}, by.trust...),
		"no contract":             append([]string{"--subject", s.subject}, by.trust...),
		"an empty identity":       {"--subject", s.subject, "--contract", s.contract, "--certificate-identity", "", "--certificate-oidc-issuer", "https://a.example"},
		"an identity of any":      {"--subject", s.subject, "--contract", s.contract, "--certificate-identity-regexp", "", "--certificate-oidc-issuer", "https://a.example"},
		"an identity of nobody's": {"--subject", s.subject, "--contract", s.contract, "--certificate-identity", "https://a.example"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, gate(t, nil, append([]string{"require", bundle}, args...)...), "verify.usage", "")
		})
	}
}

func TestRequireRefusesAnotherIdentity(t *testing.T) {
	w := world.services
	s, by := newShop(t, ""), keyless(t, timestamped)
	bundle := s.signed(t, by)
	pattern := func(p string) []string {
		return []string{"--certificate-identity-regexp", p, "--certificate-oidc-issuer", w.Issuer.URL, "--trusted-root", w.TrustedRoot}
	}
	withPattern := by
	withPattern.trust = pattern(`https://github\.com/acme/judge/\.github/workflows/[^/]+@refs/tags/v\d+`)
	if a := s.require(t, bundle, withPattern); a.exit != 0 {
		t.Errorf("the pattern of the identity: %s", a.said)
	}
	strangers, err := services.Start(t.Context(), services.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer strangers.Close()
	identity := func(subject, issuer, root string) []string {
		return []string{"--certificate-identity", subject, "--certificate-oidc-issuer", issuer, "--trusted-root", root}
	}
	for name, c := range map[string]struct {
		trust        []string
		reason, says string
	}{
		"another identity":           {identity(strings.Replace(w.Issuer.SAN(), "acme", "evil", 1), w.Issuer.URL, w.TrustedRoot), "wrong_identity", "evil"},
		"another issuer":             {identity(w.Issuer.SAN(), w.OtherIssuer.URL, w.TrustedRoot), "wrong_issuer", "vouched for"},
		"a pattern of a part":        {pattern(`acme/judge`), "wrong_identity", "acme/judge"},
		"a pattern with a way round": {pattern(`https://github|nothing`), "wrong_identity", ""},
		"another trusted root":       {identity(w.Issuer.SAN(), w.Issuer.URL, strangers.TrustedRoot), "untrusted", ""},
	} {
		t.Run(name, func(t *testing.T) {
			with := by
			with.trust = c.trust
			a := s.require(t, bundle, with)
			refused(t, a, "verify.signature_invalid", c.says)
			if reason := a.text("details", "reason"); reason != c.reason {
				t.Errorf("the reason is %q, not %q", reason, c.reason)
			}
		})
	}
	t.Run("a key is asked for", func(t *testing.T) {
		refused(t, s.require(t, bundle, pair(t)), "verify.signature_invalid", "certificate")
	})
	t.Run("the other issuer's token", func(t *testing.T) {
		// The same subject, vouched for by somebody else whom Fulcio believes as well.
		forged := by
		forged.env = w.OtherIssuer.Env()
		refused(t, s.require(t, s.signed(t, forged), by), "verify.signature_invalid", "vouched for")
	})
	t.Run("old by the authority's clock", func(t *testing.T) {
		a := s.require(t, bundle, by, "--max-age", "1ns")
		refused(t, a, "verify.age_refused", "old")
	})
}

// TestRemoteAttested: granted by who asks, from the certificate alone.
func TestRemoteAttested(t *testing.T) {
	const judge = "89abcdef0123456789abcdef0123456789abcdef"
	remote := []string{"--assurance", "remote_attested", "--build-signer-digest", judge}
	s := newShop(t, "")
	claim(t, func(c *services.Claims) { c.SHA = s.commit })
	by := keyless(t, logged)
	bundle := s.signed(t, by)
	if a := s.require(t, bundle, by, remote...); a.exit != 0 || a.text("assurance") != "remote_attested" {
		t.Errorf("exit %d: %s", a.exit, a.said)
	}
	if level := document(t, filepath.Join(bundle, evidenceFile))["assurance"]; level != "isolated_local" {
		t.Errorf("the run granted %v to itself", level)
	}
	t.Run("another commit of the workflow", func(t *testing.T) {
		refused(t, s.require(t, bundle, by, "--assurance", "remote_attested", "--build-signer-digest", someCommit), "verify.policy_unmet", someCommit)
	})
	for name, c := range map[string]struct {
		change func(*services.Claims)
		says   string
	}{
		"a self-hosted runner": {func(c *services.Claims) { c.RunnerEnvironment = "self-hosted" }, "self-hosted"},
		"another commit":       {func(c *services.Claims) { c.SHA = someCommit }, someCommit},
	} {
		t.Run(name, func(t *testing.T) {
			claim(t, func(claims *services.Claims) { claims.SHA = s.commit; c.change(claims) })
			bundle := s.signed(t, by)
			refused(t, s.require(t, bundle, by, remote...), "verify.policy_unmet", c.says)
			if a := s.require(t, bundle, by); a.exit != 0 || a.text("assurance") == "remote_attested" {
				t.Errorf("without the demand: exit %d: %s", a.exit, a.said)
			}
		})
	}
}

// TestAContractMayDemandRemoteAttested: such a run goes ahead only where it can
// be had, and require grants no less than the contract asks for.
func TestAContractMayDemandRemoteAttested(t *testing.T) {
	s := newShop(t, `,"required_assurance":"remote_attested"`)
	refused(t, s.run(t, nil), "verify.assurance_unavailable", "")
	with := pair(t)
	refused(t, s.run(t, with.env, with.sign...), "verify.assurance_unavailable", "")
	by := keyless(t, timestamped)
	t.Run("on a self-hosted runner", func(t *testing.T) {
		claim(t, func(c *services.Claims) { c.SHA, c.RunnerEnvironment = s.commit, "self-hosted" })
		refused(t, s.run(t, by.env, by.sign...), "verify.assurance_unavailable", "self-hosted")
	})
	claim(t, func(c *services.Claims) { c.SHA = s.commit })
	bundle := s.signed(t, by)
	if a := s.require(t, bundle, by); a.exit != 0 || a.text("assurance") != "remote_attested" {
		t.Errorf("exit %d: %s", a.exit, a.said)
	}
}

// TestForgedBundlesAreRefused: somebody without the key changes a bundle and makes
// every hash right again.
func TestForgedBundlesAreRefused(t *testing.T) {
	s, by := newShop(t, ""), pair(t)
	good := s.signed(t, by)
	write(t, filepath.Join(s.dir, "ws", "more.txt"), "another run")
	second := s.signed(t, by)
	if err := os.Remove(filepath.Join(s.dir, "ws", "app.txt")); err != nil {
		t.Fatal(err)
	}
	failed := must(t, 1, s.run(t, by.env, by.sign...)).text("bundle")

	t.Run("nothing", func(t *testing.T) {
		bundle := copied(t, good)
		adopt(t, bundle, filepath.Join(good, signedFile), "")
		must(t, 0, s.require(t, bundle, by))
	})
	for name, c := range map[string]struct {
		of    string
		spoil func(t *testing.T, bundle string)
		codes []string
		says  string
	}{
		"a file added": {good, func(t *testing.T, b string) { write(t, filepath.Join(b, "notes.txt"), "trust me") },
			[]string{"verify.unknown_file"}, "notes.txt"},
		"the signature stripped": {good, strip, []string{"verify.policy_unmet"}, "not signed"},
		"the signature's file removed": {good, func(t *testing.T, b string) {
			if err := os.Remove(filepath.Join(b, signedFile)); err != nil {
				t.Fatal(err)
			}
		}, []string{"verify.signature_invalid"}, signedFile},
		"a file in its place": {good, func(t *testing.T, b string) {
			write(t, filepath.Join(b, signedFile), "{}")
			rehash(t, b, func(a map[string]any) { a["sigstore_digest"] = digest([]byte("{}")) })
		}, []string{"verify.signature_invalid"}, ""},
		"the signature of another run": {good, func(t *testing.T, b string) { adopt(t, b, filepath.Join(second, signedFile), "") },
			[]string{"verify.attestation_mismatch", "verify.signature_invalid"}, ""},
		"another predicate of this run": {good, func(t *testing.T, b string) { adopt(t, b, filepath.Join(b, "reports", "vsa.sigstore.json"), "") },
			[]string{"verify.signature_invalid", "verify.attestation_mismatch"}, "predicate"},
		"the verdict edited": {failed, func(t *testing.T, b string) {
			path := filepath.Join(b, evidenceFile)
			text := read(t, path)
			for _, edit := range [][2]string{{`"FAILED"`, `"VERIFIED"`}, {`"outcome":"fail"`, `"outcome":"pass"`}, {`"passed":false`, `"passed":true`}, {`"status":"fail"`, `"status":"pass"`}} {
				text = bytes.ReplaceAll(text, []byte(edit[0]), []byte(edit[1]))
			}
			write(t, path, string(text))
			rehash(t, b, func(a map[string]any) { a["verdict"] = "VERIFIED" })
		}, []string{"verify.attestation_tampered", "verify.attestation_mismatch", "verify.signature_invalid", "verify.attestation_invalid"}, ""},
		"a limitation removed": {good, func(t *testing.T, b string) {
			path := filepath.Join(b, evidenceFile)
			e := document(t, path)
			e["limitations"] = []any{}
			write(t, path, string(canonical(t, e)))
			rehash(t, b, func(map[string]any) {})
		}, []string{"verify.attestation_mismatch", "verify.signature_invalid"}, ""},
		"the key of somebody else named": {good, func(t *testing.T, b string) {
			rehash(t, b, func(a map[string]any) { a["public_key"] = string(read(t, pair(t).cosign.Key)) })
		}, []string{"verify.attestation_mismatch", "verify.signature_invalid"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := copied(t, c.of)
			c.spoil(t, bundle)
			a := s.require(t, bundle, by)
			code := c.codes[0]
			for _, other := range c.codes {
				if a.text("error") == other {
					code = other
				}
			}
			refused(t, a, code, c.says)
		})
	}
}

// flips is how many bytes of a bundle are changed, one at a time, each in a
// process of its own: enough that every file and every kind of member has some.
const flips = 300

// TestEveryByteCounts changes one byte of a signed bundle and asks again.
func TestEveryByteCounts(t *testing.T) {
	s, by := newShop(t, ""), pair(t)
	bundle := copied(t, s.signed(t, by))
	names := files(t, bundle)
	total := 0
	for _, name := range names {
		total += len(read(t, filepath.Join(bundle, name)))
	}
	stride := max(1, total/flips)
	n := 0
	for _, name := range names {
		path := filepath.Join(bundle, name)
		text := read(t, path)
		for at := range len(text) {
			// The last byte of a file is where a check that stops early would not look.
			if at%stride != 0 && at != len(text)-1 {
				continue
			}
			spoiled := bytes.Clone(text)
			spoiled[at] ^= 1
			write(t, path, string(spoiled))
			if a := s.require(t, bundle, by); a.exit != 2 || a.text("error") == "" {
				t.Errorf("%s: byte %d changed from %q to %q: %s", name, at, text[at], spoiled[at], a.said)
			}
			n++
		}
		write(t, path, string(text))
	}
	must(t, 0, s.require(t, bundle, by))
	t.Logf("%d of %d bytes in %d files were changed", n, total, len(names))
}

func TestRequireTakesAZip(t *testing.T) {
	s, by := newShop(t, ""), pair(t)
	bundle := s.signed(t, by)
	for name, prefix := range map[string]string{"its files": "", "its folder": filepath.Base(bundle) + "/"} {
		t.Run(name, func(t *testing.T) {
			if a := s.require(t, zipped(t, bundle, prefix, nil), by); a.exit != 0 || a.text("verdict") != "VERIFIED" {
				t.Errorf("exit %d: %s", a.exit, a.said)
			}
		})
	}
	for name, c := range map[string]struct{ entry, code string }{
		"a way out":       {"../" + evidenceFile, "artifact.zip_refused"},
		"an absolute one": {"/tmp/" + evidenceFile, "artifact.zip_refused"},
		"a double":        {evidenceFile, "artifact.zip_refused"},
		"another case":    {"Evidence.json", "artifact.zip_refused"},
		"an unknown file": {"notes.txt", "verify.unknown_file"},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.require(t, zipped(t, bundle, "", map[string]string{c.entry: "x"}), by)
			refused(t, a, c.code, strings.ToLower(filepath.Base(c.entry)))
		})
	}
	t.Run("a spoiled one", func(t *testing.T) {
		spoiled := copied(t, bundle)
		strip(t, spoiled)
		refused(t, s.require(t, zipped(t, spoiled, "", nil), by), "verify.policy_unmet", "not signed")
	})
}
