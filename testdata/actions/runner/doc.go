// Package runner starts a program as GitHub's runner starts a step of a job, and
// understands what comes back as the runner does.
//
//	step := runner.Step{Program: gate, Args: []string{"action"}, Job: job}
//	result, err := step.Run(ctx)
//
// It is written after the runner's sources: inputs become INPUT_ variables, upper-case, with
// their dashes; files take outputs, environment and summary; commands stand in the output,
// at the start of a line or, in their old spelling, anywhere in it. A program runs on the host, or an
// image runs with the runner's mounts and no flags beside them.
package runner
