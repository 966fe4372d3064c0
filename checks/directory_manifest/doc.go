// Package directorymanifest decides whether a folder holds exactly the named
// files. The folder is read with everything below it, hidden names too.
//
// # Parameters
//
//   - path: the folder, relative to the workspace or absolute.
//   - expected_files: the files that must be there, each relative to the folder
//     and separated by "/". An empty list is a folder without files.
//   - exact: true (the default) if nothing else may be there; with false, what
//     else is there is reported and does not decide.
//   - expected_digests (schema_version 2): an object from such a path to the
//     SHA-256 of that file. A path in it is expected whether or not
//     expected_files names it too.
//
// Folders are no files, so an empty folder is nothing. A link to a file inside
// the allowed roots counts as a file. Anything else is unexpected by its name:
// a dangling link, a link to a folder (it is not entered), a FIFO, a socket, a
// device; the result says under not_files what it is. Names are compared byte
// by byte. A name that equals an expected one only after Unicode normalisation
// is another name, and the result says so under near_misses. A name that is not
// UTF-8 equals nothing and is shown escaped.
//
// # Fails
//
// The folder is missing or is no folder; an expected file is missing; its bytes
// have another digest (different); or, with exact, something is there that is
// not expected. Each kind is reported apart, sorted by bytes: the first 200
// names, and the count of all.
//
// # Inconclusive
//
// A link in the folder leaves the allowed roots, a folder in it or a link could
// not be looked into, or a file to be digested could not be read: unless a file
// is missing or different anyway, which nothing unknown could change. A name
// below a folder that could not be looked into is not called missing. With
// exact false such a folder decides only when a name below it is expected, and
// is a limitation of the answer otherwise. The path leaves the allowed roots, or
// the folder holds more than four million entries.
//
// A file that is expected where another one needs a folder (a and a/b) can only
// be missing; lint warns of it.
//
// # Example
//
//	{"id": "dist", "type": "directory_manifest",
//	 "params": {"path": "dist", "expected_files": ["index.html", "assets/app.js"]}}
//
//	{"id": "release", "type": "directory_manifest",
//	 "params": {"path": "release", "expected_files": ["NOTES.md"],
//	            "expected_digests": {"tool.tar.gz":
//	              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}}
package directorymanifest
