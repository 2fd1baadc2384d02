package ownership

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/ownership/internal/state"
	"pgregory.net/rapid"
)

// world is what a store must hold, as plain values.
type world struct {
	channels map[channel.ID]*worldChannel
	subs     map[string]channel.Subscription // live
	gone     map[string]bool                 // deleted
	keys     map[string]worldKey
	once     map[NewSubscription]string // the ID that such a request made last
	sequence map[channel.Bucket]uint64
	births   map[channel.Bucket]uint64
	sick     map[string]channel.Endpoint
}

type worldChannel struct {
	channel.Channel
	seen       []uint64
	progress   channel.Progress
	stragglers map[uint64]uint64
}

type worldKey struct {
	wish NewSubscription
	made channel.Subscription
}

// modelTest drives a store and a world with the same calls.
type modelTest struct {
	t     *testing.T
	cfg   Config
	clock *fakeClock
	files *vfs.MemFS
	s     *Store
	world world
}

// TestModel runs random calls against a model, with restarts, snapshots, sweeps
// and power losses between them: after each, the store holds what was
// acknowledged, and nothing else.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModelTest(t)
		defer func() { shut(t, m.s) }()
		rt.Repeat(map[string]func(*rapid.T){
			"subscribe":   m.subscribe,
			"unsubscribe": m.unsubscribe,
			"commit":      m.commit,
			"forget":      m.forget,
			"advance":     m.advance,
			"end":         m.end,
			"endpoint":    m.endpoint,
			"sweep":       m.sweep,
			"snapshot":    func(*rapid.T) { m.s.snapshotAll() },
			"restart":     m.restart,
			"power loss":  m.powerLoss,
		})
		m.restart(rt)
	})
}

func newModelTest(t *testing.T) *modelTest {
	m := &modelTest{t: t, cfg: testConfig(t), clock: newFakeClock(), files: vfs.NewCrashableMem(), world: world{
		channels: map[channel.ID]*worldChannel{}, subs: map[string]channel.Subscription{}, gone: map[string]bool{},
		keys: map[string]worldKey{}, once: map[NewSubscription]string{}, sequence: map[channel.Bucket]uint64{}, births: map[channel.Bucket]uint64{}, sick: map[string]channel.Endpoint{},
	}}
	m.cfg.Ranges, m.cfg.Now = 2, m.clock.now
	m.cfg.Dir = fmt.Sprintf("%s/%d", t.TempDir(), rand.Uint64())
	m.reopen()
	return m
}

