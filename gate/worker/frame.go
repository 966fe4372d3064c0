package worker

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"

	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// A frame is a big-endian length of four bytes and that many bytes of JSON.
// An empty frame is malformed: every message says something.

const (
	frameHeader = 4
	firstAlloc  = 64 << 10 // what a length alone can make a reader allocate
)

var errFrame = errors.New("malformed frame")

// readFrame reads one frame. It gives io.EOF only between frames; a frame that
// is cut short is io.ErrUnexpectedEOF. However large a length claims to be,
// memory grows only with the bytes that arrive.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(header[:]))
	if n == 0 || n > int64(limit) {
		return nil, fmt.Errorf("%w: it claims %d bytes; 1 to %d are allowed", errFrame, n, limit)
	}
	buf := make([]byte, 0, min(n, firstAlloc))
	for int64(len(buf)) < n {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, int(min(n-int64(len(buf)), int64(len(buf)))))
		}
		got, err := io.ReadFull(r, buf[len(buf):min(int64(cap(buf)), n)])
		buf = buf[:len(buf)+got]
		if err != nil {
			return nil, io.ErrUnexpectedEOF
		}
	}
	return buf, nil
}

// appendFrame adds the frame of a message to buf.
func appendFrame(buf []byte, message any) ([]byte, error) {
	start := len(buf)
	buf = append(buf, make([]byte, frameHeader)...)
	buf, err := strictjson.Append(buf, message)
	if err != nil {
		return nil, err
	}
	size := len(buf) - start - frameHeader
	if size > maxFrame {
		return nil, fmt.Errorf("%w: a message of %d bytes; %d are allowed", errFrame, size, maxFrame)
	}
	binary.BigEndian.PutUint32(buf[start:], uint32(size))
	return buf, nil
}

// tally counts and digests the frames of a stream; both ends keep one, and
// Done carries the worker's.
type tally struct {
	count int
	sum   hash.Hash
}

func newTally() *tally { return &tally{sum: sha256.New()} }

// key makes the digest one that only the two ends can compute. Whoever else
// gets hold of the stream, and knows every frame, cannot write its end record.
func (t *tally) key(nonce string) { t.sum.Write([]byte(nonce)) }

func (t *tally) add(frame []byte) {
	t.count++
	t.sum.Write(frame)
}

func (t *tally) digest() string { return "sha256:" + hex.EncodeToString(t.sum.Sum(nil)) }

// replyWriter sends replies from several goroutines as one stream.
type replyWriter struct {
	mu    sync.Mutex
	out   *bufio.Writer
	tally *tally
	busy  int // senders that are encoding: the last one flushes for all
	err   error
}

func newReplyWriter(w io.Writer) *replyWriter {
	return &replyWriter{out: bufio.NewWriterSize(w, 64<<10), tally: newTally()}
}

// send writes one reply. Replies that are sent at the same time leave in one
// write.
func (w *replyWriter) send(reply record.Reply) error {
	w.mu.Lock()
	w.busy++
	w.mu.Unlock()
	frame, err := appendFrame(nil, reply)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	if err == nil && w.err == nil {
		w.tally.add(frame)
		_, w.err = w.out.Write(frame)
	}
	if w.busy == 0 && w.err == nil {
		w.err = w.out.Flush()
	}
	return errors.Join(err, w.err)
}

// done ends the stream: its count and digest are over everything before it.
func (w *replyWriter) done(d record.Done) error {
	w.mu.Lock()
	d.Count, d.Digest = w.tally.count, w.tally.digest()
	w.mu.Unlock()
	return w.send(record.Reply{Done: &d})
}

// replyReader reads a worker's stream and checks its end.
type replyReader struct {
	in    *bufio.Reader
	tally *tally
	ended bool
}

func newReplyReader(r io.Reader) *replyReader {
	return &replyReader{in: bufio.NewReaderSize(r, 64<<10), tally: newTally()}
}

// next reads one reply. After a valid Done there must be nothing; a stream
// that ends without one is io.ErrUnexpectedEOF.
func (r *replyReader) next() (record.Reply, error) {
	var reply record.Reply
	frame, err := readFrame(r.in, maxFrame)
	switch {
	case err == io.EOF && r.ended:
		return reply, io.EOF
	case err == io.EOF:
		return reply, io.ErrUnexpectedEOF
	case err != nil:
		return reply, err
	case r.ended:
		return reply, fmt.Errorf("%w: it stands after the end of the stream", errFrame)
	}
	if reply, err = decodeReply(frame); err != nil {
		return reply, err
	}
	if d := reply.Done; d != nil {
		if d.Count != r.tally.count || d.Digest != r.tally.digest() {
			return reply, fmt.Errorf("%w: the end record speaks of %d results with digest %s; %d arrived, with %s",
				errFrame, d.Count, d.Digest, r.tally.count, r.tally.digest())
		}
		r.ended = true
		return reply, nil
	}
	var header [frameHeader]byte
	binary.BigEndian.PutUint32(header[:], uint32(len(frame)))
	r.tally.sum.Write(header[:])
	r.tally.add(frame)
	return reply, nil
}

// frameLimits is what a message may hold: whatever a judged document may, a few
// levels down. maxFrame bounds its size.
var frameLimits = strictjson.Limits{Depth: strictjson.DocumentLimits.Depth + 16, Bytes: maxFrame, Values: strictjson.DocumentLimits.Values}

// decodeFrame reads a message into a struct of package record.
func decodeFrame(frame []byte, into any) error {
	doc, err := strictjson.Parse(frame, frameLimits)
	if err == nil {
		err = strictjson.AssignNil(&doc.Root, into)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	return nil
}

func decodeReply(frame []byte) (record.Reply, error) {
	var reply record.Reply
	if err := decodeFrame(frame, &reply); err != nil {
		return reply, err
	}
	set := 0
	for _, there := range []bool{reply.Hello != nil, reply.Result != nil, reply.Content != nil, reply.Done != nil} {
		if there {
			set++
		}
	}
	if set != 1 {
		return reply, fmt.Errorf("%w: a reply says exactly one thing, this one %d", errFrame, set)
	}
	if a := reply.Result; a != nil && len(a.Blobs) > 0 {
		// Every text of a parsed message is a part of it: a result that is kept
		// would keep the blobs, in base64, beside it.
		text, err := strictjson.Append(nil, &a.Result)
		if err == nil {
			a.Result = record.Result{}
			err = decodeFrame(text, &a.Result)
		}
		return reply, err
	}
	return reply, nil
}

func decodeOrder(frame []byte) (record.Order, error) {
	var order record.Order
	if err := decodeFrame(frame, &order); err != nil {
		return order, err
	}
	set := 0
	for _, there := range []bool{order.Run != nil, order.Content != nil, order.Finish, order.Start != nil} {
		if there {
			set++
		}
	}
	if set != 1 {
		return order, fmt.Errorf("%w: an order asks exactly one thing, this one %d", errFrame, set)
	}
	return order, nil
}
