// Package sqlitequery decides whether a SELECT on a SQLite database gives the
// wanted rows. The statement runs on a private copy of the database, so nothing
// is ever written or created where the database lies; transactions in a
// write-ahead log that is not merged yet are seen.
//
// # Parameters
//
//   - database: the file, relative to the workspace or absolute.
//   - sql: one SELECT, or WITH … SELECT. A ";" at the end and comments are
//     allowed.
//   - parameters: values for the parameters of the statement (?, ?3, :name,
//     @name, $name), in order; a name that occurs twice counts once. A number
//     without a point or an exponent binds as INTEGER, another as REAL, true and
//     false as 1 and 0. Values are bound and never pasted into the text.
//   - equals: the wanted rows as objects, in the order in which they come out;
//     without ORDER BY that order is up to SQLite. The order of columns does not
//     count. [] wants no row.
//   - row_count: how many rows are wanted.
//   - satisfies (schema_version 2): a matcher that must hold for the array of
//     rows.
//
// Exactly one of equals, row_count and satisfies is given.
//
// Values are compared as they are stored, whatever their columns were declared
// as: an INTEGER and a REAL as numbers (29 equals 29.0, integers exactly), a
// TEXT as a string ('29' is not 29), NULL as null, a BLOB as
// {"blob": "sha256:…", "bytes": n}. SQLite has no booleans: a BOOLEAN column
// holds 1 or 0. An infinity is {"real": "Infinity"} or {"real": "-Infinity"},
// and TEXT that is not valid UTF-8 is {"text": "sha256:…", "bytes": n}. In equals
// a digest may be given in any case, with or without "sha256:".
//
// Write text in single quotes: SQLite takes "paid" for the text 'paid' when
// there is no column of that name, so a misspelt column in double quotes is no
// error.
//
// A statement may call the functions that compute from their arguments and the
// rows, date and time functions included. Refused are load_extension, random
// and randomblob, for a check must give the same answer each time, and
// functions that speak of the connection instead of the data.
//
// # Fails
//
// The rows are others than the wanted ones: the first difference is named by
// row and column. The database is missing, is no regular file or no SQLite
// database, is encrypted or damaged; a table, column or index is not there; a
// view is defined in a circle or fits its tables no more; a JSON function met a
// value that is no JSON.
//
// # Inconclusive
//
// The database cannot be read, leaves the allowed roots, or keeps changing
// while it is copied; it was left in the middle of a transaction over several
// databases; it needs an extension that this build of SQLite lacks; it has more
// than 8 GiB. The statement does not end within the timeout, or needs more than
// is allowed: a value of 32 MiB, 16 MiB of rows in all, 10,000 rows for
// satisfies.
//
// # Error
//
// Two columns of the answer have the same name, the number of parameters is
// wrong, or the statement names a function or a collation that does not exist,
// or a column that two tables have. The contract can be frozen all the same, and
// lint warns of what can be known without the database. A text that is no
// statement to run makes the contract invalid: one that is no SELECT, a second
// statement, a syntax error with its line and column.
//
// # Example
//
//	{"id": "total", "type": "sqlite_query",
//	 "params": {"database": "orders.db",
//	            "sql": "SELECT id, total FROM orders WHERE status = ? ORDER BY id",
//	            "parameters": ["paid"],
//	            "equals": [{"id": 1, "total": 29.0}]}}
//
//	{"id": "no-orphans", "type": "sqlite_query",
//	 "params": {"database": "orders.db",
//	            "sql": "SELECT * FROM lines WHERE order_id NOT IN (SELECT id FROM orders)",
//	            "row_count": 0}}
package sqlitequery
