package admission

// window bounds the first polls under way by AIMD: one more for each that succeeds
// until the first overload, then one more for each window full of successes; halved on
// overload, once for all polls that were under way. The size of an import's documents
// is not known: without the window a thousand first polls of long pages would ask for
// more memory than there is, and due polls would wait for the processors behind them.
type window struct {
	size   int   // polls that may be under way
	ended  int   // successes since it grew
	halved int64 // when it was halved last; 0: never

	share   int // its greatest size
	initial int
	least   int // its smallest size, where no memory is free
}

// The window begins with a sixteenth of the workers, and never falls below
// leastWindow.
const (
	initialShare = 16
	leastWindow  = 4
)

func newWindow(workers int) window {
	initial := max(workers/initialShare, min(leastWindow, workers/2))
	return window{size: initial, initial: initial, share: workers / 2, least: min(leastWindow, workers/2)}
}

// success counts a poll that ended well while the window was full; others say
// nothing.
func (w *window) success() {
	if w.ended++; w.halved == 0 || w.ended >= w.size {
		w.size, w.ended = min(w.size+1, w.share), 0
	}
}

// noMemory halves the window since a poll found no memory or connection free.
func (w *window) noMemory(now int64) { w.halve(w.least, now) }

// behind halves the window since a poll that was due began late or an owner gave no answer, but
// not below its initial size: that is little work for the processors, and lets an import go on
// when many of its hosts hang, other work makes polls late, or one range has no leader.
func (w *window) behind(now int64) { w.halve(w.initial, now) }

func (w *window) halve(least int, now int64) {
	w.size, w.ended, w.halved = min(max(w.size/2, least), w.size), 0, now
}

// shift follows a wall clock that was set.
func (w *window) shift(step, now int64) {
	if w.halved != 0 {
		w.halved = min(w.halved+step, now)
	}
}
