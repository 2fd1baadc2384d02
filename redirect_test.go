package corona_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/fetcher"
	"github.com/seed-91e7e7c1/corona/ownership"
	"github.com/seed-91e7e7c1/corona/primary"
	"github.com/seed-91e7e7c1/corona/wedge"
)

const (
	ownURL   = "https://example.com/feed"
	movedURL = "https://example.org/feed"
)

// oneChannel is a store of one channel, in memory: the replicated one has timers of
// its own, for which virtual weeks are long.
type oneChannel struct {
	mu      sync.Mutex
	ch      channel.Channel
	commits int
	changed func(channel.Channel, bool)
}

func (s *oneChannel) Channel(channel.ID) (channel.Channel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ch, nil
}

func (s *oneChannel) ChannelsIn(_ channel.Range, after *channel.ID, _ int) ([]channel.Channel, error) {
	if after != nil {
		return nil, nil
	}
	return []channel.Channel{s.ch}, nil
}

func (s *oneChannel) Seen(channel.ID) ([]uint64, error) { return nil, nil }

func (s *oneChannel) Updates(channel.ID, uint64, int) ([]channel.Update, *channel.Gap, error) {
	return nil, nil, nil
}

func (s *oneChannel) Forget(context.Context, channel.Channel, []byte) error {
	return ownership.ErrStale
}

func (s *oneChannel) EndChannel(context.Context, channel.ID, uint64) error { return ownership.ErrStale }

func (s *oneChannel) Leased(channel.Bucket) bool { return true }

func (s *oneChannel) Commit(_ context.Context, c ownership.Commit) error {
	s.mu.Lock()
	s.commits++
	s.ch.Version, s.ch.Hash, s.ch.Kind, s.ch.Judge, s.ch.Gone = c.Version, c.Hash, c.Kind, c.Judge, c.Gone
	if c.Moved != nil {
		s.ch.Moved = *c.Moved
	}
	ch := s.ch
	s.mu.Unlock()
	s.changed(ch, false)
	return nil
}

// website answers for URLs: a redirect, a document, or a failure.
type website struct {
	mu    sync.Mutex
	pages map[string]page
	asked map[string]int
}

type page struct {
	status   int // 0: no connection
	location string
	body     string // %d in it counts the requests
}

func (w *website) Reserve(context.Context, string, int64, bool) (fetcher.Room, error) {
	return fetcher.Room{}, nil
}

func (w *website) Fetch(_ context.Context, req fetcher.Request) (*fetcher.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[req.URL]++
	p := w.pages[req.URL]
	if p.status == 0 {
		return nil, &fetcher.Error{Class: fetcher.Connect, URL: req.URL, Err: errors.New("refused")}
	}
	return &fetcher.Response{Status: p.status, Location: p.location, Body: []byte(strings.ReplaceAll(p.body, "%d", strconv.Itoa(w.asked[req.URL])))}, nil
}

// show changes what is at URLs.
func (w *website) show(pages map[string]page) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for url, p := range pages {
		w.pages[url] = p
	}
}

// during returns how often URLs are asked while time passes.
func (w *website) during(d time.Duration) map[string]int {
	w.mu.Lock()
	clear(w.asked)
	w.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := map[string]int{}
	for url, n := range w.asked {
		asked[url] = n
	}
	return asked
}

// day is one of these tests, in which a channel is polled twice. Real ones are too
// long even in virtual time, since much happens in a second.
const day = 2 * time.Minute

// weeks runs a whole poller and owner of one channel, in virtual time.
func weeks(t *testing.T, site *website) *oneChannel {
	t.Helper()
	config := primary.Config{Interval: day / 2, Floor: time.Second, MovedHold: 21 * day, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	store := &oneChannel{ch: channel.Channel{ID: channel.IDOf(ownURL), URL: ownURL, Incarnation: 7, Subscribers: 1}}
	owner := primary.New(config, store, nil)
	owner.RangeGained(channel.Range{To: channel.Buckets - 1}, 1)
	store.changed = owner.ChannelChanged
	poller, err := engine.Open(engine.Config{Dir: t.TempDir(), Interval: config.Interval, Floor: config.Floor}, site, owner, nil)
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- poller.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(poller.Close(), <-ran); err != nil {
			t.Error(err)
		}
	})
	if err := owner.Start(wedge.Alone{Engine: poller}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // the first poll belongs to no time that is counted
	return store
}

