package worker

import (
	"crypto/sha256"
	"hash"
	"io"
	"slices"
	"sync"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// collector takes a stream of any length in constant memory: it keeps the head
// and the tail, and counts and digests everything.
type collector struct {
	head  []byte
	tail  []byte // a ring once it is full
	start int    // where the ring begins
	total int64
	sum   hash.Hash
}

func newCollector() *collector { return &collector{sum: sha256.New()} }

// Write takes the next bytes of the stream. It never fails.
func (c *collector) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	c.sum.Write(p)
	room := min(n, streamHead-len(c.head))
	c.head, p = append(c.head, p[:room]...), p[room:]
	c.keep(p)
	return n, nil
}

func (c *collector) keep(p []byte) {
	if len(p) > streamTail {
		p = p[len(p)-streamTail:]
	}
	room := min(len(p), streamTail-len(c.tail))
	c.tail, p = append(c.tail, p[:room]...), p[room:]
	for len(p) > 0 {
		n := copy(c.tail[c.start:], p)
		c.start, p = (c.start+n)%streamTail, p[n:]
	}
}

// output is what was collected.
func (c *collector) output() check.Output {
	out := check.Output{Data: c.head, Total: c.total, Digest: digestOf(c.sum)}
	if len(c.tail) == 0 {
		return out
	}
	tail := slices.Concat(c.tail[c.start:], c.tail[:c.start])
	left := c.total - int64(len(c.head)+len(tail))
	if out.Truncated = left > 0; out.Truncated {
		out.Data = check.Seam(c.head, tail, left)
	} else {
		out.Data = slices.Concat(c.head, tail)
	}
	return out
}

// bounded keeps the end of what is written to it: a worker's diagnostics.
type bounded struct {
	mu   sync.Mutex
	data []byte
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, p...)
	if over := len(b.data) - maxDiagnostics; over > 0 {
		b.data = append(b.data[:0], b.data[over:]...)
	}
	return len(p), nil
}

func (b *bounded) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.data)
}

// copyBuffers are shared by the readers of output: a flood of commands must
// not be a flood of garbage.
var copyBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// drain reads until the end of the stream, or its deadline.
func drain(r io.Reader, into *collector) {
	buf := copyBuffers.Get().(*[64 << 10]byte)
	defer copyBuffers.Put(buf)
	for {
		n, err := r.Read(buf[:])
		_, _ = into.Write(buf[:n]) // a collector takes everything
		if err != nil {
			return // the end, or nobody may write any more
		}
	}
}

// digestOf is the SHA-256 of a hash that has been written to.
func digestOf(h hash.Hash) strictjson.Digest {
	var d strictjson.Digest
	h.Sum(d[:0])
	return d
}
