package source

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// git runs the real git as a developer would.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false",
		"-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes files: a path, then its content, and so on.
func write(t *testing.T, dir string, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		path := filepath.Join(dir, pairs[i])
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(pairs[i+1]), 0o644))
	}
}

// repo makes a repository of one commit that tracks the files a and d/b.
func repo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	git(t, dir, append([]string{"init", "-q"}, args...)...)
	write(t, dir, "a", "a", "d/b", "b")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "one")
	return git(t, dir, "rev-parse", "HEAD")
}

func describeOK(t *testing.T, ws string) Facts {
	t.Helper()
	facts, err := Describe(context.Background(), ws)
	must(t, err)
	return facts
}

func expect(t *testing.T, ws, revision string, tracked ...string) {
	t.Helper()
	facts := describeOK(t, ws)
	if !facts.IsGit || facts.Limitation != "" {
		t.Errorf("git %v, limitation %q", facts.IsGit, facts.Limitation)
	}
	if facts.Revision != revision {
		t.Errorf("revision %q, want %q", facts.Revision, revision)
	}
	if !slices.Equal(facts.Tracked, tracked) {
		t.Errorf("tracked %q, want %q", facts.Tracked, tracked)
	}
}

// plain expects that a workspace is taken as a folder without git.
func plain(t *testing.T, ws, limitation string) {
	t.Helper()
	facts := describeOK(t, ws)
	if facts.IsGit || facts.Tracked != nil || facts.Revision != "" {
		t.Errorf("git was believed: %+v", facts)
	}
	if (limitation == "") != (facts.Limitation == "") || !strings.Contains(facts.Limitation, limitation) {
		t.Errorf("limitation %q, want one with %q", facts.Limitation, limitation)
	}
}

func TestNoGit(t *testing.T) {
	ws := folder(t)
	write(t, ws, "a", "a")
	plain(t, ws, "")
	if _, err := Describe(context.Background(), ws+"/gone"); err == nil {
		t.Error("a workspace that is missing has facts")
	}
}

func TestWorkTree(t *testing.T) {
	ws := folder(t)
	head := repo(t, ws)
	write(t, ws, ".gitignore", "ignored\n*.o\n!keep.o\n", "ignored/x", "x", "new", "x", "d/new", "x", "x.o", "x", "keep.o", "x", "d/.gitignore", "quiet\n", "d/quiet", "x", "quiet", "x")
	must(t, os.Remove(ws+"/a"))
	must(t, os.Symlink("d", ws+"/link"))
	write(t, ws, "caf\xe9 \n\"x\"", "x", "-n", "x")
	expect(t, ws, head, "-n", ".gitignore", "a", "caf\xe9 \n\"x\"", "d/.gitignore", "d/b", "d/new", "keep.o", "link", "new", "quiet")
}

// Only rules in the work tree can keep a file out.
func TestRulesOutsideTheTree(t *testing.T) {
	ws := folder(t)
	head := repo(t, ws)
	write(t, ws, ".git/info/exclude", "*\n", "new", "x", ".excludes", "*\n")
	git(t, ws, "config", "core.excludesFile", ws+"/.excludes")
	expect(t, ws, head, ".excludes", "a", "d/b", "new")
}

func TestSubfolder(t *testing.T) {
	top := folder(t)
	head := repo(t, top)
	write(t, top, "d/new", "x", "new", "x", ".gitignore", "quiet\n", "d/quiet", "x")
	expect(t, top+"/d", head, "b", "new")
	must(t, os.Symlink("d", top+"/link"))
	expect(t, top+"/link", head, "b", "new")
}

// A repository above that tracks nothing of the workspace decides nothing.
func TestForeignRepositoryAbove(t *testing.T) {
	top := folder(t)
	repo(t, top)
	write(t, top, ".gitignore", "*\n", "ws/x", "x")
	plain(t, top+"/ws", "")
	// Nor does one of another owner.
	if os.Geteuid() != 0 {
		return // only root can make one
	}
	must(t, os.Lchown(top+"/.git", 12345, 12345))
	plain(t, top+"/d", "")
	must(t, os.Lchown(top+"/d", 12345, 12345))
	if facts := describeOK(t, top+"/d"); !facts.IsGit {
		t.Errorf("the same owner: %+v", facts)
	}
}

