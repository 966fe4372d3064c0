// Package gate is Verdict Gate: it judges a workspace by a frozen contract
// and writes down what it saw.
//
// # One run
//
// Data goes through the floors once, downwards:
//
//	contract.Load         file -> a contract; CheckSeal: its digest holds, and
//	                      what is judged is parsed from its canonical bytes
//	plan.Bind             contract x check types -> steps; everything is
//	                      decoded and validated before anything runs
//	worker.Run            this program again, as another process in a sandbox,
//	                      makes the same plan from the same bytes and sends
//	                      Hello, one answer a step, Done (count and digest)
//	Pending.Receive       credentials leave the answers, blobs go to the disk
//	verdict.Judge         answers -> VERIFIED, FAILED, UNVERIFIED, INCONCLUSIVE
//	Pending.Seal          contract, evidence, attestation: atomically
//	bundle.Read           reads it back and re-checks every binding
//	reporter              gets what was read back, and only shows it
//
// Nothing flows back: no reporter, flag or format computes pass or fail, and
// what is shown is what was read from the bundle.
//
// # Floors
//
// Each room imports only rooms that stand left of it:
//
//	fault < strictjson < secret < record, contract < check, match, verdict
//	  < roots, sqlread, source, draft < plan, bundle, unpack < seal
//	  < worker, carry, retry, policy < seal/sigstore, change < forge
//	  < gate < cmd/gate
//
// checks/* import check and what is left of it, and match and sqlread for
// their vocabulary. Nothing under gate imports checks or reporter. The walls
// are tests: see house_test.go.
//
// # Rooms
//
//   - fault: the stable codes, and the one error type
//   - strictjson: the one decoder, with positions, and the canonical form
//   - secret: what looks like a credential
//   - record: the wire format and the words of a result
//   - contract: the frozen contract
//   - check: the grammar that a check type is written in
//   - match: the matchers of schema_version 2
//   - roots: files inside the allowed roots, and digests of the workspace
//   - sqlread: rows of a SQLite database, never a write
//   - source: what git says about the workspace
//   - draft: a first contract, from what a repository holds
//   - plan: a contract bound to check types
//   - worker: the isolated processes, the sandbox, the executor of commands
//   - carry: a lean program that carries a full one, for a fast start
//   - verdict: the judgement, pure
//   - bundle: evidence on disk
//   - unpack: a bundle out of the zip archive that it was uploaded as
//   - seal: what a signature is made over, and what it proves
//   - seal/sigstore: signing and verifying, as cosign does
//   - policy: what a consumer requires of a bundle
//   - retry: requests to services, made again when their failure may pass
//   - change: what a change on GitHub is, and by which commit's contract it is judged
//   - forge: GitHub's API, and git where it gives no answer
package gate
