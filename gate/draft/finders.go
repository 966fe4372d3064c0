package draft

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// telling are files at the top of a repository whose loss somebody would want
// to know of, whatever the repository is made of.
var telling = []string{"LICENSE", "LICENSE.md", "LICENSE.txt", "COPYING", "README", "README.md", "README.rst", "README.txt",
	"CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Cargo.lock", "Cargo.toml", "Dockerfile", "action.yml", "pom.xml"}

func documents(s *survey) {
	for _, name := range telling {
		if s.has(name) {
			s.exists(name)
		}
	}
}

// looking are the names of scripts whose purpose is to look at the code and
// not to change or ship it.
var looking = []string{"check", "lint", "test", "type-check", "typecheck", "unit", "vet", "verify"}

func isLooking(script string) bool {
	first, _, _ := strings.Cut(script, ":") // test:unit, lint:css
	return slices.Contains(looking, first) && !strings.Contains(script, "watch") && !strings.Contains(script, "fix")
}

func goModule(s *survey) {
	if !s.has("go.mod") {
		return
	}
	s.exists("go.mod")
	if s.has("go.sum") {
		s.exists("go.sum")
	}
	s.command("go_vet", "go.mod", "", "go", "vet", "./...")
	if slices.ContainsFunc(s.files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }) {
		s.command("go_test", "the _test.go files", "", "go", "test", "./...")
	}
}

// lockfiles name the package manager of a Node project.
var lockfiles = []struct{ file, manager string }{
	{"bun.lock", "bun"}, {"bun.lockb", "bun"}, {"package-lock.json", "npm"}, {"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"},
}

func nodePackage(s *survey) {
	if !s.has("package.json") {
		return
	}
	manager := "npm"
	for _, l := range lockfiles {
		if s.has(l.file) {
			manager = l.manager
			s.exists(l.file)
		}
	}
	doc, err := strictjson.Parse([]byte(s.text("package.json")), strictjson.DocumentLimits)
	if err != nil || doc.Root.Kind != strictjson.Object {
		s.exists("package.json")
		s.note("package.json is not strict JSON, so nothing was taken from it")
		return
	}
	name := doc.Root.Get("name")
	if name == nil || !s.fact("json_value", "package_name", "package.json names the package", member("path", strictjson.Str("package.json")),
		member("pointer", strictjson.Str("/name")), member("equals", *name)) {
		s.exists("package.json")
	}
	scripts := doc.Root.Get("scripts")
	if scripts == nil || scripts.Kind != strictjson.Object {
		return
	}
	found := slices.Clone(scripts.Members)
	slices.SortFunc(found, func(a, b strictjson.Member) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range found {
		if m.Value.Kind == strictjson.String && isLooking(m.Name) && !strings.Contains(m.Value.Text, "no test specified") {
			s.command(manager+"_"+m.Name, "package.json scripts."+m.Name, m.Value.Text, manager, "run", m.Name)
		}
	}
}

func pythonProject(s *survey) {
	var manifests []string
	for _, name := range []string{"pyproject.toml", "requirements.txt", "setup.cfg", "setup.py"} {
		if s.has(name) {
			manifests = append(manifests, name)
			s.exists(name)
		}
	}
	if len(manifests) == 0 {
		return
	}
	mentions := func(word string, more ...string) string {
		for _, name := range slices.Concat(manifests, more) {
			if strings.Contains(s.text(name), word) {
				return name
			}
		}
		return ""
	}
	isTest := func(f string) bool {
		base := path.Base(f)
		return strings.HasSuffix(base, ".py") && (strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py"))
	}
	hasTests := slices.ContainsFunc(s.files, isTest)
	where := mentions("pytest", "requirements-dev.txt", "tox.ini")
	for _, name := range []string{"pytest.ini", "conftest.py"} {
		if where == "" && s.has(name) {
			where = name
		}
	}
	switch {
	case where != "":
		s.command("pytest", where, "", "python3", "-m", "pytest")
	case hasTests:
		s.command("unittest", "the test files", "", "python3", "-m", "unittest", "discover")
	}
	if where := mentions("[tool.ruff"); where != "" {
		s.command("ruff", where, "", "ruff", "check", "--no-cache", ".")
	}
	if where := mentions("[tool.mypy"); where != "" {
		s.command("mypy", where, "", "mypy", ".")
	}
}

// siteFolders are where the first page of a static site lies.
var siteFolders = []string{"", "public/", "site/", "www/", "docs/", "static/"}

// linked finds what a page loads: the values of src and href.
var linked = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:src|href)\s*=\s*["']([^"'\s]+)["']`)
})

func staticSite(s *survey) {
	for _, folder := range siteFolders {
		page := folder + "index.html"
		if !s.has(page) {
			continue
		}
		s.exists(page)
		for _, name := range []string{"404.html", "favicon.ico", "robots.txt", "sitemap.xml"} {
			if s.has(folder + name) {
				s.exists(folder + name)
			}
		}
		s.assets(folder, page)
		return
	}
}

// assets adds the local files that a page loads.
func (s *survey) assets(folder, page string) {
	var names []string
	for _, m := range linked().FindAllStringSubmatch(s.text(page), -1) {
		ref, _, _ := strings.Cut(m[1], "#")
		ref, _, _ = strings.Cut(ref, "?")
		if ref == "" || strings.Contains(ref, ":") || strings.HasPrefix(ref, "//") || strings.HasSuffix(ref, "/") {
			continue
		}
		name := path.Join(folder, strings.TrimPrefix(ref, "/"))
		switch {
		case slices.Contains(names, name):
		case s.has(name):
			names = append(names, name)
		case path.Ext(name) != "":
			s.note("%s refers to %s, which is not there", page, check.Show(name))
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxAssets)] {
		s.exists(name)
	}
}

// target finds the targets of a Makefile; := is an assignment.
var target = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^([A-Za-z0-9_.-]+(?:[ \t]+[A-Za-z0-9_.-]+)*)[ \t]*::?(?:[^=]|$)`)
})

func makefile(s *survey) {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} { // in make's own order
		if !s.has(name) {
			continue
		}
		s.exists(name)
		var names []string
		for _, m := range target().FindAllStringSubmatch(s.text(name), -1) {
			names = append(names, strings.Fields(m[1])...)
		}
		slices.Sort(names)
		for _, t := range slices.Compact(names) {
			if isLooking(t) {
				s.command("make_"+t, name, "target "+t, "make", t)
			}
		}
		return
	}
}
