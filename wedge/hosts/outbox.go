package hosts

import (
	"context"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// outbox is what one receiver is to be told: of each host what follows from all that
// was said. One message is on its way at a time; while there is none, nothing runs.
type outbox struct {
	send   func(ctx context.Context, rests []channel.Rest) error
	begin  func(run func(ctx context.Context)) (begun bool)
	failed func() // is told of each attempt that failed

	mu      sync.Mutex
	waiting map[channel.ID]channel.Rest
	running bool
}

// The pauses between attempts to send a message. A receiver that was cut off is to hear
// within two seconds.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// add has rests sent.
func (b *outbox) add(rests ...channel.Rest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(rests)
	if !b.running && len(b.waiting) > 0 {
		b.running = b.begin(b.run)
	}
}

func (b *outbox) put(rests []channel.Rest) {
	if b.waiting == nil {
		b.waiting = make(map[channel.ID]channel.Rest)
	}
	for _, rest := range rests {
		if before, waits := b.waiting[rest.Host]; waits {
			rest = rest.Merge(before)
		}
		b.waiting[rest.Host] = rest
	}
}

// take takes rests for one message, none of which is over; when there is none the
// outbox runs no more.
func (b *outbox) take(now time.Time) (rests []channel.Rest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for host, rest := range b.waiting {
		if len(rests) == most {
			break
		}
		delete(b.waiting, host)
		if rest.Until.After(now) {
			rests = append(rests, rest)
		}
	}
	b.running = len(rests) > 0
	return rests
}

// run sends until nothing waits.
func (b *outbox) run(ctx context.Context) {
	pause := firstPause
	for {
		rests := b.take(time.Now())
		if len(rests) == 0 {
			return
		}
		if b.send(ctx, rests) == nil {
			pause = firstPause
			continue
		}
		b.failed()
		b.mu.Lock()
		b.put(rests)
		b.mu.Unlock()
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// sleep reports whether it was not cut short.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
