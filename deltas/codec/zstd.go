package codec

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// zstdMagic begins every zstd frame; it is left out of what is stored and sent.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// deltaWindow is how far back a delta's encoder looks. It covers base and result
// of nearly every delta; beyond it a delta is larger than need be, not wrong.
const deltaWindow = 2 << 20

// fastWindow is that of deltas between nodes: an encoder keeps twice as much.
const fastWindow = 512 << 10

// Encoders and decoders of deltas are kept for reuse: their tables are large. Each is in
// one goroutine's hands at a time, since the dictionary is part of its state. A node uses
// fastest and decoders all the time: these are made once, as many as are used at a time at
// most, others wait.
var (
	smallest = sync.Pool{New: func() any { return lonely(zstd.SpeedBetterCompression, deltaWindow) }}
	fastest  = stocked(func() *zstd.Encoder { return lonely(zstd.SpeedFastest, fastWindow) })
	decoders = stocked(func() *zstd.Decoder {
		return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true)))
	})
)

// atOnce is how many deltas are made or applied at the same time at most.
const atOnce = 8

// stocked returns what takes one of a few T, which the taker gives back.
func stocked[T any](made func() T) func() chan T {
	return sync.OnceValue(func() chan T {
		stock := make(chan T, min(runtime.GOMAXPROCS(0), atOnce))
		for range cap(stock) {
			stock <- made()
		}
		return stock
	})
}

// lonely returns an encoder for one goroutine, which has made all that it needs.
func lonely(level zstd.EncoderLevel, window int) *zstd.Encoder {
	enc := must(newEncoder(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1)))
	enc.EncodeAll(nil, nil)
	return enc
}

func must[T any](made T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("deltas: zstd: %v", err)) // the options are constant
	}
	return made
}

// compressSmall appends the smallest frame of src, with dict as the history before it, to
// dst.
func compressSmall(dst, src, dict []byte) []byte {
	enc := smallest.Get().(*zstd.Encoder)
	defer smallest.Put(enc)
	return compress(dst, src, dict, enc)
}

// compressFast is compressSmall by the fastest level.
func compressFast(dst, src, dict []byte) []byte {
	enc := <-fastest()
	defer func() { fastest() <- enc }()
	return compress(dst, src, dict, enc)
}

func compress(dst, src, dict []byte, enc *zstd.Encoder) []byte {
	must(enc, enc.ResetWithOptions(nil, zstd.WithEncoderDictRaw(0, dict)))
	return appendFrame(dst, enc, src)
}

// decompress is the inverse of both. It refuses what would be longer than
// most bytes before allocating for it.
func decompress(frame, dict []byte, most int) ([]byte, error) {
	dec := <-decoders()
	defer func() { decoders() <- dec }()
	if err := dec.ResetWithOptions(nil, zstd.WithDecoderDictRaw(0, dict), zstd.WithDecoderMaxMemory(uint64(most))); err != nil {
		return nil, fmt.Errorf("zstd decoder: %w", err)
	}
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
