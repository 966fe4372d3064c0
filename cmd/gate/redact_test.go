package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/secret"
)

// aToken is made up, and put together here so that no scanner of source code
// takes this file for a leak.
var aToken = "gh" + "p_" + "aZ3bY7cX1dW9eV5fU2gT8hS4iR6jQ0kPlOmN"

// putToken writes a token wherever a file of a script has TOKEN, and into $TOKEN.
func putToken(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: token FILE")
	}
	ts.Setenv("TOKEN", aToken)
	text := strings.ReplaceAll(ts.ReadFile(args[0]), "TOKEN", aToken)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// Whatever an error carries is redacted, be it new and of any type.
func TestRedactFault(t *testing.T) {
	f := secret.Fault(fault.New(fault.Usage, "fix "+aToken, "message %s", aToken).
		With("text", aToken).With("list", []string{"a", aToken}).With("n", 3).
		With("problems", []contract.Problem{{File: aToken, Pointer: "/" + aToken, Message: aToken, Fix: aToken, Line: 1}}))
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(refusalOf(f)); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, aToken[4:12]) || strings.Count(text, "[redacted:github-token]") != 8 || !strings.Contains(text, `"n":3`) ||
		!strings.Contains(text, `{"file":"[redacted:github-token]","line":1,"column":0,"pointer":`) {
		t.Errorf("the refusal is %s", text)
	}
	if f := secret.Fault(fault.New(fault.Usage, "", "x")); f.Details == nil {
		t.Error("the details of a fault without any are no object")
	}
}
