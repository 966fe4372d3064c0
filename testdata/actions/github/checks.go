package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What the description leaves out.
//
// Source: https://docs.github.com/en/rest/checks/runs
const (
	maxTitle     = 255
	maxText      = 65535 // bytes, though the description counts characters
	maxMessage   = 64 << 10
	maxPerCall   = 50
	maxPlanes    = 0xFFFF // code points beyond have broken annotations of others
	maxNameBytes = 255
)

// posted is the body of a request that makes or changes a check-run.
type posted struct {
	Name       *string `json:"name"`
	HeadSHA    *string `json:"head_sha"`
	ExternalID *string `json:"external_id"`
	DetailsURL *string `json:"details_url"`
	Status     *string `json:"status"`
	Conclusion *string `json:"conclusion"`
	Output     *struct {
		Title       *string      `json:"title"`
		Summary     *string      `json:"summary"`
		Text        *string      `json:"text"`
		Annotations []Annotation `json:"annotations"`
	} `json:"output"`
}

// beyond says what is wrong with a check-run that the description would take.
func (p *posted) beyond() []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if p.Status != nil && *p.Status == "completed" && p.Conclusion == nil {
		say("it is completed without a conclusion")
	}
	if p.Name != nil && (len(*p.Name) > maxNameBytes || strings.ContainsAny(*p.Name, "\r\n")) {
		say("the name is too long, or has lines")
	}
	if p.Output == nil {
		return wrong
	}
	o := p.Output
	if o.Title == nil || *o.Title == "" || utf8.RuneCountInString(*o.Title) > maxTitle {
		say("the title is missing, or has more than %d characters", maxTitle)
	}
	for name, text := range map[string]*string{"summary": o.Summary, "text": o.Text} {
		if text != nil && len(*text) > maxText {
			say("the %s has %d bytes", name, len(*text))
		}
	}
	if len(o.Annotations) > maxPerCall {
		say("%d annotations in one request", len(o.Annotations))
	}
	for i, a := range o.Annotations {
		for _, problem := range a.problems() {
			say("annotation %d: %s", i, problem)
		}
	}
	return wrong
}

func (a Annotation) problems() []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if a.Path == "" || strings.HasPrefix(a.Path, "/") || strings.Contains("/"+a.Path+"/", "/../") {
		say("the path %q is none of the repository's", a.Path)
	}
	if a.StartLine < 1 || a.EndLine < a.StartLine {
		say("lines %d to %d", a.StartLine, a.EndLine)
	}
	if (a.StartColumn != nil || a.EndColumn != nil) && a.StartLine != a.EndLine {
		say("columns, and lines %d to %d", a.StartLine, a.EndLine)
	}
	if a.StartColumn != nil && *a.StartColumn < 1 || a.EndColumn != nil && (*a.EndColumn < 1 || a.StartColumn != nil && *a.EndColumn < *a.StartColumn) {
		say("columns that are none")
	}
	texts := map[string]string{"message": a.Message, "path": a.Path}
	if a.Title != nil {
		texts["title"] = *a.Title
		if utf8.RuneCountInString(*a.Title) > maxTitle {
			say("the title has more than %d characters", maxTitle)
		}
	}
	if a.RawDetails != nil {
		texts["raw_details"] = *a.RawDetails
	}
	if strings.TrimSpace(a.Message) == "" {
		say("no message")
	}
	for name, text := range texts {
		if len(text) > maxMessage {
			say("%s has %d bytes", name, len(text))
		}
		for _, r := range text {
			if r > maxPlanes {
				say("%s has %U", name, r)
				break
			}
		}
	}
	return wrong
}

