package fetcher

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"
)

const mebibyte = 1 << 20

// A badAnswer is what an origin does when it is asked, and the class that a fetch
// must end in. Its name begins with its row in the table of what must be survived.
type badAnswer struct {
	row    string
	handle func(*side)
	want   Class
}

const ok = "HTTP/1.1 200 OK\r\n"

func bombs() []badAnswer {
	zeros := make([]byte, 4*mebibyte)
	return []badAnswer{
		{"1 gzip bomb", once(coded("gzip", gzipped(zeros))), TooLarge},
		{"1 zlib bomb", once(coded("deflate", zlibbed(zeros))), TooLarge},
		{"1 deflate bomb", once(coded("deflate", deflated(zeros))), TooLarge},
		{"1 br bomb", once(coded("br", brotlied(zeros))), TooLarge},
		{"1 zstd bomb", once(coded("zstd", zstded(zeros))), TooLarge},
	}
}

func lyingCodings() []badAnswer {
	page := []byte(strings.Repeat("<item>something new</item>", 400))
	return []badAnswer{
		{"2 two codings", once(coded("gzip, gzip", gzipped(gzipped(page)))), Encoding},
		{"2 two fields", once(coded("gzip\r\nContent-Encoding: gzip", gzipped(gzipped(page)))), Encoding},
		{"2 two fields, spaced", once(coded("br\r\ncontent-encoding : gzip", gzipped(brotlied(page)))), Encoding},
		{"2 gzip in gzip, one declared", once(coded("gzip", gzipped(gzipped(page)))), Encoding},
		{"2 zstd in br", once(coded("br", brotlied(zstded(page)))), Encoding},
		{"2 undeclared gzip", once(coded("identity", gzipped(page))), Encoding},
		{"2 not gzip", once(coded("gzip", page)), Encoding},
		{"2 not deflate", once(coded("deflate", page)), Encoding},
		{"2 not br", once(coded("br", page)), Encoding},
		{"2 not zstd", once(coded("zstd", page)), Encoding},
		{"2 br with something after it", once(coded("br", append(brotlied(page), page...))), Encoding},
		{"2 gzip with half a gzip after it", once(coded("gzip", append(gzipped(page), half(gzipped(page))...))), Encoding},
		{"2 half a gzip", once(coded("gzip", half(gzipped(page)))), Encoding},
		{"2 half a br", once(coded("br", half(brotlied(page)))), Encoding},
		{"2 half a zstd", once(coded("zstd", half(zstded(page)))), Encoding},
		{"2 half a deflate", once(coded("deflate", half(deflated(page)))), Encoding},
		{"2 gzip called utf-8", once(coded("utf-8", gzipped(page))), Encoding},
		{"2 two codings and a word", once(coded("utf-8, gzip, br", brotlied(gzipped(page)))), Encoding},
		{"2 unknown", once(coded("compress", page)), Encoding},
		{"2 zstd window of 1 GiB", once(coded("zstd", hugeWindow)), Encoding},
	}
}

func endlessAnswers() []badAnswer {
	return []badAnswer{
		{"3 Content-Length 9e18", stuck(ok + "Content-Length: 9000000000000000000\r\n\r\n"), TooLarge},
		{"3 Content-Length 9e19", stuck(ok + "Content-Length: 90000000000000000000\r\n\r\n"), Protocol},
		{"3 Content-Length just beyond", stuck(ok + "Content-Length: 1048577\r\n\r\n"), TooLarge},
		{"3 Content-Length of a liar", once(ok + "Content-Length: 1048576\r\n\r\nshort"), Reset},
		{"4 endless chunks", endless(ok+"Transfer-Encoding: chunked\r\n\r\n", "400\r\n"+strings.Repeat("x", 1024)+"\r\n"), TooLarge},
		{"4 endless chunk", endless(ok+"Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", "xxxxxxxxxxxxxxxx"), TooLarge},
		{"4 endless tiny chunks", endless(ok+"Transfer-Encoding: chunked\r\n\r\n", "1;extension=of-this-chunk\r\nx\r\n"), Protocol},
		{"4 endless body", endless(ok+"\r\n", "xxxxxxxxxxxxxxxx"), TooLarge},
		{"4 endless trailers", endless(ok+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "X-Trailer: x\r\n"), Protocol},
		{"9 10 MiB of head", endless("HTTP/1.1 200 OK\r\n", "X-Filler: "+strings.Repeat("x", 1024)+"\r\n"), TooLarge},
		{"9 one line of 10 MiB", endless("HTTP/1.1 200 OK\r\nX-Filler: ", strings.Repeat("x", 1024)), TooLarge},
		{"9 status line of 10 MiB", endless("HTTP/1.1 200 ", strings.Repeat("x", 1024)), TooLarge},
	}
}

