package policy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Subject is a file that is about to be shipped.
type Subject struct {
	Name   string            `json:"name"` // as it was named; its last part is what is compared
	Digest strictjson.Digest `json:"digest"`
}

// HashSubjects digests the files to ship, a piece at a time. Only regular files
// are: what can be read from a FIFO or a device is not what is shipped.
func HashSubjects(ctx context.Context, names []string) ([]Subject, error) {
	var out []Subject
	for _, name := range names {
		d, err := patiently(ctx, func() (strictjson.Digest, error) { return hashFile(ctx, name) })
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			var pe *fs.PathError
			if errors.As(err, &pe) {
				err = pe.Err
			}
			return nil, fault.New(fault.Usage, "Pass --subject with regular files that can be read.", "the file to ship %q could not be looked at: %v", name, err).With("subject", name)
		}
		out = append(out, Subject{name, d})
	}
	return out, nil
}

// patiently ends with its context even where a read does not: there are regular
// files that block, such as the kernel's.
func patiently(ctx context.Context, hash func() (strictjson.Digest, error)) (strictjson.Digest, error) {
	type result struct {
		digest strictjson.Digest
		err    error
	}
	done := make(chan result, 1)
	go func() {
		d, err := hash()
		done <- result{d, err}
	}()
	select {
	case r := <-done:
		return r.digest, r.err
	case <-ctx.Done():
		return strictjson.Digest{}, ctx.Err()
	}
}

func hashFile(ctx context.Context, name string) (d strictjson.Digest, err error) {
	before, err := os.Stat(name)
	if err != nil {
		return d, err
	}
	if !before.Mode().IsRegular() {
		return d, errors.New("it is no regular file")
	}
	// A FIFO that has taken its place by now must not hold this up.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return d, err
	}
	defer f.Close()
	// What was opened may not be what was looked at.
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		return d, errors.Join(errors.New("it was replaced while it was read"), err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, &untilDone{ctx, f}); err != nil {
		return d, err
	}
	h.Sum(d[:0])
	return d, nil
}

// untilDone ends a long read with its context.
type untilDone struct {
	ctx  context.Context
	from io.Reader
}

func (r *untilDone) Read(data []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(data)
}

// bind finds each file to ship among what was judged, by its digest and its base
// name: the digest alone would let two files that were judged change places.
func bind(s *bundle.Sealed, files []Subject) error {
	judged := seal.SubjectsOf(s)
	released := len(s.Evidence.Subjects) > 0
	for _, f := range files {
		if why, mend := unbound(judged, released, s.Attestation.BundleDigest, f); why != "" {
			return fault.New(fault.SubjectMismatch, mend, "%q is not what the verdict is about: %s", f.Name, why).
				With("identity", "subject").With("subject", f.Name).With("digest", f.Digest.String())
		}
	}
	return nil
}

// unbound says why a file is none of those that were judged, and what to do; ""
// when it is one.
func unbound(judged []seal.Subject, released bool, evidence string, f Subject) (why, mend string) {
	base := filepath.Base(f.Name)
	sameBytes, sameName, nearer := "", "", ""
	for _, j := range judged {
		bytes, name := j.Digest["sha256"] == f.Digest.Hex(), path.Base(j.Name) == base
		switch {
		case bytes && name:
			// Where several files of that name were judged (linux/app, windows/app), the
			// folders tell which one this is, and it must be that one's bytes.
			if nearer = nearerTo(f.Name, j, judged); nearer == "" {
				return "", ""
			}
		case bytes:
			sameBytes = j.Name
		case name:
			sameName = j.Digest["sha256"]
		}
	}
	switch {
	case nearer != "":
		return fmt.Sprintf("by its name it may be %q, and it has the bytes of another file of that name that was judged", nearer),
			"If it is the one that you mean, name it by as many of its folders as tell them apart."
	case sameBytes != "":
		return fmt.Sprintf("its bytes were judged, but under the name %q", sameBytes),
			"Ship it under that name, or judge it under this one."
	case sameName != "":
		return fmt.Sprintf("a file of that name was judged, but with other bytes: sha256:%s, and this is %s", sameName, f.Digest), ""
	case released && f.Digest.String() == evidence:
		return "it is the evidence, and this verdict is about release artifacts", "Pass the files that are shipped."
	case !released:
		return "the run was about no release artifact; its statement binds evidence.json" + commitToo(judged) + " alone", "Judge again, with --subject and the files that are shipped."
	}
	return "neither a file of that name nor one with its bytes was judged: " + list(judged), ""
}

// nearerTo names a judged file of other bytes that a name may just as well mean as
// this one: it has the same base name, and the folders do not tell them apart. ""
// when there is none.
func nearerTo(name string, this seal.Subject, judged []seal.Subject) string {
	// Where it lies tells which one it is, also when it is named from inside its folder.
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	for _, other := range judged {
		same := other.Digest["sha256"] == this.Digest["sha256"] || path.Base(other.Name) != path.Base(this.Name)
		if !same && common(name, other.Name) >= common(name, this.Name) {
			return other.Name
		}
	}
	return ""
}

// common counts the last parts that two paths have in common.
func common(a, b string) int {
	x, y := strings.Split(filepath.ToSlash(a), "/"), strings.Split(b, "/")
	n := 0
	for n < min(len(x), len(y)) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

func commitToo(judged []seal.Subject) string {
	if len(judged) > 1 {
		return " and the commit"
	}
	return ""
}

// maxListed is how many subjects a message names.
const maxListed = 5

func list(judged []seal.Subject) string {
	var names []string
	for i, j := range judged {
		if i == maxListed {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%q", j.Name))
	}
	return "it was " + strings.Join(names, ", ")
}
