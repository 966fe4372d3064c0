// Package numericinvariant decides whether a number lies within bounds, or
// equals another within a tolerance. The number stands in the contract, or
// (schema_version 2) is read from a JSON file, a database or the output of a
// command.
//
// # Parameters
//
//   - value: a JSON number, or {"from": …} as below.
//   - min, max: the number is at least min and at most max.
//   - equals: the number is this one.
//   - tolerance: how far it may lie from equals, 0 or more; 0 is the default.
//
// At least one of min, max and equals is given; all that are given must hold.
// A string is never a number. Integers count with every digit, other numbers as
// the binary64 number that they denote, and the comparison is exact: with a
// tolerance of 0, 0.30000000000000004 is not 0.3; with 1e-9 it is.
//
// {"from": …} takes the members of exactly one source, which have the names and
// meanings that they have in json_value, sqlite_query and command_exit:
//
//   - path, pointer: a number in a JSON file.
//   - database, sql, parameters: the single cell of a query's answer.
//   - command, cwd, env, caches, exit_code, pattern: a number that a command
//     prints. The RE2 pattern has exactly one group; the group's text in the
//     first match in standard output is the number, written as JSON writes
//     numbers. The command must end with exit_code, which is 0 by default.
//
// # Fails
//
// The number lies outside the bounds, or too far from equals. There is no
// number: the file is missing or malformed, the pointer leads nowhere or to a
// value of another kind; the answer is no single cell, or the cell is TEXT, a
// BLOB, NULL or infinite; the command ends with another exit code or is killed
// by a signal, its output does not match, or what matched is no JSON number (NaN,
// Infinity, "1,234", "+5", "0x1F"). Lint warns of a min that is greater than
// max, between which no number lies.
//
// # Inconclusive
//
// The source cannot be read or leaves the allowed roots or is over a limit; the
// program is not found; the command does not end within the timeout or is ended
// by a limit; its output is larger than what is kept, for then a match may
// have been in the part that is not; a number has more than 10,000 digits.
//
// # Example
//
//	{"id": "coverage", "type": "numeric_invariant", "timeout_seconds": 600,
//	 "params": {"value": {"from": {"command": ["go", "test", "-cover", "./shop"],
//	                               "pattern": "coverage: ([0-9.]+)%"}},
//	            "min": 80}}
package numericinvariant
