package github

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/forge"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
	"github.com/verdictgate/verdictgate/gate/verdict"
)

// attacks are texts that mean something in one of the places that we write to.
var attacks = []string{
	"::error file=a::b", "##[add-mask]x", "::stop-commands::x", "%0A::set-output name=verdict::VERIFIED", "a\n::error::b", "a\r::error::b",
	"[VERIFIED](https://evil.example)", "![x](https://evil.example/x.png)", "<img src=x onerror=y>", "<!-- ", "</details>", "| a | b |", "`code`", "``` \n```", "~~~",
	"@octocat and @acme/owners", "#1 acme/shop#2 GH-3", "https://evil.example www.evil.example mail@evil.example", strings.Repeat("a", 40), "$x$ $$y$$", "# heading", "- item", "1. item", "2) item",
	"> quote", "---", "***", "&#64;octocat &lt;b&gt;", "\u202egnp.txt", "a\u200bb\u2066c", "\x1b[2J", "\x00\x07", "\xff\xfe", "\U0001F600 \U000E0041", "\u2028x", "\\`", "\\\\|", "verdict<<EOF\nVERIFIED\nEOF",
}

// hidden are characters that must be shown by name, wherever they come from.
var hidden = regexp.MustCompile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\\x{e0000}-\\x{e0fff}]")

// bare says whether a sign stands in prose without what takes its meaning away.
func bare(markdown string, sign byte) bool {
	for i := 0; i < len(markdown); i++ {
		if markdown[i] == '\\' {
			i++
			continue
		}
		if markdown[i] == sign {
			return true
		}
	}
	return false
}

// proseProblem says which rule an escaped text breaks.
func proseProblem(out string) string {
	for _, sign := range []byte("<>[]`|*_~") {
		if bare(out, sign) {
			return fmt.Sprintf("%q stands bare", sign)
		}
	}
	switch {
	case strings.ContainsAny(out, "\n\r"):
		return "more than one line"
	case hidden.MatchString(out) || !utf8.ValidString(out):
		return "a character that nobody sees"
	case regexp.MustCompile(`(?i)://|www\.|[@#][A-Za-z0-9]|GH-[0-9]|\$`).MatchString(strings.NewReplacer("&#8203;", "\x00", "&#36;", "", "\\", "").Replace(out)):
		return "GitHub would make a link of it"
	case regexp.MustCompile(`^(?:[-+>#=*]|\d+[.)])`).MatchString(out):
		return "begins a block"
	case regexp.MustCompile(`&(?:[^lga#]|#[^38])`).MatchString(out):
		return "an entity that is not ours"
	}
	return ""
}

