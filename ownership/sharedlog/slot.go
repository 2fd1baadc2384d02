package sharedlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// lengths are the bytes of each append-only file, by its base name, that are synced.
type lengths map[string]int64

// slot is what one slot holds.
type slot struct {
	count  uint64 // of the slots written so far, this one included
	synced lengths
}

// names reports whether next has a file that before has not: its name may not be
// synced yet.
func names(next, before lengths) bool {
	for name := range next {
		if _, ok := before[name]; !ok {
			return true
		}
	}
	return false
}

// encode returns a whole slot: CRC-32C of what follows(4), length of what follows(2),
// count(8), and each file: length of its name(1), name, bytes(8). Numbers are
// big-endian.
func (s slot) encode() ([]byte, error) {
	content := binary.BigEndian.AppendUint64(make([]byte, 6, slotSize), s.count)
	for name, length := range s.synced {
		content = append(append(content, byte(len(name))), name...)
		content = binary.BigEndian.AppendUint64(content, uint64(length))
	}
	if len(content) > slotSize {
		return nil, fmt.Errorf("%d files are too many", len(s.synced))
	}
	binary.BigEndian.PutUint16(content[4:], uint16(len(content)-6))
	binary.BigEndian.PutUint32(content, crc32.Checksum(content[4:], castagnoli))
	return append(content, make([]byte, slotSize-len(content))...), nil
}

// decodeSlot returns a zero slot for one that was never written, or is damaged.
func decodeSlot(content []byte) slot {
	if len(content) < 6 {
		return slot{}
	}
	end := 6 + int(binary.BigEndian.Uint16(content[4:]))
	if end < 14 || end > len(content) || binary.BigEndian.Uint32(content) != crc32.Checksum(content[4:end], castagnoli) {
		return slot{}
	}
	s := slot{count: binary.BigEndian.Uint64(content[6:]), synced: make(lengths)}
	for rest := content[14:end]; len(rest) > 0; {
		n := 1 + int(rest[0])
		if len(rest) < n+8 {
			return slot{}
		}
		s.synced[string(rest[1:n])], rest = int64(binary.BigEndian.Uint64(rest[n:])), rest[n+8:]
	}
	return s
}
