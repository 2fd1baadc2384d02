package engine

import (
	"encoding/binary"
	"math"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/overlay"
)

// channelRow is what the ledger keeps of a channel.
//
//	4  'c'                      28  size (uint32)        50  drift (uint16)
//	5  1: refused, 2: shown     32  lastPoll (int64)     52  polls (uint16)
//	6  status (uint16)          40  notBefore (int64)    54  per intervals (1 byte)
//	8  ID (20 bytes)            48  failures (uint16)    55  rank (1 byte)
//	                                                     56  incarnation (uint64)
//
// A rate or rank that is too high is not kept: polls is 0.
type channelRow struct {
	id                  channel.ID
	incarnation         uint64
	lastPoll, notBefore int64
	size                uint32
	status, failures    uint16
	drift, rank         uint16
	rate                overlay.Rate
	refused, shown      bool
}

const (
	channelKind = 'c'

	wasRefused = 1
	hasShown   = 2
)

func (r *channelRow) fill(row *ledgerRow) {
	row[4] = channelKind
	if r.refused {
		row[5] |= wasRefused
	}
	if r.shown {
		row[5] |= hasShown
	}
	if r.rate.Polls <= math.MaxUint16 && r.rate.Intervals <= math.MaxUint8 && r.rank <= math.MaxUint8 {
		binary.LittleEndian.PutUint16(row[50:], r.drift)
		binary.LittleEndian.PutUint16(row[52:], uint16(r.rate.Polls))
		row[54], row[55] = uint8(r.rate.Intervals), uint8(r.rank)
	}
	binary.LittleEndian.PutUint16(row[6:], r.status)
	copy(row[8:28], r.id[:])
	binary.LittleEndian.PutUint32(row[28:], r.size)
	binary.LittleEndian.PutUint64(row[32:], uint64(r.lastPoll))
	binary.LittleEndian.PutUint64(row[40:], uint64(r.notBefore))
	binary.LittleEndian.PutUint16(row[48:], r.failures)
	binary.LittleEndian.PutUint64(row[56:], r.incarnation)
}

func readChannelRow(row *ledgerRow) channelRow {
	return channelRow{
		id:          channel.ID(row[8:28]),
		incarnation: binary.LittleEndian.Uint64(row[56:]),
		lastPoll:    int64(binary.LittleEndian.Uint64(row[32:])),
		notBefore:   int64(binary.LittleEndian.Uint64(row[40:])),
		size:        binary.LittleEndian.Uint32(row[28:]),
		status:      binary.LittleEndian.Uint16(row[6:]),
		failures:    binary.LittleEndian.Uint16(row[48:]),
		refused:     row[5]&wasRefused != 0,
		shown:       row[5]&hasShown != 0,
		drift:       binary.LittleEndian.Uint16(row[50:]),
		rate:        overlay.Rate{Polls: uint32(binary.LittleEndian.Uint16(row[52:])), Intervals: uint32(row[54])},
		rank:        uint16(row[55]),
	}
}

// differs reports that a poll taught more than when it was, how much came, and when
// the next one is due: that stands there when that begins.
func (r channelRow) differs(other channelRow) bool {
	r.lastPoll, r.size = other.lastPoll, other.size
	r.rate, r.rank, r.drift = other.rate, other.rank, other.drift
	return r != other
}

// ledgerRow returns what the ledger keeps of a target.
func (t *target) ledgerRow() channelRow {
	return channelRow{
		id: t.id, incarnation: t.incarnation, lastPoll: t.lastPoll, notBefore: t.oddities().notBefore,
		size: t.size, status: t.status, failures: t.failures, refused: t.refused, shown: t.shown,
		rate: t.rate, rank: t.rank, drift: t.drift,
	}
}

// hostRow is what the ledger keeps of a host that has refused, or that redirects
// led to: the polls of its own channels are in theirs.
//
//	4  'h'                 32  freeAt (int64)
//	5  refusals            40  rests until (int64)
//	6  denials, 1 of 0     48  last refusal (int64)
//	8  ID (20), 4 of 0     56  good since (int64)
type hostRow struct {
	id     channel.ID
	freeAt int64
	rest   refusals
}

const hostKind = 'h'

func (r *hostRow) fill(row *ledgerRow) {
	row[4], row[5], row[6] = hostKind, r.rest.count, r.rest.denied
	copy(row[8:28], r.id[:])
	binary.LittleEndian.PutUint64(row[32:], uint64(r.freeAt))
	binary.LittleEndian.PutUint64(row[40:], uint64(r.rest.until))
	binary.LittleEndian.PutUint64(row[48:], uint64(r.rest.last))
	binary.LittleEndian.PutUint64(row[56:], uint64(r.rest.good))
}

func readHostRow(row *ledgerRow) hostRow {
	return hostRow{
		id:     channel.ID(row[8:28]),
		freeAt: int64(binary.LittleEndian.Uint64(row[32:])),
		rest: refusals{
			until:  int64(binary.LittleEndian.Uint64(row[40:])),
			last:   int64(binary.LittleEndian.Uint64(row[48:])),
			good:   int64(binary.LittleEndian.Uint64(row[56:])),
			count:  row[5],
			denied: row[6],
		},
	}
}
