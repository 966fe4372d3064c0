package artifact

import (
	"archive/zip"
	"context"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unicode/utf8"

	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/unpack"
)

// What every entry says of itself.
const (
	entryMode = 0o644
	// entryDate is 1 January 1980, 00:00, in MS-DOS form: the earliest there is.
	entryDate = 1<<5 | 1
	// entryReader is the version of the format that a reader must know: 2.0.
	entryReader = 20
	utf8Name    = 1 << 11
)

// Zip writes the archive of a bundle's folder: see the package comment. Its
// errors are faults action.upload_failed, or the context's.
func Zip(ctx context.Context, w io.Writer, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return unreadable(dir, err)
	}
	defer root.Close()
	names, err := filesOf(ctx, root)
	if err != nil {
		return err
	}
	z := zip.NewWriter(&writer{ctx, w})
	for _, name := range names {
		err := pack(z, root, name)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return unwritable(err)
	}
	return nil
}

// filesOf lists the files below a folder, sorted by their bytes.
func filesOf(ctx context.Context, root *os.Root) ([]string, error) {
	var names []string
	var total int64
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return unreadable(name, err)
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return irregular(name)
		case len(names) == unpack.MaxEntries:
			return failed(tooLarge, "the bundle's folder holds more than %d files", unpack.MaxEntries)
		}
		info, err := d.Info()
		if err != nil {
			return unreadable(name, err)
		}
		if total += info.Size(); total > unpack.MaxArchive {
			return failed(tooLarge, "the files of the bundle have more than %d bytes", int64(unpack.MaxArchive))
		}
		names = append(names, name)
		return nil
	})
	if err == nil && len(names) == 0 {
		err = failed(fromItsPlace, "the bundle's folder holds no file")
	}
	slices.Sort(names)
	return names, err
}

// pack stores one file. It is read twice, for the entry's head states its
// checksum: one that stands behind the bytes is not understood by readers that
// cannot seek.
func pack(z *zip.Writer, root *os.Root, name string) error {
	f, size, err := open(root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := crc32.NewIEEE()
	if n, err := io.Copy(sum, f); err != nil || n != size {
		return changed(name, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return unreadable(name, err)
	}
	h := &zip.FileHeader{
		Name: name, Method: zip.Store, ReaderVersion: entryReader,
		CRC32: sum.Sum32(), CompressedSize64: uint64(size), UncompressedSize64: uint64(size),
	}
	//lint:ignore SA1019 CreateRaw writes this field and knows nothing of Modified.
	h.ModifiedDate = entryDate
	h.SetMode(entryMode)
	if isUTF8(name) {
		h.Flags = utf8Name
	}
	entry, err := z.CreateRaw(h)
	if err != nil {
		return unwritable(err)
	}
	again := crc32.NewIEEE()
	// One byte more than was promised is seen, and not written.
	n, err := io.Copy(io.MultiWriter(again, entry), io.LimitReader(f, size))
	if err != nil {
		return unwritable(err)
	}
	if more, err := f.Read(make([]byte, 1)); more > 0 || n != size || again.Sum32() != h.CRC32 {
		return changed(name, err)
	}
	return nil
}

// isUTF8 says whether a name needs the bit that says so.
func isUTF8(name string) bool {
	return slices.ContainsFunc([]byte(name), func(b byte) bool { return b >= utf8.RuneSelf })
}

// open opens a regular file and nothing else, whatever takes its place meanwhile.
func open(root *os.Root, name string) (*os.File, int64, error) {
	native := filepath.FromSlash(name)
	before, err := root.Lstat(native)
	if err != nil {
		return nil, 0, unreadable(name, err)
	}
	if !before.Mode().IsRegular() {
		return nil, 0, irregular(name)
	}
	// A FIFO must not hold this up.
	f, err := root.OpenFile(native, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, unreadable(name, err)
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !os.SameFile(before, info) {
		f.Close()
		return nil, 0, changed(name, err)
	}
	return f, info.Size(), nil
}

// writer ends with the context.
type writer struct {
	ctx context.Context
	to  io.Writer
}

func (w *writer) Write(data []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.to.Write(data)
}

// How to mend what cannot be packed.
const (
	fromItsPlace = "Upload the folder of the run as the gate wrote it; the message names what differs."
	tooLarge     = "Judge with checks that leave less evidence; what is there is kept in the run's folder."
)

func failed(mend, format string, args ...any) *fault.Error {
	return fault.New(fault.ActionUploadFailed, mend, format, args...)
}

func irregular(name string) error {
	return failed(fromItsPlace, "the bundle's folder holds %q, which is neither a regular file nor a folder", name)
}

func unreadable(name string, err error) error {
	return failed("Make the run's folder readable for the user that uploads it.", "%q of the bundle cannot be read: %v", name, err).Because(err)
}

func unwritable(err error) error {
	return failed("Make room where temporary files go (TMPDIR), and run the job again.", "the archive could not be written: %v", err).Because(err)
}

func changed(name string, err error) error {
	if err != nil && err != io.EOF {
		return unreadable(name, err)
	}
	return failed(fromItsPlace, "%q of the bundle was changed while it was read", name)
}
