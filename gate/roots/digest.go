package roots

import (
	"context"
	"crypto/sha256"
	"hash"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// Digest is the SHA-256 of a regular file, and its size. A file that changes
// while it is read has none.
func (f *Files) Digest(ctx context.Context, path string) (strictjson.Digest, int64, error) {
	var none strictjson.Digest
	if err := stopped(ctx, path); err != nil {
		return none, 0, err
	}
	for range maxAttempts {
		n, err := f.resolve(path)
		if err != nil {
			return none, 0, err
		}
		if n.fd >= 0 && n.st.Mode&unix.S_IFMT == unix.S_IFREG {
			if d, ok := f.memo.get(&n.st); ok {
				n.close()
				return d, n.st.Size, nil
			}
		}
		fd, st, err := f.openNode(path, &n)
		n.close()
		if err == errMoved {
			continue
		}
		if err != nil {
			return none, 0, err
		}
		d, size, err := f.digest(ctx, path, fd, st)
		unix.Close(fd)
		return d, size, err
	}
	return none, 0, moved(path)
}

// digest is the SHA-256 of an open regular file, read at most once by all who
// ask for it.
func (f *Files) digest(ctx context.Context, path string, fd int, st *unix.Stat_t) (strictjson.Digest, int64, error) {
	for {
		d, call, done := f.memo.begin(st)
		switch {
		case call == nil:
			return d, st.Size, nil
		case done == nil:
			call.digest, call.size, call.err = f.sum(ctx, path, fd, st)
			f.memo.end(st, call, fd)
			return call.digest, call.size, call.err
		}
		select {
		case <-ctx.Done():
			return d, 0, stopped(ctx, path)
		case <-done:
		}
		if call.err == nil {
			return call.digest, call.size, nil
		}
		// Another caller's read failed, perhaps for want of its own time; what
		// went wrong for this one must be seen by this one.
	}
}

// reading is what one read of a file needs, kept from one to the next.
type reading struct {
	buf  []byte
	hash hash.Hash
}

var readings = sync.Pool{New: func() any {
	return &reading{buf: make([]byte, bufferBytes), hash: sha256.New()}
}}

// sum reads a file to its end and makes sure that it stayed the same.
func (f *Files) sum(ctx context.Context, path string, fd int, before *unix.Stat_t) (strictjson.Digest, int64, error) {
	var (
		d     strictjson.Digest
		total int64
		r     = readings.Get().(*reading)
	)
	defer readings.Put(r)
	r.hash.Reset()
	for {
		if err := stopped(ctx, path); err != nil {
			return d, 0, err
		}
		n, err := read(fd, r.buf)
		if err != nil {
			return d, 0, unreadable(path, err)
		}
		r.hash.Write(r.buf[:n])
		total += int64(n)
		f.hashed.Add(int64(n))
		// A short read at the expected end is the end: for a small file this
		// saves the second of two reads.
		if n == 0 || total == before.Size && n < len(r.buf) {
			break
		}
	}
	var after unix.Stat_t
	if err := unix.Fstat(fd, &after); err != nil {
		return d, 0, unreadable(path, err)
	}
	if stampOf(&after) != stampOf(before) {
		return d, 0, changed(path)
	}
	r.hash.Sum(d[:0])
	return d, total, nil
}

// stamp is what changes when a file's bytes do.
type stamp struct{ size, mtime, ctime int64 }

func stampOf(st *unix.Stat_t) stamp {
	return stamp{st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// racy says that a file could change after a read at the given moment and
// still carry the same stamp.
func (s stamp) racy(at time.Time) bool {
	window := fineWindow
	if s.ctime%int64(time.Second) == 0 {
		window = coarseWindow
	}
	return max(s.mtime, s.ctime)+int64(window) > at.UnixNano()
}

// memo remembers digests, and who is reading what.
type memo struct {
	mu      sync.Mutex
	known   map[inode]known
	pending map[inode]*call
	local   map[uint64]bool // by device: are its stamps made by this machine's clock?
}

type known struct {
	stamp  stamp
	digest strictjson.Digest
}

// call is one read that others may wait for. Its result is set before done is
// closed and not changed after. Most reads nobody waits for, and those have no
// channel.
type call struct {
	stamp   stamp
	started time.Time
	done    chan struct{}

	digest strictjson.Digest
	size   int64
	err    error
}

func (m *memo) get(st *unix.Stat_t) (strictjson.Digest, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.known[inodeOf(st)]
	return k.digest, ok && k.stamp == stampOf(st)
}

// begin gives the digest if it is known (no call), else the read that is under
// way, and when it is done, or a new one (no done: the caller does it).
func (m *memo) begin(st *unix.Stat_t) (d strictjson.Digest, c *call, done <-chan struct{}) {
	id, s := inodeOf(st), stampOf(st)
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, ok := m.known[id]; ok && k.stamp == s {
		return k.digest, nil, nil
	}
	if c := m.pending[id]; c != nil && c.stamp == s {
		if c.done == nil {
			c.done = make(chan struct{})
		}
		return d, c, c.done
	}
	if m.known == nil {
		m.known, m.pending, m.local = map[inode]known{}, map[inode]*call{}, map[uint64]bool{}
	}
	c = &call{stamp: s, started: time.Now()}
	// A read of an older state of the file may be under way: it keeps those
	// who wait for it, and new ones come here.
	m.pending[id] = c
	return d, c, nil
}

// end publishes a read, and remembers it if its stamp can be trusted.
func (m *memo) end(st *unix.Stat_t, c *call, fd int) {
	id := inodeOf(st)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pending[id] == c {
		delete(m.pending, id)
	}
	if _, again := m.known[id]; c.err == nil && !c.stamp.racy(c.started) && (again || len(m.known) < maxMemo) && m.localLocked(id.dev, fd) {
		m.known[id] = known{c.stamp, c.digest}
	}
	if c.done != nil {
		close(c.done)
	}
}

// localLocked asks, once a device, whether its time stamps come from this
// machine. A server's clock may lag behind, and then nothing is ever old
// enough to be trusted. Unknown file systems are not trusted.
func (m *memo) localLocked(dev uint64, fd int) bool {
	local, known := m.local[dev]
	if !known {
		var fs unix.Statfs_t
		local = unix.Fstatfs(fd, &fs) == nil && stampsItself(int64(fs.Type))
		m.local[dev] = local
	}
	return local
}

func stampsItself(fs int64) bool {
	switch fs {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.SQUASHFS_MAGIC,
		unix.EROFS_SUPER_MAGIC_V1, unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC, zfsMagic, bcachefsMagic:
		return true
	}
	return false
}

// Two file systems whose numbers the system package does not name.
const (
	zfsMagic      = 0x2fc12fc1
	bcachefsMagic = 0xca451a4e
)