func TestUnborn(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		ws := folder(t)
		git(t, ws, "init", "-q", "--object-format="+format)
		write(t, ws, "a", "a", "b", "b")
		git(t, ws, "add", "a")
		facts := describeOK(t, ws)
		if !facts.IsGit || facts.Revision != "" || !strings.Contains(facts.Limitation, "nothing was committed yet") || !slices.Equal(facts.Tracked, []string{"a", "b"}) {
			t.Errorf("%s: %+v", format, facts)
		}
		must(t, os.Remove(ws+"/.git/index"))
		if facts := describeOK(t, ws); !slices.Equal(facts.Tracked, []string{"a", "b"}) {
			t.Errorf("%s without an index: %+v", format, facts)
		}
	}
}

func TestFormats(t *testing.T) {
	t.Run("sha256", func(t *testing.T) {
		ws := folder(t)
		head := repo(t, ws, "--object-format=sha256")
		expect(t, ws, head, "a", "d/b")
	})
	t.Run("packed refs", func(t *testing.T) {
		ws := folder(t)
		head := repo(t, ws)
		git(t, ws, "tag", "-a", "-m", "x", "v1")
		git(t, ws, "pack-refs", "--all")
		if _, err := os.Stat(ws + "/.git/refs/heads/main"); err == nil {
			t.Fatal("the ref was not packed")
		}
		expect(t, ws, head, "a", "d/b")
	})
	t.Run("detached", func(t *testing.T) {
		ws := folder(t)
		head := repo(t, ws)
		git(t, ws, "checkout", "-q", "--detach")
		expect(t, ws, head, "a", "d/b")
	})
	t.Run("branch with a slash", func(t *testing.T) {
		ws := folder(t)
		head := repo(t, ws)
		git(t, ws, "checkout", "-q", "-b", "feature/x.y")
		expect(t, ws, head, "a", "d/b")
	})
	t.Run("split index", func(t *testing.T) {
		ws := folder(t)
		head := repo(t, ws)
		git(t, ws, "update-index", "--split-index")
		write(t, ws, "c", "c")
		git(t, ws, "add", "c")
		expect(t, ws, head, "a", "c", "d/b")
	})
	t.Run("sparse index", func(t *testing.T) {
		ws := folder(t)
		repo(t, ws)
		write(t, ws, "e/f/g", "x", "e/h", "x")
		git(t, ws, "add", ".")
		git(t, ws, "commit", "-q", "-m", "two")
		head := git(t, ws, "rev-parse", "HEAD")
		git(t, ws, "sparse-checkout", "init", "--cone", "--sparse-index")
		git(t, ws, "sparse-checkout", "set", "d")
		if _, err := os.Stat(ws + "/e"); err == nil {
			t.Fatal("e was checked out")
		}
		if facts := describeOK(t, ws); facts.IsGit || !strings.Contains(facts.Limitation, "its index is sparse") {
			t.Errorf("%+v", facts)
		}
		git(t, ws, "sparse-checkout", "reapply", "--no-sparse-index")
		expect(t, ws, head, "a", "d/b", "e/f/g", "e/h")
	})
	t.Run("conflict", func(t *testing.T) {
		ws := folder(t)
		repo(t, ws)
		git(t, ws, "checkout", "-q", "-b", "other")
		write(t, ws, "a", "other")
		git(t, ws, "commit", "-q", "-a", "-m", "other")
		git(t, ws, "checkout", "-q", "main")
		write(t, ws, "a", "main")
		git(t, ws, "commit", "-q", "-a", "-m", "main")
		cmd := exec.Command("git", "-c", "user.name=a", "-c", "user.email=a@b", "merge", "-q", "other")
		cmd.Dir = ws
		if err := cmd.Run(); err == nil {
			t.Fatal("there was no conflict")
		}
		expect(t, ws, git(t, ws, "rev-parse", "HEAD"), "a", "d/b")
	})
}

