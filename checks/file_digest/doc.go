// Package filedigest decides whether the bytes of a file have a given SHA-256.
// Links are followed first.
//
// # Parameters
//
//   - path: the file, relative to the workspace or absolute.
//   - sha256: 64 hex digits in any case, with or without "sha256:" before them.
//
// # Fails
//
// The file is missing or is no regular file, or its bytes have another digest,
// which the result shows.
//
// # Inconclusive
//
// The path leaves the allowed roots, the file must not be read, it changed
// while it was read, or it could not be read to its end in time.
//
// # Example
//
//	{"id": "model", "type": "file_digest",
//	 "params": {"path": "model.bin",
//	            "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}
package filedigest
