package secret

import "strings"

// cookieAt looks at the value of a name that ends in "cookie": of the header
// when a colon follows, else of a variable. The operator is at i.
func (s *scanner) cookieAt(i int, name string, v value) {
	text := s.text
	switch {
	case !v.colon:
		if kind, ok := v.isCredential(s, name, naming{Cookie, possible}); ok {
			s.claim(kind, v.from, v.end)
		}
	case v.quoted:
		s.cookies(v.from, v.end)
	case v.from >= s.noCookie:
		// Of a header in a command line the quote before its name is the end.
		stop := byte('\n')
		if start := nameStart(text, i); start > 0 && isQuote(text[start-1]) {
			stop = text[start-1]
		}
		end := run(text, v.from, func(c byte) bool { return c != stop && c != '\n' && c != '\r' && c != '\x1b' })
		s.cookies(v.from, end)
		s.noCookie = end
	}
}

// cookies takes the values out of NAME=VALUE; NAME=VALUE and leaves the names,
// and the attributes that Set-Cookie has.
func (s *scanner) cookies(from, end int) {
	text := s.text[:end]
	for from < end {
		stop := run(text, from, func(c byte) bool { return c != ';' })
		equals := strings.IndexByte(text[from:stop], '=')
		if equals < 0 {
			from = stop + 1
			continue
		}
		name := strings.TrimSpace(text[from : from+equals])
		first := from + equals + 1
		last := first
		for j := first; j < stop; j++ {
			// An escaped line break ends the header too.
			if text[j] == '\\' && j+1 < stop && (text[j+1] == 'n' || text[j+1] == 'r') {
				end = j
				break
			}
			if !isSpace(text[j]) {
				last = j + 1
			}
		}
		word := text[first:last]
		if !attribute(name) && len(name) <= maxName && word != "" && !strings.HasPrefix(word, opening) && (len(word) > maxPlaceholder || !placeholder(word)) {
			s.claim(Cookie, first, last)
		}
		from = stop + 1
	}
}

// attribute says whether a name is one that Set-Cookie gives to the browser.
func attribute(name string) bool {
	switch strings.ToLower(name) {
	case "path", "domain", "expires", "max-age", "samesite", "version", "comment", "priority":
		return true
	}
	return false
}
