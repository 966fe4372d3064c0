// Package unpack takes a bundle out of the zip archive that it was uploaded
// as, for instance as a GitHub artifact: its files at the root of the archive or
// in one folder there.
//
// An archive comes from where nobody vouches for it, and it is opened before
// any digest was compared. So it is refused unless it is plain: regular files
// and folders under relative names, stored or deflated, each name once however
// a file system may spell it, nothing before, between or behind what the
// directory lists, and no more of anything than a bundle has. What its directory
// says is looked at as a whole before a byte is written. It is unpacked into a
// private folder, which is removed afterwards.
package unpack

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/verdictgate/verdictgate/gate/fault"
)

// What is unpacked.
const (
	// MaxArchive is how large an archive may be.
	MaxArchive = 1 << 30
	// MaxEntries is how many files and folders it may hold: a bundle has a
	// handful, and a blob or two for each check.
	MaxEntries = 20_000
	// maxDirectory is how many bytes their list may have. It is read into memory.
	maxDirectory = 4 << 20
	// maxFile is how large one file may be: no reader of a bundle takes more.
	maxFile = 512 << 20
	// maxBytes is how large all files together may be.
	maxBytes = 2 << 30
	// From freeBytes on, an archive may not unpack to more than maxRatio times
	// its size. Outputs that repeat one line are packed that well, so small ones
	// are let through: they are no danger.
	freeBytes = 64 << 20
	maxRatio  = 100
	// maxFolders is how many folders a file may lie in: blobs/sha256/ is two, below
	// the one of the run; reports may have some. Every folder of every name is made,
	// and compared with the others.
	maxFolders = 8
	// maxName and maxPart are how long a name and one part of it may be, in
	// bytes: what every file system takes.
	maxName = 1024
	maxPart = 255
)

// Bundle is a bundle that can be read. Close removes what was unpacked for it.
type Bundle struct {
	Dir     string
	private string // the folder to remove; "" when nothing was unpacked
}

// Close removes what was unpacked.
func (b *Bundle) Close() error {
	if b.private == "" {
		return nil
	}
	return os.RemoveAll(b.private)
}

// Open gives the bundle at a path: a folder as it is, an archive unpacked.
func Open(ctx context.Context, path string) (*Bundle, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, unread(path, err)
	case err != nil:
		return nil, fault.New(fault.RunNotFound, "Pass the folder of a run (`gate run` says where its evidence is), or the zip archive of one; a run's id alone is not looked up.", "there is no bundle at %q", path).With("bundle", path)
	case info.IsDir():
		return &Bundle{Dir: path}, nil
	case !info.Mode().IsRegular():
		return nil, refuse(path, "", "is neither a folder nor a file")
	}
	// A FIFO that has taken its place by now must not hold this up.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unread(path, err)
	}
	defer f.Close()
	// What was opened may not be what was looked at.
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, refuse(path, "", "is no regular file")
	}
	a, err := examine(path, f, info.Size())
	if err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp("", "gate-bundle-")
	if err != nil {
		return nil, failed(path, err)
	}
	b := &Bundle{Dir: filepath.Join(private, filepath.FromSlash(a.top)), private: private}
	if err := a.unpack(ctx, private); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Accepts says why an archive of this many bytes is none that Open unpacks: a
// fault that names the entry. Whoever writes one asks before it leaves the house.
func Accepts(name string, r io.ReaderAt, size int64) error {
	_, err := examine(name, r, size)
	return err
}

// archive is an archive whose directory holds nothing that is refused.
type archive struct {
	path  string
	files []*zip.File
	top   string // the one folder that everything lies in; "" when there is none
}

// unpack writes the files into an empty folder.
func (a *archive) unpack(ctx context.Context, into string) error {
	// Names were examined; a root that cannot be left is a second wall.
	root, err := os.OpenRoot(into)
	if err != nil {
		return failed(a.path, err)
	}
	defer root.Close()
	for _, f := range a.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := strings.TrimSuffix(f.Name, "/")
		if name != f.Name {
			err = root.MkdirAll(filepath.FromSlash(name), 0o700)
		} else if err = root.MkdirAll(filepath.FromSlash(parent(name)), 0o700); err == nil {
			err = a.write(root, f)
		}
		var refused *fault.Error
		if errors.As(err, &refused) {
			return refused
		}
		if err != nil {
			return failed(a.path, err)
		}
	}
	return nil
}

// write unpacks one file. The directory's word for its size is not taken: one
// byte more than it states ends it, whatever the library makes of that.
func (a *archive) write(root *os.Root, f *zip.File) error {
	packed, err := f.Open()
	if err != nil {
		return refuse(a.path, f.Name, "cannot be unpacked: %v", err)
	}
	defer packed.Close()
	out, err := root.OpenFile(filepath.FromSlash(f.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	size := int64(f.UncompressedSize64)
	target := &written{to: out}
	n, err := io.Copy(target, io.LimitReader(packed, size+1))
	if closed := out.Close(); target.err == nil {
		target.err = closed
	}
	switch {
	case target.err != nil: // no room, no permission: not the archive's doing
		return target.err
	case err != nil:
		return refuse(a.path, f.Name, "is damaged: %v", err)
	case n != size:
		return refuse(a.path, f.Name, "has another size than its directory says")
	}
	return nil
}

// written tells an error of writing from one of unpacking.
type written struct {
	to  io.Writer
	err error
}

func (w *written) Write(data []byte) (int, error) {
	n, err := w.to.Write(data)
	w.err = err
	return n, err
}

func parent(name string) string {
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		return name[:at]
	}
	return "."
}

// refuse makes the fault that says which entry of the archive is refused.
func refuse(path, entry, format string, args ...any) *fault.Error {
	why := fmt.Sprintf(format, args...)
	if entry == "" {
		return fault.New(fault.ZipRefused, "", "the archive %q %s", path, why).With("archive", path)
	}
	return fault.New(fault.ZipRefused, "", "the entry %q of the archive %q %s", clip(entry), path, why).With("archive", path).With("entry", clip(entry))
}

// unread is the fault of what nobody could look at.
func unread(path string, err error) *fault.Error {
	return fault.New(fault.AttestationInvalid, "Make it readable for the user that asks; nothing was said about what it holds.",
		"%q cannot be read: %v", path, plain(err)).With("bundle", path).Because(err)
}

func failed(path string, err error) error {
	return fault.New(fault.BackendFailed, "Make room where temporary files go (TMPDIR), and try again.", "the archive %q could not be unpacked: %v", path, err).With("archive", path).Because(err)
}

func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// clip bounds the name of an entry, for a message.
func clip(name string) string {
	if len(name) <= maxPart {
		return strings.ToValidUTF8(name, "\uFFFD")
	}
	return strings.ToValidUTF8(name[:maxPart], "\uFFFD") + "…"
}
