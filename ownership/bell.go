package ownership

import "sync"

// bell tells waiting goroutines that something may have changed.
type bell struct {
	mu    sync.Mutex
	waits chan struct{} // closed when it rings; nil while nothing waits
}

// wait returns what is closed when the bell rings next.
func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waits == nil {
		b.waits = make(chan struct{})
	}
	return b.waits
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waits != nil {
		close(b.waits)
		b.waits = nil
	}
}
