// Package commandexit decides whether a command ends with the wanted exit code.
// In schema_version 2 its standard output and standard error can be held
// against matchers as well.
//
// # Parameters
//
//   - command: the program and its arguments, a list and never a string. No
//     shell splits, expands or redirects anything; where one is wanted it is
//     named: ["sh", "-c", "…"].
//   - cwd: the working directory, inside the allowed roots; the workspace is
//     the default.
//   - exit_code: the exit code that the command must have, 0 to 255; 0 is the
//     default.
//   - stdout, stderr (schema_version 2): matchers on the text that the command
//     writes. Bytes are matched as they are, UTF-8 or not; a line end is part of
//     the text.
//   - env (schema_version 2): variables with literal values. A name is letters,
//     digits and _. PATH, HOME and TMPDIR are set by the gate, LD_… and DYLD_…
//     would run other code than the program that is recorded, GATE_… belongs to
//     the gate: these are refused. LANG, LC_ALL and TZ may be set.
//   - caches (schema_version 2): absolute folders outside the workspace that
//     the command may write, such as a compiler's cache.
//
// Standard input is empty. The program is looked up in PATH outside everything
// that the workspace could plant there, and its digest is recorded. The
// environment holds PATH, HOME, LANG, LC_ALL, TZ, TMPDIR and GATE_VERIFIER, and
// nothing else of what the gate was started with; HOME and TMPDIR are scratch
// folders. At the timeout the command is killed with every process that it
// started.
//
// # Fails
//
// The command ends with another exit code, or is killed by a signal, which is
// named; a matcher does not hold.
//
// The result shows 64 KiB of each stream, the beginning and the end. A stream
// that is longer, or that is not UTF-8, is evidence beside it as it was written.
//
// # Inconclusive
//
// The program is not found; the command does not end within the timeout, or a
// limit of the gate or want of memory ends it; the working directory leaves the
// allowed roots; a stream that a matcher is to hold for is larger than what is
// kept of it.
//
// # Example
//
//	{"id": "tests", "type": "command_exit", "timeout_seconds": 600,
//	 "params": {"command": ["go", "test", "./..."], "stdout": {"not": {"contains": "[no test files]"}}}}
package commandexit
