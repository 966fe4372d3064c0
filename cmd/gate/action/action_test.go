package action

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
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
	c := bundle.Change{RunID: "1", RunAttempt: "1", Job: "gate", Directory: ".", Base: strings.Repeat("b", 40)}
	id := externalID(c, "", nil, "sha256:aa")
	with := func(change func(*bundle.Change)) string {
		other := c
		change(&other)
		return externalID(other, "", nil, "sha256:aa")
	}
	for what, other := range map[string]string{
		"contract":  externalID(c, "", nil, "sha256:bb"),
		"leg":       externalID(c, `{"os":"a"}`, nil, "sha256:aa"),
		"contracts": externalID(c, "", []string{"c.json"}, "sha256:aa"),
		"job":       with(func(c *bundle.Change) { c.Job = "other" }),
		"directory": with(func(c *bundle.Change) { c.Directory = "b" }),
		"attempt":   with(func(c *bundle.Change) { c.RunAttempt = "2" }),
		"base":      with(func(c *bundle.Change) { c.Base = strings.Repeat("c", 40) }),
	} {
		if other == id {
			t.Errorf("another %s has the same external id %s", what, id)
		}
		// Only what this attempt posts about something else must not be hidden.
		err := taken([]forge.Posted{{ExternalID: other}}, forge.CheckRun{ExternalID: id})
		if hides := what != "attempt" && what != "base"; (err != nil) != hides || hides && (fault.As(err).Code != fault.ActionNameTaken || !strings.Contains(fault.As(err).Fix, "own check-name")) {
			t.Errorf("beside another %s: %v", what, err)
		}
	}
	for _, foreign := range []string{"", "somebody else's", "vg1:1:1:a", "vg2:1:1:a:b:c"} {
		if err := taken([]forge.Posted{{ExternalID: foreign}}, forge.CheckRun{ExternalID: id}); err != nil {
			t.Errorf("beside %q: %v", foreign, err)
		}
	}
}

// hubOf is a GitHub that knows check-runs alone. between happens after each was made.
func hubOf(t *testing.T, between func(made int, all []map[string]any) []map[string]any) (j *judging, all func() []map[string]any) {
	var runs []map[string]any
	made := 0
	answer := func(w http.ResponseWriter, status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			answer(w, http.StatusOK, map[string]any{"total_count": len(runs), "check_runs": append([]map[string]any{}, runs...)})
		case r.Method == http.MethodPost:
			var body map[string]any
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			body["id"] = 1 + len(runs)
			runs = append(runs, body)
			made++
			runs = between(made, runs)
			answer(w, http.StatusCreated, body)
		default:
			answer(w, http.StatusOK, map[string]any{"id": 1})
		}
	}))
	t.Cleanup(server.Close)
	client, err := forge.New(forge.Config{API: server.URL, Server: server.URL, Repository: "acme/shop", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return &judging{Step: &Step{Env: func(string) string { return "" }, Log: io.Discard}, in: judgeInputs{checkRun: true}, forge: client}, func() []map[string]any { return runs }
}

// TestTwoJobsAtOnce is another job that posts the same name between this one's look
// and its post: what is newest in the end is no success.
func TestTwoJobsAtOnce(t *testing.T) {
	c := bundle.Change{RunID: "1", RunAttempt: "1", Job: "gate", Base: strings.Repeat("b", 40)}
	other := c
	other.Job = "other"
	for _, between := range []bool{true, false} {
		j, all := hubOf(t, func(made int, all []map[string]any) []map[string]any {
			if made == 1 && between {
				all = append(all, map[string]any{"id": 100, "name": "n", "external_id": externalID(other, "", nil, ""), "conclusion": "failure", "status": "completed"})
			}
			return all
		})
		r := &run{}
		check := j.publish(t.Context(), r, func() forge.CheckRun {
			check := forge.CheckRun{Name: "n", HeadSHA: strings.Repeat("a", 40), ExternalID: externalID(c, "", nil, ""), Conclusion: forge.Success, Title: "t", Summary: "s"}
			if r.failed != nil {
				check.Conclusion = forge.Failure
			}
			return check
		})
		last := all()[len(all())-1]
		if between && (r.failed == nil || r.failed.Code != fault.ActionNameTaken || r.posted != nil || check.Conclusion != forge.Failure || len(all()) != 3 || last["conclusion"] != "failure") {
			t.Errorf("another job's is hidden: %v, %v", r.failed, all())
		}
		if !between && (r.failed != nil || r.posted == nil || check.Conclusion != forge.Success || len(all()) != 1) {
			t.Errorf("alone: %v, %v", r.failed, all())
		}
	}
}

// TestTheNewestIsUpdated posts one thing three times: what ends as the newest did is
// the same check-run, and what ends as an older one did is another.
func TestTheNewestIsUpdated(t *testing.T) {
	j, all := hubOf(t, func(_ int, all []map[string]any) []map[string]any { return all })
	for i, conclusion := range []forge.Conclusion{forge.Failure, forge.Success, forge.Success, forge.Failure} {
		check := forge.CheckRun{Name: "n", HeadSHA: strings.Repeat("a", 40), ExternalID: "vg1:1:1:a:b:c", Conclusion: conclusion, Title: "t", Summary: "s"}
		if _, err := j.post(t.Context(), check); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 2, 2, 3}[i]; len(all()) != want || all()[want-1]["conclusion"] != string(conclusion) {
			t.Errorf("after %s: %v", conclusion, all())
		}
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
