package seal

import (
	"regexp"
	"slices"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// Trust is what a signature must prove. Exactly one of a key, an identity and
// Unpinned is set: an empty policy would accept everybody.
type Trust struct {
	Key string // file of a public key (or a KMS URI): the signature must be this key's

	Identity Identity // the certificate must be this one's

	// Unpinned takes any key that the bundle's reader names in KeyPEM, and any
	// certificate that the trusted root vouches for. What it proves is that the
	// bundle was not changed since somebody signed it, not who did.
	Unpinned bool
	KeyPEM   string // with Unpinned: the public key that attestation.json names

	TrustedRoot string // file; "" for that of the public instance
	CacheDir    string
	Env         func(string) string
	Warn        func(string) // told when the public instance could not be reached; may be nil
}

// Identity is a certificate's subject and who vouched for it. The patterns are
// regular expressions (RE2) that must match the whole of it.
type Identity struct {
	Subject, SubjectPattern string
	Issuer, IssuerPattern   string
}

// nobody are identities and issuers of nobody: a pattern that takes one of them
// was not written for somebody.
var nobody = []string{
	"", "z7q", "https://q7z.invalid", "https://q7z.invalid/x9/y8/.github/workflows/w6.yml@refs/heads/v5", "q7z@x9.invalid",
}

// Usable refuses trust in nobody in particular, and what cannot be meant:
// verify.usage.
func (t Trust) Usable() error {
	const mend = "Pass --key, or --certificate-identity with --certificate-oidc-issuer."
	named := t.Identity != Identity{}
	switch {
	case t.Key == "" && !named && !t.Unpinned:
		return fault.New(fault.Usage, mend, "the policy names neither a key nor an identity, so anybody's signature would do")
	case t.Key != "" && named:
		return fault.New(fault.Usage, mend, "the policy names a key and an identity; a signature is made by one of them")
	case t.Unpinned && (t.Key != "" || named):
		return fault.New(fault.Usage, mend, "the policy names somebody, and takes anybody")
	case !named:
		return nil
	}
	i := t.Identity
	for _, part := range []struct{ what, exact, pattern string }{{"identity", i.Subject, i.SubjectPattern}, {"issuer", i.Issuer, i.IssuerPattern}} {
		if part.exact == "" && part.pattern == "" {
			return fault.New(fault.Usage, mend, "the policy names no %s: a certificate of any would do", part.what)
		}
		if part.exact != "" && part.pattern != "" {
			return fault.New(fault.Usage, "Pass the one that you mean.", "the policy names the %s twice, by itself and by a pattern", part.what)
		}
		if part.pattern == "" {
			continue
		}
		re, err := whole(part.pattern)
		if err != nil {
			return fault.New(fault.Usage, "Write it in RE2's grammar; it must match the whole.", "the pattern of the %s is no regular expression: %v", part.what, err)
		}
		if slices.ContainsFunc(nobody, re.MatchString) {
			return fault.New(fault.Usage, "Write down the part that you know, such as https://github.com/OWNER/REPOSITORY/.+", "the pattern of the %s, %q, takes what nobody can have meant, so it pins nothing", part.what, part.pattern)
		}
	}
	return nil
}

// FitsSubject says whether a certificate's subject is the one that is named.
func (i Identity) FitsSubject(subject string) bool { return fits(subject, i.Subject, i.SubjectPattern) }

// FitsIssuer says whether who vouched for it is the one that is named.
func (i Identity) FitsIssuer(issuer string) bool { return fits(issuer, i.Issuer, i.IssuerPattern) }

func fits(actual, exact, pattern string) bool {
	if pattern == "" {
		return actual == exact
	}
	re, err := whole(pattern)
	return err == nil && re.MatchString(actual)
}

// Anchored is a pattern that matches the whole of a text; "" stays "".
func Anchored(pattern string) string {
	if pattern == "" {
		return ""
	}
	return `\A(?:` + pattern + `)\z`
}

// whole compiles a pattern that must match the whole of a text. It is compiled
// by itself first: "a)|(b" is no pattern, and would become one in parentheses.
func whole(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(Anchored(pattern))
}
