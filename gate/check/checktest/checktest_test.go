package checktest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// text is a small check type: the file holds the text.
type text struct {
	Path check.Path `json:"path" need:"yes"`
	Text string     `json:"text" need:"yes"`
	Do   string     `json:"do" since:"2"` // misbehave in a way that a test asks for
}

func textType() check.Type {
	return check.Define("text", "Decides whether a file holds a text.", func(ctx context.Context, p *text, pass *check.Pass) check.Outcome {
		switch p.Do {
		case "panic":
			panic("as asked")
		case "no summary":
			return check.Outcome{Status: record.Pass}
		case "pass with a problem":
			o := check.Unable(fault.Timeout, "", "x")
			o.Status = record.Pass
			return o
		case "no UTF-8":
			return check.Passed("fine").Observing("a\xff")
		case "a blob of bytes":
			o := check.Passed("fine").Observing("U+FFFD itself \ufffd, and the text \\ufffd")
			o.Blobs = []check.Blob{{Role: "stdout", Data: []byte("a\xffsecret")}}
			return o
		case "unknown code":
			return check.Unable("verify.no_such", "x", "x")
		case "write":
			if err := os.WriteFile(filepath.Join(p.Text, "new"), nil, 0o644); err != nil {
				return check.Defective(fault.CheckCrashed, "", "%v", err)
			}
			return check.Passed("wrote")
		case "come and go":
			name := filepath.Join(p.Text, "new")
			if err := errors.Join(os.WriteFile(name, nil, 0o644), os.Remove(name)); err != nil {
				return check.Defective(fault.CheckCrashed, "", "%v", err)
			}
			return check.Passed("wrote and removed")
		}
		data, err := pass.Files.Read(ctx, string(p.Path), 1<<20)
		if err != nil {
			return check.From(err)
		}
		observed := map[string]any{"bytes": len(data)}
		if !strings.Contains(string(data), p.Text) {
			o := check.Failed("%s lacks it", p.Path).Expecting(p.Text).Observing(observed)
			o.Findings = []record.Finding{{Message: "not here", File: string(p.Path), Line: 3}}
			o.Limitations = []string{"only bytes were compared"}
			return o
		}
		return check.Passed("%s holds it", p.Path).Expecting(p.Text).Observing(observed)
	})
}

func TestCases(t *testing.T) { Run(t, textType()) }

