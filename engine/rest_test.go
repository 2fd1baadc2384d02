package engine

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// restWorld is a world of a channel that is asked each interval, and of what other nodes
// are told.
func restWorld(t *testing.T) (w *world, url string, told func() []channel.Rest) {
	var mu sync.Mutex
	var rests []channel.Rest
	w = newWorld(t, Config{Refused: func(rest channel.Rest) {
		mu.Lock()
		defer mu.Unlock()
		rests = append(rests, rest)
	}})
	url = testURL(1)
	w.origins[url] = &origin{status: 200, body: "text", etag: `"1"`}
	return w, url, func() []channel.Rest {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(rests)
	}
}

// askedSince returns how often a URL was asked since a time.
func (w *world) askedSince(url string, since time.Time) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.asked[url] {
		if at.After(since) {
			n++
		}
	}
	return n
}

// TestRefusalIsTold: other nodes are told of a refusal at once: until when the host
// rests, and how often it has refused.
func TestRefusalIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, url, told := restWorld(t)
		defer w.close()
		w.engine.Order(w.orderOf(url))
		w.pass(2 * halfHour)
		if n := len(told()); n > 0 {
			t.Fatalf("told of %d rests of a host that has not refused", n)
		}
		w.mu.Lock()
		w.origins[url] = &origin{status: 429, retryAfter: "7200"}
		w.mu.Unlock()
		w.pass(halfHour)
		rests := told()
		w.mu.Lock()
		last := w.asked[url][len(w.asked[url])-1]
		w.mu.Unlock()
		if len(rests) != 1 || rests[0].Host != channel.HostID(channel.Host(url)) || rests[0].Refusals != 1 || !rests[0].Until.Equal(last.Add(2*time.Hour)) {
			t.Errorf("told %+v; asked last at %v", rests, last)
		}
	})
}

// TestHeedsRest: a host that refused another node is not asked before its rest is over,
// here or after a restart, also where no order had named it; then it is. Nothing of that is
// told back.
func TestHeedsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, url, told := restWorld(t)
		defer func() { w.close() }()
		known := testURL(2)
		w.origins[known] = &origin{status: 200, body: "text", etag: `"1"`}
		w.engine.Order(w.orderOf(known))
		w.pass(2 * halfHour)
		began := time.Now()
		rests := func(of string) channel.Rest {
			return channel.Rest{Host: channel.HostID(channel.Host(of)), Until: began.Add(5 * time.Hour), Refusals: 1}
		}
		w.engine.Rest(rests(url), rests(known))
		w.engine.Order(w.orderOf(url))
		w.pass(2 * time.Hour)
		w.restart()
		w.engine.Order(w.orderOf(url))
		w.engine.Order(w.orderOf(known))
		w.pass(time.Until(began.Add(5*time.Hour - time.Second)))
		for _, of := range []string{url, known} {
			if n := w.askedSince(of, began); n > 0 {
				t.Errorf("%s was asked %d times while it rested", of, n)
			}
		}
		w.pass(2 * time.Hour)
		for _, of := range []string{url, known} {
			if n := w.askedSince(of, began); n == 0 {
				t.Errorf("%s was not asked after its rest", of)
			}
		}
		if n := len(told()); n > 0 {
			t.Errorf("told others of %d rests that they had told", n)
		}
	})
}
