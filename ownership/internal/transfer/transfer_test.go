package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type pair struct{ key, value []byte }

func header() *wire.TransferHeader {
	return &wire.TransferHeader{Group: 7, From: 3, To: 9, Cluster: []byte("cluster"), Applied: &wire.Applied{Index: 12, TimeUs: 34}}
}

func write(t interface{ Fatal(...any) }, pairs []pair) []byte {
	var b bytes.Buffer
	w, err := NewWriter(&b, header())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		if err := w.Add(p.key, p.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read returns what a stream holds, and nil as error when it is whole.
func read(from io.Reader) (pairs []pair, err error) {
	r, err := NewReader(from)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		key, value, err := r.Next()
		if errors.Is(err, io.EOF) {
			return pairs, nil
		}
		if err != nil {
			return pairs, err
		}
		pairs = append(pairs, pair{bytes.Clone(key), bytes.Clone(value)})
	}
}

func equal(a, b []pair) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i].key, b[i].key) || !bytes.Equal(a[i].value, b[i].value) {
			return false
		}
	}
	return true
}

// somePairs fill several blocks, one value more than one.
func somePairs() []pair {
	random := rand.NewChaCha8([32]byte{1})
	var pairs []pair
	for i := range 3000 {
		value := make([]byte, 1+i%400)
		_, _ = random.Read(value)
		pairs = append(pairs, pair{fmt.Appendf(nil, "key %06d", i), value})
	}
	huge := make([]byte, MaxValue)
	_, _ = random.Read(huge)
	return append(pairs, pair{[]byte("key huge"), huge}, pair{[]byte("key last"), nil})
}

func TestRoundTrip(t *testing.T) {
	for name, pairs := range map[string][]pair{
		"nothing": nil, "many": somePairs(),
		"compressible": {{[]byte("a"), make([]byte, MaxValue)}, {[]byte("b"), make([]byte, blockSize)}},
	} {
		t.Run(name, func(t *testing.T) {
			stream := write(t, pairs)
			for _, from := range []io.Reader{bytes.NewReader(stream), iotest.HalfReader(bytes.NewReader(stream)), iotest.DataErrReader(bytes.NewReader(stream))} {
				got, err := read(from)
				if err != nil || !equal(got, pairs) {
					t.Errorf("read %d pairs, wrote %d: %v", len(got), len(pairs), err)
				}
			}
			r, err := NewReader(bytes.NewReader(stream))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if h := r.Header(); h.Group != 7 || h.From != 3 || h.To != 9 || string(h.Cluster) != "cluster" || h.Applied.Index != 12 || h.Applied.TimeUs != 34 {
				t.Errorf("header %v", h)
			}
		})
	}
}

func TestRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfDistinct(rapid.SliceOfN(rapid.Byte(), 1, 40), func(k []byte) string { return string(k) }).Draw(t, "keys")
		var pairs []pair
		for _, key := range slices.SortedFunc(slices.Values(keys), bytes.Compare) {
			pairs = append(pairs, pair{key, bytes.Repeat([]byte{key[0]}, rapid.IntRange(0, blockSize+10).Draw(t, "value"))})
		}
		got, err := read(bytes.NewReader(write(t, pairs)))
		if err != nil || !equal(got, pairs) {
			t.Fatalf("read %d pairs, wrote %d: %v", len(got), len(pairs), err)
		}
	})
}

// frames cuts a stream into its frames, after the magic.
func frames(stream []byte) (all [][]byte) {
	for at := len(magic); at < len(stream); {
		n := frameHead + int(binary.BigEndian.Uint32(stream[at+9:]))
		all = append(all, stream[at:at+n])
		at += n
	}
	return all
}

func join(parts ...[]byte) []byte { return append(bytes.Clone(magic), bytes.Join(parts, nil)...) }

// renumbered is a frame with another number and a right checksum.
func renumbered(f []byte, number uint32) []byte {
	raw := binary.BigEndian.Uint32(f[5:])
	return appendFrame(nil, frame{kind: f[0], number: number, raw: raw}, f[frameHead:])
}

