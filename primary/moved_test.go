package primary

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/engine"
	"github.com/seed-91e7e7c1/corona/ownership"
)

const (
	there = "https://example.org/feed"
	far   = "https://example.net/feed"
)

// row 21: what one poll makes of what was known.
func TestNextMoved(t *testing.T) {
	const week = 7 * 24 * time.Hour
	now := begin.Add(10 * week)
	since := func(ago time.Duration, learned bool) channel.Moved {
		return channel.Moved{To: there, Since: now.Add(-ago), Learned: learned}
	}
	none, feed, html := channel.Moved{}, deltas.KindFeed, deltas.KindHTML
	doubted := channel.Moved{To: there}
	tests := []struct {
		name  string
		known channel.Moved
		kind  deltas.Kind // committed
		move  engine.Move
		want  channel.Moved
	}{
		{"first seen", none, feed, engine.Move{To: there, Kind: feed}, since(0, false)},
		{"first seen, content as committed", none, feed, engine.Move{To: there}, since(0, false)},
		{"first told when it has held for a while", none, feed, engine.Move{To: there, Since: now.Add(-week)}, since(week, false)},
		{"to a maintenance page", none, feed, engine.Move{To: there, Kind: html}, doubted},
		{"to a maintenance page, which has been committed just now", none, html, engine.Move{To: there, Kind: html, Foreign: true}, doubted},
		{"to that page for weeks", doubted, html, engine.Move{To: there, Kind: html, Since: now.Add(-9 * week)}, doubted},
		{"from that page to another", doubted, html, engine.Move{To: far, Kind: html}, doubted},
		{"from that page to another kind", doubted, html, engine.Move{To: far, Kind: feed}, channel.Moved{To: far}},
		{"no more to that page", doubted, html, engine.Move{Kind: feed, Foreign: true}, none},
		{"before there is content", none, 0, engine.Move{To: there, Kind: html}, none},
		{"holds", since(week, false), feed, engine.Move{To: there, Kind: feed}, since(week, false)},
		{"has held for just less than three weeks", since(3*week-1, false), feed, engine.Move{To: there}, since(3*week-1, false)},
		{"has held for three weeks", since(3*week, false), feed, engine.Move{To: there, Kind: feed}, since(3*week, true)},
		{"would be learned, but is another kind", since(4*week, false), feed, engine.Move{To: there, Kind: html}, doubted},
		{"another target", since(4*week, false), feed, engine.Move{To: far, Kind: feed}, channel.Moved{To: far, Since: now}},
		{"a break", since(4*week, false), feed, engine.Move{Kind: feed}, none},
		{"learned and asked", since(5*week, true), feed, engine.Move{Learned: true, Kind: feed}, since(5*week, true)},
		{"learned, moves on", since(5*week, true), feed, engine.Move{Learned: true, To: far}, channel.Moved{To: far, Since: now}},
		{"learned, fails", since(5*week, true), feed, engine.Move{Learned: true, Kind: feed}, since(5*week, true)},
		{"learned, fails, and the own URL answers by itself", since(5*week, true), feed, engine.Move{Kind: feed}, none},
		{"learned, shows another kind", since(5*week, true), feed, engine.Move{Learned: true, Kind: html}, none},
		{"the clock went back", since(-week, false), feed, engine.Move{To: there}, since(-week, false)},
	}
	for _, test := range tests {
		if test.move.At = now; test.move.Since.IsZero() {
			test.move.Since = now
		}
		if got := nextMoved(test.known, test.kind, test.move, 3*week); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// row 21: whatever polls show, a URL is learned only if for three weeks each of them
// was led there, and none found another kind of document since the channel's own URL
// answered last.
func TestNextMovedHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var known channel.Moved
		var unbroken time.Time // since when all polls have been led to the target of the last one
		now, last, foreign := begin, "", false
		for range rapid.IntRange(1, 60).Draw(t, "polls") {
			now = now.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "hours")) * time.Hour)
			move := engine.Move{
				To:   rapid.SampledFrom([]string{there, there, there, there, there, there, there, far, ""}).Draw(t, "to"),
				Kind: rapid.SampledFrom(append(make([]deltas.Kind, 20), deltas.KindFeed, deltas.KindFeed, deltas.KindHTML)).Draw(t, "kind"),
				At:   now,
			}
			if known.Learned {
				return
			}
			if move.To != last {
				unbroken, last = now, move.To
			}
			move.Since = unbroken
			foreign = move.To != "" && (foreign || move.Kind == deltas.KindHTML)
			known = nextMoved(known, deltas.KindFeed, move, defaultMovedHold)
			if known.To != move.To && !foreign {
				t.Fatalf("%+v after %+v", known, move)
			}
			if known.Learned && (foreign || now.Sub(unbroken) < defaultMovedHold) {
				t.Fatalf("learned %+v after %v, foreign %v", known, now.Sub(unbroken), foreign)
			}
			if !foreign && move.To != "" && now.Sub(unbroken) >= defaultMovedHold && !known.Learned && known.Since.Equal(unbroken) {
				t.Fatalf("%+v is not learned after %v", known, now.Sub(unbroken))
			}
		}
	})
}

