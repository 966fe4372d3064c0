// Package source says what git knows about a workspace: the commit that is
// checked out, and which files belong to the work tree. It also fetches a commit
// of a repository elsewhere.
//
// The repository is part of what is judged, and its configuration can name
// programs (fsmonitor, hooks, filters, textconv, the transports of a partial
// clone), other files (include.path, alternates, excludesFile) and another
// work tree. So git never sees it. It runs in a scratch repository whose
// configuration is written here, with a copy of the index and with the work
// tree given; it gets no other variable of the environment. What it reads of
// the judged side is the index, as data, and the .gitignore files. It reads no
// object, so nothing is fetched, replaced or filtered; and it writes nothing,
// for the index that it might refresh is a copy.
//
// The commit is read from HEAD and the refs here, without git.
//
// # Which repository
//
// The work tree is the nearest folder, from the workspace upwards, that holds a
// .git; paths are relative to the workspace. Like git, the search stays on one
// file system. It goes beyond the workspace only for a repository that already
// tracks something in it and belongs to the workspace's owner, to root or to
// the user who runs the gate: a repository that somebody left in a folder above
// decides nothing. A .git that is a file (a linked work tree, a submodule) is
// followed to a folder in the work tree, or to one outside if that one names
// this work tree in return, which only its owner can have written.
//
// # Which files
//
// The tracked ones and those that are neither tracked nor ignored. Only
// .gitignore files in the work tree are heeded: .git/info/exclude and
// core.excludesFile are seen by nobody who reviews a change, so they could hide
// files from the content digest.
//
// # A commit of somewhere else
//
// [Fetch] fetches one commit into a scratch repository of the same kind, over
// https. What is read of it is what git's own hashes hold together from the
// commit's id on; [Commit.WriteTo] writes it out without filters.
package source
