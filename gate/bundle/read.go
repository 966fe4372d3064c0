package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// Sealed is a bundle all of whose bindings were re-checked.
type Sealed struct {
	Dir         string
	Contract    *contract.File
	Evidence    Evidence
	Attestation Attestation
	Sigstore    []byte            // attestation.sigstore.json, not verified; nil when the bundle is unsigned
	Judgement   verdict.Judgement // derived again from the recorded results
	Unknown     []string          // files that belong to no part of a bundle, relative, bounded
}

// Read reads a bundle back and re-checks every binding. Its error is a fault
// that names what does not hold; no verdict is given then. Of a signature it
// checks that it is there, whole, and the one that attestation.json names;
// whether it verifies, and what it was made over, is not for this package to say.
func Read(dir string) (*Sealed, error) {
	r, err := open(dir)
	if err != nil {
		return nil, err
	}
	if err := r.checkBlobs(); err != nil {
		return nil, err
	}
	return r.sealed, nil
}

// confirm is Read for whoever wrote the bundle a moment ago and holds what it
// says: the parts are compared with what was written, byte for byte, instead of
// being parsed again, and every blob is digested. A test holds it together with
// Read: both give the same of the same bundle.
func confirm(s *Sealed, parts []part) error {
	r := &reading{dir: s.Dir, sealed: s}
	for _, p := range parts {
		data, err := r.file(p.name, int64(len(p.data)))
		if err == nil && !bytes.Equal(data, p.data) {
			err = errors.New("does not hold what was written to it")
		}
		if err != nil {
			return r.refuse(fault.AttestationTampered, p.name, "%v", err)
		}
	}
	if err := r.takeInventory(); err != nil {
		return err
	}
	return r.checkBlobs()
}

// reading is a bundle on its way to being one.
type reading struct {
	dir    string
	sealed *Sealed
	bytes  int64 // of the JSON files
	// results are the check_results of evidence.json as they were parsed.
	results []strictjson.Value
	// blobs are the files of the blobs' folder, by the hex of their digest, each
	// with its size: those that the evidence names, and those that it does not.
	blobs map[string]int64
}

