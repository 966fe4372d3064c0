package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/verdictgate/verdictgate/gate/check"
)

// Remote is one commit of a repository that is somewhere else.
type Remote struct {
	Git    string // the program's absolute path; "" finds it in PATH
	URL    string // https://…; http:// to this machine alone
	Header string // of the requests to it, such as "Authorization: basic …"; "" for none
	Commit string // 40 or 64 hex digits
	// UnsafeHTTP lets http:// lead to other machines: the header is sent in the clear.
	UnsafeHTTP bool
}

// Commit is a commit that was fetched into a repository of its own, which holds
// nothing else: no configuration, hook, attribute or replacement of anybody
// decides what is read of it. Close removes it.
type Commit struct {
	git, scratch, id string
}

// Kind is what an entry of a tree is.
type Kind string

// The kinds. A Submodule is a commit of another repository.
const (
	File      Kind = "file"
	Folder    Kind = "folder"
	Symlink   Kind = "symbolic link"
	Submodule Kind = "submodule"
)

// Entry is an entry of a tree.
type Entry struct {
	Path       string // relative to the tree, '/'-separated; bytes as git has them
	Kind       Kind
	Executable bool   // of a file
	ID         string // of its object
	Size       int64  // bytes of a file or of a link's target
}

// KindOf says what git's mode of an entry means. An unknown mode is a kind of
// its own, which nobody takes for a file.
func KindOf(mode string) Kind {
	switch mode {
	case "100644", "100755", "100664":
		return File
	case "040000", "40000":
		return Folder
	case "120000":
		return Symlink
	case "160000":
		return Submodule
	}
	return Kind("entry of the mode " + check.Quote(mode))
}