// Only what changes is committed; the poller is told by an order, which says where
// to ask.
func TestMovedCommitsWhatChanges(t *testing.T) {
	store, owner := world(t)
	store.changed = owner.ChannelChanged
	poller := &orders{ordered: make(map[channel.ID]engine.Order)}
	if err := owner.Start(poller); err != nil {
		t.Fatal(err)
	}
	seen(t, owner, 0, nil, feed(t, "a"), 0)
	show := func(step string, move engine.Move, commits int, want engine.Order) {
		t.Helper()
		before := len(store.commits)
		clear(poller.ordered)
		move.Channel, move.Incarnation = feedID, 7
		if err := owner.Moved(t.Context(), move); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if got := len(store.commits) - before; got != commits {
			t.Errorf("%s: %d commits, want %d", step, got, commits)
		}
		order, ordered := poller.ordered[feedID]
		if ordered != (commits > 0) || order.Ask != want.Ask || order.MovedTo != want.MovedTo || !order.MovedAgain.Equal(want.MovedAgain) {
			t.Errorf("%s: ordered %v, %+v; want %+v", step, ordered, order, want)
		}
		if ch := store.channels[feedID]; ch.Version != 1 || ordered && order.URL != feedURL {
			t.Errorf("%s: version %d, order %+v", step, ch.Version, order)
		}
	}
	due := begin.Add(defaultMovedHold)
	show("first seen", engine.Move{To: there, Since: begin, At: begin}, 1, engine.Order{MovedTo: there, MovedAgain: due})
	show("again", engine.Move{To: there, At: begin.Add(time.Hour)}, 0, engine.Order{})
	show("three weeks later", engine.Move{To: there, At: due}, 1, engine.Order{MovedTo: there, Ask: there})
	show("it fails", engine.Move{At: due.Add(time.Hour)}, 1, engine.Order{})
	show("a maintenance page", engine.Move{To: far, Kind: deltas.KindHTML, At: due}, 1, engine.Order{MovedTo: far})
	show("the same", engine.Move{To: far, Kind: deltas.KindHTML, At: due}, 0, engine.Order{})
	last := store.commits[len(store.commits)-1]
	if last.Update != nil || last.Version != 1 || last.Base != 1 {
		t.Errorf("commit %+v makes a version", last)
	}
}

func TestMovedOfNobody(t *testing.T) {
	store, owner := world(t)
	seen(t, owner, 0, nil, feed(t, "a"), 0)
	for _, move := range []engine.Move{{Channel: feedID, Incarnation: 6, To: there}, {Channel: numbered(9), Incarnation: 7, To: there}} {
		if err := owner.Moved(t.Context(), move); err != nil || len(store.commits) != 1 {
			t.Errorf("%+v: %v, %d commits", move, err, len(store.commits))
		}
	}
	store.fail = ownership.ErrUnavailable
	err := owner.Moved(t.Context(), engine.Move{Channel: feedID, Incarnation: 7, To: there})
	if !errors.Is(err, ownership.ErrUnavailable) {
		t.Errorf("a commit that fails: %v", err)
	}
}
