package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
	"github.com/seed-91e7e7c1/corona/notify/internal/metric"
)

// node is a hub under test, which can be stopped and started again on the same store.
type node struct {
	t       rapid.TB
	store   *memstore.Store
	recheck time.Duration // not 0: the hub is told nothing
	unread  atomic.Value  // ID of a subscription that cannot be read

	hub      *Hub
	registry *prometheus.Registry
	cancel   context.CancelFunc
	done     chan struct{}
}

// hooks passes what a store tells to a hub.
type hooks struct{ *Hub }

func (hooks) ChannelChanged(channel.Channel, bool)    {}
func (hooks) Committed(channel.Update, uint64)        {}
func (hooks) Subscribed(channel.Subscription)         {}
func (h hooks) Unsubscribed(sub channel.Subscription) { h.Hub.Unsubscribed(sub.ID) }

// partly is a store that cannot read one subscription.
type partly struct {
	*memstore.Store
	node *node
}

func (p partly) Beginnings(ctx context.Context, ids []string, exist bool) ([]channel.Beginning, error) {
	found, err := p.Store.Beginnings(ctx, ids, exist)
	if at := slices.IndexFunc(ids, func(id string) bool { return id == p.node.unread.Load() }); at >= 0 && err == nil {
		found[at], err = channel.Beginning{}, errAway
	}
	return found, err
}

func newNode(t rapid.TB) *node { return &node{t: t, store: memstore.New()} }

func (n *node) start() {
	n.registry = prometheus.NewRegistry()
	n.hub = NewHub(Config{Epoch: 7, Recheck: n.recheck}.WithDefaults(), partly{n.store, n}, slog.New(slog.DiscardHandler), metric.New(n.registry))
	if n.recheck == 0 {
		n.store.Connect(hooks{n.hub})
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel, n.done = cancel, make(chan struct{})
	go func() {
		defer close(n.done)
		n.hub.Run(ctx)
	}()
}

func (n *node) stop() {
	n.cancel()
	<-n.done
	n.store.Connect(nil)
}

// catchUps returns how many pages streams read from the store.
func (n *node) catchUps() (pages float64) {
	families, err := n.registry.Gather()
	if err != nil {
		n.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == metric.Prefix+"stream_store_reads_total" {
			pages = family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return pages
}

// virtual runs a test in virtual time with a running hub.
func virtual(t *testing.T, test func(t *testing.T, n *node)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.start()
		defer n.stop()
		test(t, n)
	})
}

// elapse lets virtual time pass.
func elapse(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (n *node) open(filter api.StreamFilter, cursor string) *Stream {
	n.t.Helper()
	s, err := n.hub.Open(context.Background(), filter, cursor)
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// take reads what a stream has until it is silent, as "type channel/version".
func take(t rapid.TB, s *Stream) (got []string, cursor string) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		event, err := s.Next(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return got, cursor
		}
		if err != nil {
			return append(got, err.Error()), cursor
		}
		got = append(got, name(t, event))
		if event.ID != "" {
			cursor = event.ID
		}
	}
}

func name(t rapid.TB, event api.StreamEvent) string {
	t.Helper()
	var data struct {
		URL     string
		Version uint64
		From    uint64
		To      uint64
	}
	if err := json.Unmarshal(event.Data, &data); err != nil {
		t.Fatal(err)
	}
	switch event.Type {
	case api.StreamUpdate:
		return fmt.Sprintf("%s %d", data.URL, data.Version)
	case api.StreamGap:
		return fmt.Sprintf("gap %d-%d", data.From, data.To)
	case api.StreamGone:
		return "gone " + data.URL
	}
	return event.Type
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestStreamResumes(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		a, b := n.store.AddChannel("a"), n.store.AddChannel("b")
		n.store.Commit(a) // before the stream: not in it
		elapse(time.Millisecond)
		s := n.open(api.StreamFilter{}, "")
		n.store.Commit(a)
		n.store.Commit(b)
		got, cursor := take(t, s)
		expect(t, "live", got, "a 3", "b 2")
		s.Close()
		got, _ = take(t, s)
		expect(t, "closed", got, io.EOF.Error())

		n.store.Commit(b)
		n.store.Gone(n.store.AddChannel("c"))
		n.store.Commit(b)
		s = n.open(api.StreamFilter{}, cursor)
		n.store.Commit(a)
		got, _ = take(t, s)
		expect(t, "resumed", got, "b 3", "gone c", "b 4", "a 4")
		s.Close()

		// A restart changes nothing: a cursor is not the node's.
		n.stop()
		n.start()
		s = n.open(api.StreamFilter{}, cursor)
		got, _ = take(t, s)
		expect(t, "after a restart", got, "b 3", "gone c", "b 4", "a 4")
		s.Close()
	})
}

