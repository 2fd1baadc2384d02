package schedule

import "time"

// class says whose share of the workers a poll takes, so that thousands of dead
// hosts, or a list of channels that were never polled, leave some to those that
// answer.
type class uint8

const (
	strange class = iota // first polls, and hosts that were not asked yet
	steady
	slow    // hosts whose last exchange took more than slowExchange
	large   // of polls alone: their bodies need memory that is set aside first
	classes // their number
)

// workers counts the polls under way against the share of each class.
type workers struct {
	limit    int          // polls under way
	inFlight int          // from begin to end
	polls    [classes]int // of these, by class
	shares   [classes]int // of workers, at most
	window   window       // of strange polls, within their share
}

func newWorkers(limit int) workers {
	return workers{
		limit:  limit,
		shares: [classes]int{strange: limit / 2, slow: limit / 4, large: max(1, limit/8), steady: limit},
		window: newWindow(limit),
	}
}

// full reports a class of polls that has its share of workers.
func (w *workers) full(c class) bool {
	if c == strange {
		return w.polls[c] >= w.window.size
	}
	return w.polls[c] >= w.shares[c]
}

func (w *workers) begin(c class) {
	w.inFlight++
	w.polls[c]++
}

func (w *workers) end(c class) {
	w.inFlight--
	w.polls[c]--
}

// Load is what the end of a poll says about our own load.
type Load struct {
	Busy     bool // there was no memory or connection for it
	Canceled bool // it was not carried out, for that or another reason of ours
}

// lateEnough is how late a poll has begun when strange ones are to leave it more of
// the processors: well above what a collection of garbage or a short stall takes.
const lateEnough = 50 * time.Millisecond

// feedback adjusts the window of strange polls by one poll, which is still counted.
func (w *workers) feedback(c class, begun, eligible int64, l Load, now int64) {
	switch {
	case c != strange:
		if w.polls[strange] > 0 && eligible > w.window.halved && begun-eligible > int64(lateEnough) {
			w.window.lateness(now)
		}
	case begun <= w.window.halved: // it was under way already
	case l.Busy:
		w.window.noMemory(now)
	case !l.Canceled && w.polls[strange] >= w.window.size:
		w.window.success()
	}
}
