// Package sigstore holds the end-to-end tests of signing: the built gate on one
// side, real Sigstore services and the cosign CLI on the other.
//
// It is a module of its own, so that nothing of those services enters the
// product's go.mod. Package services starts them, on loopback, for a test;
// program loop starts them for a person. README.md says how to use either.
package sigstore
