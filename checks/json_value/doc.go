// Package jsonvalue decides whether a JSON document holds the wanted value at
// one place. The document is read strictly and the value is found by a JSON
// Pointer; it must equal a value, or (schema_version 2) satisfy a matcher.
//
// # Parameters
//
//   - path: the file, relative to the workspace or absolute.
//   - pointer: a JSON Pointer (RFC 6901). "" is the whole document and the
//     default; "/orders/0/total" is the member total of the first order; "/" is
//     the member whose name is empty. In a name ~1 stands for / and ~0 for ~.
//   - equals: the wanted value, of any kind; null is a value like any other.
//   - satisfies (schema_version 2): a matcher in place of equals.
//
// Exactly one of equals and satisfies is given. Integers are compared exactly
// at any size, other numbers as binary64, so 29 equals 29.0; a boolean never
// equals a number; strings are compared by code points without normalisation;
// the order of members does not count, the order of elements does.
//
// # Fails
//
// The file is missing or is no regular file; it is not JSON (duplicate member
// names, NaN, comments and anything after the value included; a byte order mark
// is allowed), with the line and column; the pointer leads nowhere, with how far
// it led; the value is another one. A finding names line and column: of the
// first difference, where both values are objects or arrays.
//
// A value of more than 4 KiB is shown by its beginning, as
// {"type", "excerpt", "note"}.
//
// # Inconclusive
//
// The file cannot be read or leaves the allowed roots, has more than 64 MiB or
// ten million values, or nests deeper than 10,000 levels.
//
// # Example
//
//	{"id": "total", "type": "json_value",
//	 "params": {"path": "order.json", "pointer": "/total", "equals": 29.0}}
//
//	{"id": "totals", "type": "json_value",
//	 "params": {"path": "orders.json", "pointer": "/orders",
//	            "satisfies": {"length": {"ge": 1}, "each": {"members": {"total": {"gt": 0}}}}}}
package jsonvalue
