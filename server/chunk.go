package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// The limits of a chunk: what a node is asked for in one call. A range takes about
// as long for a few lines as for many, so a chunk for 16 ranges is large.
const (
	maxChunkLines = 4096
	maxChunkBytes = 512 << 10
)

// The limits of what a chunk grows by at once, but for its last line.
const (
	maxPieceLines = 256
	maxPieceBytes = 64 << 10
)

// chunk is a run of lines of a batch and their answer.
type chunk struct {
	lines  [][]byte // without their ends; nil for a line longer than maxBody
	bytes  int      // of all lines
	answer []byte
	done   chan struct{} // closed when answer is there
}

// full reports that another piece may not fit into a number of lines.
func (c *chunk) full(most int) bool {
	return len(c.lines) > most-maxPieceLines || c.bytes > maxChunkBytes-maxPieceBytes
}

// join puts the lines of a piece behind those of the chunk.
func (c *chunk) join(piece *chunk) {
	c.lines = append(c.lines, piece.lines...)
	c.bytes += piece.bytes
}

// slowChunk is how long a chunk may take: far less than a node has to answer, since
// it waits for the chunks before it.
const slowChunk = time.Second

// chunkSize is how many lines chunks of a batch may have: as many as the node does
// in time. It is safe for concurrent use.
type chunkSize struct{ lines atomic.Int64 }

func newChunkSize() *chunkSize {
	size := &chunkSize{}
	size.lines.Store(maxChunkLines / 4)
	return size
}

func (s *chunkSize) get() int { return int(s.lines.Load()) }

// learn takes how long a chunk of so many lines took.
func (s *chunkSize) learn(lines int, took time.Duration) {
	most := s.lines.Load()
	switch {
	case took > slowChunk:
		s.lines.Store(max(most/2, maxPieceLines))
	case took < slowChunk/4 && int64(lines) > most/2:
		s.lines.Store(min(most*2, maxChunkLines))
	}
}

// chunkReader cuts a body into pieces: chunks that are small. A piece is what has
// arrived: it is not held back to become larger, so a client that waits for its
// answers gets them.
type chunkReader struct{ buf *bufio.Reader }

func newChunkReader(body io.Reader) *chunkReader {
	return &chunkReader{bufio.NewReaderSize(body, maxBody+len("\r\n"))}
}

// next returns at least one line, or an error and the lines that came before
// it. The error is the body's: io.EOF at its end.
func (r *chunkReader) next() (*chunk, error) {
	c := &chunk{done: make(chan struct{})}
	var text []byte // of the lines, which stay where they are when it grows
	for {
		line, err := r.line()
		if err != nil {
			return c, err
		}
		if line != nil {
			if text == nil {
				text = make([]byte, 0, len(line)+min(r.buf.Buffered(), maxPieceBytes))
			}
			begin := len(text)
			text = append(text, line...)
			line = text[begin:len(text):len(text)]
		}
		c.lines, c.bytes = append(c.lines, line), c.bytes+len(line)
		if len(c.lines) >= maxPieceLines || c.bytes >= maxPieceBytes || !r.holdsLine() {
			return c, nil
		}
	}
}

// holdsLine reports whether a line can be read without waiting.
func (r *chunkReader) holdsLine() bool {
	held, _ := r.buf.Peek(r.buf.Buffered())
	return bytes.IndexByte(held, '\n') >= 0
}

// line returns the next line without its end, until the next call, or nil if it
// is too long: it is then read to its end. The last line may lack its LF; what
// stands before any other error is no line.
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
	return line, nil
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
