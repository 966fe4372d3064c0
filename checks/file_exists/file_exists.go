package fileexists

import (
	"context"
	_ "embed"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/record"
)

//go:embed doc.go
var doc string

// Type is the check type file_exists.
func Type() check.Type { return check.Define("file_exists", check.DocText(doc), run) }

// Params are the parameters of a check.
type Params struct {
	Path     check.Path `json:"path" need:"yes" doc:"file, relative to the workspace or absolute"`
	Expected bool       `json:"expected" default:"true" doc:"whether the file must be there"`
}

// wanted and seen are what a result holds.
type wanted struct {
	Exists bool `json:"exists"`
}

type seen struct {
	Exists bool       `json:"exists"`
	Kind   check.Kind `json:"kind"`
	What   string     `json:"what,omitempty"` // in words, when it is neither a file nor simply missing
	Bytes  *int64     `json:"bytes,omitempty"`
}

func run(ctx context.Context, p *Params, pass *check.Pass) check.Outcome {
	name := check.Quote(string(p.Path))
	info, err := pass.Files.Stat(ctx, string(p.Path))
	if err != nil {
		return check.From(err).Expecting(wanted{p.Expected})
	}
	observed := seen{Exists: info.Kind == check.Regular, Kind: info.Kind, What: info.What}
	if observed.Exists {
		observed.Bytes = &info.Size
	}
	answer := check.Failed
	if observed.Exists == p.Expected {
		answer = check.Passed
	}
	o := answer("%s %s", name, found(info)).Expecting(wanted{p.Expected}).Observing(observed)
	if o.Status == record.Fail {
		o.Findings = []record.Finding{{Message: o.Summary, File: p.Path.File()}}
	}
	return o
}

// found says in words what is at the path.
func found(info check.Info) string {
	switch {
	case info.Kind == check.Regular:
		return "is a file"
	case info.Kind == check.Directory:
		return "is a directory, not a file"
	case info.Kind == check.Missing && info.What == "":
		return "is missing"
	}
	return "is " + info.What + ", not a file"
}
