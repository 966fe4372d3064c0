package bundle

import (
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// SchemaVersion is the version of evidence.json and attestation.json.
const SchemaVersion = 1

// Evidence is evidence.json. docs/evidence.md says what each member means; the
// two are held together by a test. Lists are never null: a reader in a shell
// pipeline should not have to tell an empty list from no list. What may be
// absent is a pointer, and null then.
//
// The ids of the required, passed and attempted checks are not among the
// members: they follow from the contract and the results, and a second copy
// could only disagree. [Sealed] has them, derived.
type Evidence struct {
	SchemaVersion    int                `json:"schema_version"`
	RunID            string             `json:"run_id"`
	CreatedAt        string             `json:"created_at"`
	StartedAt        string             `json:"started_at"`
	EndedAt          string             `json:"ended_at"`
	ContractID       string             `json:"contract_id"`
	ContractDigest   string             `json:"contract_digest"`
	SourceRevision   *string            `json:"source_revision"`
	ContentDigest    *string            `json:"content_digest"`
	CaptureDigest    *string            `json:"capture_digest"`
	Subjects         []Subject          `json:"subjects"`
	Artifacts        []Artifact         `json:"artifacts"`
	CheckResults     []record.Result    `json:"check_results"`
	AdvisoryFindings []strictjson.Value `json:"advisory_findings"`
	Verdict          verdict.Verdict    `json:"verdict"`
	Outcome          verdict.Outcome    `json:"outcome"`
	Assurance        contract.Assurance `json:"assurance"`
	Limitations      []string           `json:"limitations"`
	PolicySnapshot   Policy             `json:"policy_snapshot"`
	Isolation        Isolation          `json:"isolation"`
	Verifier         Verifier           `json:"verifier"`
	Method           string             `json:"method"`
	Tools            []record.Tool      `json:"tools"`
	Cost             Cost               `json:"cost"`
	Exceptions       []strictjson.Value `json:"exceptions"`
}

// Subject is a file that the verdict is about.
type Subject struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"`
}

// Artifact is a file of the bundle; Path is relative to its folder.
type Artifact struct {
	Role   string `json:"role"`
	Path   string `json:"path"`
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"`
}

// Policy is what the run was allowed. The contract states most of it already;
// the roots come from the command line, and nothing else records them.
type Policy struct {
	RequiredAssurance contract.Assurance `json:"required_assurance"`
	AllowedOrigins    []contract.Origin  `json:"allowed_origins"`
	Roots             []string           `json:"roots"` // absolute; the workspace first
	ProposedChecks    []string           `json:"proposed_checks"`
	Change            *Change            `json:"change,omitempty"` // none where nobody said what the change is
}

// Change is where what is judged and what it is judged by came from, as the gate
// learned it from the forge and not from the workspace. It is what a later reader
// compares with what the forge says then. Empty members do not apply.
type Change struct {
	Event          string `json:"event"`      // such as "pull_request"
	Repository     string `json:"repository"` // owner/name
	Number         int    `json:"number"`     // of the pull request; 0 for none
	Head           string `json:"head"`       // the commit that the verdict is for
	Fork           bool   `json:"fork"`       // the head lies in another repository
	BaseRef        string `json:"base_ref"`   // the branch that it would go to
	Base           string `json:"base"`       // its commit
	ContractPath   string `json:"contract_path"`
	ContractCommit string `json:"contract_commit"` // the contract was read there; "" when none was
	RunID          string `json:"run_id"`          // of the workflow
	RunAttempt     string `json:"run_attempt"`
	Job            string `json:"job"`
	Directory      string `json:"directory"` // what was judged of the repository; "." for all of it
}

// Isolation is what stood around the checks, and whether their answer came
// through whole. The verdict depends on both, so whoever derives it again from
// the evidence needs them here.
type Isolation struct {
	InProcess bool               `json:"in_process"`
	Complete  bool               `json:"complete"` // the worker's answer ended with a valid end record
	Failure   string             `json:"failure"`  // why not; "" when it did
	Profiles  []record.Isolation `json:"profiles"`
}

// Verifier is the program that judged. Its digest is what counts; the rest is
// for people.
type Verifier struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Digest   string `json:"digest"` // of the running binary
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Cost is what the run took.
type Cost struct {
	WallSeconds float64 `json:"wall_seconds"`
	CPUSeconds  float64 `json:"cpu_seconds"`
	PeakBytes   int64   `json:"peak_memory_bytes"`
	BytesHashed int64   `json:"bytes_hashed"`
	Requests    int     `json:"requests"`
	Pages       int     `json:"pages"`
	FramesRead  int     `json:"frames_read"`
}

// Attestation is attestation.json: small enough to be signed or mailed around,
// and enough to notice that anything else was changed.
type Attestation struct {
	SchemaVersion      int                `json:"schema_version"`
	BundleDigest       string             `json:"bundle_digest"`
	ContractDigest     string             `json:"contract_digest"`
	Verdict            verdict.Verdict    `json:"verdict"`
	Assurance          contract.Assurance `json:"assurance"`
	CreatedAt          string             `json:"created_at"`
	Host               string             `json:"host"`
	Signature          *string            `json:"signature"`
	SignatureAlgorithm *string            `json:"signature_algorithm"`
	PublicKey          *string            `json:"public_key"`
	SignatureStatus    string             `json:"signature_status"`
	SigstoreDigest     *string            `json:"sigstore_digest"`
	AttestationDigest  string             `json:"attestation_digest"`
}

// The signature statuses. Hashes alone detect a later edit; they say nothing
// about who wrote it. The others say who signed, and are only a claim until
// somebody verifies the signature.
const (
	Unsigned      = "unsigned_hash_bound"
	SignedKey     = "signed_key"
	SignedKeyless = "signed_keyless"
)

// The files of a bundle.
const (
	contractName    = "contract.json"
	evidenceName    = "evidence.json"
	attestationName = "attestation.json"
	sigstoreName    = "attestation.sigstore.json"
	blobsName       = "blobs"
	algorithmName   = "sha256"
	reportsName     = "reports"
)

// blobPath is where a blob lies in a bundle, '/'-separated.
func blobPath(d strictjson.Digest) string {
	return blobsName + "/" + algorithmName + "/" + d.Hex()
}

// attestationDigest is the SHA-256 over an attestation less that very member.
func attestationDigest(root *strictjson.Value) strictjson.Digest {
	bare := root.Without("attestation_digest")
	return strictjson.DigestOf(&bare)
}

// outputDigest binds what a result says: its status, what was expected and
// observed, the summary and the error, as they stand in evidence.json.
func outputDigest(status, expected, observed, summary, problem *strictjson.Value) strictjson.Digest {
	v := strictjson.Obj(
		strictjson.Member{Name: "status", Value: *status}, strictjson.Member{Name: "expected", Value: *expected},
		strictjson.Member{Name: "observed", Value: *observed}, strictjson.Member{Name: "summary", Value: *summary},
		strictjson.Member{Name: "error", Value: *problem})
	return strictjson.DigestOf(&v)
}
