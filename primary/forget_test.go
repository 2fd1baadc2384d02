package primary

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/deltas"
	"github.com/seed-91e7e7c1/corona/ownership"
)

// counting is a page with a count that has moved n times.
func counting(t *testing.T, n int) *deltas.Core {
	return core(t, fmt.Sprintf("<html><h1>Harbour</h1><p>The ferry leaves at the pier.<p>Readers so far: %d</html>", 4000+37*n))
}

// TestForget: what an owner has learned to pass over is told by the next report behind
// a Forget, and once more changes nothing.
func TestForget(t *testing.T) {
	store, owner := world(t)
	base, minute := counting(t, 0), 0
	version := seen(t, owner, minute, nil, base, 0).Version
	report := func() (told bool) {
		minute++
		next := counting(t, minute)
		answer := seen(t, owner, minute, base, next, version)
		if told = answer.Version > version; told {
			base, version = next, answer.Version
		}
		return told
	}
	for report() {
	}
	if report() {
		t.Fatal("what was learned is told")
	}
	for range 2 {
		if err := owner.Forget(t.Context(), feedID); err != nil {
			t.Fatal(err)
		}
	}
	if got := store.channels[feedID].Forgotten; got != 1 {
		t.Errorf("forgotten %d times, want 1: the second time there was nothing", got)
	}
	if !report() {
		t.Error("what was forgotten is not told")
	}
}

// A commit that lost against a Forget is judged again, without what was learned.
func TestReportAgainBehindForget(t *testing.T) {
	store, owner := world(t)
	base := counting(t, 0)
	seen(t, owner, 0, nil, base, 0)
	store.fail = ownership.ErrStale // as if a Forget of another owner had come between
	if got := seen(t, owner, 1, base, counting(t, 1), 1); got.Version != 2 {
		t.Errorf("answer %+v", got)
	}
}

func TestForgetRefused(t *testing.T) {
	_, owner := world(t)
	if err := owner.Forget(t.Context(), feedID); err != nil {
		t.Errorf("a channel without content: %v", err)
	}
	if err := owner.Forget(t.Context(), channel.IDOf("http://other.example/")); !errors.Is(err, channel.ErrNotFound) {
		t.Errorf("a channel that is not there: %v", err)
	}
}

// racing is a store whose channel is at another version when a Forget comes, so many
// times.
type racing struct {
	*memory
	stale, calls int
}

func (r *racing) Forget(ctx context.Context, from channel.Channel, judge []byte) error {
	if r.calls++; r.calls <= r.stale {
		return ownership.ErrStale
	}
	return r.memory.Forget(ctx, from, judge)
}

// A Forget that lost against a commit is made again, once.
func TestForgetAgain(t *testing.T) {
	for stale, want := range map[int]error{0: nil, 1: nil, 2: ownership.ErrStale} {
		store, owner := world(t)
		seen(t, owner, 0, nil, counting(t, 0), 0)
		seen(t, owner, 1, counting(t, 0), counting(t, 1), 1)
		owner.judge.store = &racing{memory: store, stale: stale}
		if err := owner.Forget(t.Context(), feedID); !errors.Is(err, want) {
			t.Errorf("stale %d times: %v, want %v", stale, err, want)
		}
	}
}

// TestHold: a channel says of what waits why, and since which poll, until it is told or
// taken back; a late report of it changes neither.
func TestHold(t *testing.T) {
	store, owner := world(t)
	full, fewer := feed(t, "a", "b", "c"), feed(t, "a", "c")
	a, b := core(t, strings.Repeat("one\n", 12)), core(t, strings.Repeat("two\n", 12))
	at := func(minute int) time.Time {
		return begin.Add(time.Duration(minute) * time.Minute).UTC().Truncate(time.Microsecond)
	}
	hold := func(what string, want channel.Hold) {
		t.Helper()
		if got := store.channels[feedID].Hold; got != want {
			t.Errorf("%s: held %+v, want %+v", what, got, want)
		}
	}
	seen(t, owner, 0, nil, full, 0)
	hold("first content", channel.Hold{})
	seen(t, owner, 10, full, fewer, 1)
	hold("a removal", channel.Hold{Since: at(10), Reason: "removal"})
	seen(t, owner, 9, full, fewer, 1)
	hold("a late report", channel.Hold{Since: at(10), Reason: "removal"})
	seen(t, owner, 11, full, nil, 1)
	hold("taken back", channel.Hold{})
	seen(t, owner, 20, full, fewer, 1)
	if got := seen(t, owner, 21, full, fewer, 1); got.Version != 2 {
		t.Fatalf("confirmed: %+v", got)
	}
	hold("told", channel.Hold{})
	seen(t, owner, 30, fewer, a, 2)
	hold("another kind", channel.Hold{Since: at(30), Reason: "kind"})
	seen(t, owner, 31, fewer, a, 2)
	seen(t, owner, 40, a, b, 3)
	seen(t, owner, 50, b, a, 4)
	hold("a return", channel.Hold{Since: at(50), Reason: "return"})
	if err := owner.Forget(t.Context(), feedID); err != nil {
		t.Fatal(err)
	}
	hold("forgotten", channel.Hold{})
}
