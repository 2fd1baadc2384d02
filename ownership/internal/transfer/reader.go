package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
	"google.golang.org/protobuf/proto"
)

// Reader reads a stream. It holds two blocks and the largest value met.
//
// What it returned stands only when the stream has ended with io.EOF: before
// that a cut has not been noticed.
type Reader struct {
	from     io.Reader
	hash     hash.Hash
	unpacker *zstd.Decoder
	header   *wire.TransferHeader
	number   uint32 // of the next frame
	head     [frameHead]byte
	stored   []byte
	block    []byte // its memory
	rest     []byte // of the block, not yet read
	key      []byte
	spare    []byte // memory of the next key
	value    []byte
	seen     wire.TransferTrailer // as the trailer should have it
	err      error
}

// NewReader reads a stream's header. An error wraps ErrStream or is that of from.
func NewReader(from io.Reader) (*Reader, error) {
	unpacker, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(blockSize))
	if err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	r := &Reader{from: from, hash: sha256.New(), unpacker: unpacker, header: &wire.TransferHeader{}}
	if err := r.begin(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) begin() error {
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(r.from, start); err != nil {
		return cut(err, "at its begin")
	}
	if !bytes.Equal(start, magic) {
		return broken("begins with %q", start)
	}
	r.hash.Write(start)
	kind, content, err := r.frame()
	if err != nil {
		return err
	}
	if kind != kindHeader {
		return broken("begins with a frame of kind %q", kind)
	}
	if err := proto.Unmarshal(content, r.header); err != nil {
		return broken("header: %w", err)
	}
	if r.header.Format != Format {
		return broken("is of format %d, this program reads %d", r.header.Format, Format)
	}
	return nil
}

// Header returns what the stream says about itself.
func (r *Reader) Header() *wire.TransferHeader { return r.header }

// Close lets the decompressor go.
func (r *Reader) Close() { r.unpacker.Close() }

// Next returns the next pair, which holds until the next call. At the end of a
// stream that is whole the error is io.EOF, else it wraps ErrStream or is that
// of a failed read. The first error is final.
func (r *Reader) Next() (key, value []byte, err error) {
	if r.err == nil {
		r.err = r.next()
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	return r.key, r.value, nil
}

func (r *Reader) next() error {
	if err := r.more(); err != nil {
		return err // between pairs: perhaps the end
	}
	key, err := r.field(r.spare[:0], MaxKey)
	if err != nil {
		return inside(err)
	}
	if bytes.Compare(key, r.key) <= 0 {
		return broken("key %x after %x", key, r.key)
	}
	r.key, r.spare = key, r.key
	if r.value, err = r.field(r.value[:0], MaxValue); err != nil {
		return inside(err)
	}
	r.seen.Pairs++
	r.seen.Bytes += uint64(len(r.key) + len(r.value))
	return nil
}

// inside turns an end within a pair into what it is.
func inside(err error) error {
	if errors.Is(err, io.EOF) {
		return broken("ends within a pair")
	}
	return err
}

// field reads what has a length into memory that may be reused.
func (r *Reader) field(into []byte, limit int) ([]byte, error) {
	length, err := r.length()
	if err != nil {
		return nil, err
	}
	if length > limit {
		return nil, broken("key or value of %d bytes", length)
	}
	for len(into) < length {
		if err := r.more(); err != nil {
			return nil, err
		}
		n := min(length-len(into), len(r.rest))
		into = append(into, r.rest[:n]...)
		r.rest = r.rest[n:]
	}
	return into, nil
}

// length reads a uvarint of at most four bytes, which may lie in two blocks.
func (r *Reader) length() (n int, err error) {
	for shift := 0; shift < 28; shift += 7 {
		if err := r.more(); err != nil {
			return 0, err
		}
		c := r.rest[0]
		r.rest = r.rest[1:]
		n |= int(c&0x7F) << shift
		if c < 0x80 {
			return n, nil
		}
	}
	return 0, broken("length of a key or value has more than four bytes")
}

// more sees to it that there is something to read.
func (r *Reader) more() error {
	if len(r.rest) > 0 {
		return nil
	}
	return r.refill()
}

// refill unpacks the next block. Its error is io.EOF at the end of the stream.
func (r *Reader) refill() error {
	sum := r.hash.Sum(nil) // of all before a trailer
	kind, content, err := r.frame()
	if err != nil {
		return err
	}
	switch kind {
	case kindBlock:
	case kindTrailer:
		return r.end(sum, content)
	default:
		return broken("frame %d is of kind %q", r.number-1, kind)
	}
	raw := int(binary.BigEndian.Uint32(r.head[5:]))
	if cap(r.block) < raw {
		r.block = make([]byte, 0, raw)
	}
	r.block, err = r.unpacker.DecodeAll(content, r.block[:0:raw])
	if err != nil {
		return broken("unpack frame %d: %w", r.number-1, err)
	}
	if len(r.block) != raw || raw == 0 {
		return broken("frame %d unpacks to %d bytes, want %d", r.number-1, len(r.block), raw)
	}
	r.rest = r.block
	return nil
}

// end compares what was read with the trailer.
func (r *Reader) end(sum, content []byte) error {
	trailer := &wire.TransferTrailer{}
	if err := proto.Unmarshal(content, trailer); err != nil {
		return broken("trailer: %w", err)
	}
	if !bytes.Equal(sum, trailer.Sha256) {
		return broken("has hash %x, should have %x", sum, trailer.Sha256)
	}
	if trailer.Pairs != r.seen.Pairs || trailer.Bytes != r.seen.Bytes {
		return broken("has %d pairs of %d bytes, should have %d of %d", r.seen.Pairs, r.seen.Bytes, trailer.Pairs, trailer.Bytes)
	}
	if n, err := io.ReadFull(r.from, r.head[:1]); n > 0 || !errors.Is(err, io.EOF) {
		return cut(err, "after its end") // or goes on
	}
	return io.EOF
}

// frame reads and checks one frame. Its content holds until the next call.
func (r *Reader) frame() (kind byte, content []byte, err error) {
	f, crc, err := readHead(r.from, &r.head)
	if err != nil {
		return 0, nil, cut(err, "in frame %d", r.number)
	}
	if f.number != r.number {
		return 0, nil, broken("frame %d where %d was due", f.number, r.number)
	}
	if uint32(cap(r.stored)) < f.stored {
		r.stored = make([]byte, f.stored)
	}
	r.stored = r.stored[:f.stored]
	if _, err := io.ReadFull(r.from, r.stored); err != nil {
		return 0, nil, cut(err, "in frame %d", r.number)
	}
	if frameCRC(r.head[:], r.stored) != crc {
		return 0, nil, broken("checksum of frame %d does not match", r.number)
	}
	r.hash.Write(r.head[:])
	r.hash.Write(r.stored)
	r.number++
	return f.kind, r.stored, nil
}

// cut turns an early end into ErrStream, and a late one.
func cut(err error, format string, args ...any) error {
	where := fmt.Sprintf(format, args...)
	switch {
	case err == nil:
		return broken("goes on %s", where)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return broken("is cut %s", where)
	case errors.Is(err, ErrStream):
		return err
	default:
		return fmt.Errorf("read stream of state %s: %w", where, err)
	}
}