func TestStreamFilters(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		a, b, c := n.store.AddChannel("a"), n.store.AddChannel("b"), n.store.AddChannel("c")
		n.store.Commit(b)
		sub := n.store.Subscribe(b, "", "")
		n.store.Commit(a)
		n.store.Commit(b)
		n.store.Commit(b)
		elapse(time.Millisecond)
		// A channel begins now, a subscription at its first version.
		s := n.open(api.StreamFilter{Channels: []channel.ID{a}, Subscriptions: []string{sub.ID}}, "")
		n.store.Commit(c)
		n.store.Commit(a)
		n.store.Commit(b)
		got, cursor := take(t, s)
		expect(t, "filtered", got, "b 3", "b 4", "a 3", "b 5")
		s.Close()
		s = n.open(api.StreamFilter{Subscriptions: []string{sub.ID}}, cursor)
		n.store.Gone(b)
		got, _ = take(t, s)
		expect(t, "gone", got, "gone b")
		late := n.store.Subscribe(b, "", "")
		other := n.open(api.StreamFilter{Subscriptions: []string{late.ID}}, "")
		got, _ = take(t, other)
		expect(t, "subscribed to a channel that is gone", got, "gone b")
		other.Close()
		empty := n.store.AddEmptyChannel("d")
		first := n.store.Subscribe(empty, "", "")
		n.store.Gone(empty)
		other = n.open(api.StreamFilter{Subscriptions: []string{first.ID}}, "")
		got, _ = take(t, other)
		expect(t, "subscribed to a channel that was gone at its first poll", got, "gone d")
		other.Close()
		n.store.Unsubscribe(sub)
		n.store.Commit(b)
		got, _ = take(t, s)
		expect(t, "deleted subscription", got, io.EOF.Error())
		s.Close()
		if _, err := n.hub.Open(t.Context(), api.StreamFilter{Subscriptions: []string{sub.ID}}, ""); !errors.Is(err, channel.ErrNotFound) {
			t.Errorf("stream of a deleted subscription: %v", err)
		}
	})
}

// A hub that is not told of deleted subscriptions finds them by itself, also where others cannot
// be read.
func TestStreamOfDeletedUntold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.recheck = time.Minute
		n.start()
		defer n.stop()
		a, b := n.store.AddChannel("a"), n.store.AddChannel("b")
		ofA, ofB := n.store.Subscribe(a, "", ""), n.store.Subscribe(b, "", "")
		ofC := n.store.Subscribe(n.store.AddChannel("c"), "", "")
		third := n.open(api.StreamFilter{Subscriptions: []string{ofC.ID}}, "")
		defer third.Close()
		n.unread.Store(ofC.ID)
		one := n.open(api.StreamFilter{Subscriptions: []string{ofA.ID}}, "")
		defer one.Close()
		both := n.open(api.StreamFilter{Subscriptions: []string{ofA.ID, ofB.ID}}, "")
		defer both.Close()
		elapse(90 * time.Second)
		n.store.Unsubscribe(ofA)
		elapse(time.Minute)
		n.store.Commit(a)
		n.store.Commit(b)
		got, _ := take(t, one)
		expect(t, "deleted subscription alone", got, io.EOF.Error())
		got, _ = take(t, both)
		expect(t, "deleted subscription beside another", got, "b 2")
	})
}

