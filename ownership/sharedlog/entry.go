package sharedlog

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
	"github.com/seed-91e7e7c1/corona/ownership/internal/disk"
)

// Keys of the log. G is the group (4 bytes):
//
//	G 'k' name      → a value of raft's stable store
//	G 'l' index(8)  → a log entry
//	G 's'           → the group's newest snapshot
//	0xFFFFFFFF 'o'  → whose log this is
//
// Every value begins with the CRC-32C of key and content, so that a value in the
// wrong place is found as well as a damaged one.
const (
	kindStable   = 'k'
	kindEntry    = 'l'
	kindSnapshot = 's'
	kindIdentity = 'o'
	noGroup      = 0xFFFFFFFF
)

func groupKey(group uint32, kind byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 32), group), kind)
}

func entryKey(group uint32, index uint64) []byte {
	return binary.BigEndian.AppendUint64(groupKey(group, kindEntry), index)
}

func entryIndex(key []byte) uint64 { return binary.BigEndian.Uint64(key[5:]) }

func identityKey() []byte { return groupKey(noGroup, kindIdentity) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// setSealed writes a record with a checksum of key and content before the content.
func setSealed(batch *pebble.Batch, key []byte, size int, fill func(to []byte)) {
	op := batch.SetDeferred(len(key), 4+size)
	copy(op.Key, key)
	fill(op.Value[4:])
	binary.BigEndian.PutUint32(op.Value, checksum(key, op.Value[4:]))
	_ = op.Finish() // fails only for a batch that was written already
}

// unseal returns a record's content, or disk.ErrCorrupt when its checksum does not match.
func unseal(key, value []byte) ([]byte, error) {
	if len(value) < 4 || binary.BigEndian.Uint32(value) != checksum(key, value[4:]) {
		return nil, disk.Corrupt("checksum of log key %x does not match", key)
	}
	return value[4:], nil
}

func checksum(key, content []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, content)
}

// An entry's content: term(8) type(1) appended at(8, ns) extensions(4) and their
// bytes, then data.
const entryHead = 8 + 1 + 8 + 4

func entrySize(log *raft.Log) int { return entryHead + len(log.Extensions) + len(log.Data) }

func fillEntry(to []byte, log *raft.Log) {
	binary.BigEndian.PutUint64(to, log.Term)
	to[8] = byte(log.Type)
	binary.BigEndian.PutUint64(to[9:], uint64(nanos(log.AppendedAt)))
	binary.BigEndian.PutUint32(to[17:], uint32(len(log.Extensions)))
	copy(to[entryHead:], log.Extensions)
	copy(to[entryHead+len(log.Extensions):], log.Data)
}

// readEntry fills log from content, which it copies.
func readEntry(content []byte, index uint64, log *raft.Log) error {
	if len(content) < entryHead {
		return disk.Corrupt("log entry %d has %d bytes", index, len(content))
	}
	extensions := int64(binary.BigEndian.Uint32(content[17:]))
	if int64(len(content)) < entryHead+extensions {
		return disk.Corrupt("log entry %d: extensions of %d bytes", index, extensions)
	}
	rest := append([]byte{}, content[entryHead:]...)
	*log = raft.Log{
		Index:      index,
		Term:       binary.BigEndian.Uint64(content),
		Type:       raft.LogType(content[8]),
		AppendedAt: fromNanos(int64(binary.BigEndian.Uint64(content[9:]))),
		Data:       rest[extensions:],
	}
	if extensions > 0 {
		log.Extensions = rest[:extensions:extensions]
	}
	return nil
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
