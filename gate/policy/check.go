package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// Decision is what may be relied on: every binding holds. Whether anything may
// be shipped is for the verdict in it to say.
type Decision struct {
	RunID       string             `json:"run_id"`
	Verdict     verdict.Verdict    `json:"verdict"`
	Outcome     verdict.Outcome    `json:"outcome"`
	Assurance   contract.Assurance `json:"assurance"` // granted here: what the run gave, or remote_attested
	Bundle      string             `json:"bundle_digest"`
	Contract    strictjson.Digest  `json:"contract_digest"`
	Verifier    string             `json:"verifier_digest"`
	Source      *string            `json:"source_revision"`
	Subjects    []Subject          `json:"subjects"` // the files of the policy, each found
	Signer      string             `json:"signer"`   // the key in PEM, or "SUBJECT (ISSUER)"
	EndedAt     string             `json:"ended_at"` // by the clock of the machine that judged
	SignedTimes []seal.Time        `json:"-"`
	SignedAt    *string            `json:"signed_at"` // the earliest that is vouched for; null without any
	Limitations []string           `json:"limitations"`
}

// onlyThisBundle stands in every decision.
const onlyThisBundle = "speaks for this bundle only: whether a later run failed is for `gate status` to say, where there is one"

// noArtifact stands in the decision about a run that was about no file.
const noArtifact = "the run was about no release artifact: the file to ship is the evidence itself, and the verdict is about the commit and the folder that it names"

// Check holds a bundle and its verified signature against a policy. Its error is
// a fault that names what does not hold. The order is that of a reader who
// believes nothing yet: is it signed by whom, is what was signed this bundle, is
// it about what is shipped, and is that good enough.
func Check(s *bundle.Sealed, sig *seal.Signature, p Policy) (Decision, error) {
	if err := p.Usable(); err != nil {
		return Decision{}, err
	}
	for _, check := range []func() error{
		func() error { return known(s) },
		func() error { return signedBy(s, sig, p.Trust) },
		func() error { return seal.Attests(sig, s) },
		func() error { return identities(s, &p) },
		func() error { return source(s, p.Source) },
		func() error { return SameChange(s, p.Change) },
		func() error { return workflow(sig, p.Workflow) },
		func() error { return repository(sig, p.Repository) },
		func() error { return age(s, sig, &p) },
	} {
		if err := check(); err != nil {
			return Decision{}, err
		}
	}
	granted, err := assurance(s, sig, &p)
	if err != nil {
		return Decision{}, err
	}
	return decide(s, sig, &p, granted), nil
}

func decide(s *bundle.Sealed, sig *seal.Signature, p *Policy, granted contract.Assurance) Decision {
	e := &s.Evidence
	d := Decision{
		RunID: e.RunID, Verdict: e.Verdict, Outcome: e.Outcome, Assurance: granted, Bundle: s.Attestation.BundleDigest, Contract: p.Contract, Verifier: e.Verifier.Digest, Source: e.SourceRevision,
		Subjects: p.Subjects, Signer: seal.Describe(sig).PublicKey, EndedAt: e.EndedAt, SignedTimes: sig.Times,
		Limitations: append(slices.Clone(e.Limitations), onlyThisBundle),
	}
	if len(e.Subjects) == 0 {
		d.Limitations = append(d.Limitations, noArtifact)
	}
	if len(sig.Times) > 0 {
		at := earliest(sig).UTC().Format(time.RFC3339)
		d.SignedAt = &at
	} else if p.MaxAge > 0 {
		d.Limitations = append(d.Limitations, "the age is counted from ended_at, which is the signer's own claim: no timestamp authority and no transparency log vouches for a moment")
	}
	return d
}

// NotSigned refuses a bundle of nobody's where somebody's is asked for.
func NotSigned(s *bundle.Sealed) error {
	return fault.New(fault.PolicyUnmet, "Ask whoever judged for a signed bundle: `gate run --sign`, or `gate sign` afterwards.",
		"the bundle is not signed, and hashes alone do not say who wrote it").With("requirement", "signature").With("bundle", s.Dir)
}

// known refuses a bundle with files that nothing binds.
func known(s *bundle.Sealed) error {
	if len(s.Unknown) == 0 {
		return nil
	}
	mend := ""
	if s.Interrupted() {
		mend = "A signing was interrupted there: sign the run again with `gate sign --force`."
	}
	return fault.New(fault.UnknownFile, mend, "the bundle holds %q, which no gate puts there", s.Unknown[0]).With("bundle", s.Dir).With("files", s.Unknown)
}