func TestStreamGapAndReset(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		a := n.store.AddChannel("a")
		sub := n.store.Subscribe(a, "", "")
		s := n.open(api.StreamFilter{}, "")
		n.store.Commit(a)
		_, cursor := take(t, s)
		s.Close()
		for range 4 {
			n.store.Commit(a)
		}
		n.store.Trim(a, 4)
		elapse(time.Millisecond)
		s = n.open(api.StreamFilter{Subscriptions: []string{sub.ID}}, "")
		got, _ := take(t, s)
		expect(t, "from the first version", got, "gap 2-4", "a 5", "a 6")
		s.Close()
		s = n.open(api.StreamFilter{}, cursor)
		n.store.Commit(a)
		got, cursor = take(t, s)
		expect(t, "too old", got, "reset", "a 7")
		s.Close()
		n.store.Commit(a)
		s = n.open(api.StreamFilter{}, cursor)
		got, _ = take(t, s)
		expect(t, "after the reset", got, "a 8")
		s.Close()

		foreign := encodeCursor(8, place{base: channel.Cursor{Stamp: 1, Bucket: 1}})
		s = n.open(api.StreamFilter{}, foreign)
		n.store.Commit(a)
		got, _ = take(t, s)
		expect(t, "another epoch", got, "reset", "a 9")
		s.Close()

		// row 65: the cursor was given by a clock that was an hour ahead.
		ahead := encodeCursor(s.hub.config.Epoch, place{base: channel.EndOf(n.store.Closed() + 3600e6)})
		s = n.open(api.StreamFilter{Channels: []channel.ID{a}}, ahead)
		n.store.Commit(a)
		got, _ = take(t, s)
		expect(t, "from ahead", got, "reset", "a 10")
		s.Close()
		for _, bad := range []string{"7", cursor + "A", cursor[:len(cursor)-1] + "=", "AAAAAAAAAAAAAAAAAAAAAAAAAA"} {
			if _, err := n.hub.Open(t.Context(), api.StreamFilter{}, bad); !errors.Is(err, ErrCursor) {
				t.Errorf("cursor %q: %v", bad, err)
			}
		}
	})
}

// What is committed in one range must not be shown before an older stamp that is
// still pending in another: a cursor could not say that it is missing.
func TestStreamWaitsForOlderStamps(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		a, b := n.store.AddChannel("a"), n.store.AddChannel("b")
		n.hub.config.LagAfter = time.Minute
		s := n.open(api.StreamFilter{}, "")
		n.store.HoldAll(n.store.Closed() + 1)
		n.store.Commit(a)
		got, _ := take(t, s)
		expect(t, "held back", got)
		n.store.Commit(b)
		n.store.HoldAll(0)
		got, _ = take(t, s)
		expect(t, "released", got, "a 2", "b 2")
		s.Close()
	})
}

// Row 41: a client that does not read costs no memory, and misses nothing.
func TestRow41StreamThatIsNotRead(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		n.hub.config.TailBytes = 2000
		a := n.store.AddChannel("a")
		s := n.open(api.StreamFilter{}, "")
		other := n.open(api.StreamFilter{}, "")
		var want []string
		for v := range 500 {
			n.store.Commit(a)
			synctest.Wait()
			want = append(want, fmt.Sprintf("a %d", v+2))
		}
		got, _ := take(t, other)
		expect(t, "reader", got, want...)
		if kept := n.hub.mu.tail.bytes; kept > 2000 {
			t.Errorf("%d bytes kept", kept)
		}
		got, _ = take(t, s)
		expect(t, "late reader", got, want...)
		if n.catchUps() == 0 {
			t.Error("the late reader did not read from the store")
		}
		s.Close()
		other.Close()
	})
}

