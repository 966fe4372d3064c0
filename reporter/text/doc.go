// Package text shows a run to a person: on a terminal, in a pipe, in a CI log.
package text
