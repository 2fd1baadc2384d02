package server

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What framing takes for requests is what net/http reads, however the bytes
// arrive, until the first request that no other may follow.
func FuzzFraming(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\ncontent-length:\t5 \r\n\r\n\r\n\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nX: 1\r\n Content-Length: 5\r\n\r\n12345",
		"POST / HTTP/1.1\nContent-Length : 5\n\n12345",
	} {
		f.Add([]byte(seed), 7)
	}
	f.Fuzz(func(t *testing.T, stream []byte, piece int) { checkFramingOf(t, stream, piece) })
}

// The same of streams that are put together from what heads are made of, which
// bytes at random seldom are.
func TestFramingFollowsRequests(t *testing.T) {
	parts := rapid.SampledFrom([]string{
		"GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.0\r\n", "Content-Length: 3\r\n", "content-length:\t12 \r\n",
		"Content-Length: 0\r\n", "Content-Length : 3\r\n", "Content-Length: x\r\n", "Transfer-Encoding: chunked\r\n", "X: a\r\n", " b\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r",
		"abc", "GET", "0\r\n\r\n", "X: " + strings.Repeat("x", 100) + "\r\n",
	})
	whole := rapid.SampledFrom([]string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
		"POST / HTTP/1.1\r\nContent-Length: 25\r\n\r\nX: a\r\nContent-Length: 7\r\n", "POST / HTTP/1.1\r\nContent-Length: 21\r\n\r\nContent-Length: 9\r\n\r\n",
	})
	rapid.Check(t, func(t *rapid.T) {
		stream := strings.Join(rapid.SliceOfN(whole, 0, 5).Draw(t, "whole"), "") + strings.Join(rapid.SliceOfN(parts, 0, 20).Draw(t, "parts"), "")
		checkFramingOf(t, []byte(stream), rapid.IntRange(1, 100).Draw(t, "piece"))
	})
}

// checkFramingOf feeds a stream in pieces of a length.
func checkFramingOf(t interface{ Fatalf(string, ...any) }, stream []byte, piece int) {
	var seen framing
	for rest := stream; len(rest) > 0; {
		n := min(max(piece, 1), len(rest))
		seen.feed(rest[:n])
		rest = rest[n:]
	}
	from := bufio.NewReader(bytes.NewReader(stream))
	for {
		request, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		head := seen.take()
		if head.last && head.wrong != "its head was not understood" {
			return
		}
		if head.last || uint64(request.ContentLength) != head.length || len(request.TransferEncoding) > 0 {
			t.Fatalf("%q: length %d, coded %v; framing has %+v", stream, request.ContentLength, request.TransferEncoding, head)
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
	}
}
