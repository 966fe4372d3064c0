package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// laterFlags are flags of the gate's interface that this build does not have.
// Whoever passes one relies on it; a guess at another flag would mislead.
var laterFlags = []string{"advisory", "frames", "identity", "issuer", "keep", "no-pixels", "policy", "session", "transcript"}

// unavailable refuses what another build of the gate has.
func unavailable(what string) *fault.Error {
	return fault.New(fault.Usage, "Leave it out, or use a build that has it.", "%s is not available in this build", what)
}

var (
	errTwice = errors.New("given twice")
	errEmpty = errors.New("given without a value")
)

// once is the value of a flag that may be given once. Of two values one would
// be ignored in silence: the folder that was judged must not depend on which.
type once struct {
	pflag.Value
	given bool
	empty bool // it may be given without a value: what it names has a refusal of its own
}

func (o *once) Set(s string) error {
	if o.given {
		return errTwice
	}
	// An unset variable in a script must not take a requirement away in silence.
	if s == "" && !o.empty {
		return errEmpty
	}
	o.given = true
	return o.Value.Set(s)
}

// onlyOnce makes every flag below a command one that may be given once, but for
// lists.
func onlyOnce(cmd *cobra.Command) {
	wrap := func(f *pflag.Flag) {
		if _, list := f.Value.(pflag.SliceValue); !list {
			f.Value = &once{Value: f.Value, empty: f.Name == "dir"}
		}
	}
	cmd.PersistentFlags().VisitAll(wrap)
	cmd.LocalNonPersistentFlags().VisitAll(wrap)
	for _, sub := range cmd.Commands() {
		onlyOnce(sub)
	}
}
