package unpack

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/verdictgate/verdictgate/gate/bundle"
	"github.com/verdictgate/verdictgate/gate/bundle/bundletest"
	"github.com/verdictgate/verdictgate/gate/fault"
)

// entry is an entry as the tests write it, byte by byte: what the directory and
// the record before the data say of it need not be true, or the same.
type entry struct {
	name       string
	localName  string // "" for the same
	data       string // as it lies in the archive
	method     uint16
	flags      uint16
	attributes uint32 // Unix mode << 16
	size       int64  // unpacked, as stated; -1 for that of the data
	sum        *uint32
	at         int // of the record before the data, as the directory states it; -1 for where it lies
	extra      int // bytes of extra field before the data
}

func file(name, data string) entry {
	return entry{name: name, data: data, attributes: 0o100644 << 16, size: -1, at: -1}
}

// written is an archive of entries, with what lies around them.
type archiveOf struct {
	entries                  []entry
	before, between, behind  string
	gap                      string // between the entries and the directory
	comment                  string
	count, directory, offset int // in the end record; -1 for what is true
	disk                     byte
	insertBeforeEnd          string
}

func of(entries ...entry) archiveOf {
	return archiveOf{entries: entries, count: -1, directory: -1, offset: -1}
}

func (a archiveOf) bytes() []byte {
	var out, directory bytes.Buffer
	le := binary.LittleEndian
	out.WriteString(a.before)
	for _, e := range a.entries {
		sum := crc32.ChecksumIEEE([]byte(e.data))
		if e.sum != nil {
			sum = *e.sum
		}
		size := uint32(len(e.data))
		if e.size >= 0 {
			size = uint32(e.size)
		}
		local := e.name
		if e.localName != "" {
			local = e.localName
		}
		at := e.at
		if at < 0 {
			at = out.Len()
			h := le.AppendUint16([]byte(localSignature), 20)
			h = le.AppendUint16(le.AppendUint16(h, e.flags), e.method)
			h = append(h, 0, 0, 0, 0)
			h = le.AppendUint32(le.AppendUint32(le.AppendUint32(h, sum), uint32(len(e.data))), size)
			h = le.AppendUint16(le.AppendUint16(h, uint16(len(local))), uint16(e.extra))
			out.Write(h)
			out.WriteString(local)
			out.WriteString(strings.Repeat("\x00", e.extra))
			out.WriteString(e.data)
			out.WriteString(a.between)
		}
		h := le.AppendUint16(le.AppendUint16([]byte("PK\x01\x02"), 3<<8|20), 20)
		h = le.AppendUint16(le.AppendUint16(h, e.flags), e.method)
		h = append(h, 0, 0, 0, 0)
		h = le.AppendUint32(le.AppendUint32(le.AppendUint32(h, sum), uint32(len(e.data))), size)
		h = le.AppendUint16(le.AppendUint32(le.AppendUint16(h, uint16(len(e.name))), 0), 0) // no extra field, no comment, disk 0
		h = le.AppendUint32(le.AppendUint32(le.AppendUint16(h, 0), e.attributes), uint32(at))
		directory.Write(h)
		directory.WriteString(e.name)
	}
	out.WriteString(a.gap)
	or := func(stated, actual int) int {
		if stated >= 0 {
			return stated
		}
		return actual
	}
	count, length, offset := or(a.count, len(a.entries)), or(a.directory, directory.Len()), or(a.offset, out.Len())
	out.Write(directory.Bytes())
	out.WriteString(a.insertBeforeEnd)
	end := append([]byte(endSignature), a.disk, 0, 0, 0)
	end = le.AppendUint16(le.AppendUint16(end, uint16(count)), uint16(count))
	end = le.AppendUint32(le.AppendUint32(end, uint32(length)), uint32(offset))
	end = le.AppendUint16(end, uint16(len(a.comment)))
	out.Write(end)
	out.WriteString(a.comment + a.behind)
	return out.Bytes()
}

