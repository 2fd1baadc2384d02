package witness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
)

// Workload is people who subscribe, look and unsubscribe all the time.
type Workload struct {
	Actors int // people; set before Run
	client *Client
	origin *Origin
	sink   *Sink
	seed   uint64
	// Gate is held for reading during each action, and for writing while the state
	// is checked: no request is under way then.
	Gate    sync.RWMutex
	streams sync.WaitGroup
	mu      struct {
		sync.Mutex
		records  []*SubscribeRecord // all but anchors
		readers  map[*SubscribeRecord]context.CancelFunc
		keys     int
		anchored int // channels that have their anchor, from number 0 on
	}
}

// What the workload keeps alive.
const (
	wantedLive    = 100 // subscriptions; more are deleted
	wantedReaders = 6   // streams by subscription
	streamsOfAll  = 2
	streamsOfOne  = 3
	actionPause   = 60 * time.Millisecond // mean, between an actor's actions
	abandonOne    = 8                     // of so many requests that were cut or had no space, one is never repeated
	batchMost     = 6

	FirstAnchored   = 12 // channels that have their anchor before anything else happens
	AnchoredMost    = 24 // those that have it in the end
	PassingChannels = 6  // channels that begin and end with their subscriptions

	introduceEvery = 8 * time.Second
)

// NewWorkload returns the people of a client, who act while Run runs.
func NewWorkload(c *Client, o *Origin, s *Sink, seed uint64) *Workload {
	w := &Workload{Actors: 4, client: c, origin: o, sink: s, seed: seed}
	w.mu.readers = make(map[*SubscribeRecord]context.CancelFunc)
	return w
}

// Run acts until the context ends, and waits for all that it started.
func (w *Workload) Run(ctx context.Context) {
	var running sync.WaitGroup
	for n := range w.Actors {
		a := &actor{Workload: w, random: rand.New(rand.NewPCG(w.seed, uint64(n)+3<<32))}
		running.Go(func() { a.run(ctx) })
	}
	running.Go(func() { w.readVersions(ctx) })
	running.Go(func() { w.introduce(ctx) })
	for n := range streamsOfAll + streamsOfOne {
		record := &StreamRecord{Filter: FilterNone}
		if n >= streamsOfAll {
			record = &StreamRecord{Filter: FilterChannel, Channel: n - streamsOfAll}
		}
		running.Go(func() { newStreamReader(w.client, w.origin, record, w.seed+uint64(n)).run(ctx) })
	}
	running.Wait()
	w.streams.Wait()
}

// introduce anchors one channel after the other, whether the node lives or not.
func (w *Workload) introduce(ctx context.Context) {
	for ctx.Err() == nil {
		Pause(ctx, introduceEvery)
		w.Gate.RLock()
		w.Anchor(ctx)
		w.Gate.RUnlock()
	}
}

// Anchor subscribes the next anchored channel, for good. Until that is
// acknowledged no other actor subscribes to it: its versions would begin at 1 again if
// those subscriptions ended.
func (w *Workload) Anchor(ctx context.Context) {
	w.mu.Lock()
	number := w.mu.anchored
	if number == AnchoredMost {
		w.mu.Unlock()
		return
	}
	record := w.newRecord(number, api.SinkWebhook)
	w.mu.Unlock()
	w.client.recorder.With(func(h *History) { h.Subscribes = append(h.Subscribes, record) })
	for w.client.Subscribe(ctx, record).Outcome.open() {
		if ctx.Err() != nil {
			return
		}
		Pause(ctx, RetryPause)
	}
	w.client.recorder.With(func(h *History) { h.Channels[number].Anchored = true })
	w.mu.Lock()
	w.mu.anchored = number + 1
	w.mu.Unlock()
}

// newRecord makes a wish. The caller holds mu.
func (w *Workload) newRecord(channel int, sinkType string) *SubscribeRecord {
	w.mu.keys++
	record := &SubscribeRecord{Key: fmt.Sprintf("key-%d", w.mu.keys), Channel: channel, Sink: api.Sink{Type: sinkType}}
	if sinkType == api.SinkWebhook {
		record.Label = fmt.Sprintf("hook-%d", w.mu.keys)
		record.Sink.URL = w.sink.URL + record.Label
		if w.mu.keys%2 == 0 {
			record.Sink.Secret = secret
		}
	}
	return record
}

// Wish adds a wish to the history which the workload leaves to the caller: for a
// webhook on a channel, with a key or without.
func (w *Workload) Wish(channel int, keyed bool) *SubscribeRecord {
	w.mu.Lock()
	record := w.newRecord(channel, api.SinkWebhook)
	w.mu.Unlock()
	if !keyed {
		record.Key = ""
	}
	w.client.recorder.With(func(h *History) { h.Subscribes = append(h.Subscribes, record) })
	return record
}

// WishShared adds a wish to the history which the workload leaves to the caller: for a
// webhook on a channel whose endpoint other subscriptions have, too.
func (w *Workload) WishShared(channel int, endpoint string) *SubscribeRecord {
	w.mu.Lock()
	record := w.newRecord(channel, api.SinkWebhook)
	w.mu.Unlock()
	record.Label, record.Endpoint, record.Sink.URL = endpoint+"-"+record.Label, endpoint, w.sink.URL+endpoint
	w.client.recorder.With(func(h *History) { h.Subscribes = append(h.Subscribes, record) })
	return record
}

