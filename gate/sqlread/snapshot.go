package sqlread

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/verdictgate/verdictgate/gate/check"
)

// copyName is what a copy is called in its folder.
const copyName = "db"

// snapshot is a private copy of a database as it was at one moment.
type snapshot struct {
	dir  string
	key  key
	kept bool // the reader holds on to it
	uses int  // how many queries read it now
}

func (s *snapshot) path() string { return filepath.Join(s.dir, copyName) }

// take copies a database, again when it changed meanwhile.
func (r *Reader) take(ctx context.Context, s *source) (*snapshot, error) {
	snap, changed, err := r.try(ctx, s)
	for attempt := 1; changed != ""; attempt++ {
		if attempt == copyAttempts {
			return nil, unreadable("End what writes to the database, then run again.", "%s changed while it was read, %d times over", check.Quote(changed), copyAttempts)
		}
		if err := wait(ctx, copyPause<<(attempt-1)); err != nil {
			return nil, err
		}
		again, err := openSource(ctx, r.files, s.name)
		if err != nil {
			return nil, err
		}
		snap, changed, err = r.try(ctx, again)
		again.close()
		if err != nil {
			return nil, err
		}
	}
	return snap, err
}

// try copies the files of a database once, and names the one that changed
// while it did.
func (r *Reader) try(ctx context.Context, s *source) (snap *snapshot, changed string, err error) {
	key, settled := s.key(time.Now())
	dir, err := os.MkdirTemp(r.scratch, "sqlite-")
	if err != nil {
		return nil, "", unreadable("", "no folder could be made to copy the database to: %s", plain(err))
	}
	defer func() {
		if err != nil || changed != "" {
			os.RemoveAll(dir) // at worst the owner of the scratch folder removes it later
		}
	}()
	snap = &snapshot{dir: dir, key: key}
	for i, p := range s.files {
		if p.open == nil {
			continue
		}
		if err := copyTo(ctx, snap.path()+suffixes[i], p.open); err != nil {
			return nil, "", err
		}
	}
	later, err := openSource(ctx, r.files, s.name)
	if err != nil {
		return nil, "", err
	}
	defer later.close()
	if changed = s.differs(later); changed != "" {
		return nil, changed, nil
	}
	if !settled {
		if changed, err = snap.compare(ctx, later); err != nil || changed != "" {
			return nil, changed, err
		}
	}
	snap.kept = settled
	return snap, "", snap.undo(s.name)
}

// copyTo copies what src still holds. Between two files the kernel copies, and
// shares the blocks where the file system can.
func copyTo(ctx context.Context, path string, src io.Reader) error {
	if f := fileOf(src); f != nil {
		src = f
	}
	dst, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return unreadable("", "the database could not be copied: %s", plain(err))
	}
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = io.CopyN(dst, src, copyChunk)
		}
	}
	if closed := dst.Close(); err == io.EOF {
		err = closed
	}
	return copyError(err)
}

// copyError keeps what has a meaning of its own: an answer of the files, the
// end of the context.
func copyError(err error) error {
	var pe *check.PathError
	switch {
	case err == nil, errors.As(err, &pe), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return unreadable("", "the database could not be copied: %s", plain(err))
}

// compare reads the files again and names the one that is not as it was copied.
func (snap *snapshot) compare(ctx context.Context, later *source) (changed string, err error) {
	for i, p := range later.files {
		if p.open == nil {
			continue
		}
		same, err := equalFile(ctx, snap.path()+suffixes[i], p.open)
		if err != nil {
			return "", copyError(err)
		}
		if !same {
			return later.name + suffixes[i], nil
		}
	}
	return "", nil
}

// equalFile says whether a file holds exactly what r does.
func equalFile(ctx context.Context, path string, r io.Reader) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	a, b := make([]byte, 128<<10), make([]byte, 128<<10)
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, errA := io.ReadFull(f, a)
		m, errB := io.ReadFull(r, b)
		if !bytes.Equal(a[:n], b[:m]) {
			return false, nil
		}
		ended := func(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }
		switch {
		case ended(errA) && ended(errB):
			return true, nil
		case errA != nil && !ended(errA):
			return false, errA
		case errB != nil && !ended(errB):
			return false, errB
		}
	}
}

// wait waits, or ends with the context.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
