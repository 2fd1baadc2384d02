package stream

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
)

// next reads an event, and returns how long it took.
func next(t *testing.T, s *Stream) (got, cursor string, after time.Duration) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	event, err := s.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return name(t, event), event.ID, time.Since(began)
}

// runs returns how many runs of buckets a cursor has apart from the common place.
func runs(t *testing.T, cursor string) int {
	t.Helper()
	_, p, err := decodeCursor(cursor)
	if err != nil {
		t.Fatal(err)
	}
	return len(p.except)
}

// inOtherRanges makes channels of different ranges.
func inOtherRanges(n *node) (a, b channel.ID) {
	a = n.store.AddChannel("a")
	for i := 0; ; i++ {
		b = n.store.AddChannel(fmt.Sprint("b", i))
		if n.store.Range(a) != n.store.Range(b) {
			return a, b
		}
	}
}

// stall keeps a range from closing anything, or from being read; heal ends that.
var stalls = map[string]func(n *node, id uint32) (heal func()){
	"does not close": func(n *node, id uint32) func() {
		n.store.Hold(id, n.store.ClosedIn(channel.Range{ID: id})+1)
		return func() { n.store.Hold(id, 0) }
	},
	"cannot be read": func(n *node, id uint32) func() {
		n.store.Away(id, memstore.ErrDown)
		return func() { n.store.Away(id, nil) }
	},
}

// A range that closes nothing, or cannot be read, holds up the first update of another
// for a second, and the next ones not at all. Its own come once it is back, and every
// cursor that was given out meanwhile resumes to the rest, once.
func TestRangeLags(t *testing.T) {
	for what, stall := range stalls {
		t.Run(what, func(t *testing.T) {
			virtual(t, func(t *testing.T, n *node) {
				a, b := inOtherRanges(n)
				s := n.open(api.StreamFilter{}, "")
				elapse(time.Millisecond)
				heal := stall(n, n.store.Range(b).ID)
				var want, cursors []string
				commit := func(id channel.ID) {
					u := n.store.Commit(id)
					want = append(want, fmt.Sprintf("%s %d", u.URL, u.Version))
				}
				commit(a)
				commit(b)
				commit(a)
				for i, least := range []time.Duration{n.hub.config.LagAfter, 0} {
					got, cursor, after := next(t, s)
					if got != want[2*i] || after < least || after > least+2*maxRecheck || runs(t, cursor) != 1 {
						t.Errorf("got %s after %v with %d runs, want %s after %v with 1", got, after, runs(t, cursor), want[2*i], least)
					}
					cursors = append(cursors, cursor)
				}
				heal()
				got, cursor, after := next(t, s)
				if got != want[1] || after > retryFollow+2*maxRecheck || runs(t, cursor) != 0 {
					t.Errorf("got %s after %v with %d runs, want %s within %v with none", got, after, runs(t, cursor), want[1], retryFollow)
				}
				commit(b)
				commit(a)
				rest, _ := take(t, s)
				expect(t, "in the common order again", rest, want[3:]...)
				s.Close()
				for i, cursor := range cursors {
					s := n.open(api.StreamFilter{}, cursor)
					rest, _ := take(t, s)
					left := [][]string{want[1:], slices.Concat(want[1:2], want[3:])}[i]
					expect(t, "resumed", rest, left...)
					s.Close()
				}
			})
		})
	}
}