// A case that is not as it says must fail, whatever part of it is wrong.
func TestComplaints(t *testing.T) {
	const files = "-- ws/a --\nhello\n-- outside/b --\nsecret\n"
	params := func(p string) string { return "-- params.json --\n" + p + "\n" }
	hello, bye := params(`{"path":"a","text":"hello"}`), params(`{"path":"a","text":"bye"}`)
	do := func(what string) string { return params(`{"path":"a","text":"{{ws}}","do":"` + what + `"}`) }
	for _, tt := range []struct{ name, archive, complaint string }{
		{"as it says", hello + "-- want --\nstatus: pass\nsummary: holds\nobserved: \"bytes\":6\nexpected: \"hello\"\nlacks: secret\nunchanged: true\n", ""},
		{"fails as it says", bye + "-- want --\nstatus: fail\nfinding: \"line\":3\nlimitation: only bytes\n", ""},
		{"refused as it says", params(`{"path":""}`) + "-- want --\nstatus: invalid\nproblem: must not be empty\nproblem: lacks its member \"text\"\n", ""},
		{"a place in the workspace", params(`{"path":"{{ws}}/a","text":"hello"}`) + "-- want --\nstatus: pass\nsummary: {{ws}}/a holds\n", ""},
		{"a place outside", params(`{"path":"{{out}}/b","text":"secret"}`) + "-- want --\nstatus: inconclusive\nerror: verify.check_refused\nproblem: {{out}}/b\nlacks: secret\n", ""},
		{"status", hello + "-- want --\nstatus: fail\n", "status is pass, want fail"},
		{"invalid though valid", hello + "-- want --\nstatus: invalid\n", "status is pass, want invalid"},
		{"valid though invalid", params(`{"path":"a"}`) + "-- want --\nstatus: pass\n", "status is invalid, want pass"},
		{"error", params(`{"path":"x","text":""}`) + "-- want --\nstatus: fail\nerror: verify.timeout\n", `error is "", want "verify.timeout"`},
		{"summary", hello + "-- want --\nstatus: pass\nsummary: nowhere\n", `no summary holds "nowhere"`},
		{"second summary", hello + "-- want --\nstatus: pass\nsummary: holds\nsummary: nowhere\n", `no summary holds "nowhere"`},
		{"observed", hello + "-- want --\nstatus: pass\nobserved: 7\n", "no observed holds"},
		{"expected", hello + "-- want --\nstatus: pass\nexpected: 7\n", "no expected holds"},
		{"finding", hello + "-- want --\nstatus: pass\nfinding: not here\n", "no finding holds"},
		{"limitation", hello + "-- want --\nstatus: pass\nlimitation: bytes\n", "no limitation holds"},
		{"problem of the params", params(`{"path":"","text":""}`) + "-- want --\nstatus: invalid\nproblem: lacks\n", "no problem holds"},
		{"problem of the outcome", hello + "-- want --\nstatus: pass\nproblem: lacks\n", "no problem holds"},
		{"lacks", bye + "-- want --\nstatus: fail\nlacks: not here\n", `the outcome holds "not here"`},
		{"schema version 1", do("panic") + "-- want --\nstatus: pass\n", "status is invalid"},
		{"unchanged", do("write") + "-- want --\nstatus: pass\nschema_version: 2\nunchanged: true\n", "the workspace changed at"},
		{"unchanged, a file that came and went", do("come and go") + "-- want --\nstatus: pass\nschema_version: 2\nunchanged: true\n", "the workspace changed at"},
		{"no summary", do("no summary") + "-- want --\nstatus: pass\nschema_version: 2\n", "the summary must be one line"},
		{"pass with a problem", do("pass with a problem") + "-- want --\nstatus: pass\nschema_version: 2\n", "an answer is no problem"},
		{"a string that is no UTF-8", do("no UTF-8") + "-- want --\nstatus: pass\nschema_version: 2\n", "no valid UTF-8"},
		{"a blob that is no UTF-8", do("a blob of bytes") + "-- want --\nstatus: pass\nschema_version: 2\n", ""},
		{"lacks, in a blob", do("a blob of bytes") + "-- want --\nstatus: pass\nschema_version: 2\nlacks: secret\n", `the outcome holds "secret"`},
		{"unknown code", do("unknown code") + "-- want --\nstatus: inconclusive\nschema_version: 2\n", "the problem needs a known code"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parseCase([]byte("case\n" + tt.archive + files))
			if err != nil {
				t.Fatal(err)
			}
			got, err := runCase(t, textType(), c)
			if err != nil {
				t.Fatal(err)
			}
			if tt.complaint == "" {
				if len(got) > 0 {
					t.Errorf("complaints of a case that is as it says: %q", got)
				}
			} else if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, tt.complaint) }) {
				t.Errorf("no complaint holds %q: %q", tt.complaint, got)
			}
		})
	}
}

