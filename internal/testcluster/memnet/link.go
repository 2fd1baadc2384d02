package memnet

import (
	"math/rand/v2"
	"sync"
	"time"
)

// link is one direction between two hosts.
type link struct {
	mu struct {
		sync.Mutex
		as      Link
		isCut   bool
		free    time.Time     // when the bytes that were sent before have left
		changed chan struct{} // closed and replaced when it is cut or healed
	}
}

func newLink(as Link) *link {
	l := &link{}
	l.mu.as, l.mu.changed = as, make(chan struct{})
	return l
}

func (l *link) set(as Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.as = as
}

func (l *link) cut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.isCut = cut
	close(l.mu.changed)
	l.mu.changed = make(chan struct{})
}

func (l *link) state() (isCut bool, latency time.Duration, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.isCut, l.mu.as.Latency, l.mu.changed
}

// send returns when bytes that are sent now arrive, and whether they are held back.
func (l *link) send(now time.Time, bytes int, random *rand.Rand) (arrives time.Time, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.as.Bandwidth > 0 {
		if l.mu.free.Before(now) {
			l.mu.free = now
		}
		l.mu.free = l.mu.free.Add(time.Duration(bytes) * time.Second / time.Duration(l.mu.as.Bandwidth))
		now = l.mu.free
	}
	arrives = now.Add(l.mu.as.Latency)
	if l.mu.as.Jitter > 0 {
		arrives = arrives.Add(time.Duration(random.Int64N(int64(l.mu.as.Jitter))))
	}
	return arrives, l.mu.isCut
}
