package stream

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-91e7e7c1/corona/channel"
)

// ErrCursor means that a text is no cursor of a stream.
var ErrCursor = errors.New("not a cursor")

// A cursor on the wire is base64url without padding of
//
//	version (1 byte, 1) epoch (8, big-endian) stamp (8) bucket (2)
const (
	cursorVersion = 1
	cursorBytes   = 1 + 8 + 8 + 2
)

var cursorEncoding = base64.RawURLEncoding.Strict()

// encodeCursor returns the text that a client sends back to go on behind c.
func encodeCursor(epoch uint64, c channel.Cursor) string {
	raw := make([]byte, 0, cursorBytes)
	raw = append(raw, cursorVersion)
	raw = binary.BigEndian.AppendUint64(raw, epoch)
	raw = binary.BigEndian.AppendUint64(raw, c.Stamp)
	raw = binary.BigEndian.AppendUint16(raw, uint16(c.Bucket))
	return cursorEncoding.EncodeToString(raw)
}

// decodeCursor reads what encodeCursor wrote; the error wraps [ErrCursor].
func decodeCursor(text string) (epoch uint64, c channel.Cursor, err error) {
	if len(text) != cursorEncoding.EncodedLen(cursorBytes) {
		return 0, channel.Cursor{}, fmt.Errorf("%w: %d characters", ErrCursor, len(text))
	}
	raw, err := cursorEncoding.DecodeString(text)
	if err != nil {
		return 0, channel.Cursor{}, fmt.Errorf("%w: %w", ErrCursor, err)
	}
	if len(raw) != cursorBytes { // the decoder passes over line ends
		return 0, channel.Cursor{}, fmt.Errorf("%w: %d bytes", ErrCursor, len(raw))
	}
	if raw[0] != cursorVersion {
		return 0, channel.Cursor{}, fmt.Errorf("%w: version %d", ErrCursor, raw[0])
	}
	c = channel.Cursor{Stamp: binary.BigEndian.Uint64(raw[9:]), Bucket: channel.Bucket(binary.BigEndian.Uint16(raw[17:]))}
	if c.Bucket >= channel.Buckets {
		return 0, channel.Cursor{}, fmt.Errorf("%w: bucket %d", ErrCursor, c.Bucket)
	}
	return binary.BigEndian.Uint64(raw[1:]), c, nil
}
