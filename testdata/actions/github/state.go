package github

import (
	"fmt"
	"slices"
)

// Pull is a pull request.
type Pull struct {
	Number     int
	BaseRef    string // without refs/heads/
	Base, Head string // commits
	HeadRef    string
	Fork       string // owner/name of the fork that the head lies in; "" for the repository itself
	Author     string
	Closed     bool
	Merge      string // commit that the runner checks out
}

// CheckRun is one that was posted, whole.
type CheckRun struct {
	ID                                       int64
	App                                      string
	Name, HeadSHA, ExternalID, DetailsURL    string
	Status, Conclusion, Title, Summary, Text string
	Annotations                              []Annotation
}

// Annotation is one of a check-run.
type Annotation struct {
	Path        string  `json:"path"`
	StartLine   int     `json:"start_line"`
	EndLine     int     `json:"end_line"`
	StartColumn *int    `json:"start_column"`
	EndColumn   *int    `json:"end_column"`
	Level       string  `json:"annotation_level"`
	Title       *string `json:"title"`
	Message     string  `json:"message"`
	RawDetails  *string `json:"raw_details"`
}

// Run is a run of a workflow.
type Run struct {
	ID                  int64
	Attempt             int
	Event               string
	HeadSHA, HeadBranch string
	Path                string // of the workflow; "" is .github/workflows/gate.yml
	HeadRepository      string // "" is the repository itself
	Status, Conclusion  string // "" is completed, success
	Called              []Called
}

// Called is a reusable workflow that a run called.
type Called struct{ Path, Ref, SHA string }

// Artifact is one of a run.
type Artifact struct {
	ID      int64
	Name    string
	Size    int64
	Digest  string
	Expired bool
	URL     string // where its bytes are
}

// Open opens a pull request. What it gives has a number, and refs in the repository
// as GitHub has them.
func (s *Server) Open(baseRef, head string, p Pull) (Pull, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	base, ok := s.config.Repo.Resolve("refs/heads/" + baseRef)
	if !ok {
		return p, fmt.Errorf("there is no branch %q", baseRef)
	}
	p.Number, p.BaseRef, p.Base, p.Head = len(s.pulls)+1, baseRef, base, head
	if p.HeadRef == "" {
		p.HeadRef = "feature"
	}
	if p.Author == "" {
		p.Author = "mona"
	}
	var err error
	if p.Merge, err = s.config.Repo.Merge(base, head); err != nil {
		return p, err
	}
	if p.Fork == "" {
		if err := s.config.Repo.SetRef("refs/heads/"+p.HeadRef, head); err != nil {
			return p, err
		}
	}
	for ref, commit := range map[string]string{"head": head, "merge": p.Merge} {
		if err := s.config.Repo.SetRef(fmt.Sprintf("refs/pull/%d/%s", p.Number, ref), commit); err != nil {
			return p, err
		}
	}
	s.pulls = append(s.pulls, &p)
	return p, nil
}

// Pulled changes a pull request.
func (s *Server) Pulled(number int, change func(*Pull)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.pulls[number-1])
}

// AddRun makes a run known.
func (s *Server) AddRun(r Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Attempt == 0 {
		r.Attempt = 1
	}
	s.runs[r.ID] = &r
}

// CheckRuns are those that were posted, in their order.
func (s *Server) CheckRuns() []CheckRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []CheckRun
	for _, c := range s.checks {
		one := *c
		one.Annotations = slices.Clone(c.Annotations)
		out = append(out, one)
	}
	return out
}

// Attestations are how many were stored.
func (s *Server) Attestations() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.attestations)
}
