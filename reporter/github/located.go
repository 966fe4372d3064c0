package github

import (
	"regexp"
	"strconv"
	"strings"
)

// location is a place that a command named in its output.
type location struct {
	path      string
	line, col int // from 1; col is 0 for none
	message   string
	said      string // "error", "warning", "note" or ""
	pkg       string // import path of the Go package whose test printed it; "" elsewhere
}

// The forms in which tools name a place. What a path is, only the workspace knows:
// these take whatever stands where one could, and what does not exist is dropped later.
var (
	// main.go:12:5: undefined: x (go vet, gcc, clang, eslint's unix form), a_test.go:12: got 1, path.py:12: AssertionError
	colonForm = regexp.MustCompile(`^\s*([^\s:][^:]*):(\d{1,9})(?::(\d{1,9}))?:\s+(\S.*)$`)
	// src/a.ts(12,5): error TS2322: …
	parenForm = regexp.MustCompile(`^\s*([^\s(][^(]*)\((\d{1,9}),(\d{1,9})\):\s+(\S.*)$`)
	// src/a.ts:12:5 - error TS2322: … (tsc --pretty)
	dashForm = regexp.MustCompile(`^\s*([^\s:][^:]*):(\d{1,9}):(\d{1,9}) - (\S.*)$`)
	// /src/a.js: line 12, col 5, Error - … (eslint's compact form)
	compactForm = regexp.MustCompile(`^\s*([^\s:][^:]*): line (\d{1,9}), col (\d{1,9}), (\S.*)$`)
	//  --> src/main.rs:12:5, below "error[E0308]: mismatched types"
	arrowForm = regexp.MustCompile(`^\s*--> ([^:]+):(\d{1,9}):(\d{1,9})$`)
	rustLine  = regexp.MustCompile(`^(?:error|warning)(?:\[\w+\])?: .+$`)
	//   12:5  error  'x' is not defined  no-undef, below a line with the path (eslint's stylish form)
	stylishForm = regexp.MustCompile(`^\s+(\d{1,9}):(\d{1,9})\s+((?:error|warning)\s+\S.*)$`)
	// FAIL	example.com/shop/order	0.012s
	packageForm = regexp.MustCompile(`^(?:FAIL|ok  )\t(\S+)(?:\s|$)`)
	// E       assert 31.5 == 29.0 (pytest, above the place)
	assertForm = regexp.MustCompile(`^E   +(\S.*)$`)

	saidForm = regexp.MustCompile(`(?i)^(?:fatal )?(error|warning|note|info)\b`)
	colours  = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)
	spaces   = regexp.MustCompile(`\s{2,}`)
)

// locations finds the places that the output of a command names, in its order, no
// place twice, at most maxLocations; more says that there were others.
func locations(output string) (found []location, more bool) {
	s := scanner{seen: map[location]bool{}}
	for len(output) > 0 && !s.more {
		line, rest, _ := strings.Cut(output, "\n")
		output = rest
		if line = strings.TrimSuffix(line, "\r"); len(line) <= maxScannedLine {
			s.line(colours.ReplaceAllString(line, ""))
		}
	}
	return s.found, s.more
}

// scanner remembers what the lines before say about the next ones.
type scanner struct {
	found   []location
	seen    map[location]bool
	more    bool
	heading string   // eslint's path
	rust    string   // rustc's message
	asserts []string // pytest's explanation
	pending int      // the first of found whose Go package is not known yet
}

func (s *scanner) line(l string) {
	if m := arrowForm.FindStringSubmatch(l); m != nil && s.rust != "" {
		s.add(m[1], m[2], m[3], s.rust)
		s.rust = ""
		return
	}
	if m := stylishForm.FindStringSubmatch(l); m != nil && s.heading != "" {
		s.add(s.heading, m[1], m[2], spaces.ReplaceAllString(m[3], " "))
		return
	}
	if m := packageForm.FindStringSubmatch(l); m != nil {
		for i := s.pending; i < len(s.found); i++ {
			s.found[i].pkg = m[1]
		}
		s.pending = len(s.found)
	}
	if m := assertForm.FindStringSubmatch(l); m != nil {
		if len(s.asserts) < maxPlaces {
			s.asserts = append(s.asserts, m[1])
		}
		return
	}
	for _, form := range []*regexp.Regexp{dashForm, parenForm, compactForm} {
		if m := form.FindStringSubmatch(l); m != nil {
			s.add(m[1], m[2], m[3], m[4])
			return
		}
	}
	if m := colonForm.FindStringSubmatch(l); m != nil {
		message := m[4]
		if strings.HasSuffix(m[1], ".py") && len(s.asserts) > 0 {
			message, s.asserts = strings.Join(append([]string{message}, s.asserts...), "\n"), nil
		}
		s.add(m[1], m[2], m[3], message)
		return
	}
	switch {
	case rustLine.MatchString(l):
		s.rust = l
	case strings.TrimSpace(l) == "":
		s.heading = ""
	case l[0] != ' ' && l[0] != '\t':
		s.heading = l
	}
}

func (s *scanner) add(path, line, col, message string) {
	l := location{path: strings.TrimSpace(path), message: strings.TrimSpace(message)}
	l.line, _ = strconv.Atoi(line) // nine digits at most
	l.col, _ = strconv.Atoi(col)   // "" is none
	if m := saidForm.FindStringSubmatch(l.message); m != nil {
		if l.said = strings.ToLower(m[1]); l.said == "info" {
			l.said = "note"
		}
	}
	if l.line < 1 || l.path == "" || s.seen[l] {
		return
	}
	if len(s.found) == maxLocations {
		s.more = true
		return
	}
	s.seen[l] = true
	s.found = append(s.found, l)
}
