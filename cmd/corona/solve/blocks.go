package solve

import (
	"bytes"
	"errors"
	"io"
)

// A block is whole records of a CSV file, one after another.
type block struct {
	text  []byte
	line  int  // lines before it
	plain bool // it has no quotes
}

// blockReader cuts a file into blocks, so that they can be parsed side by side.
type blockReader struct {
	in   io.Reader
	rest []byte // read, but of the next block
	line int
	free [][]byte // buffers that can be used again
	done bool
}

// blockSize is the bytes read for a block: more than a record can have.
const blockSize = 4 * maxRecord

// next returns the next block, or io.EOF.
func (r *blockReader) next() (block, error) {
	text, err := r.fill()
	if err != nil {
		return block{}, err
	}
	quotes := bytes.Count(text, []byte{'"'})
	end := len(text)
	if !r.done {
		end = lastEnd(text, quotes)
	}
	r.rest = append(r.rest[:0], text[end:]...)
	b := block{text: text[:end], line: r.line, plain: quotes == 0}
	r.line += bytes.Count(b.text, []byte{'\n'})
	return b, nil
}

// fill returns what was left over and what follows it, a block's size together but
// at the end of the file.
func (r *blockReader) fill() ([]byte, error) {
	if r.done {
		return nil, io.EOF
	}
	var text []byte
	if n := len(r.free); n > 0 {
		text, r.free = r.free[n-1], r.free[:n-1]
	} else {
		text = make([]byte, blockSize)
	}
	had := copy(text[:blockSize], r.rest)
	n, err := io.ReadFull(r.in, text[had:blockSize])
	text = text[:had+n]
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		r.done, err = true, nil
		if len(text) == 0 {
			return nil, io.EOF
		}
	}
	return text, err
}

// release takes back the memory of a block.
func (r *blockReader) release(b block) {
	if cap(b.text) >= blockSize {
		r.free = append(r.free, b.text)
	}
}

// lastEnd returns where the last record ends that is whole: behind a line end that
// an even number of quotes precede. Where there is none, the first record is longer
// than a record may be, and it is for the parser to say what is wrong with it.
func lastEnd(text []byte, quotes int) int {
	for end := len(text); ; {
		newline := bytes.LastIndexByte(text[:end], '\n')
		if newline < 0 {
			return len(text)
		}
		quotes -= bytes.Count(text[newline+1:end], []byte{'"'})
		if quotes%2 == 0 {
			return newline + 1
		}
		end = newline
	}
}
