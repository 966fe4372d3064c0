package plan_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/contract"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/plan"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// script is a type for these tests: its answers are its parameter, one an
// attempt.
type script struct {
	Answers []string           `json:"answers" need:"yes" doc:"What it answers, one an attempt."`
	Command bool               `json:"command" default:"false" doc:"Whether it starts a process."`
	Newer   string             `json:"newer" since:"2" default:"n" doc:"A parameter of version 2."`
	At      strictjson.Pointer `json:"at" default:"" doc:"A parameter whose default is empty."`
	Note    string             `json:"note" default:"" doc:"Another."`
	calls   int
}

func (s *script) Profile() check.Profile {
	if s.Command {
		return check.Process
	}
	return check.Reading
}

func (s *script) Warnings() []string {
	if len(s.Answers) > 1 {
		return []string{s.Answers[1] + " is slow"}
	}
	return nil
}

func (s *script) Tools() []string { return s.Answers[1:] }

func runScript(ctx context.Context, s *script, _ *check.Pass) check.Outcome {
	word := s.Answers[min(s.calls, len(s.Answers)-1)]
	s.calls++
	switch word {
	case "pass":
		return check.Passed("it holds").Observing(s.calls)
	case "fail":
		return check.Failed("it does not hold")
	case "unable":
		return check.Unable(fault.ToolMissing, "", "no tool")
	case "late":
		<-ctx.Done()
		return check.Passed("too late")
	case "bytes":
		return check.Passed("it holds").Observing(func() {})
	}
	panic(word)
}

var types = plan.Types{check.Define("script", "A script of answers. More.", runScript)}

func bind(t *testing.T, version int, checks string) (*contract.File, *plan.Plan) {
	t.Helper()
	f, err := contract.Parse("c.json", fmt.Appendf(nil, `{"schema_version":%d,"contract_id":"c","checks":[%s]}`, version, checks))
	if err != nil {
		t.Fatal(err)
	}
	return f, plan.Bind(f, types)
}

func one(t *testing.T, answers, more string) *plan.Step {
	t.Helper()
	f, p := bind(t, 2, fmt.Sprintf(`{"id":"a","type":"script","params":{"answers":[%s]}%s}`, answers, more))
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	return &p.Steps[0]
}

func TestEvaluate(t *testing.T) {
	for _, c := range []struct {
		answers, more string
		status        record.Status
		attempts      int
		says          string
	}{
		{`"pass"`, "", record.Pass, 0, "it holds"},
		{`"fail"`, "", record.Fail, 0, "does not"},
		{`"unable"`, "", record.Inconclusive, 0, "no tool"},
		{`"boom"`, "", record.Broken, 0, "crashed: boom"},
		{`"bytes"`, "", record.Broken, 0, "cannot be written as JSON"},
		{`"late"`, `,"timeout_seconds":0.01`, record.Inconclusive, 0, "did not end within 10ms"},
		{`"fail","fail","pass"`, `,"retry":{"attempts":3}`, record.Pass, 3, "it holds"},
		{`"fail","fail","pass"`, `,"retry":{"attempts":2}`, record.Fail, 2, "does not"},
		{`"boom","unable","pass"`, `,"retry":{"attempts":5}`, record.Pass, 3, "it holds"},
		{`"pass"`, `,"retry":{"attempts":5}`, record.Pass, 1, "it holds"},
	} {
		a := one(t, c.answers, c.more).Evaluate(t.Context(), nil)
		r := a.Result
		if r.Status != c.status || !strings.Contains(r.Summary, c.says) || len(r.Attempts) != c.attempts {
			t.Errorf("%s%s: %s %q %d attempts", c.answers, c.more, r.Status, r.Summary, len(r.Attempts))
		}
		if (r.Passed == nil) != (r.Status != record.Pass && r.Status != record.Fail) {
			t.Errorf("%s: passed is %v with %s", c.answers, r.Passed, r.Status)
		}
		if (r.Error == nil) != (r.Passed != nil) {
			t.Errorf("%s: error is %v with %s", c.answers, r.Error, r.Status)
		}
		if told := strings.Contains(strings.Join(a.Limitations, ""), "passed only at attempt"); told != (c.attempts > 1 && c.status == record.Pass) {
			t.Errorf("%s: a pass after a failure is a limitation; got %q", c.answers, a.Limitations)
		}
	}
}

func TestRetryEndsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := one(t, `"fail","pass"`, `,"retry":{"attempts":2,"interval_seconds":600}`).Evaluate(ctx, nil)
	if a.Result.Status != record.Fail || len(a.Result.Attempts) != 1 {
		t.Errorf("%+v", a.Result)
	}
}

