package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/secret"
	"github.com/verdictgate/verdictgate/reporter/text"
)

// refusal is how an error is written in JSON.
type refusal struct {
	Error   string         `json:"error"`
	Message string         `json:"message"`
	Fix     string         `json:"fix"`
	Details map[string]any `json:"details"`
}

func refusalOf(f *fault.Error) refusal {
	f = secret.Fault(f)
	return refusal{Error: string(f.Code), Message: f.Message, Fix: f.Fix, Details: f.Details}
}

// refuse tells an error and gives the exit status: one document on stdout, or
// three lines on stderr. A document that could not be written is told there too.
func (c *cli) refuse(err error) int {
	f := fault.As(err)
	unread := false
	if c.format == formatJSON {
		if err = c.document(refusalOf(f)); err == nil {
			return statusOfFault(f.Code)
		}
		f, unread = fault.As(err), true
	}
	s, f := c.style(c.err), secret.Fault(f)
	err = c.say(c.err, "%s\n%s\n%s\n", s.Refusal(string(f.Code)), s.Line("  ", f.Message), s.Line("  fix: ", f.Fix))
	if err != nil || unread {
		return statusBroken
	}
	return statusOfFault(f.Code)
}

// document writes the one JSON document of a command.
func (c *cli) document(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fault.New(fault.BackendFailed, "", "the answer cannot be written as JSON: %v", err)
	}
	return c.write(c.out, text.EscapeJSON(b.Bytes()))
}

// say writes text of our own; what comes from the world goes through
// text.Escape before it gets here.
func (c *cli) say(w io.Writer, format string, args ...any) error {
	return c.write(w, fmt.Appendf(nil, format, args...))
}

// write makes an answer that could not be shown an error of the gate: an exit
// status of 0 behind a full disk would be an answer that nobody has read.
func (c *cli) write(w io.Writer, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return notShown(err)
	}
	return nil
}

func notShown(err error) error {
	return fault.New(fault.BackendFailed, "Make room or permission where the output goes, and run it again.", "the answer could not be written: %v", err).Because(err)
}