func cutAnswers() []badAnswer {
	return []badAnswer{
		{"8 closes at once", func(s *side) { _ = s.Close() }, Reset},
		{"8 reset instead of an answer", func(s *side) { s.request(); s.abort() }, Reset},
		{"8 reset in the head", func(s *side) { s.answer("HTTP/1.1 200 O"); s.abort() }, Reset},
		{"8 end in the head", once("HTTP/1.1 200 OK\r\nContent-Le"), Reset},
		{"8 reset in the body", func(s *side) { s.answer(ok + "Content-Length: 100\r\n\r\nhalf"); s.abort() }, Reset},
		{"8 short body", once(ok + "Content-Length: 100\r\n\r\nhalf"), Reset},
		{"8 end in a chunk", once(ok + "Transfer-Encoding: chunked\r\n\r\n10\r\nhalf"), Reset},
		{"8 end between chunks", once(ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"), Reset},
		{"8 end before chunks", once(ok + "Transfer-Encoding: chunked\r\n\r\n"), Reset},
	}
}

func badFramings() []badAnswer {
	return []badAnswer{
		{"10 both framings", stuck(ok + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), Protocol},
		{"10 both framings, spaced", stuck(ok + "Transfer-Encoding: chunked\r\nContent-Length : 4\r\n\r\nbody"), Protocol},
		{"10 both framings of a 304", stuck("HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"), Protocol},
		{"10 two lengths", stuck(ok + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody"), Protocol},
		{"10 two lengths in a list", stuck(ok + "Content-Length: 4, 5\r\n\r\nbody"), Protocol},
		{"10 a length and a list", stuck(ok + "Content-Length: 4\r\nContent-Length: 4, 5\r\n\r\nbody"), Protocol},
		{"10 a length written otherwise", stuck(ok + "Content-Length: 4\r\nContent-Length: 04\r\n\r\nbody"), Protocol},
		{"10 a length and none", stuck(ok + "Content-Length: 4,\r\n\r\nbody"), Protocol},
		{"10 both framings, LF alone", stuck("HTTP/1.1 200 OK\nContent-Length: 4\nTransfer-Encoding: chunked\n\n0\r\n\r\n"), Protocol},
		{"10 both framings, one length twice", stuck(ok + "Content-Length: 4\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), Protocol},
		{"10 signed length", stuck(ok + "Content-Length: +4\r\n\r\nbody"), Protocol},
		{"10 behind an empty line", stuck("\r\n" + ok + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), Protocol},
		{"10 unknown transfer coding", stuck(ok + "Transfer-Encoding: gzip, chunked\r\n\r\n"), Protocol},
		{"11 chunk size of letters", stuck(ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n"), Protocol},
		{"11 negative chunk size", stuck(ok + "Transfer-Encoding: chunked\r\n\r\n-1\r\n"), Protocol},
		{"11 chunk size of 20 digits", stuck(ok + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff0\r\n"), Protocol},
		{"11 no chunk size", stuck(ok + "Transfer-Encoding: chunked\r\n\r\n\r\n"), Protocol},
		{"11 chunk longer than its size", stuck(ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nlonger\r\n"), Protocol},
	}
}

func unaskedAnswers() []badAnswer {
	return []badAnswer{
		{"12 endless 100", endless("", "HTTP/1.1 100 Continue\r\n\r\n"), Protocol},
		{"12 endless 103", endless("", "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"), Protocol},
		{"12 101 unasked", stuck("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"), Protocol},
		{"19 304 unasked", stuck("HTTP/1.1 304 Not Modified\r\n\r\n"), Protocol},
		{"206 unasked", stuck("HTTP/1.1 206 Partial Content\r\nContent-Length: 4\r\n\r\nbody"), Protocol},
		{"not HTTP", stuck("SSH-2.0-OpenSSH_9.9\r\n"), Protocol},
		{"HTTP/2", stuck("\x00\x00\x12\x04\x00\x00\x00\x00\x00"), Protocol},
		{"status 42", stuck("HTTP/1.1 042 What\r\n\r\n"), Protocol},
		{"status 999", stuck("HTTP/1.1 999 What\r\n\r\n"), Protocol},
	}
}

// TestBadInput plays the rows that one connection can show. Rows about time are in
// deadline_test.go, about addresses in forbidden_test.go and redirect_test.go, about
// certificates in tls_test.go.
func TestBadInput(t *testing.T) {
	answers := slices.Concat(bombs(), lyingCodings(), endlessAnswers(), cutAnswers(), badFramings(), unaskedAnswers())
	for _, test := range answers {
		t.Run(test.row, func(t *testing.T) {
			o := listen(t, test.handle)
			f := newTestFetcher(t, Config{AllowPrivate: true, MaxBody: mebibyte})
			var err error
			taken := allocated(func() { _, err = f.Fetch(t.Context(), Request{URL: o.url}) })
			wantClass(t, err, test.want)
			if n := o.connections(); n != 1 {
				t.Errorf("%d connections", n)
			}
			o.awaitClosed(0)
			if open := f.pool.open(); open != 0 {
				t.Errorf("%d connections left open", open)
			}
			// The body while it grows, and what a decoder takes for its window.
			if most := uint64(3 * maxWindow); taken > most {
				t.Errorf("took %d bytes of memory; want at most %d", taken, most)
			}
			if len(err.Error()) > 500 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

// TestBadInputMemory is what rows 3, 4 and 9 are about: nothing is taken for what
// was announced, little for what is cut off.
func TestBadInputMemory(t *testing.T) {
	tests := []struct {
		row    string
		handle func(*side)
		most   uint64
	}{
		{"3 Content-Length 9e18", stuck("HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\n"), 128 << 10},
		{"3 Content-Length at the limit, five bytes", once("HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\nshort"), 128 << 10},
		{"4 chunk of 2 GiB announced, five bytes", once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\nshort"), 128 << 10},
		{"9 10 MiB of head", endless("HTTP/1.1 200 OK\r\n", "X-Filler: x\r\n"), 512 << 10},
	}
	for _, test := range tests {
		t.Run(test.row, func(t *testing.T) {
			o := listen(t, test.handle)
			f := newTestFetcher(t, Config{AllowPrivate: true})
			var err error
			taken := allocated(func() { _, err = f.Fetch(t.Context(), Request{URL: o.url}) })
			if err == nil {
				t.Fatal("no error")
			}
			if taken > test.most {
				t.Errorf("took %d bytes of memory; want at most %d", taken, test.most)
			}
		})
	}
}

// allocated returns the bytes that do took from the heap, whether or not they
// were given back: an upper bound of what memory grew by.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// stuck answers the first request and leaves the connection open.
func stuck(raw string) func(*side) {
	return func(s *side) { s.answer(raw) }
}

// endless answers with raw and then with more, until the client closes the connection.
func endless(raw, more string) func(*side) {
	block := []byte(strings.Repeat(more, 1+4096/len(more)))
	return func(s *side) {
		s.answer(raw)
		for {
			if _, err := s.Write(block); err != nil {
				return
			}
		}
	}
}

// coded is a response with a content coding.
func coded(coding string, body []byte) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", coding, len(body), body)
}

func half(b []byte) []byte { return b[:len(b)/2] }

func gzipped(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	write(w, data)
	return out.Bytes()
}

func zlibbed(data []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	write(w, data)
	return out.Bytes()
}

func deflated(data []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		panic(err)
	}
	write(w, data)
	return out.Bytes()
}

func brotlied(data []byte) []byte {
	return fasthttp.AppendBrotliBytesLevel(nil, data, fasthttp.CompressBrotliDefaultCompression)
}

func zstded(data []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(data, nil)
}

func write(w interface {
	Write([]byte) (int, error)
	Close() error
}, data []byte,
) {
	if _, err := w.Write(data); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
}

// hugeWindow is a zstd frame of a few bytes that announces a window of 1 GiB: magic,
// descriptor, window of 2^(10+20), one raw last block of a byte.
var hugeWindow = []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 0x09, 0x00, 0x00, 'x'}
