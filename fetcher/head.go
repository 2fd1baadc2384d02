package fetcher

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/valyala/fasthttp"
)

// maxInterim is how many interim responses (100, 103) may precede the final one.
const maxInterim = 16

// readHead reads the head of the final response into header and returns the
// reader to go on with: in, or one with a buffer of maxHeader when the head does
// not fit in's.
func readHead(in *bufio.Reader, header *fasthttp.ResponseHeader, maxHeader int) (*bufio.Reader, error) {
	for range maxInterim + 1 {
		head, err := peekHead(in)
		if errors.Is(err, bufio.ErrBufferFull) && in.Size() < maxHeader {
			in = bufio.NewReaderSize(in, maxHeader)
			head, err = peekHead(in)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			return in, fail(TooLarge, "head larger than %d bytes", in.Size())
		}
		if err != nil {
			return in, err
		}
		odd, err := inspectHead(head)
		if err != nil {
			return in, err
		}
		if err := parseHead(in, header, head, odd); err != nil {
			return in, fail(Protocol, "%w", err)
		}
		switch status := header.StatusCode(); {
		case status == fasthttp.StatusSwitchingProtocols:
			return in, fail(Protocol, "101: a switch of protocol that was not asked for")
		case status < 100 || status > 599:
			return in, fail(Protocol, "status %d", status)
		case status >= 200:
			return in, nil
		}
	}
	return in, fail(Protocol, "more than %d interim responses", maxInterim)
}

// peekHead waits until a whole head is in the buffer and returns it, with its
// empty line. The parser below would parse from the start after every packet; and
// it takes a reset for the end of the stream.
func peekHead(in *bufio.Reader) (head []byte, err error) {
	for seen := 0; ; {
		if _, err := in.Peek(seen + 1); err != nil {
			if errors.Is(err, io.EOF) && seen > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		head, err = in.Peek(in.Buffered())
		if err != nil {
			return nil, err
		}
		if !startsAsHTTP(head) {
			return nil, fail(Protocol, "not HTTP/1: begins with %q", head[:min(len(head), 16)])
		}
		// The end may lie across what was seen before.
		from := max(0, seen-2)
		if end := headEnd(head[from:]); end >= 0 {
			return head[:from+end], nil
		}
		seen = len(head)
	}
}

// headEnd returns where the first empty line ends, −1 when there is none. A line may end
// in LF alone (RFC 9112, section 2.2).
func headEnd(b []byte) int {
	end := -1
	if i := bytes.Index(b, []byte("\n\r\n")); i >= 0 {
		end, b = i+3, b[:i+1]
	}
	if i := bytes.Index(b, []byte("\n\n")); i >= 0 {
		end = i + 2
	}
	return end
}

// parseHead parses a head that in begins with. One that is odd is tidied first, so that
// the parser cannot see another end, or another length, than was found here.
func parseHead(in *bufio.Reader, header *fasthttp.ResponseHeader, head []byte, odd bool) error {
	if !odd {
		return header.Read(in)
	}
	tidied := tidy(head)
	if err := header.Read(bufio.NewReaderSize(bytes.NewReader(tidied), len(tidied))); err != nil {
		return err
	}
	_, err := in.Discard(len(head))
	return err
}

// tidy returns a head of HTTP/1.0 or 1.1 whose lines all end in CRLF, with one Content-Length of one
// value. All its values must be the same.
func tidy(head []byte) []byte {
	tidied, length := make([]byte, 0, len(head)+64), false
	for line := range bytes.Lines(head) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if name, value, _ := bytes.Cut(line, []byte(":")); isContentLength(bytes.TrimRight(name, " \t")) {
			if length {
				continue
			}
			value, _, _ = bytes.Cut(value, []byte(","))
			length, line = true, append([]byte("Content-Length: "), bytes.TrimSpace(value)...)
		}
		tidied = append(append(tidied, line...), "\r\n"...)
	}
	if isLater(head) {
		tidied[len(anyHTTP1)] = '1'
	}
	return tidied
}

func isContentLength(name []byte) bool {
	return len(name) == len(fasthttp.HeaderContentLength) && count(name, fasthttp.HeaderContentLength) == 1
}

const anyHTTP1 = "HTTP/1."

// isLater reports whether a head is of a later version than HTTP/1.1. It means what it would mean in
// that one (RFC 9110, section 2.5); the parser takes it for HTTP/1.0.
func isLater(head []byte) bool {
	return len(head) > len(anyHTTP1) && '2' <= head[len(anyHTTP1)] && head[len(anyHTTP1)] <= '9'
}

func startsAsHTTP(head []byte) bool {
	n := min(len(head), len(anyHTTP1))
	return string(head[:n]) == anyHTTP1[:n]
}

// inspectHead refuses what the parser lets pass although two readers of the same
// bytes could disagree on where the response ends (RFC 9112, section 6.3), or on
// what its body is. It reports what is to be tidied before it is parsed: lines that end
// in LF alone, one length that is said more than once (RFC 9110, section 8.6), and a later version.
func inspectHead(head []byte) (odd bool, err error) {
	var lengths, transfers, codings int
	var length []byte
	for line := range bytes.Lines(head) {
		odd = odd || !bytes.HasSuffix(line, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		name = bytes.TrimRight(name, " \t")
		switch len(name) {
		case len(fasthttp.HeaderContentLength):
			if !isContentLength(name) {
				break
			}
			for one := range bytes.SplitSeq(value, []byte(",")) {
				one = bytes.TrimSpace(one)
				if lengths++; lengths > 1 && !bytes.Equal(one, length) {
					return false, fail(Protocol, "Content-Length more than once, with different values")
				}
				length = one
			}
		case len(fasthttp.HeaderContentEncoding):
			codings += count(name, fasthttp.HeaderContentEncoding)
		case len(fasthttp.HeaderTransferEncoding):
			transfers += count(name, fasthttp.HeaderTransferEncoding)
		}
	}
	switch {
	case lengths > 0 && transfers > 0:
		return false, fail(Protocol, "Content-Length with Transfer-Encoding")
	case codings > 1:
		return false, fail(Encoding, "Content-Encoding more than once")
	}
	return odd || lengths > 1 || isLater(head), nil
}

func count(name []byte, of string) int {
	if bytes.EqualFold(name, []byte(of)) {
		return 1
	}
	return 0
}
