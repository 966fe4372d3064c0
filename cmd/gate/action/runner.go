package action

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate/change"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// maxEvent bounds the event's file, in bytes: GitHub cuts payloads at 25 MB.
const maxEvent = 32 << 20

// runner gives what the workflow's runner says of the job.
func (s *Step) runner() (change.Runner, error) {
	r := change.Runner{
		Event: s.Env("GITHUB_EVENT_NAME"), Repository: s.Env("GITHUB_REPOSITORY"), Ref: s.Env("GITHUB_REF"), SHA: s.Env("GITHUB_SHA"),
		RunID: s.Env("GITHUB_RUN_ID"), RunAttempt: s.Env("GITHUB_RUN_ATTEMPT"), Job: s.Env("GITHUB_JOB"),
	}
	if r.Event != "pull_request_target" {
		return r, nil
	}
	// The only event that says nowhere else which pull request it is about.
	var event struct {
		Number int `json:"number"`
	}
	if err := s.event(&event); err != nil {
		return r, fault.New(fault.ActionEventUnsupported, "", "the event's file cannot be read: %v", err).Because(err)
	}
	r.Number = event.Number
	return r, nil
}

// event decodes the event's file. Earlier steps can have written it.
func (s *Step) event(to any) error {
	name := s.Env("GITHUB_EVENT_PATH")
	if name == "" {
		return errors.New("GITHUB_EVENT_PATH is not set")
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewDecoder(io.LimitReader(f, maxEvent)).Decode(to)
}

// workspace gives the folder to judge, and where it lies in the repository.
func (s *Step) workspace(in *inputs) (dir, prefix string, err error) {
	top := s.Env("GITHUB_WORKSPACE")
	if top == "" {
		return "", "", fault.New(fault.ActionEventUnsupported, "", "GITHUB_WORKSPACE is not set: this is no step of a workflow on GitHub")
	}
	prefix = filepath.Clean(in.text("directory"))
	if !filepath.IsLocal(prefix) {
		in.wrong("directory", "Write a folder of the workspace, relative to it.", "%q does not lie in the workspace", prefix)
		return "", "", in.err
	}
	return filepath.Join(top, prefix), filepath.ToSlash(prefix), nil
}

// inWorkspace makes the paths of an input absolute: they are relative to the
// workspace.
func (s *Step) inWorkspace(names []string) []string {
	var out []string
	for _, n := range names {
		if !filepath.IsAbs(n) {
			n = filepath.Join(s.Env("GITHUB_WORKSPACE"), n)
		}
		out = append(out, n)
	}
	return out
}

// plain makes the paths of an input absolute, and refuses one that leads through a link
// of the workspace or of the job's temporary folder: where a link there leads, the
// change says, or an earlier step, and not who wrote the input.
func (s *Step) plain(in *inputs, name string, paths []string) []string {
	out := s.inWorkspace(paths)
	for i, path := range out {
		for _, top := range []string{s.Env("GITHUB_WORKSPACE"), s.temp()} {
			if link, ok := throughLink(top, path); ok {
				in.wrong(name, "Name the file or folder itself.", "%q leads through the symbolic link %q", paths[i], link)
			}
		}
	}
	return out
}

// throughLink says whether a path below a folder is a symbolic link or leads through
// one, and names that, relative to the folder.
func throughLink(top, path string) (link string, ok bool) {
	below, err := filepath.Rel(top, path)
	if top == "" || err != nil || !filepath.IsLocal(below) {
		return "", false
	}
	at := ""
	for _, part := range strings.Split(below, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		if info, err := os.Lstat(filepath.Join(top, at)); at != "." && err == nil && info.Mode()&os.ModeSymlink != 0 {
			return at, true
		}
	}
	return "", false
}

// protected are the folders through which the runner speaks with steps: no command
// writes there.
func (s *Step) protected() []string {
	var out []string
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "GITHUB_EVENT_PATH"} {
		if file := s.Env(name); filepath.IsAbs(file) {
			out = append(out, filepath.Dir(file))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// temp is the folder that ends with the job.
func (s *Step) temp() string {
	if top := s.Env("RUNNER_TEMP"); top != "" {
		return top
	}
	return os.TempDir()
}

// scratch makes a folder there, outside the workspace.
func (s *Step) scratch(what string) (string, error) {
	return os.MkdirTemp(s.temp(), "gate-"+what+"-")
}
