package github

import (
	"path"
	"regexp"
	"strings"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
)

// Facts are what a check-run says beside what stands in the run's evidence.
type Facts struct {
	CheckName  string // first word of the check-run's name, such as "verdict"
	ContractID string // of the name; Render takes the view's when it is ""
	BaseRef    string // the branch whose contract judges, such as "main"; "" leaves it out
	BaseSHA    string
	HeadSHA    string // the commit that the check-run is for
	Matrix     string // values of the job's matrix, as MatrixValues gives them; "" for none
	ExternalID string

	ContractPath   string // in the repository
	ContractCommit string // the commit that it was read at
	ContractText   []byte // as read there; to find a check's line and its folder

	ArtifactURL    string // the uploaded evidence; "" when there is none
	ArtifactDigest string // of the archive
	BundleDigest   string
	RunURL         string // the log of the job

	// Docs is the tag or commit of this program's sources, whose documentation is
	// linked; "" is the newest one.
	Docs string
	// Overall makes the check-run the overall one: what it tells is all that there is.
	Overall bool

	Notes []string // what the reader must know beside the limitations: a missing permission, why nothing was signed
	Edits []Edit   // what the change does to contracts, exceptions and approvals
	// Undelivered is why the evidence or a report could not be delivered: such a
	// run is never shown as a success, whatever its verdict.
	Undelivered *fault.Error

	Workspace Workspace
}

// page is the address of a page of the documentation.
func (f *Facts) page(name string) string {
	at := f.Docs
	if !release.MatchString(at) {
		at = "main"
	}
	return "https://github.com/verdictgate/verdictgate/blob/" + at + "/docs/" + name
}

// release is a tag or a commit of the sources.
var release = regexp.MustCompile(`^(?:v[0-9]+\.[0-9]+\.[0-9]+(?:-rc\.[0-9]+)?|[0-9a-f]{40})$`)

// Edit is a change to a file by which verdicts are made. It was not used.
type Edit struct {
	Path    string // in the repository
	Line    int    // from 1; 0 for none
	Message string // "" for the usual words
}

// Workspace is the change's files, for places. Paths are those of the repository,
// '/'-separated and clean. A nil function finds nothing.
type Workspace struct {
	Prefix string // the judged folder in the repository; "" or "." when it is the repository
	Root   string // absolute path of the repository where commands saw it, such as /github/workspace; "" when unknown
	Exists func(path string) bool
	Open   func(path string) ([]byte, error)
	Blob   func(ref record.Ref) ([]byte, error) // evidence that stands outside of evidence.json
}

// repositoryPath gives the path in the repository of a file as the judged side
// names it, from the folder within the judged one; "" when that is no file of the
// change, or its name is one that cannot be shown as it is.
func (w Workspace) repositoryPath(folder, name string) string {
	if w.Exists == nil || name == "" || len(name) > maxScannedLine || annotationText(name) != name || strings.ContainsAny(name, "\n\t") {
		return ""
	}
	full := ""
	if strings.HasPrefix(name, "/") {
		inside, ok := strings.CutPrefix(path.Clean(name), strings.TrimRight(w.Root, "/")+"/")
		if !ok || w.Root == "" {
			return ""
		}
		full = inside
	} else {
		if strings.HasPrefix(folder, "/") {
			inside, ok := strings.CutPrefix(path.Clean(folder)+"/", strings.TrimRight(w.Root, "/")+"/")
			if !ok || w.Root == "" {
				return ""
			}
			full = path.Join(inside, name)
		} else {
			full = path.Join(w.Prefix, folder, name)
		}
	}
	if full == "." || full == ".." || strings.HasPrefix(full, "../") || strings.HasPrefix(full, "/") || full == ".git" || strings.HasPrefix(full, ".git/") {
		return ""
	}
	if !w.Exists(full) {
		return ""
	}
	return full
}

// read gives a file of the repository, or nil.
func (w Workspace) read(name string) []byte {
	if w.Open == nil || name == "" {
		return nil
	}
	data, err := w.Open(name)
	if err != nil || len(data) > maxOpened {
		return nil
	}
	return data
}

// Result is what became of one contract, in the shape of the outputs.
type Result struct {
	ContractID      string             `json:"contract_id"`
	ContractPath    string             `json:"contract_path"`
	ContractDigest  string             `json:"contract_digest"`
	Verdict         Verdict            `json:"verdict"` // "" when nothing was judged
	Outcome         Outcome            `json:"outcome"`
	Assurance       contract.Assurance `json:"assurance"`
	RunID           string             `json:"run_id"`
	BundleDigest    string             `json:"bundle_digest"`
	ArtifactID      string             `json:"artifact_id"`
	ArtifactURL     string             `json:"artifact_url"`
	CheckRunURL     string             `json:"check_run_url"`
	BundlePath      string             `json:"bundle_path"`
	SignatureStatus string             `json:"signature_status"`
	Error           *record.Problem    `json:"error"` // why it was refused, or could not be delivered

	// Title is its check-run's, and Name what that is called.
	Title string `json:"-"`
	Name  string `json:"-"`
}
