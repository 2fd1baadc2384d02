package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// The limits of a chunk: what a node is asked for in one call.
const (
	maxChunkLines = 1024
	maxChunkBytes = 256 << 10
)

// chunk is a run of lines of a batch and their answer.
type chunk struct {
	lines  [][]byte // without their ends; nil for a line longer than maxBody
	bytes  int      // of all lines
	answer bytes.Buffer
	done   chan struct{} // closed when answer is there
}

func (c *chunk) add(line []byte) {
	c.lines = append(c.lines, line)
	c.bytes += len(line)
}

func (c *chunk) full() bool { return len(c.lines) >= maxChunkLines || c.bytes >= maxChunkBytes }

// chunkReader cuts a body into chunks. A chunk is what has arrived: it is not
// held back to become larger, so a client that waits for its answers gets them.
type chunkReader struct{ buf *bufio.Reader }

func newChunkReader(body io.Reader) *chunkReader {
	return &chunkReader{bufio.NewReaderSize(body, maxBody+len("\r\n"))}
}

// next returns at least one line, or an error and the lines that came before
// it. The error is the body's: io.EOF at its end.
func (r *chunkReader) next() (*chunk, error) {
	c := &chunk{done: make(chan struct{})}
	for {
		line, err := r.line()
		if err != nil {
			return c, err
		}
		c.add(line)
		if c.full() || !r.holdsLine() {
			return c, nil
		}
	}
}

// holdsLine reports whether a line can be read without waiting.
func (r *chunkReader) holdsLine() bool {
	held, _ := r.buf.Peek(r.buf.Buffered())
	return bytes.IndexByte(held, '\n') >= 0
}

// line returns a copy of the next line without its end, or nil if it is too
// long: it is then read to its end, but not kept. The last line may lack its LF;
// what stands before any other error is no line.
func (r *chunkReader) line() ([]byte, error) {
	line, err := r.buf.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, r.skipLine()
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, err
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if len(line) > maxBody {
		return nil, nil
	}
	return append(make([]byte, 0, len(line)), line...), nil
}

func (r *chunkReader) skipLine() error {
	for {
		switch _, err := r.buf.ReadSlice('\n'); err {
		case bufio.ErrBufferFull:
		case nil, io.EOF:
			return nil
		default:
			return err
		}
	}
}
