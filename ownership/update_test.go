package ownership

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

func TestCommit(t *testing.T) {
	ctx := context.Background()
	s := open(t, testConfig(t))
	w := wish("http://example.com/", "", stream)
	subscribe(t, s, w)
	grow(t, s, w.Channel, 3)
	c, err := s.Channel(w.Channel)
	if err != nil {
		t.Fatal(err)
	}
	want := channel.Channel{
		ID: w.Channel, URL: w.URL, Incarnation: 1, Version: 3, Hash: [16]byte{3}, Kind: 4, Subscribers: 1,
		Created: c.Created, FirstContent: time.UnixMicro(1e6).UTC(), LastChange: time.UnixMicro(3e6).UTC(), Judge: []byte("judge 3"), Oldest: 2,
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("channel %+v, want %+v", c, want)
	}
	updates, gap, err := s.Updates(w.Channel, 0, 10)
	if err != nil || gap != nil || len(updates) != 2 {
		t.Fatalf("updates %v, %v, %v", updates, gap, err)
	}
	u := updates[1]
	if u.Version != 3 || u.URL != w.URL || u.Incarnation != 1 || !u.At.Equal(time.UnixMicro(3e6)) || u.Stamp <= updates[0].Stamp ||
		string(u.Data) != string(updateData(w.Channel, 3)) || string(u.Patch) != "patch 3" {
		t.Errorf("update %+v", u)
	}
	seen, err := s.Seen(w.Channel)
	if err != nil || !slices.Equal(seen, []uint64{1, 2, 11, 12, 21, 22}) {
		t.Errorf("seen %v, %v", seen, err)
	}

	hold := Commit{Channel: c.ID, Incarnation: 1, Base: 3, Version: 3, Judge: []byte("held"), Held: true, At: time.UnixMicro(4e6), Gone: true}
	if err := s.Commit(ctx, hold); err != nil {
		t.Fatal(err)
	}
	c, err = s.Channel(w.Channel)
	want.Judge, want.Held, want.Gone, want.GoneStamp = []byte("held"), true, true, c.GoneStamp
	if err != nil || c.GoneStamp <= u.Stamp || !reflect.DeepEqual(c, want) {
		t.Errorf("held channel %+v, want %+v, %v", c, want, err)
	}
	for name, change := range map[string]func(c *Commit){
		"leap":           func(c *Commit) { c.Version = 5 },
		"no update":      func(c *Commit) { c.Update = nil },
		"update on hold": func(c *Commit) { c.Version = 3 },
	} {
		bad := nextCommit(c)
		change(&bad)
		if err := s.Commit(ctx, bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	large := nextCommit(c)
	large.Update = make([]byte, maxCommand)
	wantError(t, s.Commit(ctx, large), ErrTooLarge)
}

func TestProgress(t *testing.T) {
	ctx := context.Background()
	s := open(t, testConfig(t))
	w := wish("http://example.com/", "", webhook)
	_, err := s.Progress(w.Channel)
	wantError(t, err, channel.ErrNotFound)
	var subs []channel.Subscription
	for range 4 {
		subs = append(subs, subscribe(t, s, w))
	}
	grow(t, s, w.Channel, 5)
	at := func(version, seq uint64, stragglers ...channel.Straggler) channel.Progress {
		return channel.Progress{Channel: w.Channel, Incarnation: 1, Version: version, Seq: seq, Stragglers: stragglers}
	}
	want := func(p channel.Progress) {
		t.Helper()
		if got, err := s.Progress(w.Channel); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("progress %+v, %v; want %+v", got, err, p)
		}
	}
	advance := func(p channel.Progress) {
		t.Helper()
		if err := s.Advance(ctx, []channel.Progress{p}); err != nil {
			t.Fatal(err)
		}
	}
	want(at(1, 0))
	advance(at(2, 2, channel.Straggler{Seq: 3, Next: 2}, channel.Straggler{Seq: 1, Next: 2}))
	want(at(2, 2, channel.Straggler{Seq: 1, Next: 2}, channel.Straggler{Seq: 3, Next: 2}))
	advance(at(2, 1, channel.Straggler{Seq: 3, Next: 0}, channel.Straggler{Seq: 4, Next: 2})) // late: of another leader
	want(at(2, 2, channel.Straggler{Seq: 1, Next: 2}, channel.Straggler{Seq: 3, Next: 2}))    // never back
	advance(at(2, 2, channel.Straggler{Seq: 3, Next: 0}))
	want(at(2, 2, channel.Straggler{Seq: 1, Next: 2}))
	advance(at(3, 1))
	want(at(3, 1, channel.Straggler{Seq: 1, Next: 2}))
	advance(at(6, 1))
	want(at(3, 1, channel.Straggler{Seq: 1, Next: 2})) // there is no version 6
	other := at(4, 1, channel.Straggler{Seq: 2, Next: 2})
	other.Incarnation = 2
	advance(other)
	advance(channel.Progress{Channel: channel.IDOf("http://other.example/"), Incarnation: 1, Version: 2})
	advance(at(3, 1, channel.Straggler{Seq: 9, Next: 2})) // no subscription has number 9
	want(at(3, 1, channel.Straggler{Seq: 1, Next: 2}))
	if err := s.Unsubscribe(ctx, subs[0].ID); err != nil {
		t.Fatal(err)
	}
	want(at(3, 1))
	advance(at(3, 1, channel.Straggler{Seq: 1, Next: 2}))
	want(at(3, 1)) // and number 1 is gone
	wantError(t, s.Advance(ctx, []channel.Progress{at(0, 1)}), ErrInvalid)
}

func TestEndpoints(t *testing.T) {
	ctx := context.Background()
	s := open(t, testConfig(t))
	url := "https://sink.example/hook"
	if e, err := s.Endpoint(url); err != nil || !e.Healthy() || e.URL != url {
		t.Errorf("unknown endpoint %+v, %v", e, err)
	}
	sick := channel.Endpoint{URL: url, State: channel.EndpointSuspended, FailingSince: time.UnixMicro(5).UTC(), Attempts: 3, LastError: "refused", NextAttempt: time.UnixMicro(9).UTC(), LostUntil: time.UnixMicro(4).UTC()}
	set := func(e channel.Endpoint) {
		t.Helper()
		was, err := s.Endpoint(e.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetEndpoint(ctx, e, was); err != nil {
			t.Fatal(err)
		}
	}
	set(sick)
	set(channel.Endpoint{URL: "https://other.example/", Attempts: 1, LastError: strings.Repeat("é", 1<<10) + "\xff"})
	if e, err := s.Endpoint(url); err != nil || e != sick {
		t.Errorf("endpoint %+v, %v; want %+v", e, err, sick)
	}
	if all, err := s.Endpoints(); err != nil || len(all) != 2 {
		t.Errorf("endpoints %v, %v", all, err)
	}
	later := sick
	later.Attempts++
	for _, was := range []channel.Endpoint{{URL: url}, later} {
		wantError(t, s.SetEndpoint(ctx, channel.Endpoint{URL: url}, was), ErrStale)
	}
	if e, err := s.Endpoint(url); err != nil || e != sick {
		t.Errorf("endpoint %+v, %v after changes that were made from other records; want %+v", e, err, sick)
	}
	set(channel.Endpoint{URL: url})
	if all, err := s.Endpoints(); err != nil || len(all) != 1 || all[0].URL == url {
		t.Errorf("endpoints after one is well again: %v, %v", all, err)
	}
	wantError(t, s.SetEndpoint(ctx, channel.Endpoint{}, channel.Endpoint{}), ErrInvalid)
	wantError(t, s.SetEndpoint(ctx, sick, channel.Endpoint{URL: "https://other.example/"}), ErrInvalid)
	wantError(t, s.SetEndpoint(ctx, sick, channel.Endpoint{URL: url, Attempts: 1}), ErrStale)
}

// TestUpdatesSince: pages of any size show all updates of all channels once, in
// the order of their cursors.
func TestUpdatesSince(t *testing.T) {
	s := open(t, testConfig(t))
	count := 0
	for round := range 5 {
		for i := range 30 {
			w := wish(fmt.Sprintf("http://example.com/%d", i), "", stream)
			if round == 0 {
				subscribe(t, s, w)
			}
			grow(t, s, w.Channel, uint64(round+1))
			if round > 0 {
				count++
			}
		}
	}
	var whole []channel.Update
	for _, limit := range []int{1000, 1, 7, count, count + 1} {
		var all []channel.Update
		for after := (channel.Cursor{}); ; after = all[len(all)-1].Cursor() {
			page, err := s.UpdatesSince(after, limit)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, page...)
			if len(page) < limit {
				break
			}
		}
		if len(all) != count {
			t.Errorf("pages of %d: %d updates, want %d", limit, len(all), count)
		}
		for i := 1; i < len(all); i++ {
			if a, b := all[i-1].Cursor(), all[i].Cursor(); a.Stamp > b.Stamp || a.Stamp == b.Stamp && a.Bucket >= b.Bucket {
				t.Fatalf("pages of %d: %+v before %+v", limit, a, b)
			}
		}
		if whole == nil {
			whole = all
		}
		if !reflect.DeepEqual(all, whole) {
			t.Errorf("pages of %d differ from the whole", limit)
		}
	}
	if got, err := s.UpdatesSince(channel.Cursor{Stamp: s.Closed(), Bucket: channel.Buckets - 1}, 10); err != nil || len(got) != 0 {
		t.Errorf("after the end: %v, %v", got, err)
	}
}

// A page of long updates ends at a megabyte, and says that there are more.
func TestUpdatesSinceIsCapped(t *testing.T) {
	s := open(t, testConfig(t))
	w := wish("http://example.com/", "", stream)
	subscribe(t, s, w)
	grow(t, s, w.Channel, 1)
	for version := uint64(2); version <= 5; version++ {
		c, err := s.Channel(w.Channel)
		if err != nil {
			t.Fatal(err)
		}
		next := nextCommit(c)
		next.Update = make([]byte, 400<<10)
		if err := s.Commit(context.Background(), next); err != nil {
			t.Fatal(err)
		}
	}
	of := s.of(w.Channel.Bucket()).local().state
	page, more, err := of.Since(channel.Cursor{}, s.Closed(), 4)
	if err != nil || len(page) != 3 || !more || page[0].Patch != nil {
		t.Fatalf("first page: %d updates, more %v, %v; want 3 without patches, and more", len(page), more, err)
	}
	page, more, err = of.Since(page[2].Cursor(), s.Closed(), 4)
	if err != nil || len(page) != 1 || more {
		t.Errorf("last page: %d updates, more %v, %v; want 1", len(page), more, err)
	}
}

// TestGone: the notice that a channel is gone stands once in the order of
// updates, after what was committed before it, until the origin is back.
func TestGone(t *testing.T) {
	ctx := context.Background()
	s := open(t, testConfig(t))
	w := wish("http://example.com/", "", stream)
	sub := subscribe(t, s, w)
	grow(t, s, w.Channel, 2)
	note := func(gone bool) {
		t.Helper()
		err := s.Commit(ctx, Commit{Channel: w.Channel, Incarnation: 1, Base: 2, Version: 2, Gone: gone, At: time.UnixMicro(7)})
		if c, err2 := s.Channel(w.Channel); errors.Join(err, err2) != nil || c.Gone != gone {
			t.Fatalf("channel %+v, %v", c, errors.Join(err, err2))
		}
	}
	want := func(want ...string) {
		t.Helper()
		updates, err := s.UpdatesSince(channel.Cursor{}, 10)
		var got []string
		for _, u := range updates {
			got = append(got, fmt.Sprintf("%d gone %v at %d", u.Version, u.Gone, u.At.UnixMicro()))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("updates %q, %v; want %q", got, err, want)
		}
	}
	note(true)
	note(true)
	want("2 gone false at 2000000", "2 gone true at 7")
	note(false)
	want("2 gone false at 2000000")
	note(true)
	both := errors.Join(s.Unsubscribe(ctx, sub.ID), s.EndChannel(ctx, w.Channel, 1))
	if both != nil {
		t.Fatal(both)
	}
	want()
}

// TestClosedStamps: while commits run in all ranges, a reader that follows
// Closed sees every update exactly once and none behind its back.
func TestClosedStamps(t *testing.T) {
	ctx := context.Background()
	cfg := testConfig(t)
	cfg.SnapshotBytes = 32 << 10
	s := open(t, cfg)
	const channels, versions = 24, 40
	var ids []channel.ID
	for i := range channels {
		w := wish(fmt.Sprintf("http://example.com/%d", i), "", stream)
		subscribe(t, s, w)
		ids = append(ids, w.Channel)
	}
	var writers, reader sync.WaitGroup
	var done atomic.Bool
	for _, id := range ids {
		writers.Go(func() {
			for range versions {
				c, err := s.Channel(id)
				if err == nil {
					err = s.Commit(ctx, nextCommit(c))
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	next := map[channel.ID]uint64{}
	reader.Go(func() { follow(t, s, &done, next) })
	writers.Wait()
	done.Store(true)
	reader.Wait()
	for _, id := range ids {
		if next[id] != versions+1 {
			t.Errorf("channel %s: read up to version %d of %d", id, next[id]-1, versions)
		}
	}
}

// follow reads updates as far as they are closed, until done and then to the end,
// and counts each channel's next version.
func follow(t *testing.T, s *Store, done *atomic.Bool, next map[channel.ID]uint64) {
	closed, after := uint64(0), channel.Cursor{}
	for last := false; !last; {
		last = done.Load()
		now := s.Closed()
		if now < closed {
			t.Errorf("closed fell from %d to %d", closed, now)
		}
		closed = now
		for {
			page, err := s.UpdatesSince(after, 50)
			if err != nil {
				t.Error(err)
				return
			}
			if len(page) == 0 {
				break
			}
			for _, u := range page {
				if want := max(next[u.Channel], 2); u.Version != want {
					t.Errorf("version %d of %s, want %d", u.Version, u.Channel, want)
				}
				next[u.Channel] = u.Version + 1
			}
			after = page[len(page)-1].Cursor()
		}
		if after.Stamp <= closed {
			after = channel.Cursor{Stamp: closed, Bucket: channel.Buckets - 1} // nothing will come before it
		}
	}
}

// recorder writes down what an observer is told, with how the store reads then.
type recorder struct {
	mu     sync.Mutex
	s      *Store
	events []string
}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *recorder) ChannelChanged(c channel.Channel, ended bool) {
	r.add("channel %d: version %d, %d subscribers, gone %v, ended %v", c.Incarnation, c.Version, c.Subscribers, c.Gone, ended)
	stored, err := r.s.Channel(c.ID)
	stored.Judge = nil
	if ended != errors.Is(err, channel.ErrNotFound) || !ended && !reflect.DeepEqual(stored, c) {
		r.add("but the store has %+v, %v", stored, err)
	}
}

func (r *recorder) Committed(u channel.Update, _ uint64) {
	if u.Gone {
		r.add("gone after %d", u.Version)
		return
	}
	r.add("committed %d: %s", u.Version, u.Data)
	if stored, _, err := r.s.Updates(u.Channel, u.Version-1, 1); err != nil || !reflect.DeepEqual(stored, []channel.Update{u}) {
		r.add("but the store has %v, %v", stored, err)
	}
}

func (r *recorder) Subscribed(s channel.Subscription) {
	r.add("subscribed %d from %d", s.Seq, s.FromVersion)
}
func (r *recorder) Unsubscribed(s channel.Subscription) {
	r.add("unsubscribed %d of %s", s.Seq, s.Sink.Type)
}

func TestObserver(t *testing.T) {
	ctx := context.Background()
	r := &recorder{}
	cfg := testConfig(t)
	cfg.Observer = r
	s := open(t, cfg)
	r.s = s
	w := wish("http://example.com/", "", webhook)
	sub := subscribe(t, s, w)
	grow(t, s, w.Channel, 2)
	if err := s.Commit(ctx, Commit{Channel: w.Channel, Incarnation: 1, Base: 2, Version: 2, Gone: true}); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Commit(ctx, Commit{Channel: w.Channel, Incarnation: 1, Base: 1, Version: 1}), ErrStale)
	if err := errors.Join(s.Unsubscribe(ctx, sub.ID), s.Unsubscribe(ctx, sub.ID), s.EndChannel(ctx, w.Channel, 1)); err != nil {
		t.Fatal(err)
	}
	both := s.Subscribe(ctx, []NewSubscription{w, wish("http://example.com/", "", stream)})
	if err := errors.Join(both[0].Err, both[1].Err); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	want := strings.TrimSpace(`
channel 1: version 0, 1 subscribers, gone false, ended false
subscribed 1 from 2
channel 1: version 1, 1 subscribers, gone false, ended false
channel 1: version 2, 1 subscribers, gone false, ended false
committed 2: ` + string(updateData(w.Channel, 2)) + `
channel 1: version 2, 1 subscribers, gone true, ended false
gone after 2
channel 1: version 2, 0 subscribers, gone true, ended false
unsubscribed 1 of webhook
channel 1: version 2, 0 subscribers, gone true, ended true
channel 2: version 0, 2 subscribers, gone false, ended false
subscribed 2 from 2
subscribed 3 from 2`)
	if got := strings.Join(r.events, "\n"); got != want {
		t.Errorf("events:\n%s\nwant:\n%s", got, want)
	}
	before := len(r.events)
	cfg.Dir = copyDir(t, cfg.Dir)
	r.s = open(t, cfg)
	if len(r.events) != before {
		t.Errorf("a restart told %v", r.events[before:])
	}
}

func (*recorder) RangeGained(channel.Range, uint64) {}
func (*recorder) RangeLost(channel.Range, uint64)   {}
