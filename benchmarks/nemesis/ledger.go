//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/benchmarks/internal/witness"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/testcluster/history"
)

// ledger is clients who write and read the subscriptions of a few channels at any node,
// and write down what they asked and what they were told: a history per channel that is
// to be linearizable. Channels are left after some requests, so that each history is
// short enough to be decided, and new ones take their place.
type ledger struct {
	*run
	clients int
	tidy    bool            // most channels lose what they have when they are left, so that not ever more are polled
	hasty   *witness.Client // what most clients ask with: it waits for answers hastyWithin
	history history.Recorder

	mu struct {
		sync.Mutex
		pages []*page
		all   []*page
	}
}

// page is a channel of the ledger.
type page struct {
	channel *witness.ChannelRecord
	wishes  []*witness.SubscribeRecord
	left    int // requests until another channel takes its place
}

const (
	pagesAtOnce  = 20
	pageRequests = 30
	pageWishes   = 5
	askPause     = 120 * time.Millisecond // mean, between a client's requests
	patientOne   = 4                      // of so many clients one waits for each answer as long as may be
	hastyWithin  = 2 * time.Second        // others ask elsewhere sooner: no fault silences all of them
	keylessOne   = 4                      // of so many subscriptions one has no key
	keptOne      = 10                     // of so many channels that are left one keeps its subscriptions, if others do not
	closers      = 8                      // that list all channels in the end, at the same time
)

// work asks until the context ends.
func (l *ledger) work(ctx context.Context, seed uint64) {
	var running sync.WaitGroup
	for client := range l.clients {
		random := rand.New(rand.NewPCG(seed, uint64(client)+5<<32))
		running.Go(func() {
			for ctx.Err() == nil {
				l.workload.Gate.RLock()
				l.ask(ctx, client, random)
				l.workload.Gate.RUnlock()
				witness.Pause(ctx, time.Duration(random.ExpFloat64()*float64(askPause)))
			}
		})
	}
	running.Wait()
}

// as returns what a client asks with.
func (l *ledger) as(client int) *witness.Client {
	if client%patientOne == 0 {
		return l.client
	}
	return l.hasty
}

// ask makes one request.
func (l *ledger) ask(ctx context.Context, client int, random *rand.Rand) {
	p, last := l.open(random)
	if last && l.tidy && random.IntN(keptOne) != 0 {
		defer l.empty(ctx, client, p)
	}
	switch n := random.IntN(100); {
	case n < 30:
		l.list(ctx, client, p)
	case n < 45:
		if wish := l.kept(p, random); wish != nil {
			l.as(client).Look(ctx, wish)
		}
	case n < 65:
		if wish := l.kept(p, random); wish != nil {
			l.unsubscribe(ctx, client, p, wish)
		}
	default:
		l.subscribe(ctx, client, p, random)
	}
}

// empty asks once for the deletion of each subscription of a page.
func (l *ledger) empty(ctx context.Context, client int, p *page) {
	for _, wish := range l.acked(p) {
		l.unsubscribe(ctx, client, p, wish)
	}
}

// open returns a page with a request left, and takes that; last is whether it was the last.
func (l *ledger) open(random *rand.Rand) (p *page, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mu.pages) < pagesAtOnce {
		p := l.newPage()
		l.mu.pages, l.mu.all = append(l.mu.pages, p), append(l.mu.all, p)
	}
	at := random.IntN(len(l.mu.pages))
	p = l.mu.pages[at]
	if p.left--; p.left == 0 {
		l.mu.pages = append(l.mu.pages[:at], l.mu.pages[at+1:]...)
	}
	return p, p.left == 0
}

// newPage makes a channel. The caller holds mu.
func (l *ledger) newPage() *page {
	record := &witness.ChannelRecord{}
	l.recorder.With(func(h *witness.History) {
		record.Number = len(h.Channels)
		record.URL = fmt.Sprintf("%s%d", l.stillURL, record.Number)
		record.ID = channel.IDOf(record.URL)
		h.Channels = append(h.Channels, record)
	})
	return &page{channel: record, left: pageRequests}
}

// kept returns a wish of the page that was acknowledged, nil if there is none.
func (l *ledger) kept(p *page, random *rand.Rand) *witness.SubscribeRecord {
	acked := l.acked(p)
	if len(acked) == 0 {
		return nil
	}
	return acked[random.IntN(len(acked))]
}

// acked returns the wishes of the page that were acknowledged.
func (l *ledger) acked(p *page) (acked []*witness.SubscribeRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recorder.With(func(*witness.History) {
		for _, wish := range p.wishes {
			if wish.Acked() != nil {
				acked = append(acked, wish)
			}
		}
	})
	return acked
}

// wish returns a new wish of the page, or one that has a key and may be asked for again.
func (l *ledger) wish(p *page, random *rand.Rand) *witness.SubscribeRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(p.wishes) > 0 && (len(p.wishes) >= pageWishes || random.IntN(3) == 0) {
		if wish := p.wishes[random.IntN(len(p.wishes))]; wish.Key != "" {
			return wish
		}
	}
	if len(p.wishes) >= pageWishes {
		return nil
	}
	wish := l.workload.Wish(p.channel.Number, random.IntN(keylessOne) != 0)
	p.wishes = append(p.wishes, wish)
	return wish
}

func (l *ledger) subscribe(ctx context.Context, client int, p *page, random *rand.Rand) {
	wish := l.wish(p, random)
	if wish == nil {
		return
	}
	pending := l.history.Begin(client, p.channel.URL, history.Subscribe, wish.Label)
	attempt := l.as(client).Subscribe(ctx, wish)
	switch {
	case attempt.Outcome == witness.Acked && attempt.Subscription.State == api.StateDeleted:
		pending.End(history.Deleted)
	case attempt.Outcome == witness.Acked:
		pending.End(history.Done)
	case attempt.Outcome == witness.Unknown && !attempt.Unsent:
		pending.End(history.Unknown)
	default: // not sent, 507, or a 4xx, which is a violation by itself
		pending.Refused()
	}
}

func (l *ledger) unsubscribe(ctx context.Context, client int, p *page, wish *witness.SubscribeRecord) {
	pending := l.history.Begin(client, p.channel.URL, history.Unsubscribe, wish.Label)
	attempt := l.as(client).Unsubscribe(ctx, wish)
	switch {
	case attempt.Outcome == witness.Acked:
		pending.End(history.Done)
	case attempt.Outcome == witness.Unknown && !attempt.Unsent:
		pending.End(history.Unknown)
	case attempt.Outcome == witness.Refused:
		pending.End(history.NotFound)
	default:
		pending.Refused()
	}
}

func (l *ledger) list(ctx context.Context, client int, p *page) (answered bool) {
	pending := l.history.Begin(client, p.channel.URL, history.List, "")
	subscriptions := l.as(client).List(ctx, p.channel)
	if subscriptions == nil {
		pending.End(history.Unknown)
		return false
	}
	labels := make([]string, len(subscriptions))
	for i, sub := range subscriptions {
		labels[i] = strings.TrimPrefix(sub.Sink.URL, l.sink.URL)
	}
	pending.Listed(labels)
	return true
}

// close lists every channel once more: what was acknowledged before must show.
func (l *ledger) close(ctx context.Context) {
	var closing sync.WaitGroup
	for n := range closers {
		closing.Go(func() {
			for i := n; i < len(l.mu.all); i += closers {
				for try := 0; try < 3 && !l.list(ctx, l.clients+n, l.mu.all[i]); try++ {
					witness.Pause(ctx, witness.RetryPause)
				}
			}
		})
	}
	closing.Wait()
}
