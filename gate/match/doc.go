// Package match holds the matchers of schema_version 2: small, total
// predicates on JSON values and on text, where equality says too much.
//
// A matcher is a JSON object, all of whose members must hold:
//
//	type      null, boolean, number, integer, string, array or object, as JSON
//	          Schema has them: 5.0 is an integer
//	one_of    the value equals one of these
//	matches   a string in which the RE2 pattern is found, anywhere unless it
//	          is anchored
//	contains  a string with this substring, or an array with an element that
//	          equals this
//	gt ge     a number greater than this; greater or equal
//	lt le     a number less than this; less or equal
//	length    code points of a string, elements of an array or members of an
//	          object: an integer, or a matcher on the integer
//	not       this matcher does not hold
//	each      an array, every element of which this matcher holds for; so it
//	          holds for [], which "length": {"ge": 1} rules out
//	members   an object that has each named member, and it holds for the
//	          member's value; other members may be there
//
// A matcher that is applied to a value of another kind does not hold; nothing
// is converted, so "5" is no number. Numbers are compared exactly and values by
// the rules of strictjson.Equal. The members are tried in the order above, and
// the first that does not hold is what is reported.
//
// # Text
//
// The output of a command is text that may not be UTF-8, and a matcher looks
// at its bytes as they are: contains and one_of compare bytes, so nothing is
// lost or replaced. For matches and length each byte that belongs to no valid
// character is one character, U+FFFD: "." matches it, and so does \x{FFFD}.
package match
