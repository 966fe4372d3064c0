package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// table is the outcome of one case.
type table struct {
	of         benchCase
	contenders []contender
	samples    []sample
	program    int64 // bytes: the file of the gate
}

// row is one line of a table, as text.
type row struct{ name, median, cpu, ratio, bar, largest, tree string }

func (t table) rows() []row {
	gate := median(t.samples[0].wall)
	var out []row
	for i, s := range t.samples {
		r := row{name: s.name, median: show(median(s.wall)), cpu: show(median(s.cpu)), largest: megabytes(s.largest), tree: megabytes(s.tree)}
		if i == 0 {
			r.bar = strings.Join(t.bars(), ", ")
		} else {
			ratio := float64(gate) / float64(median(s.wall))
			r.ratio = fmt.Sprintf("%.2f", ratio)
			r.bar = t.contenders[i].verdict(ratio)
			if most := t.contenders[i].memory; most > 0 {
				r.bar = fmt.Sprintf("memory ≤ %.2f ×: %s", most, word(float64(t.samples[0].tree) <= most*float64(s.tree)))
			}
		}
		out = append(out, r)
	}
	return out
}

// bars are those of the gate alone, which no peer has a part in.
func (t table) bars() []string {
	gate := t.samples[0]
	var out []string
	if most := t.of.memory; most > 0 {
		out = append(out, fmt.Sprintf("memory ≤ %s: %s", megabytes(most), word(gate.tree <= most)))
	}
	if most := t.of.cpu; most > 0 {
		out = append(out, fmt.Sprintf("CPU ≤ %s: %s", show(most), word(median(gate.cpu) <= most)))
	}
	if most := t.of.program; most > 0 {
		out = append(out, fmt.Sprintf("program of %.1f MB ≤ %.0f MB: %s", float64(t.program)/mb, float64(most)/mb, word(t.program <= most)))
	}
	return out
}

func (c contender) verdict(ratio float64) string {
	switch {
	case c.limit == 0:
		return ""
	case c.strict:
		return fmt.Sprintf("< %.2f: %s", c.limit, word(ratio < c.limit))
	}
	return fmt.Sprintf("≤ %.2f: %s", c.limit, word(ratio <= c.limit))
}

func word(met bool) string {
	if met {
		return "ok"
	}
	return "MISSED"
}

func show(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func megabytes(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/mib) }

func (t table) text(out io.Writer) {
	fmt.Fprintf(out, "\n%s (medians of %d)\n", t.of.title, len(t.samples[0].wall))
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "  \tmedian\tCPU\tgate takes\tbar\tlargest process\twhole tree")
	for _, r := range t.rows() {
		ratio := r.ratio
		if ratio != "" {
			ratio += " ×"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name, r.median, r.cpu, ratio, r.bar, r.largest, r.tree)
	}
	w.Flush()
}

// page is docs/performance.md.
func page(tables []table, machine string, runs int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Performance

Written by `+"`make bench FLAGS='-markdown docs/performance.md'`"+`; measured on %s.
Each contender is run in turn with the others (up to %d times, after one that is not counted) and the medians
are compared. "CPU" is the median of the user and system time of all its processes, "gate takes" the gate's
median over the contender's. "Largest process" is the kernel's
peak resident size of the largest process; a child begins with the figure of the benchmark itself, so small
ones look alike. "Whole tree" is the most that all processes were seen to hold at once, sampled every 2 ms in
a run that is not timed.

Your machine will give other times. The ratios are what to compare, on an idle machine.
`, machine, runs)
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", heading(t.of.title), t.of.note)
		b.WriteString("| | median | CPU | gate takes | bar | largest process | whole tree |\n|---|--:|--:|--:|---|--:|--:|\n")
		for _, r := range t.rows() {
			ratio := r.ratio
			if ratio != "" {
				ratio += " ×"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", strings.ReplaceAll(r.name, "|", "\\|"), r.median, r.cpu, ratio, r.bar, r.largest, r.tree)
		}
	}
	return b.String()
}

// heading begins a title with a capital, unless it begins with a check type.
func heading(title string) string {
	if first, _, _ := strings.Cut(title, " "); strings.Contains(first, "_") {
		return "`" + first + "`" + title[len(first):]
	}
	return strings.ToUpper(title[:1]) + title[1:]
}
