// Package admission says which class of polls may take one of the poller's workers: each
// class has a share of them (workers.go), and first polls a window within theirs (AIMD,
// window.go). It is pure: it counts what begins and ends.
package admission

import "time"

// Class says whose share of the workers a poll takes, so that thousands of dead
// hosts, or a list of channels that were never polled, leave some to those that
// answer.
type Class uint8

const (
	Strange Class = iota // first polls, and hosts that were not asked yet
	Steady               // all others
	Slow                 // hosts whose last exchange took long
	Large                // of polls alone: their bodies need memory that is set aside first
	Classes              // their number
)

// Workers counts the polls under way against the share of each class.
type Workers struct {
	Limit    int          // polls under way
	InFlight int          // from begin to end
	Polls    [Classes]int // of these, by class
	Shares   [Classes]int // of workers, at most
	window   window       // of strange polls, within their share
}

// New returns workers of which limit polls may be under way.
func New(limit int) Workers {
	return Workers{
		Limit:  limit,
		Shares: [Classes]int{Strange: limit / 2, Slow: limit / 4, Large: max(1, limit/8), Steady: limit},
		window: newWindow(limit),
	}
}

// Full reports a class of polls that has its share of workers.
func (w *Workers) Full(c Class) bool {
	if c == Strange {
		return w.Polls[c] >= w.window.size
	}
	return w.Polls[c] >= w.Shares[c]
}

// Begin counts a poll that begins.
func (w *Workers) Begin(c Class) {
	w.InFlight++
	w.Polls[c]++
}

// End counts a poll that ends.
func (w *Workers) End(c Class) {
	w.InFlight--
	w.Polls[c]--
}

// Load is what the end of a poll says about our own load.
type Load struct {
	Busy     bool // there was no memory or connection for it
	Canceled bool // it was not carried out, for that or another reason of ours
	Unheard  bool // its channel's owner gave no answer: it may have more to do than it can
}

// lateEnough is how late a poll has begun when strange ones are to leave it more of
// the processors: well above what a collection of garbage or a short stall takes.
const lateEnough = 50 * time.Millisecond

// Feedback adjusts the window of strange polls by one poll, which is still counted.
func (w *Workers) Feedback(c Class, begun, eligible int64, l Load, now int64) {
	switch {
	case c != Strange && w.Polls[Strange] == 0:
	case l.Unheard && begun > w.window.halved:
		w.window.behind(now)
	case c != Strange:
		if eligible > w.window.halved && begun-eligible > int64(lateEnough) {
			w.window.behind(now)
		}
	case begun <= w.window.halved: // it was under way already
	case l.Busy:
		w.window.noMemory(now)
	case !l.Canceled && w.Polls[Strange] >= w.window.size:
		w.window.success()
	}
}

// Shift follows a wall clock that was set.
func (w *Workers) Shift(step, now int64) { w.window.shift(step, now) }
