package fetcher

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	brotli "github.com/molecule-man/go-brrr"
)

// stream is a coding whose decoders are read from. They are kept for the next body,
// but not those that met a long one, which may have grown to many times their size,
// and not those that panicked.
type stream struct {
	make func() decoder
	kept sync.Pool
}

// decoder is a decoder that can start over.
type decoder interface {
	io.Reader
	reset(wire []byte) error
}

func (s *stream) short(m *account, wire, dst []byte, most int) ([]byte, error) {
	d, ok := s.kept.Get().(decoder)
	if !ok {
		d = s.make()
	}
	out := sink{memory: m, data: dst, most: most}
	err := decodeTo(&out, d, wire)
	if !errors.Is(err, errLong) {
		s.kept.Put(d)
	}
	return out.data, err
}

// long decodes twice: first to count, then into memory of that very length. So a
// bomb takes no memory but its decoder's, and what the first time costs is little
// beside what is done with a long document afterwards.
func (s *stream) long(m *account, wire []byte, limit int) ([]byte, error) {
	d := s.make()
	counted := counter{limit: limit}
	if err := decodeTo(&counted, d, wire); err != nil {
		return nil, err
	}
	exact, err := m.alloc(counted.size)
	if err != nil {
		return nil, err
	}
	out := sink{memory: m, data: exact, most: counted.size}
	err = decodeTo(&out, d, wire)
	return out.data, err
}

func decodeTo(w io.Writer, d decoder, wire []byte) error {
	if err := d.reset(wire); err != nil {
		return err
	}
	_, err := io.Copy(w, d)
	return err
}

// sink keeps what is written, at most most bytes. What there is no memory for is
// taken for long: counting it shows whose fault that is.
type sink struct {
	memory *account
	data   []byte
	most   int
}

func (s *sink) Write(p []byte) (int, error) {
	size := len(s.data) + len(p)
	if size > s.most {
		return 0, errLong
	}
	for cap(s.data) < size {
		var err error
		if s.data, err = s.memory.grow(s.data, 2, s.most); err != nil {
			return 0, errLong
		}
	}
	s.data = append(s.data, p...)
	return len(p), nil
}

// counter counts what is written, at most limit bytes.
type counter struct{ size, limit int }

func (c *counter) Write(p []byte) (int, error) {
	c.size += len(p)
	if c.size > c.limit {
		return 0, tooLarge(c.limit)
	}
	return len(p), nil
}

// gzipDecoder reads a gzip stream, and those that follow it, which are one content (RFC
// 1952, section 2.2). What follows and is none it ignores, as browsers do.
type gzipDecoder struct {
	stream gzip.Reader // not embedded: its WriteTo would end with the first stream
	wire   bytes.Reader
}

func newGzip() decoder { return new(gzipDecoder) }

func (d *gzipDecoder) reset(wire []byte) error {
	d.wire.Reset(wire)
	return d.begin()
}

// begin begins the next stream.
func (d *gzipDecoder) begin() error {
	if err := d.stream.Reset(&d.wire); err != nil {
		return err
	}
	d.stream.Multistream(false)
	return nil
}

func (d *gzipDecoder) Read(p []byte) (int, error) {
	n, err := d.stream.Read(p)
	if err == io.EOF && d.another() {
		err = d.begin()
	}
	return n, err
}

// another reports that what is left begins as a gzip stream does.
func (d *gzipDecoder) another() bool {
	const magic = "\x1f\x8b\x08"
	var next [len(magic)]byte
	n, _ := d.wire.ReadAt(next[:], d.wire.Size()-int64(d.wire.Len()))
	return string(next[:n]) == magic
}

// deflateDecoder reads zlib, which "deflate" means (RFC 9110, section 8.4.1.2), and
// the bare stream that many servers send instead.
type deflateDecoder struct {
	io.Reader // one of these
	bare      io.ReadCloser
	zlib      io.ReadCloser // nil until there was one
}

func newDeflate() decoder { return &deflateDecoder{bare: flate.NewReader(nil)} }

func (d *deflateDecoder) reset(wire []byte) (err error) {
	in := bytes.NewReader(wire)
	switch {
	case !startsAsZlib(wire):
		d.Reader, err = d.bare, d.bare.(flate.Resetter).Reset(in, nil)
	case d.zlib == nil:
		d.zlib, err = zlib.NewReader(in)
		d.Reader = d.zlib
	default:
		d.Reader, err = d.zlib, d.zlib.(zlib.Resetter).Reset(in, nil)
	}
	return err
}

// startsAsZlib reports a zlib header: two bytes that are a multiple of 31, with 8 in
// their second nibble (RFC 1950, section 2.2).
func startsAsZlib(wire []byte) bool {
	return len(wire) >= 2 && wire[0]&0x0f == 8 && (int(wire[0])<<8|int(wire[1]))%31 == 0
}

// brotliDecoder refuses what follows the stream, which the library would ignore. A
// stream's last byte holds bits of it: a decoder that ends without having asked for
// the last byte there is has more than a stream.
type brotliDecoder struct {
	*brotli.Reader
	left []byte
}

func newBrotli() decoder {
	d := new(brotliDecoder)
	d.Reader = brotli.NewReader(heldBack{d})
	return d
}

func (d *brotliDecoder) reset(wire []byte) error {
	d.left = wire
	d.Reader.Reset(heldBack{d})
	return nil
}

func (d *brotliDecoder) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err == io.EOF && len(d.left) > 0 {
		err = errors.New("something follows the stream")
	}
	return n, err
}

// heldBack gives what is left of a stream, the last byte when it is asked for alone.
type heldBack struct{ d *brotliDecoder }

func (h heldBack) Read(p []byte) (int, error) {
	left := h.d.left
	if len(left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, left[:max(1, len(left)-1)])
	h.d.left = left[n:]
	return n, nil
}

// zstdCoding decodes into the body's own memory, where a decoder of streams would
// take as much as a frame announces for its window besides. What does not fit is
// decoded again, into four times the room.
type zstdCoding struct{ *zstd.Decoder }

func (z zstdCoding) short(m *account, wire, dst []byte, most int) (body []byte, err error) {
	var first zstd.Header
	if first.Decode(wire) == nil && first.HasFCS && first.FrameContentSize > uint64(most) {
		return dst, errLong
	}
	for {
		body, err = z.DecodeAll(wire, dst[:0])
		if err == nil && len(body) <= most {
			return body, nil
		}
		if err != nil && !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			return dst, err
		}
		if cap(dst) > most {
			return dst, errLong
		}
		if dst, err = m.grow(dst[:0], 4, most); err != nil {
			return dst, err
		}
	}
}

func (z zstdCoding) long(m *account, wire []byte, limit int) ([]byte, error) {
	start, err := m.alloc(measured)
	if err != nil {
		return nil, err
	}
	body, err := z.short(m, wire, start, limit)
	if errors.Is(err, errLong) {
		return body, tooLarge(limit)
	}
	return body, err
}