func TestNested(t *testing.T) {
	ws := folder(t)
	head := repo(t, ws)
	repo(t, ws+"/vendor/lib")
	repo(t, folder(t)+"/unused")
	upstream := folder(t) + "/up"
	repo(t, upstream)
	git(t, ws, "submodule", "--quiet", "add", upstream, "sub")
	expect(t, ws, head, ".gitmodules", "a", "d/b", "sub", "vendor/lib/")
}

func TestLinkedWorkTree(t *testing.T) {
	top := folder(t)
	main := top + "/main"
	repo(t, main)
	ws := top + "/linked"
	git(t, main, "worktree", "add", "-q", "-b", "topic", ws)
	write(t, ws, "c", "c")
	git(t, ws, "add", "c")
	git(t, ws, "commit", "-q", "-m", "on the topic")
	head := git(t, ws, "rev-parse", "HEAD")
	if head == git(t, main, "rev-parse", "HEAD") {
		t.Fatal("the commits are the same")
	}
	expect(t, ws, head, "a", "c", "d/b")
	git(t, ws, "pack-refs", "--all")
	expect(t, ws, head, "a", "c", "d/b")

	// A .git file that was copied elsewhere is not named in return.
	stranger := top + "/stranger"
	pointer, err := os.ReadFile(ws + "/.git")
	must(t, err)
	write(t, stranger, ".git", string(pointer), "x", "x")
	plain(t, stranger, "does not name the work tree in return")
}

func TestSeparateGitDir(t *testing.T) {
	ws := folder(t)
	must(t, os.MkdirAll(ws, 0o755))
	git(t, ws, "init", "-q", "--separate-git-dir="+ws+"/store")
	write(t, ws, "a", "a", ".gitignore", "store\n")
	git(t, ws, "add", ".")
	git(t, ws, "commit", "-q", "-m", "one")
	expect(t, ws, git(t, ws, "rev-parse", "HEAD"), ".gitignore", "a")
}

func TestNoGitProgram(t *testing.T) {
	ws := folder(t)
	repo(t, ws)
	empty := folder(t)
	t.Setenv("PATH", empty)
	plain(t, ws, "no git program in PATH")
	// A git that the workspace or a further root holds is not one, whatever leads to it.
	more := folder(t)
	for _, dir := range []string{ws, more} {
		write(t, dir, "bin/git", "#!/bin/sh\ntouch "+empty+"/ran\n")
		must(t, os.Chmod(dir+"/bin/git", 0o755))
	}
	must(t, os.Symlink(ws+"/bin/git", empty+"/git"))
	must(t, os.Chdir(ws))
	t.Setenv("PATH", strings.Join([]string{"bin", ".", "", ws + "/bin", empty, more + "/bin"}, ":"))
	facts, err := Describe(context.Background(), ws, ws, more)
	must(t, err)
	if facts.IsGit || !strings.Contains(facts.Limitation, "no git program") {
		t.Errorf("%+v", facts)
	}
	if _, err := os.Stat(empty + "/ran"); err == nil {
		t.Error("the planted git ran")
	}
}

