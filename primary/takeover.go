package primary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/internal/planted"
)

// tenures takes over the ranges that this node comes to lead, and lets go of those that
// it loses.
type tenures struct {
	config   Config
	metrics  *metrics
	book     *book
	planner  solver
	scanPage int

	turn   sync.Mutex    // one takeover at a time; taken before the planner solves
	gain   chan struct{} // holds a token when a range was gained
	gained []*tenure     // that wait to be taken over; guarded by the book's lock
}

// solver finds rates.
type solver interface {
	// solve finds and orders the rates of all channels, or of those that changed.
	solve(full bool) error
	// hurry has everything solved again soon. The book is locked.
	hurry()
}

// RangeGained announces that this node leads a range: what was applied before is in the
// store, and [Owner.ChannelChanged] announces what is applied from now on. The channels
// get their orders by [Owner.Start] or, after it, by [Owner.Run].
func (ts *tenures) RangeGained(r channel.Range, term uint64) {
	ts.book.Lock()
	defer ts.book.Unlock()
	t := &tenure{Range: r, term: term}
	ts.book.led.Set(r, t)
	ts.gained = append(ts.gained, t)
	ts.signalGain()
}

// OrderAgain has all channels of the ranges that this node leads within r ordered once
// more, because who is to poll them has changed or has lost orders.
func (ts *tenures) OrderAgain(r channel.Range) {
	ts.book.Lock()
	defer ts.book.Unlock()
	for led, t := range ts.book.led.All() {
		if t.ordered && led.From <= r.To && r.From <= led.To && !slices.Contains(ts.gained, t) {
			ts.gained = append(ts.gained, t)
		}
	}
	ts.signalGain()
}

// RangeLost tells the owner that this node does not lead a range any more. When it
// returns, no channel of the range is ordered, and no report of one is committed.
func (ts *tenures) RangeLost(r channel.Range, _ uint64) {
	ts.book.Lock()
	if t := ts.book.led.Remove(r); t != nil {
		t.over = true
		if t.ordered {
			ts.book.poller.End(r)
		}
	}
	ts.planner.hurry() // the others' part of the budget is another
	ts.book.Unlock()
	for bucket := r.From; bucket <= r.To; bucket++ {
		ts.book.abandon(bucket)
	}
}

// signalGain wakes follow. The book is locked, or nothing else runs yet.
func (ts *tenures) signalGain() {
	select {
	case ts.gain <- struct{}{}:
	default:
	}
}

// takeOverAgain is the pause after a takeover that failed.
const takeOverAgain = time.Second

// follow takes over the ranges that are gained after the start, until ctx is done.
func (ts *tenures) follow(ctx context.Context) {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ts.gain:
		case <-again:
		}
		poller := ts.startedWith()
		if poller == nil {
			continue // Start takes over what is gained before it
		}
		if err := ts.takeOver(poller); err != nil && ctx.Err() == nil {
			ts.config.Logger.Error("cannot take over ranges, will try again", "error", err)
			again = time.After(takeOverAgain)
		}
	}
}

// startedWith returns the poller when it has orders and gained ranges wait for theirs.
func (ts *tenures) startedWith() Poller {
	ts.book.Lock()
	defer ts.book.Unlock()
	if len(ts.gained) == 0 {
		return nil
	}
	return ts.book.poller
}

// takeOver gives the poller its orders for all ranges that wait for it. Their channels
// are all known before the first is ordered, so that each has its own rate from the
// beginning. Ranges that cannot be read wait again, and keep no other waiting.
func (ts *tenures) takeOver(poller Poller) error {
	ts.turn.Lock()
	defer ts.turn.Unlock()
	ts.book.Lock()
	gained := ts.gained
	ts.gained = nil
	ts.book.Unlock()
	failed, err := ts.order(gained, poller)
	ts.metrics.takeovers.Add(float64(len(gained) - len(failed)))
	if err != nil {
		ts.metrics.takeoverFailures.Inc()
		ts.book.Lock()
		ts.gained = append(failed, ts.gained...)
		ts.book.Unlock()
	}
	return err
}

// order orders all channels of ranges, and returns the ranges that failed.
func (ts *tenures) order(gained []*tenure, poller Poller) (failed []*tenure, err error) {
	fails := func(t *tenure, why error) {
		failed, err = append(failed, t), errors.Join(err, why)
	}
	gained = slices.DeleteFunc(slices.Clone(gained), func(t *tenure) bool {
		why := ts.eachPage(t, ts.learnPage, func() {})
		if why != nil {
			fails(t, why)
		}
		return why != nil
	})
	if len(gained) == 0 && err != nil {
		return failed, err // there is nothing new to be solved
	}
	ts.book.Lock()
	for _, t := range gained {
		t.learned = true
	}
	ts.book.Unlock()
	if unsolved := ts.planner.solve(true); unsolved != nil {
		return append(failed, gained...), errors.Join(err, fmt.Errorf("solve for rates: %w", unsolved))
	}
	ts.book.Lock()
	ts.book.poller = poller
	for _, t := range gained {
		if !t.over {
			poller.Begin(t.Range, t.term)
			t.ordered = true
		}
	}
	ts.book.Unlock()
	for _, t := range gained {
		if why := ts.eachPage(t, ts.orderPage, poller.Wait); why != nil {
			fails(t, why)
			continue
		}
		ts.complete(t)
	}
	return failed, err
}

// complete says that all channels of a range have been ordered, unless it was lost.
func (ts *tenures) complete(t *tenure) {
	ts.book.Lock()
	defer ts.book.Unlock()
	if !t.over {
		ts.book.poller.Complete(t.Range)
	}
}

// scanPage is how many channels are read, and ordered, at a time.
const scanPage = 1000

// eachPage goes through the channels of a range while the tenure lasts, and calls between
// without the lock after each page.
func (ts *tenures) eachPage(t *tenure, do func(page []channel.Channel), between func()) error {
	var after *channel.ID
	for {
		last, err := ts.page(t, after, do)
		if err != nil || last == nil {
			return err
		}
		after = last
		between()
	}
}

// page reads and does one page under the lock, so that a change that is applied after
// the read is also followed after it. It returns the last ID, or nil at the end.
func (ts *tenures) page(t *tenure, after *channel.ID, do func(page []channel.Channel)) (last *channel.ID, err error) {
	ts.book.Lock()
	defer ts.book.Unlock()
	if t.over || planted.Bug(14) {
		return nil, nil
	}
	page, err := ts.book.store.ChannelsIn(t.Range, after, ts.scanPage)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	do(page)
	return &page[len(page)-1].ID, nil
}

// learnPage has the plan know channels. The book is locked.
func (ts *tenures) learnPage(page []channel.Channel) {
	for _, ch := range page {
		ts.book.plan.update(ch, false)
	}
}

// orderPage orders channels. The book is locked.
func (ts *tenures) orderPage(page []channel.Channel) {
	orders := make([]engine.Order, 0, len(page))
	for _, ch := range page {
		ts.book.plan.update(ch, false)
		if ts.book.plan.of(ch).rate != 0 {
			orders = append(orders, ts.book.orderOf(ch))
		}
	}
	ts.book.poller.Order(orders...)
}