// signedBy compares who signed with who is trusted. The backend has done so, with
// this very trust; here it is written down beside the rest that must hold, and a
// signature that was verified with another one is noticed.
func signedBy(s *bundle.Sealed, sig *seal.Signature, t seal.Trust) error {
	if s.Sigstore == nil || sig == nil {
		return NotSigned(s)
	}
	wrong := func(reason, format string, args ...any) error {
		return fault.New(fault.SignatureInvalid, "", format, args...).With("reason", reason).With("bundle", s.Dir)
	}
	switch c := sig.Certificate; {
	case t.Key != "" && (c != nil || sig.Mode != seal.ModeKey):
		return wrong("wrong_key", "the policy names a key, and a certificate's holder signed: %s", seal.Describe(sig).PublicKey)
	case t.Key == "" && (c == nil || sig.Mode != seal.ModeKeyless):
		return wrong("wrong_identity", "the policy names an identity, and a key without a certificate signed")
	case t.Key != "":
		return nil
	case !t.Identity.FitsSubject(c.Subject):
		return wrong("wrong_identity", "the certificate is of %q, which is not the identity of the policy", c.Subject)
	case !t.Identity.FitsIssuer(c.Issuer):
		return wrong("wrong_issuer", "the certificate's identity was issued by %q, which is not the issuer of the policy", c.Issuer)
	}
	return nil
}

// identities compares the three that a verdict binds.
func identities(s *bundle.Sealed, p *Policy) error {
	e := &s.Evidence
	if want := p.Contract.String(); e.ContractDigest != want {
		return fault.New(fault.ContractMismatch, "", "another contract: the policy asks for %s, and the run was judged by %s (%q)", want, e.ContractDigest, e.ContractID).
			With("identity", "contract").With("expected", want).With("actual", e.ContractDigest)
	}
	if p.Verifier != nil && e.Verifier.Digest != p.Verifier.String() {
		return fault.New(fault.VerifierMismatch, "", "another verifier: the policy asks for %s, and %s (%s %s) judged", p.Verifier, e.Verifier.Digest, e.Verifier.Name, e.Verifier.Version).
			With("identity", "verifier").With("expected", p.Verifier.String()).With("actual", e.Verifier.Digest)
	}
	return bind(s, p.Subjects)
}

// source refuses evidence that is replayed onto another commit.
func source(s *bundle.Sealed, want string) error {
	got := s.Evidence.SourceRevision
	switch {
	case want == "":
		return nil
	case got == nil:
		return fault.New(fault.SourceMismatch, "", "the policy asks for commit %s, and the evidence names none", want).With("expected", want)
	case *got != want:
		return fault.New(fault.SourceMismatch, "", "another commit: the policy asks for %s, and %s was judged", want, *got).With("expected", want).With("actual", *got)
	}
	return nil
}

// SameChange refuses evidence that is replayed onto another change: the same commit
// can be asked to go to another branch, whose contract asks for less.
func SameChange(s *bundle.Sealed, want *bundle.Change) error {
	if want == nil {
		return nil
	}
	got := s.Evidence.PolicySnapshot.Change
	if got == nil {
		return fault.New(fault.SourceMismatch, "", "the policy asks for a change, and the evidence is about none").With("identity", "change")
	}
	for _, m := range []struct{ name, want, got string }{
		{"repository", want.Repository, got.Repository}, {"head", want.Head, got.Head},
		{"base branch", want.BaseRef, got.BaseRef}, {"base", want.Base, got.Base},
		{"commit of the contract", want.ContractCommit, got.ContractCommit}, {"path of the contract", want.ContractPath, got.ContractPath},
		{"workflow run", want.RunID, got.RunID}, {"attempt", want.RunAttempt, got.RunAttempt}, {"directory", want.Directory, got.Directory},
	} {
		if m.want != "" && m.want != m.got {
			return fault.New(fault.SourceMismatch, "", "another change: the %s is %q, and %q was judged", m.name, m.want, m.got).
				With("identity", "change").With("member", m.name).With("expected", m.want).With("actual", m.got)
		}
	}
	if want.Number != 0 && want.Number != got.Number {
		return fault.New(fault.SourceMismatch, "", "another change: pull request %d is asked for, and %d was judged", want.Number, got.Number).
			With("identity", "change").With("member", "number").With("expected", want.Number).With("actual", got.Number)
	}
	return nil
}

