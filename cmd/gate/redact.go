package main

import (
	"github.com/verdictgate/verdictgate/gate"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/secret"
)

// What is refused is quoted, and it may be a credential: in a contract that is
// refused for it, in a document with a typing error, on the command line. The
// log of a CI run must not get it from us, so whatever tells an error goes
// through here or [secret.Fault], and not each place that makes one.

// redactLint takes the credentials out of for what lint found.
func redactLint(found gate.Lint) gate.Lint {
	found.File = redact(found.File)
	found.Problems, found.Warnings = redactProblems(found.Problems), redactProblems(found.Warnings)
	return found
}

func redactProblems(all []contract.Problem) []contract.Problem {
	out := make([]contract.Problem, 0, len(all))
	for _, p := range all {
		p.File, p.Pointer, p.Message, p.Fix = redact(p.File), redact(p.Pointer), redact(p.Message), redact(p.Fix)
		out = append(out, p)
	}
	return out
}

func redact(s string) string {
	s, _ = secret.Redact(s)
	return s
}
