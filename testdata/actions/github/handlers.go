package github

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/verdictgate/verdictgate/testdata/actions/openapi"
)

// call is one request that is in order.
type call struct {
	op    *openapi.Operation
	r     *http.Request
	body  []byte
	token Token
}

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// handlers are the operations that the double plays.
var handlers = played()

func (s *Server) api(format string, args ...any) string {
	return s.URL + "/repos/" + s.config.Owner + "/" + s.config.Name + fmt.Sprintf(format, args...)
}

func (s *Server) html(format string, args ...any) string {
	return s.URL + "/" + s.config.Owner + "/" + s.config.Name + fmt.Sprintf(format, args...)
}

// example is the description's own example of the answer, with members changed.
// A key is a path of members, with dots.
func (c *call) example(status int, changes map[string]any) map[string]any {
	v, err := c.op.Example(status, "")
	if err != nil {
		panic(err)
	}
	if list, ok := v.([]any); ok {
		v = list[0]
	}
	return changed(v.(map[string]any), changes)
}

func changed(object map[string]any, changes map[string]any) map[string]any {
	for key, value := range changes {
		at := object
		parts := strings.Split(key, ".")
		for _, p := range parts[:len(parts)-1] {
			inner, ok := at[p].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[p] = inner
			}
			at = inner
		}
		at[parts[len(parts)-1]] = value
	}
	return object
}

func ok(body any) answer { return answer{status: http.StatusOK, body: body} }

