package store

import (
	"encoding/binary"
	"math"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// ChannelRow is what the ledger keeps of a channel. Times are nanoseconds since 1970.
//
//	4  'c'                      28  size (uint32)        50  drift (uint16)
//	5  1: refused, 2: shown     32  lastPoll (int64)     52  polls (uint16)
//	6  status (uint16)          40  notBefore (int64)    54  per intervals (1 byte)
//	8  ID (20 bytes)            48  failures (uint16)    55  rank (1 byte)
//	                                                     56  incarnation (uint64)
//
// A rate or rank that is too high is not kept: polls is 0.
type ChannelRow struct {
	ID               channel.ID
	Incarnation      uint64
	LastPoll         int64  // when its last request began
	NotBefore        int64  // the origin asked not to be asked before; 0: it did not
	Size             uint32 // expected bytes on the wire
	Status, Failures uint16 // of the last response; of the origin, in a row
	Drift, Rank      uint16
	Rate             overlay.Rate
	Refused, Shown   bool // the last poll was refused; it showed the current version
}

const (
	channelKind = 'c'

	wasRefused = 1
	hasShown   = 2
)

func (r *ChannelRow) fill(row *ledgerRow) {
	row[4] = channelKind
	if r.Refused {
		row[5] |= wasRefused
	}
	if r.Shown {
		row[5] |= hasShown
	}
	if r.Rate.Polls <= math.MaxUint16 && r.Rate.Intervals <= math.MaxUint8 && r.Rank <= math.MaxUint8 {
		binary.LittleEndian.PutUint16(row[50:], r.Drift)
		binary.LittleEndian.PutUint16(row[52:], uint16(r.Rate.Polls))
		row[54], row[55] = uint8(r.Rate.Intervals), uint8(r.Rank)
	}
	binary.LittleEndian.PutUint16(row[6:], r.Status)
	copy(row[8:28], r.ID[:])
	binary.LittleEndian.PutUint32(row[28:], r.Size)
	binary.LittleEndian.PutUint64(row[32:], uint64(r.LastPoll))
	binary.LittleEndian.PutUint64(row[40:], uint64(r.NotBefore))
	binary.LittleEndian.PutUint16(row[48:], r.Failures)
	binary.LittleEndian.PutUint64(row[56:], r.Incarnation)
}

func readChannelRow(row *ledgerRow) ChannelRow {
	return ChannelRow{
		ID:          channel.ID(row[8:28]),
		Incarnation: binary.LittleEndian.Uint64(row[56:]),
		LastPoll:    int64(binary.LittleEndian.Uint64(row[32:])),
		NotBefore:   int64(binary.LittleEndian.Uint64(row[40:])),
		Size:        binary.LittleEndian.Uint32(row[28:]),
		Status:      binary.LittleEndian.Uint16(row[6:]),
		Failures:    binary.LittleEndian.Uint16(row[48:]),
		Refused:     row[5]&wasRefused != 0,
		Shown:       row[5]&hasShown != 0,
		Drift:       binary.LittleEndian.Uint16(row[50:]),
		Rate:        overlay.Rate{Polls: uint32(binary.LittleEndian.Uint16(row[52:])), Intervals: uint32(row[54])},
		Rank:        uint16(row[55]),
	}
}

// Differs reports whether a poll changed more of a row than the time, the size and the
// pace, which are written when the next poll begins.
func (r ChannelRow) Differs(other ChannelRow) bool {
	r.LastPoll, r.Size = other.LastPoll, other.Size
	r.Rate, r.Rank, r.Drift = other.Rate, other.Rank, other.Drift
	return r != other
}

// HostRow is what the ledger keeps of a host that has refused, or that redirects
// led to: the polls of its own channels are in theirs.
//
//	4  'h'                 32  freeAt (int64)
//	5  refusals            40  rests until (int64)
//	6  denials, 1 of 0     48  last refusal (int64)
//	8  ID (20), 4 of 0     56  good since (int64)
type HostRow struct {
	ID            channel.ID
	FreeAt        int64 // its gap allows no request before
	Until         int64 // it rests; 0: it never did
	Last          int64 // when it last refused; 0: never
	Good          int64 // since when it has answered well after that; 0: not yet
	Count, Denied uint8 // refusals in a row; 403s in a row
}

const hostKind = 'h'

func (r *HostRow) fill(row *ledgerRow) {
	row[4], row[5], row[6] = hostKind, r.Count, r.Denied
	copy(row[8:28], r.ID[:])
	binary.LittleEndian.PutUint64(row[32:], uint64(r.FreeAt))
	binary.LittleEndian.PutUint64(row[40:], uint64(r.Until))
	binary.LittleEndian.PutUint64(row[48:], uint64(r.Last))
	binary.LittleEndian.PutUint64(row[56:], uint64(r.Good))
}

func readHostRow(row *ledgerRow) HostRow {
	return HostRow{
		ID:     channel.ID(row[8:28]),
		FreeAt: int64(binary.LittleEndian.Uint64(row[32:])),
		Until:  int64(binary.LittleEndian.Uint64(row[40:])),
		Last:   int64(binary.LittleEndian.Uint64(row[48:])),
		Good:   int64(binary.LittleEndian.Uint64(row[56:])),
		Count:  row[5],
		Denied: row[6],
	}
}

// RowNumbers gives out rows of the ledger. Row 0 stands for none. The zero value has
// none that is used; its methods are for one caller at a time.
type RowNumbers struct {
	used int32 // rows that were ever used, but for the header
	free []int32
}

// Take returns a free row, 0 when there are too many.
func (n *RowNumbers) Take() int32 {
	if last := len(n.free) - 1; last >= 0 {
		number := n.free[last]
		n.free = n.free[:last]
		return number
	}
	if n.used >= mostRows-1 {
		return 0
	}
	n.used++
	return n.used
}

// Give makes a row free, which is cleared in the file already.
func (n *RowNumbers) Give(number int32) {
	if number != 0 {
		n.free = append(n.free, number)
	}
}

// Used notes that the file has a row.
func (n *RowNumbers) Used(number int32) { n.used = max(n.used, number) }

// Count returns how many rows the file has, and how many of them are free.
func (n *RowNumbers) Count() (rows, free int) { return int(n.used), len(n.free) }
