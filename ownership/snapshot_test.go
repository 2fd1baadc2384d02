package ownership

import (
	"runtime"
	"sync"
	"testing"
)

// TestFlusher: calls that come while a flush runs share the next one, and none is
// served by a flush that began before it.
func TestFlusher(t *testing.T) {
	m := newMachine(t)
	const callers = 50
	m.flush.mu.Lock() // as a flush does that runs
	var coming, calls sync.WaitGroup
	coming.Add(callers)
	for range callers {
		calls.Go(func() {
			before := m.flush.begun.Load()
			coming.Done()
			if err := m.flush.flush(); err != nil {
				t.Error(err)
			}
			if m.flush.begun.Load() == before {
				t.Error("no flush began after the call")
			}
		})
	}
	coming.Wait()
	for range 1000 {
		runtime.Gosched() // two of them at least get as far as to wait
	}
	m.flush.mu.Unlock()
	calls.Wait()
	if n := m.flush.begun.Load(); n >= callers {
		t.Errorf("%d flushes for %d calls", n, callers)
	}
}