// open checks everything but the bytes of the blobs. The order matters: the
// attestation vouches for the evidence, the evidence for the contract and the
// results, so each part is believed only after the one that vouches for it. The
// reading is given with an error too, for what it has cost.
func open(dir string) (*reading, error) {
	r := &reading{dir: dir, sealed: &Sealed{Dir: dir}}
	info, err := os.Stat(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, r.lost(fault.RunNotFound, "the bundle", cannotRead(err))
	}
	if err != nil || !info.IsDir() {
		return r, fault.New(fault.RunNotFound, "", "there is no bundle at %q", dir).With("bundle", dir)
	}
	for _, check := range []func() error{
		r.readAttestation, r.readSignature, r.readEvidence, r.readContract, r.checkTogether, r.checkMembers, r.checkResults, r.checkVerdict, r.takeInventory,
	} {
		if err := check(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// refuse makes the fault that says which part of the bundle does not hold.
func (r *reading) refuse(code fault.Code, part, format string, args ...any) *fault.Error {
	mend, what := "", part
	if code == fault.ContractTampered {
		// The code's own mend is for whoever has the contract, and this is a copy of it.
		mend, what = "Take the bundle from where it was first written.", part+" of the bundle"
	}
	return fault.New(code, mend, "%s", what+" "+fmt.Sprintf(format, args...)).With("bundle", r.dir).With("part", part)
}

// file reads a regular file of the bundle.
func (r *reading) file(name string, most int64) ([]byte, error) {
	f, size, err := openRegular(filepath.Join(r.dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > most {
		return nil, fmt.Errorf("has %d bytes; at most %d are read", size, most)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, cannotRead(err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("grew over %d bytes while it was read", most)
	}
	r.bytes += int64(len(data))
	return data, nil
}

var errMissing = errors.New("is missing")

// unread is why a part could not be looked at, which says nothing of what it holds.
type unread struct{ error }

func cannotRead(err error) error { return &unread{fmt.Errorf("cannot be read: %w", plain(err))} }

// lost makes the fault of a part that did not come: with the code of what is wrong
// with it, unless nobody could look.
func (r *reading) lost(code fault.Code, part string, err error) *fault.Error {
	f := r.refuse(code, part, "%v", err)
	var u *unread
	if errors.As(err, &u) {
		f.Code, f.Fix = fault.AttestationInvalid, "Make it readable for the user that asks; nothing was said about what it holds."
	}
	return f
}

// openRegular opens a file that is one: no link, FIFO, socket or device.
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, errMissing
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, 0, errors.New("is no regular file")
	}
	if err != nil {
		return nil, 0, cannotRead(err)
	}
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return nil, 0, cannotRead(err)
	}
	// What was opened may not be what was looked at.
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, 0, errors.Join(errors.New("is no regular file"), err, f.Close())
	}
	return f, info.Size(), nil
}

// plain takes the path out of an error: the message names the part already.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// respelled is what is wrong with a text that [spelled] does not take.
const respelled = "its values are spelled another way than a gate spells them"

// spelled says whether a text is the canonical form but for white space, which
// an editor may have set. The digest of the values does not tell: 0.1 is also
// 0.10000000000000001, and a changed digit is a changed byte.
func spelled(text []byte, v *strictjson.Value) bool {
	canonical := strictjson.Canonical(v)
	if bytes.Equal(text, canonical) {
		return true
	}
	var compact bytes.Buffer
	return json.Compact(&compact, text) == nil && bytes.Equal(compact.Bytes(), canonical)
}

// place says where a text is no JSON, and nothing of what stands there: no word
// of a bundle that does not hold is repeated.
func place(err error) string {
	var syn *strictjson.SyntaxError
	if errors.As(err, &syn) && syn.Line > 0 {
		return fmt.Sprintf(" (line %d, column %d)", syn.Line, syn.Column)
	}
	return ""
}

func (r *reading) readAttestation() error {
	data, err := r.file(attestationName, maxAttestation)
	if err != nil {
		return r.lost(fault.AttestationInvalid, attestationName, err)
	}
	doc, err := strictjson.Parse(data, strictjson.ContractLimits)
	if err != nil {
		return r.refuse(fault.AttestationInvalid, attestationName, "is malformed: it is no JSON%s", place(err))
	}
	stated := doc.Root.Get("attestation_digest")
	if stated == nil || stated.Kind != strictjson.String {
		return r.refuse(fault.AttestationInvalid, attestationName, "states no attestation_digest")
	}
	if actual := attestationDigest(&doc.Root).String(); stated.Text != actual {
		return r.refuse(fault.AttestationTampered, attestationName, "was changed after it was written: it states the digest %q and digests to %s", stated.Text, actual).
			With("recorded_digest", stated.Text).With("actual_digest", actual)
	}
	if !spelled(data, &doc.Root) {
		return r.refuse(fault.AttestationTampered, attestationName, "was changed after it was written: "+respelled)
	}
	a := &r.sealed.Attestation
	if strictjson.Assign(&doc.Root, a) != nil {
		return r.refuse(fault.AttestationInvalid, attestationName, "does not have the members of this version of the format")
	}
	if a.SchemaVersion != SchemaVersion {
		return r.refuse(fault.AttestationInvalid, attestationName, "is of version %d; this build reads version %d", a.SchemaVersion, SchemaVersion)
	}
	return nil
}

// readSignature reads the signed statement, if attestation.json names one.
func (r *reading) readSignature() error {
	a := &r.sealed.Attestation
	stated := []*string{a.Signature, a.SignatureAlgorithm, a.PublicKey, a.SigstoreDigest}
	named := 0
	for _, s := range stated {
		if s == nil {
			continue
		}
		if named++; *s == "" || len(*s) > maxSignature {
			return r.refuse(fault.SignatureInvalid, attestationName, "holds in its members about the signature what no gate writes")
		}
	}
	switch signed := a.SignatureStatus == SignedKey || a.SignatureStatus == SignedKeyless; {
	case a.SignatureStatus == Unsigned && named == 0:
		return nil
	case !signed && a.SignatureStatus != Unsigned:
		return r.refuse(fault.SignatureInvalid, attestationName, "claims a signature of a kind that this build does not know")
	case !signed || named < len(stated):
		return r.refuse(fault.SignatureInvalid, attestationName, "claims a signature by halves: signature_status, signature, signature_algorithm, public_key and sigstore_digest belong together")
	}
	if value, err := base64.StdEncoding.Strict().DecodeString(*a.Signature); err != nil || len(value) == 0 {
		return r.refuse(fault.SignatureInvalid, attestationName, "states a signature that is no base64")
	}
	data, err := r.file(sigstoreName, MaxSigstore)
	if errors.Is(err, errMissing) {
		return r.refuse(fault.SignatureInvalid, sigstoreName, "is missing: attestation.json says that the bundle is signed, so the signature was stripped from it").With("reason", "stripped")
	}
	if err != nil {
		return r.lost(fault.SignatureInvalid, sigstoreName, err)
	}
	if actual := strictjson.Sum(data).String(); actual != *a.SigstoreDigest {
		return r.refuse(fault.SignatureInvalid, sigstoreName, "is not the one that attestation.json names: it states the digest %q and it digests to %s", *a.SigstoreDigest, actual).
			With("recorded_digest", *a.SigstoreDigest).With("actual_digest", actual)
	}
	r.sealed.Sigstore = data
	return nil
}

func (r *reading) readEvidence() error {
	data, err := r.file(evidenceName, maxEvidence)
	if err != nil {
		return r.lost(fault.AttestationInvalid, evidenceName, err)
	}
	doc, err := strictjson.Parse(data, strictjson.DocumentLimits)
	if err != nil {
		return r.refuse(fault.AttestationTampered, evidenceName, "was changed after it was written: it is no longer JSON%s", place(err))
	}
	e := &r.sealed.Evidence
	whole := strictjson.Assign(&doc.Root, e) == nil
	if !spelled(data, &doc.Root) {
		return r.refuse(fault.AttestationTampered, evidenceName, "was changed after it was written: "+respelled)
	}
	actual := strictjson.DigestOf(&doc.Root).String()
	if stated := r.sealed.Attestation.BundleDigest; actual != stated {
		// A whole file of another run differs in the moment it was made, and its
		// id agrees with that moment; an edited file does not manage both.
		code, why := fault.AttestationTampered, "was changed after it was written: "
		if whole && e.consistent() && e.CreatedAt != r.sealed.Attestation.CreatedAt {
			code, why = fault.AttestationMismatch, "is of another run than attestation.json: "
		}
		return r.refuse(code, evidenceName, "%sattestation.json states the digest %s and it digests to %s", why, stated, actual).
			With("recorded_digest", stated).With("actual_digest", actual)
	}
	if !whole {
		return r.refuse(fault.AttestationInvalid, evidenceName, "does not have the members of this version of the format")
	}
	r.results = doc.Root.Get("check_results").Items
	if e.SchemaVersion != SchemaVersion {
		return r.refuse(fault.AttestationInvalid, evidenceName, "is of version %d; this build reads version %d", e.SchemaVersion, SchemaVersion)
	}
	return nil
}

// consistent says whether the run's id and the moment it was written agree, as
// they do in a file that nobody edited.
func (e *Evidence) consistent() bool {
	moment, ok := idMoment(e.RunID)
	return ok && strings.HasPrefix(e.CreatedAt, moment.Format("2006-01-02T15:04:05."))
}

func (r *reading) readContract() error {
	data, err := r.file(contractName, maxContract)
	if err != nil {
		return r.lost(fault.ContractTampered, contractName, err)
	}
	stated := r.sealed.Evidence.ContractDigest
	k, err := contract.Parse(contractName, data)
	if err != nil {
		return r.refuse(fault.ContractTampered, contractName, "was changed after it was frozen: it is no longer JSON")
	}
	// First whether it is the frozen document at all, then whether it is the one
	// of this run, and only then whether this build understands it: a contract
	// that a later build froze is not tampered with.
	actual := k.Digest().String()
	switch own := k.Contract.DigestText(); {
	case own != actual:
		return r.refuse(fault.ContractTampered, contractName, "was changed after it was frozen: it states the digest %q and digests to %s", own, actual).
			With("recorded_digest", own).With("actual_digest", actual)
	case !spelled(data, &k.Doc.Root):
		return r.refuse(fault.ContractTampered, contractName, "was changed after it was written: "+respelled)
	case actual != stated:
		return r.refuse(fault.AttestationMismatch, contractName, "is not the contract of this run: evidence.json names %s and it is %s", stated, actual).
			With("recorded_digest", stated).With("actual_digest", actual)
	}
	if err := k.CheckSeal(); err != nil {
		return r.refuse(fault.AttestationInvalid, contractName, "is whole, but this build cannot read it: %v", fault.As(err).Message)
	}
	r.sealed.Contract = k
	return nil
}

// checkTogether compares what the parts say about each other.
func (r *reading) checkTogether() error {
	e, a := &r.sealed.Evidence, &r.sealed.Attestation
	// A folder may be copied to any name, but not to that of another run.
	if id := filepath.Base(r.dir); id != e.RunID {
		if _, ok := idMoment(id); ok {
			return r.refuse(fault.AttestationMismatch, evidenceName, "is of run %s and lies in the folder of run %s", e.RunID, id)
		}
	}
	for _, c := range []struct{ what, evidence, attestation string }{
		{"contract_digest", e.ContractDigest, a.ContractDigest},
		{"verdict", string(e.Verdict), string(a.Verdict)},
		{"assurance", string(e.Assurance), string(a.Assurance)},
		{"created_at", e.CreatedAt, a.CreatedAt},
	} {
		if c.evidence != c.attestation {
			return r.refuse(fault.AttestationMismatch, evidenceName, "and attestation.json differ in %s", c.what)
		}
	}
	if !e.consistent() {
		return r.refuse(fault.AttestationMismatch, evidenceName, "states a run_id and a created_at of two moments")
	}
	if e.ContractID != r.sealed.Contract.Contract.ID {
		return r.refuse(fault.AttestationMismatch, evidenceName, "and contract.json differ in contract_id")
	}
	return nil
}

// checkVerdict derives the verdict again.
func (r *reading) checkVerdict() error {
	e := &r.sealed.Evidence
	j := verdict.Judge(verdict.Input{Complete: e.Isolation.Complete, InProcess: e.Isolation.InProcess, Results: e.CheckResults, Required: r.sealed.Contract.Contract.Required()})
	if j.Verdict != e.Verdict || j.Outcome != e.Outcome || j.Assurance != e.Assurance {
		// The message names no verdict: neither of the two can be relied on.
		return r.refuse(fault.AttestationMismatch, evidenceName, "records another verdict, outcome or assurance than its results give")
	}
	r.sealed.Judgement = j
	return nil
}

// refs gives the blobs, by the hex of their digest, that the evidence names, each with its size.
func (r *reading) refs() (map[string]int64, error) {
	out := map[string]int64{}
	add := func(digest string, size int64) error {
		d, err := strictjson.ParseDigest(digest)
		if err != nil || d.String() != digest || size < 0 || size > maxBlob {
			return r.refuse(fault.AttestationMismatch, evidenceName, "names a blob %q that cannot be one", digest)
		}
		if known, ok := out[d.Hex()]; ok && known != size {
			return r.refuse(fault.AttestationMismatch, evidenceName, "names the blob %s with two sizes", digest)
		}
		out[d.Hex()] = size
		return nil
	}
	// The artifacts are those of the results: see checkDerived.
	e := &r.sealed.Evidence
	for i := range e.CheckResults {
		for _, ref := range e.CheckResults[i].EvidenceRefs {
			if err := add(ref.Digest, ref.Bytes); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// takeInventory finds missing blobs and files that do not belong there.
func (r *reading) takeInventory() error {
	refs, err := r.refs()
	if err != nil {
		return err
	}
	// A link in place of the folder would let the blobs be changed elsewhere.
	for _, dir := range []string{blobsName, filepath.Join(blobsName, algorithmName)} {
		if info, err := os.Lstat(filepath.Join(r.dir, dir)); err == nil && !info.IsDir() {
			return r.refuse(fault.BlobTampered, filepath.ToSlash(dir), "is no folder")
		}
	}
	r.blobs = maps.Clone(refs)
	// Sizes are compared before anything is read, so a blob that was blown up
	// costs nothing.
	for hex, size := range refs {
		part := blobsName + "/" + algorithmName + "/" + hex
		f, actual, err := openRegular(filepath.Join(r.dir, filepath.FromSlash(part)))
		if err != nil {
			return r.lost(fault.BlobTampered, part, err)
		}
		if err := f.Close(); err != nil {
			return r.lost(fault.BlobTampered, part, cannotRead(err))
		}
		if actual != size {
			return r.refuse(fault.BlobTampered, part, "has %d bytes and evidence.json names %d", actual, size)
		}
	}
	return r.findUnknown(refs)
}

// findUnknown lists what belongs to no part of a bundle. Below blobs nothing
// may lie but blobs: one that the evidence does not name is listed, and
// digested with the others.
func (r *reading) findUnknown(refs map[string]int64) error {
	r.sealed.Unknown = []string{}
	entries, stray := 0, int64(0)
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entries++; entries > maxEntries {
			return fmt.Errorf("holds more than %d names", maxEntries)
		}
		switch {
		case name == reportsName && d.IsDir():
			return fs.SkipDir
		case d.IsDir() && (name == "." || name == blobsName || name == blobsName+"/"+algorithmName):
			return nil
		case d.Type().IsRegular() && (name == contractName || name == evidenceName || name == attestationName):
			return nil
		case name == sigstoreName && r.sealed.Sigstore != nil:
			// Without a word of it in attestation.json it is what a signing left
			// that was interrupted, and bound by nothing.
			return nil
		}
		if strings.HasPrefix(name, blobsName+"/") {
			hex := strings.TrimPrefix(name, blobsName+"/"+algorithmName+"/")
			if _, known := refs[hex]; known {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if digest, err := strictjson.ParseDigest(hex); err != nil || blobPath(digest) != name || !info.Mode().IsRegular() {
				return r.refuse(fault.BlobTampered, blobsName, "holds a name that is no blob's")
			}
			if stray += info.Size(); stray > maxStray {
				return r.refuse(fault.BlobTampered, blobsName, "holds more than %d bytes that evidence.json does not name", maxStray)
			}
			r.blobs[hex] = info.Size()
		}
		if len(r.sealed.Unknown) < maxUnknown {
			r.sealed.Unknown = append(r.sealed.Unknown, name)
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	var refused *fault.Error
	if err != nil && !errors.As(err, &refused) {
		return r.refuse(fault.AttestationInvalid, "the folder", "%v", plain(err))
	}
	return err
}

// checkBlobs digests every blob that is there.
func (r *reading) checkBlobs() error {
	for hex, size := range r.blobs {
		part := blobsName + "/" + algorithmName + "/" + hex
		if err := checkBlob(filepath.Join(r.dir, filepath.FromSlash(part)), hex, size); err != nil {
			return r.lost(fault.BlobTampered, part, err)
		}
	}
	return nil
}

func checkBlob(path, hex string, size int64) error {
	f, _, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var d strictjson.Digest
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, size+1)); err != nil {
		return cannotRead(err)
	}
	if h.Sum(d[:0]); d.Hex() != hex {
		return fmt.Errorf("was changed after it was written: it digests to %s", d)
	}
	return nil
}

// Blob reads a blob that the evidence names, and digests it once more: files may
// change between two looks.
func (s *Sealed) Blob(ref record.Ref) ([]byte, error) {
	d, err := strictjson.ParseDigest(ref.Digest)
	if err != nil {
		return nil, fault.New(fault.BlobTampered, "", "%q names no blob", ref.Digest)
	}
	part := blobPath(d)
	r := reading{dir: s.Dir}
	data, err := r.file(filepath.FromSlash(part), ref.Bytes)
	if err == nil && strictjson.Sum(data) != d {
		err = errors.New("was changed after it was written")
	}
	if err != nil {
		return nil, r.lost(fault.BlobTampered, part, err)
	}
	return data, nil
}
