// Package bundletest makes bundles for the tests of those who read them: real
// ones, written and read back by package bundle, of a run that never was.
package bundletest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Revision is the commit of the run.
var Revision = strings.Repeat("ab", 20)

// Ended is when the run ended.
var Ended = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// Contract gives a frozen contract with the members given, and the checks "a"
// and "build", required, and "hint", advisory.
func Contract(t testing.TB, members string) *contract.File {
	t.Helper()
	doc, err := strictjson.Parse([]byte(`{"schema_version":1,`+members+`"frozen_at":"2026-11-30T00:00:00.000000Z","checks":[
		{"id":"a","type":"file_exists","params":{"path":"a"}},
		{"id":"build","type":"command_exit","params":{"command":["true"]}},
		{"id":"hint","type":"file_exists","required":false,"params":{"path":"h"}}]}`), strictjson.ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	doc.Root.Set("digest", strictjson.Str(strictjson.DigestOf(&doc.Root).String()))
	k, err := contract.ReadFrozen("contract.json", strictjson.Canonical(&doc.Root))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Content is a run whose required checks passed and whose advisory one failed,
// judged in isolation, about the release artifact dist/app.tgz with the bytes "app".
func Content(t testing.TB) bundle.Content {
	t.Helper()
	k := Contract(t, `"contract_id":"release of the app",`)
	c := bundle.Content{
		Contract: k, Started: Ended.Add(-time.Minute), Ended: Ended,
		Isolation: bundle.Isolation{Complete: true, Profiles: []record.Isolation{{Profile: "reading"}, {Profile: "command"}}}, Roots: []string{"/ws"},
		SourceRevision: Revision, ContentDigest: strictjson.Sum([]byte("content")).String(),
		Subjects:    []bundle.Subject{{Name: "dist/app.tgz", Digest: strictjson.Sum([]byte("app")).String(), Bytes: 3}},
		Limitations: []string{"check hint is advisory, not verified"},
		Verifier:    bundle.Verifier{Name: "verdictgate", Version: "v1.2.3", Digest: strictjson.Sum([]byte("gate")).String(), Go: "go1.26", Platform: "linux/amd64"},
	}
	for i, status := range []record.Status{record.Pass, record.Pass, record.Fail} {
		check := &k.Contract.Checks[i]
		c.Answers = append(c.Answers, record.Answer{Index: i, Result: record.Result{
			CheckID: check.ID, Type: check.Type, Required: check.Required, Status: status, Summary: "seen", Method: "deterministic",
			Expected: strictjson.Boolean(true), Observed: strictjson.Boolean(true), InputDigest: check.Input().String(),
			StartedAt: record.Time(Ended), EndedAt: record.Time(Ended), DurationSeconds: 0.25,
		}})
	}
	c.Answers[1].Blobs = []record.Blob{{Role: "stdout", Data: []byte("built\n")}}
	c.Answers[1].Result.Tool = &record.Tool{Name: "true", Path: "/bin/true", Digest: strictjson.Sum([]byte("true")).String(), Version: "9.1"}
	return c
}

// Write writes a bundle and reads it back.
func Write(t testing.TB, c bundle.Content) *bundle.Sealed {
	t.Helper()
	written, err := bundle.Write(t.TempDir(), c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := bundle.Read(written.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Add puts a file into a bundle and reads it back.
func Add(t testing.TB, s *bundle.Sealed, name string, data []byte) *bundle.Sealed {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := bundle.Read(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
