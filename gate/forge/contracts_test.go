package forge

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/verdictgate/verdictgate/gate/fault"
)

var all = []string{".gate/contracts/*.json"}

// TestContracts reads the same through the API and with git.
func TestContracts(t *testing.T) {
	w := newWorld(t)
	commit := w.commit(".gate/contracts/b.json", "B\n", ".gate/contracts/a.json", "A", ".gate/contracts/readme.md", "no", ".gate/contracts/deep/c.json", "C",
		"top.json", "T", ".gitattributes", "* text eol=crlf export-ignore\n", "d/é.json", "E")
	w.commit(".gate/contracts/a.json", "later", ".gate/contracts/new.json", "later")
	for name, c := range map[string]struct {
		patterns []string
		want     []string
	}{
		"a glob":         {all, []string{".gate/contracts/a.json=A", ".gate/contracts/b.json=B\n"}},
		"a path":         {[]string{"./.gate/contracts/b.json"}, []string{".gate/contracts/b.json=B\n"}},
		"both":           {[]string{"top.json", ".gate/contracts/{a,b}.json", ".gate/contracts/a.json"}, []string{".gate/contracts/a.json=A", ".gate/contracts/b.json=B\n", "top.json=T"}},
		"at the top":     {[]string{"*.json"}, []string{"top.json=T"}},
		"not ASCII":      {[]string{"d/é.json"}, []string{"d/é.json=E"}},
		"no such file":   {[]string{"x.json", ".gate/contracts/new.json"}, nil},
		"no such folder": {[]string{"x/y/*.json"}, nil},
		"below a file":   {[]string{"top.json/x"}, nil},
		"folders":        {[]string{".gate/contracts/d*"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, broken := range []bool{false, true} {
				w.fail("*")
				if broken {
					w.fail("*", says(500, "no"))
				}
				docs, err := w.client().Contracts(context.Background(), commit, c.patterns)
				if err != nil || !slices.Equal(paths(docs), c.want) || docs == nil {
					t.Errorf("broken %v: %q, %v", broken, paths(docs), err)
				}
			}
		})
	}
}

// What stands in a contract's place and is none is refused, both ways.
func TestNoContract(t *testing.T) {
	w := newWorld(t)
	head := w.commit("real/c.json", "{}")
	must(t, os.MkdirAll(w.dir+"/.gate", 0o755))
	must(t, os.Symlink("../real", w.dir+"/.gate/contracts"))
	must(t, os.Symlink("real/c.json", w.dir+"/link.json"))
	must(t, os.MkdirAll(w.dir+"/other", 0o755))
	w.git("add", "-A")
	w.git("update-index", "--add", "--cacheinfo", "160000,"+head+",other/sub.json")
	w.git("update-index", "--add", "--cacheinfo", "160000,"+head+",sub")
	w.git("commit", "-qm", "links")
	commit := w.git("rev-parse", "HEAD")
	for pattern, want := range map[string]string{
		".gate/contracts/*.json": `".gate/contracts", on the way to where contracts are looked for, is a symbolic link`,
		".gate/contracts/c.json": `".gate/contracts", on the way`,
		".gate/contracts":        `".gate/contracts", where a contract is looked for, is a symbolic link`,
		"*.json":                 `"link.json", where a contract is looked for, is a symbolic link`,
		"other/*.json":           `"other/sub.json", where a contract is looked for, is a submodule`,
		"sub/c.json":             `"sub", on the way to where contracts are looked for, is a submodule`,
		"real":                   `"real", where a contract is looked for, is a folder`,
	} {
		t.Run(pattern, func(t *testing.T) {
			for _, broken := range []bool{false, true} {
				w.fail("*")
				if broken {
					w.fail("*", says(502, ""))
				}
				docs, err := w.client().Contracts(context.Background(), commit, []string{pattern})
				faulty(t, err, fault.ActionContractUnavailable, want)
				if docs != nil {
					t.Errorf("%q", paths(docs))
				}
			}
		})
	}
}

