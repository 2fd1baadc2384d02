package pace

import (
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
)

// TestHeed: the later end counts, with its turn, and the more refusals; what ends about
// when the rest does that stands is the same one.
func TestHeed(t *testing.T) {
	const now = int64(1e18)
	in := func(d time.Duration) int64 { return now + int64(d) }
	stands := Refusals{Until: in(time.Minute), Last: in(-time.Second), Good: 1, Turn: 7, Count: 2}
	tests := []struct {
		name     string
		before   Refusals
		left     time.Duration
		refusals uint8
		want     Refusals
	}{
		{"the first", Refusals{}, time.Minute, 1, Refusals{Until: in(time.Minute), Last: now, Turn: 9, Count: 1}},
		{"over", Refusals{}, 0, 1, Refusals{}},
		{"later", stands, time.Hour, 1, Refusals{Until: in(time.Hour), Last: now, Turn: 9, Count: 2}},
		{"more refusals", stands, time.Second, 3, Refusals{Until: in(time.Minute), Last: now, Turn: 7, Count: 3}},
		{"the same", stands, time.Minute + 900*time.Millisecond, 2, stands},
		{"earlier", stands, time.Second, 2, stands},
		{"more refusals, over", stands, -time.Second, 3, stands},
		{"more than a day", Refusals{}, 48 * time.Hour, 1, Refusals{Until: in(24 * time.Hour), Last: now, Turn: 9, Count: 1}},
		{"after a rest", Refusals{Until: in(-time.Hour), Last: in(-2 * time.Hour), Good: in(-time.Hour), Count: 4}, time.Minute, 1,
			Refusals{Until: in(time.Minute), Last: now, Turn: 9, Count: 4}},
	}
	for _, test := range tests {
		got := test.before
		changed := got.Heed(channel.Rest{Until: time.Unix(0, in(test.left)), Refusals: test.refusals, Turn: 9}, now)
		if got != test.want || changed != (got != test.before) {
			t.Errorf("%s: %+v (changed: %v), want %+v", test.name, got, changed, test.want)
		}
	}
}

// TestHeedThenRefused: a request that was under way when another node was refused makes
// no second refusal of it; the next one that is refused counts on from there.
func TestHeedThenRefused(t *testing.T) {
	const now = int64(1e18)
	var r Refusals
	r.Heed(channel.Rest{Until: time.Unix(0, now+int64(time.Minute)), Refusals: 2}, now)
	r.Note(Answer{Status: 429, Begun: now - 1, Now: now + 1}, halfHour)
	if r.Count != 2 {
		t.Errorf("%d refusals after one that was under way, want 2", r.Count)
	}
	r.Note(Answer{Status: 429, Begun: now + 2, Now: now + 3}, halfHour)
	if r.Count != 3 {
		t.Errorf("%d refusals after the next one, want 3", r.Count)
	}
}
