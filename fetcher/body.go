package fetcher

import (
	"bufio"
	"errors"
	"io"
	"net/http/httputil"

	"github.com/valyala/fasthttp"
)

// readBody appends the body that header announces to dst, at most limit bytes. It
// takes memory for what has arrived, not for what was announced. framed reports
// that the body's end was marked, so that another response may follow.
//
// The library's own readers are not used: one allocates what Content-Length says,
// the other takes a chunked body that ends between two chunks for a whole one.
func readBody(in *bufio.Reader, header *fasthttp.ResponseHeader, dst []byte, limit int) (body []byte, framed bool, err error) {
	switch length := header.ContentLength(); {
	case length > limit:
		return dst, false, fail(TooLarge, "Content-Length %d is beyond %d", length, limit)
	case length >= 0:
		body, err = readAll(dst, io.LimitReader(in, int64(length)), limit)
		if err == nil && len(body) < length {
			err = fail(Reset, "body ends after %d of %d bytes: %w", len(body), length, io.ErrUnexpectedEOF)
		}
		return body, true, err
	case length == chunked:
		return readChunked(in, header, dst, limit)
	}
	body, err = readAll(dst, in, limit)
	return body, false, err
}

// chunked is what the parser gives for the length of a chunked body.
const chunked = -1

func readChunked(in *bufio.Reader, header *fasthttp.ResponseHeader, dst []byte, limit int) (body []byte, framed bool, err error) {
	body, err = readAll(dst, httputil.NewChunkedReader(in), limit)
	if err != nil {
		return body, false, err
	}
	// The body is whole. Some servers leave out the empty line after its last chunk.
	switch err := header.ReadTrailer(in); {
	case errors.Is(err, io.EOF):
		return body, false, nil
	case err != nil:
		return body, false, err
	}
	return body, true, nil
}

// readAll appends what r has to dst, until its end. More than limit bytes are
// TooLarge.
func readAll(dst []byte, r io.Reader, limit int) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			dst = grow(dst, limit)
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if len(dst) > limit {
			return dst, fail(TooLarge, "body larger than %d bytes", limit)
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// grow returns dst with twice the room, at least 4 KiB, and at most one byte more
// than limit: the byte that tells a full body from one too large.
func grow(dst []byte, limit int) []byte {
	size := min(max(2*cap(dst), 4<<10), limit+1)
	grown := make([]byte, len(dst), max(size, cap(dst)+1))
	copy(grown, dst)
	return grown
}
