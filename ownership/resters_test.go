package ownership

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// resters has leaders commit rests of some hosts, and remembers the latest end of each
// that was acknowledged, and the most refusals.
type resters struct {
	w     *town
	rests map[channel.ID]channel.Rest
}

func newResters(w *town) *resters { return &resters{w: w, rests: make(map[channel.ID]channel.Rest)} }

// run commits rests until ctx ends.
func (c *resters) run(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		pause(ctx, time.Duration(random.IntN(40))*time.Millisecond)
		host := channel.HostID(fmt.Sprintf("host%d.example:80", random.IntN(20)))
		n := c.w.leading(host.Bucket())
		if n == nil {
			continue
		}
		s := n.live.Load()
		if s == nil {
			continue
		}
		rest := channel.Rest{Host: host, Refusals: uint8(1 + random.IntN(9)), Turn: random.Uint64()}
		left := time.Duration(1+random.IntN(60)) * time.Minute
		end := time.Now().Add(left)
		rest.Until = n.now().Add(left)
		if _, err := s.Rest(ctx, s.of(host.Bucket()).Range, []channel.Rest{rest}); err == nil {
			rest.Until = end
			c.rests[host] = rest.Merge(c.rests[host])
		}
	}
}

// restSlack is by how much an end may be off: nodes' clocks differ by 3 s, and ends that
// differ by less than a second are one.
const restSlack = 5 * time.Second

// settle wants the leaders to know of each rest that was acknowledged.
func (c *resters) settle() {
	for host, want := range c.rests {
		n := c.w.leading(host.Bucket())
		if n == nil {
			c.w.t.Errorf("bucket %d has no leader", host.Bucket())
			continue
		}
		rests, err := n.store.RestsIn(everywhere)
		var got channel.Rest
		for _, rest := range rests {
			if rest.Host == host {
				got = rest
			}
		}
		if left := got.Until.Sub(n.now()); left < time.Until(want.Until)-restSlack || got.Refusals < want.Refusals {
			c.w.t.Errorf("host %s rests for %v after %d refusals (%v), want %v after %d", host, left, got.Refusals, err, time.Until(want.Until), want.Refusals)
		}
	}
	c.w.logf("%d hosts rest", len(c.rests))
}
