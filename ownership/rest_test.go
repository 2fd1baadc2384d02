package ownership

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

var everywhere = channel.Range{To: channel.Buckets - 1}

// restingHost is the n-th host of a bucket.
func restingHost(b channel.Bucket, n int) (id channel.ID) {
	binary.BigEndian.PutUint16(id[:], uint16(b)<<4)
	binary.BigEndian.PutUint32(id[2:], uint32(n))
	return id
}

// TestRests: what was committed holds through a restart, is read by range, committed once
// and forgotten by the sweep.
func TestRests(t *testing.T) {
	ctx := context.Background()
	clock := newFakeClock()
	cfg := testConfig(t)
	cfg.Now = clock.now
	s := open(t, cfg)
	low, high := restingHost(1, 1), restingHost(channel.Buckets-1, 1)
	rest := func(host channel.ID, d time.Duration) channel.Rest {
		return channel.Rest{Host: host, Until: clock.now().Add(d), Refusals: 1, Turn: 1 << 63}
	}
	commit := func(want int, rests ...channel.Rest) {
		t.Helper()
		r := s.of(rests[0].Host.Bucket()).Range
		if n, err := s.Rest(ctx, r, rests); n != want || err != nil {
			t.Errorf("committed %d rests: %v, want %d", n, err, want)
		}
	}
	commit(1, rest(low, time.Hour))
	commit(0, rest(low, time.Hour+900*time.Millisecond), rest(low, time.Minute), rest(low, -time.Minute))
	commit(1, rest(low, 2*time.Hour))
	commit(1, rest(high, time.Minute))
	commit(1, rest(restingHost(1, 2), 100*time.Hour)) // a day is committed
	shut(t, s)
	s = open(t, cfg)
	wantRests := func(r channel.Range, hosts ...channel.ID) {
		t.Helper()
		rests, err := s.RestsIn(r)
		var got []channel.ID
		for _, rest := range rests {
			if rest.Refusals != 1 || rest.Turn != 1<<63 || rest.Until.After(clock.now().Add(24*time.Hour+time.Second)) {
				t.Errorf("%+v", rest)
			}
			got = append(got, rest.Host)
		}
		if err != nil || !slices.Equal(got, hosts) {
			t.Errorf("%v rest: %v, want %v", got, err, hosts)
		}
	}
	wantRests(everywhere, low, restingHost(1, 2), high)
	wantRests(s.of(channel.Buckets-1).Range, high)
	clock.advance(3 * time.Hour)
	wantRests(everywhere, restingHost(1, 2))
	newSweeper(s).step(ctx)
	kept, err := s.state.Rests(everywhere, time.Time{}) // whether their rest is over or not
	if err != nil || len(kept) != 1 || kept[0].Host != restingHost(1, 2) {
		t.Errorf("%v is kept after the sweep (%v)", kept, err)
	}
}
