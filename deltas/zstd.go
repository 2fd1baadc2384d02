package deltas

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdMagic begins every zstd frame; it is left out of what is stored and sent.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// window is how far back the encoders look. It covers base and result of nearly
// every delta; beyond it a delta is larger than need be, not wrong.
const window = 2 << 20

// Encoders and decoders are kept for reuse: their tables are megabytes. Each is
// in one goroutine's hands at a time, since the dictionary is part of its state.
var (
	encoders sync.Pool // of *zstd.Encoder
	decoders sync.Pool // of *zstd.Decoder
)

// compress appends the frame of src, with dict as the history before it, to dst.
func compress(dst, src, dict []byte) []byte {
	enc, _ := encoders.Get().(*zstd.Encoder)
	var err error
	if enc == nil {
		enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithWindowSize(window), zstd.WithZeroFrames(true), zstd.WithEncoderDictRaw(0, dict))
	} else {
		err = enc.ResetWithOptions(nil, zstd.WithEncoderDictRaw(0, dict))
	}
	if err != nil {
		panic(fmt.Sprintf("deltas: zstd encoder: %v", err)) // constant options
	}
	frame := enc.EncodeAll(src, nil)
	encoders.Put(enc)
	return append(dst, bytes.TrimPrefix(frame, zstdMagic)...)
}

// decompress is the inverse of compress. It refuses what would be longer than
// most bytes before allocating for it.
func decompress(frame, dict []byte, most int) ([]byte, error) {
	dec, _ := decoders.Get().(*zstd.Decoder)
	options := []zstd.DOption{zstd.WithDecoderDictRaw(0, dict), zstd.WithDecoderMaxMemory(uint64(most))}
	var err error
	if dec == nil {
		options = append(options, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		dec, err = zstd.NewReader(nil, options...)
	} else {
		err = dec.ResetWithOptions(nil, options...)
	}
	if err != nil {
		return nil, fmt.Errorf("zstd decoder: %w", err)
	}
	defer decoders.Put(dec)
	out, err := dec.DecodeAll(append(bytes.Clone(zstdMagic), frame...), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return out, nil
}
