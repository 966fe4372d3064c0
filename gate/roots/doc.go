// Package roots is the only door to the files that are judged.
//
// A [Files] is opened on a workspace and, if wanted, on further roots. Every
// path that it is given, and every symbolic link that it meets, is resolved
// first and must then lie inside one of the roots; what lies elsewhere is
// refused, and nothing is told about it, not even whether it is there. What
// changes the files meanwhile cannot widen that: no path is opened by a string
// that was looked at before. The kernel resolves a path beneath the descriptor
// of a root in one call; where it cannot (a link with an absolute target that
// points inside, another root, a path longer than PATH_MAX, a kernel without
// openat2), [Files] walks it component by component from a root's descriptor,
// never following a link itself but reading its text and going on from there.
// The text outside the roots is walked too, so that an absolute path through a
// link may come back in, but nothing is ever opened there.
//
// Only regular files are read. A FIFO, a socket or a device is looked at
// through a descriptor that cannot read (O_PATH). Names are bytes: nothing
// folds their case or normalises their Unicode.
//
// Parts that are empty or "." are dropped wherever they stand, so "d/" is d. A
// path through something that is missing, or that is no folder, is missing;
// but if it would leave the roots when read literally, it is refused.
//
// # Each file is read once
//
// A content digest, a file_digest and a manifest often want the same bytes.
// Digests are remembered under the file's device, inode, size, modification
// and change time, and two callers that ask at once wait for one read. A time
// stamp proves that nothing changed only if a later change would have got
// another one; so a file that changed just before it was read (how long that
// is depends on how fine the file system's stamps are) is read again when
// asked for again, as git does with its index, and on file systems whose
// stamps come from another machine's clock nothing is remembered.
//
// # The content digest
//
// [Files.Content] digests the files of the workspace. The digest is the
// SHA-256 of a manifest: for each file one entry
//
//	kind SP digest SP path NUL
//
// sorted by the bytes of path. The path is relative to the workspace, raw
// bytes, separated by "/". The kind is one of
//
//	file        a regular file; digest is the SHA-256 of its bytes, 64 hex digits
//	exec        the same, and its owner may execute it
//	link        a symbolic link; digest is the SHA-256 of its text, which is not followed
//	fifo, socket, device   digest is "-": these are never opened
//	absent      a path that git tracks and that is not there; digest is "-"
//	unreadable  a file or folder that could not be read; digest is "-"
//
// Folders are no entries of their own. Nothing named .git is an entry, nor
// what lies below it. In a git work tree the entries are the paths that git
// names, and a folder among them (a submodule, a repository inside the
// repository) is entered whole; elsewhere they are everything there is.
//
// Anybody can compute it again. Outside a git work tree, where everything is
// readable, this does it with bash, GNU find and coreutils:
//
//	export LC_ALL=C
//	find . -name .git -prune -o ! -type d -print0 | sort -z |
//	while IFS= read -r -d '' f; do
//	  sum=- kind=device
//	  if [ -L "$f" ]; then kind=link sum=$(readlink -n "$f" | sha256sum)
//	  elif [ -p "$f" ]; then kind=fifo
//	  elif [ -S "$f" ]; then kind=socket
//	  elif [ -f "$f" ]; then kind=file sum=$(sha256sum < "$f")
//	    [ -z "$(find "$f" -perm -100)" ] || kind=exec
//	  fi
//	  printf '%s %s %s\0' "$kind" "${sum%% *}" "${f#./}"
//	done | sha256sum
package roots
