package webhook

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
)

// model drives a node with random commits, subscriptions, failures and crashes, and
// knows what each subscription must have received in the end.
type model struct {
	t        *rapid.T
	n        *node
	channels []channel.ID
	urls     []string
	live     []channel.Subscription
	deleted  []channel.Subscription
	left     map[string]time.Time // by subscription, when it was deleted

	trimmed map[channel.ID]uint64
	crashes []time.Time
	downs   [][2]time.Time // when the store took nothing
	cuts    bool           // some acknowledgements were lost on the way
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, n: newNode(t), left: make(map[string]time.Time), trimmed: make(map[channel.ID]uint64)}
	for i := range 3 {
		m.channels = append(m.channels, m.n.store.AddChannel(fmt.Sprintf("http://origin.example/%d", i)))
	}
	for i := range 4 {
		m.urls = append(m.urls, fmt.Sprintf("http://sink%d.example/hook", i))
	}
	// Narrow limits, so that everything overflows now and then.
	small := rapid.Bool().Draw(t, "small")
	m.n.tune = func(d *Deliverer) {
		if small {
			d.core.limits = limits{runnable: 2, parked: 1, queue: 2, window: 4, changes: 3, page: 2}
			d.core.config.MaxLanes, d.core.config.Parallel, d.core.config.SlowParallel = 3, 2, 1
		}
	}
	m.n.start()
	return m
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			m := newModel(t)
			t.Repeat(map[string]func(*rapid.T){
				"commit":      m.commit,
				"burst":       m.burst,
				"subscribe":   m.subscribe,
				"unsubscribe": m.unsubscribe,
				"sink":        m.changeSink,
				"wait":        m.wait,
				"crash":       m.crash,
				"stop":        m.stop,
				"storeDown":   m.storeDown,
				"trim":        m.trim,
				"gone":        m.gone,
			})
			m.heal()
			m.check()
			m.n.stop()
		})
	})
}

func (m *model) channel(t *rapid.T) channel.ID {
	return m.channels[rapid.IntRange(0, len(m.channels)-1).Draw(t, "channel")]
}

func (m *model) url(t *rapid.T) string { return rapid.SampledFrom(m.urls).Draw(t, "sink") }

func (m *model) commit(t *rapid.T) { m.n.store.Commit(m.channel(t)) }

func (m *model) burst(t *rapid.T) {
	id := m.channel(t)
	for range rapid.IntRange(2, 5).Draw(t, "commits") {
		m.n.store.Commit(id)
	}
}

func (m *model) subscribe(t *rapid.T) {
	id := m.channel(t)
	for range rapid.SampledFrom([]int{1, 1, 2, 9}).Draw(t, "subscriptions") {
		m.live = append(m.live, m.n.store.Subscribe(id, m.url(t), ""))
	}
}

func (m *model) unsubscribe(t *rapid.T) {
	if len(m.live) == 0 {
		t.Skip()
	}
	i := rapid.IntRange(0, len(m.live)-1).Draw(t, "subscription")
	m.n.store.Unsubscribe(m.live[i])
	m.left[m.live[i].ID] = time.Now()
	m.deleted = append(m.deleted, m.live[i])
	m.live = slices.Delete(m.live, i, i+1)
}

func (m *model) changeSink(t *rapid.T) {
	a := rapid.SampledFrom([]answer{
		{}, {}, {delay: 20 * time.Millisecond}, {delay: 3 * time.Second}, {delay: time.Minute}, {status: 500}, {status: 301},
		{status: 410}, {err: errNetwork}, {cut: true}, {status: 429, after: "60"}, {status: 503, after: "7200", delay: 50 * time.Millisecond},
	}).Draw(t, "answer")
	m.cuts = m.cuts || a.cut
	m.n.sinks.set(m.url(t), a)
}

func (m *model) wait(t *rapid.T) {
	elapse(rapid.SampledFrom([]time.Duration{
		time.Millisecond, 30 * time.Millisecond, 150 * time.Millisecond, 2 * time.Second, 10 * time.Second, time.Hour, 30 * time.Hour, 90 * time.Hour,
	}).Draw(t, "time"))
}

func (m *model) crash(*rapid.T) {
	m.n.crash()
	m.crashes = append(m.crashes, time.Now())
	m.n.start()
}

func (m *model) stop(*rapid.T) {
	m.n.stop()
	m.n.start()
}

// storeDown makes the store fail for a while, with writes of unknown outcome.
func (m *model) storeDown(t *rapid.T) {
	began := time.Now()
	m.n.store.Fail(memstore.ErrDown, rapid.Bool().Draw(t, "applied"))
	elapse(rapid.SampledFrom([]time.Duration{10 * time.Millisecond, 300 * time.Millisecond, 5 * time.Second}).Draw(t, "time"))
	m.n.store.Fail(nil, false)
	m.downs = append(m.downs, [2]time.Time{began, time.Now()})
}

func (m *model) trim(t *rapid.T) {
	id := m.channel(t)
	c, _ := m.n.store.Channel(id)
	to := rapid.Uint64Range(1, c.Version).Draw(t, "to")
	if to == c.Version {
		t.Skip() // the latest are always kept
	}
	m.trimmed[id] = max(m.trimmed[id], to)
	m.n.store.Trim(id, to)
}

func (m *model) gone(t *rapid.T) { m.n.store.Gone(m.channel(t)) }

// heal makes every sink work, revives those that said 410, and waits until the last
// probe must be over.
func (m *model) heal() {
	for _, url := range m.urls {
		m.n.sinks.set(url, answer{})
	}
	elapse(time.Minute)
	for _, url := range m.urls {
		m.live = append(m.live, m.n.store.Subscribe(m.channels[0], url, ""))
	}
	elapse(110 * time.Hour)
	synctest.Wait()
}

