package peer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"
)

// Kind chooses the handler of a call or stream. Numbers below 16 are this package's.
type Kind uint8

const (
	kindHello Kind = iota + 1
	kindPing
)

// FirstKind is the first number that users of the package may give.
const FirstKind Kind = 16

// role says what a frame is.
type role uint8

const (
	roleCall  role = iota // a request
	roleReply             // the handler's answer
	roleError             // the handler's error, as text
	roleNone              // no handler for the kind, or too much under way: not carried out
	roles
)

// frame is what connections carry. On the wire, big-endian:
//
//	length   4  of all after the checksum, at least headerLen−8
//	checksum 4  CRC-32C of all after it
//	kind     1
//	role     1
//	group    8
//	call     8  pairs a reply with its call
//	limit    4  milliseconds that the caller waits; 0 in replies
//	payload
type frame struct {
	kind    Kind
	role    role
	group   uint64
	call    uint64
	limit   time.Duration // whole milliseconds
	payload []byte
}

const (
	prefixLen = 8
	headerLen = prefixLen + 22
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	// errFrame says that what came is no frame: the connection is of no use any more.
	errFrame = errors.New("broken frame")
)

// appendFrame appends the wire form of f.
func appendFrame(b []byte, f frame) []byte {
	b = slices.Grow(b, headerLen+len(f.payload))
	start := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(headerLen-prefixLen+len(f.payload)))
	b = append(b, 0, 0, 0, 0, byte(f.kind), byte(f.role))
	b = binary.BigEndian.AppendUint64(b, f.group)
	b = binary.BigEndian.AppendUint64(b, f.call)
	b = binary.BigEndian.AppendUint32(b, limitMillis(f.limit))
	b = append(b, f.payload...)
	binary.BigEndian.PutUint32(b[start+4:], crc32.Checksum(b[start+prefixLen:], castagnoli))
	return b
}

// limitMillis rounds up: a call with any time left has at least a millisecond.
func limitMillis(d time.Duration) uint32 {
	return uint32(min(max((d+time.Millisecond-1)/time.Millisecond, 0), 1<<31))
}

// readFrame reads one frame with a payload of at most most bytes. What a length
// claims is allocated only as it arrives. The error wraps errFrame, or is the
// reader's; io.EOF only between frames.
func readFrame(r *bufio.Reader, most int) (frame, error) {
	prefix, err := r.Peek(prefixLen)
	if err != nil {
		if len(prefix) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	length := int64(binary.BigEndian.Uint32(prefix))
	sum := binary.BigEndian.Uint32(prefix[4:])
	if length < headerLen-prefixLen || length > int64(headerLen-prefixLen+most) {
		return frame{}, fmt.Errorf("%w: %d bytes, at most %d are taken", errFrame, length, headerLen-prefixLen+most)
	}
	_, _ = r.Discard(prefixLen) // it was just peeked
	body, err := readBody(r, int(length))
	if err != nil {
		return frame{}, err
	}
	if crc32.Checksum(body, castagnoli) != sum {
		return frame{}, fmt.Errorf("%w: checksum", errFrame)
	}
	f := frame{
		kind: Kind(body[0]), role: role(body[1]),
		group: binary.BigEndian.Uint64(body[2:]), call: binary.BigEndian.Uint64(body[10:]),
		limit:   time.Duration(binary.BigEndian.Uint32(body[18:])) * time.Millisecond,
		payload: body[headerLen-prefixLen:],
	}
	if f.role >= roles {
		return frame{}, fmt.Errorf("%w: role %d", errFrame, f.role)
	}
	return f, nil
}

// firstRead is how much of a body is allocated before any of it has arrived.
const firstRead = 64 << 10

func readBody(r io.Reader, length int) ([]byte, error) {
	body := make([]byte, min(length, firstRead))
	for read := 0; ; {
		n, err := io.ReadFull(r, body[read:])
		if read += n; err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if read == length {
			return body, nil
		}
		body = append(body, make([]byte, min(length-read, read))...)
	}
}
