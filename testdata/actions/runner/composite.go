package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// CompositeStep is a step of a composite action: one that runs a script, or one that
// uses actions/github-script.
type CompositeStep struct {
	ID    string            `yaml:"id"`
	Uses  string            `yaml:"uses"`
	Shell string            `yaml:"shell"`
	Run   string            `yaml:"run"`
	Env   map[string]string `yaml:"env"`
	With  struct {
		Script string `yaml:"script"`
	} `yaml:"with"`
}

// told are the outputs that a script of actions/github-script takes from the variables
// that the runner gives to actions alone.
var told = regexp.MustCompile(`core\.setOutput\('([^']*)', process\.env\.([A-Z_]+)\)`)

// composite makes what the last step of a composite action is started with of the variables that a
// Docker action would get: its inputs are no variables, nor is what only actions are told.
func (s *Step) composite(env map[string]string) (command []string, err error) {
	values, err := s.given()
	if err != nil {
		return nil, err
	}
	context := map[string]string{"github.action_path": s.Action.Folder}
	for name, v := range values {
		context["inputs."+name] = v
		delete(env, "INPUT_"+strings.ToUpper(name))
	}
	last := s.Action.Steps[len(s.Action.Steps)-1]
	for _, step := range s.Action.Steps[:len(s.Action.Steps)-1] {
		if !strings.HasPrefix(step.Uses, "actions/github-script@") {
			return nil, fmt.Errorf("the step %q is not known here", step.ID)
		}
		for _, m := range told.FindAllStringSubmatch(step.With.Script, -1) {
			context["steps."+step.ID+".outputs."+m[1]] = env[m[2]]
		}
	}
	for _, name := range []string{"ACTIONS_RUNTIME_TOKEN", "ACTIONS_RUNTIME_URL", "ACTIONS_RESULTS_URL", "ACTIONS_CACHE_URL"} {
		delete(env, name)
	}
	env["GITHUB_ACTION_PATH"] = s.Action.Folder
	for name, text := range last.Env {
		if env[name], err = replaced(text, context); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if strings.Contains(last.Run, "${{") {
		return nil, fmt.Errorf("an expression stands in a script: %s", last.Run)
	}
	script := filepath.Join(s.in("_temp"), "script.sh")
	if err := os.WriteFile(script, []byte(last.Run), 0o644); err != nil {
		return nil, err
	}
	for _, word := range strings.Fields(last.Shell) {
		command = append(command, strings.ReplaceAll(word, "{0}", script))
	}
	return command, nil
}

// outputs are those of a composite action, from those of its last step.
func (a Action) outputs(of map[string]string) (map[string]string, error) {
	context := map[string]string{}
	id := a.Steps[len(a.Steps)-1].ID
	for _, name := range a.Outputs {
		context["steps."+id+".outputs."+name] = of[name]
	}
	out := map[string]string{}
	for name, text := range a.Values {
		var err error
		if out[name], err = replaced(text, context); err != nil {
			return nil, fmt.Errorf("the output %s: %w", name, err)
		}
	}
	return out, nil
}

// expression is all that a text of a composite action may be, or nothing of it.
var expression = regexp.MustCompile(`^\$\{\{ *([A-Za-z0-9_.-]+) *\}\}$`)

func replaced(text string, context map[string]string) (string, error) {
	m := expression.FindStringSubmatch(text)
	if m == nil && strings.Contains(text, "${{") {
		return "", fmt.Errorf("the expression %q is not known here", text)
	}
	if m == nil {
		return text, nil
	}
	v, known := context[m[1]]
	if !known {
		return "", fmt.Errorf("there is no %s", m[1])
	}
	return v, nil
}