// All but one of 256 ranges lag, each at a place of its own: the cursor that a stream
// then gives is long, and resumes to the rest, once.
func TestManyRangesLag(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		n.store.Split(256)
		table := n.store.Table()
		a := n.store.AddChannel("a")
		well := n.store.Range(a).ID
		var late channel.ID
		for _, r := range table {
			if r.ID != well {
				n.store.Hold(r.ID, n.store.ClosedIn(channel.Range{ID: r.ID})+1)
				elapse(time.Millisecond)
			}
		}
		for i := 0; late == (channel.ID{}) || n.store.Range(late).ID == well; i++ {
			late = n.store.AddChannel(fmt.Sprint("late", i))
		}
		s := n.open(api.StreamFilter{}, "")
		elapse(time.Millisecond)
		n.store.Commit(a)
		n.store.Commit(late)
		n.store.Commit(a)
		got, cursor, _ := next(t, s)
		s.Close()
		if got != "a 2" || runs(t, cursor) != 255 {
			t.Fatalf("got %s with %d runs in %d characters", got, runs(t, cursor), len(cursor))
		}
		for _, r := range table {
			n.store.Hold(r.ID, 0)
		}
		s = n.open(api.StreamFilter{}, cursor)
		defer s.Close()
		rest, cursor := take(t, s)
		expect(t, "resumed", rest, "late0 2", "a 3")
		if runs(t, cursor) != 0 {
			t.Errorf("%d runs once all ranges are back", runs(t, cursor))
		}
	})
}

// A stream that is behind gets what can be read; the rest comes when it can be.
func TestCatchUpPassesOverARange(t *testing.T) {
	for _, filtered := range []bool{false, true} {
		virtual(t, func(t *testing.T, n *node) {
			a, b := inOtherRanges(n)
			filter := api.StreamFilter{}
			if filtered {
				filter.Channels = []channel.ID{a, b}
			}
			s := n.open(filter, "")
			n.store.Commit(a)
			_, cursor := take(t, s)
			s.Close()
			late := n.store.Commit(b)
			for range 40 {
				n.store.Commit(a)
			}
			n.store.Away(n.store.Range(b).ID, memstore.ErrDown)
			elapse(time.Millisecond)
			s = n.open(filter, cursor)
			got, cursor := take(t, s)
			if len(got) != 40 || got[0] != "a 3" || got[39] != "a 42" || runs(t, cursor) != 1 {
				t.Errorf("filtered %v: %d events %q, %d runs", filtered, len(got), got, runs(t, cursor))
			}
			n.store.Away(n.store.Range(b).ID, nil)
			rest, _, after := next(t, s)
			if want := late.URL + " 2"; rest != want || after > retryFollow {
				t.Errorf("filtered %v: got %s after %v, want %s within %v", filtered, rest, after, want, retryFollow)
			}
			s.Close()
		})
	}
}

// A range is asked to close a stamp at most 20 times a second while updates wait for
// it, once a second while it lags, and not at all while nothing waits.
func TestDemands(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		a, b := inOtherRanges(n)
		held := n.store.Range(b).ID
		s := n.open(api.StreamFilter{}, "")
		defer s.Close()
		n.store.Commit(a)
		elapse(time.Hour)
		if got := n.store.Demands(held); got != 0 {
			t.Fatalf("%d demands while nothing waits", got)
		}
		n.store.Hold(held, n.store.ClosedIn(channel.Range{ID: held})+1)
		for range 100 {
			n.store.Commit(a)
			elapse(9 * time.Millisecond)
		}
		if got := n.store.Demands(held); got < 15 || got > 20 {
			t.Errorf("%d demands in 0.9 seconds of waiting", got)
		}
		elapse(time.Second)
		lagging := n.store.Demands(held)
		elapse(time.Minute)
		if got := n.store.Demands(held) - lagging; got < 30 || got > 61 {
			t.Errorf("%d demands in a minute of lagging", got)
		}
		n.store.Hold(held, 0)
		elapse(2 * time.Second)
		lagging = n.store.Demands(held)
		elapse(time.Hour)
		if got := n.store.Demands(held) - lagging; got != 0 {
			t.Errorf("%d demands once it is back", got)
		}
	})
}

