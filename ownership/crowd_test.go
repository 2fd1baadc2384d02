package ownership

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/testcluster/history"
)

// The clients of a crowd: writers ask any node for anything, each reader asks one node
// for lists alone.
const (
	writers = 6
	readers = 3
)

// crowd is clients that subscribe and unsubscribe, what they asked for, and what they
// were told. Each subscription has a label of its own, which its sink shows, and which is
// its key if it has one.
type crowd struct {
	w       *town
	history history.Recorder

	mu     sync.Mutex
	urls   [6]place
	byURL  map[string][]*wanted
	labels map[string]*wanted
	ids    map[string]*wanted
}

// place is a channel that clients use at present. It gives way to another one after some
// operations: whether a history is linearizable takes exponential time to say.
type place struct {
	url              string
	asked, undecided int
}

const (
	maxAsked     = 80
	maxUndecided = 4
)

// wanted is a subscription that was asked for.
type wanted struct {
	url, label string
	keyed      bool
	id         string // empty: not known
	taken      bool   // its end is being asked for, or was
	ended      bool   // its end was acknowledged
}

func newCrowd(w *town) *crowd {
	c := &crowd{w: w, byURL: make(map[string][]*wanted), labels: make(map[string]*wanted), ids: make(map[string]*wanted)}
	for i := range c.urls {
		c.urls[i].url = fmt.Sprintf("http://example.com/%d", i)
	}
	return c
}

// client asks nodes until ctx ends.
func (c *crowd) client(ctx context.Context, me int, random *rand.Rand) {
	for i := 0; ctx.Err() == nil; i++ {
		pause(ctx, time.Duration(random.IntN(10))*time.Millisecond)
		url := c.place(random)
		n := c.w.nodes[random.IntN(len(c.w.nodes))]
		what := random.IntN(8)
		if me >= writers {
			n, what = c.w.nodes[(me-writers)%len(c.w.nodes)], -1
		}
		s := n.live.Load()
		if s == nil {
			continue
		}
		switch what {
		case 0, 1, 2:
			label := fmt.Sprintf("%d-%d", me, i)
			c.subscribe(s, me, c.want(url, label, what > 0))
		case 3:
			if again := c.pick(url, random, func(x *wanted) bool { return x.keyed }); again != nil {
				c.subscribe(s, me, again)
			}
		case 4, 5:
			c.unsubscribe(s, me, url, random)
		default:
			c.list(s, me, url)
		}
	}
}

// place chooses a channel.
func (c *crowd) place(random *rand.Rand) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.urls[random.IntN(len(c.urls))]
	if p.asked++; p.asked > maxAsked || p.undecided > maxUndecided {
		*p = place{url: p.url + "x"}
	}
	return p.url
}

// want notes a subscription that is about to be asked for.
func (c *crowd) want(url, label string, keyed bool) *wanted {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &wanted{url: url, label: label, keyed: keyed}
	c.byURL[url], c.labels[label] = append(c.byURL[url], x), x
	return x
}

// pick chooses one of a channel's that is suitable.
func (c *crowd) pick(url string, random *rand.Rand, suitable func(*wanted) bool) *wanted {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range random.Perm(len(c.byURL[url])) {
		if x := c.byURL[url][i]; suitable(x) {
			return x
		}
	}
	return nil
}

// end tells the history the outcome of a write with an error, nil for none.
func (c *crowd) end(p history.Pending, url string, err error) {
	switch {
	case err == nil:
		p.End(history.Done)
		return
	case errors.Is(err, channel.ErrNotFound):
		p.End(history.NotFound)
		return
	case !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrClosed) && !errors.Is(err, context.DeadlineExceeded):
		c.w.t.Errorf("%s: %v", url, err)
	}
	p.End(history.Unknown)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.urls {
		if c.urls[i].url == url {
			c.urls[i].undecided++
		}
	}
}

func sinkOf(label string) channel.Sink {
	return channel.Sink{Type: channel.SinkWebhook, URL: "https://sink.example/" + label}
}