// Fetch fetches a commit, without its history. git checks that what it was given
// has the ids that it was asked for.
func Fetch(ctx context.Context, from Remote) (*Commit, error) {
	if !validID(from.Commit) {
		return nil, fmt.Errorf("%s is no commit id", check.Quote(from.Commit))
	}
	u, err := url.Parse(from.URL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("the repository's address is no URL that git is given")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !from.UnsafeHTTP && !Loopback(u.Hostname())) {
		return nil, fmt.Errorf("git fetches over https, not over %s", check.Quote(u.Scheme))
	}
	if from.Git == "" {
		if from.Git, err = lookGit(nil); err != nil {
			return nil, err
		}
	}
	scratch, err := scratchFor()
	if err != nil {
		return nil, err
	}
	c := &Commit{git: from.Git, scratch: scratch, id: from.Commit}
	if err := c.fetch(ctx, u, from.Header); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Loopback says whether a host of a URL is this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func validID(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}

func (c *Commit) fetch(ctx context.Context, u *url.URL, header string) error {
	format := "sha1"
	if len(c.id) == 64 {
		format = "sha256"
	}
	config := "[core]\n\trepositoryformatversion = 1\n\tbare = true\n\tfsmonitor = false\n\thooksPath = /dev/null\n" +
		"[extensions]\n\tobjectFormat = " + format + "\n[credential]\n\thelper =\n[http]\n\tfollowRedirects = false\n" +
		"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[fetch]\n\trecurseSubmodules = false\n"
	for name, text := range map[string]string{"config": config, "HEAD": "ref: refs/heads/none\n"} {
		if err := os.WriteFile(filepath.Join(c.scratch, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, name := range []string{"objects", "refs"} {
		if err := os.Mkdir(filepath.Join(c.scratch, name), 0o700); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	env := []string{"GIT_ALLOW_PROTOCOL=" + u.Scheme}
	if header != "" {
		// Not on the command line, which everybody can read; and for this server alone.
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http."+u.Scheme+"://"+u.Host+"/.extraHeader", "GIT_CONFIG_VALUE_0="+header)
	}
	err := c.run(ctx, env, nil, io.Discard, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", u.String(), c.id)
	if err != nil && header != "" {
		err = errors.New(strings.ReplaceAll(err.Error(), header, "[redacted]"))
	}
	return err
}

// run runs git in the scratch repository, with an environment of its own.
func (c *Commit) run(ctx context.Context, env []string, in io.Reader, out io.Writer, args ...string) error {
	var complaint limited
	complaint.limit = maxMessage
	cmd := exec.CommandContext(ctx, c.git, append([]string{"--git-dir=" + c.scratch, "--no-replace-objects"}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.scratch, in, out, &complaint, gitGrace
	cmd.Env = append([]string{"LC_ALL=C", "HOME=" + c.scratch, "PATH=" + filepath.Dir(c.git), "XDG_CONFIG_HOME=" + c.scratch,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "GIT_CEILING_DIRECTORIES=/"}, env...)
	if len(env) == 0 {
		cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=")
	}
	// What git starts for HTTP is in its group, and dies with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("git %s was stopped: %w", args[0], context.Cause(ctx))
	}
	return fmt.Errorf("git %s: %w: %s", args[0], err, check.Show(strings.TrimSpace(complaint.text.String())))
}

// Close removes what was fetched.
func (c *Commit) Close() error { return os.RemoveAll(c.scratch) }

// Root is the id of the commit's tree.
func (c *Commit) Root(ctx context.Context) (string, error) {
	var out limited
	out.limit = maxSmall
	if err := c.run(ctx, nil, nil, &out, "rev-parse", "--verify", "--end-of-options", c.id+"^{tree}"); err != nil {
		return "", err
	}
	id := strings.TrimSpace(out.text.String())
	if !validID(id) {
		return "", errors.New("git named no tree of the commit")
	}
	return id, nil
}

// Tree lists one folder of the commit by the id of its tree.
func (c *Commit) Tree(ctx context.Context, id string) ([]Entry, error) {
	return c.list(ctx, id)
}

func (c *Commit) list(ctx context.Context, id string, options ...string) ([]Entry, error) {
	if !validID(id) {
		return nil, fmt.Errorf("%s is no tree's id", check.Quote(id))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var out limited
	out.limit, out.full = maxListing, cancel
	err := c.run(ctx, nil, nil, &out, append(append([]string{"ls-tree", "-z", "-l", "--full-tree"}, options...), id)...)
	if out.overflowed {
		return nil, fmt.Errorf("git printed more than %d bytes", maxListing)
	}
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for record := range strings.SplitSeq(strings.TrimSuffix(out.text.String(), "\x00"), "\x00") {
		if record == "" {
			continue
		}
		// "<mode> <type> <id> <size, padded, or ->\t<path>"
		head, name, ok := strings.Cut(record, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 4 {
			return nil, errors.New("git's listing of a tree is not understood")
		}
		e := Entry{Path: name, Kind: KindOf(fields[0]), Executable: fields[0] == "100755", ID: fields[2]}
		if fields[3] != "-" {
			if e.Size, err = strconv.ParseInt(fields[3], 10, 64); err != nil {
				return nil, errors.New("git's listing of a tree is not understood")
			}
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Blob gives the bytes of an object that a tree names, of at most max bytes.
func (c *Commit) Blob(ctx context.Context, id string, max int64) ([]byte, error) {
	if !validID(id) {
		return nil, fmt.Errorf("%s is no object's id", check.Quote(id))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var out limited
	out.limit, out.full = int(max), cancel
	err := c.run(ctx, nil, nil, &out, "cat-file", "blob", id)
	if out.overflowed {
		return nil, fmt.Errorf("it has more than %d bytes", max)
	}
	return out.text.Bytes(), err
}

// Room bounds what WriteTo writes.
type Room struct {
	Files int   // files, links and folders
	Bytes int64 // of their content
}

// WriteTo writes the commit's files into an empty folder as they are in git: no
// attribute, filter or hook has a say, so line ends are the repository's.
// Symbolic links stay links, wherever they lead; a submodule is an empty folder.
func (c *Commit) WriteTo(ctx context.Context, dir string, room Room) error {
	root, err := c.Root(ctx)
	if err != nil {
		return err
	}
	entries, err := c.list(ctx, root, "-r", "-t")
	if err != nil {
		return err
	}
	if len(entries) > room.Files {
		return fmt.Errorf("the commit has %d files and folders, more than %d", len(entries), room.Files)
	}
	var total int64
	for _, e := range entries {
		if !safePath(e.Path) {
			return fmt.Errorf("%s is no path that is written", check.Quote(e.Path))
		}
		if total += e.Size; total > room.Bytes {
			return fmt.Errorf("the commit's files have more than %d bytes", room.Bytes)
		}
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		return errors.Join(fmt.Errorf("%s is not an empty folder", check.Quote(dir)), err)
	}
	return c.write(ctx, to, entries)
}

// safePath says whether a path of a tree may be written: git itself makes none
// that leaves the folder or that is a repository's own.
func safePath(name string) bool {
	if name == "" || path.Clean(name) != name || path.IsAbs(name) || strings.ContainsRune(name, 0) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}

// write writes entries. The links come last: no file is written through one.
func (c *Commit) write(ctx context.Context, to *os.Root, entries []Entry) error {
	var files, links []Entry
	for _, e := range entries {
		switch e.Kind {
		case Folder, Submodule:
			if err := to.MkdirAll(e.Path, 0o755); err != nil {
				return err
			}
		case File:
			files = append(files, e)
		case Symlink:
			links = append(links, e)
		default:
			return fmt.Errorf("%s is an %s", check.Quote(e.Path), e.Kind)
		}
	}
	return c.contents(ctx, append(files, links...), func(e Entry, content io.Reader) error {
		if e.Kind == Symlink {
			target, err := io.ReadAll(io.LimitReader(content, maxSmall+1))
			if err != nil || len(target) > maxSmall {
				return errors.Join(fmt.Errorf("the link %s leads to a path that is too long", check.Quote(e.Path)), err)
			}
			return to.Symlink(string(target), e.Path)
		}
		mode := os.FileMode(0o644)
		if e.Executable {
			mode = 0o755
		}
		out, err := to.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, content)
		return errors.Join(err, out.Close())
	})
}

// contents visits the content of entries, in their order.
func (c *Commit) contents(ctx context.Context, entries []Entry, visit func(Entry, io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var asked bytes.Buffer
	for _, e := range entries {
		fmt.Fprintln(&asked, e.ID)
	}
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		in := bufio.NewReader(reader)
		err := func() error {
			for _, e := range entries {
				if err := one(in, e, visit); err != nil {
					return err
				}
			}
			return nil
		}()
		if err != nil {
			cancel(err) // git would write on
		}
		reader.CloseWithError(err)
		done <- err
	}()
	err := c.run(ctx, nil, &asked, writer, "cat-file", "--batch")
	writer.CloseWithError(err)
	if visited := <-done; visited != nil && err == nil {
		return visited
	}
	return err
}

// one reads an answer of git cat-file --batch: "<id> blob <size>\n<content>\n".
func one(in *bufio.Reader, e Entry, visit func(Entry, io.Reader) error) error {
	header, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	if header != fmt.Sprintf("%s blob %d\n", e.ID, e.Size) {
		return fmt.Errorf("git answered %s about %s", check.Quote(strings.TrimSpace(header)), check.Quote(e.Path))
	}
	content := io.LimitReader(in, e.Size)
	if err := visit(e, content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	_, err = in.Discard(1)
	return err
}
