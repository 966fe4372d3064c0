package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/verdictgate/verdictgate/gate/check"
)

// lookGit finds git in PATH, outside the roots.
func lookGit(roots []string) (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := filepath.EvalSymlinks(filepath.Join(dir, "git"))
		if err != nil {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		planted := false
		for _, root := range roots {
			resolved, err := filepath.EvalSymlinks(root)
			planted = planted || err == nil && inside(path, resolved)
		}
		if !planted {
			return path, nil
		}
	}
	return "", errors.New("there is no git program in PATH")
}

// scratchFor makes a folder for git's own files, outside what is judged: there,
// somebody could change its configuration before git reads it.
func scratchFor(judged ...string) (string, error) {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		resolved, err := filepath.EvalSymlinks(dir)
		if err == nil {
			resolved, err = filepath.Abs(resolved)
		}
		if err != nil || slices.ContainsFunc(judged, func(j string) bool {
			return resolved == j || strings.HasPrefix(resolved, strings.TrimSuffix(j, "/")+"/")
		}) {
			continue
		}
		if made, err := os.MkdirTemp(resolved, "gate-git-"); err == nil {
			return made, nil
		}
	}
	return "", errors.New("there is no temporary folder outside the work tree for git")
}

// list runs git ls-files in a scratch repository. The records of its output
// end in NUL: a tag ("?" for what is not tracked), a space, a path.
func list(ctx context.Context, git string, repo *repository, workspace, revision string) (string, error) {
	scratch, err := scratchFor(repo.top, workspace)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	if err := repo.copyIndex(scratch); err != nil {
		return "", errors.New(quoteError(err))
	}
	format, err := repo.objectFormat(ctx, git, scratch, revision)
	if err != nil {
		return "", err
	}
	config := "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tfsmonitor = false\n\thooksPath = /dev/null\n" +
		"[extensions]\n\tobjectFormat = " + format + "\n"
	if err := os.WriteFile(filepath.Join(scratch, "config"), []byte(config), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(scratch, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600); err != nil {
		return "", err
	}
	for _, name := range []string{"objects", "refs"} {
		if err := os.Mkdir(filepath.Join(scratch, name), 0o700); err != nil {
			return "", err
		}
	}
	return output(ctx, scratch, workspace, git, "--git-dir="+scratch, "--work-tree="+repo.top, "--no-replace-objects",
		"ls-files", "-z", "-t", "--cached", "--others", "--exclude-per-directory=.gitignore")
}

// copyIndex copies the index, with the parts that a split one shares, so that
// git reads regular files that are ours. An index that is missing is empty.
func (r *repository) copyIndex(scratch string) error {
	err := r.copy("index", scratch)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := r.dir.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	copied := 0
	for _, name := range names {
		if !strings.HasPrefix(name, "sharedindex.") {
			continue
		}
		if copied++; copied > maxSharedIndexes {
			return fmt.Errorf("the index is split into more than %d parts", maxSharedIndexes)
		}
		if err := r.copy(name, scratch); err != nil {
			return err
		}
	}
	return nil
}

func (r *repository) copy(name, to string) error {
	from, err := openRegular(r.dir, name, maxIndex)
	if err != nil {
		return err
	}
	defer from.Close()
	out, err := os.OpenFile(filepath.Join(to, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sparse := new(sparseMark)
	_, err = io.Copy(io.MultiWriter(out, sparse), io.LimitReader(from, maxIndex))
	if err == nil && sparse.found {
		err = errors.New("its index is sparse: it names folders in place of the files in them")
	}
	return errors.Join(err, out.Close())
}

// sparseMark looks for the extension that makes an index a sparse one: its
// name and its length, 0. To unfold such an index git needs the objects; from
// a scratch repository, which has none, it would leave the files out without a
// word. A file whose name ends in these letters looks the same, and then all
// files are taken, which is never wrong.
type sparseMark struct {
	seen  []byte
	found bool
}

func (m *sparseMark) Write(p []byte) (int, error) {
	const mark = "sdir\x00\x00\x00\x00"
	m.seen = append(m.seen, p...)
	m.found = m.found || bytes.Contains(m.seen, []byte(mark))
	// The mark may be cut in two by the end of a write.
	m.seen = append(m.seen[:0], m.seen[max(0, len(m.seen)-len(mark)+1):]...)
	return len(p), nil
}

// objectFormat is the hash that the index is written with. A commit id tells
// by its length; without one, a copy of the configuration is asked for this
// one value, its includes left out.
func (r *repository) objectFormat(ctx context.Context, git, scratch, revision string) (string, error) {
	switch len(revision) {
	case 40:
		return "sha1", nil
	case 64:
		return "sha256", nil
	}
	data, err := readFile(r.common, "config", maxSmall*16)
	if errors.Is(err, fs.ErrNotExist) {
		return "sha1", nil
	}
	if err != nil {
		return "", errors.New(quoteError(err))
	}
	name := filepath.Join(scratch, "asked")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return "", err
	}
	defer os.Remove(name)
	format, err := output(ctx, scratch, scratch, git, "config", "--file", name, "--no-includes", "--default", "sha1", "--get", "extensions.objectformat")
	if format = strings.TrimSpace(format); err != nil || format == "sha1" || format == "sha256" {
		return format, err
	}
	return "", fmt.Errorf("the object format %s is not known here", check.Quote(format))
}

// output runs git with an environment of its own and gives what it printed.
func output(ctx context.Context, scratch, dir, git string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	var out, complaint limited
	out.limit, complaint.limit = maxListing, maxMessage
	out.full = cancel
	cmd := exec.CommandContext(ctx, git, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &complaint, gitGrace
	cmd.Env = []string{"LC_ALL=C", "HOME=" + scratch, "PATH=" + filepath.Dir(git),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=", "GIT_CEILING_DIRECTORIES=/"}
	// git dies with this process, even one that is killed. The kernel ties that
	// to the thread that started it, so the thread must live as long.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	switch {
	case out.overflowed:
		return "", fmt.Errorf("git printed more than %d bytes", maxListing)
	case ctx.Err() == context.DeadlineExceeded:
		return "", fmt.Errorf("git did not answer in %s", gitTimeout)
	case err != nil && complaint.text.Len() > 0:
		return "", fmt.Errorf("%w: %s", err, check.Show(strings.TrimSpace(complaint.text.String())))
	case err != nil:
		return "", err
	case complaint.text.Len() > 0:
		// It succeeds even when it could not look into a folder.
		return "", fmt.Errorf("git said: %s", check.Show(strings.TrimSpace(complaint.text.String())))
	}
	return out.text.String(), nil
}

// limited keeps the beginning of what is written to it.
type limited struct {
	text       bytes.Buffer
	limit      int
	full       func() // called at the first byte too many
	overflowed bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.limit - l.text.Len()
	l.text.Write(p[:min(room, len(p))])
	if len(p) > room {
		l.overflowed = true
		if l.full != nil {
			l.full()
		}
	}
	return len(p), nil
}
