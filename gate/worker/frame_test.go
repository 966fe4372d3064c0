package worker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/verdictgate/verdictgate/gate/record"
)

func frame(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// stream is a whole valid reply stream with n results.
func replies(t testing.TB, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := newReplyWriter(&b)
	for i := range n {
		if err := w.send(record.Reply{Result: &record.Answer{Index: i, Blobs: []record.Blob{{Role: "stdout", Data: []byte{0, 255, '\n'}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.done(record.Done{CPU: 1}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readAll(data []byte) (results int, err error) {
	r := newReplyReader(bytes.NewReader(data))
	for {
		reply, err := r.next()
		if err != nil {
			return results, err
		}
		if reply.Result != nil {
			results++
		}
	}
}

// Whoever can write to the stream and knows every frame still cannot end it.
func TestTheEndRecordIsKeyed(t *testing.T) {
	whole := replies(t, 2)
	r := newReplyReader(bytes.NewReader(whole))
	r.tally.key("a secret of the run")
	for {
		if _, err := r.next(); err == io.EOF {
			t.Fatal("an end record without the key passes")
		} else if err != nil {
			return
		}
	}
}

func TestReplyStream(t *testing.T) {
	whole := replies(t, 5)
	if n, err := readAll(whole); n != 5 || err != io.EOF {
		t.Fatalf("%d results, %v", n, err)
	}
	for cut := range whole {
		if _, err := readAll(whole[:cut]); err == io.EOF {
			t.Fatalf("a stream cut at byte %d of %d passes for whole", cut, len(whole))
		}
	}
	end := bytes.LastIndex(whole, []byte(`{"done"`)) - frameHeader
	for i := range end {
		broken := bytes.Clone(whole)
		broken[i] ^= 1
		if _, err := readAll(broken); err == io.EOF {
			t.Errorf("byte %d was changed unseen", i)
		}
	}
	second := frame(`{"result":{"index":1,"result":{}}}`)
	if _, err := readAll(append(bytes.Clone(whole), second...)); !errors.Is(err, errFrame) {
		t.Errorf("something after the end: %v", err)
	}
	if _, err := readAll(append(second, whole...)); !errors.Is(err, errFrame) {
		t.Errorf("a result slipped in: %v", err)
	}
}

func TestMalformedFrames(t *testing.T) {
	for name, data := range map[string][]byte{
		"empty frame":  {0, 0, 0, 0},
		"too large":    {255, 255, 255, 255, '{'},
		"no JSON":      frame("nonsense"),
		"nothing said": frame("{}"),
		"two things":   frame(`{"hello":{},"done":{}}`),
		"null":         frame("null"),
	} {
		if _, err := readAll(data); !errors.Is(err, errFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, body := range map[string]string{"nothing": "{}", "two": `{"finish":true,"content":true}`, "type": `{"run":"1"}`} {
		if _, err := decodeOrder([]byte(body)); !errors.Is(err, errFrame) {
			t.Errorf("an order with %s: %v", name, err)
		}
	}
}

// A length alone allocates nothing to speak of.
func TestFrameAllocatesWhatArrives(t *testing.T) {
	header := binary.BigEndian.AppendUint32(nil, maxFrame)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		if _, err := readFrame(bytes.NewReader(append(header, 'x')), maxFrame); err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 100*2*firstAlloc {
		t.Errorf("%d bytes for 100 bytes that arrived", got)
	}
	large := bytes.Repeat([]byte("x"), 5*firstAlloc+17)
	got, err := readFrame(bytes.NewReader(frame(string(large))), maxFrame)
	if err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestRepliesFromManyGoroutines(t *testing.T) {
	var b bytes.Buffer
	w := newReplyWriter(&b)
	var all sync.WaitGroup
	for i := range 500 {
		all.Go(func() {
			if err := w.send(record.Reply{Result: &record.Answer{Index: i}}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := w.done(record.Done{}); err != nil {
		t.Fatal(err)
	}
	if n, err := readAll(b.Bytes()); n != 500 || err != io.EOF {
		t.Errorf("%d results, %v", n, err)
	}
}

func FuzzReplies(f *testing.F) {
	f.Add(replies(f, 2))
	f.Add(replies(f, 0))
	f.Add(frame(`{"hello":{"protocol":1}}`))
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReplyReader(bytes.NewReader(data))
		for n := 0; ; n++ {
			reply, err := r.next()
			if err == io.EOF && !r.ended {
				t.Fatal("a stream without an end record passes for whole")
			}
			if err != nil {
				return
			}
			if d := reply.Done; d != nil && d.Count != n {
				t.Fatalf("an end record for %d replies after %d", d.Count, n)
			}
		}
	})
}

func FuzzOrders(f *testing.F) {
	for _, body := range []string{`{"run":3}`, `{"content":true}`, `{"finish":true}`, `{"start":{"protocol":1,"contract":{}}}`} {
		f.Add(frame(body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bytes.NewReader(data)
		for {
			o, err := nextOrder(in)
			if err != nil {
				return
			}
			if again, err := appendFrame(nil, o); err != nil {
				t.Fatalf("%+v cannot be written: %v", o, err)
			} else if back, err := nextOrder(bytes.NewReader(again)); err != nil || fmt.Sprint(back.Run == nil) != fmt.Sprint(o.Run == nil) {
				t.Fatalf("%+v does not survive: %v", o, err)
			}
		}
	})
}
