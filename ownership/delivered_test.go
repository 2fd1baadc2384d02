package ownership

import (
	"context"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
)

// Between a day and 76 hours an update goes when every webhook has it, and stays while
// one delivery of it is open: a pass that is half done has delivered the version
// before alone, and a straggler what is before its next one.
func TestRetentionOfHalfFinishedPasses(t *testing.T) {
	const newest = 40 // of which the last 16 stay in any case
	for _, tc := range []struct {
		name       string
		version    uint64 // of the pass
		seq        uint64 // the last subscription that has it
		stragglers []channel.Straggler
		oldest     uint64 // kept
	}{
		{"nothing delivered", 1, 0, nil, 2},
		{"version 2 is open", 2, 1, nil, 2},
		{"version 3 is open", 3, 1, nil, 3},
		{"version 20 is open", 20, 1, nil, 20},
		{"version 20 is open for the first too", 20, 0, nil, 20},
		{"a straggler needs 10", 20, 9, []channel.Straggler{{Seq: 2, Next: 10}}, 10},
		{"a straggler needs 2", 20, 9, []channel.Straggler{{Seq: 1, Next: 2}}, 2},
		{"the straggler that is furthest behind counts", 20, 9, []channel.Straggler{{Seq: 1, Next: 7}, {Seq: 2, Next: 12}}, 7},
		{"all but the newest are delivered", newest, 1, nil, newest - state.KeepVersions + 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := newFakeClock()
			cfg := testConfig(t)
			cfg.Now = clock.now
			s := open(t, cfg)
			first := wish("http://example.com/", "", webhook)
			subscribe(t, s, first)
			subscribe(t, s, first)
			grow(t, s, first.Channel, newest)
			position := channel.Progress{Channel: first.Channel, Incarnation: 1, Version: tc.version, Seq: tc.seq, Stragglers: tc.stragglers}
			if err := s.Advance(context.Background(), []channel.Progress{position}); err != nil {
				t.Fatal(err)
			}
			w := newSweeper(s)
			clock.advance(state.KeepForCursors - time.Hour)
			pass(w)
			if c := channelAt(t, s, first.Channel); c.Oldest != 2 {
				t.Errorf("updates from %d kept within a day, want all", c.Oldest)
			}
			clock.advance(2 * time.Hour)
			pass(w)
			if c := channelAt(t, s, first.Channel); c.Oldest != tc.oldest {
				t.Errorf("updates from %d kept, want from %d", c.Oldest, tc.oldest)
			}
		})
	}
}
