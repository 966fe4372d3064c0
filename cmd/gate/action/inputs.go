package action

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// inputs reads the inputs of a step and remembers what is wrong with them.
//
// The runner passes each as a variable: upper-case, spaces turned into
// underscores, dashes kept; one without a value is empty.
type inputs struct {
	env func(string) string
	err error
}

// declared are the inputs of each way, as its action.yml has them: host/action.yml's are
// those of judge.
var declared = map[string][]string{
	Judge: {"annotations", "artifact", "artifact-name", "attestations", "check-name", "check-run", "contract-digests", "contracts", "directory", "matrix",
		"proposed", "retention-days", "roots", "sign", "signing-config", "subjects", "token", "trusted-refs", "trusted-root"},
	Sign: {"attestations", "check-name", "contract-digests", "contracts", "directory", "judged", "matrix", "retention-days", "roots", "signing-config",
		"subjects", "token", "trusted-refs", "trusted-root"},
	Verify: {"artifact-name", "build-signer-digest", "certificate-identity", "certificate-oidc-issuer", "check-name", "contract-digests", "contracts",
		"directory", "roots", "run-id", "subjects", "token", "trusted-refs", "trusted-root"},
	Require: {"artifact-id", "artifact-name", "assurance", "build-signer-digest", "build-signer-uri", "bundle", "certificate-identity",
		"certificate-identity-regexp", "certificate-oidc-issuer", "certificate-oidc-issuer-regexp", "contract", "contract-digest", "key", "max-age",
		"run-id", "source-repository", "source-revision", "subjects", "token", "trusted-root", "verifier-digest"},
}

// only gives an environment without inputs that a way does not have. The runner sets
// those that the action declares, and an earlier step may have planted any other.
func only(way string, env func(string) string) func(string) string {
	return func(name string) string {
		input, ok := strings.CutPrefix(name, "INPUT_")
		if ok && !slices.ContainsFunc(declared[way], func(d string) bool { return strings.ToUpper(d) == input }) {
			return ""
		}
		return env(name)
	}
}

func (in *inputs) text(name string) string {
	return strings.TrimSpace(in.env("INPUT_" + strings.ToUpper(name)))
}

// lines gives the lines of an input without their margins, comments (#) and
// empty ones left out.
func (in *inputs) lines(name string) []string {
	var out []string
	for line := range strings.Lines(in.env("INPUT_" + strings.ToUpper(name))) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// yes reads an input that is true or false, as YAML 1.2 spells them.
func (in *inputs) yes(name string, otherwise bool) bool {
	switch v := in.text(name); v {
	case "":
		return otherwise
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	default:
		in.wrong(name, "Write true or false.", "%q is neither true nor false", v)
		return otherwise
	}
}

// oneOf reads an input that has one of a few values, the first being the default.
func (in *inputs) oneOf(name string, values ...string) string {
	v := in.text(name)
	if v == "" {
		return values[0]
	}
	if !slices.Contains(values, v) {
		in.wrong(name, "Write "+strings.Join(values, ", ")+", or leave it out.", "it cannot be %q", v)
	}
	return v
}

// number reads an input that counts something; 0 when there is none.
func (in *inputs) number(name string, most int) int {
	v := in.text(name)
	if v == "" {
		return 0
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		in.wrong(name, "Write a whole number from 1 to "+strconv.Itoa(most)+".", "it cannot be %q", v)
	}
	return n
}

// duration reads an input that is a time span; 0 when there is none.
func (in *inputs) duration(name string) time.Duration {
	v := in.text(name)
	if v == "" {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		in.wrong(name, "Write a duration such as 36h or 90m; days are no unit.", "it cannot be %q", v)
	}
	return d
}

// id reads an input that names something by its number; 0 when there is none.
func (in *inputs) id(name string) int64 {
	v := in.text(name)
	if v == "" {
		return 0
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 {
		in.wrong(name, "Pass the number that GitHub shows.", "%q is no id", v)
	}
	return n
}

// needed reads an input that must have a value.
func (in *inputs) needed(name, mend string) string {
	v := in.text(name)
	if v == "" {
		in.wrong(name, mend, "it is missing")
	}
	return v
}

// wrong keeps the first thing that is wrong.
func (in *inputs) wrong(name, mend, format string, args ...any) {
	if in.err == nil {
		in.err = fault.New(fault.ActionInputInvalid, mend, "the input "+name+": "+format, args...).With("input", name)
	}
}
