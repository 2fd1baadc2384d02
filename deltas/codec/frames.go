package codec

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Frames makes zstd frames without magic number of short texts that resemble one
// dictionary. It is made once for all goroutines, and takes memory when it is used. Its
// level is the fastest: the next ones take more than twice as long, and make updates of
// feeds 2 % smaller or not at all.
type Frames struct {
	encoder func() (*zstd.Encoder, error)
	decoder func() (*zstd.Decoder, error)
}

// NewFrames returns frames with a dictionary, which is part of their format, of texts
// of at most so many bytes.
func NewFrames(dictionary string, most uint64) *Frames {
	return &Frames{
		encoder: sync.OnceValues(func() (*zstd.Encoder, error) {
			return newEncoder([]byte(dictionary), zstd.WithEncoderLevel(zstd.SpeedFastest))
		}),
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderDictRaw(0, []byte(dictionary)), zstd.WithDecoderMaxMemory(most),
				zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true))
		}),
	}
}

// Append appends the frame of src to dst.
func (f *Frames) Append(dst, src []byte) []byte {
	enc, err := f.encoder()
	if err != nil {
		panic(fmt.Sprintf("deltas: zstd encoder: %v", err)) // the options are constant
	}
	return appendFrame(dst, enc, src)
}

// Read is the inverse of Append. The error is [content.ErrCorrupt] where the frame is.
func (f *Frames) Read(frame []byte) ([]byte, error) {
	dec, err := f.decoder()
	if err != nil {
		return nil, fmt.Errorf("zstd decoder: %w", err)
	}
	return readFrame(dec, frame)
}
