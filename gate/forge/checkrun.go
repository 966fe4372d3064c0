package forge

// CheckRun is a completed check-run in the API's own words.
//
// Source: https://docs.github.com/en/rest/checks/runs
type CheckRun struct {
	Name        string
	HeadSHA     string // 40 hex digits
	ExternalID  string // tells the run of one attempt from that of another
	DetailsURL  string // "" for GitHub's own page
	Conclusion  Conclusion
	Title       string // at most 255 characters
	Summary     string // Markdown, at most 65,535 bytes
	Text        string // the same; may be empty
	Annotations []Annotation
}

// Conclusion is how a check-run ended. GitHub knows more words; those that let a
// change past a required check without saying that it is good (neutral, skipped)
// are left out on purpose.
type Conclusion string

// The conclusions that the gate uses.
const (
	Success        Conclusion = "success"
	Failure        Conclusion = "failure"
	ActionRequired Conclusion = "action_required"
)

// Annotation is a remark on lines of a file of the change.
type Annotation struct {
	Path                   string // relative to the repository, '/'-separated
	StartLine, EndLine     int    // from 1
	StartColumn, EndColumn int    // from 1, 0 for none; only where both lines are the same
	Level                  Level
	Title                  string // at most 255 characters
	Message                string // at most 64 KB
	RawDetails             string // the same; may be empty
}

// Level is how grave an annotation is.
type Level string

// The levels, as the API spells them.
const (
	Notice  Level = "notice"
	Warning Level = "warning"
	Grave   Level = "failure"
)
