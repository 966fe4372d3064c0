package checktest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
)

func TestMain(m *testing.M) { os.Exit(Main(m, textType(), runType())) }

// runs is a small check type that starts a process: it ends with exit code 0.
type runs struct {
	Command check.Argv `json:"command" need:"yes"`
}

func (*runs) Profile() check.Profile { return check.Process }

func runType() check.Type {
	return check.Define("run", "Decides whether a command ends well.", func(ctx context.Context, p *runs, pass *check.Pass) check.Outcome {
		exit, o := check.RunCommand(ctx, pass.Exec, check.Command{Argv: p.Command})
		switch {
		case o != nil:
			return *o
		case exit.Code != 0 || exit.Signal != "":
			return check.Failed("it ended with %d %s", exit.Code, exit.Signal).Observing(string(exit.Stdout.Data))
		}
		o = &check.Outcome{Blobs: []check.Blob{{Role: "stdout", Data: exit.Stdout.Data}}}
		o.Status, o.Summary, o.Observed = "pass", "it ended well", string(exit.Stdout.Data)
		return *o
	})
}

func TestCommands(t *testing.T) {
	params := func(script string) string {
		return "-- params.json --\n{\"command\":[\"sh\",\"-c\",\"" + script + "\"]}\n"
	}
	for _, tt := range []struct{ name, archive, complaint string }{
		{"reads and writes the workspace", params("cat a; echo x > b") + "-- want --\nstatus: pass\nobserved: hello\n", ""},
		{"what it writes is seen", params("echo x > b") + "-- want --\nstatus: pass\nunchanged: true\n", "the workspace changed at"},
		{"another answer", params("exit 3") + "-- want --\nstatus: pass\n", "status is fail, want pass"},
		{"its output is looked through", params("cat a") + "-- want --\nstatus: pass\nlacks: hello\n", `the outcome holds "hello"`},
		{"stopped at the timeout", params("sleep 60") + "-- want --\nstatus: inconclusive\nerror: verify.timeout\ntimeout: 0.5\n", ""},
		{"it does not see the verifier's folders", params("cat {{ws}}/../scratch/x") + "-- want --\nstatus: fail\n", ""},
		{"params are refused before", "-- params.json --\n{\"command\":\"ls\"}\n-- want --\nstatus: invalid\nproblem: not a string\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parseCase([]byte("case\n" + tt.archive + "-- ws/a --\nhello\n"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := runCase(t, runType(), c)
			if err != nil {
				t.Fatal(err)
			}
			if tt.complaint == "" && len(got) > 0 || tt.complaint != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, tt.complaint) }) {
				t.Errorf("complaints %q, want one that holds %q", got, tt.complaint)
			}
		})
	}
}

// Without Main the worker would run the tests again.
func TestCommandsNeedMain(t *testing.T) {
	isWorkersParent = false
	defer func() { isWorkersParent = true }()
	c, err := parseCase([]byte("case\n-- params.json --\n{\"command\":[\"true\"]}\n-- want --\nstatus: pass\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runCase(t, runType(), c); err == nil || !strings.Contains(err.Error(), "func TestMain") {
		t.Errorf("error %v does not say what is missing", err)
	}
}
