package github

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
)

// JobSummary is the Markdown that a step adds to the summary of its job: the check-runs, the
// first one first. Where they could not be posted, it lists their annotations too, for
// the log shows but ten of a kind. It fits into what GitHub takes of a step, and says what
// was cut for that.
func JobSummary(runs []forge.CheckRun, posted bool) string {
	parts := make([][4]string, len(runs)) // heading, summary, annotations, details of each
	d := document{most: maxJobSummary - reserve}
	cut := 0
	fit := func(run, part int, text string) {
		switch {
		case text == "":
		case len(text) > d.most:
			cut += len(text)
		default:
			d.most -= len(text)
			parts[run][part] = text
		}
	}
	for i := range runs {
		fit(i, 0, fmt.Sprintf("## %s\n\n", sentence(runs[i].Name, maxName)))
	}
	for i := range runs {
		fit(i, 1, runs[i].Summary+"\n")
	}
	for i := range runs {
		if !posted {
			fit(i, 2, annotationTable(runs[i].Annotations))
		}
		if runs[i].Text != "" {
			fit(i, 3, "<details><summary>Details of the checks that did not pass</summary>\n\n"+runs[i].Text+"\n</details>\n\n")
		}
	}
	for i := range parts {
		for _, text := range parts[i] {
			d.WriteString(text)
		}
	}
	if cut > 0 {
		d.line("\n**%d bytes of reports were cut** for GitHub's limits; the evidence of each run has all of it.", cut)
	}
	return d.String()
}

func annotationTable(all []forge.Annotation) string {
	if len(all) == 0 {
		return ""
	}
	d := document{most: maxSummary}
	d.line("### Places\n\n| level | where | what |\n|---|---|---|")
	n := d.items(len(all), len(all), maxSummary, func(i int) string {
		a := &all[i]
		first, _, _ := strings.Cut(a.Message, "\n")
		return fmt.Sprintf("| %s | %s | %s |\n", a.Level, codeSpan(fmt.Sprintf("%s:%d", a.Path, a.StartLine)), escapeProse(a.Title+": "+first))
	})
	if n < len(all) {
		d.line("\n**%s cut** for GitHub's limits.", counted(len(all)-n, "place"))
	}
	d.line("")
	return d.String()
}

// WriteSummary adds Markdown to the file that GITHUB_STEP_SUMMARY names. What would make the
// file too large for GitHub is cut at a line, and the cut is told. Its error is
// action.report_failed: an unset variable, or a file that cannot be written.
func WriteSummary(name, markdown string) error {
	size, err := fileSize("GITHUB_STEP_SUMMARY", name)
	if err != nil {
		return err
	}
	d := document{most: int(max(maxJobSummary-size, 0))}
	if d.most < len(markdown) && d.most <= reserve {
		return fault.New(fault.ActionReportFailed, "", "the summary of the job has no room left: it has %d bytes, and GitHub drops one of more than %d", size, maxJobSummary)
	}
	d.WriteString(markdown)
	return appendTo("GITHUB_STEP_SUMMARY", name, d.finish())
}

// fileSize is the size of a file that the runner made for the step, 0 when it is not
// there yet. Anything but a regular file is refused: opening a FIFO would wait for ever.
func fileSize(variable, name string) (int64, error) {
	if name == "" {
		return 0, fault.New(fault.ActionReportFailed, "Run it as a step of a GitHub workflow.", "%s is not set", variable)
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.Mode().IsRegular():
		return info.Size(), nil
	case err == nil:
		return 0, fault.New(fault.ActionReportFailed, "", "%s names no regular file", variable)
	case os.IsNotExist(err):
		return 0, nil
	}
	return 0, fault.New(fault.ActionReportFailed, "", "the file of %s cannot be written: %v", variable, cause(err)).Because(err)
}

// appendTo adds text to such a file in one write.
func appendTo(variable, name, text string) error {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = file.WriteString(text)
		if closing := file.Close(); err == nil {
			err = closing
		}
	}
	if err != nil {
		return fault.New(fault.ActionReportFailed, "", "the file of %s cannot be written: %v", variable, cause(err)).Because(err)
	}
	return nil
}

// cause leaves out the path, which is one of the runner's.
func cause(err error) error {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Err
	}
	return err
}
