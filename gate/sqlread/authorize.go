package sqlread

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// actionRecursive is SQLITE_RECURSIVE, which the driver has no name for.
const actionRecursive = 33

// authorizer is the fourth wall: SQLite asks it about every action while it
// compiles a statement. It allows reading and the functions below, and
// remembers the first action that it refused, for SQLite's own message only
// says "not authorized".
type authorizer struct {
	refused  string
	function string // it was a call of this function
	writing  bool   // it was an INSERT, UPDATE or DELETE
}

func (a *authorizer) decide(action int, first, second, database string) int {
	switch action {
	case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, actionRecursive:
		return sqlite3.SQLITE_OK
	case sqlite3.SQLITE_FUNCTION:
		if _, ok := slices.BinarySearch(functions[:], strings.ToLower(second)); ok {
			return sqlite3.SQLITE_OK
		}
		if a.refused == "" {
			a.function = second
		}
		a.refuse("%s() is not among the functions that a check may call", clip(second))
	case sqlite3.SQLITE_PRAGMA:
		a.refuse("PRAGMA %s is not allowed, nor is its form as a table, pragma_%s", clip(first), clip(first))
	case sqlite3.SQLITE_ATTACH:
		a.refuse("ATTACH is not allowed: a check reads the one database that it names")
	case sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE:
		a.writing = true
		fallthrough
	default:
		a.refuse("the statement does more than read (SQLite's action %d)", action)
	}
	return sqlite3.SQLITE_DENY
}

func (a *authorizer) refuse(format string, args ...any) {
	if a.refused == "" {
		a.refused = fmt.Sprintf(format, args...)
	}
}

// functions are those that a statement may call, sorted: they compute from
// their arguments and the rows, or tell the time. Left out are the ones that
// write or load (load_extension, fts3_tokenizer, optimize, sqlite_log), draw
// lots (random, randomblob), or speak of the connection instead of the data
// (changes, last_insert_rowid, sqlite_version).
var functions = [...]string{
	"->", "->>",
	"abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "avg",
	"ceil", "ceiling", "char", "coalesce", "concat", "concat_ws", "cos", "cosh", "count", "cume_dist",
	"current_date", "current_time", "current_timestamp",
	"date", "datetime", "degrees", "dense_rank",
	"exp", "first_value", "floor", "format", "glob", "group_concat", "hex",
	"if", "ifnull", "iif", "instr",
	"json", "json_array", "json_array_insert", "json_array_length", "json_error_position", "json_extract",
	"json_group_array", "json_group_object", "json_insert", "json_object", "json_patch", "json_pretty",
	"json_quote", "json_remove", "json_replace", "json_set", "json_type", "json_valid",
	"jsonb", "jsonb_array", "jsonb_array_insert", "jsonb_extract", "jsonb_group_array", "jsonb_group_object",
	"jsonb_insert", "jsonb_object", "jsonb_patch", "jsonb_remove", "jsonb_replace", "jsonb_set",
	"julianday", "lag", "last_value", "lead", "length", "like", "likelihood", "likely",
	"ln", "log", "log10", "log2", "lower", "ltrim",
	"match", "matchinfo", "max", "min", "mod", "nth_value", "ntile", "nullif", "octet_length", "offsets",
	"percent_rank", "pi", "pow", "power", "printf", "quote", "radians", "rank", "replace", "round",
	"row_number", "rtrim", "sign", "sin", "sinh", "snippet", "sqrt", "strftime", "string_agg",
	"substr", "substring", "subtype", "sum",
	"tan", "tanh", "time", "timediff", "total", "trim", "trunc", "typeof",
	"unhex", "unicode", "unistr", "unistr_quote", "unixepoch", "unlikely", "upper", "zeroblob",
}