func (c *crowd) subscribe(s *Store, me int, x *wanted) {
	ctx, cancel := soon()
	defer cancel()
	key := ""
	if x.keyed {
		key = x.label
	}
	p := c.history.Begin(me, x.url, history.Subscribe, x.label)
	r := s.Subscribe(ctx, []NewSubscription{wish(x.url, key, sinkOf(x.label))})[0]
	if r.Deleted {
		p.End(history.Deleted)
	} else {
		c.end(p, x.url, r.Err)
	}
	if r.Err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.ids[r.ID]; other != nil && other != x {
		c.w.t.Errorf("ID %s was given twice: to %s and %s", r.ID, other.label, x.label)
	}
	if x.id != "" && x.id != r.ID {
		c.w.t.Errorf("key %s has made a second subscription: %s and %s", x.label, x.id, r.ID)
	}
	x.id, c.ids[r.ID] = r.ID, x
}

func (c *crowd) unsubscribe(s *Store, me int, url string, random *rand.Rand) {
	x := c.pick(url, random, func(x *wanted) bool { return x.id != "" && !x.taken })
	if x == nil {
		return
	}
	c.mu.Lock()
	first, id := !x.taken, x.id
	x.taken = true
	c.mu.Unlock()
	if !first {
		return // another client has been faster
	}
	ctx, cancel := soon()
	defer cancel()
	p := c.history.Begin(me, url, history.Unsubscribe, x.label)
	err := s.Unsubscribe(ctx, id)
	if errors.Is(err, channel.ErrNotFound) {
		c.w.t.Errorf("%s, %s, was acknowledged and is not known", x.label, id)
	}
	c.end(p, url, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	x.ended = err == nil
}

// list returns the labels that a node shows of a channel.
func (c *crowd) list(s *Store, me int, url string) (labels []string, err error) {
	_, id, err := channel.Parse(url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := soon()
	defer cancel()
	p := c.history.Begin(me, url, history.List, "")
	page, _, err := s.View().Subscriptions(ctx, SubscriptionQuery{Channel: &id, Limit: 1000})
	if err != nil {
		c.end(p, url, err)
		return nil, err
	}
	for _, each := range page {
		labels = append(labels, each.Sink.URL[len(sinkOf("").URL):])
	}
	p.Listed(labels)
	return labels, nil
}

// settle waits until the cluster is whole again, compares it with what was asked and
// answered, and judges the history.
func (c *crowd) settle() {
	c.w.t.Helper()
	defer c.w.expect(2*time.Minute, "judge of the history")()
	for url, all := range c.byURL {
		count := make(map[string]int)
		eventually(c.w.t, "a list of "+url, func() error {
			clear(count)
			labels, err := c.list(c.w.nodes[len(url)%len(c.w.nodes)].store, writers+readers, url)
			for _, label := range labels {
				count[label]++
			}
			return err
		})
		c.compare(all, count)
	}
	report := c.history.Check(2 * time.Second)
	if err := report.Err(); err != nil {
		c.w.t.Error("history:", err)
	}
	c.w.logf("history: %d operations on %d channels, %d without an answer, undecided %v", report.Operations, report.Channels, report.Unknown, report.Undecided)
	if 20*len(report.Undecided) > report.Channels {
		c.w.t.Errorf("%d of %d channels are undecided", len(report.Undecided), report.Channels)
	}
	if len(c.ids) == 0 {
		c.w.t.Error("nothing was acknowledged")
	}
}

// compare compares how often a channel shows each label with what was asked for.
func (c *crowd) compare(all []*wanted, count map[string]int) {
	for _, x := range all {
		switch n := count[x.label]; {
		case n > 1 && x.keyed:
			c.w.t.Errorf("key %s has made %d subscriptions", x.label, n)
		case n > 1:
			c.w.t.Errorf("%s was asked for once, and is there %d times", x.label, n)
		case n == 0 && x.id != "" && !x.taken:
			c.w.t.Errorf("%s, %s, was acknowledged and is lost", x.label, x.id)
		case n > 0 && x.ended:
			c.w.t.Errorf("%s, %s, was deleted and is back", x.label, x.id)
		}
		delete(count, x.label)
	}
	for label := range count {
		c.w.t.Errorf("%s was not asked for here", label)
	}
}
