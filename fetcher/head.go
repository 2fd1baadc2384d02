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
		if err := inspectHead(head); err != nil {
			return in, err
		}
		if err := header.Read(in); err != nil {
			return in, fail(Protocol, "%w", err)
		}
		switch status := header.StatusCode(); {
		case status == fasthttp.StatusSwitchingProtocols:
			return in, fail(Protocol, "101: another protocol, which nobody asked for")
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
		from := max(0, seen-3)
		if i := bytes.Index(head[from:], []byte("\r\n\r\n")); i >= 0 {
			return head[:from+i+4], nil
		}
		if bytes.Contains(head[from:], []byte("\n\n")) {
			return nil, fail(Protocol, "lines of the head end in LF alone")
		}
		seen = len(head)
	}
}

func startsAsHTTP(head []byte) bool {
	const magic = "HTTP/1."
	n := min(len(head), len(magic))
	return string(head[:n]) == magic[:n]
}

// inspectHead refuses what the parser lets pass although two readers of the same
// bytes could disagree on where the response ends (RFC 9112, section 6.3), or on
// what its body is.
func inspectHead(head []byte) error {
	var lengths, transfers, codings int
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		name = bytes.TrimRight(name, " \t")
		switch len(name) {
		case len(fasthttp.HeaderContentLength):
			lengths += count(name, fasthttp.HeaderContentLength)
		case len(fasthttp.HeaderContentEncoding):
			codings += count(name, fasthttp.HeaderContentEncoding)
		case len(fasthttp.HeaderTransferEncoding):
			transfers += count(name, fasthttp.HeaderTransferEncoding)
		}
	}
	switch {
	case lengths > 1:
		return fail(Protocol, "Content-Length more than once")
	case lengths > 0 && transfers > 0:
		return fail(Protocol, "Content-Length with Transfer-Encoding")
	case codings > 1:
		return fail(Encoding, "Content-Encoding more than once")
	}
	return nil
}

func count(name []byte, of string) int {
	if bytes.EqualFold(name, []byte(of)) {
		return 1
	}
	return 0
}
