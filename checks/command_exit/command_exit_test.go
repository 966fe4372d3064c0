package commandexit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/check/checktest"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

func TestCases(t *testing.T) { checktest.Run(t, Type()) }

// scripted is an executor that answers as it is told. What real processes do is
// in the cases; this is for the ends that a test cannot bring about at will.
type scripted struct {
	exit check.Exit
	err  error
	got  check.Command
}

func (s *scripted) Run(_ context.Context, c check.Command) (check.Exit, error) {
	s.got = c
	return s.exit, s.err
}

func output(text string) check.Output {
	return check.Output{Data: []byte(text), Total: int64(len(text)), Digest: strictjson.Sum([]byte(text))}
}

func bind(t *testing.T, params string) check.Step {
	t.Helper()
	doc, err := strictjson.Parse([]byte(params), strictjson.ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	r := strictjson.Report{Version: 2}
	step := Type().Bind(r.Root(&doc.Root))
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	if step.Profile != check.Process {
		t.Errorf("the profile is %q", step.Profile)
	}
	return step
}

func TestEveryEnd(t *testing.T) {
	tool := record.Tool{Name: "go", Path: "/usr/bin/go", Digest: "sha256:00"}
	cut := check.Output{Data: []byte("head\ntail\n"), Total: 1 << 30, Truncated: true}
	for _, c := range []struct {
		name, params string
		exit         check.Exit
		err          error
		status       record.Status
		code         fault.Code
		summary      string
		limitation   string
	}{
		{name: "wanted", params: `{"command":["go"]}`, status: record.Pass, summary: `"go" ended with exit code 0`},
		{name: "wanted code", params: `{"command":["go"],"exit_code":7}`, exit: check.Exit{Code: 7}, status: record.Pass},
		{name: "other code", params: `{"command":["go"],"exit_code":7}`, status: record.Fail, summary: `"go" ended with exit code 0, not 7`},
		{name: "signal", params: `{"command":["go"]}`, exit: check.Exit{Signal: "SIGKILL"}, status: record.Fail, summary: `"go" was killed by the signal SIGKILL`},
		{name: "limit", params: `{"command":["go"]}`, exit: check.Exit{Signal: "SIGKILL", LimitHit: "2 GiB of memory"}, status: record.Inconclusive,
			code: fault.LimitExceeded, summary: `"go" was ended by a limit: 2 GiB of memory`},
		{name: "timeout", params: `{"command":["go"]}`, exit: check.Exit{Signal: "SIGKILL", Leftovers: 3}, err: fmt.Errorf("run: %w", context.DeadlineExceeded),
			status: record.Inconclusive, code: fault.Timeout, summary: "killed with its whole process tree", limitation: "3 processes outlived the command and were killed"},
		{name: "stopped", params: `{"command":["go"]}`, err: context.Canceled, status: record.Inconclusive, code: fault.Timeout},
		{name: "missing", params: `{"command":["go"]}`, err: &check.ExecError{Code: fault.ToolMissing, Reason: `"go" is not in PATH`},
			status: record.Inconclusive, code: fault.ToolMissing, summary: `"go" is not in PATH`},
		{name: "refused", params: `{"command":["go"],"cwd":"../.."}`, err: &check.ExecError{Code: fault.CheckRefused, Reason: "outside"},
			status: record.Inconclusive, code: fault.CheckRefused},
		{name: "broken executor", params: `{"command":["go"]}`, err: fmt.Errorf("pipe"), status: record.Broken, code: fault.CheckCrashed},
		{name: "leftover", params: `{"command":["go"]}`, exit: check.Exit{Leftovers: 1}, status: record.Pass, limitation: "1 process outlived"},
		{name: "matcher", params: `{"command":["go"],"stdout":{"matches":"^ok"},"stderr":{"length":0}}`, exit: check.Exit{Stdout: output("ok\n")},
			status: record.Pass, summary: "and its output is as wanted"},
		{name: "matcher fails", params: `{"command":["go"],"stdout":{"matches":"^ok"}}`, exit: check.Exit{Stdout: output("no\n")},
			status: record.Fail, summary: `but stdout does not satisfy its matcher: "matches" "^ok" is not found in "no\n"`},
		{name: "stderr matcher", params: `{"command":["go"],"stderr":{"length":0}}`, exit: check.Exit{Stderr: output("warning")}, status: record.Fail, summary: "stderr"},
		{name: "code before matcher", params: `{"command":["go"],"stdout":{"contains":"x"}}`, exit: check.Exit{Code: 1, Stdout: cut}, status: record.Fail, summary: "exit code 1, not 0"},
		{name: "cut without matcher", params: `{"command":["go"]}`, exit: check.Exit{Stdout: cut}, status: record.Pass,
			limitation: "stdout had 1073741824 bytes, of which only the head and the tail were kept"},
		{name: "cut with matcher", params: `{"command":["go"],"stdout":{"contains":"head"}}`, exit: check.Exit{Stdout: cut}, status: record.Inconclusive,
			code: fault.LimitExceeded, summary: "1073741824 bytes, more than are kept", limitation: "stdout had"},
		{name: "cut, but the other stream is false", params: `{"command":["go"],"stdout":{"contains":"head"},"stderr":{"length":0}}`,
			exit: check.Exit{Stdout: cut, Stderr: output("oops")}, status: record.Fail, summary: "stderr"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{exit: c.exit, err: c.err}
			if c.err == nil {
				s.exit.Tool = tool
			}
			o := bind(t, c.params).Run(t.Context(), &check.Pass{Exec: s})
			code := fault.Code("")
			if o.Problem != nil {
				code = fault.Code(o.Problem.Code)
			}
			if o.Status != c.status || code != c.code || !strings.Contains(o.Summary, c.summary) {
				t.Errorf("got %s %s: %s", o.Status, code, o.Summary)
			}
			if !strings.Contains(strings.Join(o.Limitations, "\n"), c.limitation) {
				t.Errorf("the limitations are %q", o.Limitations)
			}
			if (o.Tool != nil) != (c.err == nil) {
				t.Errorf("the tool is %v", o.Tool)
			}
			if (c.err != nil || c.exit.LimitHit != "") && o.Observed.(map[string]any)["exit_code"] != nil {
				t.Errorf("a command that was stopped has no exit code: %v", o.Observed)
			}
		})
	}
}

