// Package fault is the floor that everything stands on: the stable error
// codes of the gate and the one error type that carries them.
//
// A fault says four things: a code that never changes its meaning, what is
// wrong, how to mend it, and the details a program needs (file, line, column,
// digests). Codes are append-only: a code that was released is never reused
// for something else. The table in docs/errors.md is generated from [Codes].
package fault

import (
	"errors"
	"fmt"
)

// Code is a stable error code such as "verify.contract_tampered".
type Code string

// The codes of this build. Add at the end of a group, never rename.
const (
	ContractUnreadable    Code = "verify.contract_unreadable"
	ContractInvalid       Code = "verify.contract_invalid"
	ContractEmpty         Code = "verify.contract_empty"
	ContractNotFrozen     Code = "verify.contract_not_frozen"
	ContractAlreadyFrozen Code = "verify.contract_already_frozen"
	ContractTampered      Code = "verify.contract_tampered"
	WorkspaceUnresolved   Code = "verify.workspace_unresolved"
	AssuranceUnavailable  Code = "verify.assurance_unavailable"
	RunNotFound           Code = "verify.run_not_found"
	AttestationInvalid    Code = "verify.attestation_invalid"
	AttestationTampered   Code = "verify.attestation_tampered"
	AttestationMismatch   Code = "verify.attestation_mismatch"
	BlobTampered          Code = "verify.blob_tampered"
	SignatureInvalid      Code = "verify.signature_invalid"
	CheckRefused          Code = "verify.check_refused"
	CheckMalformed        Code = "verify.check_malformed"
	CheckCrashed          Code = "verify.check_crashed"
	ToolMissing           Code = "verify.tool_missing"
	Timeout               Code = "verify.timeout"
	BackendFailed         Code = "verify.backend_failed"
	Usage                 Code = "verify.usage"
	TargetUnreadable      Code = "verify.target_unreadable"
	LimitExceeded         Code = "verify.limit_exceeded"
	DependencyUnmet       Code = "verify.dependency_unmet"
	SigningUnavailable    Code = "verify.signing_unavailable"
	TrustUnavailable      Code = "verify.trust_unavailable"
	SubjectMismatch       Code = "verify.subject_mismatch"
	VerifierMismatch      Code = "verify.verifier_mismatch"
	ContractMismatch      Code = "verify.contract_mismatch"
	SourceMismatch        Code = "verify.source_mismatch"
	AgeRefused            Code = "verify.age_refused"
	UnknownFile           Code = "verify.unknown_file"
	PolicyUnmet           Code = "verify.policy_unmet"

	ZipRefused Code = "artifact.zip_refused"

	ActionInputInvalid        Code = "action.input_invalid"
	ActionEventUnsupported    Code = "action.event_unsupported"
	ActionBaseUntrusted       Code = "action.base_untrusted"
	ActionContractUnavailable Code = "action.contract_unavailable"
	ActionContractMissing     Code = "action.contract_missing"
	ActionContractUnpinned    Code = "action.contract_unpinned"
	ActionCheckoutUnknown     Code = "action.checkout_unknown"
	ActionUntrustedCheckout   Code = "action.untrusted_checkout"
	ActionPermissionMissing   Code = "action.permission_missing"
	ActionForgeUnreachable    Code = "action.forge_unreachable"
	ActionReportFailed        Code = "action.report_failed"
	ActionUploadFailed        Code = "action.upload_failed"
	ActionNameTaken           Code = "action.name_taken"
	ActionEvidenceRefused     Code = "action.evidence_refused"
)

// Info is one row of the table of codes.
type Info struct {
	Code    Code
	Refusal bool   // true: ends the command with exit 2; false: stands in a check's error
	Meaning string // one sentence
	Mend    string // one sentence
}

// Codes lists every code of this build, in the order of the constants above.
func Codes() []Info { return codes[:] }

