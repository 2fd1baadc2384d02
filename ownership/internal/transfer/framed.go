package transfer

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// framed reads what begins with a magic number and consists of frames.
type framed struct {
	from   io.Reader
	hash   hash.Hash // of all that was read
	at     int64     // bytes that were read
	number uint32    // of the next frame
	head   [frameHead]byte
	stored []byte
}

func newFramed(from io.Reader) framed { return framed{from: from, hash: sha256.New()} }

// begins reads the magic number.
func (r *framed) begins(magic []byte) error {
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(r.from, start); err != nil {
		return cut(err, "at its begin")
	}
	if !bytes.Equal(start, magic) {
		return broken("begins with %q", start)
	}
	r.hash.Write(start)
	r.at += int64(len(start))
	return nil
}

// ends refuses anything behind the last frame.
func (r *framed) ends() error {
	if n, err := io.ReadFull(r.from, r.head[:1]); n > 0 || !errors.Is(err, io.EOF) {
		return cut(err, "after its end") // or goes on
	}
	return nil
}

// frame reads and checks one frame. Its content holds until the next call.
func (r *framed) frame() (kind byte, content []byte, err error) {
	f, crc, err := readHead(r.from, &r.head)
	if err != nil {
		return 0, nil, cut(err, "in frame %d", r.number)
	}
	if f.number != r.number {
		return 0, nil, broken("frame %d where %d was due", f.number, r.number)
	}
	if uint32(cap(r.stored)) < f.stored {
		r.stored = make([]byte, f.stored)
	}
	r.stored = r.stored[:f.stored]
	if _, err := io.ReadFull(r.from, r.stored); err != nil {
		return 0, nil, cut(err, "in frame %d", r.number)
	}
	if frameCRC(r.head[:], r.stored) != crc {
		return 0, nil, broken("checksum of frame %d does not match", r.number)
	}
	r.hash.Write(r.head[:])
	r.hash.Write(r.stored)
	r.at += int64(frameHead + len(r.stored))
	r.number++
	return f.kind, r.stored, nil
}

// cut turns an early end into ErrStream, and a late one.
func cut(err error, format string, args ...any) error {
	where := fmt.Sprintf(format, args...)
	switch {
	case err == nil:
		return broken("goes on %s", where)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return broken("is cut %s", where)
	case errors.Is(err, ErrStream):
		return err
	default:
		return fmt.Errorf("read stream of state %s: %w", where, err)
	}
}