// workflow holds a pinned workflow, whatever assurance is asked for.
func workflow(sig *seal.Signature, pin Workflow) error {
	if pin.URI == "" {
		return nil
	}
	uri, digest := "", ""
	if sig.Certificate != nil {
		uri, digest = sig.Certificate.BuildSignerURI, sig.Certificate.BuildSignerDigest
	}
	unmet := func(what, got, want string) error {
		return fault.New(fault.PolicyUnmet, "", "the %s that signed is %s, and the policy pins %q", what, orNone(got), want).With("requirement", "workflow")
	}
	switch {
	case uri != pin.URI:
		return unmet("workflow", uri, pin.URI)
	case pin.Digest != "" && digest != pin.Digest:
		return unmet("commit of the workflow", digest, pin.Digest)
	}
	return nil
}

// repository compares where the workflow ran with the policy's repository.
func repository(sig *seal.Signature, wanted string) error {
	ran := ""
	if sig.Certificate != nil {
		ran = sig.Certificate.SourceRepositoryURI
	}
	if wanted == "" || ran == wanted {
		return nil
	}
	return fault.New(fault.PolicyUnmet, "", "the repository that the run was signed in is %s, and the policy wants %q", orNone(ran), wanted).With("requirement", "repository")
}

// age compares the moments with the policy's. Signed times are vouched for by
// somebody else, so they come first; ended_at is the signer's word, and counts
// where it makes the evidence older: a signature that was made today over an old
// run makes it no younger.
func age(s *bundle.Sealed, sig *seal.Signature, p *Policy) error {
	ended, err := time.Parse(time.RFC3339Nano, s.Evidence.EndedAt)
	if err != nil {
		return fault.New(fault.AgeRefused, "", "the evidence does not say when the run ended: %v", err)
	}
	refuse := func(format string, args ...any) *fault.Error {
		return fault.New(fault.AgeRefused, "", format, args...).With("now", p.Now.UTC().Format(time.RFC3339))
	}
	oldest := ended
	for _, t := range sig.Times {
		if t.Moment.After(p.Now.Add(skew)) {
			return refuse("it was signed at %s by a %s, which has not come yet", moment(t.Moment), strings.ReplaceAll(t.Source, "_", " "))
		}
		if t.Moment.Before(oldest) {
			oldest = t.Moment
		}
	}
	switch old := p.Now.Sub(oldest); {
	case ended.After(p.Now.Add(skew)):
		return refuse("the run ended at %s, which has not come yet", moment(ended))
	case len(sig.Times) > 0 && ended.After(earliest(sig).Add(skew)):
		return refuse("the run says that it ended at %s, after it was signed at %s", moment(ended), moment(earliest(sig)))
	case p.MaxAge > 0 && old > p.MaxAge:
		return refuse("the evidence is of %s: %s old, and the policy allows %s", moment(oldest), old.Round(time.Second), p.MaxAge).
			With("max_age", p.MaxAge.String()).With("age", old.Round(time.Second).String())
	}
	return nil
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func earliest(sig *seal.Signature) time.Time {
	return slices.MinFunc(sig.Times, func(a, b seal.Time) int { return a.Moment.Compare(b.Moment) }).Moment
}

// assurance grants the highest level that was shown and compares it with what is
// asked for: never less than the contract's own.
func assurance(s *bundle.Sealed, sig *seal.Signature, p *Policy) (contract.Assurance, error) {
	needed, by := s.Contract.Contract.RequiredAssurance, "the contract"
	if p.Assurance != "" && !needed.AtLeast(p.Assurance) {
		needed, by = p.Assurance, "the policy"
	}
	granted := s.Evidence.Assurance
	remote := Remote(s, sig, p.Trust, p.Workflow)
	if remote == nil {
		granted = contract.RemoteAttested
	}
	switch {
	case granted.AtLeast(needed):
		return granted, nil
	case needed == contract.RemoteAttested:
		return "", remote
	}
	return "", fault.New(fault.PolicyUnmet, "", "%s asks for %s, and the run gave %s", by, needed, granted).
		With("requirement", "assurance").With("expected", needed).With("actual", granted)
}
