package main

import (
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// Exit statuses. This file is the only place that turns an outcome or a code
// into one.
const (
	statusOK           = 0
	statusFailed       = 1
	statusRefused      = 2
	statusInconclusive = 3
	statusUnverified   = 4
	statusBroken       = 5
)

// statuses is the table that `gate --help` prints.
var statuses = []struct {
	status  int
	meaning string
}{
	{statusOK, "VERIFIED: every required check passed. For other commands: done."},
	{statusFailed, "FAILED: a required check was examined and is false."},
	{statusRefused, "Refused: nothing was judged. The error code says why."},
	{statusInconclusive, "INCONCLUSIVE: a required check could not be examined."},
	{statusUnverified, "UNVERIFIED: the contract has no required check."},
	{statusBroken, "The verifier itself failed."},
}

// statusOf is the exit status of a verdict. A verdict that is not known here
// is no success.
func statusOf(v verdict.Verdict, o verdict.Outcome) int {
	switch {
	case o == verdict.Error:
		return statusBroken
	case v == verdict.Verified:
		return statusOK
	case v == verdict.Failed:
		return statusFailed
	case v == verdict.Unverified:
		return statusUnverified
	}
	return statusInconclusive
}

// statusOfRelease is the exit status of a verdict that a release depends on: it
// goes on or it does not.
func statusOfRelease(v verdict.Verdict, o verdict.Outcome) int {
	if statusOf(v, o) == statusOK {
		return statusOK
	}
	return statusFailed
}

// statusOfFault is the exit status of an error: a refusal, unless the verifier
// itself failed.
func statusOfFault(code fault.Code) int {
	if code == fault.BackendFailed {
		return statusBroken
	}
	return statusRefused
}