func save(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bundle.zip")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// private gives a folder for temporary files of its own, which must be empty
// afterwards.
func private(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestPlainArchives(t *testing.T) {
	tmp := private(t)
	for what, c := range map[string]struct {
		archive archiveOf
		top     string
		want    []string
	}{
		"files at the root": {of(file("a", "1"), file("blobs/sha256/x", "2")), "", []string{"a", "blobs/sha256/x"}},
		"one folder":        {of(file("run/a", "1"), file("run/blobs/x", "")), "run", []string{"a", "blobs/x"}},
		"a folder's entry":  {of(entry{name: "run/", attributes: 0o40755 << 16, at: -1}, file("run/a", "1")), "run", []string{"a"}},
		"only blobs":        {of(file("blobs/x", "1")), "", []string{"blobs/x"}},
		"two folders":       {of(file("a/x", "1"), file("b/x", "1")), "", []string{"a/x", "b/x"}},
		"an extra field":    {of(func() entry { e := file("a", "1"); e.extra = 9; return e }(), file("b", "2")), "", []string{"a", "b"}},
		"no mode":           {of(func() entry { e := file("a", "1"); e.attributes = 0; return e }()), "", []string{"a"}},
	} {
		b, err := Open(t.Context(), save(t, c.archive.bytes()))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		var got []string
		err = filepath.WalkDir(b.Dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				name, e := filepath.Rel(b.Dir, path)
				got, err = append(got, filepath.ToSlash(name)), e
			}
			return err
		})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) || c.top != "" && filepath.Base(b.Dir) != c.top {
			t.Errorf("%s: %v in %s, %v", what, got, b.Dir, err)
		}
		if info, err := os.Stat(b.private); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", what, info, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	wantEmpty(t, tmp)
}

