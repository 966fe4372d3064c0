package github

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	githubactions "github.com/sethvargo/go-githubactions"

	"github.com/verdictgate/verdictgate/gate/forge"
)

// Log is the log of a step. The runner reads it line by line for commands, whoever
// wrote them, so text of strangers goes through [Log.Untrusted] and nowhere else;
// what the other methods are given is escaped as the command wants it.
//
// The commands are those of go-githubactions, which knows how to write them. It panics when it cannot
// write, so it writes to memory, and a log that is gone is an error here.
type Log struct {
	to     io.Writer
	memory bytes.Buffer
	action *githubactions.Action
	used   map[forge.Level]int // annotations of the step, by kind

	reasons int
}

// NewLog makes the log of a step that writes to its standard output.
func NewLog(to io.Writer) *Log {
	l := &Log{to: to, used: map[forge.Level]int{}}
	l.action = githubactions.New(githubactions.WithWriter(&l.memory))
	return l
}

// flush writes what the library wrote to memory.
func (l *Log) flush() error {
	_, err := l.memory.WriteTo(l.to)
	if err != nil {
		l.memory.Reset()
		return fmt.Errorf("writing the log of the step: %w", err)
	}
	return nil
}

// Group folds what body writes to the log under a title.
func (l *Log) Group(title string, body func() error) error {
	l.action.Group(visible(title))
	if err := l.flush(); err != nil {
		return err
	}
	inside := body()
	l.action.EndGroup()
	if err := l.flush(); err != nil {
		return err
	}
	return inside
}

// Untrusted shows what write writes, whatever it is: the runner takes no line of it
// for a command. Nothing is shown of a write that failed.
func (l *Log) Untrusted(write func(w io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	if text.Len() == 0 {
		return nil
	}
	token := unguessable(text.Bytes())
	l.action.IssueCommand(&githubactions.Command{Name: "stop-commands", Message: token})
	l.memory.Write(text.Bytes())
	if !bytes.HasSuffix(text.Bytes(), []byte("\n")) {
		l.memory.WriteByte('\n')
	}
	l.action.IssueCommand(&githubactions.Command{Name: token})
	return l.flush()
}

// Mask has the runner replace a secret by *** from now on, each of its lines.
func (l *Log) Mask(secret string) error {
	for line := range strings.Lines(secret) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" {
			l.action.AddMask(line)
		}
	}
	return l.flush()
}

// Notice, Warning and Error say something about the job as a whole.
func (l *Log) Notice(message string) error { return l.say(forge.Notice, message) }

// Warning is a graver Notice.
func (l *Log) Warning(message string) error { return l.say(forge.Warning, message) }

// Error is the gravest.
func (l *Log) Error(message string) error { return l.say(forge.Grave, message) }

// Reason says why the step is red, outside of every group: a title, such as a code or
// a verdict, and a sentence. The runner shows few annotations of a step, and those at
// files are worth more, so after the first reasons it only gives false.
func (l *Log) Reason(title, message string) (shown bool, err error) {
	if l.reasons >= maxReasons {
		return false, nil
	}
	l.reasons++
	l.used[forge.Grave]++
	l.action.IssueCommand(&githubactions.Command{Name: commandOf(forge.Grave), Message: commandMessage(message), Properties: githubactions.CommandProperties{"title": titled(title)}})
	return true, l.flush()
}

func (l *Log) say(level forge.Level, message string) error {
	l.used[level]++
	l.action.IssueCommand(&githubactions.Command{Name: commandOf(level), Message: commandMessage(message)})
	return l.flush()
}

// Annotate shows annotations where no check-run can: as many of each kind as the
// runner takes of a step, the first ones. It gives how many were left out.
func (l *Log) Annotate(all []forge.Annotation) (cut int, err error) {
	for i := range all {
		a := &all[i]
		if l.used[a.Level] >= maxCommands {
			cut++
			continue
		}
		l.used[a.Level]++
		l.action.IssueCommand(&githubactions.Command{Name: commandOf(a.Level), Message: commandMessage(a.Message), Properties: properties(a)})
	}
	return cut, l.flush()
}

func properties(a *forge.Annotation) githubactions.CommandProperties {
	p := githubactions.CommandProperties{"file": a.Path, "line": strconv.Itoa(a.StartLine), "endLine": strconv.Itoa(a.EndLine)}
	if a.Title != "" {
		p["title"] = titled(a.Title)
	}
	if a.StartColumn > 0 && a.StartLine == a.EndLine {
		p["col"] = strconv.Itoa(a.StartColumn)
		if a.EndColumn > 0 {
			p["endColumn"] = strconv.Itoa(a.EndColumn)
		}
	}
	return p
}

func commandOf(level forge.Level) string {
	switch level {
	case forge.Grave:
		return "error"
	case forge.Warning:
		return "warning"
	}
	return "notice"
}

// commandMessage is cut before it is escaped: the runner counts what it shows.
func commandMessage(s string) string { return cutTo(annotationText(s), maxCommandMessage) }

// unguessable is a word that stands nowhere in a text, and that who wrote the text
// could not foresee.
func unguessable(text []byte) string {
	for {
		var random [16]byte
		rand.Read(random[:]) // never fails: see crypto/rand
		if word := "gate_" + hex.EncodeToString(random[:]); !bytes.Contains(text, []byte(word)) {
			return word
		}
	}
}
