// Package github shows a run on GitHub: as a check-run with annotations, as
// commands to the runner where no check-run may be posted, as the summary of the job,
// and as outputs of the step.
//
// It posts nothing. [Render] gives a check-run in the words of package forge, and
// whoever holds a token posts it. Nor does it decide anything: [Conclusion] maps a
// verdict to the word that GitHub knows, and whatever it does not know is a failure.
//
// Nearly all that is shown was written by somebody whom the gate does not trust, and
// each place reads it differently. So there is one way out for each:
//
//   - Markdown: [escapeProse] for sentences, [codeSpan] for names and values, [fence] for more lines;
//   - annotations and titles, which are plain text: [visible];
//   - the log of the job, which the runner reads for commands: [Log.Untrusted];
//   - the file of outputs: a delimiter that nobody can guess ([Outputs]).
//
// Every limit of GitHub's stands in limits.go. What does not fit is cut, the cut is
// told in numbers, and the whole is in the evidence.
package github
