package unpack

import (
	"archive/zip"
	"cmp"
	"encoding/binary"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The records of the zip format that are looked at here.
const (
	localSignature   = "PK\x03\x04"
	endSignature     = "PK\x05\x06"
	locatorSignature = "PK\x06\x07" // of the end record of a larger format, zip64
	localLength      = 30
	endLength        = 22
	locatorLength    = 20
)

// The bits of an entry's flags that say that it is encrypted.
const encrypted = 1<<0 | 1<<6 | 1<<13

// The bit that says that a record with its sizes follows an entry's data.
const hasDescriptor = 1 << 3

// examine reads the directory of an archive and refuses what is not plain.
func examine(name string, r io.ReaderAt, size int64) (*archive, error) {
	end, err := checkEnd(name, r, size)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, refuse(name, "", "is damaged: %v", err)
	}
	if len(z.File) > MaxEntries {
		return nil, refuse(name, "", "holds more than %d entries", MaxEntries)
	}
	a := &archive{path: name, files: z.File}
	seen := spellings{}
	var total uint64
	for _, f := range z.File {
		why := cmp.Or(nameProblem(f.Name), formProblem(f))
		if why == "" { // only names that are paths have folders above them
			why = seen.add(f.Name)
		}
		if why != "" {
			return nil, refuse(name, f.Name, "%s", why)
		}
		if f.UncompressedSize64 > maxFile {
			return nil, refuse(name, f.Name, "unpacks to %d bytes; at most %d are", f.UncompressedSize64, int64(maxFile))
		}
		total += f.UncompressedSize64
	}
	switch {
	case total > maxBytes:
		return nil, refuse(name, "", "unpacks to more than %d bytes", int64(maxBytes))
	case total > freeBytes && total/maxRatio > uint64(size):
		return nil, refuse(name, "", "unpacks to more than %d times its size", maxRatio)
	}
	if err := checkPlaces(name, r, z.File, end); err != nil {
		return nil, err
	}
	a.top = topOf(z.File)
	return a, nil
}

// checkEnd reads the record at the very end and gives the place where the
// directory begins. Readers disagree about what may stand behind that record
// and how it is searched for, so nothing may; and an archive within the limits
// needs no zip64, of which one reader may see a directory that another does not.
func checkEnd(name string, r io.ReaderAt, size int64) (directory int64, err error) {
	if size > MaxArchive {
		return 0, refuse(name, "", "has %d bytes; at most %d are read", size, int64(MaxArchive))
	}
	tail := make([]byte, min(size, endLength+locatorLength))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0, unread(name, err)
	}
	at := len(tail) - endLength
	if at < 0 || string(tail[:4]) != endSignature && string(tail[at:at+4]) != endSignature {
		return 0, refuse(name, "", "is no zip archive, or something stands behind its end")
	}
	end := tail[at:]
	number := func(i int) int64 { return int64(binary.LittleEndian.Uint16(end[i:])) }
	length, offset := int64(binary.LittleEndian.Uint32(end[12:])), int64(binary.LittleEndian.Uint32(end[16:]))
	switch {
	case string(end[:4]) != endSignature || number(20) != 0:
		return 0, refuse(name, "", "has a comment, or something stands behind its end")
	case string(tail[:4]) == locatorSignature:
		return 0, refuse(name, "", "is of the zip64 format; a bundle is never that large")
	case number(4) != 0 || number(6) != 0 || number(8) != number(10):
		return 0, refuse(name, "", "is a part of an archive in several parts")
	case number(10) > MaxEntries:
		return 0, refuse(name, "", "holds %d entries; at most %d are unpacked", number(10), MaxEntries)
	case number(10) == 0:
		return 0, refuse(name, "", "is empty")
	case length > maxDirectory:
		return 0, refuse(name, "", "has a directory of %d bytes; at most %d are read", length, int64(maxDirectory))
	case offset+length != size-endLength:
		return 0, refuse(name, "", "has something before it or behind its directory")
	}
	return offset, nil
}

