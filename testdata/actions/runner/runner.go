package runner

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/verdictgate/verdictgate/testdata/actions/github"
)

// Job is what a step can see of its job.
type Job struct {
	Event   string         // "pull_request"
	Payload map[string]any // of the event
	Ref     string         // refs/pull/1/merge
	SHA     string
	BaseRef string // of a pull request; ""
	HeadRef string

	Repository string // owner/name
	Actor      string // "" is mona
	Name       string // of the job; "" is gate
	Workflow   string // file; "" is gate.yml
	RunID      int64
	Attempt    int // 0 is 1
	Matrix     any // nil for none
	Token      string

	Server, API, Results string
	RuntimeToken         string   // "" for none, as on servers without the service
	IDToken              []string // the variables of a job with id-token: write
	Debug                bool

	Dir       string // of the job on this machine; the folders below are in it
	Workspace string
}

// Step is one step of a job.
type Step struct {
	Job    Job
	Action Action
	Inputs map[string]string
	// Env is what earlier steps put into GITHUB_ENV, and Path what they put first on PATH.
	Env  map[string]string
	Path []string
	// Summary is what the file of the step's summary holds before it starts.
	Summary string

	Program string // on the host; a composite action has its own
	Image   string // in a container instead
	Args    []string
}

// Result is what came of it, as the runner understands it.
type Result struct {
	Exit           int
	Stdout, Stderr string
	Commands       []Command
	Outputs        map[string]string
	Assigned       []Assignment // the outputs in their order, repeated ones too
	Env            []Assignment // for later steps
	Path           string
	Summary        string
	Temp           string // RUNNER_TEMP on this machine
}

// Annotations are those that the runner would show.
func (r Result) Annotations() []Command {
	var out []Command
	count := map[string]int{}
	for _, c := range r.Commands {
		if c.Name != "error" && c.Name != "warning" && c.Name != "notice" {
			continue
		}
		if count[c.Name]++; count[c.Name] <= perKind {
			out = append(out, c)
		}
	}
	return out
}

// maxSummary is what the runner takes of a step's summary; more is dropped, all of it.
const maxSummary = 1 << 20

// files are the command files of a step.
var files = map[string]string{
	"GITHUB_OUTPUT": "set_output", "GITHUB_ENV": "set_env", "GITHUB_PATH": "add_path", "GITHUB_STATE": "save_state", "GITHUB_STEP_SUMMARY": "step_summary",
}

// folders are those of a job, and where a container sees them.
var folders = map[string]string{
	"_temp": "/github/runner_temp", "_temp/_github_home": "/github/home", "_temp/_github_workflow": "/github/workflow", "_temp/_runner_file_commands": "/github/file_commands",
}

// Run runs the step.
func (s *Step) Run(ctx context.Context) (Result, error) {
	for f := range folders {
		if err := os.MkdirAll(filepath.Join(s.Job.Dir, f), 0o755); err != nil {
			return Result{}, err
		}
	}
	event, err := json.Marshal(s.Job.Payload)
	if err != nil {
		return Result{}, err
	}
	if err := os.WriteFile(s.in("_temp/_github_workflow/event.json"), event, 0o644); err != nil {
		return Result{}, err
	}
	for variable, f := range files {
		var text []byte
		if variable == "GITHUB_STEP_SUMMARY" {
			text = []byte(s.Summary)
		}
		if err := os.WriteFile(s.in("_temp/_runner_file_commands/"+f+"_1"), text, 0o666); err != nil {
			return Result{}, err
		}
	}
	env, err := s.environment()
	if err != nil {
		return Result{}, err
	}
	command := append([]string{s.Program}, s.Args...)
	if len(s.Action.Steps) > 0 {
		if command, err = s.composite(env); err != nil {
			return Result{}, err
		}
	}
	// The runner is a user of its own, and a container's program is root.
	if os.Geteuid() == 0 {
		err := filepath.WalkDir(s.Job.Dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, userID, userID)
		})
		if err != nil {
			return Result{}, err
		}
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = s.Job.Workspace
	if s.Image != "" {
		cmd = s.docker(ctx, env)
	} else {
		env["PATH"] = strings.Join(append(slices.Clone(s.Path), os.Getenv("PATH")), ":")
		env["HOME"] = s.in("_temp/_github_home")
		for _, name := range slices.Sorted(maps.Keys(env)) {
			cmd.Env = append(cmd.Env, name+"="+env[name])
		}
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return Result{}, err
	}
	r := Result{Exit: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: said.String(), Temp: s.in("_temp")}
	if err := s.read(&r); err != nil || len(s.Action.Steps) == 0 {
		return r, err
	}
	r.Outputs, err = s.Action.outputs(r.Outputs)
	return r, err
}