func (m *model) check() {
	for _, sub := range m.live {
		m.checkArrivals(sub, true)
	}
	for _, sub := range m.deleted {
		m.checkArrivals(sub, false)
	}
	m.checkRest()
}

// checkArrivals checks that a subscription got its versions in the order of their
// first arrival, or was told of a gap that there is a reason for.
func (m *model) checkArrivals(sub channel.Subscription, whole bool) {
	next, seen := sub.FromVersion, make(map[string]time.Time)
	arrivals := m.n.sinks.arrivals(sub)
	for _, a := range arrivals {
		if when, deleted := m.left[sub.ID]; deleted && a.at.After(when.Add(31*time.Second)) {
			m.t.Errorf("%s came %s after the subscription was deleted", a.id, a.at.Sub(when))
		}
		if first, repeated := seen[a.id]; repeated {
			m.checkRepeat(sub, a, first)
			continue
		}
		seen[a.id] = a.at
		switch d := a.message.Data; a.message.Type {
		case api.MessageUpdated:
			if d.Version != next {
				m.t.Errorf("%s: version %d came where %d was due:\n%s", sub.ID, d.Version, next, m.story(sub))
			}
			next = d.Version + 1
		case api.MessageGap:
			m.checkGap(sub, d.From, d.To, d.Reason)
			if !a.acked { // the node does not know that it was told: what it holds may yet come
				delete(seen, a.id)
				continue
			}
			if d.From > next {
				m.t.Errorf("%s: gap from %d where %d was due:\n%s", sub.ID, d.From, next, m.story(sub))
			}
			next = max(next, d.To+1)
		}
	}
	c, _ := m.n.store.Channel(sub.Channel)
	if whole && next <= c.Version {
		m.t.Errorf("%s has all before %d, the channel is at %d; endpoint %+v", sub.ID, next, c.Version, m.n.store.Kept(sub.Sink.URL))
	}
	gone := fmt.Sprintf("%s-gone-%d", sub.ID, max(c.Version, 1))
	if _, told := seen[gone]; whole && c.Gone && !told {
		m.t.Errorf("%s was not told that its channel is gone: %v", sub.ID, seen)
	}
}

// story tells what came to a subscription, and when the node crashed.
func (m *model) story(sub channel.Subscription) string {
	type moment struct {
		at   time.Time
		what string
	}
	var moments []moment
	for _, a := range m.n.sinks.arrivals(sub) {
		moments = append(moments, moment{a.at, fmt.Sprintf("%s acknowledged %v", a.id, a.acked)})
	}
	for _, at := range m.crashes {
		moments = append(moments, moment{at, "crash"})
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return a.at.Compare(b.at) })
	var out strings.Builder
	for _, moment := range moments {
		fmt.Fprintf(&out, "%s %s\n", moment.at.Format("02 15:04:05.000"), moment.what)
	}
	return out.String()
}

// checkRepeat checks that a message came twice only for a reason: its
// acknowledgement was lost on the way, or by a crash before the store had the time
// to take it: a batch, or the pause after a batch that it did not take.
func (m *model) checkRepeat(sub channel.Subscription, a arrival, first time.Time) {
	excused := m.cuts || slices.ContainsFunc(m.crashes, func(crash time.Time) bool {
		return !crash.Before(first) && m.up(first, crash) <= batchDelay+retryStore
	})
	if !excused {
		m.t.Errorf("%s came again:\n%s", a.id, m.story(sub))
	}
}

// up returns how long the store worked between two times.
func (m *model) up(from, to time.Time) time.Duration {
	up := to.Sub(from)
	for _, down := range m.downs {
		begin, end := down[0], down[1]
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		up -= max(end.Sub(begin), 0)
	}
	return up
}

func (m *model) checkGap(sub channel.Subscription, from, to uint64, reason string) {
	switch {
	case strings.Contains(reason, "no longer kept") && to <= m.trimmed[sub.Channel]:
	case strings.Contains(reason, "did not answer") && m.n.sinks.lost[sub.Sink.URL]:
	default:
		m.t.Errorf("%s: gap %d to %d: %s (trimmed to %d, lost %v)", sub.ID, from, to, reason, m.trimmed[sub.Channel], m.n.sinks.lost[sub.Sink.URL])
	}
}

// checkRest checks that nothing is left over.
func (m *model) checkRest() {
	for _, id := range m.channels {
		if p, _ := m.n.store.Progress(id); len(p.Stragglers) > 0 {
			m.t.Errorf("stragglers are left: %+v", p)
		}
	}
	endpoints, _ := m.n.store.EndpointsIn(memstore.Everything)
	for _, e := range endpoints {
		m.t.Errorf("an endpoint is still %+v", e)
	}
	w := m.n.deliverer
	w.core.Lock()
	defer w.core.Unlock()
	if len(w.channels.byID) > 0 || len(w.endpoints.byURL) > 0 || w.queues.lanes != 0 || w.dispatcher.inFlight != 0 || w.dispatcher.slow != 0 || w.dispatcher.tries != 0 || w.parking.parked != 0 || w.channels.sweeps != 0 {
		m.t.Errorf("left in memory: %d channels, %d endpoints, %d lanes, %d+%d requests, %d parked, %d scans",
			len(w.channels.byID), len(w.endpoints.byURL), w.queues.lanes, w.dispatcher.inFlight, w.dispatcher.slow, w.parking.parked, w.channels.sweeps)
	}
}
