// Package contract is the frozen contract: what must be true afterwards,
// written down before the change that it judges.
//
// A contract begins as a draft. [Freeze] fills in every default, stamps
// frozen_at and digest and gives a new document; from then on the digest, a
// SHA-256 over the canonical form of everything but itself, tells whether it
// was edited. [File.CheckSeal] refuses a draft and an edited document, and what is
// judged afterwards is what was parsed from those canonical bytes, so nothing
// outside the digest can change a run.
//
// schema_version 1 is the format of the public Watch Skill tool: a contract
// frozen there is judged here as it stands, and one frozen here can be loaded
// there. schema_version 2 is a strict superset.
//
// This package knows the document; what a check's params mean is bound by
// package plan.
package contract
