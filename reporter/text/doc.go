// Package text shows a run to a person: on a terminal, in a pipe, in a CI log.
//
// What is read first stands first: the verdict and the one sentence that it
// rests on, then the checks with trouble before success, each false one with
// what was expected beside what was observed, then what limits the verdict,
// where the evidence is, and what to do now.
//
// A [Style] says how text may look at its destination: colour and a live line
// on a terminal alone, symbols in a UTF-8 locale, lines wrapped to the width of
// the terminal and never in a pipe.
//
// Nearly everything that is shown was written by somebody whom the gate does not
// trust: names of files, the output of commands, the contract of a stranger. So
// every piece goes through [Escape], and every finished line is guarded once
// more: no text can move the cursor, hide itself, turn the reading direction, or
// be taken for a command by the runner of a CI job.
package text