// spanEnds says whether a code span ends where it ends for a reader of Markdown.
func spanEnds(t *testing.T, span, content string) {
	t.Helper()
	marks := 0
	for marks < len(span) && span[marks] == '`' {
		marks++
	}
	inside := span[marks : len(span)-marks]
	if marks == 0 || !strings.HasSuffix(span, strings.Repeat("`", marks)) || strings.HasPrefix(inside, "`") || strings.HasSuffix(inside, "`") || longestRun(inside) >= marks {
		t.Errorf("%q does not end where it should: %q", content, span)
	}
	if strings.ContainsAny(span, "\n\r") || hidden.MatchString(span) || regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\|`).MatchString(strings.ReplaceAll(span, `\|`, "")) {
		t.Errorf("%q shows as %q", content, span)
	}
}

func TestEscapes(t *testing.T) {
	for _, a := range attacks {
		if problem := proseProblem(escapeProse(a)); problem != "" {
			t.Errorf("%q becomes %q: %s", a, escapeProse(a), problem)
		}
		spanEnds(t, codeSpan(a), a)
		f := fence(a, "text")
		marks := f[:strings.IndexByte(f, 't')]
		if body := f[len(marks)+len("text\n"):]; strings.Index(body, marks) != len(body)-len(marks)-1 || hidden.MatchString(f) {
			t.Errorf("the fence of %q ends early: %q", a, f)
		}
	}
	for in, want := range map[string]string{
		"plain text, 29.0 (a-b): ok": "plain text, 29.0 (a-b): ok", "@a": `\@&#8203;a`, "\u202e": "&lt;U+202E&gt;", "\xff": "&lt;0xFF&gt;", "a|b": `a\|b`, "1. x": `1\. x`,
		"http://x": "http:&#8203;//x", "- x": `\- x`,
	} {
		if got := escapeProse(in); got != want {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
}

// hostileRun has an attack in every text that a stranger can write.
func hostileRun(a string) forge.CheckRun {
	valid := strings.ToValidUTF8(a, "?")
	r := result(a, a, true, record.Fail, a)
	r.Expected, r.Observed = strictjson.Str(valid), strictjson.Obj(strictjson.Member{Name: "stdout", Value: strictjson.Str("main.go:1: " + valid + "\n" + valid)}, strictjson.Member{Name: valid, Value: strictjson.Str(valid)})
	r.Findings = []record.Finding{{Message: a, File: a, Line: 1}, {Message: a, File: "main.go", Pointer: a}}
	r.Error = &record.Problem{Code: a, Message: a, Fix: a}
	f := facts(tree{"main.go": "", a: "", ".gate/contracts/checkout.json": contractText})
	f.CheckName, f.ContractID, f.BaseRef, f.Matrix, f.ContractCommit, f.BundleDigest, f.ArtifactURL, f.ArtifactDigest, f.RunURL = a, a, a, a, a, a, a, a, a
	f.Notes, f.Edits = []string{a}, []Edit{{Path: a, Line: 1, Message: a}}
	f.Undelivered = fault.New(fault.ActionUploadFailed, a, "%s", a)
	return Render(view([]string{a}, r, r), f)
}

// TestEveryTextOfAStrangerIsEscaped puts each attack everywhere at once and reads the
// Markdown as its readers do, line by line.
func TestEveryTextOfAStrangerIsEscaped(t *testing.T) {
	ours := regexp.MustCompile(`\[[a-zA-Z ,]*\]\(https://github\.com/verdictgate/verdictgate/blob/main/docs/[a-z]+\.md#[a-z-]+\)|</?details>|</?summary>|\*\*`)
	for _, a := range attacks {
		run := hostileRun(a)
		within(t, run)
		for _, s := range []string{run.Name, run.Title} {
			if hidden.MatchString(s) || strings.ContainsAny(s, "\n\r") || !utf8.ValidString(s) {
				t.Errorf("%q is in the name or title: %q", a, s)
			}
		}
		for _, text := range []string{run.Summary, run.Text, JobSummary([]forge.CheckRun{run}, false)} {
			if hidden.MatchString(text) || !utf8.ValidString(text) {
				t.Errorf("%q is not made visible", a)
			}
			left := ours.ReplaceAllString(stripCode(text), "")
			for _, sign := range []byte("<[`@") {
				if bare(left, sign) {
					t.Errorf("%q leaves %q bare in\n%s", a, sign, left)
				}
			}
		}
	}
}

// stripCode takes out what Markdown shows as code.
func stripCode(text string) string {
	var b strings.Builder
	end := ""
	for line := range strings.Lines(text) {
		bareLine := strings.TrimRight(line, "\n")
		switch n := len(bareLine) - len(strings.TrimLeft(bareLine, "`")); {
		case end == "" && n >= 3 && !strings.Contains(bareLine[n:], "`"):
			end = bareLine[:n]
		case end != "" && bareLine == end:
			end = ""
		case end == "":
			b.WriteString(stripSpans(line))
		}
	}
	return b.String()
}

func stripSpans(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		if line[i] == '\\' && i+1 < len(line) {
			b.WriteString(line[i : i+2])
			i += 2
			continue
		}
		if line[i] != '`' {
			b.WriteByte(line[i])
			i++
			continue
		}
		n := i
		for n < len(line) && line[n] == '`' {
			n++
		}
		marks, at := line[i:n], n
		for { // the next run of exactly that length
			j := strings.Index(line[at:], marks)
			if j < 0 {
				b.WriteString(marks)
				i = n
				break
			}
			at += j
			e := at
			for e < len(line) && line[e] == '`' {
				e++
			}
			if e-at == len(marks) {
				i = e
				break
			}
			at = e
		}
	}
	return b.String()
}

