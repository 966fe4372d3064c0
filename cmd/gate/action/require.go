package action

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/gate/seal"
	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/reporter/github"
)

// releaseOutputs are those that require/action.yml has.
var releaseOutputs = []string{"verdict", "outcome", "assurance", "run-id", "bundle-digest", "contract-digest", "json"}

// require is the release side: `gate require` with its policy from the inputs, and
// the bundle from a folder or from an artifact.
func (s *Step) require(ctx context.Context) int {
	in := &inputs{env: s.Env}
	d, trust, err := s.decide(ctx, in)
	if err != nil {
		return s.refuse(fault.As(err))
	}
	status, text := s.Release(d, trust)
	s.console().say(text)
	return gravest([]int{status, s.assign([]github.Output{
		{Name: "verdict", Value: string(d.Verdict)}, {Name: "outcome", Value: string(d.Outcome)}, {Name: "assurance", Value: string(d.Assurance)}, {Name: "run-id", Value: d.RunID},
		{Name: "bundle-digest", Value: d.Bundle}, {Name: "contract-digest", Value: d.Contract.String()}, {Name: "json", Value: encode(d)},
	})})
}

// refuse tells of a release that is refused: nothing is said of its verdict then.
func (s *Step) refuse(f *fault.Error) int {
	j := &judging{Step: s, in: judgeInputs{checkName: "gate require"}}
	r := &run{refusal: secret.Fault(f)}
	t := &telling{judging: j, log: j.console(), posted: true}
	check := t.tell(context.Background(), r)
	t.statuses = append(t.statuses, j.status(r))
	if err := github.WriteSummary(s.Env("GITHUB_STEP_SUMMARY"), github.JobSummary([]forge.CheckRun{check}, true)); err != nil {
		t.undelivered("the summary of the job", fault.As(err))
	}
	all, err := github.Outputs([]github.Result{j.result(r)}, t.delivery)
	if err != nil {
		t.undelivered("the outputs of the step", fault.As(err)) // the others are whole
	}
	all = slices.DeleteFunc(all, func(o github.Output) bool { return !slices.Contains(releaseOutputs, o.Name) })
	return gravest(append(t.statuses, s.assign(all)))
}

// assign writes outputs, and gives the exit status that this leaves.
func (s *Step) assign(all []github.Output) int {
	if err := github.WriteOutputs(s.Env("GITHUB_OUTPUT"), all); err != nil {
		_ = s.console().Error(err.Error())
		return s.StatusOfFault(fault.BackendFailed)
	}
	return 0
}

// decide holds the bundle against the policy, once.
func (s *Step) decide(ctx context.Context, in *inputs) (policy.Decision, seal.Trust, error) {
	var none policy.Decision
	path, done, err := s.bundle(ctx, in)
	if err != nil {
		return none, seal.Trust{}, err
	}
	defer done()
	subjects, err := s.subjects(in)
	if err != nil {
		return none, seal.Trust{}, err
	}
	trust := seal.Trust{
		Key: in.text("key"), TrustedRoot: s.fileOf(in, "trusted-root"), Env: s.environment, Warn: s.warn,
		Identity: seal.Identity{Subject: in.text("certificate-identity"), SubjectPattern: in.text("certificate-identity-regexp"),
			Issuer: in.text("certificate-oidc-issuer"), IssuerPattern: in.text("certificate-oidc-issuer-regexp")},
	}
	if !strings.Contains(trust.Key, "://") { // which is one of a KMS
		trust.Key = s.fileOf(in, "key")
	}
	r := gate.Requirement{
		Bundle: path, Subjects: subjects, Contract: s.fileOf(in, "contract"), ContractDigest: in.text("contract-digest"), VerifierDigest: in.text("verifier-digest"), Env: s.environment,
		Policy: policy.Policy{Trust: trust, Source: in.text("source-revision"), Repository: in.text("source-repository"), Assurance: contract.Assurance(in.text("assurance")), MaxAge: in.duration("max-age"),
			Workflow: policy.Workflow{URI: in.text("build-signer-uri"), Digest: in.text("build-signer-digest")}},
	}
	if in.err != nil {
		return none, trust, in.err
	}
	d, err := s.Gate.Require(ctx, r)
	return d, trust, err
}

// fileOf is the path that an input gives; "" for none.
func (s *Step) fileOf(in *inputs, name string) string {
	if v := in.text(name); v != "" {
		return s.inWorkspace([]string{v})[0]
	}
	return ""
}

// bundle finds the bundle: the input names a folder or an archive, or an artifact.
// done removes what was downloaded.
func (s *Step) bundle(ctx context.Context, in *inputs) (path string, done func(), err error) {
	if path = in.text("bundle"); path != "" {
		if in.text("artifact-id") != "" || in.text("artifact-name") != "" {
			in.wrong("bundle", "Pass one of them.", "the bundle is named twice: by bundle and as an artifact")
		}
		return s.inWorkspace([]string{path})[0], func() {}, in.err
	}
	dir, err := s.scratch("require")
	if err != nil {
		return "", nil, fault.New(fault.BackendFailed, "", "there is no folder for the bundle: %v", err).Because(err)
	}
	done = func() { os.RemoveAll(dir) }
	client, err := s.connect(in.needed("token", "Leave it out, or pass a token that is not empty."))
	if err == nil {
		err = in.err
	}
	if err == nil {
		path = filepath.Join(dir, "bundle.zip")
		err = s.fetch(ctx, client, in, path)
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return path, done, nil
}

// subjects are the files to ship, with their globs expanded. A line that stands for
// no file is refused: nothing would be checked for it.
func (s *Step) subjects(in *inputs) ([]string, error) {
	var out []string
	for _, pattern := range s.inWorkspace(in.lines("subjects")) {
		found, err := doublestar.FilepathGlob(pattern, doublestar.WithFilesOnly(), doublestar.WithFailOnIOErrors())
		if err != nil || len(found) == 0 {
			in.wrong("subjects", "Name the files that are about to be shipped.", "%s is no file", pattern)
			return nil, in.err
		}
		out = append(out, found...)
	}
	return out, nil
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