// Nothing of a hostile repository's configuration, and no variable of the
// environment, runs a program, leads git elsewhere or hides a file.
func TestHostileConfiguration(t *testing.T) {
	ws, outside := folder(t), folder(t)
	head := repo(t, ws)
	repo(t, outside+"/other")
	write(t, outside, "secret", "s3cret", "included", "[alias]\n\tx = y\n")
	ran := outside + "/ran"
	script := outside + "/script"
	write(t, outside, "script", "#!/bin/sh\necho \"$0 $*\" >> "+ran+"\ncat\n")
	must(t, os.Chmod(script, 0o755))
	for _, hook := range []string{"fsmonitor-watchman", "post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc"} {
		write(t, ws, ".git/hooks/"+hook, "#!/bin/sh\necho hook >> "+ran+"\n")
		must(t, os.Chmod(ws+"/.git/hooks/"+hook, 0o755))
	}
	write(t, ws, ".gitattributes", "* filter=evil diff=evil merge=evil text\n", "new", "new")
	config := fmt.Sprintf(`[core]
	repositoryformatversion = 1
	bare = true
	fsmonitor = %[1]s
	fsmonitorHookVersion = 2
	hooksPath = %[2]s
	worktree = %[2]s/other
	sshCommand = %[1]s
	gitProxy = %[1]s
	pager = %[1]s
	editor = %[1]s
	askPass = %[1]s
	alternateRefsCommand = %[1]s
	attributesFile = %[2]s/secret
	untrackedCache = true
	ignoreCase = true
	precomposeUnicode = true
[include]
	path = %[2]s/fifo
[includeIf "gitdir:/"]
	path = %[2]s/fifo
[extensions]
	partialClone = origin
	worktreeConfig = true
[remote "origin"]
	url = ext::%[1]s
	promisor = true
	partialclonefilter = blob:none
	uploadpack = %[1]s
	vcs = evil
[filter "evil"]
	clean = %[1]s
	smudge = %[1]s
	process = %[1]s
	required = true
[diff]
	external = %[1]s
[diff "evil"]
	textconv = %[1]s
	command = %[1]s
[credential]
	helper = %[1]s
[trace2]
	eventTarget = %[2]s/trace
[alias]
	ls-files = !%[1]s
`, script, outside)
	write(t, ws, ".git/config", config, ".git/config.worktree", "[core]\n\tworktree = "+outside+"/other\n", ".git/objects/info/alternates", outside+"/other/.git/objects\n")
	// Who reads the includes waits for ever.
	must(t, syscall.Mkfifo(outside+"/fifo", 0o644))
	must(t, os.RemoveAll(ws+"/.git/objects/pack"))
	for _, e := range []string{"GIT_DIR=" + outside + "/other/.git", "GIT_WORK_TREE=" + outside + "/other", "GIT_INDEX_FILE=" + outside + "/other/.git/index",
		"GIT_EXTERNAL_DIFF=" + script, "GIT_SSH_COMMAND=" + script, "GIT_TRACE=" + outside + "/trace", "GIT_TRACE2_EVENT=" + outside + "/trace",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=" + script, "GIT_EXEC_PATH=" + outside, "GIT_PAGER=" + script,
		"GIT_CONFIG_GLOBAL=" + outside + "/included", "GIT_CEILING_DIRECTORIES=" + ws, "GIT_PREFIX=../", "GIT_OBJECT_DIRECTORY=" + outside, "GIT_LITERAL_PATHSPECS=x"} {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	before := snapshot(t, ws)
	expect(t, ws, head, ".gitattributes", "a", "d/b", "new")
	if after := snapshot(t, ws); after != before {
		t.Errorf("the workspace was changed:\n%s\nis now\n%s", before, after)
	}
	for _, name := range []string{"ran", "trace"} {
		if data, err := os.ReadFile(outside + "/" + name); err == nil {
			t.Errorf("%s was written: %s", name, data)
		}
	}
}

// snapshot is everything about a tree that a write would change; index entries
// that are out of date are what makes git write.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st syscall.Stat_t
		must(t, syscall.Lstat(path, &st))
		fmt.Fprintln(&out, path, st.Ino, st.Mode, st.Size, st.Mtim, st.Ctim)
		return nil
	}))
	return out.String()
}

