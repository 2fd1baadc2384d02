package fetcher

import (
	"bufio"
	"errors"
	"io"
	"net/http/httputil"
	"time"

	"github.com/valyala/fasthttp"
)

// readBody appends the body that header announces to dst, at most limit bytes. It
// takes memory, from m, for what has arrived, not for what was announced. framed
// reports that the body's end was marked, so that another response may follow.
//
// The library's own readers are not used: one allocates what Content-Length says,
// the other takes a chunked body that ends between two chunks for a whole one.
func readBody(in *bufio.Reader, header *fasthttp.ResponseHeader, m *account, dst []byte, limit int) (body []byte, framed bool, err error) {
	switch length := header.ContentLength(); {
	case length > limit:
		return dst, false, fail(TooLarge, "Content-Length %d is beyond %d", length, limit)
	case length >= 0:
		body, err = m.readAll(dst, io.LimitReader(in, int64(length)), length)
		if err == nil && len(body) < length {
			err = fail(Reset, "body ends after %d of %d bytes", len(body), length)
		}
		return body, true, err
	case length == chunked:
		return readChunked(in, m, dst, limit)
	}
	body, err = m.readAll(dst, in, limit)
	return body, false, err
}

// chunked is what the parser gives for the length of a chunked body.
const chunked = -1

func readChunked(in *bufio.Reader, m *account, dst []byte, limit int) (body []byte, framed bool, err error) {
	body, err = m.readAll(dst, httputil.NewChunkedReader(in), limit)
	if err != nil {
		return body, false, err
	}
	// What trailers say must not pass for fields of the head (RFC 9110, section
	// 6.5.1). The body is whole: some servers leave out the empty line after it.
	var trailers fasthttp.ResponseHeader
	switch err := trailers.ReadTrailer(in); {
	case errors.Is(err, io.EOF):
		return body, false, nil
	case err != nil:
		return body, false, err
	}
	return body, true, nil
}

// readAll appends what r has to dst, until its end. More than limit bytes are
// TooLarge.
func (a *account) readAll(dst []byte, r io.Reader, limit int) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			grown, err := a.grow(dst, 2, limit)
			if err != nil {
				return grown, err
			}
			dst = grown
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if n > 0 && a.held > 0 {
			a.live(time.Now(), n)
		}
		if len(dst) > limit {
			return dst, tooLarge(limit)
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, a.failed(err)
		}
	}
}

// failed returns why a body could not be read on.
func (a *account) failed(err error) error {
	if !a.wasCut() {
		return err
	}
	return errSlow
}

// errSlow ends a body that made too little use of memory that others waited for.
var errSlow = fail(Timeout, "its answer came too slowly while others waited for memory")

func tooLarge(limit int) error { return fail(TooLarge, "body larger than %d bytes", limit) }
