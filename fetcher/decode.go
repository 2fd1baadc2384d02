package fetcher

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"
)

// decoders undo content codings. They are kept, since one takes up to 100 KiB.
type decoders struct {
	gzip, flate, zlib, zstd sync.Pool
}

// maxWindow is the largest zstd window that HTTP allows (RFC 9659). A decoder
// takes memory for the window that a frame announces.
const maxWindow = 8 << 20

// decode returns resp's body, which is in resp.scratch as it came, without its
// content coding, at most limit bytes. Every error is of class Encoding or TooLarge.
func (d *decoders) decode(resp *Response, limit int) (body []byte, err error) {
	wire := resp.scratch
	coding := strings.ToLower(string(bytes.TrimSpace(resp.header.ContentEncoding())))
	if len(wire) == 0 {
		return wire, nil
	}
	body = wire
	if coding != "" && coding != "identity" {
		body, err = d.undo(coding, wire, resp.decoded[:0], limit)
		resp.decoded = body
	}
	if err != nil {
		return nil, err
	}
	if name := looksCoded(body); name != "" {
		return nil, fail(Encoding, "content is %s, but Content-Encoding is %q", name, coding)
	}
	return body, nil
}

func (d *decoders) undo(coding string, wire, dst []byte, limit int) (body []byte, err error) {
	defer func() {
		// Decoders read hostile input; a flaw in one must not end the process.
		if flaw := recover(); flaw != nil {
			err = fail(Encoding, "%s: decoder panicked: %v", coding, flaw)
		}
	}()
	switch coding {
	case "gzip", "x-gzip":
		body, err = undo(&d.gzip, newGzip, wire, dst, limit)
	case "deflate":
		body, err = d.inflate(wire, dst, limit)
	case "zstd":
		body, err = undo(&d.zstd, newZstd, wire, dst, limit)
	case "br":
		body, err = unbrotli(wire, dst, limit)
	default:
		return nil, fail(Encoding, "unknown content coding %q", coding)
	}
	if err != nil && !isTooLarge(err) {
		err = fail(Encoding, "%s: %w", coding, err)
	}
	return body, err
}

// inflate reads zlib, which "deflate" means (RFC 9110, section 8.4.1.2), and the
// bare stream that many servers send instead. A zlib header's first two bytes are
// a multiple of 31 with 8 in their second nibble.
func (d *decoders) inflate(wire, dst []byte, limit int) ([]byte, error) {
	if len(wire) >= 2 && wire[0]&0x0f == 8 && (int(wire[0])<<8|int(wire[1]))%31 == 0 {
		return undo(&d.zlib, newZlib, wire, dst, limit)
	}
	return undo(&d.flate, newFlate, wire, dst, limit)
}

// resettable is a decoder that can start over on another stream.
type resettable interface {
	io.Reader
	reset(r io.Reader) error
}

// undo decodes with a decoder of the pool, or with a new one. A decoder that
// panicked does not return to the pool.
func undo(pool *sync.Pool, make func() resettable, wire, dst []byte, limit int) ([]byte, error) {
	decoder, ok := pool.Get().(resettable)
	if !ok {
		decoder = make()
	}
	err := decoder.reset(bytes.NewReader(wire))
	if err == nil {
		dst, err = readAll(dst, decoder, limit)
	}
	pool.Put(decoder)
	return dst, err
}

// unbrotli decodes through the library's own pool.
func unbrotli(wire, dst []byte, limit int) ([]byte, error) {
	out := capped{dst, limit}
	_, err := fasthttp.WriteUnbrotli(&out, wire)
	return out.data, err
}

// capped is a writer that refuses what goes beyond its limit.
type capped struct {
	data  []byte
	limit int
}

func (c *capped) Write(p []byte) (int, error) {
	if len(c.data)+len(p) > c.limit {
		return 0, fail(TooLarge, "body larger than %d bytes", c.limit)
	}
	c.data = append(c.data, p...)
	return len(p), nil
}

// magics are what compressed data begins with; no document that we can read does.
var magics = []struct{ name, magic string }{
	{"gzip", "\x1f\x8b"},
	{"zstd", "\x28\xb5\x2f\xfd"},
}

// looksCoded names the coding that a decoded body is still in: it was coded twice,
// or not declared. brotli and deflate cannot be told from other bytes.
func looksCoded(body []byte) (name string) {
	for _, m := range magics {
		if bytes.HasPrefix(body, []byte(m.magic)) {
			return m.name
		}
	}
	return ""
}

type gzipDecoder struct{ gzip.Reader }

func newGzip() resettable { return new(gzipDecoder) }

func (d *gzipDecoder) reset(r io.Reader) error { return d.Reader.Reset(r) }

type flateDecoder struct{ io.ReadCloser }

func newFlate() resettable { return flateDecoder{flate.NewReader(nil)} }

func (d flateDecoder) reset(r io.Reader) error { return d.ReadCloser.(flate.Resetter).Reset(r, nil) }

type zlibDecoder struct{ io.ReadCloser }

func newZlib() resettable { return new(zlibDecoder) }

func (d *zlibDecoder) reset(r io.Reader) (err error) {
	if d.ReadCloser == nil {
		d.ReadCloser, err = zlib.NewReader(r)
		return err
	}
	return d.ReadCloser.(zlib.Resetter).Reset(r, nil)
}

type zstdDecoder struct{ *zstd.Decoder }

// newZstd makes a decoder without goroutines.
func newZstd() resettable {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxWindow))
	if err != nil {
		panic(fmt.Sprintf("zstd refuses its options: %v", err))
	}
	return zstdDecoder{decoder}
}

func (d zstdDecoder) reset(r io.Reader) error { return d.Decoder.Reset(r) }
