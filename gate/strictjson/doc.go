// Package strictjson is the one JSON decoder of the gate, and its canonical
// form.
//
// It reads what RFC 8259 allows and nothing else: duplicate member names,
// numbers that overflow binary64, lone surrogates, invalid UTF-8, trailing
// data and nesting over a limit are errors, each with its line and column. A
// leading byte order mark is skipped. Numbers keep every digit that was
// written, so that 9007199254740993 is not 9007199254740992.
//
// The canonical form ([Canonical]) is what is digested everywhere: UTF-8,
// members sorted by code point, no white space, the shortest escapes, integers
// digit by digit, other numbers as Python's repr writes them. It equals
// json.dumps(v, sort_keys=True, separators=(",", ":"), ensure_ascii=False).
//
// [Decode] maps a value onto a Go struct whose tags say what is required, what
// the default is and what it means; the same tags give the JSON Schema
// ([Schema]) and the tables of the docs ([FieldsOf]), so the three cannot
// disagree.
package strictjson
