package engine

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/internal/volume"
)

// learner is an engine that has polled a channel's first version, of which another poller
// has found and the owner committed a second one.
type learner struct {
	*world
	url  string
	news News // of the second version
}

const learnPeriod = 10 * time.Second

func newLearner(t *testing.T) *learner { return newLearnerOn(t, nil) }

func newLearnerOn(t *testing.T, v *volume.Volume) *learner {
	l := &learner{world: newWorld(t, Config{Interval: learnPeriod, Floor: time.Second, Volume: v}), url: "http://a.example/a"}
	l.serve(1, origin{status: 200, body: "one", etag: "e1"}, l.url)
	l.pass(learnPeriod)
	one, two := coreOf(t, "one"), coreOf(t, "two")
	l.mu.Lock()
	o := l.own(channel.IDOf(l.url))
	o.version, o.core = 2, two
	l.origins[l.url].body, l.origins[l.url].etag = "two", "e2"
	l.mu.Unlock()
	order := l.orderOf(l.url)
	l.news = News{
		Channel: order.Channel, Incarnation: order.Incarnation, Version: 2, Hash: two.Hash,
		Base: one.Hash, Patch: deltas.MakeDelta(one, two), Shown: Shown{ETag: "e2"},
	}
	l.drain()
	return l
}

// asks returns what was asked and reported since the last call.
func (l *learner) asks() (asks []string) {
	for _, e := range l.drain() {
		if strings.HasPrefix(e.text, "ask") || strings.HasPrefix(e.text, "report") {
			asks = append(asks, e.text)
		}
	}
	return asks
}

// What another poller has found is not written to a disk that is nearly full: the next poll
// after that fetches it.
func TestLearnWithoutSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Uint64 // MiB, of a reserve of 16
		free.Store(1000)
		l := newLearnerOn(t, watchedVolume(t, &free))
		defer l.close()
		free.Store(3)
		l.pass(2 * time.Second)
		held := l.contents(l.news.Channel)
		l.engine.Learn(l.news)
		if got := l.contents(l.news.Channel); got != held {
			t.Errorf("%d contents are in the cache, %d before", got, held)
		}
		free.Store(1000)
		l.pass(3 * learnPeriod)
		if news, ok := l.engine.Held(l.news.Channel); !ok || news.Version != 2 {
			t.Errorf("held with room: %+v, %v", news, ok)
		}
	})
}

// What another poller has found is known before the next poll, which fetches and reports
// nothing; and it is the base of the next change.
func TestLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLearner(t)
		defer l.close()
		l.engine.Learn(l.news)
		l.pass(learnPeriod)
		if asks, want := l.asks(), []string{"ask if-none-match=e2"}; !slices.Equal(asks, want) {
			t.Errorf("after the news %q, want %q", asks, want)
		}
		core, err := l.engine.Content(l.news.Channel, l.news.Hash)
		if err != nil || core == nil || saying(core) != "two" {
			t.Errorf("content %v, %v; want that of the second version", core, err)
		}
		l.mu.Lock()
		l.origins[l.url].body, l.origins[l.url].etag = "three", "e3"
		l.mu.Unlock()
		l.pass(learnPeriod)
		if asks, want := l.asks(), []string{"ask if-none-match=e2", "report base=2(two) shows three: version 3"}; !slices.Equal(asks, want) {
			t.Errorf("at the next change %q, want %q", asks, want)
		}
	})
}

// What was learned is there after a restart too.
func TestLearnedIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLearner(t)
		defer l.close()
		l.engine.Learn(l.news)
		l.restart()
		order := l.orderOf(l.url)
		order.Version, order.Hash = 2, l.news.Hash
		l.engine.Order(order)
		l.pass(learnPeriod)
		if asks, want := l.asks(), []string{"ask if-none-match=e2"}; !slices.Equal(asks, want) {
			t.Errorf("after a restart %q, want %q", asks, want)
		}
	})
}

// News that this poller can make no content of have it fetch the content whole, and news
// that do not concern it change nothing.
func TestLearnOther(t *testing.T) {
	whole := []string{"ask"} // and what it shows is current
	before := []string{"ask if-none-match=e1", "report base=1(one) shows two: version 2"}
	for _, test := range []struct {
		name   string
		change func(*News)
		want   []string
	}{
		{"no patch", func(n *News) { n.Patch = nil }, whole},
		{"a patch of a content that is not here", func(n *News) { n.Base[0]++ }, whole},
		{"a patch that makes something else", func(n *News) { n.Hash[0]++ }, []string{"ask", "report base=1(one) shows two: version 2"}},
		{"a patch that is none", func(n *News) { n.Patch = []byte("?") }, whole},
		{"another incarnation", func(n *News) { n.Incarnation++ }, before},
		{"an earlier version", func(n *News) { n.Version = 0 }, before},
		{"another channel", func(n *News) { n.Channel[0]++ }, before},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLearner(t)
				defer l.close()
				l.lend()
				test.change(&l.news)
				l.engine.Learn(l.news)
				l.pass(learnPeriod)
				if asks := l.asks(); !slices.Equal(asks, test.want) {
					t.Errorf("%q, want %q", asks, test.want)
				}
			})
		})
	}
}

