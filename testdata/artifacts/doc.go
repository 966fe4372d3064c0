// Package artifacts holds the end-to-end tests of uploads: package
// reporter/artifact on one side, GitHub's own client and a blob store that speaks Azure's
// protocol on the other.
//
// GitHub's results service cannot be had, so package results stands for it; what it
// takes and answers is checked by GitHub's client, which is made to
// speak with it in the same tests. `make test-artifacts` installs what is needed and runs them.
package artifacts