const (
	rss   = `<?xml version="1.0"?><rss version="2.0"><channel><title>Example</title><item><guid>1</guid><title>one</title></item></channel></rss>`
	works = `<!DOCTYPE html><html><head><title>Back soon</title></head><body><p>We are being maintained. You are number %d.</p></body></html>`
)

// row 21: redirected for good to the same feed for weeks: learned, and unlearned
// when that fails.
func TestRedirectOfWeeksIsLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &website{asked: map[string]int{}, pages: map[string]page{
			ownURL: {status: 301, location: movedURL}, movedURL: {status: 200, body: rss},
		}}
		store := weeks(t, site)
		if asked := site.during(20 * day); asked[ownURL] < 39 || asked[movedURL] != asked[ownURL] {
			t.Errorf("in 20 days %v", asked)
		}
		if got := store.commits; got != 2 {
			t.Errorf("%d commits, want the content, and that it has moved", got)
		}
		site.during(2 * day)
		if asked := site.during(3 * day); asked[ownURL] != 0 || asked[movedURL] != 6 || !store.ch.Moved.Learned {
			t.Errorf("after three weeks %v, %+v", asked, store.ch.Moved)
		}
		if got := store.commits; got != 3 {
			t.Errorf("%d commits, want one more", got)
		}
		// The target is gone, the redirect with it: the channel lives on at its own URL.
		site.show(map[string]page{movedURL: {}, ownURL: {status: 200, body: rss}})
		site.during(day)
		if asked := site.during(3 * day); asked[movedURL] != 0 || asked[ownURL] != 6 {
			t.Errorf("after the learned URL failed %v", asked)
		}
		if ch := store.ch; ch.Version != 1 || ch.Gone || ch.Moved != (channel.Moved{}) {
			t.Errorf("in the end %+v", ch)
		}
	})
}

// row 21: redirected for good to a maintenance page: remembered, but not learned. That
// the feed is gone is told, until the page's counter is known for one.
func TestRedirectToMaintenanceIsNotLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &website{asked: map[string]int{}, pages: map[string]page{ownURL: {status: 200, body: rss}, movedURL: {status: 200, body: works}}}
		store := weeks(t, site)
		site.during(day)
		site.show(map[string]page{ownURL: {status: 301, location: movedURL}})
		if asked := site.during(25 * day); asked[ownURL] < 50 {
			t.Errorf("in 25 days %v", asked)
		}
		if ch := store.ch; ch.Moved != (channel.Moved{To: movedURL}) || ch.Version > 4 {
			t.Errorf("after weeks %+v", ch)
		}
		site.show(map[string]page{ownURL: {status: 200, body: rss}})
		site.during(day)
		if asked := site.during(3 * day); asked[movedURL] != 0 || asked[ownURL] != 6 {
			t.Errorf("when it is over %v", asked)
		}
		if ch := store.ch; ch.Moved != (channel.Moved{}) || ch.Version > 5 {
			t.Errorf("when it is over %+v", ch)
		}
	})
}

// TestLearnedURLMayFail is row 21 too: the old URL is shut down after the move, as is
// usual, and the new one fails for a while. It is asked again all the same: there is
// no other.
func TestLearnedURLMayFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &website{asked: map[string]int{}, pages: map[string]page{
			ownURL: {status: 301, location: movedURL}, movedURL: {status: 200, body: rss},
		}}
		store := weeks(t, site)
		site.during(25 * day)
		if !store.ch.Moved.Learned {
			t.Fatal("not learned")
		}
		site.show(map[string]page{ownURL: {}})
		site.during(5 * day)
		site.show(map[string]page{movedURL: {status: 502}})
		site.during(day / 2)
		site.show(map[string]page{movedURL: {status: 200, body: rss}})
		if asked := site.during(30 * day); asked[movedURL] == 0 {
			t.Errorf("one 502 in 30 days: asked %v, moved %+v", asked, store.ch.Moved)
		}
	})
}
