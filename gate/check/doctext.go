package check

import "strings"

// DocText gives the package comment in the source text of a doc.go as Markdown.
// A type embeds its own doc.go and passes it, so the page that documents it and
// the comment that a programmer reads are one text. It reads plain strings, for
// go/parser would be start-up time of every run.
func DocText(src string) string {
	var comment []string
	for rest := src; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "package "):
			return strings.TrimSpace(strings.Join(comment, "\n")) + "\n"
		case strings.HasPrefix(trimmed, "/*"):
			_, body, _ := strings.Cut(rest, "/*")
			body, after, _ = strings.Cut(body, "*/")
			comment = strings.Split(strings.ReplaceAll(body, "\r", ""), "\n")
			// What stands behind the comment on its last line is its end.
			_, after, _ = strings.Cut(after, "\n")
		case strings.HasPrefix(trimmed, "//go:"):
			// A directive is for the compiler.
		case strings.HasPrefix(trimmed, "//"):
			text := strings.TrimPrefix(strings.TrimPrefix(trimmed, "//"), " ")
			comment = append(comment, text)
		default:
			comment = nil // a blank line cuts what stood above off from the package clause
		}
		rest = after
	}
	return ""
}