// Who comes to poll a channel and is given what another poller holds asks with its
// validators, and has the base of the next change.
func TestLearnHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLearner(t)
		defer l.close()
		id := channel.IDOf(l.url)
		l.engine.Learn(l.news)
		held, ok := l.engine.Held(id)
		if !ok || held.Version != 2 || held.Hash != l.news.Hash || held.Shown.ETag != "e2" || saying(held.Content) != "two" {
			t.Fatalf("holds %+v, %v", held, ok)
		}
		l.restart()
		if held, ok = l.engine.Held(id); !ok || held.Shown.ETag != "e2" {
			t.Fatalf("after a restart it holds %+v, %v", held, ok)
		}

		w := newWorld(t, Config{Interval: learnPeriod, Floor: time.Second})
		defer w.close()
		w.mu.Lock()
		w.origins[l.url] = &origin{status: 200, body: "two", etag: "e2"}
		o := w.own(id)
		o.version, o.core = 2, held.Content
		w.mu.Unlock()
		order := w.orderOf(l.url)
		if w.engine.Lacks(id) {
			t.Error("a channel that is not ordered is lacking")
		}
		w.engine.Order(order)
		if !w.engine.Lacks(id) {
			t.Error("the version that is ordered first is not lacking")
		}
		if _, ok := w.engine.Held(id); ok {
			t.Error("what is ordered counts as held")
		}
		w.engine.Learn(held)
		if w.engine.Lacks(id) {
			t.Error("what was learned is lacking")
		}
		w.pass(learnPeriod)
		w.mu.Lock()
		w.origins[l.url].body, w.origins[l.url].etag = "three", "e3"
		w.mu.Unlock()
		w.pass(learnPeriod)
		w.restart()
		w.engine.Order(w.orderOf(l.url))
		if w.engine.Lacks(id) {
			t.Error("after a restart, what the cache has is lacking")
		}
		w.pass(learnPeriod)
		want := []string{"ask if-none-match=e2", "ask if-none-match=e2", "report base=2(two) shows three: version 3", "ask if-none-match=e3"}
		if asks := (&learner{world: w}).asks(); !slices.Equal(asks, want) {
			t.Errorf("%q, want %q", asks, want)
		}
	})
}

// lend has the owner answer stale bases with the content.
func (l *learner) lend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own(channel.IDOf(l.url)).lend = true
}

// News that come while the channel is polled cost a poll that fetches the whole content,
// and no change.
func TestLearnDuringPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLearner(t)
		defer l.close()
		l.mu.Lock()
		l.origins[l.url].after = time.Second
		l.mu.Unlock()
		for len(l.asks()) == 0 {
			l.pass(time.Second / 4)
		}
		l.engine.Learn(l.news)
		l.pass(2 * learnPeriod)
		asks := l.asks()
		if last := asks[len(asks)-1]; last != "ask if-none-match=e2" {
			t.Errorf("%q; want the second version's validators in the end", asks)
		}
		if stats, _ := l.engine.Stats(l.news.Channel); stats.LastError != "" || stats.LastStatus != 304 {
			t.Errorf("afterwards %+v", stats)
		}
	})
}

// A change whose report the owner does not answer is not lost behind a 304: the poll after
// it still asks with the validators of what the owner has.
func TestUnansweredChangeIsFetchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Interval: learnPeriod, Floor: time.Second})
		defer w.close()
		const url = "http://a.example/a"
		w.serve(1, origin{status: 200, body: "one", etag: "e1"}, url)
		w.pass(learnPeriod)
		w.mu.Lock()
		o := w.own(channel.IDOf(url))
		w.origins[url].body, w.origins[url].etag, o.fail = "two", "e2", true
		w.mu.Unlock()
		w.pass(2 * learnPeriod)
		w.mu.Lock()
		o.fail = false
		w.mu.Unlock()
		w.pass(3 * learnPeriod)
		w.mu.Lock()
		defer w.mu.Unlock()
		if o.version != 2 || saying(o.core) != "two" {
			t.Errorf("a change is lost behind a 304: the owner has version %d", o.version)
		}
	})
}
