package fetcher

import (
	"time"

	"github.com/valyala/fasthttp"
)

// Response is what an origin answered at the end of the redirects.
type Response struct {
	// Status is the status code. Codes beyond 2xx are responses, not errors; of
	// redirects only those that are followed are not seen here.
	Status int

	// Body is the content without its content coding, whole: at most
	// [Config.MaxBody] bytes, valid until Release. It is nil unless Status is 2xx.
	Body []byte

	// ContentType is the field's value, "" when absent or longer than 256 bytes, and
	// on a 304.
	ContentType string

	// ETag and LastModified are the validators of the content: opaque, to be sent
	// back as they are. On a 304 that repeats none, they are the request's. "" when
	// absent or longer than 1024 bytes.
	ETag, LastModified string

	// FinalURL is the URL, canonical, that answered: the request's, or the last
	// redirect's target.
	FinalURL string

	// RetryAfter is the field's value as the origin wrote it, "" on a 2xx or 304,
	// when absent, or longer than 256 bytes.
	RetryAfter string

	// WireBytes counts what was received, over all hops: heads and bodies as they
	// came, without what TLS adds.
	WireBytes int64

	// Started and Finished are when Fetch began and when the response was complete.
	Started, Finished time.Time

	fetcher *Fetcher // nil once released
	header  fasthttp.ResponseHeader
	scratch []byte // the request's head, then the body as it came
	decoded []byte // Body's memory when it was coded
}

// The most that is kept of a field, in bytes. Validators are stored per channel
// and sent back; nothing that means well is longer.
const (
	maxField     = 256
	maxValidator = 1024
)

// retain is the largest buffer, in bytes, that waits in the pool for the next
// fetch: most documents fit, and a burst of large ones leaves no memory behind.
const retain = 256 << 10

// Release gives the response's memory back. Body is invalid afterwards; the
// strings that were taken from it stay. Further calls do nothing.
func (r *Response) Release() {
	f := r.fetcher
	if f == nil {
		return
	}
	r.fetcher = nil
	r.Status, r.Body, r.WireBytes = 0, nil, 0
	r.ContentType, r.ETag, r.LastModified, r.FinalURL, r.RetryAfter = "", "", "", "", ""
	r.Started, r.Finished = time.Time{}, time.Time{}
	r.scratch, r.decoded = kept(r.scratch), kept(r.decoded)
	f.responses.Put(r)
}

// kept returns a buffer for the next fetch, nil when it is too large to wait.
func kept(buffer []byte) []byte {
	if cap(buffer) > retain {
		return nil
	}
	return buffer[:0]
}

// readFields copies what callers see out of the parsed head. asked holds the
// validators that the request carried.
func (r *Response) readFields(asked validators) {
	r.Status = r.header.StatusCode()
	r.ETag = field(r.header.Peek(fasthttp.HeaderETag), maxValidator, asked.etag)
	r.LastModified = field(r.header.Peek(fasthttp.HeaderLastModified), maxValidator, asked.lastModified)
	r.ContentType, r.RetryAfter = "", ""
	switch {
	case r.Status == fasthttp.StatusNotModified:
		if r.ETag == "" && r.LastModified == "" {
			r.ETag, r.LastModified = asked.etag, asked.lastModified
		}
	case isSuccess(r.Status):
		r.ContentType = field(r.header.ContentType(), maxField, "")
	default:
		r.ContentType = field(r.header.ContentType(), maxField, "")
		r.RetryAfter = field(r.header.Peek(fasthttp.HeaderRetryAfter), maxField, "")
	}
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
