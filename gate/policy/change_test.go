package policy_test

import (
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/policy"
)

func aChange() bundle.Change {
	return bundle.Change{Event: "pull_request", Repository: "acme/shop", Number: 7, Head: strings.Repeat("a", 40), BaseRef: "main", Base: strings.Repeat("b", 40),
		ContractPath: ".gate/contracts/c.json", ContractCommit: strings.Repeat("b", 40), RunID: "11", RunAttempt: "2", Job: "gate", Directory: "."}
}

// TestAnotherChange: a verdict for one change is none for another, however little
// the two differ.
func TestAnotherChange(t *testing.T) {
	for what, differ := range map[string]func(c *bundle.Change){
		"":                         func(*bundle.Change) {},
		"repository":               func(c *bundle.Change) { c.Repository = "mallory/shop" },
		"pull request 7":           func(c *bundle.Change) { c.Number = 8 },
		"the head is":              func(c *bundle.Change) { c.Head = strings.Repeat("c", 40) },
		"base branch":              func(c *bundle.Change) { c.BaseRef = "anything" },
		"the base is":              func(c *bundle.Change) { c.Base = strings.Repeat("c", 40) },
		"commit of the contract":   func(c *bundle.Change) { c.ContractCommit = strings.Repeat("a", 40) },
		"path of the contract":     func(c *bundle.Change) { c.ContractPath = ".gate/contracts/d.json" },
		"the workflow run is":      func(c *bundle.Change) { c.RunID = "10" },
		"the attempt is":           func(c *bundle.Change) { c.RunAttempt = "1" },
		"the directory is":         func(c *bundle.Change) { c.Directory = "made/up" },
		"the evidence is about no": nil,
	} {
		s := keyed(t)
		want := aChange()
		s.policy.Change, s.policy.Subjects = &want, nil
		if differ != nil {
			judged := aChange()
			differ(&judged)
			s.content.Change = &judged
		} else {
			what = "about none"
		}
		d, err := s.check()
		switch f := fault.As(err); {
		case what == "" && (err != nil || d.RunID == ""):
			t.Errorf("the very change is refused: %v", err)
		case what != "" && (f.Code != fault.SourceMismatch || f.Details["identity"] != "change" || !strings.Contains(f.Message, what)):
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A change without a head is none, and lets no bundle through that is about no file.
func TestAChangeNeedsItsHead(t *testing.T) {
	s := keyed(t)
	judged := aChange()
	s.content.Change = &judged
	s.policy.Subjects, s.policy.Change = nil, &bundle.Change{Repository: judged.Repository}
	if _, err := s.check(); fault.As(err).Code != fault.Usage {
		t.Errorf("%v", err)
	}
	s.policy.Subjects = []policy.Subject{}
	if _, err := s.check(); fault.As(err).Code != fault.Usage {
		t.Errorf("%v", err)
	}
}
