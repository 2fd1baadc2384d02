package state

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/wire"
)

// restingHost is the n-th host of a bucket.
func restingHost(b channel.Bucket, n int) (id channel.ID) {
	binary.BigEndian.PutUint16(id[:], uint16(b)<<4)
	binary.BigEndian.PutUint32(id[2:], uint32(n))
	return id
}

func restCommand(items ...*wire.Rest_Item) *wire.Command {
	return &wire.Command{Change: &wire.Command_Rest{Rest: &wire.Rest{Items: items}}}
}

func restFor(host channel.ID, d time.Duration, refusals uint32, turn uint64) *wire.Rest_Item {
	return &wire.Rest_Item{Host: host[:], ForUs: uint64(d.Microseconds()), Refusals: refusals, Turn: turn}
}

// restingOf reads what a machine keeps of a host; nil for nothing.
func restingOf(t *testing.T, m *machine, host channel.ID) *wire.Resting {
	t.Helper()
	stands := &wire.Resting{}
	if err := Get(m.db, channelKey(kindResting, host), stands); isMissing(err) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	return stands
}

// TestRestIsTheLatest: of several rests of a host the later end stands, and the more
// refusals, in whichever order they come; one that is over counts no more.
func TestRestIsTheLatest(t *testing.T) {
	m := newMachine(t)
	host := restingHost(7, 1)
	for _, step := range []struct {
		at       time.Duration
		item     *wire.Rest_Item
		until    time.Duration // 0: nothing stands
		refusals uint32
		turn     uint64
	}{
		{0, restFor(host, time.Minute, 1, 5), time.Minute, 1, 5},
		{10 * time.Second, restFor(host, 20*time.Second, 3, 6), time.Minute, 3, 5},
		{20 * time.Second, restFor(host, time.Hour, 2, 7), time.Hour + 20*time.Second, 3, 7},
		{30 * time.Second, restFor(host, 0, 0, 0), time.Hour + 20*time.Second, 3, 7}, // it is not over
		{2 * time.Hour, restFor(host, time.Minute, 1, 8), 2*time.Hour + time.Minute, 1, 8},
		{3 * time.Hour, restFor(host, 0, 0, 0), 0, 0, 0},
		{3 * time.Hour, restFor(host, 0, 0, 0), 0, 0, 0},
	} {
		m.apply(t, day0.Add(step.at), restCommand(step.item))
		stands := restingOf(t, m, host)
		if step.until == 0 {
			if stands != nil {
				t.Errorf("at %v: kept %v, want nothing", step.at, stands)
			}
			continue
		}
		// Times of commands rise, so one may be microseconds later than it was given.
		if off := wire.Time(stands.GetUntilUs()).Sub(day0.Add(step.until)); off < 0 || off > time.Millisecond || stands.Refusals != step.refusals || stands.Turn != step.turn {
			t.Errorf("at %v: %v, %v off", step.at, stands, off)
		}
	}
}

// TestRestsAreBounded: a bucket keeps so many hosts, and those whose rest is over make
// room for others; other buckets do not suffer.
func TestRestsAreBounded(t *testing.T) {
	m := newMachine(t)
	for n := range maxResting {
		m.apply(t, day0, restCommand(restFor(restingHost(3, n), time.Duration(n+1)*time.Minute, 1, 0)))
	}
	kept := func(b channel.Bucket, n int) bool { return restingOf(t, m, restingHost(b, n)) != nil }
	m.apply(t, day0, restCommand(restFor(restingHost(3, 1000), time.Hour, 1, 0), restFor(restingHost(4, 1000), time.Hour, 1, 0), restFor(restingHost(3, 5), time.Hour, 2, 0)))
	if kept(3, 1000) || !kept(4, 1000) || restingOf(t, m, restingHost(3, 5)).GetRefusals() != 2 {
		t.Error("a full bucket: it takes another host, or other buckets and hosts that it has do not rest")
	}
	m.apply(t, day0.Add(2*time.Minute+time.Second), restCommand(restFor(restingHost(3, 1000), time.Hour, 1, 0)))
	if kept(3, 0) || kept(3, 1) || !kept(3, 2) || !kept(3, 1000) {
		t.Error("hosts whose rest is over made no room")
	}
}