// paged gives the page of a list that was asked for, and where the next one is.
func paged[T any](s *Server, c *call, all []T, member string) answer {
	size, number := 30, 1
	if n, err := strconv.Atoi(c.query("per_page")); err == nil {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(c.query("page")); err == nil {
		number = n
	}
	from, to := min((number-1)*size, len(all)), min(number*size, len(all))
	page := slices.Clone(all[from:to])
	if page == nil {
		page = []T{}
	}
	a := ok(any(page))
	if member != "" {
		a.body = map[string]any{"total_count": len(all), member: page}
	}
	if to < len(all) {
		next := *c.r.URL
		q := next.Query()
		q.Set("page", strconv.Itoa(number+1))
		next.RawQuery = q.Encode()
		a.header = map[string]string{"Link": fmt.Sprintf(`<%s%s>; rel="next"`, s.URL, next.RequestURI())}
	}
	return a
}

func (s *Server) repository(c *call) answer {
	return ok(c.example(200, map[string]any{
		"name": s.config.Name, "full_name": s.config.Owner + "/" + s.config.Name, "owner.login": s.config.Owner, "private": s.config.Private,
		"default_branch": s.config.DefaultBranch, "fork": false, "language": nil, "source.language": nil, "html_url": s.html(""), "url": s.api(""),
	}))
}

// side are the members of the head or the base of a pull request.
func (s *Server) side(prefix, ref, sha, full string) map[string]any {
	owner, name, _ := strings.Cut(full, "/")
	return map[string]any{
		prefix + ".ref": ref, prefix + ".sha": sha, prefix + ".label": owner + ":" + ref, prefix + ".user.login": owner,
		prefix + ".repo.full_name": full, prefix + ".repo.name": name, prefix + ".repo.owner.login": owner, prefix + ".repo.fork": full != s.full(),
		prefix + ".repo.default_branch": s.config.DefaultBranch,
	}
}

func (s *Server) full() string { return s.config.Owner + "/" + s.config.Name }

func (s *Server) pull(c *call, p *Pull) map[string]any {
	state, from := "open", p.Fork
	if p.Closed {
		state = "closed"
	}
	if from == "" {
		from = s.full()
	}
	kind := "User"
	if strings.HasSuffix(p.Author, "[bot]") {
		kind = "Bot"
	}
	m := c.example(200, map[string]any{
		"number": p.Number, "state": state, "title": "A change", "body": "", "user.login": p.Author, "user.type": kind, "merge_commit_sha": p.Merge, "requested_teams": []any{},
		"html_url": s.html("/pull/%d", p.Number), "url": s.api("/pulls/%d", p.Number),
	})
	changed(m, s.side("head", p.HeadRef, p.Head, from))
	return changed(m, s.side("base", p.BaseRef, p.Base, s.full()))
}

func (s *Server) getPull(c *call) answer {
	n, err := strconv.Atoi(c.op.Params["pull_number"])
	if err != nil || n < 1 || n > len(s.pulls) {
		return notFound
	}
	return ok(s.pull(c, s.pulls[n-1]))
}

// from is the head of a pull request as a list is asked for it.
func (s *Server) from(p *Pull) string {
	owner := s.config.Owner
	if p.Fork != "" {
		owner, _, _ = strings.Cut(p.Fork, "/")
	}
	return owner + ":" + p.HeadRef
}

func (s *Server) listPulls(c *call) answer {
	var out []any
	state := c.query("state")
	for _, p := range s.pulls {
		if c.op.ID == "pulls/list" && (state == "" || state == "open") && p.Closed || state == "closed" && !p.Closed {
			continue
		}
		if c.query("base") != "" && c.query("base") != p.BaseRef {
			continue
		}
		// As GitHub: a commit that only a fork has is in no pull request.
		if sha := c.op.Params["commit_sha"]; sha != "" && (sha != p.Head || p.Fork != "") {
			continue
		}
		if head := c.query("head"); head != "" && head != s.from(p) {
			continue
		}
		out = append(out, s.pull(c, p))
	}
	return paged(s, c, out, "")
}

func (s *Server) files(changes []Change, at string) []any {
	var out []any
	for _, f := range changes {
		p := (&url.URL{Path: f.Path}).EscapedPath()
		m := map[string]any{
			"sha": f.ID, "filename": f.Path, "status": f.Status, "additions": f.Added, "deletions": f.Removed, "changes": f.Added + f.Removed,
			"blob_url": s.html("/blob/%s/%s", at, p), "raw_url": s.html("/raw/%s/%s", at, p), "contents_url": s.api("/contents/%s?ref=%s", p, at),
		}
		if f.Patch != "" {
			m["patch"] = f.Patch
		}
		if f.Previous != "" {
			m["previous_filename"] = f.Previous
		}
		out = append(out, m)
	}
	return out
}

func (s *Server) pullFiles(c *call) answer {
	n, err := strconv.Atoi(c.op.Params["pull_number"])
	if err != nil || n < 1 || n > len(s.pulls) {
		return notFound
	}
	p := s.pulls[n-1]
	base, err := line(s.config.Repo.Git("merge-base", p.Base, p.Head))
	if err != nil {
		return notFound
	}
	changes, err := s.config.Repo.Diff(base, p.Head)
	if err != nil {
		return notFound
	}
	return paged(s, c, s.files(changes, p.Head), "")
}

// whole is a commit's full id, or not.
func whole(id string) bool { return len(id) == 40 && strings.Trim(id, "0123456789abcdef") == "" }

func (s *Server) ref(ref, sha, kind string) map[string]any {
	return map[string]any{"ref": ref, "node_id": "R", "url": s.api("/git/%s", ref), "object": map[string]any{"type": kind, "sha": sha, "url": s.api("/git/%ss/%s", kind, sha)}}
}

func (s *Server) refs(prefix string) []any {
	out, err := s.config.Repo.Git("for-each-ref", "--format=%(refname) %(objectname) %(objecttype)")
	if err != nil {
		return nil
	}
	var refs []any
	for l := range strings.Lines(out) {
		f := strings.Fields(l)
		if len(f) == 3 && strings.HasPrefix(f[0], "refs/"+prefix) {
			refs = append(refs, s.ref(f[0], f[1], f[2]))
		}
	}
	return refs
}

func (s *Server) getRef(c *call) answer {
	for _, r := range s.refs(c.op.Params["ref"]) {
		if r.(map[string]any)["ref"] == "refs/"+c.op.Params["ref"] {
			return ok(r)
		}
	}
	return notFound
}

func (s *Server) matchingRefs(c *call) answer {
	refs := s.refs(c.op.Params["ref"])
	if refs == nil {
		refs = []any{}
	}
	return ok(refs)
}

// facts are a commit's tree and parents.
func (s *Server) facts(id string) (tree string, parents []string, err error) {
	out, err := line(s.config.Repo.Git("show", "-s", "--format=%T %P", id))
	f := strings.Fields(out)
	if err != nil || len(f) == 0 {
		return "", nil, errors.Join(errNotFound, err)
	}
	return f[0], f[1:], nil
}

func (s *Server) gitCommit(c *call) answer {
	id := c.op.Params["commit_sha"]
	tree, parents, err := s.facts(id)
	if err != nil || !whole(id) {
		return notFound
	}
	list := []any{}
	for _, p := range parents {
		list = append(list, map[string]any{"sha": p, "url": s.api("/git/commits/%s", p), "html_url": s.html("/commit/%s", p)})
	}
	return ok(c.example(200, map[string]any{"sha": id, "tree.sha": tree, "tree.url": s.api("/git/trees/%s", tree), "parents": list, "html_url": s.html("/commit/%s", id)}))
}

// commit is a commit as lists and comparisons have it.
func (s *Server) commit(id string) (map[string]any, error) {
	tree, parents, err := s.facts(id)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, p := range parents {
		list = append(list, map[string]any{"sha": p, "url": s.api("/commits/%s", p), "html_url": s.html("/commit/%s", p)})
	}
	who := map[string]any{"name": "Mona", "email": "mona@example.com", "date": "2026-01-02T03:04:05Z"}
	return map[string]any{
		"sha": id, "node_id": "C", "url": s.api("/commits/%s", id), "html_url": s.html("/commit/%s", id), "comments_url": s.api("/commits/%s/comments", id),
		"commit": map[string]any{"url": s.api("/git/commits/%s", id), "author": who, "committer": who, "message": "a commit", "comment_count": 0,
			"tree": map[string]any{"sha": tree, "url": s.api("/git/trees/%s", tree)}},
		"author": nil, "committer": nil, "parents": list,
	}, nil
}

func (s *Server) getCommit(c *call) answer {
	id, known := s.config.Repo.Resolve(c.op.Params["ref"])
	if !known {
		return refusal(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.op.Params["ref"])
	}
	m, err := s.commit(id)
	if err != nil {
		return notFound
	}
	if _, parents, err := s.facts(id); err == nil && len(parents) > 0 {
		if changes, err := s.config.Repo.Diff(parents[0], id); err == nil {
			m["files"] = s.files(changes, id)
		}
	}
	return ok(m)
}

func (s *Server) branch(c *call) answer {
	name := c.op.Params["branch"]
	id, known := s.config.Repo.Resolve("refs/heads/" + name)
	if !known {
		return notFound
	}
	m, err := s.commit(id)
	if err != nil {
		return notFound
	}
	return ok(c.example(200, map[string]any{"name": name, "commit": m}))
}

func (s *Server) compare(c *call) answer {
	from, to, cut := strings.Cut(c.op.Params["basehead"], "...")
	base, ok1 := s.config.Repo.Resolve(from)
	head, ok2 := s.config.Repo.Resolve(to)
	if !cut || !ok1 || !ok2 {
		return notFound
	}
	git := s.config.Repo.Git
	merge, err := line(git("merge-base", base, head))
	if err != nil {
		return refusal(http.StatusNotFound, "No common ancestor between "+from+" and "+to+".")
	}
	counts, err := line(git("rev-list", "--left-right", "--count", base+"..."+head))
	if err != nil {
		return notFound
	}
	var behind, ahead int
	if _, err := fmt.Sscan(counts, &behind, &ahead); err != nil {
		return notFound
	}
	status := map[[2]bool]string{{false, false}: "identical", {true, false}: "ahead", {false, true}: "behind", {true, true}: "diverged"}[[2]bool{ahead > 0, behind > 0}]
	list, err := git("rev-list", "--reverse", base+".."+head)
	if err != nil {
		return notFound
	}
	var commits []any
	for _, id := range strings.Fields(list) {
		m, err := s.commit(id)
		if err != nil {
			return notFound
		}
		commits = append(commits, m)
	}
	page := paged(s, c, commits, "")
	changes, err := s.config.Repo.Diff(merge, head)
	if err != nil {
		return notFound
	}
	baseCommit, err1 := s.commit(base)
	mergeCommit, err2 := s.commit(merge)
	if errors.Join(err1, err2) != nil {
		return notFound
	}
	files := s.files(changes, head)
	if files == nil {
		files = []any{}
	}
	page.body = map[string]any{
		"url": s.api("/compare/%s...%s", from, to), "html_url": s.html("/compare/%s...%s", from, to), "permalink_url": s.html("/compare/%s...%s", base, head),
		"diff_url": s.html("/compare/%s...%s.diff", from, to), "patch_url": s.html("/compare/%s...%s.patch", from, to),
		"base_commit": baseCommit, "merge_base_commit": mergeCommit, "status": status, "ahead_by": ahead, "behind_by": behind,
		"total_commits": len(commits), "commits": page.body, "files": files[:min(len(files), maxFiles)],
	}
	return page
}

// maxFiles is how many files a comparison shows.
const maxFiles = 300

// kind is an entry's type in the words of the contents API.
func kind(e Entry) string {
	switch {
	case e.Type == "tree":
		return "dir"
	case e.Mode == Link:
		return "symlink"
	case e.Mode == Submodule:
		return "submodule"
	}
	return "file"
}

func (s *Server) content(e Entry, name, at string) map[string]any {
	p := (&url.URL{Path: name}).EscapedPath()
	self := s.api("/contents/%s?ref=%s", p, at)
	objects := map[string]string{"tree": "trees", "blob": "blobs", "commit": "trees"}[e.Type]
	m := map[string]any{
		"type": kind(e), "size": e.Size, "name": path.Base(name), "path": name, "sha": e.ID, "url": self,
		"git_url": s.api("/git/%s/%s", objects, e.ID), "html_url": s.html("/blob/%s/%s", at, p), "download_url": nil,
	}
	m["_links"] = map[string]any{"self": self, "git": m["git_url"], "html": m["html_url"]}
	if e.Type == "blob" {
		m["download_url"] = s.html("/raw/%s/%s", at, p)
	}
	return m
}

func (s *Server) contents(c *call) answer {
	name, at := strings.Trim(c.op.Params["path"], "/"), c.query("ref")
	if at == "" {
		at = s.config.DefaultBranch
	}
	id, known := s.config.Repo.Resolve(at)
	if !known {
		return refusal(http.StatusNotFound, "No commit found for the ref "+at)
	}
	accept := c.r.Header.Get("Accept")
	raw, object := strings.Contains(accept, "raw"), strings.Contains(accept, "object")
	e, err := s.config.Repo.Entry(id, name)
	if err != nil {
		return notFound
	}
	if e.Mode == Link {
		// As GitHub: a link to a file of the repository is answered with that file.
		if target, err := s.config.Repo.Blob(e.ID); err == nil && !path.IsAbs(target) {
			if to, err := s.config.Repo.Entry(id, path.Join(path.Dir(name), target)); err == nil && to.Type == "blob" && to.Mode != Link {
				e = to
			}
		}
	}
	if e.Type == "tree" {
		entries, err := s.config.Repo.List(id, name)
		if err != nil {
			return notFound
		}
		list := []any{}
		for _, inner := range entries {
			one := s.content(inner, name+"/"+inner.Name, id)
			if one["type"] == "submodule" {
				one["type"] = "file" // in lists, for compatibility, as GitHub has it
			}
			list = append(list, one)
		}
		if object {
			m := s.content(e, name, id)
			m["entries"] = list
			return ok(m)
		}
		return ok(list)
	}
	m := s.content(e, name, id)
	if e.Type == "commit" {
		m["submodule_git_url"] = s.html(".git")
		return ok(m)
	}
	content, err := s.config.Repo.Blob(e.ID)
	switch {
	case err != nil:
		return notFound
	case raw:
		return ok([]byte(content))
	case e.Mode == Link:
		m["target"] = content
	default:
		m["encoding"], m["content"] = "base64", base64.StdEncoding.EncodeToString([]byte(content))
		if len(content) > 1<<20 {
			m["encoding"], m["content"] = "none", ""
		}
	}
	return ok(m)
}

func (s *Server) tree(c *call) answer {
	id := c.op.Params["tree_sha"]
	args := []string{"ls-tree", "-z", "-l"}
	if c.query("recursive") != "" {
		args = append(args, "-r", "-t")
	}
	tree, err := line(s.config.Repo.Git("rev-parse", "--verify", "--quiet", "--end-of-options", id+"^{tree}"))
	if err != nil {
		return notFound
	}
	out, err := s.config.Repo.Git(append(args, tree)...)
	if err != nil {
		return notFound
	}
	list := []any{}
	for _, record := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		facts, name, found := strings.Cut(record, "\t")
		f := strings.Fields(facts)
		if !found || len(f) != 4 {
			continue
		}
		m := map[string]any{"path": name, "mode": f[0], "type": f[1], "sha": f[2], "url": s.api("/git/%ss/%s", f[1], f[2])}
		if size, err := strconv.Atoi(f[3]); err == nil {
			m["size"] = size
		}
		list = append(list, m)
	}
	return ok(map[string]any{"sha": tree, "url": s.api("/git/trees/%s", tree), "truncated": false, "tree": list})
}

