package runner

import (
	"fmt"
	"slices"
	"strings"
)

// Command is a workflow command that the runner would obey.
type Command struct {
	Name       string
	Properties map[string]string
	Data       string
}

// known are the commands of the runner; the rest is text.
var known = []string{
	"add-mask", "add-matcher", "remove-matcher", "add-path", "debug", "warning", "error", "notice", "echo", "endgroup", "group",
	"internal-set-repo-path", "save-state", "set-env", "set-output", "stop-commands",
}

// perKind is how many annotations of one kind the runner takes of a step.
const perKind = 10

// commands reads what a program wrote as the runner does, which ends a line at CR, too.
func commands(output string) []Command {
	var out []Command
	stopped := ""
	lines := strings.FieldsFunc(output, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, l := range lines {
		if stopped != "" {
			if c, ok := parse(l, []string{stopped}); ok && c.Name == stopped {
				stopped = ""
			}
			continue
		}
		c, ok := parse(l, known)
		if !ok {
			continue
		}
		if c.Name == "stop-commands" {
			stopped = c.Data
			continue
		}
		out = append(out, c)
	}
	return out
}

// parse reads one line, in the present spelling (::name k=v::data) or the old one
// (##[name k=v;]data), which may stand anywhere.
func parse(l string, names []string) (Command, bool) {
	if text, ok := strings.CutPrefix(strings.TrimLeft(l, " \t"), "::"); ok {
		if head, data, ok := strings.Cut(text, "::"); ok {
			if c, ok := command(head, ",", names, newEscapes); ok {
				c.Data = unescape(data, newData)
				return c, true
			}
		}
	}
	if _, text, ok := strings.Cut(l, "##["); ok {
		if head, data, ok := strings.Cut(text, "]"); ok {
			if c, ok := command(head, ";", names, oldEscapes); ok {
				c.Data = unescape(data, oldEscapes)
				return c, true
			}
		}
	}
	return Command{}, false
}

func command(head, separator string, names []string, escapes []string) (Command, bool) {
	name, rest, _ := strings.Cut(head, " ")
	name = strings.ToLower(name)
	if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
		return Command{}, false
	}
	for _, n := range names {
		if strings.EqualFold(n, name) {
			name = n
		}
	}
	c := Command{Name: name, Properties: map[string]string{}}
	for _, p := range strings.Split(rest, separator) {
		if k, v, ok := strings.Cut(strings.TrimSpace(p), "="); ok && v != "" {
			c.Properties[k] = unescape(v, escapes)
		}
	}
	return c, true
}

var (
	newData    = []string{"%0D", "\r", "%0A", "\n", "%25", "%"}
	newEscapes = []string{"%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%"}
	oldEscapes = []string{"%3B", ";", "%0D", "\r", "%0A", "\n", "%5D", "]", "%25", "%"}
)

func unescape(s string, pairs []string) string {
	for i := 0; i < len(pairs); i += 2 {
		s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
	}
	return s
}

// Assignment is one name and value out of a command file.
type Assignment struct{ Name, Value string }

// assignments reads a command file: NAME=VALUE, or NAME<<DELIMITER, lines, DELIMITER.
func assignments(file string) ([]Assignment, error) {
	var out []Assignment
	lines := strings.Split(strings.ReplaceAll(strings.TrimSuffix(file, "\n"), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if l == "" {
			continue
		}
		equals, heredoc := strings.Index(l, "="), strings.Index(l, "<<")
		switch {
		case equals >= 0 && (heredoc < 0 || equals < heredoc):
			out = append(out, Assignment{l[:equals], l[equals+1:]})
		case heredoc > 0:
			name, end := l[:heredoc], l[heredoc+2:]
			var value []string
			closed := false
			for i++; i < len(lines); i++ {
				if lines[i] == end {
					closed = true
					break
				}
				value = append(value, lines[i])
			}
			if !closed {
				return out, fmt.Errorf("the delimiter %q of %q is never met", end, name)
			}
			out = append(out, Assignment{name, strings.Join(value, "\n")})
		default:
			return out, fmt.Errorf("the line %q is no assignment", l)
		}
	}
	return out, nil
}
