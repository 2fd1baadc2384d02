package codec

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// zstdMagic begins every zstd frame; it is left out of what is stored and sent.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// deltaWindow is how far back a delta's encoder looks. It covers base and result
// of nearly every delta; beyond it a delta is larger than need be, not wrong.
const deltaWindow = 2 << 20

// Encoders and decoders of deltas are kept for reuse: their tables are
// megabytes. Each is in one goroutine's hands at a time, since the dictionary is
// part of its state.
var (
	smallest = encoders{level: zstd.SpeedBetterCompression}
	fastest  = encoders{level: zstd.SpeedFastest}
	decoders sync.Pool // of *zstd.Decoder
)

// encoders are of one level.
type encoders struct {
	level zstd.EncoderLevel
	pool  sync.Pool // of *zstd.Encoder
}

// compress appends the frame of src, with dict as the history before it, to dst.
func (e *encoders) compress(dst, src, dict []byte) []byte {
	enc, _ := e.pool.Get().(*zstd.Encoder)
	var err error
	if enc == nil {
		enc, err = newEncoder(dict, zstd.WithEncoderLevel(e.level), zstd.WithWindowSize(deltaWindow), zstd.WithEncoderConcurrency(1))
	} else {
		err = enc.ResetWithOptions(nil, zstd.WithEncoderDictRaw(0, dict))
	}
	if err != nil {
		panic(fmt.Sprintf("deltas: zstd encoder: %v", err)) // the options are constant
	}
	defer e.pool.Put(enc)
	return appendFrame(dst, enc, src)
}

// decompress is the inverse of compress. It refuses what would be longer than
// most bytes before allocating for it.
func decompress(frame, dict []byte, most int) ([]byte, error) {
	dec, _ := decoders.Get().(*zstd.Decoder)
	options := []zstd.DOption{zstd.WithDecoderDictRaw(0, dict), zstd.WithDecoderMaxMemory(uint64(most))}
	var err error
	if dec == nil {
		dec, err = zstd.NewReader(nil, append(options, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))...)
	} else {
		err = dec.ResetWithOptions(nil, options...)
	}
	if err != nil {
		return nil, fmt.Errorf("zstd decoder: %w", err)
	}
	defer decoders.Put(dec)
	return readFrame(dec, frame)
}

func newEncoder(dict []byte, options ...zstd.EOption) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, append(options, zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithEncoderDictRaw(0, dict))...)
}

func appendFrame(dst []byte, enc *zstd.Encoder, src []byte) []byte {
	at := len(dst)
	dst = enc.EncodeAll(src, dst)
	return append(dst[:at], bytes.TrimPrefix(dst[at:], zstdMagic)...)
}

func readFrame(dec *zstd.Decoder, frame []byte) ([]byte, error) {
	out, err := dec.DecodeAll(append(bytes.Clone(zstdMagic), frame...), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", content.ErrCorrupt, err)
	}
	return out, nil
}