// What cannot be run at all is an error, not a complaint.
func TestRunCaseErrors(t *testing.T) {
	for _, tt := range []struct{ name, archive, want string }{
		{"params that are no JSON", "-- params.json --\n{\n-- want --\nstatus: pass\n", "params.json: line"},
		{"a panic", "-- params.json --\n{\"path\":\"a\",\"text\":\"\",\"do\":\"panic\"}\n-- want --\nstatus: error\nschema_version: 2\n", "panicked: as asked"},
		{"setup that cannot be done", "-- params.json --\n{}\n-- want --\nstatus: pass\n-- setup --\nchmod 000 ws/none\n", "no such file"},
		{"a path outside the world", "-- params.json --\n{}\n-- want --\nstatus: pass\n-- setup --\nmkdir /etc/x\n", "must begin with ws/"},
		{"no such script", "-- params.json --\n{}\n-- want --\nstatus: pass\n-- setup --\nsqlite ws/a.db none.sql\n", "no section none.sql"},
		{"a script that is no SQL", "-- params.json --\n{}\n-- want --\nstatus: pass\n-- setup --\nsqlite ws/a.db a.sql\n-- a.sql --\nnonsense\n", "syntax error"},
		{"wal without a row", "-- params.json --\n{}\n-- want --\nstatus: pass\n-- setup --\nwal ws/a.db a.sql\n-- a.sql --\nSELECT 1;\n", "nothing in the -wal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parseCase([]byte("case\n" + tt.archive))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := runCase(t, textType(), c); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestParseCaseRefuses(t *testing.T) {
	const ok = "-- params.json --\n{}\n-- want --\nstatus: pass\n"
	for _, tt := range []struct{ name, archive, want string }{
		{"no comment", ok, "what the case shows"},
		{"no params", "c\n-- want --\nstatus: pass\n", `"params.json" is missing`},
		{"no want", "c\n-- params.json --\n{}\n", `"want" is missing`},
		{"no status", "c\n-- params.json --\n{}\n-- want --\nsummary: x\n", "status is missing"},
		{"unknown status", "c\n-- params.json --\n{}\n-- want --\nstatus: passed\n", "none of pass"},
		{"unknown key", "c\n" + strings.Replace(ok, "pass\n", "pass\nsumary: x\n", 1), `"sumary" is not known`},
		{"key twice", "c\n" + strings.Replace(ok, "pass\n", "pass\nstatus: fail\n", 1), "occurs twice"},
		{"no value", "c\n" + strings.Replace(ok, "pass\n", "pass\nsummary:\n", 1), `no "key: value"`},
		{"no colon", "c\n" + strings.Replace(ok, "pass\n", "pass\nsummary\n", 1), `no "key: value"`},
		{"unchanged: false", "c\n" + strings.Replace(ok, "pass\n", "pass\nunchanged: false\n", 1), "can only be true"},
		{"timeout", "c\n" + strings.Replace(ok, "pass\n", "pass\ntimeout: soon\n", 1), "no number of seconds"},
		{"timeout NaN", "c\n" + strings.Replace(ok, "pass\n", "pass\ntimeout: NaN\n", 1), "no number of seconds"},
		{"version", "c\n" + strings.Replace(ok, "pass\n", "pass\nschema_version: two\n", 1), "no version"},
		{"summary of invalid", "c\n" + strings.Replace(ok, "pass\n", "invalid\nsummary: x\n", 1), "the check never runs"},
		{"unchanged of invalid", "c\n" + strings.Replace(ok, "pass\n", "invalid\nunchanged: true\n", 1), "the check never runs"},
		{"unknown section", "c\n" + ok + "-- a --\nx\n", `section "a" is not known`},
		{"section twice", "c\n" + ok + "-- ws/a --\nx\n-- ws/a --\ny\n", "occurs twice"},
		{"section that leads out", "c\n" + ok + "-- ws/../../a --\nx\n", "leads out"},
		{"unknown verb", "c\n" + ok + "-- setup --\nsymlnk ws/a b\n", "is no verb"},
		{"too few words", "c\n" + ok + "-- setup --\nsymlink ws/a\n", "takes 2 words"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := parseCase([]byte(tt.archive)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestGaps(t *testing.T) {
	with := func(statuses ...string) (out []*testCase) {
		for _, s := range statuses {
			out = append(out, &testCase{want: want{status: s}})
		}
		return out
	}
	for _, tt := range []struct {
		name    string
		cases   []*testCase
		without []Impossible
		want    []string
	}{
		{"all there", with("pass", "fail", "invalid", "inconclusive"), nil, nil},
		{"nothing there", nil, nil, []string{"no case has status pass", "no case has status fail", "no case has status invalid", "no case has status inconclusive"}},
		{"error does not stand for inconclusive", with("pass", "fail", "invalid", "error"), nil, []string{"no case has status inconclusive"}},
		{"declared", with("pass", "fail", "invalid"), []Impossible{Without("inconclusive", "it looks at nothing")}, nil},
		{"declared without reason", with("pass", "fail", "invalid"), []Impossible{Without("inconclusive", " ")}, []string{"status inconclusive is declared impossible without a reason"}},
		{"declared and contradicted", with("pass", "fail", "invalid", "inconclusive"), []Impossible{Without("inconclusive", "r")}, []string{"a case has status inconclusive, which the type declares impossible"}},
		{"declared misspelt", with("pass", "fail", "invalid", "inconclusive"), []Impossible{Without("inconclusiv", "r")}, []string{"status inconclusiv is declared impossible, but is no status"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := gaps(tt.cases, tt.without); !slices.Equal(got, tt.want) {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// A misspelt case file is found when the folder is read, with its name.
func TestReadCasesNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.txtar"), []byte("c\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readCases(dir); err == nil || !strings.Contains(err.Error(), "bad.txtar") {
		t.Errorf("error %v does not name the file", err)
	}
}

// Params whose problem has no place leave a person searching.
func TestProblemWithoutPlace(t *testing.T) {
	doc, err := strictjson.Parse([]byte("{}"), strictjson.ContractLimits)
	if err != nil {
		t.Fatal(err)
	}
	if s := refused(doc, []strictjson.Problem{{Pos: -1, Message: "x"}}); len(s.Broken) == 0 {
		t.Error("nothing said that the problem has no place")
	}
	if s := refused(doc, []strictjson.Problem{{Pos: 1, Message: "x"}}); len(s.Broken) > 0 {
		t.Errorf("complaint about a problem with a place: %q", s.Broken)
	}
}
