package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/bundle/bundletest"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

const (
	workflow = "https://github.com/o/gate/.github/workflows/judge.yml@refs/heads/main"
	issuer   = "https://token.actions.githubusercontent.com"
)

var workflowCommit = strings.Repeat("cd", 20)

// scene is a bundle, the signature that was verified over it, and a policy that
// takes both. A case changes one thing.
type scene struct {
	t       *testing.T
	content bundle.Content
	sig     seal.Signature
	policy  policy.Policy
	after   func(s *bundle.Sealed) *bundle.Sealed // what is done to the signed bundle
	forge   func(sig *seal.Signature)             // what is done to the signature behind its back
}

// keyed is signed by a key, and vouched for by nobody.
func keyed(t *testing.T) *scene {
	c := bundletest.Content(t)
	return &scene{
		t: t, content: c,
		sig: seal.Signature{Mode: seal.ModeKey, Algorithm: "ed25519", KeyPEM: "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n", Value: "c2ln"},
		policy: policy.Policy{
			Trust: seal.Trust{Key: "cosign.pub"}, Contract: c.Contract.Digest(),
			Subjects: []policy.Subject{{Name: "out/app.tgz", Digest: strictjson.Sum([]byte("app"))}}, Now: bundletest.Ended.Add(time.Hour),
		},
	}
}

// keyless is signed by a workflow on a runner of GitHub's.
func keyless(t *testing.T) *scene {
	s := keyed(t)
	s.sig.Mode = seal.ModeKeyless
	s.sig.Certificate = &seal.Certificate{
		Subject: workflow, Issuer: issuer, BuildSignerURI: workflow, BuildSignerDigest: workflowCommit, RunnerEnvironment: "github-hosted",
		SourceRepositoryURI: "https://github.com/o/app", SourceRepositoryDigest: bundletest.Revision,
	}
	s.sig.Times = []seal.Time{{Source: "timestamp_authority", Moment: bundletest.Ended.Add(time.Minute)}}
	s.policy.Trust = seal.Trust{Identity: seal.Identity{Subject: workflow, Issuer: issuer}}
	return s
}

func (s *scene) check() (policy.Decision, error) {
	s.t.Helper()
	sealed := bundletest.Write(s.t, s.content)
	payload, err := seal.Statement(sealed)
	if err != nil {
		s.t.Fatal(err)
	}
	s.sig.Payload = payload
	if sealed, err = bundle.AddSignature(sealed, bundle.Signed{Signature: seal.Describe(&s.sig), Sigstore: []byte("{}")}, false); err != nil {
		s.t.Fatal(err)
	}
	if s.after != nil {
		sealed = s.after(sealed)
	}
	if s.forge != nil {
		s.forge(&s.sig)
	}
	return policy.Check(sealed, &s.sig, s.policy)
}

func TestTaken(t *testing.T) {
	d, err := keyed(t).check()
	if err != nil {
		t.Fatal(err)
	}
	if d.Verdict != verdict.Verified || d.Outcome != verdict.Pass || d.Assurance != contract.IsolatedLocal || len(d.Subjects) != 1 || d.SignedAt != nil ||
		!strings.Contains(d.Signer, "MCow") || d.EndedAt != "2026-11-30T12:00:00.000000Z" || *d.Source != bundletest.Revision || d.Verifier != strictjson.Sum([]byte("gate")).String() {
		t.Errorf("%+v", d)
	}
	said := strings.Join(d.Limitations, "\n")
	if !strings.Contains(said, "check hint is advisory") || !strings.Contains(said, "speaks for this bundle only") || strings.Contains(said, "ended_at") {
		t.Errorf("%s", said)
	}
	if text, err := json.Marshal(d); err != nil || !strings.Contains(string(text), `"contract_digest":"sha256:`) || !strings.Contains(string(text), `"signed_at":null`) {
		t.Errorf("%s %v", text, err)
	}

	s := keyless(t)
	s.policy.MaxAge, s.policy.Assurance, s.policy.Source = 2*time.Hour, contract.RemoteAttested, bundletest.Revision
	s.policy.Workflow = policy.Workflow{URI: workflow, Digest: workflowCommit}
	s.policy.Repository = s.sig.Certificate.SourceRepositoryURI
	verifier := strictjson.Sum([]byte("gate"))
	s.policy.Verifier = &verifier
	if d, err = s.check(); err != nil {
		t.Fatal(err)
	}
	if d.Assurance != contract.RemoteAttested || *d.SignedAt != "2026-11-30T12:01:00Z" || d.Signer != workflow+" ("+issuer+")" || len(d.SignedTimes) != 1 {
		t.Errorf("%+v", d)
	}
}

