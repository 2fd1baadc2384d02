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
	serving bool // its endpoint records are read, and those of the ranges that were gained with it, but for such as cannot be: its channels may have turns
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
	gained  chan struct{}        // 1
	scan    func(t *tenure)      // requests a scan of a range's channels. Locked.
	ending  map[*tenure]struct{} // those that are over, and whose positions are being committed
	retries bool                 // a range could not be read, which is on the agenda
}

// run takes over what is gained until ctx ends.
func (o *takeover) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.gained:
		}
		o.serve(o.fresh())
	}
}

// fresh returns the ranges that are led and not served yet. One that was led before waits
// until what was being committed then is in the store, or is not: what is read meanwhile
// would be changed behind the reader's back.
func (o *takeover) fresh() (fresh []*tenure) {
	o.Lock()
	defer o.Unlock()
	for _, t := range o.led.All() {
		if !t.serving && !o.follows(t) {
			fresh = append(fresh, t)
		}
	}
	return fresh
}

// follows reports whether a tenure that is ending had buckets of this one. Locked.
func (o *takeover) follows(t *tenure) bool {
	for before := range o.ending {
		if before.From <= t.To && t.From <= before.To {
			return true
		}
	}
	return false
}

// end is called when a tenure is over. Locked.
func (o *takeover) end(t *tenure) {
	t.over = true
	if t.saving {
		o.ending[t] = struct{}{}
	}
}

// saved is called when a commit of a tenure's positions has returned. Locked.
func (o *takeover) saved(t *tenure) {
	if t.over {
		delete(o.ending, t)
		signal(o.gained)
	}
}

// serve reads the endpoint records of ranges, and then requests scans of their
// channels: before that a suspended endpoint would be taken for a working one. A range that
// cannot be read is tried again, and holds up no other.
func (o *takeover) serve(fresh []*tenure) {
	records := make(map[*tenure][]channel.Endpoint, len(fresh))
	for _, t := range fresh {
		if loaded, err := o.streaks.load(t); err == nil {
			records[t] = loaded
		}
	}
	o.Lock()
	defer o.Unlock()
	if len(records) < len(fresh) && !o.retries {
		o.retries = true
		o.later(time.Now().Add(retryStore), func() {
			o.retries = false
			signal(o.gained)
		})
	}
	for _, t := range fresh {
		if _, read := records[t]; !read || t.over {
			continue
		}
		t.serving = true
		o.streaks.adopt(t, records[t])
		if !planted.Bug(14) {
			o.scan(t)
		}
	}
}
