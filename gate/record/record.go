// Package record owns the wire format and the words of a result: what a check
// reports, what travels between the gate and its worker, and what is written
// into evidence.json. Nothing else defines a field of these.
package record

import (
	"time"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Status is the answer of one check.
type Status string

const (
	Pass         Status = "pass"
	Fail         Status = "fail"         // examined, and false
	Inconclusive Status = "inconclusive" // could not be examined
	Broken       Status = "error"        // the check or the verifier is defective
)

// Passed is true, false, or nil when nothing was learned.
func (s Status) Passed() *bool {
	var b bool
	switch s {
	case Pass:
		b = true
	case Fail:
	default:
		return nil
	}
	return &b
}

// Problem is the error of a check: a stable code, what is wrong, how to mend it.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Fix     string `json:"fix"`
}

// Ref names a blob in the bundle: what it is, its digest, its size in bytes.
type Ref struct {
	Role   string `json:"role"` // "stdout", "stderr", …
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"`
	Note   string `json:"note,omitempty"` // for instance that the middle was cut out
}

// Tool is a program that a check relied on.
type Tool struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Version string `json:"version,omitempty"`
}

// Finding is one place where a check looked and found the statement false:
// what an annotation is made of. File is relative to the workspace; Line and
// Column count from 1, and 0 says that there is none.
type Finding struct {
	Message string `json:"message"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Pointer string `json:"pointer,omitempty"` // RFC 6901, inside File
}

// Attempt is one try of a check that has a retry.
type Attempt struct {
	Status          Status  `json:"status"`
	Summary         string  `json:"summary"`
	DurationSeconds float64 `json:"duration_seconds"`
}

// Result is what one check reports; the shape of a member of check_results.
type Result struct {
	CheckID         string           `json:"check_id"`
	Type            string           `json:"type"`
	Required        bool             `json:"required"`
	Proposed        bool             `json:"proposed,omitempty"`
	Status          Status           `json:"status"`
	Passed          *bool            `json:"passed"`
	Expected        strictjson.Value `json:"expected"`
	Observed        strictjson.Value `json:"observed"`
	Summary         string           `json:"summary"`
	Findings        []Finding        `json:"findings,omitempty"`
	EvidenceRefs    []Ref            `json:"evidence_refs"`
	Attempts        []Attempt        `json:"attempts,omitempty"`
	StartedAt       string           `json:"started_at"`
	EndedAt         string           `json:"ended_at"`
	DurationSeconds float64          `json:"duration_seconds"`
	Error           *Problem         `json:"error"`
	Tool            *Tool            `json:"tool"`
	InputDigest     string           `json:"input_digest"`
	OutputDigest    string           `json:"output_digest"`
	Method          string           `json:"method"` // "deterministic"
}

// Time writes a moment the one way that the gate writes it: UTC, microseconds.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