// TestTakenToo are the edges of what is taken.
func TestTakenToo(t *testing.T) {
	for what, change := range map[string]func(s *scene){
		"another verdict": func(s *scene) { s.content.Answers[0].Result.Status = record.Fail },
		"the evidence, where nothing was released": func(s *scene) {
			s.content.Subjects = nil
			s.after = func(b *bundle.Sealed) *bundle.Sealed {
				d, err := strictjson.ParseDigest(b.Attestation.BundleDigest)
				if err != nil {
					s.t.Fatal(err)
				}
				s.policy.Subjects = []policy.Subject{{Name: "run/evidence.json", Digest: d}}
				return b
			}
		},
		"one of two of a name": func(s *scene) {
			s.content.Subjects = append(s.content.Subjects, bundle.Subject{Name: "other/app.tgz", Digest: strictjson.Sum(nil).String()})
			s.policy.Subjects[0].Name = filepath.Join("elsewhere", s.content.Subjects[0].Name)
		},
		"patterns": func(s *scene) {
			s.policy.Trust.Identity = seal.Identity{SubjectPattern: `https://github\.com/o/gate/.+`, IssuerPattern: `https://token\.actions\..+`}
		},
		"exactly as old":      func(s *scene) { s.policy.MaxAge = time.Hour },
		"a clock that is off": func(s *scene) { s.policy.Now = bundletest.Ended.Add(-4 * time.Minute) },
		"without a commit":    func(s *scene) { s.content.SourceRevision = "" },
	} {
		s := keyless(t)
		change(s)
		if d, err := s.check(); err != nil || d.Verdict == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	s := keyed(t)
	s.policy.MaxAge = 2 * time.Hour
	if d, err := s.check(); err != nil || !strings.Contains(strings.Join(d.Limitations, "\n"), "ended_at, which is the signer's own claim") {
		t.Errorf("%v %v", d.Limitations, err)
	}
	// The identity of the policy is the workflow's, and pins it.
	if d, err := keyless(t).check(); err != nil || d.Assurance != contract.RemoteAttested {
		t.Errorf("%+v %v", d, err)
	}
}

// refusal is a case of what is refused.
type refusal struct {
	what   string
	from   func(*testing.T) *scene
	change func(s *scene)
	code   fault.Code
	want   string // part of the message
	detail string // name=value
}

// wantRefused tries each case, and wants a refusal that tells no verdict.
func wantRefused(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		s := c.from(t)
		c.change(s)
		d, err := s.check()
		f := fault.As(err)
		if err == nil || f.Code != c.code || !strings.Contains(f.Message, c.want) || f.Fix == "" {
			t.Errorf("%s: %v, want %s with %q", c.what, err, c.code, c.want)
			continue
		}
		if name, value, ok := strings.Cut(c.detail, "="); ok && f.Details[name] != value {
			t.Errorf("%s: details %v, want %s", c.what, f.Details, c.detail)
		}
		if d.Verdict != "" || strings.Contains(f.Message, "VERIFIED") {
			t.Errorf("%s: a refusal tells a verdict: %+v", c.what, d)
		}
	}
}

