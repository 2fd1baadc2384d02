package fetcher

import "sync/atomic"

// small is the largest buffer, in bytes, that is free: it is not counted, and waits
// in the pool for the next fetch. The number of fetches under way bounds these.
const small = 64 << 10

// budget is the memory that all responses together may hold in large buffers, from
// their first growth beyond small until their release.
type budget struct {
	most  int64
	taken atomic.Int64
}

// share is how much one response may hold for each byte that it leaves free. So one
// alone may have four fifths of the budget; of many that grow at once, the largest
// are refused first, and what is free for short ones never ends.
const share = 4

// take counts n more bytes for a response that holds held of them already. It never
// waits: those who could give memory back might be waiting as well. What would not
// fit into an empty budget either is TooLarge, the rest Busy.
func (b *budget) take(held, n int) error {
	after := int64(held + n)
	if after > share*(b.most-after) {
		return fail(TooLarge, "a body takes %d bytes of memory, of %d for all", after, b.most)
	}
	free := b.most - b.taken.Add(int64(n))
	if after > share*free {
		b.taken.Add(-int64(n))
		return fail(Busy, "a body takes %d bytes of memory, with %d free", after, free+int64(n))
	}
	return nil
}

func (b *budget) give(n int) { b.taken.Add(-int64(n)) }

// account is what one response holds of the budget.
type account struct {
	budget *budget
	held   int
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
	grown, err := a.alloc(size)
	if err != nil {
		return buffer, err
	}
	grown = append(grown, buffer...)
	a.drop(buffer)
	return grown, nil
}

// alloc returns an empty buffer with room for size bytes.
func (a *account) alloc(size int) ([]byte, error) {
	if size > small {
		if err := a.budget.take(a.held, size); err != nil {
			return nil, err
		}
		a.held += size
	}
	return make([]byte, 0, size), nil
}

// drop gives a buffer back and returns what is left of it for the next fetch: nil,
// unless it is small.
func (a *account) drop(buffer []byte) []byte {
	size := cap(buffer)
	if size <= small {
		return buffer[:0]
	}
	a.budget.give(size)
	a.held -= size
	return nil
}

// settle gives back what is held still. Only a decoder that panicked has lost a
// buffer.
func (a *account) settle() {
	a.budget.give(a.held)
	a.held = 0
}
