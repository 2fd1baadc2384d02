package stream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-91e7e7c1/corona/channel"
)

// mergeScript drives a merge of three ranges a, b and c with lines of
//
//	fill RANGE READ STAMP…   what was read: everything up to stamp READ
//	at SECONDS               what goes out then
//
// and writes what goes out, each with the ranges that are elsewhere than the base.
func mergeScript(t *testing.T, m *merge, script string) (out string) {
	t.Helper()
	for line := range strings.Lines(script) {
		var name byte
		var read uint64
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == "fill":
			name = fields[1][0]
			fmt.Sscan(fields[2], &read)
			m.fill(int(name-'a'), eventsAt(thirds[name-'a'].From, fields[3:]), channel.EndOf(read))
		default:
			var seconds float64
			fmt.Sscan(fields[1], &seconds)
			out += line + popped(m, time.Unix(0, int64(seconds*1e9)))
		}
	}
	return out
}

func eventsAt(b channel.Bucket, stamps []string) (events []event) {
	for _, text := range stamps {
		var stamp uint64
		fmt.Sscan(text, &stamp)
		events = append(events, event{at: channel.Cursor{Stamp: stamp, Bucket: b}})
	}
	return events
}

func popped(m *merge, now time.Time) (out string) {
	for e, ok := m.pop(now); ok; e, ok = m.pop(now) {
		out += fmt.Sprintf("  %s%d", nameOf(e.at.Bucket), e.at.Stamp)
		for _, r := range e.after.except {
			out += fmt.Sprintf(" %s=%d", nameOf(r.from), r.at.Stamp)
		}
		out += "\n"
	}
	m.wanted(func(i int, stamp uint64) {
		if m.next() != nil || m.feeds[i].lags {
			out += fmt.Sprintf("  wants %s up to %d\n", nameOf(m.feeds[i].From), stamp)
		}
	})
	return out
}

func nameOf(b channel.Bucket) string {
	return string('a' + byte(slices.IndexFunc(thirds, func(r channel.Range) bool { return r.Has(b) })))
}

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"common order": {`
			fill a 10 3 7
			fill b 5 4
			at 0
			fill c 9 8
			at 0
			fill b 20
			at 0`, `
			at 0
			  wants c up to 3
			at 0
			  a3
			  b4
			  wants b up to 7
			at 0
			  a7
			  c8
		`},
		// c says nothing: its second is over at 1, not before; it comes back with 4, in
		// its own order, and has caught up with 12.
		"lags and comes back": {`
			fill a 10 3 7
			fill b 10 6
			at 0
			at 0.9
			at 1
			fill c 5 4
			at 2
			fill a 12 12
			fill b 12
			at 3
			fill c 13 8 11 13
			at 3
			fill a 13
			fill b 13
			at 3`, `
			at 0
			  wants c up to 3
			at 0.9
			  wants c up to 3
			at 1
			  a3 c=0
			  b6 c=0
			  a7 c=0
			  wants c up to 7
			at 2
			  c4 c=4
			  wants c up to 7
			at 3
			  a12 c=4
			  wants c up to 12
			at 3
			  c8 c=8
			  c11
			  wants a up to 13
			  wants b up to 13
			at 3
			  c13
		`},
		// An earlier event that comes meanwhile does not begin b9's second again.
		"each event waits for itself": {`
			fill b 10 9
			fill c 10
			at 0
			fill a 8 5
			at 0.9
			at 1.0
			fill c 30
			at 1.5`, `
			at 0
			  wants a up to 9
			at 0.9
			  a5
			  wants a up to 9
			at 1.0
			  b9 a=5
			  wants a up to 9
			at 1.5
			  wants a up to 9
		`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMerge(thirds, place{}, everything, time.Second)
			if got := mergeScript(t, m, c.script); squeeze(got) != squeeze(c.want) {
				t.Errorf("got\n%s\nwant%s", got, c.want)
			}
		})
	}
}

// squeeze makes scripts comparable that are indented differently.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// A merge with an end gives out nothing behind it, and waits for no more than it.
func TestMergeEnds(t *testing.T) {
	target := place{base: channel.EndOf(10)}
	target.add(thirds[1].From, thirds[1].To, channel.EndOf(4))
	m := newMerge(thirds, place{base: channel.EndOf(1)}, target, time.Hour)
	m.fill(0, eventsAt(0, []string{"3", "9", "12"}), channel.EndOf(12))
	m.fill(1, eventsAt(1000, []string{"5"}), channel.EndOf(6))
	if got := squeeze(popped(m, time.Time{})); got != "wants c up to 3" {
		t.Fatalf("got %s", got)
	}
	m.end(2)
	if got := squeeze(popped(m, time.Time{})); got != "a3 c=1 a9 b=4 c=1" {
		t.Fatalf("got %s", got)
	}
	whole := m.whole(target.base)
	if whole.base != target.base || whole.of(0) != target.base || whole.of(1000) != channel.EndOf(4) || whole.of(3000) != channel.EndOf(1) {
		t.Errorf("ends at %v", whole)
	}
}

// Whatever is read when, each event goes out once, a range's in their order; and in the
// order of all, if none waits too long.
func TestMergeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]time.Duration{0, 5, 1 << 40}).Draw(t, "limit")
		m := newMerge(thirds, place{}, everything, limit)
		var filled, out []channel.Cursor
		var read [3]uint64
		at := place{}
		pop := func(now int) {
			for e, ok := m.pop(time.Unix(0, int64(now))); ok; e, ok = m.pop(time.Unix(0, int64(now))) {
				if at.has(e.at) || !e.after.has(e.at) || !e.after.covers(at) {
					t.Fatalf("%v leads from %v to %v", e.at, at, e.after)
				}
				at, out = e.after, append(out, e.at)
			}
		}
		for now := range rapid.IntRange(0, 40).Draw(t, "fills") {
			i := rapid.IntRange(0, 2).Draw(t, "range")
			var events []event
			for range rapid.IntRange(0, 3).Draw(t, "events") {
				read[i] += rapid.Uint64Range(1, 3).Draw(t, "gap")
				events = append(events, event{at: channel.Cursor{Stamp: read[i], Bucket: thirds[i].From}})
				filled = append(filled, events[len(events)-1].at)
			}
			read[i] += rapid.Uint64Range(0, 4).Draw(t, "closed")
			m.fill(i, events, channel.EndOf(read[i]))
			pop(now)
		}
		for i := range 3 {
			m.fill(i, nil, everything.base)
		}
		pop(1 << 30)
		if limit == 1<<40 && !slices.IsSortedFunc(out, channel.Cursor.Compare) {
			t.Errorf("not in order: %v", out)
		}
		slices.SortFunc(out, channel.Cursor.Compare)
		slices.SortFunc(filled, channel.Cursor.Compare)
		if !slices.Equal(out, filled) {
			t.Errorf("%v went out, want %v", out, filled)
		}
	})
}