// TestOtherIdentities changes what was judged, who judged and by what.
func TestOtherIdentities(t *testing.T) {
	other := strictjson.Sum([]byte("other"))
	file := func(name string, data string) []policy.Subject {
		return []policy.Subject{{Name: name, Digest: strictjson.Sum([]byte(data))}}
	}
	wantRefused(t, []refusal{
		{"another contract", keyed, func(s *scene) { s.policy.Contract = other }, fault.ContractMismatch, "another contract", "identity=contract"},
		{"another verifier", keyed, func(s *scene) { s.policy.Verifier = &other }, fault.VerifierMismatch, "another verifier", "identity=verifier"},
		{"other bytes", keyed, func(s *scene) { s.policy.Subjects = file("app.tgz", "evil") }, fault.SubjectMismatch, "with other bytes", "identity=subject"},
		{"another name", keyed, func(s *scene) { s.policy.Subjects = file("app-2.tgz", "app") }, fault.SubjectMismatch, `under the name "dist/app.tgz"`, "identity=subject"},
		{"neither", keyed, func(s *scene) { s.policy.Subjects = file("x", "x") }, fault.SubjectMismatch, `it was "dist/app.tgz"`, "subject=x"},
		{"none of many", keyed, func(s *scene) {
			for _, name := range []string{"b", "c", "d", "e", "f", "g"} {
				s.content.Subjects = append(s.content.Subjects, bundle.Subject{Name: name, Digest: other.String()})
			}
			s.policy.Subjects = file("x", "x")
		}, fault.SubjectMismatch, `"e", …`, "subject=x"},
		{"one of two", keyed, func(s *scene) { s.policy.Subjects = append(s.policy.Subjects, file("x", "x")...) }, fault.SubjectMismatch, `"x" is not`, "subject=x"},
		{"two that changed places", keyed, func(s *scene) {
			s.content.Subjects = append(s.content.Subjects, bundle.Subject{Name: "dist/db.tgz", Digest: strictjson.Sum([]byte("db")).String()})
			s.policy.Subjects = append(file("app.tgz", "db"), file("db.tgz", "app")...)
		}, fault.SubjectMismatch, "under the name", "identity=subject"},
		{"the evidence for the artifact", keyed, func(s *scene) {
			s.after = func(b *bundle.Sealed) *bundle.Sealed {
				d, err := strictjson.ParseDigest(b.Attestation.BundleDigest)
				if err != nil {
					t.Fatal(err)
				}
				s.policy.Subjects = []policy.Subject{{Name: "evidence.json", Digest: d}}
				return b
			}
		}, fault.SubjectMismatch, "about release artifacts", "identity=subject"},
		{"a file, where nothing was released", keyed, func(s *scene) { s.content.Subjects = nil }, fault.SubjectMismatch, "evidence.json and the commit alone", "identity=subject"},

		{"another commit", keyed, func(s *scene) { s.policy.Source = workflowCommit }, fault.SourceMismatch, "another commit", "actual=" + bundletest.Revision},
		{"no commit", keyed, func(s *scene) { s.policy.Source, s.content.SourceRevision = workflowCommit, "" }, fault.SourceMismatch, "names none", ""},
		{"an unknown file", keyed, func(s *scene) {
			s.after = func(b *bundle.Sealed) *bundle.Sealed { return bundletest.Add(t, b, "note.txt", []byte("x")) }
		}, fault.UnknownFile, `"note.txt"`, ""},
	})
}

// TestOtherSignatures changes who signed, and what.
func TestOtherSignatures(t *testing.T) {
	statement := func(change func(c *bundle.Content)) func(sig *seal.Signature) {
		return func(sig *seal.Signature) {
			c := bundletest.Content(t)
			change(&c)
			payload, err := seal.Statement(bundletest.Write(t, c))
			if err != nil {
				t.Fatal(err)
			}
			sig.Payload = payload
		}
	}
	wantRefused(t, []refusal{
		{"unsigned", keyed, func(s *scene) {
			s.after = func(*bundle.Sealed) *bundle.Sealed { return bundletest.Write(t, s.content) }
		}, fault.PolicyUnmet, "not signed", "requirement=signature"},
		{"an identity for a key", keyless, func(s *scene) { s.policy.Trust = seal.Trust{Key: "cosign.pub"} }, fault.SignatureInvalid, "names a key", "reason=wrong_key"},
		{"a key for an identity", keyed, func(s *scene) { s.policy.Trust = keyless(t).policy.Trust }, fault.SignatureInvalid, "names an identity", "reason=wrong_identity"},
		{"another identity", keyless, func(s *scene) { s.policy.Trust.Identity.Subject += "x" }, fault.SignatureInvalid, "not the identity", "reason=wrong_identity"},
		{"another issuer", keyless, func(s *scene) { s.policy.Trust.Identity.Issuer = "https://evil" }, fault.SignatureInvalid, "not the issuer", "reason=wrong_issuer"},
		{"a pattern of a part", keyless, func(s *scene) {
			s.policy.Trust.Identity = seal.Identity{SubjectPattern: "https://github.com/o/gate", Issuer: issuer}
		}, fault.SignatureInvalid, "not the identity", "reason=wrong_identity"},
		{"an alternative of a part", keyless, func(s *scene) {
			s.policy.Trust.Identity = seal.Identity{SubjectPattern: "x|https://github.com/o/.", Issuer: issuer}
		}, fault.SignatureInvalid, "not the identity", "reason=wrong_identity"},

		{"another statement", keyed, func(s *scene) { s.forge = statement(func(*bundle.Content) {}) }, fault.AttestationMismatch, "/predicate/", ""},
		{"another predicate", keyed, func(s *scene) {
			s.forge = func(sig *seal.Signature) {
				sig.Payload = []byte(strings.Replace(string(sig.Payload), seal.PredicateType, seal.VSAType, 1))
			}
		}, fault.SignatureInvalid, "predicateType", "reason=not_a_statement"},
		{"another signature", keyed, func(s *scene) { s.forge = func(sig *seal.Signature) { sig.Value = "b3RoZXI=" } }, fault.AttestationMismatch, "another signature", "member=signature"},
	})
}

