package filedigest

import (
	"context"
	_ "embed"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

//go:embed doc.go
var doc string

// Type is the check type file_digest.
func Type() check.Type { return check.Define("file_digest", check.DocText(doc), run) }

// Params are the parameters of a check.
type Params struct {
	Path   check.Path        `json:"path" need:"yes" doc:"file, relative to the workspace or absolute"`
	SHA256 strictjson.Digest `json:"sha256" need:"yes" doc:"SHA-256 of its bytes: 64 hex digits, with or without sha256: before them"`
}

// wanted and seen are what a result holds.
type wanted struct {
	SHA256 strictjson.Digest `json:"sha256"`
}

type seen struct {
	SHA256 strictjson.Digest `json:"sha256"`
	Bytes  int64             `json:"bytes"`
}

func run(ctx context.Context, p *Params, pass *check.Pass) check.Outcome {
	digest, size, err := pass.Files.Digest(ctx, string(p.Path))
	if err != nil {
		o := check.From(err).Expecting(wanted{p.SHA256})
		if o.Status == record.Fail {
			o.Findings = []record.Finding{{Message: o.Summary, File: p.Path.File()}}
		}
		return o
	}
	name := check.Quote(string(p.Path))
	var o check.Outcome
	if digest == p.SHA256 {
		o = check.Passed("%s has the digest %s", name, digest)
	} else {
		o = check.Failed("%s has the digest %s, not %s", name, digest, p.SHA256)
		o.Findings = []record.Finding{{Message: o.Summary, File: p.Path.File()}}
	}
	return o.Expecting(wanted{p.SHA256}).Observing(seen{digest, size})
}