func encode(t testing.TB, message proto.Message) []byte {
	t.Helper()
	content, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func pack(content string) []byte {
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	defer packer.Close()
	return packer.EncodeAll([]byte(content), nil)
}

// block is a frame of pairs.
func block(number uint32, content string) []byte {
	return appendFrame(nil, frame{kind: kindBlock, number: number, raw: uint32(len(content))}, pack(content))
}

// sealed ends a stream with a trailer whose hash is right.
func sealed(t testing.TB, pairs, size uint64, parts ...[]byte) []byte {
	stream := join(parts...)
	sum := sha256.Sum256(stream)
	trailer := encode(t, &wire.TransferTrailer{Pairs: pairs, Bytes: size, Sha256: sum[:]})
	return appendFrame(stream, frame{kind: kindTrailer, number: uint32(len(parts)), raw: uint32(len(trailer))}, trailer)
}

// TestSealed: what the helper makes is whole when the counts are right.
func TestSealed(t *testing.T) {
	f := frames(write(t, nil))
	if got, err := read(bytes.NewReader(sealed(t, 1, 1, f[0], block(1, "\x01a\x00")))); err != nil || len(got) != 1 {
		t.Errorf("%d pairs, %v", len(got), err)
	}
}

// TestDamaged: bad-input.md, row 58. What is not whole is an error that says what.
func TestDamaged(t *testing.T) {
	stream := write(t, somePairs())
	f := frames(stream)
	n := len(f)
	claim := bytes.Clone(f[1])
	binary.BigEndian.PutUint32(claim[9:], 0xFFFFFFFF)
	flipped := bytes.Clone(stream)
	flipped[len(flipped)/2] ^= 4
	newer := header()
	newer.Format = Format + 1
	for _, test := range []struct {
		name   string
		stream []byte
		want   string
	}{
		{"empty", nil, "cut at its begin"},
		{"not a stream", []byte("GET / HTTP/1.1\r\n"), "begins with"},
		{"magic alone", magic, "cut in frame 0"},
		{"no trailer", join(f[:n-1]...), "cut in frame"},
		{"cut within a frame", stream[:len(stream)/2], "cut in frame"},
		{"goes on", append(bytes.Clone(stream), 0), "goes on after its end"},
		{"twice", append(bytes.Clone(stream), stream...), "goes on after its end"},
		{"flipped bit", flipped, "checksum of frame"},
		{"reordered", join(f[0], f[2], f[1]), "frame 2 where 1 was due"},
		{"frame left out", join(f[0], f[2]), "frame 2 where 1 was due"},
		{"frame left out, renumbered", join(f[0], renumbered(f[n-1], 1)), "has hash"},
		{"frame repeated, renumbered", join(f[0], f[1], renumbered(f[1], 2)), "key"},
		{"header twice", join(f[0], renumbered(f[0], 1)), `kind 'h'`},
		{"no header", join(renumbered(f[1], 0)), `kind 'b'`},
		{"4 GiB claimed", join(f[0], claim), "frame of 4294967295 bytes"},
		{"unpacks to more than it says", join(f[0], appendFrame(nil, frame{kind: kindBlock, number: 1, raw: 10}, f[1][frameHead:])), "unpack frame 1"},
		{"unpacks to less than it says", join(f[0], appendFrame(nil, frame{kind: kindBlock, number: 1, raw: 100}, pack("\x01a\x00"))), "unpacks to 3 bytes, want 100"},
		{"bomb", join(f[0], appendFrame(nil, frame{kind: kindBlock, number: 1, raw: blockSize}, pack(string(make([]byte, 64<<20))))), "unpack frame 1"},
		{"length of 2^63", join(f[0], block(1, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f")), "more than four bytes"},
		{"key too long", join(f[0], block(1, "\x81\x08")), "of 1025 bytes"},
		{"value too long", join(f[0], block(1, "\x01a\x81\x80\xc0\x02")), "of 5242881 bytes"},
		{"keys out of order", join(f[0], block(1, "\x01b\x00\x01a\x00")), "key 61 after 62"},
		{"key twice", join(f[0], block(1, "\x01b\x00\x01b\x00")), "key 62 after 62"},
		{"empty key", join(f[0], block(1, "\x00\x00")), "key  after"},
		{"ends within a pair", sealed(t, 0, 0, f[0], block(1, "\x02a")), "ends within a pair"},
		{"more pairs than counted", sealed(t, 0, 0, f[0], block(1, "\x01a\x00")), "has 1 pairs of 1 bytes, should have 0 of 0"},
		{"fewer bytes than counted", sealed(t, 1, 2, f[0], block(1, "\x01a\x00")), "has 1 pairs of 1 bytes, should have 1 of 2"},
		{"trailer of another stream", join(f[0], block(1, "\x01a\x00"), renumbered(f[n-1], 2)), "has hash"},
		{"newer format", join(appendFrame(nil, frame{kind: kindHeader}, encode(t, newer))), "format 2, this program reads 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := read(bytes.NewReader(test.stream))
			if !errors.Is(err, ErrStream) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want ErrStream with %q", err, test.want)
			}
		})
	}
}

// TestFailedRead: what is no fault of the stream is not called one.
func TestFailedRead(t *testing.T) {
	stream := write(t, somePairs())
	for _, n := range []int{0, 3, 30, len(stream) / 2, len(stream)} {
		_, err := read(io.MultiReader(bytes.NewReader(stream[:n]), iotest.ErrReader(io.ErrClosedPipe)))
		if !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, ErrStream) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// TestWriterRefuses: what a reader would refuse is not written, and no stream
// that failed once is ended.
func TestWriterRefuses(t *testing.T) {
	for name, p := range map[string]pair{
		"empty key": {}, "long key": {key: make([]byte, MaxKey+1)}, "long value": {[]byte("z"), make([]byte, MaxValue+1)},
		"same key": {key: []byte("m")}, "smaller key": {key: []byte("a")},
	} {
		var b bytes.Buffer
		w, err := NewWriter(&b, header())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add([]byte("m"), nil); err != nil {
			t.Fatal(err)
		}
		if w.Add(p.key, p.value) == nil || w.Add([]byte("zz"), nil) == nil || w.Close() == nil {
			t.Errorf("%s: added", name)
		}
		if _, err := read(&b); !errors.Is(err, ErrStream) {
			t.Errorf("%s: what was written reads as whole: %v", name, err)
		}
	}
}

// FuzzReader: no input makes the reader panic or return pairs out of order, and
// what it finds whole reads the same when written again.
func FuzzReader(f *testing.F) {
	whole := write(f, somePairs()[:40])
	parts := frames(whole)
	f.Add(whole)
	f.Add(write(f, nil))
	f.Add(join(parts[0], block(1, "\x01b\x00")))
	f.Fuzz(func(t *testing.T, stream []byte) {
		pairs, err := read(bytes.NewReader(stream))
		for i := 1; i < len(pairs); i++ {
			if bytes.Compare(pairs[i-1].key, pairs[i].key) >= 0 {
				t.Fatalf("key %x after %x", pairs[i].key, pairs[i-1].key)
			}
		}
		if err != nil {
			return
		}
		if again, err := read(bytes.NewReader(write(t, pairs))); err != nil || !equal(again, pairs) {
			t.Fatalf("%d pairs, again %d: %v", len(pairs), len(again), err)
		}
	})
}
