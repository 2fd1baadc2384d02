package peer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
	"time"
)

func TestFrames(t *testing.T) {
	for _, f := range []frame{
		{kind: testEcho, role: roleCall, group: 1 << 63, call: 7, limit: 250 * time.Millisecond, payload: []byte("payload")},
		{kind: 255, role: roleNone, payload: []byte{}},
		{kind: testEcho, role: roleReply, payload: bytes.Repeat([]byte("x"), 3*firstRead+1)},
	} {
		encoded := appendFrame([]byte("before"), f)[len("before"):]
		got, err := readFrame(bufio.NewReader(bytes.NewReader(encoded)), len(f.payload))
		if err != nil || got.kind != f.kind || got.role != f.role || got.group != f.group || got.call != f.call || got.limit != f.limit || !bytes.Equal(got.payload, f.payload) {
			t.Errorf("%+v, %v; want %+v", got, err, f)
		}
		if len(f.payload) > 0 {
			_, err = readFrame(bufio.NewReader(bytes.NewReader(encoded)), len(f.payload)-1)
			wantError(t, err, errFrame)
		}
		for i := range encoded {
			if i > 100 && i < len(encoded)-1 {
				continue
			}
			if _, err := readFrame(bufio.NewReader(bytes.NewReader(encoded[:i])), len(f.payload)); err == nil {
				t.Errorf("%d of %d bytes are a frame", i, len(encoded))
			}
			damaged := bytes.Clone(encoded)
			damaged[i] ^= 4
			if _, err := readFrame(bufio.NewReader(bytes.NewReader(damaged)), len(f.payload)); err == nil {
				t.Errorf("with byte %d changed it is still a frame", i)
			}
		}
	}
	_, err := readFrame(bufio.NewReader(bytes.NewReader(nil)), 10)
	if err != io.EOF {
		t.Errorf("the end between frames is %v", err)
	}
}

func TestLimits(t *testing.T) {
	for _, test := range []struct {
		limit time.Duration
		want  uint32
	}{{0, 0}, {-time.Second, 0}, {1, 1}, {time.Millisecond, 1}, {time.Millisecond + 1, 2}, {1 << 62, 1 << 31}} {
		if got := limitMillis(test.limit); got != test.want {
			t.Errorf("%v: %d ms, want %d", test.limit, got, test.want)
		}
	}
}

// TestLengthIsNotAllocated: a length alone costs no memory.
func TestLengthIsNotAllocated(t *testing.T) {
	claimed := append([]byte{0, 0xF0, 0, 0, 0, 0, 0, 0}, make([]byte, 100)...)
	source := bytes.NewReader(claimed)
	reader := bufio.NewReader(source)
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			source.Reset(claimed)
			reader.Reset(source)
			if _, err := readFrame(reader, MaxPayload); !errors.Is(err, io.ErrUnexpectedEOF) {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 2*firstRead {
		t.Errorf("%d bytes were allocated for a frame that never came", allocated)
	}
}

// FuzzFrame: what is read is what was written, and nothing else is a frame.
func FuzzFrame(f *testing.F) {
	f.Add(appendFrame(nil, frame{kind: testEcho, group: 3, call: 4, limit: time.Second, payload: []byte("x")}))
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, sent []byte) {
		reader := bufio.NewReader(bytes.NewReader(sent))
		var again []byte
		for {
			got, err := readFrame(reader, 1<<10)
			if err != nil {
				break
			}
			again = appendFrame(again, got)
		}
		if !bytes.HasPrefix(sent, again) {
			t.Fatalf("%x was read as %x", sent, again)
		}
	})
}