// TestNotGoodEnough changes the age and the assurance.
func TestNotGoodEnough(t *testing.T) {
	wantRefused(t, []refusal{
		{"old, by itself", keyed, func(s *scene) { s.policy.MaxAge = 59 * time.Minute }, fault.AgeRefused, "1h0m0s old", "age=1h0m0s"},
		{"old, by its signature", keyless, func(s *scene) {
			s.policy.MaxAge = 30 * time.Minute
		}, fault.AgeRefused, "old", "max_age=30m0s"},
		{"an old run with a new signature", keyless, func(s *scene) {
			s.policy.Now, s.policy.MaxAge = bundletest.Ended.Add(1000*time.Hour), time.Hour
			s.sig.Times[0].Moment = s.policy.Now
		}, fault.AgeRefused, "1000h0m0s old", ""},
		{"signed a little before it ended", keyless, func(s *scene) {
			s.sig.Times[0].Moment, s.policy.MaxAge = bundletest.Ended.Add(-4*time.Minute), time.Hour
		}, fault.AgeRefused, "1h4m0s old", ""},
		{"ended in the future", keyed, func(s *scene) { s.policy.Now = bundletest.Ended.Add(-6 * time.Minute) }, fault.AgeRefused, "the run ended at 2026-11-30T12:00:00Z, which has not come", ""},
		{"signed in the future", keyless, func(s *scene) { s.sig.Times[0].Moment = s.policy.Now.Add(6 * time.Minute) }, fault.AgeRefused, "by a timestamp authority, which has not come", ""},
		{"signed before it ended", keyless, func(s *scene) { s.sig.Times[0].Moment = bundletest.Ended.Add(-6 * time.Minute) }, fault.AgeRefused, "after it was signed", ""},

		{"less than the policy asks for", keyed, func(s *scene) { s.content.Isolation.InProcess, s.policy.Assurance = true, contract.IsolatedLocal }, fault.PolicyUnmet, "the policy asks for isolated_local, and the run gave deterministic_local", "requirement=assurance"},
		{"a level that nothing gives", keyless, func(s *scene) {
			s.policy.Assurance = contract.HumanAttested
			s.sig.Certificate.RunnerEnvironment = "self-hosted"
		}, fault.PolicyUnmet, "asks for human_attested", "requirement=assurance"},
		{"less than the contract asks for", keyed, func(s *scene) {
			k := bundletest.Contract(t, `"contract_id":"c","required_assurance":"isolated_local",`)
			s.content.Contract, s.content.Isolation.InProcess, s.policy.Contract = k, true, k.Digest()
			s.policy.Assurance = contract.VisualAdvisory // a policy cannot ask for less
		}, fault.PolicyUnmet, "the contract asks for isolated_local", "requirement=assurance"},
		{"a key, where the contract asks for more", keyed, func(s *scene) {
			k := bundletest.Contract(t, `"contract_id":"c","required_assurance":"remote_attested",`)
			s.content.Contract, s.policy.Contract = k, k.Digest()
		}, fault.PolicyUnmet, "only a certificate", "missing=certificate"},
		{"another repository", keyless, func(s *scene) { s.policy.Repository = "https://github.com/o/other" }, fault.PolicyUnmet, "https://github.com/o/other", "requirement=repository"},
		{"a key, where a repository is wanted", keyed, func(s *scene) { s.policy.Repository = "https://github.com/o/app" }, fault.PolicyUnmet, "not named", "requirement=repository"},
		{"another workflow than is pinned", keyless, func(s *scene) { s.policy.Workflow.URI = workflow + "2" }, fault.PolicyUnmet, "the workflow that signed is", "requirement=workflow"},
		{"another commit of the workflow", keyless, func(s *scene) {
			s.policy.Workflow = policy.Workflow{URI: workflow, Digest: bundletest.Revision}
		}, fault.PolicyUnmet, "commit of the workflow", "requirement=workflow"},
		{"a key, where a workflow is pinned", keyed, func(s *scene) { s.policy.Workflow.URI = workflow }, fault.PolicyUnmet, "not named", "requirement=workflow"},
	})
}

