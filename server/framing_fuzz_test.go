package server

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
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
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
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
			if head.last {
				return
			}
			if uint64(request.ContentLength) != head.length || len(request.TransferEncoding) > 0 {
				t.Fatalf("%q: length %d, coded %v; framing has %+v", stream, request.ContentLength, request.TransferEncoding, head)
			}
			if _, err := io.Copy(io.Discard, request.Body); err != nil {
				return
			}
		}
	})
}
