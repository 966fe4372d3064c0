package action

import (
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/reporter/artifact"
)

// given are the inputs of a step, as the runner passes them.
func given(values map[string]string) *inputs {
	return &inputs{env: func(name string) string { return values[name] }}
}

func TestInputs(t *testing.T) {
	in := given(map[string]string{"INPUT_TRUSTED-REFS": " main \n\n# a comment\nrelease/*\n", "INPUT_SIGN": "none", "INPUT_RETENTION-DAYS": "7", "INPUT_ARTIFACT": "False", "INPUT_RUN-ID": "42"})
	if got := in.lines("trusted-refs"); len(got) != 2 || got[0] != "main" || got[1] != "release/*" {
		t.Errorf("lines: %q", got)
	}
	if in.oneOf("sign", "auto", "none") != "none" || in.oneOf("attestations", "auto", "true") != "auto" || in.number("retention-days", 400) != 7 || in.yes("artifact", true) || !in.yes("check-run", true) || in.id("run-id") != 42 || in.err != nil {
		t.Errorf("inputs that are right: %v", in.err)
	}
	for name, read := range map[string]func(in *inputs){
		"sign":             func(in *inputs) { in.oneOf("sign", "auto", "none") },
		"artifact":         func(in *inputs) { in.yes("artifact", true) },
		"retention-days":   func(in *inputs) { in.number("retention-days", 400) },
		"run-id":           func(in *inputs) { in.id("run-id") },
		"contract-digests": func(in *inputs) { in.pins("contract-digests") },
		"token":            func(in *inputs) { in.needed("token", "Pass it.") },
	} {
		in := given(map[string]string{"INPUT_" + strings.ToUpper(name): map[bool]string{true: "", false: "0x"}[name == "token"]})
		read(in)
		if f := fault.As(in.err); in.err == nil || f.Code != fault.ActionInputInvalid || f.Details["input"] != name || f.Fix == "" {
			t.Errorf("%s: %v", name, in.err)
		}
	}
}

// frozen is a contract, and its digest.
func frozen(t *testing.T) (text []byte, digest string) {
	t.Helper()
	text, err := placeholder("something")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := contract.ParseText("c.json", text)
	if err != nil {
		t.Fatal(err)
	}
	return text, parsed.Digest().String()
}

func TestPins(t *testing.T) {
	text, digest := frozen(t)
	other := "sha256:" + strings.Repeat("0", 64)
	at := []forge.Document{{Path: "c.json", Bytes: text}}
	for _, tt := range []struct {
		lines string
		docs  []forge.Document
		says  string
	}{
		{"", at, ""}, {digest, at, ""}, {"c.json=" + digest, at, ""}, {other + "\n" + digest, at, ""},
		{other, at, "which contract-digests does not name"},
		{"c.json=" + other, at, "which contract-digests does not name"},
		// The digest of another path's contract does not count for this one.
		{"d.json=" + digest, at, "which contract-digests does not name"},
		{"c.json=" + other + "\n" + digest, at, "which contract-digests does not name"},
		{"c.json=" + digest, nil, "there is no such contract"},
	} {
		in := given(map[string]string{"INPUT_CONTRACT-DIGESTS": tt.lines})
		err := in.pins("contract-digests").check(tt.docs)
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || fault.As(err).Code != fault.ActionContractUnpinned || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%q: %v", tt.lines, err)
		}
	}
}

// The absence of a contract decides nothing, and is the same each time.
func TestPlaceholder(t *testing.T) {
	text, digest := frozen(t)
	_, again := frozen(t)
	parsed, err := contract.ParseText("c.json", text)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parsed.Frozen()
	if err != nil || len(file.Contract.Required()) != 0 || len(file.Contract.Expectations) != 1 || digest != again {
		t.Errorf("%v, %s, %s", err, digest, again)
	}
}

func TestArtifactNames(t *testing.T) {
	c := bundle.Change{Job: "gate", RunAttempt: "2"}
	plain := artifactName("checkout/v1: \"x\"", c, "null")
	if plain != "gate-checkout-v1-x-gate-2" {
		t.Errorf("%q", plain)
	}
	for _, name := range []string{plain, artifactName(strings.Repeat("ä/", 300), c, `{"os":"a"}`), artifactName("\n\r<>|*?\\:", c, "")} {
		if err := artifact.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if artifactName("c", c, `{"os":"a"}`) == artifactName("c", c, `{"os":"b"}`) {
		t.Error("two legs of a matrix have one name")
	}
}

func TestExternalIDs(t *testing.T) {
	c := bundle.Change{RunID: "1", RunAttempt: "1", Job: "gate", Base: strings.Repeat("b", 40)}
	id := externalID(c, "", "sha256:aa")
	for what, other := range map[string]string{
		"contract": externalID(c, "", "sha256:bb"),
		"leg":      externalID(c, `{"os":"a"}`, "sha256:aa"),
		"attempt":  externalID(bundle.Change{RunID: "1", RunAttempt: "2", Job: "gate", Base: c.Base}, "", "sha256:aa"),
		"base":     externalID(bundle.Change{RunID: "1", RunAttempt: "1", Job: "gate", Base: strings.Repeat("c", 40)}, "", "sha256:aa"),
	} {
		if other == id {
			t.Errorf("another %s has the same external id %s", what, id)
		}
	}
	if jobOf(id) == "" || jobOf(id) != jobOf(externalID(c, "", "sha256:bb")) || jobOf("somebody else's") != "" {
		t.Errorf("the job in %s is %q", id, jobOf(id))
	}
}

func TestGravest(t *testing.T) {
	for _, tt := range []struct {
		statuses []int
		want     int
	}{{nil, 5}, {[]int{0}, 0}, {[]int{0, 4}, 4}, {[]int{3, 4}, 3}, {[]int{2, 3}, 2}, {[]int{1, 2}, 1}, {[]int{1, 5}, 5}, {[]int{17}, 5}} {
		if got := gravest(tt.statuses); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.statuses, got, tt.want)
		}
	}
}