// A stream that is cut and resumed at random, while memory holds little and stamps
// of two buckets interleave, brings each update once, in order.
func TestStreamProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			n := newNode(t)
			n.start()
			n.hub.config.TailBytes = rapid.SampledFrom([]int{1, 1500, 1 << 20}).Draw(t, "tail")
			ids := []channel.ID{n.store.AddChannel("a"), n.store.AddChannel("b"), n.store.AddChannel("c")}
			filter := api.StreamFilter{}
			if rapid.Bool().Draw(t, "filtered") {
				filter.Channels = ids[:2]
			}
			var want, got []string
			s := n.open(filter, "")
			cursor := encodeCursor(7, s.at.place)
			for range rapid.IntRange(0, 40).Draw(t, "steps") {
				switch rapid.IntRange(0, 5).Draw(t, "step") {
				case 0:
					s.Close()
					s = n.open(filter, cursor)
				case 1, 2:
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					event, err := s.Next(ctx)
					cancel()
					if err == nil {
						got, cursor = append(got, name(t, event)), event.ID
					}
				default:
					u := n.store.Commit(ids[rapid.IntRange(0, 2).Draw(t, "channel")])
					if len(filter.Channels) == 0 || u.URL != "c" {
						want = append(want, fmt.Sprintf("%s %d", u.URL, u.Version))
					}
				}
			}
			rest, _ := take(t, s)
			if got = append(got, rest...); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			s.Close()
			n.stop()
		})
	})
}

// A stream ends with the node, and survives a store that fails for a while.
func TestStreamEnds(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		a := n.store.AddChannel("a")
		s := n.open(api.StreamFilter{}, "")
		n.store.Fail(memstore.ErrDown, false)
		n.store.Commit(a)
		elapse(3500 * time.Millisecond) // not at the very instant of another try
		n.store.Fail(nil, false)
		got, _ := take(t, s)
		expect(t, "after the store's failure", got, "a 2")
		n.stop()
		got, _ = take(t, s)
		expect(t, "stopped", got, io.EOF.Error())
		s.Close()
		s.Close()
	})
}

// An update that cannot be read is told as a gap, and those behind it come.
func TestUnreadableUpdate(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		a := n.store.AddChannel("a")
		s := n.open(api.StreamFilter{}, "")
		cursor := encodeCursor(7, s.at.place)
		s.Close()
		n.store.Commit(a)
		n.store.Corrupt()
		n.store.Commit(a)
		s = n.open(api.StreamFilter{}, cursor)
		got, _ := take(t, s)
		expect(t, "behind the unreadable update", got, "gap 2-2", "a 3")
		s.Close()
	})
}

// What a busy channel has lost is no reason to keep a quiet one's update from
// streams that chose it.
func TestStreamOfChosenChannelsLosesOnlyTheirs(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		busy, quiet := n.store.AddChannel("busy"), n.store.AddChannel("quiet")
		both := []string{n.store.Subscribe(busy, "", "").ID, n.store.Subscribe(quiet, "", "").ID}
		s := n.open(api.StreamFilter{}, "")
		n.store.Commit(busy)
		_, cursor := take(t, s)
		s.Close()
		n.store.Commit(quiet)
		for range 4 {
			n.store.Commit(busy)
		}
		n.store.Trim(busy, 5)
		elapse(time.Millisecond)
		for _, from := range []string{"", cursor} {
			s = n.open(api.StreamFilter{Subscriptions: both[1:]}, from)
			got, _ := take(t, s)
			expect(t, "the quiet one alone", got, "quiet 2")
			s.Close()
		}
		s = n.open(api.StreamFilter{Subscriptions: both}, cursor)
		got, _ := take(t, s)
		expect(t, "both", got, "gap 2-5", "quiet 2", "busy 6")
		s.Close()
		s = n.open(api.StreamFilter{Channels: []channel.ID{quiet}}, cursor)
		n.store.Gone(quiet)
		got, _ = take(t, s)
		expect(t, "the quiet channel", got, "quiet 2", "gone quiet")
		s.Close()
	})
}

// A stream of chosen channels that is far behind reads what it missed about once,
// not once for each page.
func TestStreamCatchesUpInOnePass(t *testing.T) {
	const missed = 2000
	virtual(t, func(t *testing.T, n *node) {
		id := n.store.AddChannel("a")
		s := n.open(api.StreamFilter{}, "")
		n.store.Commit(id)
		_, cursor := take(t, s)
		s.Close()
		for range missed {
			n.store.Commit(id)
		}
		before := n.store.Reads()
		s = n.open(api.StreamFilter{Channels: []channel.ID{id}}, cursor)
		got, _ := take(t, s)
		s.Close()
		if len(got) != missed || got[0] != "a 3" || got[missed-1] != fmt.Sprint("a ", missed+2) {
			t.Errorf("%d events", len(got))
		}
		if read := n.store.Reads() - before; read > 3*missed {
			t.Errorf("%d updates were read for %d", read, missed)
		}
	})
}

