// Package bundle writes the evidence of a run to disk, reads it back, and
// re-checks on reading that every part still is what was written.
//
// # A bundle
//
// A bundle is one folder, <data folder>/verifications/<run id>/:
//
//	contract.json         the frozen contract, in canonical form
//	evidence.json         what was seen and decided, in canonical form: its
//	                      SHA-256 is the bundle digest
//	attestation.json      the digests that bind the two, and its own
//	attestation.sigstore.json  when signed: the statement and its signature
//	blobs/sha256/<hex>    what was too large or too raw for evidence.json,
//	                      each named by its SHA-256
//	reports/              made from the others later, bound by nothing
//
// docs/evidence.md describes every member, for those who check a bundle
// without this program.
//
// # Writing
//
// [Begin] makes a folder whose name begins with ".partial-" and holds its lock.
// [Pending.Receive] takes each answer as it comes, takes the credentials out of
// it and puts its blobs there; [Pending.Seal] derives the verdict (package
// verdict), writes the rest and, as the last step, renames the folder. A crash
// at any moment leaves at most the unfinished folder, and a later run removes
// it once the kernel says that nobody holds the lock any more. A bundle that
// cannot be written is an [Unwritten]: what was found, without a verdict.
//
// # Signing
//
// [AddSignature] puts a signed statement beside attestation.json, which then
// names it. Whether a signature verifies is not known here: this package knows
// no cryptography but digests, so that a bundle can be read without any.
//
// # Reading
//
// [Read] trusts nothing in the folder. It opens regular files only, of bounded
// size, follows no link, and gives a [Sealed] only when every digest holds, the
// parts belong together, and the verdict that package verdict derives from the
// recorded results is the verdict that is recorded. Otherwise it gives a fault
// that names the part, and never a verdict.
package bundle
