// Package forge is GitHub as the gate needs it: what its API says of a change, the
// files of a commit, and the check-runs and artifacts that are posted there. It
// is the only room that imports go-github.
//
// What comes from here comes from GitHub, over TLS, and neither from the workspace
// nor from a file that an earlier step of the job could have written. Every failure says which
// permission was missing, or what GitHub answered; none is taken for an empty
// answer.
package forge