// userID is the runner's, and its group's.
const userID = 1001

// OwnedByRoot says whether a file is root's.
func OwnedByRoot(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}

// Temp is RUNNER_TEMP on this machine, and as the step sees it. It is the job's: made by its first
// step, or by whoever puts something there before.
func (s *Step) Temp() (here, there string) {
	if here = s.in("_temp"); s.Image != "" {
		return here, folders["_temp"]
	}
	return here, here
}

func (s *Step) in(name string) string { return filepath.Join(s.Job.Dir, name) }

// read understands what the program left.
func (s *Step) read(r *Result) error {
	// One after the other: how the two streams interleave, nobody knows.
	r.Commands = append(commands(r.Stdout), commands(r.Stderr)...)
	content := map[string]string{}
	for variable, f := range files {
		text, err := os.ReadFile(s.in("_temp/_runner_file_commands/" + f + "_1"))
		if err != nil {
			return err
		}
		content[variable] = string(text)
	}
	var err error
	if r.Assigned, err = assignments(content["GITHUB_OUTPUT"]); err != nil {
		return fmt.Errorf("GITHUB_OUTPUT: %w", err)
	}
	r.Outputs = map[string]string{}
	for _, a := range r.Assigned {
		r.Outputs[a.Name] = a.Value
	}
	if r.Env, err = assignments(content["GITHUB_ENV"]); err != nil {
		return fmt.Errorf("GITHUB_ENV: %w", err)
	}
	r.Path = content["GITHUB_PATH"]
	if r.Summary = content["GITHUB_STEP_SUMMARY"]; len(r.Summary) > maxSummary {
		r.Summary = ""
	}
	return nil
}

// environment is what the runner sets.
func (s *Step) environment() (map[string]string, error) {
	j := s.Job
	or := func(v, otherwise string) string {
		if v == "" {
			return otherwise
		}
		return v
	}
	owner, name, _ := strings.Cut(j.Repository, "/")
	actor, job, workflow := or(j.Actor, "mona"), or(j.Name, "gate"), or(j.Workflow, "gate.yml")
	refName := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(j.Ref, "refs/heads/"), "refs/tags/"), "refs/pull/")
	refType := "branch"
	if strings.HasPrefix(j.Ref, "refs/tags/") {
		refType = "tag"
	}
	env := map[string]string{
		"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_ACTION": "__verdictgate_verdictgate", "GITHUB_ACTION_REPOSITORY": "verdictgate/verdictgate", "GITHUB_ACTION_REF": "v1",
		"GITHUB_ACTOR": actor, "GITHUB_ACTOR_ID": "1", "GITHUB_TRIGGERING_ACTOR": actor, "GITHUB_API_URL": j.API, "GITHUB_GRAPHQL_URL": j.API + "/graphql", "GITHUB_SERVER_URL": j.Server,
		"GITHUB_BASE_REF": j.BaseRef, "GITHUB_HEAD_REF": j.HeadRef, "GITHUB_EVENT_NAME": j.Event, "GITHUB_JOB": job, "GITHUB_REF": j.Ref, "GITHUB_REF_NAME": refName,
		"GITHUB_REF_PROTECTED": "false", "GITHUB_REF_TYPE": refType, "GITHUB_REPOSITORY": j.Repository, "GITHUB_REPOSITORY_ID": "101", "GITHUB_REPOSITORY_OWNER": owner,
		"GITHUB_REPOSITORY_OWNER_ID": "7", "GITHUB_RETENTION_DAYS": "90", "GITHUB_RUN_ATTEMPT": strconv.Itoa(max(j.Attempt, 1)), "GITHUB_RUN_ID": strconv.FormatInt(j.RunID, 10),
		"GITHUB_RUN_NUMBER": "1", "GITHUB_SHA": j.SHA, "GITHUB_WORKFLOW": "gate", "GITHUB_WORKFLOW_REF": j.Repository + "/.github/workflows/" + workflow + "@" + j.Ref,
		"GITHUB_WORKFLOW_SHA": j.SHA, "RUNNER_ARCH": "X64", "RUNNER_ENVIRONMENT": "github-hosted", "RUNNER_NAME": "GitHub Actions 1", "RUNNER_OS": "Linux",
	}
	if j.RuntimeToken != "" {
		env["ACTIONS_RUNTIME_TOKEN"], env["ACTIONS_RUNTIME_URL"], env["ACTIONS_RESULTS_URL"] = j.RuntimeToken, j.Results+"/", j.Results+"/"
		env["ACTIONS_CACHE_URL"] = j.Results + "/"
	}
	for _, v := range j.IDToken {
		k, v, _ := strings.Cut(v, "=")
		env[k] = v
	}
	if j.Debug {
		env["RUNNER_DEBUG"] = "1"
	}
	at := func(f string) string {
		if s.Image != "" {
			return folders[f]
		}
		return s.in(f)
	}
	env["RUNNER_TEMP"], env["GITHUB_EVENT_PATH"], env["GITHUB_WORKSPACE"] = at("_temp"), at("_temp/_github_workflow")+"/event.json", j.Workspace
	env["RUNNER_TOOL_CACHE"] = "/opt/hostedtoolcache"
	if s.Image != "" {
		env["GITHUB_WORKSPACE"], env["HOME"] = "/github/workspace", "/github/home"
	} else {
		env["RUNNER_WORKSPACE"] = filepath.Join(j.Dir, name)
	}
	for variable, f := range files {
		env[variable] = at("_temp/_runner_file_commands") + "/" + f + "_1"
	}
	inputs, err := s.inputs()
	if err != nil {
		return nil, err
	}
	// The runner lets nobody set its own variables.
	for name, v := range s.Env {
		if _, own := env[name]; !own && !strings.HasPrefix(name, "GITHUB_") && !strings.HasPrefix(name, "RUNNER_") {
			env[name] = v
		}
	}
	maps.Copy(env, inputs)
	return env, nil
}

