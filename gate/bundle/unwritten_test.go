package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// TestPermissionsAreRestored does what a judged command can: it closes the
// folders that the evidence goes to.
func TestPermissionsAreRestored(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	p, err := Begin(data)
	if err != nil {
		t.Fatal(err)
	}
	chmod := func(mode os.FileMode) {
		for _, dir := range []string{p.partial, p.parent, data} {
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := content(t)
	for i := range c.Answers {
		chmod(0)
		if err := p.Receive(&c.Answers[i]); err != nil {
			t.Fatal(err)
		}
	}
	chmod(0o555)
	sealed, err := p.Seal(c)
	if err != nil {
		t.Fatal(err)
	}
	dir := sealed.Dir
	for _, name := range []string{data, filepath.Dir(dir), dir} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o700 != 0o700 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if told := strings.Join(s.Evidence.Limitations, "\n"); !strings.Contains(told, "permissions of the data folder were changed") {
		t.Error(told)
	}
}

func TestUnwrittenTellsWhatWasFound(t *testing.T) {
	data := t.TempDir()
	p, err := Begin(data)
	if err != nil {
		t.Fatal(err)
	}
	c := content(t)
	c.Answers[2].Result.Summary = "saw " + ghp
	if err := p.Receive(&c.Answers[1]); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	_, err = p.Seal(c)
	var u *Unwritten
	if !errors.As(err, &u) {
		t.Fatal(err)
	}
	e := u.Evidence
	if e.Verdict != verdict.Undecided || e.Outcome != verdict.Error || len(u.Judgement.Passed) > 0 || len(e.CheckResults) != 3 || len(e.Artifacts) > 0 {
		t.Errorf("%+v", e)
	}
	if strings.Contains(e.CheckResults[2].Summary, ghp) {
		t.Error("what is told of an unwritten run is not redacted")
	}
}

// TestLostBlobs: an answer whose blobs find no room is told, and never sealed.
func TestLostBlobs(t *testing.T) {
	data := t.TempDir()
	p, err := Begin(data)
	if err != nil {
		t.Fatal(err)
	}
	blobs := filepath.Join(p.partial, "blobs")
	if err := os.WriteFile(blobs, nil, 0o644); err != nil { // in the place of the folder
		t.Fatal(err)
	}
	c := content(t)
	c.Answers[0].Result.Observed = value(`"` + strings.Repeat("x", 2*maxInline) + `"`)
	for i := range c.Answers {
		if err := p.Receive(&c.Answers[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(blobs); err != nil {
		t.Fatal(err)
	}
	_, err = p.Seal(c)
	var u *Unwritten
	if !errors.As(err, &u) || len(u.Evidence.CheckResults) != 3 || len(u.Evidence.CheckResults[1].EvidenceRefs) > 0 {
		t.Fatalf("%v", err)
	}
	if told := strings.Join(u.Evidence.Limitations, "\n"); strings.Contains(told, "in a blob") {
		t.Errorf("a blob is promised that is nowhere: %s", told)
	}
	if whole, partial := visible(t, data); len(whole)+len(partial) > 0 {
		t.Errorf("left: %v %v", whole, partial)
	}
}

// TestSealLooksAgain: what does not stand on the disk as it was written is no
// evidence, and the run has none.
func TestSealLooksAgain(t *testing.T) {
	for _, name := range []string{contractName, evidenceName, attestationName, "blob"} {
		data := t.TempDir()
		c := content(t)
		before := step
		step = func(at string) {
			if at != "sync the parent" {
				return
			}
			all, err := filepath.Glob(filepath.Join(data, "verifications", "*", name))
			if name == "blob" {
				all, err = filepath.Glob(filepath.Join(data, "verifications", "*", blobsName, algorithmName, "*"))
			}
			if err != nil || len(all) == 0 {
				t.Fatalf("%v %v", all, err)
			}
			text, err := os.ReadFile(all[0])
			if err == nil {
				text[len(text)/2] ^= 1
				err = os.WriteFile(all[0], text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s, err := Write(data, c)
		step = before
		var u *Unwritten
		if !errors.As(err, &u) || codeOf(err) != fault.BackendFailed || s != nil {
			t.Errorf("%s was changed at once, and: %v", name, err)
		}
	}
}