// What cannot be read is never taken for what is not there.
func TestContractsUnavailable(t *testing.T) {
	w := newWorld(t)
	commit := w.commit(".gate/contracts/a.json", "A")
	tree, blob := w.git("rev-parse", "HEAD:.gate/contracts"), w.git("rev-parse", "HEAD:.gate/contracts/a.json")
	forbidden := says(403, `{"message":"Resource not accessible by integration"}`, "X-Accepted-GitHub-Permissions", "contents=read")
	missing := says(404, `{"message":"Not Found"}`)
	for name, c := range map[string]struct {
		path   string
		answer func(http.ResponseWriter)
		code   fault.Code
		parts  []string
	}{
		"403":          {"/git/commits/" + commit, forbidden, fault.ActionPermissionMissing, []string{"`contents: read`", "Resource not accessible"}},
		"401":          {"/git/commits/" + commit, says(401, `{"message":"Bad credentials"}`), fault.ActionPermissionMissing, []string{"Bad credentials"}},
		"404":          {"/git/commits/" + commit, missing, fault.ActionContractUnavailable, []string{"404", "`contents: read`"}},
		"tree 404":     {"/git/trees/" + tree, missing, fault.ActionContractUnavailable, []string{"404"}},
		"blob 404":     {"/git/blobs/" + blob, missing, fault.ActionContractUnavailable, []string{"404"}},
		"tree 403":     {"/git/trees/" + tree, forbidden, fault.ActionPermissionMissing, []string{"`contents: read`"}},
		"other bytes":  {"/git/blobs/" + blob, says(200, "B"), fault.ActionContractUnavailable, []string{"is not that file", blob}},
		"no such size": {"/git/trees/" + tree, says(200, `{"sha":"`+tree+`","tree":[{"path":"a.json","mode":"100644","type":"blob","sha":"`+blob+`","size":99999999999}]}`), fault.ActionContractUnavailable, []string{"99999999999 bytes"}},
		"odd mode":     {"/git/trees/" + tree, says(200, `{"sha":"`+tree+`","tree":[{"path":"a.json","mode":"777","type":"blob","sha":"`+blob+`"}]}`), fault.ActionContractUnavailable, []string{`mode "777"`}},
	} {
		t.Run(name, func(t *testing.T) {
			w.fail("GET "+c.path, c.answer)
			docs, err := w.client().Contracts(context.Background(), commit, all)
			if faulty(t, err, c.code, c.parts...); docs != nil {
				t.Errorf("%q", paths(docs))
			}
		})
	}
	// An answer that is not whole, or none at all, is git's turn.
	for name, a := range map[string]func(http.ResponseWriter){
		"truncated": says(200, `{"sha":"`+tree+`","tree":[],"truncated":true}`),
		"no list":   says(200, `{"sha":"`+tree+`"}`),
		"another":   says(200, `{"sha":"`+blob+`","tree":[]}`),
		"no JSON":   says(200, `<html>`),
		"empty":     says(200, ``),
		"twice":     says(200, `{"sha":"`+tree+`","tree":[{"path":"a.json","mode":"100644","sha":"`+blob+`"},{"path":"a.json","mode":"100644","sha":"`+blob+`"}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			w.fail("GET /git/trees/"+tree, a)
			docs, err := w.client().Contracts(context.Background(), commit, all)
			if err != nil || !slices.Equal(paths(docs), []string{".gate/contracts/a.json=A"}) || !strings.Contains(strings.Join(w.warned, "\n"), "trying with git") {
				t.Errorf("%q, %v, warned %q", paths(docs), err, w.warned)
			}
			w.warned = nil
		})
	}
	t.Run("500, then an answer", func(t *testing.T) {
		w.waited = nil
		w.fail("GET /git/trees/"+tree, says(500, ""), says(429, ""), says(503, ""))
		docs, err := w.client().Contracts(context.Background(), commit, all)
		if err != nil || len(docs) != 1 || len(w.waited) != 3 {
			t.Errorf("%q, %v, waited %v", paths(docs), err, w.waited)
		}
	})
	t.Run("neither way", func(t *testing.T) {
		w.fail("*", says(500, "broken"))
		c := w.client()
		c.server.Path = "/elsewhere/"
		_, err := c.Contracts(context.Background(), commit, all)
		faulty(t, err, fault.ActionContractUnavailable, "neither through the API nor with git", "500")
	})
}

// A replacement, which git heeds and which a change could push, does not count.
func TestReplacedContract(t *testing.T) {
	w := newWorld(t)
	commit := w.commit("c.json", "good")
	good := w.git("rev-parse", "HEAD:c.json")
	w.commit("c.json", "evil")
	w.git("replace", good, w.git("rev-parse", "HEAD:c.json"))
	w.fail("*", says(500, ""))
	docs, err := w.client().Contracts(context.Background(), commit, []string{"c.json"})
	if err != nil || !slices.Equal(paths(docs), []string{"c.json=good"}) {
		t.Errorf("%q, %v", paths(docs), err)
	}
}

func TestPatterns(t *testing.T) {
	w := newWorld(t)
	commit := w.commit("a", "A")
	for pattern, want := range map[string]string{
		"":                 "no path",
		"/etc/passwd":      "relative",
		"../x":             "relative",
		"a/../../x":        "relative",
		"a//b":             "relative",
		".":                "relative",
		".gate/**/c.json":  "only its last segment",
		".gate/*/c.json":   "only its last segment",
		"[a":               "malformed",
		"a\x00":            "no path",
		"\xff":             "no path",
		".gate/contracts/": "relative",
	} {
		_, err := w.client().Contracts(context.Background(), commit, []string{pattern})
		faulty(t, err, fault.ActionInputInvalid, want)
	}
	for _, id := range []string{"main", "", "--help", commit[:39], strings.ToUpper(strings.Repeat("a", 40))} {
		_, err := w.client().Contracts(context.Background(), id, all)
		faulty(t, err, fault.ActionInputInvalid, "no commit")
	}
	if len(w.requests) != 0 {
		t.Errorf("asked for %q", w.requests)
	}
}

func TestTree(t *testing.T) {
	w := newWorld(t)
	commit := w.commit("a", "A\n", ".gitattributes", "* eol=crlf\n", "d/b", "B")
	must(t, os.Symlink("/etc", w.dir+"/l"))
	commit2 := w.commit()
	dir := t.TempDir()
	must(t, w.client().Tree(context.Background(), commit2, dir))
	if data, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(data) != "A\n" {
		t.Errorf("%q, %v", data, err)
	}
	if target, err := os.Readlink(filepath.Join(dir, "l")); err != nil || target != "/etc" {
		t.Errorf("%q, %v", target, err)
	}
	faulty(t, w.client().Tree(context.Background(), commit, dir), fault.ActionForgeUnreachable, "not an empty folder")
	w.waited = nil
	faulty(t, w.client().Tree(context.Background(), strings.Repeat("1", 40), t.TempDir()), fault.ActionForgeUnreachable, "tried 3 times")
	if len(w.waited) != 2 {
		t.Errorf("waited %v", w.waited)
	}
}

func TestEdits(t *testing.T) {
	w := newWorld(t)
	fork := w.commit(".gate/contracts/a.json", "1\n2\n3\n", ".gate/contracts/gone.json", "x\n", ".gate/contracts/same.json", "s", ".gate/contracts/old.json", "o1\no2\n", ".gate/contracts/out.json", "out", "other", "y")
	w.git("branch", "base")
	w.git("mv", ".gate/contracts/old.json", ".gate/contracts/renamed.json")
	w.git("mv", ".gate/contracts/out.json", "elsewhere.json")
	w.git("rm", "-q", ".gate/contracts/gone.json")
	head := w.commit(".gate/contracts/a.json", "1\n2\nthree\n", ".gate/contracts/new.json", "n", "other", "z")
	w.git("checkout", "-q", "base")
	base := w.commit(".gate/contracts/same.json", "the base went on")
	w.get("/compare/"+base+"..."+head, map[string]any{"status": "diverged", "merge_base_commit": map[string]string{"sha": fork}, "files": []map[string]any{
		{"filename": ".gate/contracts/a.json", "status": "modified", "patch": "@@ -1,3 +1,3 @@ x\n 1\n 2\n-3\n+three"},
		{"filename": ".gate/contracts/renamed.json", "status": "renamed", "previous_filename": ".gate/contracts/old.json"},
		{"filename": "elsewhere.json", "status": "renamed", "previous_filename": ".gate/contracts/out.json"},
		{"filename": "other", "status": "modified", "patch": "@@ -1 +1 @@\n-y\n+z"},
	}})
	edits, err := w.client().Edits(context.Background(), base, head, all)
	want := []Edit{
		{".gate/contracts/a.json", "", Modified, 3},
		{".gate/contracts/gone.json", "", Removed, 1},
		{".gate/contracts/new.json", "", Added, 1}, // the comparison was cut before it
		{".gate/contracts/renamed.json", ".gate/contracts/old.json", Renamed, 1},
		{"elsewhere.json", ".gate/contracts/out.json", Renamed, 1},
	}
	if err != nil || !slices.Equal(edits, want) {
		t.Errorf("%+v, %v", edits, err)
	}
	w.fail("GET /compare/"+base+"..."+head, says(200, `{"status":"diverged"}`))
	_, err = w.client().Edits(context.Background(), base, head, all)
	faulty(t, err, fault.ActionForgeUnreachable, "no merge base")
	for patch, line := range map[string]int{"": 1, "x": 1, "@@ -0,0 +1,2 @@\n+a\n+b": 1, "@@ -5,3 +7,2 @@\n a\n-b\n c": 8, "@@ -1,9 +0,0 @@\n-a": 1, "@@ -1 +99999999999999999999 @@\n+a": 1} {
		if got := firstLine(patch); got != line {
			t.Errorf("%q: %d", patch, got)
		}
	}
}

// What an id names is asked for once by a client: the contracts and the edits share it.
func TestNothingIsReadTwice(t *testing.T) {
	w := newWorld(t)
	base := w.commit(".gate/contracts/a.json", "a", ".gate/approvals/x", "x", "other", "y")
	head := w.commit("other", "z")
	w.get("/compare/"+base+"..."+head, map[string]any{"status": "ahead", "merge_base_commit": map[string]string{"sha": base}})
	c := w.client()
	for range 2 {
		if _, err := c.Parents(context.Background(), head); err != nil {
			t.Error(err)
		}
		docs, err := c.Contracts(context.Background(), base, all)
		if err != nil || !slices.Equal(paths(docs), []string{".gate/contracts/a.json=a"}) {
			t.Errorf("%q, %v", paths(docs), err)
		}
		docs[0].Bytes[0] = 'b' // is the caller's own
		if edits, err := c.Edits(context.Background(), base, head, append([]string{".gate/*", ".gate/approvals/*"}, all...)); err != nil || len(edits) != 0 {
			t.Errorf("%v, %v", edits, err)
		}
	}
	// Two commits with a top folder each, .gate and its two folders, a file, a comparison.
	if len(w.requests) != 9 {
		t.Errorf("%d requests: %q", len(w.requests), w.requests)
	}
	for _, r := range w.requests {
		if w.count(r) != 1 {
			t.Errorf("%s was made %d times", r, w.count(r))
		}
	}
}

// The cache is bounded, by number and by bytes; what moves is not in it.
func TestCache(t *testing.T) {
	c := &cache{}
	for i := range maxKnown + 10 {
		c.keep(fmt.Sprint(i), i, 0)
	}
	if len(c.known) != maxKnown {
		t.Errorf("%d", len(c.known))
	}
	c = &cache{}
	c.keep("a", "1", maxKnownBytes)
	c.keep("b", "2", 1)
	c.keep("a", "other", 0)
	if v, ok := recall[string](c, "a"); !ok || v != "1" {
		t.Errorf("%q, %v", v, ok)
	}
	if _, ok := recall[string](c, "b"); ok {
		t.Error("more was kept than fits")
	}
	w := newWorld(t)
	commit := w.commit("a", "1")
	w.get("/git/ref/heads/main", map[string]any{"ref": "refs/heads/main", "object": map[string]any{"type": "commit", "sha": commit}})
	client := w.client()
	for range 2 {
		if _, _, err := client.Tip(context.Background(), "main"); err != nil {
			t.Error(err)
		}
	}
	if n := w.count("GET /git/ref/heads/main"); n != 2 {
		t.Errorf("a branch was asked for %d times", n)
	}
}

// A head that never was on its base differs from the base itself.
func TestEditsOfAnOrphan(t *testing.T) {
	w := newWorld(t)
	base := w.commit(".gate/contracts/a.json", "a")
	w.git("checkout", "-q", "--orphan", "other")
	head := w.commit(".gate/contracts/a.json", "b")
	w.fail("GET /compare/"+base+"..."+head, says(404, `{"message":"No common ancestor between x and y."}`))
	edits, err := w.client().Edits(context.Background(), base, head, all)
	if want := []Edit{{".gate/contracts/a.json", "", Modified, 1}}; err != nil || !slices.Equal(edits, want) {
		t.Errorf("%+v, %v", edits, err)
	}
}