// crowdedStore takes a while for each reading, and counts those at a time.
type crowdedStore struct {
	*memstore.Store
	now, most atomic.Int32
}

func (s *crowdedStore) Beginnings(ctx context.Context, ids []string, exist bool) ([]channel.Beginning, error) {
	defer s.now.Add(-1)
	if now := s.now.Add(1); now > s.most.Load() {
		s.most.Store(now)
	}
	time.Sleep(openingWait / 3)
	return s.Store.Beginnings(ctx, ids, exist)
}

// Streams that open all at once do so one after the other, a few at a time; one that has waited
// for long reads nothing.
func TestOpenings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &crowdedStore{Store: memstore.New()}
		hub := NewHub(Config{Epoch: 7}.WithDefaults(), store, slog.New(slog.DiscardHandler), metric.New(prometheus.NewRegistry()))
		sub := store.Subscribe(store.AddChannel("http://example.com/"), "", "")
		var opened atomic.Int32
		var opening sync.WaitGroup
		for range 4 * openings {
			opening.Go(func() {
				s, err := hub.Open(t.Context(), api.StreamFilter{Subscriptions: []string{sub.ID}}, "")
				if err == nil {
					opened.Add(1)
					s.Close()
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		opening.Wait()
		if store.most.Load() != openings || opened.Load() != 2*openings {
			t.Errorf("%d read at a time, want %d; %d opened, want %d: each reads twice", store.most.Load(), openings, opened.Load(), 2*openings)
		}
	})
}

// A stream of many subscriptions, a few of which have had updates, reads the channels of these
// alone when it opens.
func TestOpenReadsNews(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		var filter api.StreamFilter
		for i := range 300 {
			id := n.store.AddChannel(fmt.Sprintf("http://example.com/%d", i))
			n.store.Commit(id)
			filter.Subscriptions = append(filter.Subscriptions, n.store.Subscribe(id, "", "").ID)
			if i%100 == 0 {
				n.store.Commit(id)
			}
		}
		filter.Channels = []channel.ID{channel.IDOf("http://example.com/1")}
		for _, running := range []bool{false, true} {
			s := n.open(filter, "")
			before := n.store.Loads()
			if got, _ := take(t, s); len(got) != 3 {
				t.Errorf("another stream runs: %t: got %v, want the updates of three channels", running, got)
			}
			if loads := n.store.Loads() - before; loads > 4*4 {
				t.Errorf("another stream runs: %t: %d readings of channels, want those of four", running, loads)
			}
		}
	})
}

// A stream of many channels that comes back with its cursor asks each range once for each page,
// whatever the number of channels.
func TestResumeAsksRangesNotChannels(t *testing.T) {
	const channels, missed, ranges = 500, 3, 16
	virtual(t, func(t *testing.T, n *node) {
		var filter api.StreamFilter
		for i := range channels {
			filter.Channels = append(filter.Channels, n.store.AddChannel(fmt.Sprintf("http://example.com/%d", i)))
		}
		s := n.open(api.StreamFilter{}, "")
		n.store.Commit(filter.Channels[0])
		_, cursor := take(t, s)
		s.Close()
		for range missed {
			for _, id := range filter.Channels {
				n.store.Commit(id)
			}
		}
		questions, before := n.store.Questions(), n.catchUps()
		s = n.open(filter, cursor)
		got, _ := take(t, s)
		s.Close()
		if len(got) != channels*missed {
			t.Errorf("%d events, want %d", len(got), channels*missed)
		}
		pages := n.catchUps() - before
		if asked := float64(n.store.Questions() - questions); asked < pages || asked > pages+ranges-1 {
			t.Errorf("%v questions for %v pages of %d ranges: the first is of all of them, others of one", asked, pages, ranges)
		}
	})
}
