package fetcher

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// decoders undo content codings. What they decode is here already, so that more of
// them at a time than there are processors gain nothing, and lanes bound the memory
// that they take for themselves: 100 KiB each, and with brotli twice its window. Long
// bodies have a lane of their own, so that no short one waits behind them.
type decoders map[string]route

// route is the way through a coding.
type route struct {
	coding      coding
	short, long lane
}

// coding undoes one content coding. It may panic: what it reads is hostile.
type coding interface {
	// short decodes into dst, which may grow, a body of at most most bytes. A longer
	// one is errLong.
	short(m *account, wire, dst []byte, most int) ([]byte, error)

	// long decodes a body of at most limit bytes into new memory.
	long(m *account, wire []byte, limit int) ([]byte, error)
}

// measured is the longest body, in bytes, that is decoded in one go.
const measured = 256 << 10

var errLong = errors.New("body is long")

// maxWindow is the largest zstd window that HTTP allows (RFC 9659).
const maxWindow = 8 << 20

func newDecoders() (decoders, error) {
	processors := runtime.GOMAXPROCS(0)
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(processors), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeAllCapLimit(true))
	// A decoder is many times faster than what is done with documents afterwards, so
	// that a few are enough where memory counts.
	many, few := make(lane, processors), max(1, processors/4)
	long, wide := make(lane, few), make(lane, few)
	inGzip := route{&stream{make: newGzip}, many, long}
	return decoders{
		"gzip":    inGzip,
		"x-gzip":  inGzip,
		"deflate": {&stream{make: newDeflate}, many, long},
		"br":      {&stream{make: newBrotli}, wide, wide},
		"zstd":    {zstdCoding{z}, many, long},
	}, err
}

// decode returns resp's body, which is in resp.buffers as it came, without its
// content coding, at most limit bytes. Every error is of class Encoding, TooLarge,
// or, when the budget of memory is used up, Busy.
func (d decoders) decode(resp *Response, limit int) (body []byte, err error) {
	b := resp.buffers
	wire := b.wire
	name := codingOf(resp.header.ContentEncoding())
	if len(wire) == 0 {
		return wire, nil
	}
	body = wire
	if name != "" {
		b.decoded, err = d.undo(name, &resp.memory, wire, b.decoded[:0], limit)
		b.wire = resp.memory.drop(wire)
		body = b.decoded
	}
	if err != nil {
		return nil, err
	}
	if inner := looksCoded(body); inner != "" {
		return nil, fail(Encoding, "content is %s, but Content-Encoding is %q", inner, name)
	}
	return body, nil
}

// codingOf returns the content codings that a field lists, without those that are none:
// "identity", and words that are no coding at all, such as "utf-8", which browsers ignore.
func codingOf(list []byte) string {
	if len(list) == 0 {
		return ""
	}
	var codings []string
	for name := range strings.SplitSeq(strings.ToLower(string(list)), ",") {
		if name = strings.TrimSpace(name); slices.Contains(registered, name) {
			codings = append(codings, name)
		}
	}
	return strings.Join(codings, ", ")
}

// registered are the content codings that IANA lists, those among them that are not
// known here too: what is coded so cannot be read.
var registered = []string{
	"aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "pack200-gzip", "x-compress", "x-gzip", "zstd",
}

func (d decoders) undo(name string, m *account, wire, dst []byte, limit int) (body []byte, err error) {
	way, ok := d[name]
	if !ok {
		return dst, fail(Encoding, "unknown content coding %q", name)
	}
	body, err = way.short.run(func() ([]byte, error) { return way.coding.short(m, wire, dst, min(measured, limit)) })
	if errors.Is(err, errLong) {
		m.drop(body)
		body, err = way.long.run(func() ([]byte, error) { return way.coding.long(m, wire, limit) })
	}
	if known := new(failure); err != nil && !errors.As(err, &known) {
		err = fail(Encoding, "%s: %w", name, err)
	}
	return body, err
}

// lane lets so many through at a time as it has room for.
type lane chan struct{}

// run decodes when it is its turn. A flaw in a decoder must not end the process.
func (l lane) run(decode func() ([]byte, error)) (body []byte, err error) {
	l <- struct{}{}
	defer func() {
		<-l
		if flaw := recover(); flaw != nil {
			body, err = nil, fail(Encoding, "decoder panicked: %v", flaw)
		}
	}()
	return decode()
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
