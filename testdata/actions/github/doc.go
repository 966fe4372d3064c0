// Package github is a double of GitHub's REST API, and of its git over HTTP, over a
// real repository on this machine:
//
//	repo, err := github.NewRepo(dir)
//	head, err := repo.Commit("a change", []string{base}, github.File{Path: "a.txt", Content: "a"})
//	hub, err := github.Start(github.Config{Repo: repo, Owner: "acme", Name: "shop"})
//	number, err := hub.Open("main", head, github.Pull{})
//
// Files, refs, commits and comparisons are what git says. Pull requests, check-runs,
// runs, artifacts and attestations are a small state beside it. Every request is
// held against GitHub's public description (package openapi) and against limits that the
// description leaves out; what is wrong with one is a violation, and a test fails
// that has any. Requests are recorded, for goldens.
//
// A Fault lets an operation fail in the ways in which GitHub does.
package github