// TestRemote takes away, one by one, what remote_attested stands on.
func TestRemote(t *testing.T) {
	for _, c := range []struct {
		missing string
		change  func(s *scene)
		want    string
	}{
		{"certificate", func(s *scene) { s.sig.Certificate = nil }, "only a certificate"},
		{"issuer", func(s *scene) { s.policy.Trust.Identity.Issuer = "" }, "its issuer's word"},
		{"issuer", func(s *scene) { s.sig.Certificate.Issuer = "https://evil" }, "its issuer's word"},
		{"runner", func(s *scene) { s.sig.Certificate.RunnerEnvironment = "self-hosted" }, `"self-hosted"`},
		{"runner", func(s *scene) { s.sig.Certificate.RunnerEnvironment = "" }, "not named"},
		{"workflow", func(s *scene) {
			s.policy.Trust.Identity.Subject, s.policy.Trust.Identity.SubjectPattern = "", "https://github.com/o/gate/.+"
		}, "pins no workflow"},
		{"workflow", func(s *scene) { s.sig.Certificate.BuildSignerURI = workflow + "2" }, "pins no workflow"},
		{"workflow", func(s *scene) { s.policy.Workflow.URI = workflow + "2" }, "the policy pins"},
		{"workflow_digest", func(s *scene) { s.policy.Workflow = policy.Workflow{URI: workflow, Digest: bundletest.Revision} }, "is of commit"},
		{"workflow_digest", func(s *scene) {
			s.policy.Workflow = policy.Workflow{URI: workflow, Digest: bundletest.Revision}
			s.sig.Certificate.BuildSignerDigest = ""
		}, "not named"},
		{"source", func(s *scene) { s.content.SourceRevision = "" }, "the evidence names no commit"},
		{"source", func(s *scene) { s.content.SourceRevision, s.sig.Certificate.SourceRepositoryDigest = "", "" }, "the evidence names no commit"},
		{"source", func(s *scene) { s.sig.Certificate.SourceRepositoryDigest = "" }, "the certificate names no commit"},
		{"source", func(s *scene) { s.sig.Certificate.SourceRepositoryDigest = strings.ToUpper(bundletest.Revision) }, "the certificate names no commit"},
		{"source", func(s *scene) { s.sig.Certificate.SourceRepositoryDigest = workflowCommit }, "is of a run for commit"},
		{"isolation", func(s *scene) { s.content.Isolation.InProcess = true }, "stands on isolated_local"},
		{"content", func(s *scene) { s.content.ContentDigest = "" }, "no digest of the workspace"},
	} {
		s := keyless(t)
		c.change(s)
		err := policy.Remote(bundletest.Write(t, s.content), &s.sig, s.policy.Trust, s.policy.Workflow)
		if f := fault.As(err); err == nil || f.Code != fault.PolicyUnmet || f.Details["missing"] != c.missing || !strings.Contains(f.Message, c.want) {
			t.Errorf("%s: %v %v", c.missing, err, f.Details)
		}
		if c.missing == "workflow" || c.missing == "workflow_digest" {
			continue // the pin is asked for by itself
		}
		// What is missing is refused where it is asked for, and not granted where it is not.
		if s.sig.Certificate == nil || s.policy.Trust.Identity.Issuer != s.sig.Certificate.Issuer {
			continue
		}
		s.policy.Assurance = contract.RemoteAttested
		if _, err := s.check(); fault.As(err).Details["missing"] != c.missing {
			t.Errorf("%s: %v", c.missing, err)
		}
		again := keyless(t)
		c.change(again)
		if d, err := again.check(); err != nil || d.Assurance == contract.RemoteAttested {
			t.Errorf("%s: %+v %v", c.missing, d, err)
		}
	}
	s := keyless(t)
	if err := policy.Remote(bundletest.Write(t, s.content), nil, s.policy.Trust, s.policy.Workflow); fault.As(err).Details["missing"] != "certificate" {
		t.Errorf("%v", err)
	}
}

