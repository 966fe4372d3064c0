package text

import "strings"

// Table writes rows of foreign text in aligned columns. The last column is not
// padded, and on a terminal it is clipped: a row stays one line.
func Table(s Style, rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cells(s.fit(Escape(cell))))
		}
	}
	p := page{Style: s}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(pad(s.fit(Escape(cell)), widths[i]))
		}
		p.line(clip(strings.TrimRight(line.String(), " "), s.Width))
	}
	return p.b.String()
}