// The index is read as data, in a copy: it is not refreshed.
func TestNothingIsWritten(t *testing.T) {
	ws := folder(t)
	head := repo(t, ws)
	git(t, ws, "update-index", "--split-index", "--untracked-cache")
	future := time.Now().Add(time.Hour)
	must(t, os.Chtimes(ws+"/a", future, future)) // the index is out of date
	write(t, ws, "new", "x")
	before := snapshot(t, ws)
	expect(t, ws, head, "a", "d/b", "new")
	if after := snapshot(t, ws); after != before {
		t.Errorf("the workspace was changed:\n%s\nis now\n%s", before, after)
	}
	if left, err := filepath.Glob(os.TempDir() + "/gate-git-*"); err != nil || len(left) != 0 && slices.ContainsFunc(left, func(p string) bool {
		info, err := os.Stat(p)
		return err == nil && time.Since(info.ModTime()) > time.Hour
	}) {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// What stands where a repository should be, and is none, is said.
func TestHostileRepository(t *testing.T) {
	target := folder(t)
	repo(t, target+"/repo")
	bare := target + "/bare"
	git(t, target, "clone", "-q", "--bare", "repo", bare)
	cases := map[string]struct {
		make func(ws string)
		want string
	}{
		"a link":                {func(ws string) { must(t, os.Symlink(target+"/repo/.git", ws+"/.git")) }, "neither a folder nor a file"},
		"a FIFO":                {func(ws string) { must(t, syscall.Mkfifo(ws+"/.git", 0o644)) }, "neither a folder nor a file"},
		"an empty folder":       {func(ws string) { must(t, os.Mkdir(ws+"/.git", 0o755)) }, "no HEAD"},
		"an empty file":         {func(ws string) { write(t, ws, ".git", "") }, `does not begin with "gitdir: "`},
		"a large file":          {func(ws string) { write(t, ws, ".git", strings.Repeat("x", maxSmall+1)) }, "larger than"},
		"a file to the outside": {func(ws string) { write(t, ws, ".git", "gitdir: "+target+"/repo/.git\n") }, "does not name the work tree in return"},
		"a file to a bare one":  {func(ws string) { write(t, ws, ".git", "gitdir: "+bare) }, "does not name the work tree in return"},
		"a file to nowhere":     {func(ws string) { write(t, ws, ".git", "gitdir: /gone/for/ever") }, "does not name the work tree in return"},
		"a file, relative": {func(ws string) {
			rel, err := filepath.Rel(ws, target+"/repo/.git")
			must(t, err)
			write(t, ws, ".git", "gitdir: "+rel)
		}, "does not name the work tree in return"},
		"a file to a link out": {func(ws string) {
			must(t, os.Symlink(target+"/repo/.git", ws+"/inner"))
			write(t, ws, ".git", "gitdir: inner")
		}, "does not name the work tree in return"},
		"a file to a folder inside": {func(ws string) { write(t, ws, ".git", "gitdir: inner", "inner/x", "x") }, "no HEAD"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ws := folder(t)
			write(t, ws, "x", "x")
			c.make(ws)
			plain(t, ws, c.want)
		})
	}
}

// Parts of a repository that are not what they should be never hang, and what
// lies outside is not read.
func TestHostileParts(t *testing.T) {
	outside := folder(t)
	write(t, outside, "HEAD", strings.Repeat("d", 40)+"\n", "index", "DIRC")
	id := strings.Repeat("e", 40)
	cases := map[string]struct {
		make     func(ws string)
		limited  string // the limitation
		revision string
		isGit    bool
	}{
		"HEAD a FIFO": {func(ws string) {
			must(t, os.Remove(ws+"/.git/HEAD"))
			must(t, syscall.Mkfifo(ws+"/.git/HEAD", 0o644))
		}, "no regular file", "", true},
		"HEAD a link out": {func(ws string) {
			must(t, os.Remove(ws+"/.git/HEAD"))
			must(t, os.Symlink(outside+"/HEAD", ws+"/.git/HEAD"))
		}, "the commit of the work tree is not known", "", true},
		"HEAD up":         {func(ws string) { write(t, ws, ".git/HEAD", "ref: refs/heads/../../../outside\n") }, "no ref that is read here", "", true},
		"HEAD absolute":   {func(ws string) { write(t, ws, ".git/HEAD", "ref: "+outside+"/HEAD\n") }, "no ref that is read here", "", true},
		"HEAD no ref":     {func(ws string) { write(t, ws, ".git/HEAD", "ref: config\n") }, "no ref that is read here", "", true},
		"HEAD reftable":   {func(ws string) { write(t, ws, ".git/HEAD", "ref: refs/heads/.invalid\n") }, "no ref that is read here", "", true},
		"HEAD prose":      {func(ws string) { write(t, ws, ".git/HEAD", "\x1b[31mhello") }, `"\x1b[31mhello", which is no commit id`, "", true},
		"HEAD upper case": {func(ws string) { write(t, ws, ".git/HEAD", strings.ToUpper(id)) }, "", id, true},
		"a ref loop":      {func(ws string) { write(t, ws, ".git/refs/heads/main", "ref: refs/heads/main\n") }, "too many refs", "", true},
		"a symbolic ref":  {func(ws string) { write(t, ws, ".git/refs/heads/main", "ref: refs/heads/x\n", ".git/refs/heads/x", id) }, "", id, true},
		"index a FIFO": {func(ws string) {
			must(t, os.Remove(ws+"/.git/index"))
			must(t, syscall.Mkfifo(ws+"/.git/index", 0o644))
		}, "no regular file", "", false},
		"index a link out": {func(ws string) {
			must(t, os.Remove(ws+"/.git/index"))
			must(t, os.Symlink(outside+"/index", ws+"/.git/index"))
		}, "git could not list the work tree", "", false},
		"index garbage": {func(ws string) { write(t, ws, ".git/index", "DIRC\x00\x00\x00\x02garbage") }, "git could not list the work tree", "", false},
		"too many parts": {func(ws string) {
			for i := range maxSharedIndexes + 1 {
				write(t, ws, fmt.Sprintf(".git/sharedindex.%040d", i), "x")
			}
		}, "split into more than", "", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ws := folder(t)
			repo(t, ws)
			c.make(ws)
			facts := describeOK(t, ws)
			if facts.IsGit != c.isGit || facts.Revision != c.revision || !strings.Contains(facts.Limitation, c.limited) || (c.limited == "") != (facts.Limitation == "") {
				t.Errorf("%+v", facts)
			}
		})
	}
}