func TestUnusablePolicies(t *testing.T) {
	identity := func(id seal.Identity) func(p *policy.Policy) {
		return func(p *policy.Policy) { p.Trust = seal.Trust{Identity: id} }
	}
	for what, c := range map[string]struct {
		change func(p *policy.Policy)
		want   string
	}{
		"nobody":               {func(p *policy.Policy) { p.Trust = seal.Trust{} }, "neither a key nor an identity"},
		"only a root":          {func(p *policy.Policy) { p.Trust = seal.Trust{TrustedRoot: "root.json"} }, "neither a key nor an identity"},
		"anybody":              {func(p *policy.Policy) { p.Trust = seal.Trust{Unpinned: true} }, "neither a key nor an identity"},
		"the bundle's own key": {func(p *policy.Policy) { p.Trust.KeyPEM = "x" }, "neither a key nor an identity"},
		"both":                 {func(p *policy.Policy) { p.Trust.Identity.Subject = "x" }, "a key and an identity"},
		"no issuer":            {identity(seal.Identity{Subject: "x"}), "no issuer"},
		"no subject":           {identity(seal.Identity{Issuer: "x"}), "no identity"},
		"a subject twice":      {identity(seal.Identity{Subject: "x", SubjectPattern: "x", Issuer: "x"}), "twice"},
		"no pattern":           {identity(seal.Identity{SubjectPattern: "(", Issuer: "x"}), "no regular expression"},
		"half a pattern":       {identity(seal.Identity{SubjectPattern: "a)|(b", Issuer: "x"}), "no regular expression"},
		"everybody":            {identity(seal.Identity{SubjectPattern: ".*", Issuer: "x"}), "pins nothing"},
		"every issuer":         {identity(seal.Identity{Subject: "x", IssuerPattern: "https://a|"}), "pins nothing"},
		"no contract":          {func(p *policy.Policy) { p.Contract = strictjson.Digest{} }, "no contract"},
		"no subject to ship":   {func(p *policy.Policy) { p.Subjects = nil }, "no file"},
		"an empty subject":     {func(p *policy.Policy) { p.Subjects = []policy.Subject{{}} }, "without its name"},
		"a negative age":       {func(p *policy.Policy) { p.MaxAge = -1 }, "less than nothing"},
		"no clock":             {func(p *policy.Policy) { p.Now = time.Time{} }, "what time"},
		"no level":             {func(p *policy.Policy) { p.Assurance = "perfect" }, "no assurance level"},
		"a short commit":       {func(p *policy.Policy) { p.Source = "abcdef0" }, "no commit"},
		"a branch":             {func(p *policy.Policy) { p.Source = "main" }, "no commit"},
		"half a workflow":      {func(p *policy.Policy) { p.Workflow.Digest = "x" }, "no workflow"},
	} {
		s := keyed(t)
		c.change(&s.policy)
		if _, err := s.check(); err == nil || fault.As(err).Code != fault.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestHashSubjects(t *testing.T) {
	dir := t.TempDir()
	name, link, fifo := filepath.Join(dir, "app"), filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(name, []byte("app"), 0o644), os.Symlink(name, link), syscall.Mkfifo(fifo, 0o644)); err != nil {
		t.Fatal(err)
	}
	got, err := policy.HashSubjects(t.Context(), []string{name, link})
	if err != nil || len(got) != 2 || got[0].Digest != strictjson.Sum([]byte("app")) || got[1].Name != link || got[1].Digest != got[0].Digest {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{fifo, dir, os.DevNull, filepath.Join(dir, "nothing"), "a\x00b", ""} {
		if got, err := policy.HashSubjects(t.Context(), []string{name, bad}); err == nil || fault.As(err).Code != fault.Usage || got != nil {
			t.Errorf("%q: %v %v", bad, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := policy.HashSubjects(ctx, []string{name}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestFrozenDigest(t *testing.T) {
	k := bundletest.Contract(t, `"contract_id":"c",`)
	file := filepath.Join(t.TempDir(), "contract.json")
	for text, want := range map[string]fault.Code{
		string(k.Canonical()): "",
		strings.Replace(string(k.Canonical()), `"c"`, `"d"`, 1): fault.ContractTampered,
		`{"contract_id":"c"}`: fault.ContractNotFrozen,
		`{`:                   fault.ContractUnreadable,
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := policy.FrozenDigest(file)
		if want == "" && (err != nil || d != k.Digest()) || want != "" && (err == nil || fault.As(err).Code != want) {
			t.Errorf("%s: %s %v", text, d, err)
		}
	}
}