func (s *Server) blob(c *call) answer {
	id := c.op.Params["file_sha"]
	content, err := s.config.Repo.Blob(id)
	if err != nil || !whole(id) {
		return notFound
	}
	if strings.Contains(c.r.Header.Get("Accept"), "raw") {
		return ok([]byte(content))
	}
	return ok(map[string]any{"sha": id, "node_id": "B", "size": len(content), "url": s.api("/git/blobs/%s", id), "encoding": "base64", "content": base64.StdEncoding.EncodeToString([]byte(content))})
}

func (s *Server) tag(c *call) answer {
	id := c.op.Params["tag_sha"]
	out, err := s.config.Repo.Git("cat-file", "tag", id)
	if err != nil || !whole(id) {
		return notFound
	}
	var target, kind, name string
	for l := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(l), " ")
		switch key {
		case "object":
			target = value
		case "type":
			kind = value
		case "tag":
			name = value
		}
	}
	return ok(c.example(200, map[string]any{"tag": name, "sha": id, "object.sha": target, "object.type": kind}))
}

// run is a run, as the API tells it.
func (s *Server) run(c *call) answer {
	id, err := strconv.ParseInt(c.op.Params["run_id"], 10, 64)
	r, known := s.runs[id]
	if err != nil || !known {
		return notFound
	}
	status, conclusion, from, file := r.Status, any(r.Conclusion), r.HeadRepository, r.Path
	if status == "" {
		status, conclusion = "completed", "success"
	}
	if from == "" {
		from = s.full()
	}
	if file == "" {
		file = ".github/workflows/gate.yml"
	}
	called := []any{}
	for _, w := range r.Called {
		called = append(called, map[string]any{"path": w.Path, "ref": w.Ref, "sha": w.SHA})
	}
	attempt := r.Attempt
	if n, err := strconv.Atoi(c.op.Params["attempt_number"]); err == nil {
		attempt = n
	}
	headOwner, headName, _ := strings.Cut(from, "/")
	return ok(c.example(200, map[string]any{
		"id": id, "run_attempt": attempt, "event": r.Event, "status": status, "conclusion": conclusion, "head_sha": r.HeadSHA, "head_branch": r.HeadBranch,
		"path": file, "referenced_workflows": called, "pull_requests": []any{}, "html_url": s.html("/actions/runs/%d", id),
		"repository.full_name": s.full(), "repository.name": s.config.Name, "repository.owner.login": s.config.Owner,
		"head_repository.full_name": from, "head_repository.name": headName, "head_repository.owner.login": headOwner,
	}))
}

