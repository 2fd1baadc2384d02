package fetcher

import (
	"time"

	"github.com/valyala/fasthttp"
)

// Response is what an origin answered.
type Response struct {
	// Status is the status code. Codes beyond 2xx are responses, not errors.
	Status int

	// Body is the content without its content coding, whole: at most
	// [Config.MaxBody] bytes, valid until Release. It is nil unless Status is 2xx.
	Body []byte

	// ContentType is the field's value, "" when absent or longer than 256 bytes, and
	// on a 304.
	ContentType string

	// ETag and LastModified are the validators of the content, one pair: opaque, to
	// be sent back as they are. On a 304 they are the request's, with what the 304
	// itself renews. "" when absent or longer than 1024 bytes.
	ETag, LastModified string

	// Location is where a 301, 302, 303, 307 or 308 leads: canonical, and fit to be
	// asked next. "" with any other status.
	Location string

	// Delta says that Body is a feed of new and changed entries alone: a 226, which
	// comes only to a request with Delta. The validators are those of the whole.
	Delta bool

	// Fresh is how long the origin says that the content of a 2xx or 304 needs not be
	// asked for again.
	Fresh Freshness

	// RetryAfter is when to come back, by the origin's own word, with any status but
	// 2xx and 304.
	RetryAfter RetryAfter

	// WireBytes counts what was received: head and body as they came, without what
	// TLS adds.
	WireBytes int64

	// Memory is the most memory, in bytes, that the body took: what to reserve for it the
	// next time. 0: it is small, at most 64 KiB.
	Memory int64

	// Waited is how long of the fetch the body had to wait for memory.
	Waited time.Duration

	// Started, Sent and Finished are when Fetch began, when the request had been written,
	// and when the response was complete.
	Started, Sent, Finished time.Time

	fetcher *Fetcher // nil when no memory of a fetcher is in it
	header  fasthttp.ResponseHeader
	memory  account // of buffers
	request []byte  // its head
	buffers *buffers
}

// buffers are the memory of one body. A response takes them when it has one: nearly all
// polls end in a 304, and those that are under way at a time must not hold what few need.
type buffers struct {
	wire    []byte // the body as it came
	decoded []byte // Body's memory when it was coded
}

// body returns the buffers for the body.
func (r *Response) body() *buffers {
	if r.buffers == nil {
		r.buffers = r.fetcher.buffers.Get().(*buffers)
	}
	return r.buffers
}

// The most that is kept of a field, in bytes. Validators are stored per channel
// and sent back; nothing that means well is longer.
const (
	maxField     = 256
	maxValidator = 1024
)

// Release gives the response's memory back. It is called once: afterwards the
// response may be another request's at any moment. Strings that were taken from it
// stay. A response that no Fetcher made is left as it is.
func (r *Response) Release() {
	f := r.fetcher
	if f == nil {
		return
	}
	r.fetcher = nil
	r.Status, r.Body, r.WireBytes, r.Memory, r.Waited = 0, nil, 0, 0, 0
	r.ContentType, r.ETag, r.LastModified, r.Location = "", "", "", ""
	r.Delta, r.Fresh, r.RetryAfter = false, Freshness{}, RetryAfter{}
	r.Started, r.Sent, r.Finished = time.Time{}, time.Time{}, time.Time{}
	if b := r.buffers; b != nil {
		r.buffers = nil
		b.wire, b.decoded = r.memory.drop(b.wire), r.memory.drop(b.decoded)
		f.buffers.Put(b)
	}
	r.memory.settle()
	f.responses.Put(r)
}

// read copies what callers see out of the parsed head. sent holds the validators
// that the request carried.
func (r *Response) read(sent validators) {
	given := validators{
		etag:         field(r.header.Peek(fasthttp.HeaderETag), maxValidator, sent.etag),
		lastModified: field(r.header.Peek(fasthttp.HeaderLastModified), maxValidator, sent.lastModified),
	}
	switch {
	case r.Status == fasthttp.StatusNotModified:
		given = sent.renewed(given)
		r.Fresh = freshness(&r.header, r.Started, r.Finished)
	case isSuccess(r.Status):
		r.Delta = r.Status == fasthttp.StatusIMUsed
		r.ContentType = field(r.header.ContentType(), maxField, "")
		r.Fresh = freshness(&r.header, r.Started, r.Finished)
	default:
		r.ContentType = field(r.header.ContentType(), maxField, "")
		r.RetryAfter = retryAfter(&r.header, r.Finished)
	}
	r.ETag, r.LastModified = given.etag, given.lastModified
}

// field copies a value out of the parser's buffer, which the next response
// overwrites. When the value is known already, that string is shared.
func field(value []byte, most int, known string) string {
	switch {
	case len(value) > most:
		return ""
	case string(value) == known:
		return known
	}
	return string(value)
}

func isSuccess(status int) bool { return status >= 200 && status < 300 }