// take puts what was posted into a check-run.
func (c *CheckRun) take(p *posted) {
	for _, f := range []struct{ to, from *string }{
		{&c.Name, p.Name}, {&c.HeadSHA, p.HeadSHA}, {&c.ExternalID, p.ExternalID}, {&c.DetailsURL, p.DetailsURL}, {&c.Status, p.Status}, {&c.Conclusion, p.Conclusion},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if p.Conclusion != nil {
		c.Status = "completed"
	}
	if p.Output == nil {
		return
	}
	for _, f := range []struct{ to, from *string }{{&c.Title, p.Output.Title}, {&c.Summary, p.Output.Summary}, {&c.Text, p.Output.Text}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	c.Annotations = append(c.Annotations, p.Output.Annotations...)
}

func (s *Server) checkRun(cl *call, status int, c *CheckRun) map[string]any {
	null := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	details := c.DetailsURL
	if details == "" {
		details = s.html("/runs/%d", c.ID)
	}
	m := cl.example(status, nil)
	if inner, ok := m["check_runs"].([]any); ok {
		m = inner[0].(map[string]any)
	}
	return changed(m, map[string]any{
		"id": c.ID, "name": c.Name, "head_sha": c.HeadSHA, "external_id": c.ExternalID, "status": c.Status, "conclusion": null(c.Conclusion), "pull_requests": []any{},
		"details_url": details, "html_url": s.html("/runs/%d", c.ID), "url": s.api("/check-runs/%d", c.ID), "app.slug": c.App,
		"output": map[string]any{"title": null(c.Title), "summary": null(c.Summary), "text": null(c.Text), "annotations_count": len(c.Annotations),
			"annotations_url": s.api("/check-runs/%d/annotations", c.ID)},
	})
}

func (s *Server) body(cl *call) (*posted, *answer) {
	p := &posted{}
	if err := json.Unmarshal(cl.body, p); err != nil {
		s.violated("%s: %v", cl.op.ID, err)
		a := refusal(http.StatusUnprocessableEntity, "Invalid request.")
		return nil, &a
	}
	wrong := p.beyond()
	for _, w := range wrong {
		s.violated("%s: %s", cl.op.ID, w)
	}
	if len(wrong) > 0 {
		a := refusal(http.StatusUnprocessableEntity, "Validation Failed")
		return nil, &a
	}
	return p, nil
}

func (s *Server) createCheck(cl *call) answer {
	p, refused := s.body(cl)
	if refused != nil {
		return *refused
	}
	c := &CheckRun{ID: int64(1000 + len(s.checks)), App: cl.token.App, Status: "queued"}
	c.take(p)
	if _, known := s.config.Repo.Resolve(c.HeadSHA); !known || !whole(c.HeadSHA) {
		return refusal(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.HeadSHA)
	}
	s.checks = append(s.checks, c)
	return answer{status: http.StatusCreated, body: s.checkRun(cl, 201, c)}
}

func (s *Server) find(cl *call) *CheckRun {
	id, err := strconv.ParseInt(cl.op.Params["check_run_id"], 10, 64)
	if err != nil {
		return nil
	}
	for _, c := range s.checks {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func (s *Server) updateCheck(cl *call) answer {
	c := s.find(cl)
	if c == nil {
		return notFound
	}
	p, refused := s.body(cl)
	if refused != nil {
		return *refused
	}
	if c.App != cl.token.App {
		return refusal(http.StatusForbidden, "Invalid app_id. You are not the owner of this check run.")
	}
	if p.Conclusion != nil && c.Conclusion != "" && *p.Conclusion != c.Conclusion || p.HeadSHA != nil {
		s.violated("%s changes the conclusion or the head of a check-run", cl.op.ID)
		return refusal(http.StatusForbidden, "Resource not accessible by integration")
	}
	c.take(p)
	return ok(s.checkRun(cl, 200, c))
}

func (s *Server) getCheck(cl *call) answer {
	if c := s.find(cl); c != nil {
		return ok(s.checkRun(cl, 200, c))
	}
	return notFound
}

// listChecks gives the newest of each name and App first, or all of them.
func (s *Server) listChecks(cl *call) answer {
	at, known := s.config.Repo.Resolve(cl.op.Params["ref"])
	if !known {
		return refusal(http.StatusUnprocessableEntity, "No commit found for SHA: "+cl.op.Params["ref"])
	}
	var out []any
	seen := map[string]bool{}
	for i := len(s.checks) - 1; i >= 0; i-- {
		c := s.checks[i]
		if c.HeadSHA != at || cl.query("check_name") != "" && cl.query("check_name") != c.Name || cl.query("status") != "" && cl.query("status") != c.Status {
			continue
		}
		if key := c.App + "\n" + c.Name; cl.query("filter") != "all" {
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		out = append(out, s.checkRun(cl, 200, c))
	}
	return paged(s, cl, out, "check_runs")
}

func (s *Server) listAnnotations(cl *call) answer {
	c := s.find(cl)
	if c == nil {
		return notFound
	}
	var out []any
	for _, a := range c.Annotations {
		out = append(out, map[string]any{"path": a.Path, "start_line": a.StartLine, "end_line": a.EndLine, "start_column": a.StartColumn, "end_column": a.EndColumn,
			"annotation_level": a.Level, "title": a.Title, "message": a.Message, "raw_details": a.RawDetails, "blob_href": s.html("/blob/%s/%s", c.HeadSHA, "file")})
	}
	return paged(s, cl, out, "")
}
