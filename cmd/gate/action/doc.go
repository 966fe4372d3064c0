// Package action is the gate as a step of a GitHub workflow. Four commands come
// here, each with its file:
//
//   - judge.go: `gate action` judges a change by the contracts at a trusted commit,
//     uploads the evidence and posts check-runs
//   - sign.go: `gate action sign` signs what the judging job uploaded, in a job of its own
//   - verify.go: `gate action verify` is the second stage: it takes what the first
//     one uploaded, believes nothing of it, and posts the check to require
//   - require.go: `gate action require` lets a release go on, or not
//
// A step of a workflow runs among others, and those may have run the code that is
// judged. So what the runner itself says is believed (its variables that no step
// can set), what GitHub's API says is believed, and nothing else: not the event's
// file, not the variables that an earlier step may have planted, not the
// repository in the workspace, and no program in it.
//
// Nothing here decides. What a change is, and by which commit's contract it is
// judged, is for package change to say; what is true of it for package gate; how that
// is told for the reporters.
package action