var codes = [...]Info{
	{ContractUnreadable, true, "The contract could not be read, or is not JSON.", "Check the path; the message names the line and column of the first byte that is no JSON."},
	{ContractInvalid, true, "The document is JSON but no valid contract.", "Run `gate lint` on it: it lists every problem with its place and its mend."},
	{ContractEmpty, true, "The contract holds no check and no expectation, so it could decide nothing.", "Add at least one check."},
	{ContractNotFrozen, true, "A draft cannot judge: the contract carries no digest.", "Run `gate freeze DRAFT -o FROZEN` and run the frozen file."},
	{ContractAlreadyFrozen, true, "The contract is frozen already.", "Run it as it is, or make a new revision with `gate revise FROZEN DRAFT -o NEW`."},
	{ContractTampered, true, "The contract was edited after it was frozen: its digest does not match its content.", "Restore the frozen file, or make a new revision with `gate revise`."},
	{WorkspaceUnresolved, true, "There is no workspace to judge: --dir is missing, or names no folder.", "Pass --dir with the folder to judge; the gate never guesses one."},
	{AssuranceUnavailable, true, "The contract requires an assurance level that this run cannot give.", "Run `gate assurance` to see what this machine can give, and what is missing."},
	{RunNotFound, true, "There is no such run in the data folder.", "Run `gate list`, or pass the --data-dir that the run was written to."},
	{AttestationInvalid, true, "attestation.json or evidence.json is missing, unreadable or malformed.", "Take the bundle from where it was first written; do not repair it by hand."},
	{AttestationTampered, true, "evidence.json or attestation.json was changed after it was written.", "Take the bundle from where it was first written and run `gate show` again."},
	{AttestationMismatch, true, "The parts of the bundle do not belong together.", "Take the bundle from where it was first written; the message names the parts that disagree."},
	{BlobTampered, true, "A blob is missing, or its bytes do not digest to its name.", "Take the bundle from where it was first written; the message names the blob."},
	{SignatureInvalid, true, "The bundle claims a signature that does not verify.", "Take the bundle from where it was signed; the message names what differs."},
	{CheckRefused, false, "The policy does not allow looking there: a path outside the roots, an origin that is not listed.", "Name a path inside the workspace, or pass --root for a further folder."},
	{CheckMalformed, false, "The check cannot be evaluated as it is written.", "Mend the check's parameters in the draft and freeze a new revision."},
	{CheckCrashed, false, "The check, or the process that ran it, crashed.", "Report it with the evidence bundle; nothing can be concluded from this check."},
	{ToolMissing, false, "A program that the check needs is not on this machine.", "Install it; the message names what was looked for and where."},
	{Timeout, false, "The check did not end within its timeout, and was stopped with its whole process tree.", "Raise timeout_seconds in the contract, or make the target faster."},
	{BackendFailed, true, "The verifier itself failed: its worker ended early, or the bundle could not be written.", "Read the message; if it is not a full disk or a permission, report it."},
	{Usage, true, "The command line is wrong.", "Run the command with --help."},
	{TargetUnreadable, false, "The target is there but could not be examined: no permission, busy, or it changed while it was read.", "Make it readable for the user that the check ran as; the message names both."},
	{LimitExceeded, false, "The target is larger or deeper than the gate examines.", "The message names the limit; judge a smaller part."},
	{DependencyUnmet, false, "A check named in depends_on did not pass, so this one was not run.", "Mend the check that it depends on."},
	{SigningUnavailable, true, "The run could not be signed: its bundle, if there is one, is kept and called unsigned.", "The message names the step that failed; mend it and run `gate sign RUN`."},
	{TrustUnavailable, true, "What signatures are verified by could not be had, so nothing was said about the signature.", "Pass --key or --trusted-root with a file that can be read; see docs/signing.md."},
	{SubjectMismatch, true, "A file is not what the verdict is about: other bytes, or another name.", "Ship the files that were judged, or judge the files that you ship."},
	{VerifierMismatch, true, "Another verifier judged than the policy asks for.", "Judge with the verifier that the policy names, or pass the digest of the one that you trust."},
	{ContractMismatch, true, "The run was judged by another contract than the policy asks for.", "Judge by the contract that was agreed, or pass the contract that you mean."},
	{SourceMismatch, true, "The evidence is about another commit than the policy asks for.", "Judge the commit that you release; evidence of one commit says nothing about another."},
	{AgeRefused, true, "The evidence is older than the policy allows, or states a moment that has not come.", "Judge again; for a moment in the future, set the clocks right."},
	{UnknownFile, true, "The bundle holds a file that no gate puts there, so nothing binds it.", "Take the bundle from where it was first written; the message names the file."},
	{PolicyUnmet, true, "The bundle is whole, but it lacks something that the policy asks for.", "The message names the requirement and what was found instead."},
	{ZipRefused, true, "The zip archive is none that can be unpacked safely, or it is too large.", "Upload the folder of the run as it is; the message names the entry."},
	{ActionInputInvalid, true, "An input of the Action has no meaning.", "The message names the input and what it may be; docs/action.md lists them."},
	{ActionEventUnsupported, true, "The Action was started by an event, or outside of a job, in which it cannot say what the change is.", "Start it from one of the events that docs/action.md lists, as a step of a GitHub workflow."},
	{ActionBaseUntrusted, true, "The pull request goes to a branch whose contracts nobody said to trust.", "Open it against a trusted branch, or name the branch in the input trusted-refs of a workflow that the change cannot edit."},
	{ActionContractUnavailable, true, "The contract at the trusted commit could not be read, so nothing could be judged by it.", "The message names the reason; a token that may read contents is the usual one."},
	{ActionContractMissing, true, "There is no contract at the trusted commit.", "Merge a frozen contract first, in a change of its own; or correct the input contracts."},
	{ActionContractUnpinned, true, "The contract at the trusted commit is none of those whose digests are pinned.", "Restore the contract, or change the input contract-digests."},
	{ActionCheckoutUnknown, true, "The workspace is not at a commit of the change that the check-run would be for.", "Check out the event's own commit before the gate, and commit nothing to it."},
	{ActionUntrustedCheckout, true, "The head of a foreign change lies in the workspace of a job that has secrets, and a check would start its programs.", "Judge it on pull_request, where the job has no secrets."},
	{ActionPermissionMissing, true, "The token may not do what is needed.", "Add the permission that the message names to the job's permissions."},
	{ActionForgeUnreachable, true, "GitHub's API gave no usable answer, although it was asked again.", "Run the job again; the message has the last answer."},
	{ActionReportFailed, true, "The verdict could not be delivered to where it is looked for.", "Run the job again; the evidence is kept, and the log names its folder."},
	{ActionUploadFailed, true, "The evidence could not be uploaded.", "Run the job again; the evidence is kept, and the log names its folder."},
	{ActionNameTaken, true, "Another job of this workflow run has posted a check-run of this name for this commit.", "Give each job a check-name of its own, or pass its matrix."},
	{ActionEvidenceRefused, true, "What the first stage uploaded does not prove a verdict for this change.", "The message names what is missing or what differs; judge the change in the workflow that is pinned."},
}

// Error is a fault with its code.
type Error struct {
	Code    Code
	Message string         // what is wrong, and where
	Fix     string         // how to mend it
	Details map[string]any // JSON-encodable; nil when there is nothing to add
	cause   error
}

// New makes a fault. The fix may be empty: the code's own mend is used then.
func New(code Code, fix, format string, args ...any) *Error {
	if fix == "" {
		for _, i := range codes {
			if i.Code == code {
				fix = i.Mend
			}
		}
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Fix: fix}
}

// With adds one detail and returns the fault.
func (e *Error) With(key string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[key] = value
	return e
}

// Because records the error that led to this fault and returns the fault.
func (e *Error) Because(err error) *Error { e.cause = err; return e }

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap gives the error that led to this fault.
func (e *Error) Unwrap() error { return e.cause }

// ErrElsewhere says that what is asked for is not linked into this program but
// into the one that it carries, which must be asked instead: see package carry.
var ErrElsewhere = errors.New("what is asked for is linked into the carried program only")

// As returns the fault inside err, or a backend_failed fault that carries err.
func As(err error) *Error {
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	return New(BackendFailed, "", "%v", err).Because(err)
}
