//go:build !lean

package main

// carried is the program inside this one: none, this one has everything.
var carried []byte