func TestBindFindsEverything(t *testing.T) {
	for _, c := range []struct {
		version      int
		checks, says string
	}{
		{1, `{"id":"a","type":"scirpt"}`, `no check type "scirpt"`},
		{1, `{"id":"a","type":"browser_dom"}`, `"browser_dom" is not available in this build`},
		{1, `{"id":"a","type":"script"}`, `lacks its member "answers"`},
		{1, `{"id":"a","type":"script","params":{"answers":["pass"],"newer":"x"}}`, "schema_version 2"},
		{1, `{"id":"a","type":"script","params":{"answers":["pass",5]}}`, "must be a string, not a number"},
		{1, `{"id":"a","type":"script","params":{"answers":["pass"],"comand":true}}`, `no member "comand"`},
		{2, `{"id":"a","type":"script","timeout_seconds":700,"params":{"answers":["pass"]}}`, "at most 600"},
	} {
		f, _ := bind(t, c.version, c.checks)
		if err := f.Err(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.checks, err)
		}
	}
	f, p := bind(t, 2, `{"id":"a","type":"script","timeout_seconds":700,"params":{"answers":["pass","go"],"command":true}}`)
	if w := p.Steps[0].Warnings(); len(w) != 1 || w[0] != "go is slow" {
		t.Errorf("the warnings of a step: %q", w)
	}
	if err := f.Err(); err != nil || p.Steps[0].Profile != check.Process || len(p.Steps[0].Tools) != 1 {
		t.Errorf("a command may take longer: %v %+v", err, p.Steps[0])
	}
}

func TestDependenciesAreIndices(t *testing.T) {
	f, p := bind(t, 2, `{"id":"a","type":"script","params":{"answers":["pass"]}},{"id":"b","type":"script","params":{"answers":["pass"]}},{"id":"c","type":"script","params":{"answers":["pass"]},"depends_on":["b","a"]}`)
	if err := f.Err(); err != nil || fmt.Sprint(p.Steps[2].DependsOn) != "[1 0]" {
		t.Errorf("%v %v", err, p.Steps[2].DependsOn)
	}
}

func TestAProposalCanOnlyAddAdvice(t *testing.T) {
	f, p := bind(t, 1, `{"id":"a","type":"script","params":{"answers":["pass"]}}`)
	before := p.Digest
	doc, err := strictjson.Parse([]byte(`[
		{"id":"new","type":"script","required":true,"timeout_seconds":600,"params":{"answers":["fail"]}},
		{"id":"a","type":"script","required":false,"params":{"answers":["fail"]}},
		{"id":"new","type":"script","params":{"answers":["pass"]}},
		{"id":"cmd","type":"script","params":{"answers":["pass"],"command":true}},
		{"id":"bad","type":"nothing"},
		{"id":"later","type":"script","params":{"answers":["pass"],"newer":"x"}},
		"prose", {}]`), strictjson.ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	taken, limits := p.Propose(f, &doc.Root, types)
	if len(taken.Items) != 1 || len(p.Steps) != 2 || p.Digest == before {
		t.Fatalf("taken %d, steps %d", len(taken.Items), len(p.Steps))
	}
	if s := p.Steps[1]; s.Required || !s.Proposed || s.Timeout.Seconds() > 30 {
		t.Errorf("%+v", s)
	}
	for _, want := range []string{`"new" was proposed`, `"new" gets 30s`, `a check "a"`, `a check "new"`, `"cmd" would start a process`, `"nothing"`, "schema_version 2"} {
		if !strings.Contains(strings.Join(limits, "\n"), want) {
			t.Errorf("no limitation says %q:\n%s", want, strings.Join(limits, "\n"))
		}
	}
	if len(limits) != 9 {
		t.Errorf("%d limitations for 8 proposals, one of which was cut down", len(limits))
	}
	// The worker binds what was taken and must come to the same plan.
	_, again := bind(t, 1, `{"id":"a","type":"script","params":{"answers":["pass"]}}`)
	again.Propose(f, &taken, types)
	if again.Digest != p.Digest {
		t.Error("binding what was taken gives another plan")
	}
}

func TestDefaultsAreWrittenOut(t *testing.T) {
	v := strictjson.Obj()
	types.FillDefaults("script", 1, &v)
	if got := string(strictjson.Canonical(&v)); got != `{"at":"","command":false,"note":""}` {
		t.Error(got)
	}
	types.FillDefaults("script", 2, &v)
	if got := string(strictjson.Canonical(&v)); got != `{"at":"","command":false,"newer":"n","note":""}` {
		t.Error(got)
	}
}