func (m *modelTest) reopen() {
	m.cfg.files = m.files
	s, err := openSoon(m.cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	m.s = s
}

func modelWish(rt *rapid.T) NewSubscription {
	url := fmt.Sprintf("http://example.com/%d", rapid.IntRange(0, 4).Draw(rt, "channel"))
	key := ""
	if n := rapid.IntRange(0, 8).Draw(rt, "key"); n > 2 {
		key = fmt.Sprint(n)
	}
	w := wish(url, key, rapid.SampledFrom([]channel.Sink{stream, webhook}).Draw(rt, "sink"))
	w.Once = key == "" && rapid.Bool().Draw(rt, "once")
	return w
}

func (m *modelTest) subscribe(rt *rapid.T) {
	var wishes []NewSubscription
	for range rapid.IntRange(1, 3).Draw(rt, "n") {
		w := modelWish(rt)
		// The order within a batch is by channel: equal keys would depend on it.
		if w.Key == "" || !slices.ContainsFunc(wishes, func(other NewSubscription) bool { return other.Key == w.Key }) {
			wishes = append(wishes, w)
		}
	}
	results := m.s.Subscribe(context.Background(), wishes)
	var order []int
	for i, w := range wishes {
		there, ok := m.world.first(w)
		if !ok {
			order = append(order, i)
		} else if r := results[i]; r.Err != nil || !r.Existing || r.Deleted || r.Subscription != there {
			rt.Fatalf("to be made once: %+v, there is %+v", r, there)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return wishes[i].Channel.Compare(wishes[j].Channel) })
	for _, i := range order {
		m.subscribed(rt, wishes[i], results[i])
	}
}

// first returns the first subscription that keeps a request from being made.
func (w *world) first(of NewSubscription) (there channel.Subscription, ok bool) {
	for _, sub := range w.subs {
		if of.Once && sub.Channel == of.Channel && sub.Sink == of.Sink && (!ok || sub.Seq < there.Seq) {
			there, ok = sub, true
		}
	}
	return there, ok
}

func (m *modelTest) subscribed(rt *rapid.T, w NewSubscription, r SubscribeResult) {
	if known, ok := m.world.keys[w.Key]; ok && w.Key != "" {
		same := known.wish == w
		if same && (r.Err != nil || !r.Existing || r.Deleted != m.world.gone[known.made.ID] || r.Subscription != known.made) || !same && !errors.Is(r.Err, ErrKeyReused) {
			rt.Fatalf("key %s again, same request %v: %+v; made %+v", w.Key, same, r, known.made)
		}
		return
	}
	if there, ok := m.world.subs[m.world.once[w]]; ok {
		if r.Err != nil || !r.Existing || r.Deleted || r.Subscription != there {
			rt.Fatalf("to be made once, by the batch: %+v, there is %+v", r, there)
		}
		return
	}
	b := w.Channel.Bucket()
	c := m.world.channels[w.Channel]
	if c == nil {
		m.world.births[b]++
		c = &worldChannel{Channel: channel.Channel{ID: w.Channel, URL: w.URL, Incarnation: m.world.births[b], Created: r.Created}, stragglers: map[uint64]uint64{}}
		c.progress = channel.Progress{Channel: w.Channel, Incarnation: c.Incarnation, Version: 1}
		m.world.channels[w.Channel] = c
	}
	m.world.sequence[b]++
	want := channel.Subscription{
		ID: state.SubscriptionID(b, m.world.sequence[b]), Seq: m.world.sequence[b], Channel: w.Channel, URL: w.URL, Sink: w.Sink,
		Created: r.Created, FromVersion: max(c.Version, 1) + 1,
	}
	if r.Err != nil || r.Existing || r.Deleted || r.Subscription != want {
		rt.Fatalf("subscribed %+v, want %+v", r, want)
	}
	c.Subscribers++
	if w.Sink.Type == channel.SinkWebhook {
		c.Webhooks++
	}
	c.EmptiedAt = time.Time{}
	m.world.subs[want.ID] = want
	if w.Once {
		m.world.once[w] = want.ID
	}
	if w.Key != "" {
		m.world.keys[w.Key] = worldKey{w, want}
	}
}

func (m *modelTest) unsubscribe(rt *rapid.T) {
	id := state.SubscriptionID(wish("http://example.com/0", "", stream).Channel.Bucket(), 1<<40)
	if all := m.everSubscribed(); len(all) > 0 && rapid.IntRange(0, 9).Draw(rt, "never existed") > 0 {
		id = rapid.SampledFrom(all).Draw(rt, "id")
	}
	err := m.s.Unsubscribe(context.Background(), id)
	sub, live := m.world.subs[id]
	if want := !live && !m.world.gone[id]; errors.Is(err, channel.ErrNotFound) != want || !want && err != nil {
		rt.Fatalf("unsubscribe %s: %v; live %v, gone %v", id, err, live, m.world.gone[id])
	}
	if !live {
		return
	}
	c := m.world.channels[sub.Channel]
	c.Subscribers--
	if sub.Sink.Type == channel.SinkWebhook {
		c.Webhooks--
	}
	if c.Subscribers == 0 {
		c.EmptiedAt = channelAt(rt, m.s, c.ID).EmptiedAt
		if c.EmptiedAt.IsZero() {
			rt.Fatal("empty since never")
		}
	}
	delete(c.stragglers, sub.Seq)
	delete(m.world.subs, id)
	m.world.gone[id] = true
}

func (m *modelTest) everSubscribed() []string {
	var all []string
	for id := range m.world.subs {
		all = append(all, id)
	}
	for id := range m.world.gone {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

// some draws a channel, nil if there is none.
func (m *modelTest) some(rt *rapid.T) *worldChannel {
	var ids []channel.ID
	for id := range m.world.channels {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil
	}
	slices.SortFunc(ids, channel.ID.Compare)
	return m.world.channels[rapid.SampledFrom(ids).Draw(rt, "channel")]
}

func (m *modelTest) commit(rt *rapid.T) {
	c := m.some(rt)
	if c == nil {
		return
	}
	commit := nextCommit(c.Channel)
	switch rapid.IntRange(0, 5).Draw(rt, "commit") {
	case 0: // of another incarnation
		commit.Incarnation++
	case 1: // of an earlier base
		commit.Base, commit.Version = commit.Base+1, commit.Version+1
		commit.Update = []byte("x")
	case 2: // a hold
		commit.Version, commit.Update, commit.Gone, commit.Hash = commit.Base, nil, rapid.Bool().Draw(rt, "gone"), [16]byte{}
		commit.Held, commit.Hold = true, rapid.SampledFrom([]channel.Hold{{}, {Since: time.UnixMicro(7).UTC(), Reason: "removal"}}).Draw(rt, "hold")
	case 3: // judged before a Forget
		commit.Forgotten--
	}
	commit.Moved = rapid.SampledFrom([]*channel.Moved{nil, {}, {To: "http://new.example/", Since: time.UnixMicro(5).UTC(), Learned: true}}).Draw(rt, "moved")
	commit.Learned = rapid.SampledFrom([][]byte{nil, {1}, {2, 3}}).Draw(rt, "learned")
	err := m.s.Commit(context.Background(), commit)
	if stale := commit.Incarnation != c.Incarnation || commit.Base != c.Version || commit.Forgotten != c.Forgotten; stale {
		if !errors.Is(err, ErrStale) {
			rt.Fatalf("stale commit: %v", err)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	stamp := channelAt(rt, m.s, c.ID).GoneStamp
	if (stamp > 0) != commit.Gone || c.Gone && commit.Gone && stamp != c.GoneStamp {
		rt.Fatalf("notice at %d, was at %d; gone %v, was %v", stamp, c.GoneStamp, commit.Gone, c.Gone)
	}
	c.GoneStamp = stamp
	c.committed(commit)
}

func (m *modelTest) forget(rt *rapid.T) {
	c := m.some(rt)
	if c == nil {
		return
	}
	from := c.Channel
	from.Hash[0] += byte(rapid.IntRange(0, 1).Draw(rt, "hash"))
	err := m.s.Forget(context.Background(), from, []byte("little"))
	if stale := from.Hash != c.Hash || c.Version == 0; stale != errors.Is(err, ErrStale) || !stale && err != nil {
		rt.Fatalf("forget, stale %v: %v", stale, err)
	}
	if err == nil {
		c.Judge, c.Held, c.Hold = []byte("little"), false, channel.Hold{}
		c.Forgotten++
	}
}

func (c *worldChannel) committed(commit Commit) {
	if commit.Version > commit.Base {
		c.Version, c.Hash = commit.Version, commit.Hash
		if c.Version == 1 {
			c.FirstContent = commit.At.UTC()
		} else {
			c.LastChange = commit.At.UTC()
		}
		if c.Version == 2 {
			c.Oldest = 2
		}
	}
	c.Kind, c.Judge, c.Held, c.Hold, c.Gone = commit.Kind, commit.Judge, commit.Held, commit.Hold, commit.Gone
	if commit.Moved != nil {
		c.Moved = *commit.Moved
	}
	if commit.Learned != nil {
		c.Learned = commit.Learned
	}
	c.seen = append(c.seen, commit.Seen...)
}

func (m *modelTest) advance(rt *rapid.T) {
	c := m.some(rt)
	if c == nil {
		return
	}
	p := channel.Progress{
		Channel: c.ID, Incarnation: c.Incarnation,
		Version: rapid.Uint64Range(1, c.Version+2).Draw(rt, "version"), Seq: rapid.Uint64Range(0, 9).Draw(rt, "seq"),
	}
	for range rapid.IntRange(0, 2).Draw(rt, "stragglers") {
		p.Stragglers = append(p.Stragglers, channel.Straggler{Seq: rapid.Uint64Range(1, 9).Draw(rt, "straggler"), Next: rapid.Uint64Range(0, 3).Draw(rt, "next")})
	}
	if err := m.s.Advance(context.Background(), []channel.Progress{p}); err != nil {
		rt.Fatal(err)
	}
	if p.Version > max(c.Version, 1) {
		return
	}
	if at := c.progress; p.Version < at.Version || p.Version == at.Version && p.Seq < at.Seq {
		return // late: none of it counts
	}
	c.progress.Version, c.progress.Seq = p.Version, p.Seq
	for _, straggler := range p.Stragglers {
		sub, live := m.world.subs[state.SubscriptionID(c.ID.Bucket(), straggler.Seq)]
		if straggler.Next == 0 || !live || sub.Channel != c.ID {
			delete(c.stragglers, straggler.Seq)
		} else {
			c.stragglers[straggler.Seq] = straggler.Next
		}
	}
}

func (m *modelTest) end(rt *rapid.T) {
	c := m.some(rt)
	if c == nil {
		return
	}
	err := m.s.EndChannel(context.Background(), c.ID, c.Incarnation)
	if want := c.Subscribers > 0; errors.Is(err, ErrStale) != want || !want && err != nil {
		rt.Fatalf("end a channel with %d subscribers: %v", c.Subscribers, err)
	}
	if err == nil {
		delete(m.world.channels, c.ID)
	}
}

func (m *modelTest) endpoint(rt *rapid.T) {
	e := channel.Endpoint{
		URL:      fmt.Sprintf("https://sink.example/%d", rapid.IntRange(0, 2).Draw(rt, "endpoint")),
		Attempts: rapid.IntRange(0, 2).Draw(rt, "attempts"),
	}
	was, err := m.s.Endpoint(e.URL)
	if err != nil {
		rt.Fatal(err)
	}
	if err := m.s.SetEndpoint(context.Background(), e, was); err != nil {
		rt.Fatal(err)
	}
	if delete(m.world.sick, e.URL); !e.Healthy() {
		m.world.sick[e.URL] = e
	}
}

// sweep lets time pass, little or so much that all keys are free again.
func (m *modelTest) sweep(rt *rapid.T) {
	m.clock.advance(time.Minute)
	if rapid.Bool().Draw(rt, "long") {
		m.clock.advance(100 * time.Hour)
		clear(m.world.keys)
	}
	pass(newSweeper(m.s))
	for id, c := range m.world.channels {
		oldest := channelAt(rt, m.s, id).Oldest
		if oldest < c.Oldest || oldest > c.Oldest && c.Version-oldest+1 < state.KeepVersions {
			rt.Fatalf("versions %d to %d kept, before %d", oldest, c.Version, c.Oldest)
		}
		c.Oldest = oldest
	}
}

func (m *modelTest) restart(rt *rapid.T) {
	shut(m.t, m.s)
	m.reopen()
	m.compare(rt)
}

// powerLoss keeps what was synced, and any part of what was not.
func (m *modelTest) powerLoss(rt *rapid.T) {
	after := m.files.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: rapid.SampledFrom([]int{0, 50, 100}).Draw(rt, "kept"),
		RNG:                 rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)),
	})
	shut(m.t, m.s)
	m.files = after
	m.reopen()
	m.compare(rt)
}

// compare reads everything that the store holds.
func (m *modelTest) compare(rt *rapid.T) {
	channels, err := m.s.Channels(nil, 1000)
	if err != nil || len(channels) != len(m.world.channels) {
		rt.Fatalf("%d channels, want %d, %v", len(channels), len(m.world.channels), err)
	}
	for id, want := range m.world.channels {
		got := channelAt(rt, m.s, id)
		if fmt.Sprint(got) != fmt.Sprint(want.Channel) {
			rt.Fatalf("channel %+v, want %+v", got, want.Channel)
		}
		checkKept(rt, m.s, got)
		seen, err := m.s.Seen(id)
		if err != nil || !slices.Equal(seen, want.seen) {
			rt.Fatalf("seen %v, want %v, %v", seen, want.seen, err)
		}
		progress := want.progress
		for seq, next := range want.stragglers {
			progress.Stragglers = append(progress.Stragglers, channel.Straggler{Seq: seq, Next: next})
		}
		slices.SortFunc(progress.Stragglers, func(a, b channel.Straggler) int { return int(a.Seq) - int(b.Seq) })
		if got, err := m.s.Progress(id); err != nil || fmt.Sprint(got) != fmt.Sprint(progress) {
			rt.Fatalf("progress %+v, want %+v, %v", got, progress, err)
		}
	}
	m.compareSubscriptions(rt)
}

func (m *modelTest) compareSubscriptions(rt *rapid.T) {
	page, next, err := m.s.Subscriptions(SubscriptionQuery{Limit: 10_000})
	if err != nil || next != "" || len(page) != len(m.world.subs) {
		rt.Fatalf("%d subscriptions, want %d, next %q, %v", len(page), len(m.world.subs), next, err)
	}
	for _, sub := range page {
		if sub != m.world.subs[sub.ID] {
			rt.Fatalf("subscription %+v, want %+v", sub, m.world.subs[sub.ID])
		}
	}
	endpoints, err := m.s.Endpoints()
	if err != nil || len(endpoints) != len(m.world.sick) {
		rt.Fatalf("endpoints %v, want %v, %v", endpoints, m.world.sick, err)
	}
	nChannels, nSubs := m.s.Counts()
	if nChannels != uint64(len(m.world.channels)) || nSubs != uint64(len(m.world.subs)) {
		rt.Fatalf("counts %d and %d, want %d and %d", nChannels, nSubs, len(m.world.channels), len(m.world.subs))
	}
}