// git that hangs is killed when the caller's time is over, and is not left behind.
func TestHang(t *testing.T) {
	ws := folder(t)
	repo(t, ws)
	must(t, syscall.Mkfifo(ws+"/d/.gitignore", 0o644))
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := Describe(ctx, ws)
		done <- err
	}()
	if err := <-done; err == nil {
		t.Error("git read a FIFO to its end")
	}
	// Whoever still waits to read the FIFO would let a writer in.
	fd, err := syscall.Open(ws+"/d/.gitignore", syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != syscall.ENXIO {
		syscall.Close(fd)
		t.Errorf("somebody still reads: %v", err)
	}
}

func TestLimited(t *testing.T) {
	full := 0
	l := limited{limit: 5, full: func() { full++ }}
	for _, s := range []string{"abc", "de", "", "f", "g"} {
		if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%q: %d, %v", s, n, err)
		}
	}
	if l.text.String() != "abcde" || !l.overflowed || full != 2 {
		t.Errorf("%q, %v, %d", l.text.String(), l.overflowed, full)
	}
}

// The mark of a sparse index is found wherever a write is cut.
func TestSparseMark(t *testing.T) {
	const index = "DIRC....sdir\x00\x00\x00\x00...."
	for size := 1; size <= len(index); size++ {
		for text, want := range map[string]bool{index: true, strings.Replace(index, "sdir", "sdis", 1): false} {
			m := new(sparseMark)
			for chunk := range slices.Chunk([]byte(text), size) {
				m.Write(chunk)
			}
			if m.found != want {
				t.Errorf("%q in pieces of %d: %v", text, size, m.found)
			}
		}
	}
}

func TestValidRef(t *testing.T) {
	for name, want := range map[string]bool{
		"refs/heads/main": true, "refs/heads/a/b.c": true, "refs/heads/é": true, "HEAD": false, "refs": false, "refs/": false, "refs//x": false,
		"refs/heads/.x": false, "refs/../x": false, "refs/heads/a..b": false, "refs/heads/x.lock": false, "refs/heads/a b": false, "refs/heads/a\n": false, "/refs/heads/x": false, `refs/heads/a\b`: false,
	} {
		if got := validRef(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
