// Package checktest runs the cases of a check type against real files, real
// databases and real processes.
//
// A check type's test is one line,
//
//	func TestCases(t *testing.T) { checktest.Run(t, Type()) }
//
// and its cases are the files testdata/*.txtar of its package. Each is a txtar
// archive: a line that says what the case shows, then sections.
//
//	a file that is there passes
//	-- params.json --
//	{"path": "a"}
//	-- want --
//	status: pass
//	summary: is there
//	-- setup --
//	symlink ws/b a
//	-- ws/a --
//	content
//
// A type that starts processes needs a second line, for its checks are run as
// the gate runs them, by a sandboxed worker that is the test binary itself:
//
//	func TestMain(m *testing.M) { os.Exit(checktest.Main(m, Type())) }
//
// # Sections
//
// params.json and want must be there. A section ws/NAME is a file of the
// workspace, outside/NAME one outside every root, and NAME.sql a script for
// the setup lines sqlite and wal. In every section {{ws}} stands for the
// absolute folder of the workspace and {{out}} for the one outside it.
//
// # want
//
// One "key: value" a line. Only status is needed. Keys in the second group may
// be repeated and are substrings, all of which must occur.
//
//	status          pass, fail, inconclusive, error; invalid: the params are refused when bound
//	error           the exact code of the problem
//	schema_version  of the contract, default 1
//	timeout         seconds, default 30
//	unchanged       true: the workspace is byte for byte the same afterwards, and holds no new file
//
//	summary         in the summary
//	observed        in the canonical JSON of what was observed
//	expected        in the canonical JSON of what was expected
//	finding         in the canonical JSON of one finding
//	problem         in one problem of the params and its mend (status invalid), else in the message
//	                and mend of the outcome's problem
//	limitation      in one limitation
//	warning         in one warning about the params
//	lacks           nowhere in the JSON of the whole outcome
//
// # setup
//
// Lines that are carried out in order after the files of the archive were
// written. A path begins with ws/ or outside/.
//
//	mkdir PATH                  an empty folder
//	symlink PATH TARGET         a link; the target is not changed in any way
//	link PATH EXISTING          a further hard link to a file
//	fifo PATH                   a named pipe
//	socket PATH                 a unix socket that nobody listens on
//	chmod MODE PATH             octal
//	unreadable PATH             nobody may read it: the case runs as a user for whom that is so
//	hex PATH DIGITS             a file of exactly these bytes
//	repeat PATH COUNT TEXT      a file of TEXT, COUNT times, nothing between and nothing after
//	truncate PATH SIZE          make the file that many bytes long, sparse
//	name FOLDER"QUOTED"         an empty file whose name is a Go string literal
//	sqlite PATH SCRIPT          a SQLite database made by a script of the archive
//	wal PATH SCRIPT             the same in WAL mode; the connection stays open, so that the rows
//	                            lie in the -wal file beside it
//
// # What fails without being asked for
//
// A misspelt key, verb or section never passes silently: it fails the case.
// So do an outcome that breaks the grammar of package check (no summary, an
// unknown code, a problem beside a pass), a problem of the params without a
// place, a check that outlives its timeout, and a testdata folder without a
// case each of pass, fail, invalid and inconclusive.
package checktest
