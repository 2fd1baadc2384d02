package volume

import "math"

// Level says how much room a volume has.
type Level int32

const (
	// OK: all is done.
	OK Level = iota
	// Low: the room is less than the reserve. Nothing new is taken on.
	Low
	// Critical: the room is less than half of the reserve, or a write found no space.
	// Only what records progress, deletes or frees space is written.
	Critical
)

func (l Level) String() string {
	return [...]string{"ok", "low", "critical"}[l]
}

// next is the level of a volume that was at level l, by its room: the bytes that
// are free, and those of the ballast. What was left is not entered again at once:
// it takes half as much room again to come back.
func (l Level) next(room, reserve uint64) Level {
	switch {
	case room < reserve/2:
		return Critical
	case l == Critical && room < reserve/4*3:
		return Critical
	case room < reserve:
		return Low
	case l != OK && room < reserve+reserve/2:
		return Low
	default:
		return OK
	}
}

const (
	// mostReserve is what full memtables of all stores, their files of the write-ahead
	// log, and a compaction need: docs/decisions has the sum.
	mostReserve = 1 << 30
	// LeastReserve is the smallest reserve, in bytes, that a node works with.
	LeastReserve = 4 << 20
)

// DefaultReserve is a tenth of a file system of so many bytes, between
// [LeastReserve] and 1 GiB.
func DefaultReserve(total uint64) uint64 {
	return min(max(total/10, LeastReserve), mostReserve)
}

// ballastOf is how many bytes of a reserve are held by a file. They are given up at
// the latest when all the rest is used.
func ballastOf(reserve uint64) uint64 { return reserve / 4 }

// neededToStart is the room, in bytes, without which a node does not start: for new
// files of the write-ahead logs and what is written before anything can be deleted.
func neededToStart(reserve uint64) uint64 { return reserve / 8 }

// MemTable is how large, in bytes, a store's memtable may be for its flush and its
// write-ahead log to fit the reserve: a sixteenth of it, between 1 and 64 MiB. A nil
// volume is a large one.
func (v *Volume) MemTable() uint64 {
	reserve := uint64(math.MaxUint64)
	if v != nil {
		reserve = v.reserve
	}
	return min(max(reserve/16, 1<<20), 64<<20)
}