func (s *Server) artifact(a Artifact, run int64) map[string]any {
	head, branch := "", ""
	if r := s.runs[run]; r != nil {
		head, branch = r.HeadSHA, r.HeadBranch
	}
	return map[string]any{
		"id": a.ID, "node_id": "A", "name": a.Name, "size_in_bytes": a.Size, "url": s.api("/actions/artifacts/%d", a.ID),
		"archive_download_url": s.api("/actions/artifacts/%d/zip", a.ID), "expired": a.Expired, "digest": a.Digest,
		"created_at": "2026-01-02T03:04:05Z", "expires_at": "2026-04-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z",
		"workflow_run": map[string]any{"id": run, "repository_id": 1, "head_repository_id": 1, "head_branch": branch, "head_sha": head},
	}
}

func (s *Server) listArtifacts(c *call) answer {
	run, err := strconv.ParseInt(c.op.Params["run_id"], 10, 64)
	if err != nil {
		return notFound
	}
	var out []any
	if s.artifacts != nil {
		for _, a := range s.artifacts(run) {
			if name := c.query("name"); name == "" || name == a.Name {
				out = append(out, s.artifact(a, run))
			}
		}
	}
	return paged(s, c, out, "artifacts")
}

func (s *Server) getArtifact(c *call) answer {
	id, err := strconv.ParseInt(c.op.Params["artifact_id"], 10, 64)
	if err != nil || s.artifacts == nil {
		return notFound
	}
	for run := range s.runs {
		for _, a := range s.artifacts(run) {
			if a.ID != id {
				continue
			}
			switch {
			case c.op.ID == "actions/get-artifact":
				return ok(s.artifact(a, run))
			case a.Expired:
				return refusal(http.StatusGone, "Artifact has expired")
			}
			return answer{status: http.StatusFound, header: map[string]string{"Location": a.URL}}
		}
	}
	return notFound
}