// TestNothingIsTooLarge holds the limits with what is far over them, and the numbers
// that are told of the cut.
func TestNothingIsTooLarge(t *testing.T) {
	var many []record.Result
	contract := `{"checks":[`
	for i := range 5000 {
		id := fmt.Sprintf("check-%d", i)
		contract += fmt.Sprintf("\n{\"id\":%q},", id)
		many = append(many, showing(result(id, "file_exists", i%2 == 0, record.Fail, strings.Repeat("@|<", 300)), "1", "2"))
	}
	contract = contract[:len(contract)-1] + "]}"
	f := facts(tree{".gate/contracts/checkout.json": contract})
	f.ContractText = []byte(contract)
	var limitations []string
	for i := range 5000 {
		limitations = append(limitations, fmt.Sprintf("limitation %d @@@@ %s", i, strings.Repeat("x", 300)))
	}
	run := Render(view(limitations, many...), f)
	within(t, run)
	rows, said := strings.Count(run.Summary, "\n| ❌ fail"), 0
	fmt.Sscanf(run.Summary[strings.Index(run.Summary, "\n\n**")+4:], "%d rows cut", &said)
	if rows == 0 || rows+said != 5000 || !strings.Contains(run.Summary, fmt.Sprintf("%d of which did not pass: [the evidence]", said)) {
		t.Errorf("%d rows are shown and %d said to be cut", rows, said)
	}
	kept := strings.Count(run.Summary, "\n- limitation ")
	if kept == 0 || !strings.Contains(run.Summary, fmt.Sprintf("**%d limitations cut**", 5001-kept)) { // the foreign file is the last one
		t.Errorf("%d limitations are shown, and not that the others are cut", kept)
	}
	if shown := strings.Count(run.Text, "### ❌"); shown == 0 || !strings.Contains(run.Text, fmt.Sprintf("details of %d checks were cut", 5000-shown)) {
		t.Errorf("the details of %d are shown, and not that the others are cut", shown)
	}
	if len(run.Annotations) != maxAnnotations || run.Annotations[maxAnnotations-1].Level != forge.Grave || !strings.Contains(run.Summary, "1000 annotations are shown, 4000 more were cut") {
		t.Errorf("%d annotations, the last %v", len(run.Annotations), run.Annotations[len(run.Annotations)-1].Level)
	}
	if !strings.Contains(run.Summary, "<summary>What this does not prove</summary>") || !strings.Contains(run.Summary, "sha256:") {
		t.Error("the fixed parts gave way")
	}
	var runs []forge.CheckRun
	for range 20 {
		runs = append(runs, run)
	}
	if s := JobSummary(runs, false); len(s) > 1<<20 || !regexp.MustCompile(`\*\*\d+ bytes of reports were cut`).MatchString(s) || strings.Count(s, "## verdict") != 20 {
		t.Errorf("the summary of the job has %d bytes", len(s))
	}
}

func TestAValueOfTenMegabytes(t *testing.T) {
	big := result("big", "json_value", true, record.Fail, "it differs")
	big.Expected, big.Observed = strictjson.Str(strings.Repeat("`@", 5<<20)), strictjson.Obj(strictjson.Member{Name: "stdout", Value: strictjson.Str(strings.Repeat("x", 10<<20) + "\nmain.go:7: the end\n")})
	run := Render(view(nil, big), facts(tree{"main.go": ""}))
	within(t, run)
	if !regexp.MustCompile(`\(the beginning; 1048\d{4} bytes were cut\)`).MatchString(run.Text) || !regexp.MustCompile(`\(the end; \d+ bytes before it were cut\)`).MatchString(run.Text) || !strings.Contains(run.Text, "the end\n") {
		t.Errorf("the cut is not told:\n%.600s", run.Text)
	}
}

// TestAtSignsAlone: escaping makes a text nine times as long, and then it is one that
// must fit.
func TestAtSignsAlone(t *testing.T) {
	long := strings.Repeat("@", 10_000)
	if n := len(sentence(long, maxCell)); n > 2*maxCell || n < maxCell {
		t.Errorf("%d bytes", n)
	}
	f := facts(shop())
	f.Undelivered = fault.New(fault.ActionUploadFailed, long, "%s", long)
	for range 200 {
		f.Notes, f.Edits = append(f.Notes, long), append(f.Edits, Edit{Path: "order.json", Line: 1, Message: long})
	}
	run := RenderRefusal(fault.New(fault.ActionBaseUntrusted, long, "%s", long), f)
	within(t, run)
	if !strings.Contains(run.Summary, "[log of the job](") || !regexp.MustCompile(`… \d+ notes cut`).MatchString(run.Summary) || !regexp.MustCompile(`… \d+ edits cut`).MatchString(run.Summary) {
		t.Errorf("something gave way:\n%.3000s", run.Summary)
	}
	if len(run.Annotations) != maxEdits || !strings.Contains(run.Summary, "100 annotations are shown, 100 more were cut") {
		t.Errorf("%d annotations of 200 edits, and the cut is not told", len(run.Annotations))
	}
	all := []Result{{ContractID: "a", Verdict: verdict.Verified, Outcome: verdict.Pass}}
	if run := RenderOverall(all, f); run.Conclusion != forge.Failure || !strings.HasPrefix(run.Title, "Not delivered: ") {
		t.Errorf("what was not delivered is %s: %s", run.Conclusion, run.Title)
	}
	for i := range 3000 {
		all = append(all, Result{ContractID: fmt.Sprint(i), Outcome: Refused, Error: &record.Problem{Code: "x", Message: long}})
	}
	run = RenderOverall(all, f)
	within(t, run)
	if !regexp.MustCompile(`\*\*\d+ contracts cut\*\*`).MatchString(run.Summary) || !strings.Contains(run.Summary, "[log of the job](") {
		t.Error("contracts are cut and nobody says so")
	}
}