// nameProblem says why a name is none that is unpacked; "" when it is one.
func nameProblem(name string) string {
	inner := strings.TrimSuffix(name, "/")
	switch {
	case len(name) > maxName:
		return "has a name that is too long"
	case strings.Count(inner, "/") > maxFolders:
		return "lies in too many folders"
	case !utf8.ValidString(name):
		return "has a name that is not UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }):
		return "has a control character in its name"
	case strings.Contains(name, `\`):
		return "has a backslash in its name, which some systems take for a folder's"
	case strings.HasPrefix(name, "/"):
		return "has an absolute name"
	case strings.Contains(name, ":"):
		return "has a colon in its name, as a drive letter or a stream has"
	}
	for part := range strings.SplitSeq(inner, "/") {
		switch {
		case part == "..":
			return "leads out of the archive"
		case part == "" || part == ".":
			return "has a name that is not in its simplest form"
		case len(part) > maxPart:
			return "has a name that is too long"
		case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
			return "has a name that ends in a dot or a space, which some systems leave out"
		}
	}
	return ""
}

// formProblem says why an entry is none that is unpacked, by what it is.
func formProblem(f *zip.File) string {
	folder := strings.HasSuffix(f.Name, "/")
	switch mode := f.Mode(); {
	case f.Flags&encrypted != 0:
		return "is encrypted"
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return "is packed by a method that is neither store nor deflate"
	case folder && mode.Type() != fs.ModeDir, !folder && !mode.IsRegular():
		return "is neither a regular file nor a folder"
	case folder && (f.UncompressedSize64 != 0 || f.CompressedSize64 > 2): // an empty deflate stream has two bytes
		return "is a folder with content"
	case f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
		return "is stored as it is and states two sizes"
	}
	return ""
}

// spellings are the names so far, each by what a file system may make of it:
// one that ignores case and normalises takes "É" and "é" for one name.
type spellings map[string]spelled

type spelled struct {
	name   string
	folder bool
}

// add says why a name, or that of a folder above it, cannot stand beside those
// that were added before.
func (s spellings) add(name string) string {
	folder := strings.HasSuffix(name, "/")
	inner := strings.TrimSuffix(name, "/")
	key := fold(inner)
	if known, ok := s[key]; ok && known.name == inner && !(folder && known.folder) {
		return "stands there twice, or is a file and a folder"
	}
	for at, isFolder := inner, folder; at != "."; at, isFolder = path.Dir(at), true {
		key := fold(at)
		switch known, ok := s[key]; {
		case ok && known.name != at:
			return "has a name that differs from another only in case or in how its characters are composed"
		case ok && known.folder != isFolder:
			return "is a file and a folder"
		}
		s[key] = spelled{at, isFolder}
	}
	return ""
}

// fold maps all spellings of a name to one.
func fold(name string) string {
	lower := strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, norm.NFKD.String(name))
	return norm.NFKC.String(lower)
}

// descriptors are how many bytes may follow packed data: a record that repeats
// its checksum and sizes, in the variants that writers write.
var descriptors = []int64{0, 12, 16, 20, 24}

// checkPlaces refuses entries that overlap, as those of a small archive that
// unpacks to a large one do, and bytes that belong to no entry. The entries lie
// one behind the other, each where the one before it ends, and say of themselves
// what the directory says of them: so every reader sees the same archive.
func checkPlaces(name string, r io.ReaderAt, files []*zip.File, directory int64) error {
	type place struct {
		file *zip.File
		data int64
	}
	var places []place
	for _, f := range files {
		data, err := f.DataOffset()
		if err != nil {
			return refuse(name, f.Name, "is damaged: %v", err)
		}
		places = append(places, place{f, data})
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.data, b.data) })
	end, gaps := int64(0), descriptors[:1]
	for _, p := range places {
		at := slices.IndexFunc(gaps, func(gap int64) bool { return beginsAt(r, p.file, end+gap, p.data) })
		if at < 0 {
			return refuse(name, p.file.Name, "does not lie where the one before it ends, or says something else of itself than the directory")
		}
		end, gaps = p.data+int64(p.file.CompressedSize64), descriptors[:1]
		if p.file.Flags&hasDescriptor != 0 {
			gaps = descriptors
		}
	}
	if !slices.Contains(gaps, directory-end) {
		return refuse(name, "", "has something between its last entry and its directory")
	}
	return nil
}

// beginsAt says whether the record before an entry's data begins at an offset,
// and is about that entry.
func beginsAt(r io.ReaderAt, f *zip.File, at, data int64) bool {
	header := make([]byte, localLength+len(f.Name))
	if _, err := r.ReadAt(header, at); err != nil {
		return false
	}
	number := func(i int) uint16 { return binary.LittleEndian.Uint16(header[i:]) }
	return string(header[:4]) == localSignature && at+localLength+int64(number(26))+int64(number(28)) == data &&
		number(6) == f.Flags && number(8) == f.Method && int(number(26)) == len(f.Name) && string(header[localLength:]) == f.Name
}

// parts are the names that lie at the root of a bundle. A folder of one of them
// is never taken for the folder that holds one.
var parts = []string{"blobs", "reports"}

// topOf gives the one folder that all files lie in; "" when there is none.
func topOf(files []*zip.File) string {
	top := ""
	for _, f := range files {
		first, _, below := strings.Cut(f.Name, "/")
		if !below || top != "" && first != top || slices.Contains(parts, first) {
			return ""
		}
		top = first
	}
	return top
}
