// Package transfer is the form in which a range's state travels to another disk:
// a stream that is refused unless it is whole.
//
// A stream is eight bytes "corona\x00S" and then frames:
//
//	kind(1) number(4) raw(4) stored(4) CRC-32C(4) content(stored)
//
// Numbers are big-endian. Frames are numbered from 0. The CRC is that of
// everything else in its frame. Kinds are
//
//	'h'  wire.TransferHeader, first
//	'b'  zstd of raw bytes of pairs; every frame can be unpacked alone
//	't'  wire.TransferTrailer, last: counts, and SHA-256 of all before it
//
// A pair is the length of the key (uvarint), the key, the length of the value
// (uvarint), the value. Keys ascend strictly. Blocks are cut without regard to
// pairs, so that no value is too large for one.
package transfer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Format is the number of this form. It grows when a reader of before would
// misread what is written now.
const Format = 1

// Caps hold for writing and for reading, before memory is taken.
const (
	MaxKey   = 1 << 10
	MaxValue = 5 << 20 // a command has at most 4 MiB

	blockSize = 256 << 10          // raw bytes of a full block: the reach of compression
	maxStored = blockSize + 64<<10 // what does not compress grows a little
)

// ErrStream says that a stream cannot be used: it is cut, damaged, of a newer
// format, or not one at all.
var ErrStream = errors.New("stream of state cannot be used")

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrStream, fmt.Errorf(format, args...))
}

const (
	kindHeader  = 'h'
	kindBlock   = 'b'
	kindTrailer = 't'
)

const frameHead = 17 // bytes before a frame's content

var magic = []byte("corona\x00S")

// frame is the head of one, without its CRC.
type frame struct {
	kind                byte
	number, raw, stored uint32
}

// appendFrame appends a frame. f.stored is taken from content.
func appendFrame(to []byte, f frame, content []byte) []byte {
	start := len(to)
	to = append(to, f.kind)
	to = binary.BigEndian.AppendUint32(to, f.number)
	to = binary.BigEndian.AppendUint32(to, f.raw)
	to = binary.BigEndian.AppendUint32(to, uint32(len(content)))
	to = binary.BigEndian.AppendUint32(to, frameCRC(to[start:], content))
	return append(to, content...)
}

// readHead reads a frame's head and returns it with its CRC.
func readHead(r io.Reader, head *[frameHead]byte) (frame, uint32, error) {
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, 0, err
	}
	f := frame{
		kind: head[0], number: binary.BigEndian.Uint32(head[1:]),
		raw: binary.BigEndian.Uint32(head[5:]), stored: binary.BigEndian.Uint32(head[9:]),
	}
	if f.raw > blockSize || f.stored > maxStored {
		return f, 0, broken("frame of %d bytes, %d unpacked", f.stored, f.raw)
	}
	return f, binary.BigEndian.Uint32(head[13:]), nil
}

func frameCRC(head, content []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:13], castagnoli), castagnoli, content)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