func TestCommandReachesTheExecutorAsWritten(t *testing.T) {
	s := new(scripted)
	bind(t, `{"command":["a b","$HOME",""],"cwd":"d","env":{"TZ":"UTC","E":""},"caches":["/var/cache/go"]}`).Run(t.Context(), &check.Pass{Exec: s})
	got := fmt.Sprintf("%q %q %q %q", s.got.Argv, s.got.Dir, s.got.Env, s.got.Caches)
	if want := `["a b" "$HOME" ""] "d" map["E":"" "TZ":"UTC"] ["/var/cache/go"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOutputIsEvidence(t *testing.T) {
	long := strings.Repeat("é line\n", 40_000)
	for _, c := range []struct {
		name   string
		out    check.Output
		blob   bool
		shown  string
		hidden string
	}{
		{name: "short", out: output("fine\n"), shown: "fine\n"},
		{name: "empty", out: check.Output{}},
		{name: "not UTF-8", out: output("a\xff\x00\x1b[31m"), blob: true, shown: "a\\xff\x00\x1b[31m"},
		{name: "long", out: output(long + "MIDDLE" + long), blob: true, shown: "bytes left out", hidden: "MIDDLE"},
		{name: "binary", out: output(strings.Repeat("\xff", 1<<20)), blob: true, shown: `\xff`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{exit: check.Exit{Stdout: c.out, Tool: record.Tool{Path: "/bin/x"}}}
			o := bind(t, `{"command":["x"]}`).Run(t.Context(), &check.Pass{Exec: s})
			text := o.Observed.(map[string]any)["stdout"].(string)
			if !strings.Contains(text, c.shown) || c.hidden != "" && strings.Contains(text, c.hidden) {
				t.Errorf("shown is %.200q", text)
			}
			if !utf8.ValidString(text) || len(text) > check.MaxShown+100 {
				t.Errorf("%d bytes, valid UTF-8: %v", len(text), utf8.ValidString(text))
			}
			if (len(o.Blobs) == 1) != c.blob || c.blob && (o.Blobs[0].Role != "stdout" || !bytes.Equal(o.Blobs[0].Data, c.out.Data)) {
				t.Errorf("%d blobs", len(o.Blobs))
			}
			if _, err := json.Marshal(o.Observed); err != nil {
				t.Error(err)
			}
		})
	}
}