// readVersions looks at every channel's version, one after the other.
func (w *Workload) readVersions(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		w.Gate.RLock()
		w.mu.Lock()
		anchored := w.mu.anchored
		w.mu.Unlock()
		number := n % (anchored + PassingChannels)
		if number >= anchored {
			number += AnchoredMost - anchored
		}
		w.readVersion(ctx, number)
		w.Gate.RUnlock()
		Pause(ctx, RetryPause/2)
	}
}

func (w *Workload) readVersion(ctx context.Context, number int) {
	var record *ChannelRecord
	w.client.recorder.With(func(h *History) { record = h.Channels[number] })
	// A channel that passes may not be there. If an anchored one is gone, the checker finds that.
	version, err := w.client.readVersion(ctx, record)
	if err == nil && version > 0 {
		w.origin.FirstSeen(number, w.client.recorder.Now())
	}
}

// actor is one person.
type actor struct {
	*Workload
	random *rand.Rand
}

func (a *actor) run(ctx context.Context) {
	for ctx.Err() == nil {
		a.Gate.RLock()
		a.act(ctx)
		a.Gate.RUnlock()
		Pause(ctx, time.Duration(a.random.ExpFloat64()*float64(actionPause)))
	}
}

func (a *actor) act(ctx context.Context) {
	live, acked := a.choose()
	switch n := a.random.IntN(100); {
	case live != nil && n < a.deletions():
		a.unsubscribe(ctx, live)
	case acked != nil && n < 55:
		a.client.Look(ctx, acked)
	case acked != nil && n < 65:
		a.client.Subscribe(ctx, acked) // the same key, perhaps long after a deletion
	case acked != nil && n < 70:
		a.client.conflict(ctx, acked)
	case n < 80:
		a.subscribeMany(ctx)
	default:
		a.subscribe(ctx)
	}
}

// deletions returns how many of a hundred actions delete.
func (a *actor) deletions() int {
	live := 0
	a.client.recorder.With(func(h *History) {
		for _, record := range h.Subscribes {
			if record.Acked() != nil && len(record.Deletes) == 0 {
				live++
			}
		}
	})
	if live > wantedLive {
		return 40
	}
	return 10
}

// choose returns a subscription that can be deleted, and one that was
// acknowledged at some time; nil where there is none.
func (a *actor) choose() (live, acked *SubscribeRecord) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client.recorder.With(func(*History) {
		for range 5 {
			if len(a.mu.records) == 0 {
				return
			}
			record := a.mu.records[a.random.IntN(len(a.mu.records))]
			if record.Acked() == nil {
				continue
			}
			acked = record
			if len(record.Deletes) == 0 {
				live = record
			}
		}
	})
	return live, acked
}

// wish adds a new record to the history.
func (a *actor) wish() *SubscribeRecord {
	sinkType := api.SinkWebhook
	if a.random.IntN(5) == 0 {
		sinkType = api.SinkSSE
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	channel := a.random.IntN(a.mu.anchored + PassingChannels)
	if channel >= a.mu.anchored {
		channel += AnchoredMost - a.mu.anchored
	}
	record := a.newRecord(channel, sinkType)
	a.mu.records = append(a.mu.records, record)
	a.client.recorder.With(func(h *History) { h.Subscribes = append(h.Subscribes, record) })
	return record
}

// subscribe asks until there is an answer; now and then it gives up after a cut,
// and the record never says whether there is a subscription, or when there is no
// space.
func (a *actor) subscribe(ctx context.Context) {
	record := a.wish()
	for a.client.Subscribe(ctx, record).Outcome.open() && ctx.Err() == nil {
		if a.random.IntN(abandonOne) == 0 {
			return
		}
		Pause(ctx, RetryPause)
	}
	a.follow(ctx, record)
}

func (a *actor) subscribeMany(ctx context.Context) {
	records := make([]*SubscribeRecord, 1+a.random.IntN(batchMost))
	for i := range records {
		records[i] = a.wish()
	}
	a.client.subscribeBatch(ctx, records)
}

// unsubscribe asks until there is an answer, or gives up after a cut as subscribe
// does.
func (a *actor) unsubscribe(ctx context.Context, record *SubscribeRecord) {
	a.mu.Lock()
	stop := a.mu.readers[record]
	delete(a.mu.readers, record)
	a.mu.Unlock()
	if stop != nil {
		stop()
	}
	for a.client.Unsubscribe(ctx, record).Outcome.open() && ctx.Err() == nil {
		if a.random.IntN(abandonOne) == 0 {
			return
		}
		Pause(ctx, RetryPause)
	}
}

// follow reads the stream of a subscription with a cursor sink, while there are
// few such readers.
func (a *actor) follow(ctx context.Context, record *SubscribeRecord) {
	a.mu.Lock()
	defer a.mu.Unlock()
	acked := false
	a.client.recorder.With(func(*History) { acked = record.Acked() != nil })
	if !acked || record.Sink.Type != api.SinkSSE || len(a.mu.readers) >= wantedReaders {
		return
	}
	reading, stop := context.WithCancel(ctx)
	a.mu.readers[record] = stop
	reader := newStreamReader(a.client, a.origin, &StreamRecord{Filter: FilterSubscription, Subscribe: record}, a.seed+uint64(a.mu.keys))
	a.streams.Go(func() { reader.run(reading) })
}
