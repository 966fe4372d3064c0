// Package fileexists decides whether there is a regular file at a path.
// Links are followed first; a folder, a dangling link, a FIFO, a socket and a
// device are no files.
//
// # Parameters
//
//   - path: the file, relative to the workspace or absolute. A slash at its end
//     makes no difference.
//   - expected: true (the default) if the file must be there, false if it must not.
//
// # Fails
//
// With expected true: nothing is at the path, or what is there is no regular
// file; the summary says what it is. With expected false: a regular file is
// there.
//
// # Inconclusive
//
// The path leaves the allowed roots, whether or not anything is there, or a
// folder on the way must not be searched. What could not be looked at is not
// absent, so expected false is inconclusive then too.
//
// # Example
//
//	{"id": "licence", "type": "file_exists", "params": {"path": "LICENSE"}}
//
//	{"id": "no-dump", "type": "file_exists",
//	 "params": {"path": "core", "expected": false}}
package fileexists