// A range that has closed less than a cursor says, which another one here has closed, is
// asked to close it: its clock may have been set back. A stamp that only the cursor has
// is not asked for.
func TestResumedPlaceIsClosedAgain(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		n.hub.config.Ahead = time.Hour
		a, b := inOtherRanges(n)
		back := n.store.Range(b).ID
		n.store.Hold(back, n.store.ClosedIn(channel.Range{ID: back})+1)
		elapse(time.Second)
		u := n.store.Commit(a)
		for i, at := range []uint64{u.Stamp, u.Stamp + 60e6} {
			s := n.open(api.StreamFilter{}, encodeCursor(7, place{base: channel.EndOf(at)}))
			if got := n.store.Demands(back); got != i+1 {
				t.Errorf("%d demands, want %d", got, i+1)
			}
			s.Close()
		}
		if highest := n.store.Demanded(); highest > n.store.ClosedIn(n.store.Range(a)) {
			t.Errorf("stamp %d was asked for", highest)
		}
	})
}

// Streams go on, and every cursor resumes, when the ranges are others than those that
// the cursors were made of, and one of them lags each time.
func TestRangesAreDivided(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		var ids []channel.ID
		for i := range 8 {
			ids = append(ids, n.store.AddChannel(fmt.Sprint("c", i)))
		}
		var want, got, cursors []string
		commit := func() {
			for _, id := range ids {
				u := n.store.Commit(id)
				want = append(want, fmt.Sprintf("%s %d", u.URL, u.Version))
			}
			elapse(time.Millisecond)
		}
		s := n.open(api.StreamFilter{}, "")
		for i, ranges := range []int{16, 5, 64, 7, 2} {
			n.store.Split(ranges)
			held := n.store.Range(ids[i]).ID
			n.store.Hold(held, n.store.ClosedIn(channel.Range{ID: held})+1)
			commit()
			for range 3 {
				event, cursor, _ := next(t, s)
				got, cursors = append(got, event), append(cursors, cursor)
			}
			n.store.Hold(held, 0)
			commit()
		}
		if !slices.ContainsFunc(cursors, func(c string) bool { return runs(t, c) > 0 }) {
			t.Error("no range lagged")
		}
		rest, _ := take(t, s)
		s.Close()
		expectAll(t, "across divisions", slices.Concat(got, rest), want)
		for i, cursor := range cursors {
			s := n.open(api.StreamFilter{}, cursor)
			rest, _ := take(t, s)
			expectAll(t, fmt.Sprint("resumed after ", i+1), slices.Concat(got[:i+1], rest), want)
			s.Close()
		}
	})
}

// expectAll compares events whose order may differ but for those of a channel.
func expectAll(t *testing.T, what string, got, want []string) {
	t.Helper()
	byChannel := func(events []string) map[string][]string {
		all := make(map[string][]string)
		for _, e := range events {
			url, version, _ := strings.Cut(e, " ")
			all[url] = append(all[url], version)
		}
		return all
	}
	if got, want := byChannel(got), byChannel(want); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// A cursor from ahead is one that a clock gave which has been set back since. A node
// that is alone knows by what it has closed; in a cluster another node may be ahead.
func TestCursorFromAhead(t *testing.T) {
	for _, c := range []struct {
		ahead  time.Duration
		lies   time.Duration
		resets bool
	}{
		{0, time.Second, true},
		{0, -time.Second, false},
		{time.Minute, 59 * time.Second, false},
		{time.Minute, 61 * time.Second, true},
	} {
		virtual(t, func(t *testing.T, n *node) {
			n.hub.config.Ahead = c.ahead
			a := n.store.AddChannel("a")
			elapse(time.Minute)
			lies := place{base: channel.EndOf(uint64(time.Now().Add(c.lies).UnixMicro()))}
			if c.lies < 0 {
				lies.base = channel.EndOf(n.store.Closed())
			}
			s := n.open(api.StreamFilter{}, encodeCursor(7, lies))
			defer s.Close()
			elapse(max(c.lies, 0) + time.Second)
			n.store.Commit(a)
			want := []string{"a 2"}
			if c.resets {
				want = []string{"reset", "a 2"}
			}
			got, _ := take(t, s)
			expect(t, fmt.Sprintf("%v ahead, %v may be", c.lies, c.ahead), got, want...)
		})
	}
}
