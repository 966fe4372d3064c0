package sqlread

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SQLError is what is wrong with a statement, and where in its text.
type SQLError struct {
	Line, Column int // from 1, columns in characters; 0 when no place can be told
	Reason       string
	Fix          string
}

func (e *SQLError) Error() string {
	// The place is one in the statement, and not in the contract that holds it.
	if e.Line == 0 {
		return "SQL: " + e.Reason
	}
	return fmt.Sprintf("SQL line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// fixRead mends whatever is no SELECT.
const fixRead = "Write one SELECT, or WITH … SELECT: a check reads and changes nothing."

// statement is a text that the screen let through: one SELECT.
type statement struct {
	source     string
	tokens     []token // of the source, at its offsets, without a ';' at the end
	parameters int     // how many values it takes
}

// sql is the statement without what stands before and behind it: white space,
// comments, ';'. A comment without an end would swallow what is put behind it.
func (s statement) sql() string { return s.upTo(len(s.tokens) - 1) }

// upTo is the statement up to and with the token at i.
func (s statement) upTo(i int) string { return s.source[s.tokens[0].start:s.tokens[i].end] }

// wrong reports an error of the statement at a byte offset of its source.
func (s statement) wrong(offset int, fix, format string, args ...any) *SQLError {
	line, column := place(s.source, offset)
	return &SQLError{Line: line, Column: column, Reason: fmt.Sprintf(format, args...), Fix: fix}
}

// screen is the first wall: it lets nothing through but one statement whose
// verb is SELECT. It looks at tokens, so a word inside a literal, a quoted name
// or the name of a function is no write.
func screen(sql string) (statement, error) {
	s := statement{source: sql}
	if len(sql) > maxSQL {
		return s, &SQLError{Reason: fmt.Sprintf("the statement has %d bytes; at most %d are read", len(sql), maxSQL), Fix: "Make it shorter, or split it into several checks."}
	}
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return s, s.wrong(i, "Remove it; char(0) makes one inside a value.", "the statement holds a NUL character, where SQLite stops reading")
	}
	s.tokens = lex(sql)
	for i, t := range s.tokens {
		if t.kind == illegal {
			return s, s.wrong(t.start, "", "%s", malformed(s.text(i)))
		}
	}
	if i := slices.IndexFunc(s.tokens, func(t token) bool { return t.kind == semicolon }); i >= 0 {
		for _, t := range s.tokens[i:] {
			if t.kind != semicolon {
				return s, s.wrong(t.start, "Make a check of its own for each statement.", "a second statement begins here; a check runs one")
			}
		}
		s.tokens = s.tokens[:i]
	}
	if len(s.tokens) == 0 {
		return s, s.wrong(0, fixRead, "there is no statement")
	}
	verb, ok := s.verb()
	if !ok {
		return s, s.wrong(s.tokens[verb].start, "Write WITH name AS (SELECT …) SELECT ….", "the WITH clause breaks off here")
	}
	if !s.is(verb, "SELECT") {
		return s, s.wrong(s.tokens[verb].start, fixRead, "%s is no SELECT", clip(s.text(verb)))
	}
	for i, t := range s.tokens {
		if w := s.writing(i); w != "" {
			return s, s.wrong(t.start, `If it is the name of a column or a table, write it in double quotes: "`+strings.ToLower(w)+`".`, "%s is no part of a SELECT", w)
		}
		if why := s.forbidden(i); why != "" {
			return s, s.wrong(t.start, "", "%s() may not be called: %s", clip(s.name(i)), why)
		}
	}
	var err error
	s.parameters, err = s.countParameters()
	return s, err
}

// malformed says what is wrong with a token that is none.
func malformed(t string) string {
	switch c := t[0]; {
	case c == '\'', c == '"', c == '`', c == '[':
		return "what is quoted from here on has no end"
	case (c == 'x' || c == 'X') && len(t) > 1:
		return "a blob literal is x'…' with an even number of hexadecimal digits"
	case isDigit(c), c == '.':
		return clip(t) + " is neither a number nor a name"
	case len(t) == 1 && (c == ':' || c == '@' || c == '$' || c == '#'):
		return "a parameter needs a name behind its " + t
	}
	return clip(t) + " is no token of SQL"
}

// verb gives the index of the word that says what the statement does: the
// first, or behind WITH the one that follows the last named query. Where there
// is none, it gives the index at which the clause breaks off.
func (s statement) verb() (at int, ok bool) {
	if !s.is(0, "WITH") {
		return 0, true
	}
	i := 1
	if s.is(i, "RECURSIVE") {
		i++
	}
	for {
		if i >= len(s.tokens) || s.tokens[i].kind != word && s.tokens[i].kind != quoted && s.tokens[i].kind != text {
			break
		}
		i++
		if s.is(i, "(") {
			i = s.closing(i)
		}
		if !s.is(i, "AS") {
			break
		}
		i++
		if s.is(i, "NOT") {
			i++
		}
		if s.is(i, "MATERIALIZED") {
			i++
		}
		if !s.is(i, "(") {
			break
		}
		if i = s.closing(i); !s.is(i, ",") {
			if i >= len(s.tokens) {
				break
			}
			return i, true
		}
		i++
	}
	return min(i, len(s.tokens)-1), false
}

// closing gives the index behind the parenthesis that closes the one at i.
func (s statement) closing(i int) int {
	for depth := 0; i < len(s.tokens); i++ {
		switch {
		case s.is(i, "("):
			depth++
		case s.is(i, ")"):
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

// writing gives the word at i when it writes. These are SQLite's reserved
// words, which are no names unless quoted, so they can have no innocent use.
// The other verbs (REPLACE, PRAGMA, ATTACH, VACUUM, BEGIN, …) are names wherever
// they are not a statement's verb, and columns are called that; of them the
// verb alone is looked at.
func (s statement) writing(i int) string {
	if s.tokens[i].kind != word {
		return ""
	}
	switch w := strings.ToUpper(s.text(i)); w {
	case "INSERT", "UPDATE", "DELETE", "DROP", "CREATE", "ALTER", "COMMIT":
		return w
	}
	return ""
}

// forbidden says why the function that is called at i may not be; "" when there
// is no call there, or the screen knows nothing against it. The authorizer has
// the last word; here a contract's author learns it when the contract is linted.
func (s statement) forbidden(i int) string {
	if k := s.tokens[i].kind; (k != word && k != quoted) || !s.is(i+1, "(") {
		return ""
	}
	switch strings.ToLower(s.name(i)) {
	case "load_extension":
		return "it runs code from a file"
	case "fts3_tokenizer":
		return "it can run code from an address"
	case "readfile", "writefile", "edit", "fsdir", "lsmode":
		return "it reaches files outside the database"
	case "random", "randomblob":
		return "a check must give the same answer each time"
	case "authenticate", "auth_user_add", "auth_user_change", "auth_user_delete", "auth_enabled":
		return "it belongs to the driver, not to the database"
	}
	return ""
}

// countParameters counts as SQLite numbers them: ? takes the number after the
// highest so far, ?NNN its own, and a name the same number each time.
func (s statement) countParameters() (int, error) {
	highest, names := 0, map[string]bool{}
	for i, t := range s.tokens {
		if t.kind != variable {
			continue
		}
		switch v := s.text(i); {
		case v == "?":
			highest++
		case v[0] == '?':
			n, err := strconv.Atoi(v[1:])
			if err != nil || n < 1 || n > maxParameters {
				return 0, s.wrong(t.start, "", "the number of a parameter is between ?1 and ?%d, not %s", maxParameters, clip(v))
			}
			highest = max(highest, n)
		case !names[v]:
			names[v] = true
			highest++
		}
	}
	if highest > maxParameters {
		return 0, &SQLError{Reason: fmt.Sprintf("the statement takes %d parameters; at most %d are bound", highest, maxParameters)}
	}
	return highest, nil
}

// is says whether the token at i is that word, in any case, or that mark.
func (s statement) is(i int, want string) bool {
	if i >= len(s.tokens) {
		return false
	}
	k := s.tokens[i].kind
	return (k == word || k == mark) && strings.EqualFold(s.text(i), want)
}

// text gives the token at i as it was written.
func (s statement) text(i int) string { return s.source[s.tokens[i].start:s.tokens[i].end] }

// name gives the name that the word or quoted name at i stands for.
func (s statement) name(i int) string {
	t := s.text(i)
	if s.tokens[i].kind != quoted {
		return t
	}
	inner := t[1 : len(t)-1]
	if t[0] == '[' {
		return inner
	}
	return strings.ReplaceAll(inner, t[:1]+t[:1], t[:1])
}

// mentions says whether the statement itself names something, in any case and
// however quoted. What it does not mention comes from the database's views.
func (s statement) mentions(name string) bool {
	for i, t := range s.tokens {
		if (t.kind == word || t.kind == quoted) && strings.EqualFold(s.name(i), name) {
			return true
		}
	}
	return false
}

// clip shortens a text for a message and makes it printable.
func clip(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	q := strconv.Quote(s)
	if q[1:len(q)-1] == s {
		return s
	}
	return q
}
