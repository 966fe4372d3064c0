// Package forge is GitHub as the gate needs it: what its API says of a change, the
// files of a commit, and the check-runs and artifacts that are posted there. It
// is the only room that imports go-github.
//
// What comes from here comes from GitHub, over TLS, and neither from the workspace
// nor from a file that an earlier step of the job could have written. Every failure says which
// permission was missing, or what GitHub answered; none is taken for an empty
// answer.
//
// # Errors
//
// Every error is a fault:
//
//	action.permission_missing     the token may not; the message names the permission
//	action.contract_unavailable   the commit cannot be read, or something stands
//	                              in a contract's place that is none
//	action.forge_unreachable      no usable answer, although it was asked again
//	action.report_failed          GitHub refuses a check-run as it is written
//	action.input_invalid          an address, a name or a pattern that is none
//
// GitHub answers 404 also for what a token may not see. Where what is asked for is known
// to exist, 404 is a missing permission; where its absence is an answer (a
// branch, a contract), something is asked first that must be there.
//
// # Files of a commit
//
// A commit's tree is walked folder by folder, so that each name on the way is
// seen for what it is: a symbolic link or a submodule is refused. (The contents API
// follows the one, and calls the other a file.) A file is fetched by its id, and
// its bytes must digest to it. When the API gives no usable answer, git fetches that
// one commit into an empty repository, and the same walk is done there.
//
// # What is not done twice
//
// What an id names never changes, so a client asks for each commit, folder and file
// once: a repository's token may make a thousand requests an hour.
//
// A check-run whose request was cut off may exist. It is looked for by its name and
// its external id before it is posted again, and the annotations of one are
// counted before more are added.
//
// # The token
//
// It is sent to the API's host and, by git, to the server's; never to where an
// answer leads. It stands in no message.
package forge