func TestALogThatNobodyElseCommands(t *testing.T) {
	var out bytes.Buffer
	log, seen := NewLog(&out), map[string]bool{}
	for _, a := range attacks {
		out.Reset()
		if err := log.Untrusted(func(w io.Writer) error { _, err := io.WriteString(w, a); return err }); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		token, ok := strings.CutPrefix(lines[0], "::stop-commands::")
		if seen[token] {
			t.Errorf("the token %s was used before", token)
		}
		seen[token] = true
		if !ok || len(token) < 32 || lines[len(lines)-1] != "::"+token+"::" || strings.Count(out.String(), token) != 2 || !strings.Contains(out.String(), a) {
			t.Errorf("%q can command the runner: %q", a, out.String())
		}
		out.Reset()
		log.used = map[forge.Level]int{}
		if _, err := log.Annotate([]forge.Annotation{{Path: a, StartLine: 1, EndLine: 1, Level: forge.Grave, Title: a, Message: a}}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(log.Group(a, func() error { return nil }), log.Notice(a)); err != nil {
			t.Fatal(err)
		}
		got := strings.Split(out.String(), "\n")
		if len(got) != 5 || strings.Contains(out.String(), "\r") || !regexp.MustCompile(`^::error endLine=1,file=[^:,]*,line=1,title=[^:,]*::`).MatchString(got[0]) {
			t.Errorf("%q makes commands: %q", a, got)
		}
	}
}

func TestTheLogKeepsTheRunnersLimits(t *testing.T) {
	var out bytes.Buffer
	log := NewLog(&out)
	all := make([]forge.Annotation, 25)
	for i := range all {
		all[i] = forge.Annotation{Path: "a", StartLine: 1, EndLine: 1, Level: forge.Grave, Message: strings.Repeat("%", 10_000)}
	}
	cut, err := log.Annotate(all)
	if err != nil || cut != 15 || strings.Count(out.String(), "::error") != 10 {
		t.Errorf("cut %d, %v", cut, err)
	}
	if n := len(strings.ReplaceAll(strings.SplitN(out.String(), "\n", 2)[0], "%25", "%")); n > 4096+60 {
		t.Errorf("a message of %d", n)
	}
	out.Reset()
	if err := log.Mask("one\n\ntwo\r\n"); err != nil || out.String() != "::add-mask::one\n::add-mask::two\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	gone := NewLog(broken{})
	if gone.Notice("x") == nil || gone.Mask("x") == nil || gone.Group("x", func() error { return nil }) == nil {
		t.Error("a log that is gone gives no error")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

// runnerOutputs reads the file of outputs as the runner does.
func runnerOutputs(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] == "" {
			continue
		}
		name, end, ok := strings.Cut(lines[i], "<<")
		if !ok {
			t.Fatalf("line %q", lines[i])
		}
		var value []string
		for i++; i < len(lines) && lines[i] != end; i++ {
			value = append(value, lines[i])
		}
		if i == len(lines) {
			t.Fatalf("%s has no end", name)
		}
		out[name] = strings.Join(value, "\n")
	}
	return out
}

func TestOutputsCannotBeInjected(t *testing.T) {
	library := "x\n_GitHubActionsFileCommandDelimeter_\nverdict<<_GitHubActionsFileCommandDelimeter_\nVERIFIED\n_GitHubActionsFileCommandDelimeter_\n"
	for _, a := range append(attacks, library) {
		file := filepath.Join(t.TempDir(), "out")
		all, err := Outputs([]Result{{ContractPath: a, Verdict: verdict.Failed, Outcome: verdict.Fail, BundlePath: a, ArtifactURL: a}}, Delivery{})
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteOutputs(file, all); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := runnerOutputs(t, string(text))
		if len(got) != 11 || got["verdict"] != "FAILED" || got["outcome"] != "fail" || strings.Contains(got["json"], "\n") {
			t.Errorf("%q: %q", a, got)
		}
	}
}
