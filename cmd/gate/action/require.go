package action

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/policy"
	"github.com/verdictgate/verdictgate/reporter/github"
)

// flags of `gate require` that are inputs of the same name. Those of files are
// relative to the workspace.
var (
	requireTexts = []string{"contract-digest", "certificate-identity", "certificate-identity-regexp", "certificate-oidc-issuer", "certificate-oidc-issuer-regexp",
		"build-signer-uri", "build-signer-digest", "source-repository", "source-revision", "verifier-digest", "assurance", "max-age"}
	requireFiles = []string{"contract", "key", "trusted-root"}
)

// require is the release side: `gate require` with its flags from the inputs, and
// the bundle from a folder or from an artifact.
func (s *Step) require(ctx context.Context) int {
	var decision policy.Decision
	status, err := s.required(ctx, &decision)
	if err != nil {
		return s.refuse(fault.As(err))
	}
	log := s.console()
	out := []github.Output{{Name: "verdict", Value: string(decision.Verdict)}, {Name: "outcome", Value: string(decision.Outcome)},
		{Name: "assurance", Value: string(decision.Assurance)}, {Name: "run-id", Value: decision.RunID},
		{Name: "contract-digest", Value: decision.Contract.String()}, {Name: "json", Value: encode(decision)}}
	if decision.Verdict == "" {
		out = []github.Output{{Name: "verdict"}, {Name: "outcome", Value: string(github.Refused)}}
	}
	if err := github.WriteOutputs(s.Env("GITHUB_OUTPUT"), out); err != nil {
		_ = log.Error(err.Error())
		return s.StatusOfFault(fault.BackendFailed)
	}
	return status
}

func (s *Step) required(ctx context.Context, decision *policy.Decision) (int, error) {
	in := &inputs{env: s.Env}
	path, done, err := s.bundle(ctx, in)
	if err != nil {
		return 0, err
	}
	defer done()
	args := []string{"require", path}
	for _, name := range requireTexts {
		if v := in.text(name); v != "" {
			args = append(args, "--"+name+"="+v)
		}
	}
	for _, name := range requireFiles {
		if v := in.text(name); v != "" {
			if name == "key" && strings.Contains(v, "://") {
				args = append(args, "--key="+v) // of a KMS
				continue
			}
			args = append(args, "--"+name+"="+s.inWorkspace([]string{v})[0])
		}
	}
	subjects, err := s.subjects(in)
	if err != nil {
		return 0, err
	}
	for _, f := range subjects {
		args = append(args, "--subject="+f)
	}
	if in.err != nil {
		return 0, in.err
	}
	// Once for a program and once for people: the answer is the same.
	var told, shown bytes.Buffer
	status := s.Command(ctx, append(slices.Clone(args), "--format=json"), &told, &told)
	again := s.Command(ctx, args, &shown, &shown)
	s.console().say(shown.String())
	if again != status {
		return 0, fault.New(fault.BackendFailed, "Run it again.", "gate require ended with %d and with %d", status, again)
	}
	if status > 1 {
		return status, nil // a refusal, which is shown
	}
	if err := json.Unmarshal(told.Bytes(), decision); err != nil {
		return 0, fault.New(fault.BackendFailed, "", "the answer of gate require cannot be read: %v", err).Because(err)
	}
	return status, nil
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
