package webhook

import (
	"context"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/planted"
)

// tenure is the time in which this node leads a range, from RangeGained to RangeLost.
// What was read in one is void in a later one of the same range: another node may have
// led and delivered in between. Guarded by the lock of core.
type tenure struct {
	channel.Range
	since   time.Time
	serving bool // the endpoint records of all ranges that were gained with it are read: its channels may have turns
	over    bool

	scan    scan
	unsaved map[*channelState]struct{} // positions
	saving  bool                       // positions are being committed
	noting  bool                       // endpoint records are being committed
}

// takeover begins to deliver the channels of ranges that were gained.
type takeover struct {
	*core
	streaks *streaks
	gained  chan struct{}   // 1
	scan    func(t *tenure) // requests a scan of a range's channels. Locked.
}

// run takes over what is gained until ctx ends.
func (o *takeover) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.gained:
		}
		if !o.serve(ctx, o.fresh()) {
			return
		}
	}
}

// fresh returns the ranges that are led and not served yet.
func (o *takeover) fresh() (fresh []*tenure) {
	o.Lock()
	defer o.Unlock()
	for _, t := range o.led.All() {
		if !t.serving {
			fresh = append(fresh, t)
		}
	}
	return fresh
}

// serve reads the endpoint records of ranges, and then requests scans of their
// channels: before that a suspended endpoint would be taken for a working one. False
// when the deliverer stops.
func (o *takeover) serve(ctx context.Context, fresh []*tenure) bool {
	records := make(map[*tenure][]channel.Endpoint, len(fresh))
	for _, t := range fresh {
		loaded, more := o.streaks.load(ctx, t)
		if !more {
			return false
		}
		records[t] = loaded
	}
	o.Lock()
	defer o.Unlock()
	for _, t := range fresh {
		if t.over {
			continue
		}
		t.serving = true
		o.streaks.adopt(t, records[t])
		if !planted.Bug(14) {
			o.scan(t)
		}
	}
	return true
}
