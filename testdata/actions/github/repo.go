package github

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Repo is a bare repository on this machine.
type Repo struct{ Dir string }

// File is one entry of a commit.
type File struct {
	Path    string
	Content string // a link's target; a submodule's commit
	Mode    string // of git: "" is a plain file, Link a symbolic link, Gone removes it
}

// Modes of files.
const (
	Plain      = "100644"
	Executable = "100755"
	Link       = "120000"
	Submodule  = "160000"
	Gone       = "gone"
)

// NewRepo makes an empty repository whose branch will be main.
func NewRepo(dir string) (*Repo, error) {
	r := &Repo{Dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := r.Git("init", "-q", "--bare", "-b", "main", "."); err != nil {
		return nil, err
	}
	// As GitHub: any commit may be fetched by its id, and clones may be partial.
	for _, setting := range []string{"uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter", "http.uploadpack"} {
		if _, err := r.Git("config", setting, "true"); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Env is an environment in which git sees no configuration of the user's, and makes
// the same commits everywhere.
func Env(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Mona", "GIT_AUTHOR_EMAIL=mona@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=GitHub", "GIT_COMMITTER_EMAIL=noreply@example.com", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
	}
}

// Git runs git in the repository and gives its output.
func (r *Repo) Git(args ...string) (string, error) { return r.git(nil, nil, args...) }

func (r *Repo) git(env []string, stdin []byte, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"--no-replace-objects"}, args...)...)
	cmd.Dir = r.Dir
	cmd.Env = append(Env(r.Dir), env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}

func line(s string, err error) (string, error) { return strings.TrimSpace(s), err }

// Commit makes a commit on its parents; the files are changes to the first one's.
func (r *Repo) Commit(message string, parents []string, files ...File) (string, error) {
	dir, err := os.MkdirTemp("", "index.")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	if len(parents) > 0 {
		if _, err := r.git(index, nil, "read-tree", parents[0]); err != nil {
			return "", err
		}
	}
	// One process for all of them: a test may have thousands of files.
	var entries bytes.Buffer
	for _, f := range files {
		mode, id := f.Mode, f.Content
		switch mode {
		case Gone:
			mode, id = "0", strings.Repeat("0", 40)
		case Submodule:
		default:
			if mode == "" {
				mode = Plain
			}
			if id, err = line(r.git(nil, []byte(f.Content), "hash-object", "-w", "--stdin")); err != nil {
				return "", err
			}
		}
		fmt.Fprintf(&entries, "%s %s\t%s\x00", mode, id, f.Path)
	}
	if _, err := r.git(index, entries.Bytes(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	tree, err := line(r.git(index, nil, "write-tree"))
	if err != nil {
		return "", err
	}
	return r.CommitTree(message, tree, parents...)
}

// CommitTree makes a commit of a tree that is there.
func (r *Repo) CommitTree(message, tree string, parents ...string) (string, error) {
	args := []string{"commit-tree", "-m", message}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return line(r.Git(append(args, tree)...))
}

// Merge makes the commit that merges one into another, as GitHub does for a pull
// request: the base is its first parent.
func (r *Repo) Merge(base, head string) (string, error) {
	tree, err := line(r.Git("merge-tree", "--write-tree", "--allow-unrelated-histories", base, head))
	if err != nil {
		return "", err
	}
	return r.CommitTree("Merge "+head+" into "+base, tree, base, head)
}

// SetRef points a ref, such as refs/heads/main, to a commit.
func (r *Repo) SetRef(ref, commit string) error {
	_, err := r.Git("update-ref", ref, commit)
	return err
}

// Resolve gives the commit of a name; ok is false for none.
func (r *Repo) Resolve(name string) (string, bool) {
	for _, prefix := range []string{"", "refs/heads/", "refs/tags/", "refs/"} {
		if id, err := line(r.Git("rev-parse", "--verify", "--quiet", "--end-of-options", prefix+name+"^{commit}")); err == nil {
			return id, true
		}
	}
	return "", false
}

// Entry is one line of a tree.
type Entry struct {
	Mode, Type, ID, Name string
	Size                 int64
}

// List gives a folder of a commit, or of a tree; "" is the top.
func (r *Repo) List(treeish, dir string) ([]Entry, error) {
	if dir != "" {
		e, err := r.Entry(treeish, dir)
		if err != nil {
			return nil, err
		}
		if e.Type != "tree" {
			return nil, errNotFound
		}
		treeish = e.ID
	}
	out, err := r.Git("ls-tree", "-z", "-l", treeish)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, record := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		if record == "" {
			continue
		}
		facts, name, _ := strings.Cut(record, "\t")
		f := strings.Fields(facts)
		if len(f) != 4 {
			return nil, fmt.Errorf("ls-tree says %q", record)
		}
		size, _ := strconv.ParseInt(f[3], 10, 64) // "-" for a folder
		entries = append(entries, Entry{Mode: f[0], Type: f[1], ID: f[2], Name: name, Size: size})
	}
	return entries, nil
}

var errNotFound = errors.New("there is no such object")

// Entry finds a path. It does not go through links, as GitHub does not.
func (r *Repo) Entry(treeish, name string) (Entry, error) {
	at := treeish
	var found Entry
	for _, part := range strings.Split(path.Clean(name), "/") {
		entries, err := r.List(at, "")
		if err != nil {
			return Entry{}, err
		}
		ok := false
		for _, e := range entries {
			if e.Name == part {
				found, ok = e, true
			}
		}
		if !ok || found.Name != part {
			return Entry{}, errNotFound
		}
		at = found.ID
	}
	return found, nil
}

// Blob gives the bytes of a blob.
func (r *Repo) Blob(id string) (string, error) { return r.Git("cat-file", "blob", id) }

// Change is a file that differs between two commits.
type Change struct {
	Status             string // in the API's words
	Path, Previous, ID string
	Added, Removed     int
	Patch              string // from the first @@
}

var statuses = map[byte]string{'A': "added", 'D': "removed", 'M': "modified", 'R': "renamed", 'C': "copied", 'T': "changed"}

// Diff gives the changes between two commits.
func (r *Repo) Diff(from, to string) ([]Change, error) {
	out, err := r.Git("diff", "--no-ext-diff", "--raw", "--no-abbrev", "-z", "-M", from, to)
	if err != nil {
		return nil, err
	}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	var changes []Change
	for i := 0; i+1 < len(fields); i += 2 {
		facts := strings.Fields(fields[i])
		c := Change{Status: statuses[facts[4][0]], Path: fields[i+1], ID: facts[3]}
		if c.Status == "renamed" || c.Status == "copied" {
			i++
			c.Previous, c.Path = c.Path, fields[i+1]
		}
		if c.Status == "removed" {
			c.ID = facts[2]
		}
		args := []string{"--literal-pathspecs", "diff", "--no-ext-diff", "-M", from, to, "--", c.Path}
		if c.Previous != "" {
			args = append(args, c.Previous)
		}
		text, err := r.Git(args...)
		if err != nil {
			return nil, err
		}
		if _, hunks, ok := strings.Cut(text, "\n@@"); ok {
			c.Patch = "@@" + strings.TrimSuffix(hunks, "\n")
			for l := range strings.Lines(c.Patch) {
				switch l[0] {
				case '+':
					c.Added++
				case '-':
					c.Removed++
				}
			}
		}
		changes = append(changes, c)
	}
	return changes, nil
}
