package sharedlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/bits"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// Pebble takes an unreadable chunk in the newest file of its write-ahead log for
// the end that a power loss left, unless a chunk in a later block of 32 KiB
// promises that it had been synced. In between, damage would silently drop what
// was acknowledged. Its chunks carry how far the file was synced when they were
// written, so that the whole rest of the file can be searched for such a promise.
//
// A chunk: CRC(4) of what follows the length, length(2), encoding(1), number of
// the file(4), synced offset(8), content; numbers are little-endian; no chunk
// crosses a block.
const (
	walBlock      = 32 << 10
	walHeader     = 19
	walFirstKind  = 9 // encodings of chunks with a synced offset
	walLastKind   = 12
	walTrailer    = 5 // encoding of the end of a closed file, with the next file's number
	walMinTrailer = 11
)

// checkTail looks for damage at the end of the newest write-ahead file of the
// store in dir. Older ones pebble checks itself.
func checkTail(files vfs.FS, dir string) error {
	names, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	number, path := newestWAL(files, dir, names)
	if path == "" {
		return nil
	}
	content, err := readWhole(files, path)
	if err != nil {
		return err
	}
	if at, found := walDamage(content, number); found {
		return disk.Corrupt("%s: unreadable at offset %d, though it was synced", path, at)
	}
	return nil
}

// newestWAL returns the write-ahead file with the highest number, if any.
func newestWAL(files vfs.FS, dir string, names []string) (number uint32, path string) {
	for _, name := range names {
		if n, _, ok := wal.ParseLogFilename(name); ok && (path == "" || uint32(n) > number) {
			number, path = uint32(n), files.PathJoin(dir, name)
		}
	}
	return number, path
}

func readWhole(files vfs.FS, path string) ([]byte, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	content, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return content, nil
}

// walDamage returns where a write-ahead file ends to be readable, if a later
// chunk shows that it was synced beyond.
func walDamage(content []byte, number uint32) (at int, found bool) {
	at, whole := walEnd(content, number)
	if whole {
		return at, false
	}
	for i := at + 1; i+walHeader <= len(content); i++ {
		if _, synced, ok := walChunk(content, i, number); ok && synced > uint64(at) {
			return at, true
		}
	}
	return at, false
}

// walEnd returns the offset of the first chunk that cannot be read, and whether
// the file was closed there or has no more.
func walEnd(content []byte, number uint32) (at int, whole bool) {
	for {
		if left := walBlock - at%walBlock; left < walHeader {
			at += left // padding
		}
		if at+walMinTrailer <= len(content) && content[at+6] == walTrailer && binary.LittleEndian.Uint32(content[at+7:]) == number+1 {
			return at, true
		}
		next, _, ok := walChunk(content, at, number)
		if !ok {
			return at, at >= len(content)
		}
		at = next
	}
}

// walChunk reads the chunk at an offset and returns where the next one begins.
func walChunk(content []byte, at int, number uint32) (next int, synced uint64, ok bool) {
	if at+walHeader > len(content) {
		return 0, 0, false
	}
	head := content[at : at+walHeader]
	if head[6] < walFirstKind || head[6] > walLastKind || binary.LittleEndian.Uint32(head[7:]) != number {
		return 0, 0, false
	}
	next = at + walHeader + int(binary.LittleEndian.Uint16(head[4:]))
	if next > len(content) || (next-1)/walBlock != at/walBlock {
		return 0, 0, false
	}
	if binary.LittleEndian.Uint32(head) != walChecksum(content[at+6:next]) {
		return 0, 0, false
	}
	return next, binary.LittleEndian.Uint64(head[11:]), true
}

func walChecksum(content []byte) uint32 {
	return bits.RotateLeft32(crc32.Checksum(content, castagnoli), -15) + 0xa282ead8
}
