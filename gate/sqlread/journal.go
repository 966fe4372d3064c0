package sqlread

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/verdictgate/verdictgate/gate/check"
)

// journalMagic ends a rollback journal that names a further one.
const journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

// undo brings the copy back to its last complete transaction, as SQLite does
// when it opens a database whose writer was interrupted: the journal holds the
// pages as they were. It is the one time that a copy is written.
func (snap *snapshot) undo(name string) error {
	path := snap.path() + "-journal"
	hot, super, err := examineJournal(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return unreadable("", "the journal of %s could not be examined: %s", check.Quote(name), plain(err))
	case super:
		// A transaction over several databases is complete when the journal that
		// they share is gone, and whoever completes it deletes that file. Its
		// name stands in the journal: to follow it would let the judged side
		// name a file to be deleted.
		return unreadable("Open the databases of that transaction once with SQLite, then run again.",
			"%s was left in the middle of a transaction over several databases", check.Quote(name))
	case !hot:
		// Journals that are kept for the next transaction undo nothing.
		return os.Remove(path)
	}
	c, err := open(snap.path(), "rw", "0", allWalls)
	if err == nil {
		_, err = c.db.Exec("SELECT count(*) FROM sqlite_schema", nil)
		err = errors.Join(err, c.close())
	}
	if err != nil {
		return c.unanswered(statement{}, name, err)
	}
	return nil
}

// examineJournal says whether a journal is to be rolled back, by SQLite's own
// test, and whether it names a further journal.
func examineJournal(path string) (hot, super bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	var first [1]byte
	switch _, err := f.ReadAt(first[:], 0); {
	case err == io.EOF:
		return false, false, nil
	case err != nil:
		return false, false, err
	}
	if first[0] == 0 {
		return false, false, nil
	}
	info, err := f.Stat()
	if err != nil {
		return false, false, err
	}
	last := make([]byte, min(info.Size(), int64(len(journalMagic))))
	if _, err := f.ReadAt(last, info.Size()-int64(len(last))); err != nil && err != io.EOF {
		return false, false, err
	}
	return true, string(last) == journalMagic, nil
}
