package transfer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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
	framed
	unpacker *zstd.Decoder
	header   *wire.TransferHeader
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
	r := &Reader{framed: newFramed(from), unpacker: unpacker, header: &wire.TransferHeader{}}
	if err := r.begin(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) begin() error {
	if err := r.begins(magic); err != nil {
		return err
	}
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
	if err := r.ends(); err != nil {
		return err
	}
	return io.EOF
}
