package bundle

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Signature is what attestation.json tells of a signature.
type Signature struct {
	Status    string // SignedKey or SignedKeyless
	Value     string // base64
	Algorithm string
	PublicKey string // PEM; of a certificate its identity: "SUBJECT (ISSUER)"
}

// Signed is what was signed of a run.
type Signed struct {
	Signature
	Sigstore []byte            // the statement, as a Sigstore bundle
	Public   map[string][]byte // what it says in public formats, the same, by their names in reports/
}

// AddSignature puts what was signed of a run, which the caller has verified, into
// its bundle, and gives the bundle as it reads back. A bundle that is signed
// already is refused unless replace is set; so is one that is another by now.
//
// The folder is a valid bundle at every moment: the statement is there before
// attestation.json names it, and an old signature is taken back before its
// statement is replaced. A crash leaves the bundle unsigned, or signed as it was,
// perhaps with a file beside it that nothing names ([Sealed.Interrupted]); to sign
// it again mends that.
func AddSignature(s *Sealed, x Signed, replace bool) (*Sealed, error) {
	if err := x.check(); err != nil {
		return nil, unkept(s.Dir, err)
	}
	// The lock follows no link, so a link that the operator named is followed here.
	dir, err := filepath.EvalSymlinks(s.Dir)
	if err != nil {
		return nil, fault.New(fault.RunNotFound, "", "there is no bundle at %q", s.Dir).With("bundle", s.Dir)
	}
	unlock, err := lock(dir)
	switch {
	case err == nil:
		defer unlock()
	case !errors.Is(err, errors.ErrUnsupported):
		return nil, fault.New(fault.BackendFailed, "Wait until the other process is done, and sign it again.", "the bundle %q cannot be locked, so it was not signed: %v", dir, plain(err)).Because(err)
	}
	before, err := Read(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case before.Attestation.BundleDigest != s.Attestation.BundleDigest:
		return nil, fault.New(fault.AttestationMismatch, "Sign it again.", "the bundle %q is another one than was signed: somebody replaced it meanwhile", dir).With("bundle", dir)
	case before.Sigstore != nil && !replace:
		return nil, fault.New(fault.Usage, "Keep the signature that it has, or ask for it to be replaced.", "the bundle %q is signed already", dir).With("bundle", dir)
	}
	if err := x.write(dir, before); err != nil {
		return nil, unkept(dir, err)
	}
	return Read(dir)
}

func (x Signed) write(dir string, before *Sealed) error {
	bare, signed, err := before.Attestation.signedBy(x.Signature, strictjson.Sum(x.Sigstore))
	if err != nil {
		return err
	}
	// A bundle without a signature needs no taking back; to write the same file
	// once more would only be one more step that can fail.
	var files []namedFile
	if before.Sigstore != nil {
		files = append(files, namedFile{attestationName, bare})
	}
	files = append(files, namedFile{sigstoreName, x.Sigstore}, namedFile{attestationName, signed})
	for _, f := range files {
		if err := replaceFile(dir, f); err != nil {
			return err
		}
	}
	return x.writePublic(dir)
}

// Interrupted says whether all that is unknown in the folder is what a signing
// left that was interrupted.
func (s *Sealed) Interrupted() bool {
	ours := func(name string) bool {
		return name == sigstoreName || name == partialName+sigstoreName || name == partialName+attestationName
	}
	return len(s.Unknown) > 0 && !slices.ContainsFunc(s.Unknown, func(name string) bool { return !ours(name) })
}

type namedFile struct {
	name string
	data []byte
}

func (x Signed) check() error {
	s := x.Signature
	value, err := base64.StdEncoding.Strict().DecodeString(s.Value)
	switch {
	case len(x.Sigstore) == 0 || len(x.Sigstore) > MaxSigstore:
		return errors.New("the signed statement is empty or too large")
	case s.Status != SignedKey && s.Status != SignedKeyless:
		return errors.New("it is not said whether a key or an identity signed")
	case err != nil || len(value) == 0 || s.Algorithm == "" || s.PublicKey == "":
		return errors.New("the signature, its algorithm or its key is missing")
	case max(len(s.Value), len(s.Algorithm), len(s.PublicKey)) > maxSignature:
		return errors.New("the signature or its key is too large")
	}
	for name, data := range x.Public {
		if name != filepath.Base(name) || name == ".." || name == "." || len(data) > MaxSigstore {
			return errors.New("the statement " + name + " is none that is kept")
		}
	}
	// What is signed cannot be redacted: it is refused instead.
	for _, text := range []string{s.PublicKey, s.Algorithm} {
		if kind, ok := secret.Credential(text); ok {
			return errors.New("what should be a public key looks like a credential (" + string(kind) + ")")
		}
	}
	return nil
}

// signedBy gives attestation.json without a signature and with this one.
func (a Attestation) signedBy(s Signature, statement strictjson.Digest) (bare, signed []byte, err error) {
	a.SignatureStatus, a.Signature, a.SignatureAlgorithm, a.PublicKey, a.SigstoreDigest = Unsigned, nil, nil, nil, nil
	if bare, err = a.seal(); err != nil {
		return nil, nil, err
	}
	digest := statement.String()
	a.SignatureStatus, a.Signature, a.SignatureAlgorithm, a.PublicKey, a.SigstoreDigest = s.Status, &s.Value, &s.Algorithm, &s.PublicKey, &digest
	signed, err = a.seal()
	return bare, signed, err
}

// seal gives an attestation its own digest, and writes it.
func (a *Attestation) seal() ([]byte, error) {
	v, err := strictjson.FromGo(a)
	if err != nil {
		return nil, err
	}
	a.AttestationDigest = attestationDigest(&v).String()
	v.Set("attestation_digest", strictjson.Str(a.AttestationDigest))
	return strictjson.Canonical(&v), nil
}

func unkept(dir string, err error) error {
	return fault.New(fault.BackendFailed, "", "what was signed could not be kept in %q: %v", dir, plain(err)).With("bundle", dir).Because(err)
}

// writePublic writes the statements in public formats into reports/. Nothing
// binds that folder; each statement binds itself.
func (x Signed) writePublic(dir string) error {
	if len(x.Public) == 0 {
		return nil
	}
	reports := filepath.Join(dir, reportsName)
	err := os.Mkdir(reports, 0o755)
	switch {
	case err == nil:
		err = syncFolder(dir)
	case errors.Is(err, fs.ErrExist):
		// A link in its place would have the statements written elsewhere.
		var info fs.FileInfo
		if info, err = os.Lstat(reports); err == nil && !info.IsDir() {
			err = errors.New("reports is no folder")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.Public)) {
		if err == nil {
			err = replaceFile(reports, namedFile{name, x.Public[name]})
		}
	}
	return err
}

// replaceFile writes a file beside its place, and renames it there when it is
// on the disk. Its name before that is always the same, so that what a crash
// left is in nobody's way the next time.
func replaceFile(dir string, f namedFile) error {
	partial := filepath.Join(dir, partialName+f.name)
	err := removeIfThere(partial)
	if err == nil {
		err = writeFile(partial, f.data)
	}
	if err == nil {
		step("rename " + f.name)
		err = os.Rename(partial, filepath.Join(dir, f.name))
	}
	if err != nil {
		return errors.Join(err, removeIfThere(partial))
	}
	step("sync the folder of " + f.name)
	return syncFolder(dir)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
