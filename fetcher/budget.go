package fetcher

import (
	"context"
	"slices"
	"sync"
	"time"
)

// small is the largest buffer, in bytes, that is free: it is not counted, and waits
// in the pool for the next fetch. The number of fetches under way bounds these.
const small = 64 << 10

// budget is the memory that all responses together may hold in large buffers, from
// their first growth beyond small until their release: a weighted semaphore. What is
// known to be large is granted memory first come, first served, before it is asked
// for or read on; what turns out to be large takes what is free, and never waits.
type budget struct {
	most int64

	mu struct {
		sync.Mutex
		taken   int64                   // bytes that are counted
		granted int64                   // of those, by accounts with a grant
		hosts   map[string]int64        // bytes that are counted, by origin
		holders map[*account]bool       // those for which something is counted
		queues  [standings][]*applicant // of those that wait for a grant, the first one first
		turn    standing                // whose first one is granted next
	}
}

func newBudget(most int) *budget {
	b := &budget{most: int64(most)}
	b.mu.hosts = make(map[string]int64)
	b.mu.holders = make(map[*account]bool)
	return b
}

// share is how much one response may hold for each byte that it leaves free. So one
// alone may have four fifths of the budget; of many that grow at once, the largest
// are refused first, and what is free for short ones never ends.
const share = 4

// grantable is what all grants together may come to. The rest is for responses
// without one, so that short bodies do not wait behind long ones.
func (b *budget) grantable() int64 { return b.most * share / (share + 1) }

// hostShare is what all responses of one origin together may hold. One alone may have
// more, as any response may.
func (b *budget) hostShare() int64 { return b.most / 2 }

// standing says which queue a response waits in. The two take turns, so that bodies
// that were taken in whole the last time do not wait for long behind any number of
// others, nor these for ever.
type standing uint8

const (
	unproven standing = iota
	proven
	standings // their number
)

// applicant is an account that waits for a grant.
type applicant struct {
	account *account
	size    int
	from    standing
	granted chan struct{} // closed when it is
}

// taken returns the bytes that are counted.
func (b *budget) taken() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.taken
}

// set changes what an account holds. The lock must be held.
func (b *budget) set(a *account, granted, held int) {
	b.add(a, -a.counted())
	a.granted, a.held = granted, held
	b.add(a, a.counted())
	b.grant()
}

// revoke takes an account's grant back. What it holds is its fetch's alone to change. The
// lock must be held.
func (b *budget) revoke(a *account) {
	b.add(a, -a.counted())
	a.granted = 0
	b.add(a, a.counted())
	b.grant()
}

// add counts so many bytes more for an account. The lock must be held.
func (b *budget) add(a *account, bytes int) {
	if bytes == 0 {
		return
	}
	b.mu.taken += int64(bytes)
	b.mu.hosts[a.host] += int64(bytes)
	if a.granted > 0 {
		b.mu.granted += int64(bytes)
	}
	if b.mu.hosts[a.host] == 0 {
		delete(b.mu.hosts, a.host)
	}
	if bytes > 0 {
		b.mu.holders[a] = true
	} else {
		delete(b.mu.holders, a)
	}
}

// spare reports that an account may have so many bytes more at once. The lock must be
// held. While others wait for grants, those without one keep to what no grant may take.
func (b *budget) spare(a *account, bytes int) bool {
	after := int64(a.counted() + bytes)
	if after > share*(b.most-b.mu.taken-int64(bytes)) {
		return false
	}
	if others := b.mu.hosts[a.host] - int64(a.counted()); others > 0 && others+after > b.hostShare() {
		return false
	}
	return a.granted > 0 || !b.awaited() || b.mu.taken-b.mu.granted+int64(bytes) <= b.most-b.grantable()
}

// awaited reports that a fetch waits for a grant. The lock must be held.
func (b *budget) awaited() bool { return len(b.mu.queues[unproven])+len(b.mu.queues[proven]) > 0 }

// apply waits for a grant of size bytes, at most what can be granted at all, until the
// deadline; zero: without one. The account must hold no memory: so fetches that have memory
// never wait for more, and those that wait get it in the end.
func (b *budget) apply(ctx context.Context, deadline time.Time, a *account, size int, from standing) error {
	b.mu.Lock()
	w := &applicant{account: a, size: min(size, int(b.grantable())), from: from, granted: make(chan struct{})}
	b.mu.queues[from] = append(b.mu.queues[from], w)
	b.grant()
	b.mu.Unlock()
	if b.await(ctx, deadline, w) {
		return nil
	}
	return b.renounce(w)
}

// await returns whether an applicant was granted what it wants, or false when it may
// wait no longer. Meanwhile it reclaims memory from stalled fetches.
func (b *budget) await(ctx context.Context, deadline time.Time, w *applicant) bool {
	select {
	case <-w.granted:
		return true
	default:
	}
	var late <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	look := time.NewTicker(grace / 4)
	defer look.Stop()
	for {
		select {
		case <-w.granted:
			return true
		case <-ctx.Done():
			return false
		case <-late:
			return false
		case now := <-look.C:
			b.reclaim(now)
		}
	}
}

// renounce takes an application back, which may be granted in this moment.
func (b *budget) renounce(w *applicant) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := &b.mu.queues[w.from]
	if i := slices.Index(*queue, w); i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
		b.grant()
	} else {
		b.set(w.account, 0, 0)
	}
	return fail(Busy, "a body of %d bytes has waited for memory, of which there are %d for all", w.size, b.most)
}

// grant gives applicants what they wait for, as long as there is room for the one
// whose turn it is. The lock must be held.
func (b *budget) grant() {
	for {
		w := b.next()
		if w == nil || b.mu.granted+int64(w.size) > b.grantable() || b.mu.taken+int64(w.size) > b.most {
			return
		}
		queue := &b.mu.queues[w.from]
		i := slices.Index(*queue, w)
		*queue = slices.Delete(*queue, i, i+1)
		b.mu.turn = 1 - w.from
		a := w.account
		a.granted = w.size
		a.live(time.Now(), 0)
		b.add(a, w.size)
		close(w.granted)
	}
}

// next returns the applicant whose turn it is: the first one whose origin does not have
// its share already. The lock must be held.
func (b *budget) next() *applicant {
	for _, from := range [standings]standing{b.mu.turn, 1 - b.mu.turn} {
		for _, w := range b.mu.queues[from] {
			if held := b.mu.hosts[w.account.host]; held == 0 || held+int64(w.size) <= b.hostShare() {
				return w
			}
		}
	}
	return nil
}

// reclaim takes memory back from responses that have stalled, those with most of it
// first, until there will be room for the applicant whose turn it is. It is called
// while another fetch waits: otherwise a body may be as slow as a fetch may be.
func (b *budget) reclaim(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.next()
	if w == nil {
		return
	}
	lack := max(b.mu.granted+int64(w.size)-b.grantable(), b.mu.taken+int64(w.size)-b.most)
	var stalled []*account
	for a := range b.mu.holders {
		switch {
		case a.cut:
			lack -= int64(a.counted())
		case a.stalled(now):
			stalled = append(stalled, a)
		}
	}
	slices.SortFunc(stalled, func(x, y *account) int { return y.counted() - x.counted() })
	for _, a := range stalled {
		if lack <= 0 {
			return
		}
		lack -= int64(a.counted())
		a.yield()
	}
}
