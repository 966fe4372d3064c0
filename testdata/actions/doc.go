// Package actions holds the end-to-end tests of the GitHub Action: the built gate
// on one side, a GitHub that can be run on this machine on the other.
//
// It is a module of its own, so that nothing of what plays GitHub enters the
// product's go.mod. Package github is its API, over a real repository; package
// results is where artifacts go; package runner starts the gate as a job would,
// on the host or in a container. Every request to the API is held against
// GitHub's public OpenAPI description. README.md says how to run the tests.
package actions