// TestBundle packs a real bundle as it is uploaded, and reads it back.
func TestBundle(t *testing.T) {
	private(t)
	s := bundletest.Write(t, bundletest.Content(t))
	for _, top := range []string{"", "evidence/", filepath.Base(s.Dir) + "/"} {
		var packed bytes.Buffer
		z := zip.NewWriter(&packed)
		err := filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(s.Dir, path)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			w, err := z.Create(top + filepath.ToSlash(name)) // deflated, with descriptors
			if err == nil {
				_, err = w.Write(data)
			}
			return err
		})
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		b, err := Open(t.Context(), save(t, packed.Bytes()))
		if err != nil {
			t.Fatalf("%q: %v", top, err)
		}
		back, err := bundle.Read(b.Dir)
		if err != nil || back.Attestation.AttestationDigest != s.Attestation.AttestationDigest || len(back.Unknown) > 0 {
			t.Errorf("%q: %v", top, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	b, err := Open(t.Context(), s.Dir)
	if err != nil || b.Dir != s.Dir {
		t.Fatalf("%+v %v", b, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := bundle.Read(s.Dir); err != nil {
		t.Errorf("closing took a folder away that was not unpacked: %v", err)
	}
}

// deflated packs data as the format has it.
func deflated(t *testing.T, name string, data []byte) entry {
	t.Helper()
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "x", Method: zip.Deflate})
	if err == nil {
		_, err = w.Write(data)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.File[0].OpenRaw()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(raw)
	if err != nil {
		t.Fatal(err)
	}
	sum := crc32.ChecksumIEEE(data)
	return entry{name: name, data: string(text), method: zip.Deflate, attributes: 0o100644 << 16, size: int64(len(data)), sum: &sum, at: -1}
}

func with(e entry, change func(*entry)) entry { change(&e); return e }

func around(a archiveOf, change func(*archiveOf)) []byte { change(&a); return a.bytes() }

func TestRefusedArchives(t *testing.T) {
	tmp := private(t)
	a := file("a", "1")
	zeros := make([]byte, freeBytes+1)
	for what, c := range map[string]struct {
		data []byte
		want string
	}{
		"a parent":                  {of(file("../a", "1")).bytes(), "leads out"},
		"a parent inside":           {of(file("a/../../b", "1")).bytes(), "leads out"},
		"an absolute name":          {of(file("/etc/x", "1")).bytes(), "absolute"},
		"a backslash":               {of(file(`..\a`, "1")).bytes(), "backslash"},
		"a drive":                   {of(file("C:/a", "1")).bytes(), "colon"},
		"a stream":                  {of(file("a:b", "1")).bytes(), "colon"},
		"a dot":                     {of(file("./a", "1")).bytes(), "simplest form"},
		"two slashes":               {of(file("a//b", "1")).bytes(), "simplest form"},
		"an empty name":             {of(file("", "1")).bytes(), "simplest form"},
		"a NUL":                     {of(file("a\x00b", "1")).bytes(), "control character"},
		"an escape":                 {of(file("a\x1b[2J", "1")).bytes(), "control character"},
		"no UTF-8":                  {of(file("a\xff", "1")).bytes(), "not UTF-8"},
		"a dot at the end":          {of(file("a.", "1")).bytes(), "ends in a dot"},
		"a space at the end":        {of(file("d /a", "1")).bytes(), "ends in a dot"},
		"a deep name":               {of(file(strings.Repeat("a/", 9)+"a", "1")).bytes(), "too many folders"},
		"a long name":               {of(file(strings.Repeat("a/", maxName)+"a", "1")).bytes(), "too long"},
		"a long part":               {of(file(strings.Repeat("a", maxPart+1), "1")).bytes(), "too long"},
		"a link":                    {of(with(file("a", "/etc/passwd"), func(e *entry) { e.attributes = 0o120777 << 16 })).bytes(), "neither a regular file"},
		"a device":                  {of(with(a, func(e *entry) { e.attributes = 0o020666 << 16 })).bytes(), "neither a regular file"},
		"a FIFO":                    {of(with(a, func(e *entry) { e.attributes = 0o010666 << 16 })).bytes(), "neither a regular file"},
		"a folder by its mode":      {of(with(a, func(e *entry) { e.attributes = 0o040755 << 16 })).bytes(), "neither a regular file"},
		"a link called a folder":    {of(with(file("a/", ""), func(e *entry) { e.attributes = 0o120777 << 16 })).bytes(), "neither a regular file"},
		"a folder with content":     {of(with(file("a/", "1"), func(e *entry) { e.attributes = 0o040755 << 16 })).bytes(), "folder with content"},
		"a name twice":              {of(a, file("a", "2")).bytes(), "twice"},
		"another case":              {of(a, file("A", "2")).bytes(), "only in case"},
		"another case of a folder":  {of(file("blobs/x", "1"), file("Blobs/y", "2")).bytes(), "only in case"},
		"a case beyond ASCII":       {of(file("ſ", "1"), file("S", "2")).bytes(), "only in case"},
		"another normal form":       {of(file("\u00e9", "1"), file("e\u0301", "2")).bytes(), "only in case"},
		"a compatible form":         {of(file("\ufb01", "1"), file("fi", "2")).bytes(), "only in case"},
		"a file and a folder":       {of(file("a", "1"), file("a/b", "2")).bytes(), "a file and a folder"},
		"a folder and a file":       {of(file("a/b", "1"), file("a", "2")).bytes(), "a file and a folder"},
		"encrypted":                 {of(with(a, func(e *entry) { e.flags = 1 })).bytes(), "encrypted"},
		"strongly encrypted":        {of(with(a, func(e *entry) { e.flags = 1 << 6 })).bytes(), "encrypted"},
		"another method":            {of(with(a, func(e *entry) { e.method = 12 })).bytes(), "neither store nor deflate"},
		"a bomb":                    {of(deflated(t, "a", zeros)).bytes(), "times its size"},
		"a large file":              {of(with(deflated(t, "a", zeros[:99]), func(e *entry) { e.size = maxFile + 1 })).bytes(), "at most 536870912 are"},
		"a stored file of two size": {of(with(a, func(e *entry) { e.size = 100 })).bytes(), "states two sizes"},
		"a size that lies upwards":  {of(with(deflated(t, "a", zeros[:99]), func(e *entry) { e.size = 100 })).bytes(), "damaged"},
		"a size that lies down":     {of(with(deflated(t, "a", zeros[:99]), func(e *entry) { e.size = 98 })).bytes(), "damaged"},
		"another checksum":          {of(with(a, func(e *entry) { sum := uint32(1); e.sum = &sum })).bytes(), "damaged"},
		"damaged data":              {of(with(deflated(t, "a", zeros[:99]), func(e *entry) { e.data = "\xff" + e.data[1:] })).bytes(), "damaged"},
		"another name before it":    {of(with(a, func(e *entry) { e.localName = "b" })).bytes(), "says something else"},
		"overlapping":               {of(file("a", "1"), with(file("b", "1"), func(e *entry) { e.at = 0 })).bytes(), "does not lie"},
		"something before":          {around(of(a), func(z *archiveOf) { z.before = "#!/bin/sh\n" }), "says something else"},
		"something before, hidden":  {around(of(a), func(z *archiveOf) { z.before, z.offset = "#!/bin/sh\n", 32 }), "something before it"},
		"something between":         {around(of(a, file("b", "2")), func(z *archiveOf) { z.between = "x" }), "does not lie"},
		"a gap":                     {around(of(a), func(z *archiveOf) { z.gap = "xx" }), "between its last entry"},
		"something behind":          {around(of(a), func(z *archiveOf) { z.behind = "x" }), "behind its end"},
		"a comment":                 {around(of(a), func(z *archiveOf) { z.comment = "hello" }), "behind its end"},
		"a short comment":           {around(of(a), func(z *archiveOf) { z.comment = strings.Repeat("c", locatorLength) }), "has a comment"},
		"zip64":                     {around(of(a), func(z *archiveOf) { z.insertBeforeEnd, z.directory = locatorSignature+strings.Repeat("\x00", 16), 67 }), "zip64"},
		"another count":             {around(of(a), func(z *archiveOf) { z.count = 2 }), "damaged"},
		"many entries":              {around(of(a), func(z *archiveOf) { z.count = MaxEntries + 1 }), "at most"},
		"a large directory":         {around(of(a), func(z *archiveOf) { z.directory = maxDirectory + 1 }), "has a directory of"},
		"a part of several":         {around(of(a), func(z *archiveOf) { z.disk = 1 }), "in several parts"},
		"no entry":                  {of().bytes(), "empty"},
		"cut":                       {of(a).bytes()[:50], "no zip archive"},
		"nothing":                   {nil, "no zip archive"},
		"another format":            {[]byte(strings.Repeat("GIF89a", 20)), "no zip archive"},
	} {
		b, err := Open(t.Context(), save(t, c.data))
		if f := fault.As(err); err == nil || f.Code != fault.ZipRefused || !strings.Contains(f.Message, c.want) {
			t.Errorf("%s: %+v %v, want %q", what, b, err, c.want)
		}
	}
	wantEmpty(t, tmp)
}

// TestManyEntries states fewer entries than there are: their number modulo 65536.
func TestManyEntries(t *testing.T) {
	tmp := private(t)
	var all []entry
	for i := range 65536 + 1 {
		all = append(all, file(fmt.Sprintf("%x", i), ""))
	}
	z := of(all...)
	z.count = 1
	if _, err := Open(t.Context(), save(t, z.bytes())); err == nil || fault.As(err).Code != fault.ZipRefused {
		t.Errorf("%v", err)
	}
	wantEmpty(t, tmp)
}

func TestManyLargeFiles(t *testing.T) {
	var all []entry
	for i := range maxBytes/maxFile + 1 {
		all = append(all, with(deflated(t, fmt.Sprint(i), nil), func(e *entry) { e.size = maxFile }))
	}
	if _, err := Open(t.Context(), save(t, of(all...).bytes())); err == nil || !strings.Contains(err.Error(), "unpacks to more than 2147483648 bytes") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoArchive(t *testing.T) {
	dir := t.TempDir()
	fifo, huge := filepath.Join(dir, "fifo"), filepath.Join(dir, "huge")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o644), os.WriteFile(huge, nil, 0o644), os.Truncate(huge, MaxArchive+1)); err != nil {
		t.Fatal(err)
	}
	for path, c := range map[string]struct {
		code fault.Code
		want string
	}{
		fifo: {fault.ZipRefused, "neither a folder nor a file"}, os.DevNull: {fault.ZipRefused, "neither a folder nor a file"},
		huge: {fault.ZipRefused, "at most 1073741824"}, filepath.Join(dir, "nothing"): {fault.RunNotFound, "no bundle"},
	} {
		if _, err := Open(t.Context(), path); err == nil || fault.As(err).Code != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	tmp := private(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, save(t, of(file("a", "1")).bytes())); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	wantEmpty(t, tmp)
}

// TestNoRoom: that nothing could be written is not said to be the archive's doing.
func TestNoRoom(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nothing"))
	if _, err := Open(t.Context(), save(t, of(file("a", "1")).bytes())); err == nil || fault.As(err).Code != fault.BackendFailed {
		t.Errorf("%v", err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(of(file("run/a", "1"), file("run/blobs/x", "2")).bytes())
	f.Add(of(file("../a", "1")).bytes())
	f.Add(around(of(file("a", "1")), func(z *archiveOf) { z.comment = "x" }))
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	w, err := z.Create("evidence.json")
	if err == nil {
		_, err = io.WriteString(w, "{}")
	}
	if err := errors.Join(err, z.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(packed.Bytes())
	parent := f.TempDir()
	f.Setenv("TMPDIR", parent)
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Open(t.Context(), save(t, data))
		if err != nil {
			if code := fault.As(err).Code; code != fault.ZipRefused {
				t.Errorf("%v", err)
			}
			return
		}
		err = filepath.WalkDir(b.private, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !d.Type().IsRegular() {
				t.Errorf("%s is no regular file", path)
			}
			return err
		})
		if err := errors.Join(err, b.Close()); err != nil {
			t.Error(err)
		}
	})
}