// docker is the runner's own command, with its mounts and no other flags.
func (s *Step) docker(ctx context.Context, env map[string]string) *exec.Cmd {
	args := []string{"run", "--name", "gate-" + filepath.Base(s.Job.Dir) + "-" + strconv.FormatInt(s.Job.RunID, 10) + "-" + strconv.Itoa(os.Getpid()), "--label", "verdictgate-test", "--workdir", "/github/workspace", "--rm"}
	cmd := exec.CommandContext(ctx, "docker")
	for _, name := range slices.Sorted(maps.Keys(env)) {
		args = append(args, "-e", name)
		cmd.Env = append(cmd.Env, name+"="+env[name])
	}
	// The client needs its own PATH and HOME, so those of the container are given in full.
	args = append(args, "-e", "HOME="+env["HOME"])
	cmd.Env = append(slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "HOME=") }), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"))
	args = append(args, "-v", "/var/run/docker.sock:/var/run/docker.sock")
	for _, f := range slices.Sorted(maps.Keys(folders)) {
		args = append(args, "-v", s.in(f)+":"+folders[f])
	}
	args = append(args, "-v", s.Job.Workspace+":/github/workspace", s.Image)
	cmd.Args = append([]string{"docker"}, append(args, s.Args...)...)
	return cmd
}

// Checkout makes a workspace as actions/checkout does: a new repository, one commit
// fetched by its ref, detached, with the token in the repository's configuration.
func Checkout(repo *github.Repo, server, repository, token, ref, sha, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	git := func(args ...string) error {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, github.Env(dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	local := ref
	switch {
	case strings.HasPrefix(ref, "refs/pull/"):
		local = "refs/remotes/pull/" + strings.TrimPrefix(ref, "refs/pull/")
	case strings.HasPrefix(ref, "refs/heads/"):
		local = "refs/remotes/origin/" + strings.TrimPrefix(ref, "refs/heads/")
	}
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"remote", "add", "origin", server + "/" + repository},
		{"config", "http." + server + "/.extraheader", "AUTHORIZATION: basic " + basic},
		{"fetch", "-q", "--no-tags", "--depth=1", "file://" + repo.Dir, "+" + sha + ":" + local},
		{"checkout", "-q", "--force", "--detach", local},
	} {
		if err := git(args...); err != nil {
			return err
		}
	}
	return nil
}
