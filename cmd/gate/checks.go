package main

import (
	"bytes"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// checkType is what is told of a check type.
type checkType struct {
	Type    string      `json:"type"`
	Summary string      `json:"summary"`
	Since   int         `json:"since"`
	Profile string      `json:"profile"`
	Tool    string      `json:"tool"`
	Params  []parameter `json:"params"`
}

type parameter struct {
	Name     string            `json:"name"`
	Type     string            `json:"type"`
	Required bool              `json:"required"`
	Default  *strictjson.Value `json:"default,omitempty"`
	Enum     []string          `json:"enum,omitempty"`
	Since    int               `json:"since"`
	Doc      string            `json:"doc"`
}

func (c *cli) checksCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "checks",
		Short: "List the check types of this build",
		Long: `checks lists the check types of this build: what each one decides, its parameters,
the profile of the sandbox that it runs in, and what it needs on this machine.
A type that is not listed does not exist here. --format markdown gives a page for docs.`,
		Example: `  gate checks
  gate checks --format markdown > checks.md`,
		Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			if err := c.gate.Types.Linked(); err != nil {
				return err
			}
			all := describe(c.gate.Types)
			switch c.format {
			case formatJSON:
				return c.document(map[string]any{"checks": all})
			case formatMarkdown:
				return c.write(c.out, checksMarkdown(all))
			}
			return c.write(c.out, c.checksText(all))
		},
	}
}

func describe(types plan.Types) []checkType {
	all := []checkType{}
	for _, t := range types {
		d := checkType{Type: t.Name, Summary: t.Summary(), Since: t.Since, Params: []parameter{}}
		d.Profile, d.Tool = needs(t)
		for _, f := range strictjson.FieldsOf(t.Params) {
			p := parameter{Name: f.Name, Type: typeName(f), Required: f.Need, Enum: f.Enum, Since: f.Since, Doc: f.Doc}
			if f.HasDefault {
				v := f.DefaultValue()
				p.Default = &v
			}
			d.Params = append(d.Params, p)
		}
		all = append(all, d)
	}
	return all
}

// needs says in which profile checks of a type run, and what they need of the
// machine. The parameters of a type that can start a process tell by
// themselves when it does.
func needs(t check.Type) (profile, tool string) {
	params := reflect.New(t.Params).Interface()
	p, decides := params.(check.Profiler)
	switch {
	case decides && p.Profile() == check.Process:
		return string(check.Process), "the program that the check names"
	case decides:
		return string(check.Reading) + ", or " + string(check.Process) + " if it starts a program", "none, or the program that the check names"
	}
	return string(check.Reading), "none"
}

// typeName is what a parameter is in JSON, in a word.
func typeName(f strictjson.Field) string {
	s := strictjson.Schema(reflect.StructOf([]reflect.StructField{{Name: "X", Type: f.Type, Tag: `json:"x"`}}), 2)
	value := s.Get("properties").Get("x")
	kind := value.Get("type")
	switch {
	case value.Get("$ref") != nil: // a definition, such as #/$defs/matcher
		return path.Base(value.Get("$ref").Text)
	case kind == nil:
		return "any"
	case kind.Kind == strictjson.Array:
		var names []string
		for _, n := range kind.Items {
			names = append(names, n.Text)
		}
		return strings.Join(names, " or ")
	}
	return kind.Text
}

func (c *cli) checksText(all []checkType) []byte {
	s := c.style(c.out)
	var b bytes.Buffer
	for i, t := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", s.Heading(t.Type))
		fmt.Fprint(&b, s.Paragraph("  ", t.Summary))
		fmt.Fprintf(&b, "  profile: %s; tool: %s\n", t.Profile, t.Tool)
		names, kinds := 0, 0
		for _, p := range t.Params {
			names, kinds = max(names, len(p.Name)), max(kinds, len(p.need()))
		}
		for _, p := range t.Params {
			fmt.Fprint(&b, s.Paragraph(fmt.Sprintf("    %-*s  %-*s  ", names, p.Name, kinds, p.need()), p.describe()))
		}
	}
	return b.Bytes()
}

// need is the type of a parameter and whether it must be there.
func (p parameter) need() string {
	switch {
	case p.Required:
		return p.Type + ", required"
	case p.Default != nil:
		return p.Type + " = " + string(strictjson.Canonical(p.Default))
	}
	return p.Type
}

func (p parameter) describe() string {
	out := p.Doc
	if len(p.Enum) > 0 {
		out += " One of " + strings.Join(p.Enum, ", ") + "."
	}
	if p.Since > 1 {
		out += fmt.Sprintf(" (schema_version %d)", p.Since)
	}
	return strings.TrimSpace(out)
}

func checksMarkdown(all []checkType) []byte {
	var b bytes.Buffer
	b.WriteString("# Check types\n")
	for _, t := range all {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\nProfile: %s. Tool: %s.\n\n", t.Type, t.Summary, t.Profile, t.Tool)
		b.WriteString("| parameter | type | meaning |\n|---|---|---|\n")
		for _, p := range t.Params {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, cell(p.need()), cell(p.describe()))
		}
	}
	return b.Bytes()
}

// cell keeps a text from ending its cell of a Markdown table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
