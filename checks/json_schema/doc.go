// Package jsonschema decides whether a JSON document is valid against a JSON
// Schema. The schema stands in the contract, so the change that is judged
// cannot reach it.
//
// # Parameters
//
//   - path: the file, relative to the workspace or absolute.
//   - schema: the schema, an object, or true or false. "$schema" names its
//     draft: 4, 6, 7, 2019-09 or 2020-12; without it the draft is 2020-12.
//
// The schema is compiled when the contract is read, and what is wrong with it
// makes the contract invalid: a keyword that its draft does not allow, an
// unknown "$schema" (the undated http://json-schema.org/schema too, which means
// another draft when a new one is published), a "$ref" that leads nowhere,
// references that go round in circles, a pattern that does not compile. Every
// part of the schema is looked at, whether anything refers to it or not; what
// stands in const, enum, default and examples is data. Nothing is ever fetched: a
// "$ref" to another document is such an error, with the exception of the
// published metaschemas, which are built in.
//
// Patterns are RE2, which runs in linear time; lookahead, lookbehind and
// backreferences are not available, and \d, \w, \s and \b mean ASCII.
//
// Formats are asserted in every draft: date, date-time, duration, email,
// hostname, idn-email, idn-hostname, ipv4, ipv6, iri, iri-reference,
// json-pointer, period, regex (RE2), relative-json-pointer, semver, time, uri,
// uri-reference, uri-template, uuid. Hostnames in other scripts are those of
// IDNA 2008, and a label that begins with xn-- must decode to one. Other names
// are annotations and assert nothing; so are contentEncoding, contentMediaType
// and contentSchema.
//
// Integers count with every digit. Other numbers count as the shortest decimal
// of their binary64 value: 0.3 is a multiple of 0.1.
//
// # Fails
//
// The file is missing or is no regular file; it is not JSON (duplicate member
// names, NaN, comments and anything after the value included; a byte order mark
// is allowed), with the line and column; it violates the schema. The first 100
// violations in the order of their places are findings, each with line, column
// and the JSON Pointer of the value; the number of all is in observed.
// Where no alternative of anyOf or oneOf holds, that is one violation, which
// quotes the reasons of the first alternatives. The places of a document that is
// very deep and large at once are not listed.
//
// # Inconclusive
//
// The file cannot be read or leaves the allowed roots, has more than 64 MiB or
// two million values, nests deeper than 10,000 levels, or holds a number of more
// than 10,000 digits; validation did not end within the timeout.
//
// # Error
//
// References go round in a circle that only the way to them closes: it leads
// through dynamic references of which several schemas have the anchor.
//
// # Example
//
//	{"id": "config", "type": "json_schema",
//	 "params": {"path": "config.json",
//	            "schema": {"type": "object", "required": ["name"],
//	                       "properties": {"name": {"type": "string", "minLength": 1}}}}}
package jsonschema
