package fetcher

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// account is what one response holds of the budget. It is used by one fetch at a time;
// the budget's lock guards what others look at.
type account struct {
	budget *budget

	standing  standing      // among those that wait
	announced bool          // wanted is the body's length, not what the last one took
	used      bool          // the budget has been asked for something
	wanted    int           // bytes that are granted before the body grows beyond small; 0: not known
	needed    int           // bytes that there was no room for; 0: there was
	peak      int           // the most bytes that were held
	waited    time.Duration // for grants, in the middle of an exchange
	source    source

	alive atomic.Int64 // until when it has not stalled, in nanoseconds since the epoch

	// Guarded by the budget's lock, but that only the fetch itself changes held.
	host    string // origin that is asked
	granted int    // bytes that it may hold without asking; 0: no grant
	held    int    // bytes of buffers
	conn    *conn  // that a body is being read from into them; nil: none
	cut     bool   // the budget has ended that
}

// source is where a body is read from, and for how long.
type source struct {
	ctx      context.Context
	deadline time.Time
	conn     *conn // nil: no body is being read
}

// A body that others wait for must come at leastRate, in bytes per second, and be
// behind that by no more than grace.
const (
	leastRate = 64 << 10
	grace     = 3 * time.Second
)

// open begins a fetch from an origin. It must hold nothing.
func (a *account) open(host string) {
	a.host, a.standing = host, unproven
	a.announced, a.cut = false, false
	a.wanted, a.needed, a.peak, a.waited = 0, 0, 0, 0
}

// reserve waits for a grant of size bytes before anything is asked.
func (a *account) reserve(ctx context.Context, size int, from standing) error {
	a.used, a.wanted, a.standing = true, size, from
	return a.budget.apply(ctx, time.Time{}, a, size, from)
}

// counted returns what the budget counts for the account. The lock must be held.
func (a *account) counted() int { return max(a.granted, a.held) }

// begin begins to read a body of a length in bytes; negative: not known.
func (a *account) begin(from source, length int) {
	a.source = from
	if length >= 0 {
		a.wanted, a.announced = length+1, true
	}
}

// end ends the reading of a body: from now on its memory is in use.
func (a *account) end() {
	a.source = source{}
	if !a.used {
		return
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.conn = nil
}

// trim gives back what was granted and is not held.
func (a *account) trim() {
	if !a.used {
		return
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.budget.set(a, 0, a.held)
}

// grow returns buffer with the same content and more room: times its capacity, but
// no less than 4 KiB and no more than limit+1 bytes, the last of which tells a full
// body from one too large. Both are counted while the one is copied to the other.
// Without an error, the old buffer must not be used again.
func (a *account) grow(buffer []byte, times, limit int) ([]byte, error) {
	size := max(times*cap(buffer), 4<<10)
	if size >= limit {
		size = max(limit, cap(buffer)) + 1
	}
	grown, err := a.enlarge(size, limit)
	if err != nil {
		return buffer, err
	}
	grown = append(grown, buffer...)
	a.drop(buffer)
	return grown, nil
}

// enlarge allocates a buffer for a body that grows. The first one beyond small is where
// a body that is being read waits for what it will need, since it holds nothing yet.
func (a *account) enlarge(size, limit int) ([]byte, error) {
	if size <= small || a.wanted == 0 || a.held > 0 || a.source.conn == nil {
		return a.alloc(size)
	}
	if a.announced {
		size = limit + 1
		if grown, err := a.alloc(size); err == nil || isTooLarge(err) {
			return grown, err
		}
	}
	if err := a.admit(); err != nil {
		return nil, err
	}
	return a.alloc(size)
}

// admit waits until the account is granted what it wants, for at most half of the
// time that is left: the origin is to have the other half.
func (a *account) admit() error {
	a.used = true
	if a.satisfied() {
		return nil
	}
	begun := time.Now()
	err := a.budget.apply(a.source.ctx, begun.Add(a.source.deadline.Sub(begun)/2), a, a.wanted, a.standing)
	a.waited += time.Since(begun)
	if err != nil {
		a.needed = a.wanted
	}
	return err
}

// satisfied reports that the account is granted what it wants. If not, a smaller
// grant is given back, since a waiting fetch must have no memory.
func (a *account) satisfied() bool {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	if a.granted >= min(a.wanted, int(a.budget.grantable())) {
		return true
	}
	a.budget.set(a, 0, 0)
	return false
}

// alloc returns an empty buffer with room for size bytes, or says that there is none
// now: Busy, or that there never is: TooLarge.
func (a *account) alloc(size int) ([]byte, error) {
	if size > small {
		if err := a.take(size); err != nil {
			return nil, err
		}
	}
	return make([]byte, 0, size), nil
}

// take counts size more bytes that are held.
func (a *account) take(size int) error {
	a.used = true
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	after := a.held + size
	if int64(after) > share*(b.most-int64(after)) {
		return fail(TooLarge, "a body takes %d bytes of memory, of %d for all", after, b.most)
	}
	if more := after - a.counted(); more > 0 && !b.spare(a, more) {
		a.needed = after
		return fail(Busy, "a body takes %d bytes of memory, with %d free", after, b.most-b.mu.taken)
	}
	if a.conn == nil {
		a.conn = a.source.conn
		a.live(time.Now(), 0)
	}
	b.set(a, a.granted, after)
	a.peak = max(a.peak, after)
	return nil
}

func isTooLarge(err error) bool {
	var known *failure
	return errors.As(err, &known) && known.class == TooLarge
}

// drop gives a buffer back and returns what is left of it for the next fetch: nil,
// unless it is small.
func (a *account) drop(buffer []byte) []byte {
	size := cap(buffer)
	if size <= small {
		return buffer[:0]
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.budget.set(a, a.granted, a.held-size)
	return nil
}

// settle gives back what is counted still: a grant, or what a decoder that panicked
// has lost.
func (a *account) settle() {
	if !a.used {
		return
	}
	a.used = false
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.budget.set(a, 0, 0)
}

// live notes that n bytes of the body have come. It is a GCRA: each byte buys
// time, but never more than grace.
func (a *account) live(now time.Time, n int) {
	latest := now.Add(grace).UnixNano()
	if n == 0 {
		a.alive.Store(latest)
		return
	}
	a.alive.Store(min(a.alive.Load()+int64(n)*int64(time.Second)/leastRate, latest))
}

// stalled reports an account that makes no use of its memory: it was granted, and
// nothing has come, or a body comes too slowly. The lock must be held.
func (a *account) stalled(now time.Time) bool {
	return (a.held == 0 || a.conn != nil) && a.alive.Load() < now.UnixNano()
}

// yield has a stalled account give back what it has: a grant at once, memory by
// ending the exchange that fills it. The lock must be held.
func (a *account) yield() {
	if a.held == 0 {
		a.budget.revoke(a)
		return
	}
	a.cut = true
	a.conn.cut()
}

// wasCut reports that the budget has ended the reading of the body.
func (a *account) wasCut() bool {
	if !a.used {
		return false
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	return a.cut
}
