package sharedlog

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"

	"github.com/cockroachdb/pebble/v2/wal"
)

// chunks is how a file of pebble's consists of chunks: CRC(4) of what follows the
// length, length(2), encoding(1), and in write-ahead files the number of the file(4)
// and synced offset(8), then content. Numbers are little-endian; no chunk crosses a
// block of 32 KiB.
type chunks struct {
	header      int  // bytes
	first, last byte // encodings of whole chunks and parts
	number      uint32
}

const (
	chunkBlock    = 32 << 10
	walHeader     = 19
	walTrailer    = 5 // encoding of the end of a closed write-ahead file, with the next file's number
	walTrailerLen = 11
)

// chunksOf returns the form of a write-ahead file or a manifest, by its base name.
func chunksOf(name string) chunks {
	if number, _, ok := wal.ParseLogFilename(name); ok {
		return chunks{header: walHeader, first: 9, last: 12, number: uint32(number)}
	}
	return chunks{header: 7, first: 1, last: 4}
}

// end returns how far content can be read: the offset of the first unreadable chunk,
// or of what is behind the last one.
func (c chunks) end(content []byte) int {
	for at := 0; ; {
		if left := chunkBlock - at%chunkBlock; left < c.header && at+left <= len(content) {
			at += left // padding
		}
		if c.closed(content, at) {
			return at + walTrailerLen
		}
		next, ok := c.chunk(content, at)
		if !ok {
			return at
		}
		at = next
	}
}

// closed reports whether a write-ahead file was closed at an offset.
func (c chunks) closed(content []byte, at int) bool {
	return c.header == walHeader && at+walTrailerLen <= len(content) &&
		content[at+6] == walTrailer && binary.LittleEndian.Uint32(content[at+7:]) == c.number+1
}

// chunk checks the chunk at an offset, and returns where the next one begins.
func (c chunks) chunk(content []byte, at int) (next int, ok bool) {
	if at+c.header > len(content) {
		return 0, false
	}
	head := content[at : at+c.header]
	if head[6] < c.first || head[6] > c.last || c.header == walHeader && binary.LittleEndian.Uint32(head[7:]) != c.number {
		return 0, false
	}
	next = at + c.header + int(binary.LittleEndian.Uint16(head[4:]))
	if next > len(content) || (next-1)/chunkBlock != at/chunkBlock {
		return 0, false
	}
	return next, binary.LittleEndian.Uint32(head) == chunkSum(content[at+6:next])
}

func chunkSum(content []byte) uint32 {
	return bits.RotateLeft32(crc32.Checksum(content, castagnoli), -15) + 0xa282ead8
}
