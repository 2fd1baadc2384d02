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

// Writer writes a stream. It holds two blocks and the compressor's tables, about
// 3 MiB, whatever the length of the stream. Its first error is final.
type Writer struct {
	framer
	packer  *zstd.Encoder
	raw     []byte // of the block being filled
	packed  []byte
	last    []byte // key
	trailer wire.TransferTrailer
}

// NewWriter begins a stream. The header's format is set.
func NewWriter(to io.Writer, header *wire.TransferHeader) (*Writer, error) {
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(blockSize), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("make compressor: %w", err)
	}
	w := &Writer{framer: newFramer(to), packer: packer, raw: make([]byte, 0, blockSize)}
	header.Format = Format
	content, err := proto.Marshal(header)
	if err != nil {
		return nil, fmt.Errorf("encode header: %w", err)
	}
	w.write(bytes.Clone(magic))
	w.frame(kindHeader, len(content), content)
	return w, w.err
}

// Add adds a pair, whose key is greater than the one before. It keeps neither.
func (w *Writer) Add(key, value []byte) error {
	switch {
	case w.err != nil:
		return w.err
	case len(key) == 0 || len(key) > MaxKey || len(value) > MaxValue:
		w.err = fmt.Errorf("pair with key of %d bytes, value of %d", len(key), len(value))
		return w.err
	case bytes.Compare(key, w.last) <= 0:
		w.err = fmt.Errorf("key %x after %x", key, w.last)
		return w.err
	}
	w.last = append(w.last[:0], key...)
	w.trailer.Pairs++
	w.trailer.Bytes += uint64(len(key) + len(value))
	w.put(key)
	w.put(value)
	return w.err
}

// put adds what has a length to the blocks.
func (w *Writer) put(content []byte) {
	var length [binary.MaxVarintLen64]byte
	w.fill(length[:binary.PutUvarint(length[:], uint64(len(content)))])
	w.fill(content)
}

func (w *Writer) fill(content []byte) {
	for len(content) > 0 {
		n := min(len(content), blockSize-len(w.raw))
		w.raw = append(w.raw, content[:n]...)
		content = content[n:]
		if len(w.raw) == blockSize {
			w.block()
		}
	}
}

func (w *Writer) block() {
	w.packed = w.packer.EncodeAll(w.raw, w.packed[:0])
	w.frame(kindBlock, len(w.raw), w.packed)
	w.raw = w.raw[:0]
}

// Close ends the stream: without it there is none.
func (w *Writer) Close() error {
	if len(w.raw) > 0 {
		w.block()
	}
	w.trailer.Sha256 = w.hash.Sum(nil)
	content, err := proto.Marshal(&w.trailer)
	if err != nil {
		return fmt.Errorf("encode trailer: %w", err)
	}
	w.frame(kindTrailer, len(content), content)
	return errors.Join(w.err, w.packer.Close())
}