func (s *Server) attest(c *call) answer {
	s.attestations = append(s.attestations, json.RawMessage(c.body))
	return answer{status: http.StatusCreated, body: map[string]any{"id": len(s.attestations)}}
}

func (s *Server) listAttestations(*call) answer {
	list := []any{}
	for _, a := range s.attestations {
		list = append(list, a)
	}
	return ok(map[string]any{"attestations": list})
}

func emptyList(*Server, *call) answer { return ok([]any{}) }

func played() map[string]func(*Server, *call) answer {
	return map[string]func(*Server, *call) answer{
		"repos/get": (*Server).repository, "pulls/get": (*Server).getPull, "pulls/list": (*Server).listPulls, "pulls/list-files": (*Server).pullFiles,
		"pulls/list-reviews": emptyList, "actions/get-reviews-for-run": emptyList,
		"repos/list-pull-requests-associated-with-commit": (*Server).listPulls,
		"git/get-ref": (*Server).getRef, "git/list-matching-refs": (*Server).matchingRefs, "git/get-commit": (*Server).gitCommit,
		"git/get-tree": (*Server).tree, "git/get-blob": (*Server).blob, "git/get-tag": (*Server).tag,
		"repos/get-commit": (*Server).getCommit, "repos/get-branch": (*Server).branch, "repos/get-content": (*Server).contents,
		"repos/compare-commits-with-basehead": (*Server).compare,
		"checks/create":                       (*Server).createCheck, "checks/update": (*Server).updateCheck, "checks/get": (*Server).getCheck,
		"checks/list-for-ref": (*Server).listChecks, "checks/list-annotations": (*Server).listAnnotations,
		"actions/get-workflow-run": (*Server).run, "actions/get-workflow-run-attempt": (*Server).run,
		"actions/list-workflow-run-artifacts": (*Server).listArtifacts, "actions/get-artifact": (*Server).getArtifact, "actions/download-artifact": (*Server).getArtifact,
		"repos/create-attestation": (*Server).attest, "repos/list-attestations": (*Server).listAttestations,
	}
}
