package seal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Attests says whether a verified signature is the one that the bundle claims,
// and whether what was signed is what the bundle says. Its error is a fault.
func Attests(sig *Signature, s *bundle.Sealed) error {
	a, proven := &s.Attestation, Describe(sig)
	for _, c := range []struct{ member, claimed, proven string }{
		{"signature_status", a.SignatureStatus, proven.Status},
		{"signature", text(a.Signature), proven.Value},
		{"signature_algorithm", text(a.SignatureAlgorithm), proven.Algorithm},
		{"public_key", strings.TrimSpace(text(a.PublicKey)), strings.TrimSpace(proven.PublicKey)},
	} {
		if c.claimed != c.proven {
			return refuse(fault.AttestationMismatch, s, "attestation.json tells of another signature than attestation.sigstore.json holds: they differ in %s", c.member).With("member", c.member)
		}
	}
	return Matches(sig.Payload, s)
}

// Describe gives what attestation.json tells of a signature.
func Describe(sig *Signature) bundle.Signature {
	out := bundle.Signature{Status: bundle.SignedKey, Value: sig.Value, Algorithm: sig.Algorithm, PublicKey: sig.KeyPEM}
	if sig.Certificate != nil {
		out.Status, out.PublicKey = bundle.SignedKeyless, fmt.Sprintf("%s (%s)", sig.Certificate.Subject, sig.Certificate.Issuer)
	}
	return out
}

// Matches says whether a statement that was signed is the one about this bundle.
// Everything that its predicate says follows from the bundle, so it is made
// again and the two are compared: no fact can be forgotten. The statement may
// be spelled in any way, and name any of the run's subjects; a member more,
// another type or another fact is a fault that names it, and never tells what
// the statement says.
func Matches(payload []byte, s *bundle.Sealed) error {
	signed, err := parse(payload)
	if err != nil {
		return refuse(fault.SignatureInvalid, s, "what was signed is no statement about a verdict: %v", err).With("reason", "not_a_statement")
	}
	text, err := Statement(s)
	if err != nil {
		return refuse(fault.AttestationMismatch, s, "no statement can be made about this bundle: %v", err)
	}
	made, err := strictjson.Parse(text, statementLimits)
	if err != nil {
		return err
	}
	member, differs := difference("/predicate", &signed.Predicate, made.Root.Get("predicate"))
	if !differs {
		member, differs = strangeSubject(signed.Subject, s)
	}
	if !differs {
		return nil
	}
	return refuse(fault.AttestationMismatch, s, "what was signed is not about this bundle: the statement and the bundle differ in %s", member).With("member", member)
}

// strangeSubject finds a subject that is none of this run's. Which of them a
// statement names is its signer's choice: `cosign attest-blob` names the one file
// that it was given, by the last part of its path. The others are bound all the
// same, by the digest of the evidence in the predicate. But one that is not
// known, or none at all, is a statement about something else.
func strangeSubject(signed []Subject, s *bundle.Sealed) (pointer string, strange bool) {
	known := append(SubjectsOf(s), Subject{Name: EvidenceName, Digest: sha256(s.Attestation.BundleDigest)})
	for i, d := range signed {
		if !slices.ContainsFunc(known, d.is) {
			return "/subject/" + strconv.Itoa(i), true
		}
	}
	return "/subject", len(signed) == 0
}

// is says whether two descriptors are of the same thing.
func (d Subject) is(known Subject) bool {
	return maps.Equal(d.Digest, known.Digest) && (d.Name == known.Name || d.Name == path.Base(known.Name))
}

// statementLimits bound what is read of a statement. A statement of ours nests
// five deep; the values are those of a million checks, cut by its bytes.
var statementLimits = strictjson.Limits{Depth: 16, Bytes: MaxStatement, Values: MaxStatement / 2}

// parse reads a statement with our predicate, strictly. Its errors repeat no
// more of it than its types and names of members.
func parse(payload []byte) (*statement, error) {
	doc, err := strictjson.Parse(payload, statementLimits)
	if err != nil {
		return nil, errors.New("it is no JSON, or too large")
	}
	// What it is comes first: of another kind of statement everything is unknown.
	for _, c := range []struct {
		member string
		known  []string
	}{{"_type", []string{StatementType, statementType01}}, {"predicateType", []string{PredicateType}}} {
		if got := doc.Root.Get(c.member); got == nil || got.Kind != strictjson.String {
			return nil, fmt.Errorf("it states no %s", c.member)
		} else if !slices.Contains(c.known, got.Text) {
			return nil, fmt.Errorf("its %s is %q, and not %s", c.member, clip(got.Text), c.known[0])
		}
	}
	var (
		report = strictjson.Report{Version: 1}
		s      statement
		p      Predicate
	)
	root := report.Root(&doc.Root)
	strictjson.Decode(root, "a statement", &s)
	strictjson.Decode(root.Member("predicate"), "the predicate", &p)
	if len(report.Problems) > 0 {
		return nil, fmt.Errorf("%s is not as the format has it", cmp.Or(clip(report.Problems[0].Pointer), "the statement"))
	}
	return &s, nil
}

// clip bounds a text that came from outside, for a message.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// difference finds the first place, in the order of names, where two values
// differ.
func difference(at string, a, b *strictjson.Value) (pointer string, differs bool) {
	switch {
	case a.Kind == strictjson.Object && b.Kind == strictjson.Object:
		for _, name := range names(a, b) {
			below := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
			x, y := a.Get(name), b.Get(name)
			if x == nil || y == nil {
				return below, true
			}
			if pointer, differs = difference(below, x, y); differs {
				return pointer, true
			}
		}
		return "", false
	case a.Kind == strictjson.Array && b.Kind == strictjson.Array && len(a.Items) == len(b.Items):
		for i := range a.Items {
			if pointer, differs = difference(at+"/"+strconv.Itoa(i), &a.Items[i], &b.Items[i]); differs {
				return pointer, true
			}
		}
		return "", false
	}
	return at, !bytes.Equal(strictjson.Canonical(a), strictjson.Canonical(b))
}

func names(a, b *strictjson.Value) []string {
	var out []string
	for _, v := range []*strictjson.Value{a, b} {
		for _, m := range v.Members {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func refuse(code fault.Code, s *bundle.Sealed, format string, args ...any) *fault.Error {
	return fault.New(code, "", format, args...).With("bundle", s.Dir).With("part", "attestation.sigstore.json")
}
