package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// Action is what a step needs of an action.yml.
type Action struct {
	Inputs  map[string]string // name and default, with its expressions
	Outputs []string
	Args    []string // of a Docker action

	// Of a composite one: its steps, where each output is from, and the folder that it came in.
	Steps  []CompositeStep
	Values map[string]string
	Folder string
}

// ReadAction reads an action.yml.
func ReadAction(file string) (Action, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Action{}, err
	}
	var doc struct {
		Inputs map[string]struct {
			Default string `yaml:"default"`
		} `yaml:"inputs"`
		Outputs map[string]struct {
			Value string `yaml:"value"`
		} `yaml:"outputs"`
		Runs struct {
			Args  []string        `yaml:"args"`
			Steps []CompositeStep `yaml:"steps"`
		} `yaml:"runs"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return Action{}, fmt.Errorf("%s: %w", file, err)
	}
	a := Action{Inputs: map[string]string{}, Args: doc.Runs.Args, Steps: doc.Runs.Steps, Values: map[string]string{}, Folder: filepath.Dir(file)}
	for name, in := range doc.Inputs {
		a.Inputs[name] = in.Default
	}
	for name, out := range doc.Outputs {
		a.Outputs, a.Values[name] = append(a.Outputs, name), out.Value
	}
	return a, nil
}

// given are the values of the inputs: all of the action's, whether they have a
// value or not, and those that the step gives.
func (s *Step) given() (map[string]string, error) {
	values := map[string]string{}
	for name, text := range s.Action.Inputs {
		v, err := s.evaluate(text)
		if err != nil {
			return nil, fmt.Errorf("the default of %s: %w", name, err)
		}
		values[name] = v
	}
	for name, v := range s.Inputs {
		if _, there := values[name]; !there && len(values) > 0 {
			return nil, fmt.Errorf("the action has no input %q", name)
		}
		values[name] = v
	}
	return values, nil
}

// inputs are the variables that a Docker action gets them as.
func (s *Step) inputs() (map[string]string, error) {
	values, err := s.given()
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for name, v := range values {
		env["INPUT_"+strings.ToUpper(strings.ReplaceAll(name, " ", "_"))] = v
	}
	return env, nil
}

// evaluate knows the expressions that defaults of inputs may have.
func (s *Step) evaluate(text string) (string, error) {
	before, rest, ok := strings.Cut(text, "${{")
	if !ok {
		return text, nil
	}
	expression, after, ok := strings.Cut(rest, "}}")
	if !ok {
		return "", fmt.Errorf("%q is not closed", text)
	}
	var value string
	switch e := strings.ToLower(strings.Join(strings.Fields(expression), "")); e {
	case "github.token":
		value = s.Job.Token
	case "tojson(matrix)":
		indented, err := json.MarshalIndent(s.Job.Matrix, "", "  ")
		if err != nil {
			return "", err
		}
		value = string(indented)
	case "github.event.workflow_run.id":
		run, _ := s.Job.Payload["workflow_run"].(map[string]any)
		if id, ok := run["id"]; ok {
			value = fmt.Sprint(id)
		}
	default:
		return "", fmt.Errorf("the expression %q is not known here", expression)
	}
	after, err := s.evaluate(after)
	return before + value + after, err
}
