package state

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// How long an update is kept. The latest KeepVersions of a channel always are.
// Others are kept for KeepForCursors whatever happens, so that a stream that was
// cut for a night resumes; then until every subscription is known to have them,
// but not beyond KeepAtMost. When the bytes kept exceed Config.RetainBytes, the
// oldest go earlier.
const (
	KeepVersions   = 16
	KeepForCursors = 24 * time.Hour
	KeepAtMost     = 76 * time.Hour
)

// lastTrimmable returns the newest version that is not among the latest kept, 0
// if all are.
func lastTrimmable(version uint64) uint64 { return max(version, KeepVersions) - KeepVersions }

// mayTrim says whether an update may go, given its age and whether every
// subscription has it.
func mayTrim(age time.Duration, delivered bool) bool {
	return age >= KeepAtMost || delivered && age >= KeepForCursors
}

// age is the time between two log times, never negative.
func age(now, stamp uint64) time.Duration {
	if now <= stamp {
		return 0
	}
	return time.Duration(min(now-stamp, uint64(1<<63-1)/1000)) * time.Microsecond
}

// Trims looks at up to limit channels, from the key next on or from the first where that is
// nil, and returns the trims that would remove something from those of them that are chosen,
// at a time and with updates older than retain to go, delivered or not. The key that it
// returns is to go on with, nil at the end and after an error.
func (d *DB) Trims(next []byte, limit int, at time.Time, retain time.Duration, chosen func(channel.Bucket) bool) (trims []*wire.Trim, _ []byte, err error) {
	done, err := d.reading()
	if err != nil {
		return nil, next, nil
	}
	defer done()
	if next == nil {
		next = kindPrefix(0, kindChannel)
	}
	next, err = eachChannel(d.db, next, func(id channel.ID, record *wire.Channel) bool {
		if trim := d.trim(id, record, wire.Micros(at), retain); trim != nil && chosen(id.Bucket()) {
			trims = append(trims, trim)
		}
		limit--
		return limit > 0
	})
	return trims, next, err
}

// trim returns a trim if it would remove something.
func (d *DB) trim(id channel.ID, record *wire.Channel, nowUS uint64, retain time.Duration) *wire.Trim {
	if record.Oldest == 0 || record.Oldest > lastTrimmable(record.Version) {
		return nil
	}
	old := age(nowUS, record.OldestStamp)
	forced := retain < KeepAtMost && old > retain
	if !forced {
		delivered, err := deliveredTo(d.db, id, record)
		if err != nil || !mayTrim(old, record.Oldest <= delivered) {
			return nil
		}
	}
	trim := &wire.Trim{Channel: id[:], Incarnation: record.Incarnation, BeforeUs: nowUS + 1, Forced: forced}
	if forced {
		trim.BeforeUs = nowUS - uint64(retain.Microseconds())
	}
	return trim
}

// eachChannel visits channels in the order of their IDs, from the key start on,
// until visit returns false. It returns the key to go on with, nil at the end. The record
// is good until visit returns.
func eachChannel(r pebble.Reader, start []byte, visit func(channel.ID, *wire.Channel) bool) (next []byte, err error) {
	record := &wire.Channel{}
	err = eachInBuckets(r, kindChannel, start, func(key, value []byte) (bool, error) {
		if err := unmarshal(key, value, record); err != nil {
			return false, err
		}
		if !visit(keyChannel(key), record) {
			next = append(append([]byte{}, key...), 0)
			return false, nil
		}
		return true, nil
	})
	return next, err
}

// ExpireKeys returns a command that forgets the idempotency keys of days that no longer
// count, nil if there are none.
func (m *Machine) ExpireKeys(at time.Time) *wire.Command {
	before := firstKeyDay(wire.Micros(at))
	if !m.hot.hasKeysBefore(before) {
		return nil
	}
	return &wire.Command{Change: &wire.Command_ExpireKeys{
		ExpireKeys: &wire.ExpireKeys{From: uint32(m.from), To: m.to.Load(), BeforeDay: before},
	}}
}

func (h *hot) hasKeysBefore(day uint32) bool {
	for i := range h.keyDay {
		if first := h.keyDay[i].Load(); first > 0 && first < day {
			return true
		}
	}
	return false
}
